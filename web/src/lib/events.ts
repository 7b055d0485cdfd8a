// Server-sent events over `fetch`, which, unlike EventSource, can send a token. Comes back by itself and goes on where it was.
import { ApiError, send } from "./api";

export interface Follower {
  /** One event: its name and its data. */
  heard(event: string, data: string): void;
  /** Connected, or not. */
  changed(connected: boolean, error?: ApiError): void;
}

const WAIT_MS = { first: 500, most: 8000 };
/** The server says something every 15 seconds; silence for longer than this is a dead connection. */
const SILENCE_MS = 40_000;

/** Follows the live events until the signal says stop. */
export async function follow(query: Record<string, string>, follower: Follower, signal: AbortSignal): Promise<void> {
  let last: string | undefined;
  let wait = WAIT_MS.first;
  while (!signal.aborted) {
    const attempt = new AbortController();
    const stop = () => attempt.abort();
    signal.addEventListener("abort", stop, { once: true });
    try {
      const headers: Record<string, string> = last === undefined ? {} : { "last-event-id": last };
      const response = await send("/api/events", { query, headers, signal: attempt.signal });
      follower.changed(true);
      wait = WAIT_MS.first;
      await read(response, attempt, follower, (id) => (last = id));
      follower.changed(false);
    } catch (error) {
      if (signal.aborted) return;
      follower.changed(false, error instanceof ApiError ? error : undefined);
      if (error instanceof ApiError && error.status === 401) return;
    } finally {
      signal.removeEventListener("abort", stop);
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, WAIT_MS.most);
  }
}

async function read(response: Response, attempt: AbortController, follower: Follower, seen: (id: string) => void): Promise<void> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const parser = new Parser(follower, seen);
  for (;;) {
    const silence = setTimeout(() => attempt.abort(), SILENCE_MS);
    const { done, value } = await reader.read().finally(() => clearTimeout(silence));
    if (done) return;
    parser.feed(value);
  }
}

/** Cuts the stream into events. */
class Parser {
  #rest = "";
  #event = "message";
  #data = "";

  constructor(
    readonly follower: Follower,
    readonly seen: (id: string) => void,
  ) {}

  feed(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#line(line);
  }

  #line(line: string): void {
    if (line === "") {
      if (this.#data) this.follower.heard(this.#event, this.#data);
      this.#event = "message";
      this.#data = "";
      return;
    }
    const colon = line.indexOf(":");
    if (colon <= 0) return;
    const value = line.slice(colon + 1).replace(/^ /, "");
    const field = line.slice(0, colon);
    if (field === "data") this.#data = this.#data ? `${this.#data}\n${value}` : value;
    else if (field === "event") this.#event = value;
    else if (field === "id") this.seen(value);
  }
}
