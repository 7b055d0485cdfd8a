// Endpoints: the graph, the breaker and its override.
import assert from "node:assert/strict";

export default async function ({ accessible, check }) {
  await check("endpoints: models, chains and ladders are drawn, and a model's ways told", async (open) => {
    const page = await open("#/endpoints");
    await page.getByRole("button", { name: "The ways of small" }).waitFor();
    await page.getByRole("button", { name: "The ways of small" }).click();
    await page.getByText("small: served at alpha; falls back to large; climbs to large.").waitFor();
    for (const kind of ["chain", "ladder"]) assert.ok(await page.locator(`svg.graph > path.${kind}`).count());
    await page.getByRole("button", { name: "The ways of large" }).focus();
    await page.keyboard.press("Enter");
    await page.mouse.move(0, 0);
    await page.getByText(/^large: served at beta/).waitFor();
    await accessible(page);
  });

  await check("endpoints: a person overrides the breaker with a reason, and lets it go again", async (open) => {
    const page = await open("#/endpoints/beta");
    await page.getByRole("button", { name: "Override the breaker" }).click();
    await page.getByLabel("Force open").check();
    await page.getByLabel("Who and why").fill("Ana: maintenance");
    await accessible(page);
    await page.getByRole("button", { name: "Override", exact: true }).click();
    await page.getByText("Ana: maintenance", { exact: false }).first().waitFor();
    await page.getByText("forced open by a person").waitFor();
    await page.getByRole("button", { name: "Back to automatic" }).click();
    await page.getByText("forced open by a person").waitFor({ state: "detached" });
    const history = page.getByRole("region", { name: "Breaker history" });
    await history.getByText("forced open", { exact: true }).first().waitFor();
    // The other two ways to override it.
    for (const [wish, state] of [["Force closed", "forced closed"], ["Shadow", "shadow"]]) {
      await page.getByRole("button", { name: "Override the breaker" }).click();
      await page.getByLabel(wish).check();
      await page.getByLabel("Who and why").fill("Ana: a test");
      await page.getByRole("button", { name: "Override", exact: true }).click();
      await page.getByText(`${state} by a person`).waitFor();
    }
    await page.getByRole("button", { name: "Back to automatic" }).click();
    await page.getByText("shadow by a person").waitFor({ state: "detached" });
    await accessible(page);
  });
}
