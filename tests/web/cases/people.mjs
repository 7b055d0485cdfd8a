// Keyboard, phone, dark, who may look.
import assert from "node:assert/strict";
import { until } from "../stage.mjs";

export default async function ({ PAGES, accessible, browser, check, heading, locked, stage }) {
  await check("keyboard: / finds, ? explains, numbers and j k walk, Esc leaves", async (open) => {
    const page = await open("#/live");
    await page.getByText("connected", { exact: true }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("/");
    await page.getByRole("combobox").fill("alph");
    await accessible(page);
    await page.keyboard.press("Enter");
    await heading(page, "alpha");
    await page.keyboard.press("Escape");
    await heading(page, "Endpoints");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    assert.equal(await page.evaluate(() => document.activeElement?.textContent?.includes("beta")), true);
    await page.keyboard.press("k");
    await page.keyboard.press("Enter");
    await heading(page, "alpha");
    await page.keyboard.press("3");
    await heading(page, "Failures");
  });

  await check("/ finds what is not on the page: sessions by a part of their name, requests by their id", async (open) => {
    const { id } = await stage.ask("needle-in-the-hay");
    await until("the session in the store", async () => (await stage.requests("needle-in-the-hay")).length);
    const page = await open("#/policies");
    await heading(page, "Policies");
    await page.keyboard.press("/");
    await page.getByRole("combobox").fill("E-IN-THE");
    await page.getByRole("option", { name: /^needle-in-the-hay/ }).click();
    await heading(page, "needle-in-the-hay");
    await page.keyboard.press("/");
    await page.getByRole("combobox").fill(id);
    await page.keyboard.press("Enter");
    await heading(page, id);
    await page.keyboard.press("/");
    await page.getByRole("combobox").fill("there is no such thing");
    await page.getByText("Nothing of that name.").waitFor();
  });

  await check("focus can be seen, motion is left out where it is not wanted", async (open) => {
    const page = await open("#/sessions");
    await heading(page, "Sessions");
    for (let step = 0; step < 12; step += 1) {
      await page.keyboard.press("Tab");
      const [name, outline] = await page.evaluate(() => [document.activeElement.outerHTML.slice(0, 80), getComputedStyle(document.activeElement).outlineStyle]);
      assert.notEqual(outline, "none", name);
    }
    const moving = await page.evaluate(() => [...document.querySelectorAll("*")].filter((one) => Number.parseFloat(getComputedStyle(one).transitionDuration) > 0.001).length);
    assert.equal(moving, 0);
  });

  await check("a page of another origin can neither read nor change anything, and no foreign script runs in ours", async (open) => {
    const page = await open("#/settings", { provokes: true });
    await heading(page, "Settings");
    await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "window.foreign = true";
      document.body.append(script);
    });
    assert.equal(await page.evaluate(() => window.foreign), undefined, "an inline script ran");
    // The fake's origin is another one; a browser shows its page and lets that ask.
    const other = await browser.newPage();
    await other.goto(`${stage.fake}/__fake/counts`);
    const asked = await other.evaluate(async (base) => {
      const ask = (path, wish) => fetch(base + path, wish).then((response) => response.type === "opaque" ? "sent" : response.status, () => "refused");
      return [
        await ask("/api/settings"),
        await ask("/api/projects/stolen", { method: "PUT", headers: { "content-type": "application/json" }, body: "{}" }),
        await ask("/api/endpoints/alpha/override", { method: "POST", mode: "no-cors", body: '{"mode":"forced_open","reason":"theirs"}' }),
        await ask("/api/tasks", { method: "POST", mode: "no-cors", headers: { "content-type": "text/plain" }, body: '{"tasks":[{"task":"x","command":["true"],"label":"theirs"}]}' }),
      ];
    }, stage.base);
    await other.close();
    assert.deepEqual(asked.slice(0, 2), ["refused", "refused"]);
    const [projects, endpoint, tasks] = await Promise.all(["/api/projects", "/api/endpoints/alpha", "/api/tasks?label=theirs"].map((path) => fetch(stage.base + path).then((response) => response.json())));
    assert.ok(!projects.projects.some((one) => one.name === "stolen"), "a project was made by another origin");
    assert.equal(endpoint.breaker.override ?? undefined, undefined, "a breaker was overridden by another origin");
    assert.deepEqual(tasks.tasks, [], "a task was added by another origin");
  });

  await check("wide and on a phone, light and dark: nothing is wider than the screen, contrast holds", async (open) => {
    const places = [...PAGES, ["#/sessions/default/waiting-one", "waiting-one"], ["#/endpoints/alpha", "alpha"], ["#/policies/mine?tab=edit", "mine"]];
    for (const [path, name] of places) {
      const page = await open(path, { width: 1440, height: 844 });
      await heading(page, name);
      for (const [width, colorScheme] of [[1440, "light"], [390, "light"], [390, "dark"], [1440, "dark"]]) {
        await page.setViewportSize({ width, height: 844 });
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await page.waitForTimeout(300);
        const [wide, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.ok(wide <= seen, `${path} is ${wide} px wide on ${width}`);
        await accessible(page);
      }
      await page.leave();
    }
  });

  await check("off loopback a token is asked for, and kept in this tab only", async (open) => {
    await locked.start('[projects.acme]\n[admin]\ntoken = { env = "STEADFAST_TOKEN" }', (port) => `0.0.0.0:${port}`);
    const page = await open("", { base: locked.base, provokes: true });
    await page.getByLabel("Token or key").fill("wrong");
    await accessible(page);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("neither the admin token nor").waitFor();
    await page.getByLabel("Token or key").fill("let-me-in");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("connected", { exact: true }).waitFor();
    assert.equal(await page.evaluate(() => document.cookie + Object.values(localStorage).join("")), "");
    await page.reload();
    await page.getByText("connected", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Token or key").waitFor();
  });

  await check("who logs in after another sees nothing of what that one saw", async (open) => {
    const token = { authorization: "Bearer let-me-in" };
    const made = await fetch(`${locked.base}/api/projects/acme/keys`, { method: "POST", headers: { ...token, "content-type": "application/json" }, body: '{"label":"test"}' });
    const { key } = await made.json();
    const page = await open("", { base: locked.base, provokes: true });
    const enter = async (word) => {
      await page.getByLabel("Token or key").fill(word);
      await page.getByRole("button", { name: "Log in" }).click();
      await page.getByText(/^connected/).waitFor();
    };
    await enter("let-me-in");
    await locked.ask("private-matter", { headers: { ...token, "x-fake": "status=500 x1; ok" } });
    await page.getByText("private-matter").first().waitFor();
    await page.getByText(/server error/).first().waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await enter(key);
    await page.getByText(/^connected · acme/).waitFor();
    await page.waitForTimeout(1500);
    assert.doesNotMatch(await page.locator("body").innerText(), /private-matter|server error/);
  });
}
