// The first load, and every page before anything has happened.
import assert from "node:assert/strict";
import { interactiveAfter, median } from "../measure.mjs";

const BYTES_MAX = 300 * 1024;
const INTERACTIVE_MS_MAX = 1000;

export default async function ({ accessible, browser, check, heading, stage, PAGES }) {
  await check("browsers get the page, programs the text, and the first load is small", async (open) => {
    const text = await fetch(stage.base).then((response) => response.text());
    assert.match(text, /^Steadfast is running/);
    const bytes = [];
    const size = (request) => request.sizes().then((sizes) => sizes.responseBodySize + sizes.responseHeadersSize);
    // The stream of events has no end to wait for.
    const page = await open("", { before: (page) => page.on("requestfinished", (request) => request.url().includes("/api/events") || bytes.push(size(request))) });
    await heading(page, /All quiet/);
    const sum = (await Promise.all(bytes)).reduce((sum, size) => sum + size, 0);
    assert.ok(sum > 50_000 && sum < BYTES_MAX, `${sum} bytes`);
    const policy = await page.evaluate(() => fetch("./", { headers: { accept: "text/html" } }).then((response) => response.headers.get("content-security-policy")));
    assert.match(policy, /script-src 'self'; style-src 'self'/);
    console.log(`      first load: ${Math.round(sum / 1024)} KB`);
  });

  await check("the first load can be used within a second", async () => {
    const times = [];
    for (let load = 0; load < 7; load += 1) times.push(await interactiveAfter(browser, stage.base));
    console.log(`      interactive after ${median(times)} ms (${times.join(", ")})`);
    assert.ok(median(times) < INTERACTIVE_MS_MAX, `${times}`);
  });

  for (const [path, name] of PAGES) {
    await check(`${path} helps while there is nothing to show`, async (open) => {
      const page = await open(path);
      await heading(page, name);
      await accessible(page);
    });
  }
}
