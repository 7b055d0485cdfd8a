// Policies: made, checked, compared, simulated, saved.
import assert from "node:assert/strict";

export default async function ({ accessible, check, heading }) {
  await check("policies: a policy is made from a template, checked as it is typed, simulated and saved", async (open) => {
    const page = await open("#/policies");
    await page.getByRole("button", { name: "New policy" }).click();
    await page.getByLabel("Name").fill("mine");
    await page.getByLabel("Begins as").selectOption("escalating");
    await page.getByRole("button", { name: "Make it" }).click();
    // By form: a limit, and the steps of a kind.
    const deadline = page.getByLabel("Deadline");
    await deadline.fill("soon");
    await page.getByRole("alert").getByText(/duration/).first().waitFor();
    await page.getByText("cannot be", { exact: true }).waitFor();
    await deadline.fill("7m");
    await page.getByText("valid", { exact: true }).waitFor();
    await page.getByRole("cell", { name: "deadline" }).waitFor();
    assert.equal(await page.getByText(/no project uses the policy/).count(), 0, "it is said once");
    await page.getByRole("button", { name: "Edit the steps of rate limit" }).click();
    const rates = page.getByRole("region", { name: "Steps by kind of failure" }).locator("li").filter({ has: page.getByRole("button", { name: /the steps of rate limit/ }) });
    await rates.getByLabel("times").first().fill("9");
    await rates.getByText(/retry 9 of 9/).first().waitFor();
    await rates.getByRole("button", { name: "Move step 1 down" }).click();
    await rates.getByText(/^fallback/).first().waitFor();
    await rates.getByLabel("Add a step").selectOption("defer");
    await rates.getByRole("button", { name: "Take step 4 out" }).click();
    await rates.getByText("changed", { exact: true }).waitFor();
    await accessible(page);
    // As JSON: the same, both ways.
    await page.getByRole("button", { name: "As JSON" }).click();
    const editor = page.getByLabel("The policy as JSON");
    const policy = JSON.parse(await editor.inputValue());
    assert.deepEqual([policy.deadline, policy.on.rate_limit.at(1).retry], ["7m", 9]);
    await editor.fill("{ not json");
    await page.getByText("not JSON", { exact: true }).waitFor();
    await editor.fill(JSON.stringify({ ...policy, attempts_max: 17 }, null, 2));
    await page.getByRole("cell", { name: "attempts_max" }).waitFor();
    await accessible(page);
    await page.getByRole("button", { name: "Form" }).click();
    assert.equal(await page.getByLabel("Attempts at most").inputValue(), "17");
    await page.getByRole("button", { name: "Simulate" }).click();
    const served = page.getByRole("row").filter({ has: page.getByRole("cell", { name: "requests served" }) });
    await served.waitFor({ timeout: 60_000 });
    for (const name of ["Before", "After"]) await page.getByRole("columnheader", { name }).first().waitFor();
    assert.equal((await served.getByRole("cell").allTextContents()).filter((text) => /%/.test(text)).length, 2, "before and after, side by side");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("mine is saved and in force.").waitFor();
    await page.getByRole("button", { name: "What it does" }).click();
    await page.getByRole("heading", { name: "If a failure does not go away" }).waitFor();
    await accessible(page);
  });
}
