// Written by scripts/types.mjs from GET /api/openapi.json; `cargo xtask web types` writes it anew.

/** When a breaker trips and how it comes back. */
export type BreakerSettings = {
  /** Whether it asks for longer runs under heavy traffic. */
  adaptive: boolean;
  /** How long it stays open at most. */
  cooldown_max_ms: number;
  /** How long it stays open at first. */
  cooldown_ms: number;
  /** Failures in a row that trip it. */
  failures: number;
  /** The share of bad outcomes in the window that trips it. */
  ratio: number;
  /** How far back the ratio looks. */
  window_ms: number;
};

/** A breaker. */
export type BreakerView = {
  /** When it last changed. */
  changed?: string | null;
  /** How many times it has opened or closed. */
  generation: number;
  /** When an open one lets probes through. */
  opens_until?: string | null;
  override?: OverrideView | null;
  /** Probes in flight. */
  probes: number;
  /** When it trips. */
  settings: BreakerSettings;
  /** `closed` (traffic flows), `open` (refused) or `half_open` (probes decide). */
  state: string;
};

/** A climb up the ladder. */
export type ClimbView = {
  /** An average turn of this session on the old model, in micro-dollars. */
  from_usd_micros?: number | null;
  /** `manual`, `auto_after_retries` or `context_limit`. */
  reason: string;
  /** The same on the new one. */
  to_usd_micros?: number | null;
};

/** An endpoint: a base URL plus a credential, and what is known about it. */
export type EndpointView = {
  /** Its breaker. */
  breaker: BreakerView;
  /** Whose key is sent: `own`, `client`, or `missing` where one is configured but was not found. */
  credential: string;
  /** The wire format spoken there: `anthropic`, `openai` or `gemini`. */
  dialect: string;
  health?: HealthView | null;
  last_failure?: LastFailure | null;
  /** When it last served. */
  last_served?: string | null;
  /** The average latency of attempts that served; newer ones weigh more. */
  latency_ms?: number | null;
  /** How its attempts of the last minute ended: `served` and `failures` count attempts. */
  minute: Second;
  /** The models it serves. */
  models: Array<string>;
  /** Its name. */
  name: string;
  /** It asked to be left alone, and others serve meanwhile. */
  paused: boolean;
  /** Its quota is exhausted until then. */
  set_aside_until?: string | null;
  /** Its base URL; for the admin only. */
  url?: string | null;
  /** Whether an attempt may start there now. */
  usable: boolean;
};

/** All endpoints. */
export type Endpoints = {
  /** In order of preference. */
  endpoints: Array<EndpointView>;
};

/** One field that is wrong. */
export type FieldProblem = {
  /** Its path, such as `on.rate_limit[0].retry`. */
  field: string;
  /** What to write instead. */
  help?: string;
  /** What is wrong with it. */
  message: string;
  /** `error`, or `warning` where it may stay. */
  severity: string;
};

/** That the API answers. */
export type Health = {
  /** `ok`. */
  status: string;
  /** The version of Steadfast. */
  version: string;
};

/** Health checks. */
export type HealthView = {
  /** When it was last asked. */
  at: string;
  /** The share of recent questions that failed. */
  failure_share: number;
  /** Whether they are answered well enough. */
  healthy: boolean;
  /** The average time of its answers. */
  latency_ms?: number | null;
};

/** The last failure of an endpoint. */
export type LastFailure = {
  /** Its kind. */
  kind: string;
  /** When. */
  time: string;
};

/** What is going on. */
export type Now = {
  /** Whether anything is recovered at all. */
  enabled: boolean;
  /** The last minute altogether. */
  minute: Second;
  /** The number of the next live event: ask for events from here on. */
  next_event: number;
  /** The requests under way, those that wait first, at most 200. */
  requests: Array<UnderWay>;
  /** How many conversations are remembered. */
  sessions?: number | null;
  /** Since when the gateway runs. */
  started: string;
  /** When this was true. */
  time: string;
  /** The last minute, second by second, the oldest first. */
  traffic: Array<Second>;
  /** How many requests are under way. */
  under_way: number;
  /** How many of them wait for their next attempt. */
  waiting: number;
};

/** What a breaker is told to do. */
export type OverrideMode = "forced_open" | "forced_closed" | "shadow";

/** What a person says about a breaker. */
export type OverrideRequest = {
  /** What the breaker does while it lasts. */
  mode: OverrideMode;
  /** Who and why, in words. */
  reason: string;
  /** For how many seconds; a week at most. This or `until`. */
  seconds?: number | null;
  /** Until when (RFC 3339), within a week. This or `seconds`. */
  until?: string | null;
};

/** A person's word over a breaker's own. */
export type OverrideView = {
  /** `forced_open`, `forced_closed` or `shadow`. */
  mode: string;
  /** Who and why. */
  reason: string;
  /** When the breaker decides by itself again. */
  until: string;
};

/** An error: a stable code, words for people, and the field it is about. */
export type ProblemBody = {
  /** What is wrong. */
  error: ProblemDetail;
};

/** What is wrong. */
export type ProblemDetail = {
  /** A stable word for programs, such as `not_found`. */
  code: string;
  /** The field it is about, where it is about one. */
  field?: string | null;
  /** What is wrong and what to do, for people. */
  message: string;
  /** Every field that is wrong, where several may be. */
  problems?: Array<FieldProblem>;
};

/** One thing that happened. Fields that say nothing are left out. */
export type RecordView = {
  /** The endpoint, model or session it is about. */
  about?: string | null;
  /** The agent within the conversation. */
  agent?: string | null;
  /** Which alert. */
  alert?: string | null;
  /** Which attempt of the request. */
  attempt?: number | null;
  /** How many attempts it may make. */
  attempts_max?: number | null;
  /** Where the request may go, in order. */
  chain?: Array<Target>;
  /** Why an attempt goes there. */
  choice?: string | null;
  /** The program that asks. */
  client?: string | null;
  escalation?: ClimbView | null;
  /** What kind of record: `start`, `attempt`, `decision`, `success`, `outcome`, `breaker`, `alert` or `escalation`. */
  event: string;
  from?: Target | null;
  /** How the attempt failed. */
  kind?: string | null;
  /** How long the attempt, or on `outcome` the request, took. */
  latency_ms?: number | null;
  /** What the provider said, with names, numbers and quotes folded away. */
  message?: string | null;
  /** Its number; later ones are higher. Only in live events. */
  number?: number | null;
  /** How it ended. */
  outcome?: string | null;
  /** Why the step before it in the policy was not taken. */
  passed_over?: string | null;
  /** The shape of what is asked, without a word of it. */
  pattern?: string | null;
  /** The policy in force. */
  policy?: string | null;
  /** Who pays. */
  project?: string | null;
  /** Why, in words. */
  reason?: string | null;
  /** The request of which this is a repeat. */
  repeats?: string | null;
  /** The request. */
  request?: string | null;
  /** How long the provider asked to be left alone. */
  retry_after_ms?: number | null;
  /** The rule that told its kind. */
  rule?: string | null;
  /** Its conversation. */
  session?: string | null;
  /** What that is now. */
  state?: string | null;
  /** Its HTTP status. */
  status?: number | null;
  /** The step decided on. */
  step?: string | null;
  target?: Target | null;
  /** One line for people. */
  text: string;
  /** When (RFC 3339). */
  time: string;
  to?: Target | null;
  usage?: Tokens | null;
  /** What the attempt cost, in micro-dollars. */
  usd_micros?: number | null;
  /** The wait before it. */
  wait_ms?: number | null;
  /** The session has used so many retries that a person should know. */
  warning?: boolean;
  /** The same as people speak of it: `request_started`, `attempt_started`, `retry_started`, `waiting`, `fallback`, `escalation`, `restart`, `gave_up`, `decided`, `succeeded`, `over`, `breaker` or `alert`. */
  what: string;
};

/** One request and everything that was decided about it. */
export type RequestStory = {
  /** How many attempts it made. */
  attempts: number;
  /** When it came in. */
  began: string;
  /** `served`, `recovered`, `failed`, `degraded`, `client left` or `open`. */
  ending: string;
  /** How it ended, in a line. */
  headline: string;
  /** Who pays. */
  project?: string | null;
  /** Everything that happened to it, in order. */
  records: Array<RecordView>;
  /** Its id. */
  request: string;
  /** Its conversation. */
  session?: string | null;
  /** The whole story, as `steadfast why` tells it. */
  story: string;
  target?: Target | null;
  /** How long it took, where it is over. */
  took_ms?: number | null;
};

/** What was counted in a second, or in a minute. */
export type Second = {
  /** Requests that failed for good. */
  failed: number;
  /** Attempts that failed. */
  failures: number;
  /** Of these, those that needed more than one attempt. */
  recovered: number;
  /** Requests that came in. */
  requests: number;
  /** Requests that were served. */
  served: number;
};

/** A model at an endpoint. */
export type Target = {
  /** The endpoint. */
  endpoint: string;
  /** The model. */
  model: string;
};

/** Tokens an attempt used. */
export type Tokens = {
  /** Tokens read. */
  input_tokens: number;
  /** Tokens written. */
  output_tokens: number;
};

/** A request under way. */
export type UnderWay = {
  /** The agent within it. */
  agent?: string | null;
  /** Which attempt is made or was last made. */
  attempt: number;
  /** How many it may make. */
  attempts_max: number;
  /** When it came in. */
  began: string;
  /** The program that asks. */
  client?: string | null;
  /** How the last attempt failed. */
  kind?: string | null;
  /** The model asked for. */
  model?: string | null;
  /** Who pays. */
  project?: string | null;
  /** Its id. */
  request: string;
  /** Its conversation. */
  session?: string | null;
  /** `running` or `waiting`. */
  state: string;
  /** What was decided about it. */
  step?: string | null;
  target?: Target | null;
  /** When the next attempt starts. */
  waits_until?: string | null;
};

/** Who the caller is. */
export type Whoami = {
  /** The only project the caller sees. */
  project?: string | null;
  /** `admin` or `project`. */
  role: string;
};
