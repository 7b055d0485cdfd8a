// The dashboard in a real browser against the real binary: `node run.mjs BINARY MODULES [SCREENSHOTS]`.
//
// Every case gets a page of its own. A message of the console, an error of the page or a request to another host fails the
// case that caused it, unless the case says that it provokes one.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { check as sound } from "./check.mjs";
import { Stage } from "./stage.mjs";

const [binary, modules, screenshots] = process.argv.slice(2);
const require = createRequire(join(modules, "x.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

const browser = await chromium.launch({ executablePath, args: FLAGS });
const stage = new Stage(binary);
const locked = new Stage(binary);
let failed = 0;

/** A page that complains about everything it should not see. */
async function open(path, { base = stage.base, width = 1280, height = 860, dark = false, provokes = false, before = () => {} } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", reducedMotion: "reduce" });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => message.type() === "error" && !provokes && complaints.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`page: ${error.message} at ${page.url()}`));
  page.on("request", (request) => /^(https?|wss?):/.test(request.url()) && !request.url().startsWith(base) && complaints.push(`another host: ${request.url()}`));
  before(page);
  await page.goto(`${base}/${path}`);
  return Object.assign(page, { complaints, leave: () => context.close() });
}

async function check(name, run) {
  if (process.env.CASE && !name.includes(process.env.CASE)) return;
  const began = Date.now();
  const pages = [];
  try {
    await run(async (...wish) => {
      const page = await open(...wish);
      pages.push(page);
      return page;
    });
    for (const page of pages) assert.deepEqual(page.complaints, []);
    console.log(`ok    ${name} (${Date.now() - began} ms)`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n      ${String(error.stack ?? error).replaceAll("\n", "\n      ")}`);
    if (screenshots) await pages.at(-1)?.screenshot({ path: join(screenshots, "failed.png") }).catch(() => {});
  }
  await Promise.all(pages.map((page) => page.leave()));
}

/** Nothing that axe calls an offence against WCAG A or AA. */
async function accessible(page) {
  // Evaluated by the driver: the page's own policy would not let a script in.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }));
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`), []);
}

const PAGES = [
  ["#/live", /requests|quiet|well|failed/i],
  ["#/sessions", "Sessions"],
  ["#/failures", "Failures"],
  ["#/policies", "Policies"],
  ["#/endpoints", "Endpoints"],
  ["#/tasks", "Tasks"],
  ["#/alerts", "Alerts"],
  ["#/settings", "Settings"],
  ["#/requests", "Requests"],
];
const heading = (page, name) => page.getByRole("heading", { level: 1, name }).waitFor();

/** What an agent may need: a service that never answers is started, and said to be unhealthy. */
const SERVICE = '[services.mail]\nhealth = "http://127.0.0.1:9/health"\nstart = ["sleep", "600"]\nsettle = "1s"';
const given = { PAGES, accessible, binary, browser, check, heading, locked, screenshots, stage };

try {
  await check("sources: every page and part is sound", async () => sound(join(import.meta.dirname, "../../web"), modules));
  await stage.start(SERVICE);
  // In this order: each begins where the one before it left the gateway.
  for (const name of ["first", "live", "endpoints", "sessions", "failures", "policies", "settings", "trouble", "people", "demo"]) {
    const { default: run } = await import(`./cases/${name}.mjs`);
    await run(given);
  }
} finally {
  await browser.close();
  await stage.end();
  await locked.end();
}
console.log(failed ? `${failed} cases failed` : "every case is fine");
process.exit(failed ? 1 : 0);
