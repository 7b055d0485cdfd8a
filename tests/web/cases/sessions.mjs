// Sessions: their story, and the means to step in.
import assert from "node:assert/strict";
import { until } from "../stage.mjs";

export default async function ({ accessible, check, heading, stage }) {
  await check("sessions: the list leads to a session, its requests to their story", async (open) => {
    const page = await open("#/sessions");
    await page.getByRole("link", { name: "waiting-one" }).click();
    await heading(page, "waiting-one");
    await page.locator("main button[aria-expanded]").first().click();
    await page.getByText(/Attempt 2/).waitFor();
    await accessible(page);
  });

  await check("sessions: retry with error context shows what is sent, lets it be edited, and streams the answer", async (open) => {
    await stage.script("alpha", "ok");
    await stage.ask("tried-again", { headers: { "x-fake": "status=500 x1; ok" } });
    await until("the session in the store", async () => (await stage.requests("tried-again")).length);
    const page = await open("#/sessions/default/tried-again");
    await page.getByRole("button", { name: "Retry with error context" }).click();
    const note = page.getByLabel("The note that is added");
    await note.waitFor();
    await until("the note", async () => /Previous attempt failed/.test(await note.inputValue()));
    await accessible(page);
    await note.fill("Say it again, Sam.");
    await page.getByRole("button", { name: "All that is sent" }).click();
    await page.getByLabel(/Exactly what is sent/).waitFor();
    await page.getByRole("button", { name: "The note" }).click();
    // Another model takes its last turn: the preview shows what that one would get.
    await page.getByRole("dialog").locator("select").selectOption("large");
    await until("the preview for the other model", async () => /Previous attempt failed/.test(await note.inputValue()));
    await note.fill("Say it again, Sam.");
    const before = await stage.requests("tried-again");
    await page.getByRole("button", { name: "Send again" }).click();
    await page.getByText(/word-1 word-2/).waitFor();
    const after = await until("the retried turn in the history", async () => {
      const now = await stage.requests("tried-again");
      return now.length > before.length && now;
    });
    assert.deepEqual(after.slice(-before.length).map((one) => one.request), before.map((one) => one.request), "earlier attempts stay in the history");
    assert.equal(after[0].served_model, "large");
    const requests = await fetch(`${stage.fake}/__fake/requests`).then((response) => response.json());
    assert.ok(requests.requests.some((request) => JSON.stringify(request.body).includes("Say it again, Sam.")), "the edited note reached the provider");
  });

  await check("sessions: the conversation is outlined, and a text is fetched when it is wanted", async (open) => {
    const page = await open("#/sessions/default/waiting-one");
    const talk = page.getByRole("region", { name: "Conversation" });
    await talk.getByText(/\d messages? of/).waitFor();
    const texts = [];
    page.on("request", (request) => /\/turn\/\d+/.test(request.url()) && texts.push(request.url()));
    await talk.locator("summary").filter({ hasText: "user" }).first().click();
    await talk.locator("pre").getByText("Hello from waiting-one").waitFor();
    assert.equal(texts.length, 1);
    await accessible(page);
  });

  await check("sessions: escalate shows the cost first, then moves, and rolls back", async (open) => {
    const page = await open("#/sessions/default/waiting-one");
    await page.getByRole("button", { name: "Escalate", exact: true }).click();
    await page.getByText(/Would cost/).waitFor();
    await page.getByText(/\(\+\d+ %\)/).waitFor();
    const dialog = page.getByRole("dialog");
    for (const words of ["small", "large", /left/]) await dialog.getByText(words).first().waitFor();
    await accessible(page);
    await page.getByRole("button", { name: "Escalate to large" }).click();
    await page.getByText("escalated: it stays on this model").waitFor();
    await page.getByRole("button", { name: "Roll back" }).click();
    await page.getByText("escalated: it stays on this model").waitFor({ state: "detached" });
    await page.getByText(/rolled back/).first().waitFor();
  });
}
