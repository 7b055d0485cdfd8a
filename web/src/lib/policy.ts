// A policy as the configuration writes it, taken apart for a form: fields by path, steps by verb.

export type Document = Record<string, unknown>;
export type Step = string | Document;

/** A field: its path, what it is called, what it means, and how it is entered. */
export interface Field {
  path: string;
  name: string;
  about: string;
  as: "wait" | "number" | "switch" | string[];
}

const field = (path: string, name: string, about: string, as: Field["as"]): Field => ({ path, name, about, as });

/** Every scalar of a policy, in groups. */
export const GROUPS: { name: string; about: string; fields: Field[] }[] = [
  {
    name: "A request",
    about: "how long and how often",
    fields: [
      field("deadline", "Deadline", "for all attempts together", "wait"),
      field("attempts_max", "Attempts at most", "over all targets", "number"),
      field("stream", "Streams", "what a stream promises", ["fast", "safe", "regenerate", "resume"]),
      field("vendor_boundary", "Vendors", "strict: a chain keeps to one vendor", ["open", "strict"]),
      field("park", "Hold while all are down", "with heartbeats; 0s: fail at once", "wait"),
      field("journal", "Keep an untaken answer", "for the client's identical retry", "wait"),
    ],
  },
  {
    name: "Allowances",
    about: "so that retries do not become the outage",
    fields: [
      field("retry_share", "Retries, as a share", "of an endpoint's traffic", "number"),
      field("fallback_share", "Fallbacks, as a share", "of a project's successes", "number"),
      field("session_retries.max", "Retries of a session", "that did not help", "number"),
      field("session_retries.warn", "Warn from", "retries of a session", "number"),
      field("quota_rest", "Rest of a credential", "whose quota is exhausted", "wait"),
    ],
  },
  {
    name: "Escalation",
    about: "to a stronger model; it costs money",
    fields: [
      field("escalate.auto", "By itself", "sessions climb without a person", "switch"),
      field("escalate.after_retries", "After retries", "on one model", "number"),
    ],
  },
  {
    name: "Breaker",
    about: "when an endpoint is refused, and for how long",
    fields: [
      field("breaker.failures", "Failures in a row", "that trip it", "number"),
      field("breaker.adaptive", "Adaptive", "longer rows under heavy traffic", "switch"),
      field("breaker.ratio", "Share of failures", "within the window that trips it", "number"),
      field("breaker.window", "Window", "how far back the share looks", "wait"),
      field("breaker.floor", "Outcomes at least", "before the share says anything", "number"),
      field("breaker.cooldown", "Open at first for", "", "wait"),
      field("breaker.cooldown_max", "Open at most for", "each failed probe doubles it", "wait"),
      field("breaker.probes", "Probes at once", "while half-open", "number"),
      field("breaker.successes", "Successful probes", "that close it", "number"),
      field("breaker.lease", "A probe may take", "", "wait"),
      field("breaker.rate_limits_trip", "Rate limits trip it", "as failures in a row", "switch"),
    ],
  },
  {
    name: "Timeouts",
    about: "when a silent upstream counts as failed",
    fields: [
      field("timeouts.connect", "Connect", "until a connection stands", "wait"),
      field("timeouts.first_token", "First content", "of a streamed answer", "wait"),
      field("timeouts.idle", "Silence", "between two signs of life", "wait"),
      field("timeouts.heartbeat", "Heartbeat", "to a client that waits", "wait"),
    ],
  },
];

/** What a step can be: its verb, in words, and whether it is counted. */
export const VERBS: { verb: string; words: string; counted: boolean }[] = [
  { verb: "retry", words: "retry", counted: true },
  { verb: "fallback", words: "fall back along the chain", counted: false },
  { verb: "escalate", words: "escalate up the ladder", counted: false },
  { verb: "repair", words: "repair", counted: true },
  { verb: "defer", words: "defer: let others go first", counted: false },
  { verb: "ask", words: "ask a person", counted: false },
  { verb: "restart", words: "restart the task", counted: true },
  { verb: "degrade", words: "go on without this voice", counted: false },
  { verb: "give_up", words: "give up", counted: false },
];

/** The numbers that belong to a verb, beside how often. */
const WAITS = [
  { name: "every", words: "every", about: "the same wait each time" },
  { name: "base", words: "first wait", about: "" },
  { name: "multiplier", words: "grows ×", about: "" },
  { name: "cap", words: "at most", about: "" },
  { name: "jitter", words: "spread", about: "a share such as 0.2, full or decorrelated" },
];
const NUMBERS: Record<string, typeof WAITS> = {
  retry: WAITS,
  restart: WAITS,
  ask: [
    { name: "nudge", words: "remind after", about: "" },
    { name: "skip", words: "no answer after", about: "" },
  ],
};

export const verbOf = (step: Step): string => (typeof step === "string" ? step : (VERBS.find(({ verb }) => verb in step)?.verb ?? Object.keys(step)[0] ?? ""));

/** The numbers of a step that a form shows: a step with `every` has no growing wait, and the other way round. */
export function numbersOf(step: Step): typeof WAITS {
  const numbers = NUMBERS[verbOf(step)] ?? [];
  if (typeof step !== "string" && "every" in step) return numbers.filter(({ name }) => name === "every" || name === "jitter");
  return numbers.filter(({ name }) => name !== "every");
}

/** A new step of a verb, with what the configuration would take where nobody says. */
export function fresh(verb: string): Step {
  if (verb === "retry") return { retry: 2, base: "1s", multiplier: 2, cap: "30s", jitter: 0.5 };
  if (verb === "restart") return { restart: 3, base: "1m", multiplier: 2, cap: "4m" };
  if (verb === "repair") return { repair: 2 };
  if (verb === "ask") return { ask: true, nudge: "30s", skip: "60s" };
  return verb;
}

/** A step with one of its numbers changed; nothing takes it out. A step that is no table becomes one. */
export function withNumber(step: Step, name: string, value: unknown): Step {
  const table: Document = typeof step === "string" ? { ...(fresh(step) as Document) } : { ...step };
  if (value === undefined) delete table[name];
  else table[name] = value;
  return table;
}

/** What somebody typed: a number where it is one, nothing where it is empty. */
export function typed(text: string): unknown {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  return /^-?\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : trimmed;
}

export function valueAt(document: Document, path: string): unknown {
  return path.split(".").reduce<unknown>((value, name) => (value as Document | undefined)?.[name], document);
}

/** The document with one field changed; nothing takes it out, and what it extends decides. */
export function withValue(document: Document, path: string, value: unknown): Document {
  const [name = "", ...rest] = path.split(".");
  const copy = { ...document };
  if (rest.length) copy[name] = withValue((document[name] as Document | undefined) ?? {}, rest.join("."), value);
  else if (value === undefined) delete copy[name];
  else copy[name] = value;
  return copy;
}
