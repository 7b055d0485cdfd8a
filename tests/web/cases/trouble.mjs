// A server that goes away, a crowd of sessions, an API that fails.
import assert from "node:assert/strict";
import { longTasks } from "../measure.mjs";
import { until } from "../stage.mjs";

export default async function ({ accessible, check, heading, stage, PAGES }) {
  await check("the server goes away and comes back: the page says so, and goes on by itself", async (open) => {
    const page = await open("#/live", { provokes: true });
    await page.getByText("connected", { exact: true }).waitFor();
    await stage.halt();
    await page.getByText("reconnecting", { exact: true }).waitFor();
    await page.getByText("Lost the connection").waitFor();
    await stage.begin();
    await page.getByText("connected", { exact: true }).waitFor();
    await page.getByText("Lost the connection").waitFor({ state: "detached" });
    await stage.ask("after-restart", { headers: { "x-fake": "status=500 x1; ok" } });
    await page.getByText(/server error/).first().waitFor();
  });

  await check("what was set survives the restart", async (open) => {
    const page = await open("#/settings");
    await page.getByRole("region", { name: "Project acme" }).getByText(/\$20\.00 left/).waitFor();
    await page.goto(`${stage.base}/#/policies`);
    await page.getByRole("link", { name: /mine.*written here/ }).waitFor();
    await page.goto(`${stage.base}/#/sessions`);
    await page.getByRole("link", { name: "waiting-one" }).waitFor();
  });

  await check("what was not kept is said: a conversation after the restart", async (open) => {
    const page = await open("#/sessions/default/waiting-one");
    await page.getByText("It is not held").waitFor();
    await page.getByText(/Prompts are never stored/).waitFor();
  });

  await check("10,000 sessions: the list comes in parts, and stays quick", async (open) => {
    stage.crowd(10_000);
    const page = await open("#/sessions");
    await page.getByText(/100 sessions so far/).waitFor();
    const measured = await longTasks(page);
    const began = Date.now();
    for (let part = 2; part <= 10; part += 1) {
      await page.getByRole("button", { name: "Show more" }).click();
      await page.getByText(`${part === 10 ? "1,000" : part * 100} sessions so far`).waitFor();
    }
    const took = Date.now() - began;
    // Found by the API, far beyond what is on the page: by its whole name, and by a part of it.
    for (const wanted of ["crowd-00001", "wd-05000"]) {
      await page.getByLabel("Search all sessions").fill(wanted);
      await page.getByRole("link", { name: wanted }).waitFor();
      await until("the one row", async () => (await page.locator("tbody tr").count()) === 1);
    }
    await page.getByLabel("Search all sessions").fill("nobody-of-this-name");
    // One part looks at ten thousand.
    await page.getByRole("button", { name: "Look further back" }).click();
    await page.getByText("No session fits").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { level: 1 }).click();
    await page.keyboard.press("/");
    await page.getByRole("combobox").fill("crowd-00003");
    await page.getByRole("option", { name: /^crowd-00003/ }).waitFor();
    await accessible(page);
    await page.keyboard.press("Enter");
    await heading(page, "crowd-00003");
    const found = await measured();
    console.log(`      ${Math.round(took / 9)} ms for a further part; ${found.count} long tasks, the longest ${found.longest} ms; ${found.usedMs} ms of a processor in all`);
    assert.ok(found.usedMs < 9 * 1000, JSON.stringify(found));
    const failures = await open("#/failures");
    await failures.getByRole("heading", { name: "By kind" }).waitFor();
  });

  await check("an API that fails: every page says what is wrong and offers to try again", async (open) => {
    for (const [path, name] of PAGES.slice(1)) {
      const page = await open("#/live", { provokes: true });
      await page.getByText("connected", { exact: true }).waitFor();
      await page.route("**/api/**", (route) => route.fulfill({ status: 503, contentType: "application/json", body: '{"error":{"code":"store_away","message":"the store is away"}}' }));
      await page.evaluate((path) => (location.hash = path), path);
      await heading(page, name);
      await page.getByRole("alert").getByText("the store is away").first().waitFor({ timeout: 30_000 });
      await page.getByRole("button", { name: "Try again" }).first().waitFor();
      await accessible(page);
    }
  });
}
