// Numbers, moments and names as people read them.

export type Tone = "good" | "warn" | "bad" | "info" | "";

/** How serious a kind of failure looks: what passes by itself is a warning, what needs somebody is bad. */
const KINDS: Record<string, Tone> = {
  network_transient: "warn",
  network_permanent: "bad",
  timeout: "warn",
  rate_limit: "warn",
  quota_exhausted: "bad",
  overloaded: "warn",
  server_error: "warn",
  model_unavailable: "bad",
  context_limit: "info",
  content_filter: "info",
  auth_error: "bad",
  invalid_request: "bad",
  state_lost: "warn",
  stream_interrupted: "warn",
  process_died: "bad",
  bad_output: "info",
  cancelled: "",
  unknown: "bad",
};

export const kindTone = (kind: string): Tone => KINDS[kind] ?? "bad";

/** `rate_limit` as people say it. */
export const plain = (name: string): string => name.replaceAll("_", " ");

/** `one, two and three`. */
export const sentence = (words: string[]): string => [words.slice(0, -1).join(", "), words.at(-1)].filter(Boolean).join(" and ");

export function count(number: number): string {
  return number.toLocaleString("en-US");
}

export function plural(number: number, noun: string, nouns = `${noun}s`): string {
  return `${count(number)} ${number === 1 ? noun : nouns}`;
}

/** A share as a percentage; never 100 % where something is missing, never 0 % where something is there. */
export function share(part: number, whole: number): string {
  if (whole <= 0) return "–";
  return percent(part / whole);
}

export function percent(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const hundred = value * 100;
  if (value === 0 || value === 1) return `${hundred} %`;
  if (hundred >= 99.95) return ">99.9 %";
  if (hundred > 0 && hundred < 0.1) return "<0.1 %";
  return `${hundred.toFixed(1)} %`;
}

/** `850 ms`, `1.2 s`, `3 min 5 s`, `2 h 10 min`. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1) return "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return join(minutes, "min", Math.floor(seconds % 60), "s");
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return join(hours, "h", minutes % 60, "min");
  return join(Math.floor(hours / 24), "days", hours % 24, "h");
}

function join(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** `850 bytes`, `1.2 MB`. */
export function bytes(number: number): string {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  let [value, unit] = [number, 0];
  while (value >= 1000 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1];
  return `${unit === 0 || value >= 100 ? Math.round(value) : Number(value.toFixed(1))} ${units[unit]}`;
}

/** Micro-dollars as dollars. */
export function usd(micros: number | null | undefined): string {
  if (micros === null || micros === undefined) return "–";
  const dollars = micros / 1_000_000;
  if (dollars === 0) return "$0";
  if (dollars > 0 && dollars < 0.0001) return "<$0.0001";
  if (Math.abs(dollars) < 0.01) return `$${dollars.toFixed(4)}`;
  if (Math.abs(dollars) < 1000) return `$${dollars.toFixed(2)}`;
  return `$${Math.round(dollars).toLocaleString("en-US")}`;
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const MOMENT = new Intl.DateTimeFormat(undefined, {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hour12: false,
});

export const clockTime = (iso: string): string => CLOCK.format(new Date(iso));
export const moment = (iso: string): string => MOMENT.format(new Date(iso));

/** `just now`, `12 s ago`, `3 min ago`, `in 5 min`. */
export function ago(iso: string, now: number): string {
  const ms = now - Date.parse(iso);
  // What is heard may be a moment ahead of a clock that a busy browser lets stand.
  if (ms > -3000 && ms < 1500) return "just now";
  const rough = roughly(Math.abs(ms));
  return ms > 0 ? `${rough} ago` : `in ${rough}`;
}

function roughly(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
