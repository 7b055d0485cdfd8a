// Failures: figures, the requests behind every bar, files to take along.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

export default async function ({ accessible, check, heading, stage }) {
  await check("failures: figures, bars that lead to requests, and another range", async (open) => {
    const page = await open("#/failures");
    await page.getByRole("heading", { name: "By kind" }).waitFor();
    await accessible(page);
    await page.getByRole("button", { name: "7 days" }).click();
    await page.getByRole("link", { name: /server error/ }).first().click();
    await heading(page, "Requests");
    await page.getByRole("button", { name: "Do not filter by kind" }).waitFor();
    await page.locator("main button[aria-expanded]").first().click();
    await page.getByText(/Attempt 1/).first().waitFor();
    const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "requests as CSV" }).click()]);
    const [columns, ...rows] = readFileSync(await saved.path(), "utf8").trim().split("\n");
    assert.match(columns, /^request,started,/);
    assert.ok(rows.length >= (await page.locator("main button[aria-expanded]").count()), "all of them, not only the first part");
  });

  await check("failures: every bar of every breakdown leads to the requests behind it, a bar of the chart too", async (open) => {
    const page = await open("#/failures");
    await page.getByRole("heading", { name: "By kind" }).waitFor();
    const groups = await page.locator(".bars section").evaluateAll((cards) => cards.map((card) => [card.querySelector("h2").textContent, [...card.querySelectorAll("a[data-item]")].map((bar) => bar.getAttribute("href"))]));
    for (const name of ["By kind", "By model", "By endpoint", "By prompt pattern", "By program", "By hour"]) assert.ok(groups.some(([title]) => title === name), `${name} is missing`);
    for (const [title, bars] of groups) {
      assert.ok(bars.length, `${title} has no bar`);
      for (const bar of bars) {
        await page.goto(`${stage.base}/${bar}`);
        await heading(page, "Requests");
        await page.getByRole("button", { name: /^Do not filter by/ }).first().waitFor();
        await page.locator("main button[aria-expanded]").first().waitFor();
      }
    }
    await page.goto(`${stage.base}/#/failures`);
    const plot = page.locator(".plot .u-over");
    const { width, height } = await plot.boundingBox();
    await plot.click({ position: { x: width - 8, y: height - 8 } });
    await heading(page, "Requests");
    await page.getByRole("button", { name: "Do not filter by time" }).waitFor();
    await page.locator("main button[aria-expanded]").first().waitFor();
  });

  await check("failures: recovery, targets with their verdicts, what providers said, and files to take along", async (open) => {
    const page = await open("#/failures");
    const tiles = page.getByRole("region", { name: "In short" });
    for (const name of ["Recovery rate", "Time to recovery", "Retries before success", "Fallback rate"]) {
      assert.match(await tiles.locator(".tile").filter({ hasText: name }).locator("b").textContent(), /\d/, name);
    }
    const targets = page.getByRole("region", { name: "Targets" });
    await targets.getByText(/^(met|missed)$/).first().waitFor();
    await page.getByRole("region", { name: "What providers said most" }).locator("tbody tr").first().waitFor();
    const download = async (name) => {
      const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("region", { name: "Export" }).getByRole("button", { name, exact: true }).click()]);
      return readFileSync(await saved.path());
    };
    assert.match(String(await download("CSV")), /^by,name,/);
    assert.ok(JSON.parse(await download("JSON")).totals.failures > 0);
    assert.match(String(await download("attempts as CSV")), /^request,/);
    assert.ok(JSON.parse(String(await download("attempts as JSON lines")).split("\n")[0]).request);
    assert.equal(String((await download("attempts as Parquet")).subarray(0, 4)), "PAR1");
  });
}
