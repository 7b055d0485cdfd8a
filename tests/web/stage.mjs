// Real processes for the browser: the fake provider and a gateway in front of it, in a folder of their own.
import { execFileSync, spawn } from "node:child_process";
import { createServer } from "node:net";
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";

/** A port that nobody uses. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Waits until something holds; never longer than the deadline. */
export async function until(what, holds, deadlineMs = 20_000) {
  const end = Date.now() + deadlineMs;
  for (;;) {
    const found = await holds();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited ${deadlineMs} ms in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const CONFIG = (listen, fake, more) => `
listen = "${listen}"
[store]
url = "sqlite:steadfast.db"
[endpoints.alpha]
dialect = "openai"
url = "${fake}/@alpha"
[endpoints.beta]
dialect = "openai"
url = "${fake}/@beta"
[models.small]
vendor = "acme"
endpoints = ["alpha"]
fallback = ["large"]
price = { input = 1.0, output = 4.0 }
[models.large]
vendor = "acme"
endpoints = ["beta"]
price = { input = 5.0, output = 20.0 }
[ladders]
acme = ["small", "large"]
${more}
`;

export class Stage {
  #binary;
  #fake;
  #gateway;

  constructor(binary) {
    this.#binary = binary;
    this.folder = mkdtempSync(join(tmpdir(), "steadfast-web-"));
  }

  /** Starts the fake and the gateway; `more` is added to the configuration. */
  async start(more = "", listen) {
    const ports = [await freePort(), await freePort()];
    this.fake = `http://127.0.0.1:${ports[0]}`;
    this.base = `http://127.0.0.1:${ports[1]}`;
    this.#fake = this.#run(["fake", "--listen", `127.0.0.1:${ports[0]}`]);
    writeFileSync(join(this.folder, "steadfast.toml"), CONFIG(listen?.(ports[1]) ?? `127.0.0.1:${ports[1]}`, this.fake, more));
    await this.begin();
  }

  /** Starts the gateway once more. */
  async begin() {
    this.#gateway = this.#run(["serve", "--drain", "1"]);
    await until("the gateway", () => this.#answers(`${this.base}/health`));
    await until("the fake", () => this.#answers(`${this.fake}/__fake/counts`));
  }

  /** Stops the gateway as Ctrl-C would. */
  async halt() {
    const process = this.#gateway;
    if (!process || process.exitCode !== null || process.signalCode !== null) return;
    const gone = new Promise((resolve) => process.once("exit", resolve));
    process.kill("SIGTERM");
    const cut = setTimeout(() => process.kill("SIGKILL"), 5000);
    await gone;
    clearTimeout(cut);
  }

  async end() {
    await this.halt();
    this.#fake?.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }

  said() {
    return readFileSync(join(this.folder, "said.txt"), "utf8");
  }

  /** What an endpoint of the fake does from now on. */
  async script(endpoint, script) {
    await fetch(`${this.fake}/__fake/script/${endpoint}`, { method: "PUT", body: script });
  }

  /** A client's request. */
  async ask(session, { model = "small", stream = false, headers = {} } = {}) {
    const response = await fetch(`${this.base}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-steadfast-session": session, ...headers },
      body: JSON.stringify({ model, stream, messages: [{ role: "user", content: `Hello from ${session}` }] }),
    });
    await response.text();
    return { status: response.status, id: response.headers.get("x-steadfast-request") };
  }

  /** The requests of a session that are kept, newest first. */
  async requests(session) {
    return (await fetch(`${this.base}/api/requests?session=${session}`).then((response) => response.json())).items;
  }

  /** Sessions as if they had been there for a while, written straight into the store's file: made by requests they would take minutes. */
  crowd(count) {
    const script = `
import sqlite3, sys
db = sqlite3.connect("steadfast.db", timeout=20)
columns = [row[1] for row in db.execute("PRAGMA table_info(sessions)")]
wanted = ", ".join({"session": "printf('crowd-%05d', n)", "last": "last - (SELECT max(n) FROM numbers) + n - 1"}.get(name, name) for name in columns)
db.execute(f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {sys.argv[1]}) INSERT INTO sessions SELECT {wanted} FROM (SELECT * FROM sessions ORDER BY last DESC LIMIT 1), numbers")
db.commit()
`;
    execFileSync("python3", ["-c", script, String(count)], { cwd: this.folder });
  }

  #run(words) {
    const said = openSync(join(this.folder, "said.txt"), "a");
    return spawn(this.#binary, words, { cwd: this.folder, stdio: ["ignore", said, said], env: { PATH: process.env.PATH, HOME: this.folder, STEADFAST_TOKEN: "let-me-in" } });
  }

  async #answers(url) {
    if (this.#gateway.exitCode !== null) throw new Error(`the gateway ended: ${this.said()}`);
    return fetch(url).then(() => true, () => false);
  }
}
