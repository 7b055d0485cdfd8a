// Settings, tasks and alerts.
import assert from "node:assert/strict";

export default async function ({ accessible, check, heading, stage }) {
  await check("settings: a project, its budget, and a key that is shown once", async (open) => {
    const page = await open("#/settings");
    await page.getByRole("button", { name: "New project" }).click();
    await page.getByLabel("Name").fill("acme");
    await page.getByLabel("Policy").selectOption("mine");
    await accessible(page);
    await page.getByRole("button", { name: "Save" }).click();
    const card = page.getByRole("region", { name: "Project acme" });
    await card.getByLabel("Dollars a day").fill("20");
    await card.getByRole("button", { name: "Set the budget" }).click();
    await card.getByText(/\$20\.00 left/).waitFor();
    await card.getByRole("button", { name: "New key" }).click();
    await page.getByLabel("What it is for").fill("laptop");
    await page.getByRole("button", { name: "Make the key" }).click();
    await page.getByText(/^sfk_/).waitFor();
    await page.getByRole("button", { name: "I have it" }).click();
    assert.equal(await page.getByText(/^sfk_/).count(), 0);
    await card.getByRole("button", { name: "Revoke laptop" }).click();
    await page.getByRole("button", { name: "Revoke", exact: true }).click();
    await card.getByText("laptop", { exact: true }).waitFor({ state: "detached" });
    await accessible(page);
  });

  await check("settings: what is kept and for how long, and how limits stand", async (open) => {
    const limited = await fetch(`${stage.base}/api/projects/limited`, { method: "PUT", headers: { "content-type": "application/json" }, body: JSON.stringify({ rate: { requests_per_minute: 30 } }) });
    assert.equal(limited.status, 200, await limited.clone().text());
    const page = await open("#/settings");
    const kept = page.getByRole("region", { name: "What is kept" });
    await kept.getByText("30 days").first().waitFor();
    await kept.getByText("sqlite:steadfast.db").waitFor();
    await kept.getByText("the store answers").waitFor();
    await page.getByRole("region", { name: "Rate limits" }).getByText("30 of 30").waitFor();
    await accessible(page);
  });

  await check("tasks: a task is listed with its state, opened, and cancelled", async (open) => {
    const task = { label: "build-the-site", task: "build it", command: ["sh", "-c", "echo the first brick; sleep 600"] };
    const added = await fetch(`${stage.base}/api/tasks`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ tasks: [task] }) });
    assert.equal(added.status, 200, await added.clone().text());
    const page = await open("#/tasks");
    await page.getByRole("link", { name: "build-the-site" }).click();
    await heading(page, "build-the-site");
    await accessible(page);
    await page.getByText("running", { exact: true }).waitFor();
    await page.getByText("the first brick", { exact: true }).waitFor();
    await page.getByText(/^steadfast tasks attach task_/).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("cancelled", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Run it now" }).click();
    await page.getByText("running", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("cancelled", { exact: true }).waitFor();
  });

  await check("tasks: restarts to come and the services that agents need", async (open) => {
    const task = { label: "dies-at-once", task: "die", command: ["sh", "-c", "kill -9 $$"] };
    const added = await fetch(`${stage.base}/api/tasks`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ tasks: [task] }) });
    assert.equal(added.status, 200, await added.clone().text());
    const page = await open("#/tasks");
    const row = page.getByRole("row").filter({ has: page.getByRole("link", { name: "dies-at-once" }) });
    await row.getByText("process died").waitFor({ timeout: 60_000 });
    await row.getByText(/^in \d+ (s|min)/).waitFor({ timeout: 60_000 });
    const services = page.getByRole("region", { name: "Services" });
    await services.getByRole("cell", { name: "mail", exact: true }).waitFor();
    await services.getByText(/^(healthy|unhealthy)$/).waitFor();
    await accessible(page);
  });

  await check("alerts: what was raised is listed, and somebody takes note", async (open) => {
    const page = await open("#/alerts");
    await page.getByRole("button", { name: "Take note" }).first().click();
    await page.getByLabel("Who, and what is being done").fill("Ana looks after it");
    await page.getByRole("dialog").getByRole("button", { name: "Take note" }).click();
    await page.getByText("Ana looks after it").first().waitFor();
    await accessible(page);
  });
}
