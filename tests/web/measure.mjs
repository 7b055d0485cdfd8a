// What pages are measured with. Figures are printed with every run; what is asserted is far from what is usual.

/** Notes long tasks, and when the page was there and could be used. Runs in the page, before everything else. */
function watch() {
  window.measured = { long: [], shown: undefined };
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) window.measured.long.push({ startTime, duration });
  }).observe({ type: "longtask", buffered: true });
  const seen = new MutationObserver(() => {
    if (!document.querySelector("nav a") || !document.querySelector("main h1")) return;
    window.measured.shown = performance.now();
    seen.disconnect();
  });
  seen.observe(document, { childList: true, subtree: true });
}

/** The middle of some numbers. */
export const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** Opens a page with nothing in its cache, and says after how many milliseconds it could be used: it is there, and no long task that began before is under way. */
export async function interactiveAfter(browser, url) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
  await context.addInitScript(watch);
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForFunction(() => window.measured.shown !== undefined);
  await page.waitForTimeout(300);
  const after = await page.evaluate(() => {
    const { shown, long } = window.measured;
    return Math.max(shown, ...long.filter((task) => task.startTime <= shown + 50).map((task) => task.startTime + task.duration));
  });
  await context.close();
  return Math.round(after);
}

/** Begins to note long tasks in a page that is open; the returned function says how many there were, the longest, and how many milliseconds of a processor the page took in all. */
export async function longTasks(page) {
  await page.evaluate(watch);
  const began = await page.evaluate(() => performance.now());
  const cdp = await page.context().newCDPSession(page);
  // Time of the page's own thread: a machine with other work does not make it longer.
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  const used = async () => (await cdp.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value * 1000;
  const before = await used();
  return async () => {
    const usedMs = Math.round((await used()) - before);
    const long = await page.evaluate((began) => window.measured.long.filter((task) => task.startTime >= began).map((task) => task.duration), began);
    return { count: long.length, longest: Math.round(Math.max(0, ...long)), usedMs };
  };
}

/** Counts the events of a gateway until it is told to stop. */
export async function countEvents(base) {
  const stop = new AbortController();
  const response = await fetch(`${base}/api/events`, { signal: stop.signal });
  const counted = { events: 0, stop: () => stop.abort() };
  // What comes late is counted too: it is over when nothing has come for a while.
  counted.settled = async () => {
    for (let before = -1; before !== counted.events; ) {
      before = counted.events;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  };
  void (async () => {
    const [decoder, mark] = [new TextDecoder(), "\nevent: "];
    // The mark may lie on either side of where a part ends.
    let rest = "\n";
    for await (const part of response.body) {
      const pieces = (rest + decoder.decode(part, { stream: true })).split(mark);
      counted.events += pieces.length - 1;
      rest = pieces.at(-1).slice(1 - mark.length);
    }
  })().catch(() => {});
  return counted;
}
