// What is going on: requests that need help, breakers, alerts, storms of events.
import assert from "node:assert/strict";
import { countEvents, longTasks } from "../measure.mjs";
import { until } from "../stage.mjs";

export default async function ({ accessible, check, heading, stage }) {
  await check("live: a request that waits is shown with attempt k of n and a countdown, and then as recovered", async (open) => {
    const page = await open("#/live");
    await page.getByText("connected", { exact: true }).waitFor();
    await stage.script("alpha", "status=429 retry-after=6s x1; ok");
    const asked = stage.ask("waiting-one", { stream: true });
    const row = page.locator("section[aria-labelledby=under-way] a[data-item]").filter({ hasText: "waiting-one" });
    await row.getByText(/attempt 1 of \d/).waitFor();
    await row.getByText("rate limit").waitFor();
    await row.getByText(/retry in \d/).waitFor();
    assert.equal((await asked).status, 200);
    await row.getByText("recovered").waitFor();
    await page.getByText("served after 2 attempts").first().waitFor();
    // It goes by itself a few seconds after its end, but not while the lists are held.
    await page.keyboard.press("p");
    await accessible(page);
    await row.click();
    await page.getByRole("heading", { name: "What happened" }).waitFor();
    await page.getByText(/retry 1 of/).first().waitFor();
    await accessible(page);
  });

  await check("live: an outage opens the breaker, and traffic goes elsewhere", async (open) => {
    await stage.script("alpha", "status=500");
    const page = await open("#/live");
    await page.getByText("connected", { exact: true }).waitFor();
    const breaker = page.getByRole("link", { name: /Breaker of alpha is/ });
    await until("the breaker of alpha", async () => {
      await Promise.all(Array.from({ length: 6 }, () => stage.ask(`outage-${Math.random()}`)));
      return breaker.isVisible();
    });
    await page.getByText(/fallback/).first().waitFor();
    // What the headline says, the tiles count: the badge shows the change of model.
    await heading(page, "Providers fail, requests are served");
    await page.getByText(/Steadfast answered with .*(fallback|retry).*requests in trouble were served/).waitFor();
    const minute = page.getByRole("region", { name: "The last minute" });
    for (const [name, figure] of [["Recovery", /^100 %$/], ["Amplification", /^×\d\.\d\d$/]]) {
      await minute.locator(".tile").filter({ hasText: name }).locator("b").filter({ hasText: figure }).waitFor();
    }
    const changed = page.locator("section[aria-labelledby=under-way] a[data-item]").filter({ has: page.locator("s", { hasText: "small" }) });
    await changed.first().locator("b", { hasText: "large" }).waitFor();
    await page.locator("section[aria-labelledby=story]").getByText(/served after \d attempts/).first().waitFor();
  });

  await check("live: what was raised before the page was opened is on it, and what led there", async (open) => {
    const page = await open("#/live");
    await page.getByRole("link", { name: /^Alerts \d+ alerts?$/ }).waitFor();
    await page.getByRole("region", { name: "Needs a look" }).getByText(/alert raised/).first().waitFor();
    await page.locator("section[aria-labelledby=story]").getByText(/server error/).first().waitFor();
    await page.locator("section[aria-labelledby=sessions-now]").getByRole("link", { name: /outage-/ }).first().waitFor();
    await accessible(page);
  });

  await check("live: a tab that nobody looks at goes on counting", async (open) => {
    const page = await open("#/live");
    await page.getByText("connected", { exact: true }).waitFor();
    await page.evaluate(() => Object.defineProperty(document, "hidden", { get: () => true }));
    await page.waitForTimeout(1500);
    const tile = page.getByRole("region", { name: "The last minute" }).locator(".tile").first().locator("b");
    await Promise.all(Array.from({ length: 5 }, (_, index) => stage.ask(`unseen-${index}`, { model: "large" })));
    await until("the count of the server", async () => {
      const { minute } = await fetch(`${stage.base}/api/now`).then((response) => response.json());
      return minute.requests >= 5 && (await tile.textContent()) === minute.requests.toLocaleString("en-US");
    }, 8000);
  });

  await check("live: pausing holds the lists still, with the keyboard too", async (open) => {
    const page = await open("#/live");
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await page.keyboard.press("p");
    await page.getByRole("button", { name: "Go on" }).waitFor();
    await page.keyboard.press("p");
    await page.getByRole("button", { name: "Pause" }).waitFor();
  });

  await check("live: a storm of events keeps the lists bounded and misses nothing", async (open) => {
    await stage.script("beta", "40%: status=500; ok");
    const page = await open("#/live");
    await page.getByText("connected", { exact: true }).waitFor();
    await Promise.all(Array.from({ length: 160 }, (_, index) => stage.ask(`storm-${index % 20}`, { model: "large" })));
    await until("the feed", async () => (await page.locator("section[aria-labelledby=story] li").count()) > 20);
    assert.ok((await page.locator("section[aria-labelledby=story] li").count()) <= 150);
    assert.ok((await page.locator("section[aria-labelledby=under-way] li").count()) <= 40);
  });

  await check("live: 200 events a second do not jam the page", async (open) => {
    await stage.script("beta", "ok");
    const page = await open("#/live");
    await page.getByText("connected", { exact: true }).waitFor();
    const measured = await longTasks(page);
    const counted = await countEvents(stage.base);
    const [asked, began] = [[], Date.now()];
    // Each request that needs help is six events or more.
    for (let tick = 0; tick < 50; tick += 1) {
      for (let one = 0; one < 5; one += 1) asked.push(stage.ask(`busy-${(tick * 5 + one) % 40}`, { model: "large", headers: { "x-fake": "status=503 x1; ok" } }));
      await page.waitForTimeout(Math.max(0, began + tick * 100 - Date.now()));
    }
    // On a busy machine some are answered late: what was asked is what is counted.
    await Promise.all(asked);
    const seconds = (Date.now() - began) / 1000;
    const found = await measured();
    await counted.settled();
    counted.stop();
    console.log(`      ${Math.round(counted.events / seconds)} events a second: ${found.count} long tasks, the longest ${found.longest} ms; ${(found.usedMs / counted.events).toFixed(2)} ms of a processor for each event`);
    // How many a second depends on the machine and on who else uses it; what the page does about each does not.
    assert.ok(counted.events >= 1000, `${counted.events} events`);
    assert.ok(found.usedMs / counted.events < 2.5, `at 200 a second half of a processor would go: ${JSON.stringify(found)}`);
  });
}
