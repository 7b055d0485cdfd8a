// `steadfast demo` tells its own story; the pictures of the README are taken of it.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, until } from "../stage.mjs";

/** How long pictures wait, so that there is something on them. */
const TRAFFIC_MS = 45_000;

export default async function ({ accessible, binary, check, heading, screenshots }) {
  await check("demo: what is failing on purpose, what Steadfast did about it, and no page complains", async (open) => {
    const folder = mkdtempSync(join(tmpdir(), "steadfast-demo-"));
    const base = `http://127.0.0.1:${await freePort()}`;
    const demo = spawn(binary, ["--listen", base.slice(7), "demo", "--seconds", "600", "--json"], { stdio: "ignore", env: { PATH: process.env.PATH, HOME: folder } });
    try {
      await until("the demo", () => fetch(`${base}/health`).then(() => true, () => false));
      const page = await open("", { base });
      // Within the first look: that it is a demo, what fails, and that nobody notices.
      const told = page.getByRole("complementary", { name: "The demo" });
      await told.getByText(/Failing on purpose right now:.*(openai|anthropic|gemini)-a/).waitFor();
      await heading(page, "Providers fail, requests are served");
      await page.getByText(/attempts failed in the last minute, lately mostly .* Steadfast answered with/).waitFor();
      await page.locator("section[aria-labelledby=story]").getByText(/^(fallback|retry)/).first().waitFor();
      await accessible(page);
      const first = await told.textContent();
      await until("the next scene", async () => (await told.textContent()) !== first, 30_000);
      for (const [path, name] of [["#/tasks", "Tasks"], ["#/sessions", "Sessions"], ["#/failures", "Failures"], ["#/endpoints", "Endpoints"], ["#/settings", "Settings"]]) {
        await page.evaluate((path) => (location.hash = path), path);
        await heading(page, name);
        await page.waitForTimeout(500);
      }
      if (screenshots) await pictures(open, base);
    } finally {
      demo.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    }
  });

  async function pictures(open, base) {
    const wide = { base, width: 1440, height: 900 };
    const shoot = async (page, name) => {
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
      await page.screenshot({ path: join(screenshots, `${name}.png`) });
    };
    const live = await open("#/live", wide);
    await live.waitForTimeout(TRAFFIC_MS);
    // An open breaker is what the page is for.
    await until("an open breaker", () => live.getByRole("link", { name: /Breaker of .* is open/ }).isVisible(), 120_000).catch(() => {});
    await shoot(live, "live");
    const { items } = await fetch(`${base}/api/requests?failed=true&limit=50`).then((response) => response.json());
    const told = items.toSorted((a, b) => b.attempts - a.attempts)[0];
    const session = await open(`#/sessions/${told.project}/${told.session}`, wide);
    await session.locator("main button[aria-expanded]").filter({ hasText: `${told.attempts} attempts` }).first().click();
    await session.getByText(/Attempt 2/).first().waitFor();
    await shoot(session, "session");
    const failures = await open("#/failures", wide);
    await failures.getByRole("heading", { name: "By kind" }).waitFor();
    await failures.waitForTimeout(500);
    await shoot(failures, "failures");
    const endpoints = await open("#/endpoints", wide);
    await endpoints.getByRole("button", { name: "The ways of gpt-5", exact: true }).waitFor();
    await endpoints.waitForTimeout(500);
    await shoot(endpoints, "endpoints");
    const policy = await open("#/policies/default?tab=edit", wide);
    await policy.getByLabel("Deadline").fill("7m");
    await policy.getByRole("cell", { name: "deadline" }).waitFor();
    await shoot(policy, "policy");
    const phone = await open("#/live", { base, width: 390, height: 844, dark: true });
    await phone.getByText("connected").waitFor({ state: "attached" });
    await phone.waitForTimeout(2000);
    await shoot(phone, "phone");
  }
}
