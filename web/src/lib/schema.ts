// Written by scripts/types.mjs from GET /api/openapi.json; `cargo xtask web types` writes it anew.

/** What to say when taking note. */
export type AcknowledgeRequest = {
  /** Who, and what is being done. */
  note?: string;
};

/** That somebody has taken note. */
export type Acknowledged = {
  /** What was said. */
  note: string;
  /** When. */
  time: string;
};

/** What was taken. */
export type Added = {
  /** Their ids, in their order. */
  ids: Array<string>;
};

/** How an agent's address is. */
export type AgentHealth = {
  /** The address. */
  address: string;
  /** The agents that need it. */
  agents: Array<string>;
  /** The share that failed. */
  failure_rate?: number | null;
  /** Whether it answers, or nothing speaks against it. */
  healthy: boolean;
  /** The average time of its answers, in milliseconds. */
  latency_ms?: number | null;
  /** How often it was asked. */
  pings: number;
  /** The share of recent pings that were answered. */
  success_rate?: number | null;
};

/** What agents need to work. */
export type AgentList = {
  /** One for each address that was asked since this process began. */
  agents: Array<AgentHealth>;
};

/** Something a person should know, or should have known. */
export type AlertView = {
  /** The project or model it is about. */
  about: string;
  acknowledged?: Acknowledged | null;
  /** What is the matter: `many_failures`, `fallback_rate`, `chain_failed` or `in_a_row`. */
  alert: string;
  /** Its number. */
  id: string;
  /** When it began. */
  raised: string;
  /** In words. */
  reason: string;
  /** The request that crossed the line. */
  request?: string | null;
  /** When it was over: alerts end by themselves when their cause does. */
  resolved?: string | null;
};

/** Everything that is known of a range of time. */
export type AnalyticsView = {
  /** By program. */
  by_client: Array<BarView>;
  /** By day, oldest first (UTC). */
  by_day: Array<BucketView>;
  /** By endpoint. */
  by_endpoint: Array<BarView>;
  /** By hour, oldest first, where the range is three days or less. */
  by_hour: Array<BucketView>;
  /** By how attempts failed. */
  by_kind: Array<BarView>;
  /** By model. */
  by_model: Array<BarView>;
  /** By the shape of what was asked. */
  by_pattern: Array<BarView>;
  /** By project; empty where one is asked about. */
  by_project: Array<BarView>;
  /** Failed attempts per attempt, 0 to 1. */
  failure_rate: number;
  /** Where the range really begins. */
  from: string;
  /** What providers said, most frequent first. */
  messages: Array<KindMessage>;
  /** How well failures were recovered from. */
  recovery: RecoveryView;
  /** The documents' targets, held against what happened. */
  targets: Array<TargetView>;
  /** Where it really ends. */
  to: string;
  /** Everything together. */
  totals: Sums;
};

/** One value of a breakdown. */
export type BarView = Sums & {
  /** Failed attempts per attempt, 0 to 1; for a kind, its share of all failures. */
  failure_rate: number;
  /** The value; `(others)` for what is not counted apart. */
  name: string;
};

/** Something a breaker did, or was told. */
export type BreakerChangeView = {
  /** The request whose attempt did it. */
  request?: string | null;
  /** What it is since: `open`, `half_open`, `closed`, what a person forced it to, or `automatic`. */
  state: string;
  /** When. */
  time: string;
};

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

/** One hour or day. */
export type BucketView = Sums & {
  /** Failed attempts per attempt, 0 to 1. */
  failure_rate: number;
  /** When it began. */
  start: string;
};

/** A budget to set. What is left out or null is the file's again. */
export type BudgetRequest = {
  /** Dollars per day (UTC). */
  usd_per_day?: number | null;
  /** Dollars per session; for sessions that begin from now on. */
  usd_per_session?: number | null;
};

/** What a project may spend and has spent. Days are those of UTC. */
export type BudgetView = {
  /** What is left today, in micro-dollars, where there is a limit. */
  left_usd_micros?: number | null;
  /** The project. */
  project: string;
  /** What is held for calls under way, in micro-dollars. */
  reserved_usd_micros: number;
  /** What it may spend a day, in dollars. */
  usd_per_day?: number | null;
  /** What each of its sessions may spend, in dollars. */
  usd_per_session?: number | null;
  /** What it has spent today, in micro-dollars. */
  used_usd_micros: number;
};

/** All budgets the caller sees. */
export type Budgets = {
  budgets: Array<BudgetView>;
};

/** A field that would be different. */
export type Change = {
  /** What it would be; null where it would not be there. */
  after: unknown;
  /** What it is; null where it is not there. */
  before: unknown;
  /** Its path, such as `on.rate_limit`. */
  field: string;
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

/** The decision log. */
export type DecisionLogView = {
  /** How many old files are kept. */
  keep: number;
  /** Its path. */
  path: string;
  /** A new file is begun at this size. */
  rotate_bytes: number;
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

/** A type of error. */
export type ErrorType = "rate_limit" | "server_error" | "timeout" | "context_limit" | "content_filter" | "invalid_request" | "auth_error" | "unknown";

/** Where a session is to climb. */
export type EscalateRequest = {
  /** Do it. Without this the answer only says what it would cost. */
  confirm?: boolean;
  /** The session's project, where several have one of this name. */
  project?: string | null;
  /** A model up its ladder; absent: the next one. */
  to?: string | null;
};

/** What a climb costs, and whether it was made. */
export type Escalated = {
  /** Whether an average turn still fits what is left. */
  affordable: boolean;
  /** Whether the climb was made. */
  confirmed: boolean;
  /** The model the session uses. */
  from: string;
  /** An average turn on the model before, in micro-dollars, where its price is known. */
  from_usd_micros?: number | null;
  /** Every model up the ladder from the one asked for. */
  ladder: Array<string>;
  /** What the session and its project may still spend, in micro-dollars, where there is a limit. */
  left_usd_micros?: number | null;
  /** How much more a turn costs, in percent. */
  percent?: number | null;
  record?: EscalationRecord | null;
  /** The model it would use, or uses from now on. */
  to: string;
  /** An average turn on the model after. */
  to_usd_micros?: number | null;
  tokens_per_turn?: Tokens | null;
};

/** A change of model, in the shape of the design document. */
export type EscalationRecord = {
  /** What an average turn costs more, in dollars. */
  costEstimate: number;
  /** The model before. */
  fromModel: string;
  /** `manual`, `auto_after_retries` or `context_limit`. */
  reason: string;
  /** `climbed` or `rolled_back`. */
  state: string;
  /** When. */
  timestamp: string;
  /** The model after. */
  toModel: string;
};

/** An error, as it was seen. */
export type ExplainRequest = {
  /** The headers of the response. */
  headers?: Record<string, string>;
  /** The project whose policy is asked; `default` where nobody says. */
  project?: string | null;
  /** Who answered, as a hint. */
  provider?: string | null;
  /** The HTTP status of the response. */
  status?: number | null;
  /** What was printed, or the body of the response. */
  text?: string;
};

/** What an error means. */
export type Explained = {
  /** The category of that. */
  category: string;
  /** Its kind, such as `rate_limit`. */
  kind: string;
  /** The policy that was asked. */
  policy: string;
  /** How long the provider asks to be left alone. */
  retry_after_ms?: number | null;
  /** The rule that told it. */
  rule: string;
  /** What it does if the error does not go away, in order. */
  steps: Array<string>;
};

/** A request that failed for good. */
export type FailedRequest = {
  /** The kind of the failure, whatever its client was told. */
  kind: string;
  /** What was said, and what was done about it. */
  message: string;
  /** Where it failed last, `model@endpoint`; empty where it got nowhere. */
  place: string;
  /** Its name. */
  request: string;
  /** Its retries have been made. */
  retried: boolean;
  /** When asking again may help. */
  retry_after_ms?: number | null;
  /** The rule that decided the kind. */
  rule: string;
  /** The HTTP status that says it best. */
  status?: number | null;
  /** The tool whose call broke off or was malformed, where one did. */
  tool?: string | null;
};

/** What failed, in the shape of the design document. */
export type FailureAnalytics = {
  /** The same by type of error. */
  byErrorType: Record<string, number>;
  /** The same by model. */
  byModel: Record<string, number>;
  /** Failed attempts per attempt, by day (UTC). */
  failureRateByDay: Record<string, number>;
  /** What providers said most often, with names, numbers and quotes folded away. */
  topErrorMessages: Array<MessageCount>;
  /** Attempts that failed. */
  totalFailures: number;
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

/** A key to make. */
export type KeyRequest = {
  /** What it is for. */
  label: string;
};

/** A key, of which only the last letters are known. */
export type KeyView = {
  /** When it was made. */
  created: string;
  /** Its last letters. */
  ends: string;
  /** Its name, to revoke it by. */
  id: string;
  /** What it is for. */
  label: string;
};

/** The keys of a project. */
export type Keys = {
  keys: Array<KeyView>;
};

/** What providers said about a kind of failure. */
export type KindMessage = {
  /** How often. */
  count: number;
  /** How those attempts failed. */
  kind: string;
  /** What was said. */
  message: string;
};

/** A ladder. */
export type Ladder = {
  /** Its models, from the cheapest to the most capable. */
  models: Array<string>;
  /** Its name. */
  name: string;
};

/** The last failure of an endpoint. */
export type LastFailure = {
  /** Its kind. */
  kind: string;
  /** When. */
  time: string;
};

/** A part of a list. */
export type Listed_AlertView = {
  /** What is on it. It may hold less than asked for, or nothing, although there is a next one. */
  items: Array<{
    /** The project or model it is about. */
    about: string;
    acknowledged?: Acknowledged | null;
    /** What is the matter: `many_failures`, `fallback_rate`, `chain_failed` or `in_a_row`. */
    alert: string;
    /** Its number. */
    id: string;
    /** When it began. */
    raised: string;
    /** In words. */
    reason: string;
    /** The request that crossed the line. */
    request?: string | null;
    /** When it was over: alerts end by themselves when their cause does. */
    resolved?: string | null;
  }>;
  /** Send it as `cursor` to get the next part; none after the last. */
  next?: string | null;
};

/** A part of a list. */
export type Listed_BreakerChangeView = {
  /** What is on it. It may hold less than asked for, or nothing, although there is a next one. */
  items: Array<{
    /** The request whose attempt did it. */
    request?: string | null;
    /** What it is since: `open`, `half_open`, `closed`, what a person forced it to, or `automatic`. */
    state: string;
    /** When. */
    time: string;
  }>;
  /** Send it as `cursor` to get the next part; none after the last. */
  next?: string | null;
};

/** A part of a list. */
export type Listed_EscalationRecord = {
  /** What is on it. It may hold less than asked for, or nothing, although there is a next one. */
  items: Array<{
    /** What an average turn costs more, in dollars. */
    costEstimate: number;
    /** The model before. */
    fromModel: string;
    /** `manual`, `auto_after_retries` or `context_limit`. */
    reason: string;
    /** `climbed` or `rolled_back`. */
    state: string;
    /** When. */
    timestamp: string;
    /** The model after. */
    toModel: string;
  }>;
  /** Send it as `cursor` to get the next part; none after the last. */
  next?: string | null;
};

/** A part of a list. */
export type Listed_RecordView = {
  /** What is on it. It may hold less than asked for, or nothing, although there is a next one. */
  items: Array<{
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
  }>;
  /** Send it as `cursor` to get the next part; none after the last. */
  next?: string | null;
};

/** A part of a list. */
export type Listed_RequestView = {
  /** What is on it. It may hold less than asked for, or nothing, although there is a next one. */
  items: Array<{
    /** The agent within the conversation. */
    agent?: string | null;
    /** Attempts it made. */
    attempts: number;
    /** The program that asked. */
    client?: string | null;
    /** When it was over; absent while it runs. */
    ended?: string | null;
    /** Of it, on attempts that failed. */
    failed_usd_micros: number;
    /** Of them, those that failed. */
    failures: number;
    /** Of them, those at another model than the one asked for. */
    fallbacks: number;
    /** Tokens read. */
    input_tokens: number;
    /** How its last failed attempt failed. */
    kind?: string | null;
    /** How long it took. */
    latency_ms?: number | null;
    /** The model that was asked for. */
    model?: string | null;
    /** How it ended; absent while it runs. */
    outcome?: string | null;
    /** Tokens written. */
    output_tokens: number;
    /** The shape of what was asked. */
    pattern?: string | null;
    /** Who pays. */
    project: string;
    /** Its id. */
    request: string;
    /** The endpoint that served. */
    served_endpoint?: string | null;
    /** The model that served. */
    served_model?: string | null;
    /** Its conversation. */
    session?: string | null;
    /** When it came in. */
    started: string;
    /** What it cost, in micro-dollars. */
    usd_micros: number;
  }>;
  /** Send it as `cursor` to get the next part; none after the last. */
  next?: string | null;
};

/** A part of a list. */
export type Listed_RetryAttempt = {
  /** What is on it. It may hold less than asked for, or nothing, although there is a next one. */
  items: Array<{
    /** Which of its request, from 1. */
    attemptNumber: number;
    /** The wait after it. */
    delayMs: number;
    /** Where it went. */
    endpoint: string;
    /** How it failed; `unknown` where it served. */
    error: ErrorType;
    /** What the provider said, with names, numbers and quotes folded away; empty where it served. */
    errorMessage: string;
    /** How it failed, by our own kinds. */
    kind?: string | null;
    /** Where it went. */
    model: string;
    /** Why, in words. */
    reason?: string | null;
    /** The request. */
    request: string;
    /** What was decided about it. */
    step?: string | null;
    /** Whether it served. */
    succeeded: boolean;
    /** When it began. */
    timestamp: string;
  }>;
  /** Send it as `cursor` to get the next part; none after the last. */
  next?: string | null;
};

/** A part of a list. */
export type Listed_SessionView = {
  /** What is on it. It may hold less than asked for, or nothing, although there is a next one. */
  items: Array<{
    /** The agent that asked last. */
    agent?: string | null;
    /** Attempts made. */
    attempts: number;
    /** When it began. */
    began: string;
    /** Whether its last turn is still held, so that it can be tried again. */
    can_retry: boolean;
    /** The program that asks. */
    client?: string | null;
    /** The model it climbed to, where that is not the one asked for. */
    escalated?: string | null;
    /** Of it, on attempts that failed. */
    failed_usd_micros: number;
    /** Of them, failed. */
    failures: number;
    /** Requests that went to another model than the one asked for. */
    fallbacks: number;
    /** Of them, failed for good. */
    gave_up: number;
    /** Tokens read. */
    input_tokens: number;
    /** How its last failed attempt failed. */
    kind?: string | null;
    /** When something last happened in it. */
    last: string;
    /** The model that served last, or was asked for last. */
    model?: string | null;
    /** How its last request ended; none while it runs. */
    outcome?: string | null;
    /** Tokens written. */
    output_tokens: number;
    /** Whose it is. */
    project: string;
    /** Requests. */
    requests: number;
    /** How many its policy allows. */
    retries_max: number;
    /** Retries it has used and not got back; its policy allows only so many. */
    retries_used: number;
    /** Its name, as the client gave it. */
    session: string;
    /** Of them, served. */
    succeeded: number;
    /** What it cost, in micro-dollars. */
    usd_micros: number;
  }>;
  /** Send it as `cursor` to get the next part; none after the last. */
  next?: string | null;
};

/** What was said, and how often. */
export type MessageCount = {
  /** How often. */
  count: number;
  /** What was said. */
  message: string;
};

/** The text of a message. */
export type MessageText = {
  /** Its place in the conversation. */
  index: number;
  /** The text, 200,000 characters of it at most. */
  text: string;
  /** Whether that is all of it. */
  whole: boolean;
};

/** A message of a conversation, without its text. */
export type MessageView = {
  /** Pictures and files in it. */
  attachments: number;
  /** How its text begins. */
  begins: string;
  /** How long its text is, in characters. */
  chars: number;
  /** Its place in the conversation. */
  index: number;
  /** `system`, `user`, `assistant` or `tool`. */
  role: string;
  /** The tools it calls, or whose results it holds where the role is `tool`. */
  tools: Array<string>;
};

/** A model. */
export type ModelView = {
  /** The models its requests fall back to, in order; in the caller's project, or in `default`. */
  chain: Array<string>;
  /** How many tokens it holds, where known. */
  context_window?: number | null;
  /** Where it is served, in order of preference. */
  endpoints: Array<ServedAt>;
  /** Whether an endpoint of its own can serve it now. */
  healthy: boolean;
  /** The models its sessions may climb to, in order. */
  ladder: Array<string>;
  /** The name people ask for. */
  name: string;
  price?: PriceView | null;
  /** Whether anybody in its chain can. */
  servable: boolean;
  /** Who makes it. */
  vendor: string;
};

/** All models that are listed. */
export type Models = {
  /** The ladders, each from the cheapest to the most capable. */
  ladders: Array<Ladder>;
  /** By name. */
  models: Array<ModelView>;
};

/** A new key. */
export type NewKey = KeyView & {
  /** The key itself: it is not shown again. Clients send it as their API key. */
  key: string;
};

/** Tasks to be run. */
export type NewTasks = {
  /** Each as in a file of `steadfast spawn`: `task`, `label`, `agent` or `command`, `model`, `chain` and more. */
  tasks: Array<Record<string, unknown>>;
};

/** What is going on. */
export type Now = {
  /** Whether anything is recovered at all. */
  enabled: boolean;
  /** The last minute altogether. */
  minute: Second;
  /** The number of the next live event: ask for events from here on. */
  next_event: number;
  /** What goes wrong on purpose right now, in words; only in a demo. */
  playing?: string | null;
  /** How many follow the live events. */
  readers?: number | null;
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

/** All policies. */
export type Policies = {
  policies: Array<PolicySummary>;
};

/** What a policy would change, without changing it. */
export type PolicyPreview = {
  /** What it would do about each kind of failure that does not go away, in words. */
  all: Record<string, Array<string>>;
  /** What would be different, field by field. */
  changes: Array<Change>;
  /** What is wrong with it, and what deserves a second look. */
  problems: Array<FieldProblem>;
  /** The projects it would change. */
  projects: Array<string>;
  /** What would be done otherwise, by kind of failure. */
  steps: Array<StepsChange>;
  /** Which list of steps each kind of failure gets: the kind's own, its category's, or `default`. */
  triggers: Record<string, string>;
  /** Whether it can be stored. */
  valid: boolean;
};

/** A policy in a list. */
export type PolicySummary = {
  /** Its name. */
  name: string;
  /** The projects that use it. */
  projects: Array<string>;
  /** Who wrote what is in force: `stored` (through this API), `file` or `template`. */
  source: string;
  /** Its version in the store; 0 where it is not stored. */
  version: number;
};

/** A policy. */
export type PolicyView = PolicySummary & {
  /** All of it, in the form of the configuration: what stands below `[policies.NAME]`. */
  policy: Record<string, unknown>;
  /** What it does about each kind of failure that does not go away, in words. */
  steps: Record<string, Array<string>>;
  /** The same as TOML, to be pasted into a file. */
  toml: string;
};

/** A price, in dollars per million tokens. */
export type PriceView = {
  /** Per million tokens read. */
  input_usd: number;
  /** Per million tokens written. */
  output_usd: number;
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

/** A project. */
export type ProjectView = {
  /** Its money. */
  budget: BudgetView;
  /** The chain in place of each model's own. */
  chain?: Array<string> | null;
  /** Whether its requests are recovered. */
  enabled: boolean;
  /** How many keys its clients may send. */
  keys: number;
  /** Its name. */
  name: string;
  /** The policy of its requests. */
  policy: string;
  /** Requests per minute. */
  requests_per_minute?: number | null;
  /** What is set through this API, in the form of the configuration. */
  stored?: Record<string, unknown> | null;
  /** Its version in the store; 0 where nothing is set through this API. */
  version: number;
};

/** All projects the caller sees. */
export type Projects = {
  projects: Array<ProjectView>;
};

/** How one limit stands. */
export type RateLimitView = {
  /** The agent, or its session where it has no name. */
  agent?: string | null;
  /** The endpoint, of an endpoint's limit. */
  endpoint?: string | null;
  /** How many there are per minute, or in the provider's own span, where that is known. */
  limit?: number | null;
  /** `project`, `agent` or `endpoint`. */
  of: string;
  /** The project, of a project's or an agent's limit. */
  project?: string | null;
  /** How many are left now. */
  remaining: number;
  /** When all are there again, where that is known. */
  reset?: string | null;
  /** Who set it: `configured`, or `provider` as its answers say. */
  source: string;
  /** What is counted: `requests` or `tokens`. */
  unit: string;
  /** How long until one more may start; 0 where one may now. */
  wait_ms: number;
};

/** How limits stand. */
export type RateLimits = {
  /** Projects, their agents that were seen lately, and endpoints; at most 1000. */
  limits: Array<RateLimitView>;
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

/** How well failures were recovered from. Rates are 0 to 1; absent where nothing happened to speak of. */
export type RecoveryView = {
  /** Money spent on failed attempts, in micro-dollars. */
  failed_usd_micros: number;
  /** Requests that went to another model, of all. */
  fallback_rate?: number | null;
  /** Half of the served requests took no longer. */
  latency_p50_ms?: number | null;
  /** Nineteen in twenty took no longer. */
  latency_p95_ms?: number | null;
  /** From the first failure to the end, of the served ones. */
  mean_time_ms?: number | null;
  /** Served requests of those in which an attempt failed. */
  rate?: number | null;
  /** Attempts after the first, of the same. */
  retries_before_success?: number | null;
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

/** A request in a list. */
export type RequestView = {
  /** The agent within the conversation. */
  agent?: string | null;
  /** Attempts it made. */
  attempts: number;
  /** The program that asked. */
  client?: string | null;
  /** When it was over; absent while it runs. */
  ended?: string | null;
  /** Of it, on attempts that failed. */
  failed_usd_micros: number;
  /** Of them, those that failed. */
  failures: number;
  /** Of them, those at another model than the one asked for. */
  fallbacks: number;
  /** Tokens read. */
  input_tokens: number;
  /** How its last failed attempt failed. */
  kind?: string | null;
  /** How long it took. */
  latency_ms?: number | null;
  /** The model that was asked for. */
  model?: string | null;
  /** How it ended; absent while it runs. */
  outcome?: string | null;
  /** Tokens written. */
  output_tokens: number;
  /** The shape of what was asked. */
  pattern?: string | null;
  /** Who pays. */
  project: string;
  /** Its id. */
  request: string;
  /** The endpoint that served. */
  served_endpoint?: string | null;
  /** The model that served. */
  served_model?: string | null;
  /** Its conversation. */
  session?: string | null;
  /** When it came in. */
  started: string;
  /** What it cost, in micro-dollars. */
  usd_micros: number;
};

/** An attempt, in the shape of the design document. */
export type RetryAttempt = {
  /** Which of its request, from 1. */
  attemptNumber: number;
  /** The wait after it. */
  delayMs: number;
  /** Where it went. */
  endpoint: string;
  /** How it failed; `unknown` where it served. */
  error: ErrorType;
  /** What the provider said, with names, numbers and quotes folded away; empty where it served. */
  errorMessage: string;
  /** How it failed, by our own kinds. */
  kind?: string | null;
  /** Where it went. */
  model: string;
  /** Why, in words. */
  reason?: string | null;
  /** The request. */
  request: string;
  /** What was decided about it. */
  step?: string | null;
  /** Whether it served. */
  succeeded: boolean;
  /** When it began. */
  timestamp: string;
};

/** What is retried, how often and when. */
export type RetryPolicy = {
  /** Whether a session climbs its ladder by itself. */
  autoEscalate: boolean;
  /** The first wait, in seconds. */
  backoffBase: number;
  /** The growth of the wait. */
  backoffMultiplier: number;
  /** After how many retries it does. */
  escalateAfterRetries: number;
  /** The policy it is a view of. What is sent here is not used. */
  id?: string;
  /** The longest wait, in seconds. */
  maxBackoff: number;
  /** How many retries; 0 switches them off. */
  maxRetries: number;
  /** The same, for people. */
  name?: string;
  /** What is retried. */
  retryableErrors: Array<ErrorType>;
};

/** What would be sent. */
export type RetryPreview = {
  /** Exactly what would be sent. */
  body: Record<string, unknown>;
  /** When that ended. */
  ended: string;
  /** What was said. */
  error?: string | null;
  /** The wire format: `chat`, `responses`, `messages` or `gemini`. */
  format: string;
  /** How it failed; absent where it was served. */
  kind?: string | null;
  /** The model that would be asked. */
  model?: string | null;
  /** The note that tells the model what failed. */
  note?: string | null;
  /** The request that would be tried again. */
  request: string;
  /** Whether the answer comes as a stream. */
  stream: boolean;
};

/** How the last turn is tried again. */
export type RetryRequest = {
  /** The whole body as a person edited it: nothing is added to it. */
  body?: Record<string, unknown> | null;
  /** What failed, in place of what is known: for output that is bad although nobody said so. */
  error?: string | null;
  /** What the failed attempt produced, told with the error. */
  failedOutput?: string | null;
  /** Another model; absent: the one that was asked for. */
  model?: string | null;
  /** The note as a person edited it, in place of the one that would be written. */
  note?: string | null;
  /** Only show what would be sent. */
  preview?: boolean;
  /** The session's project, where several have one of this name. */
  project?: string | null;
  /** A stack trace or a tool's output, told with the error. */
  trace?: string | null;
  /** Tell the model what failed. */
  withErrorContext?: boolean;
};

/** Something that can happen. */
export type Scenario = {
  /** What happens. */
  about: string;
  /** Its name. */
  name: string;
};

/** What can happen in a simulation. */
export type Scenarios = {
  scenarios: Array<Scenario>;
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

/** An endpoint that serves a model. */
export type ServedAt = {
  /** The model's name there, where it differs. */
  alias?: string | null;
  /** Its breaker: `closed`, `open` or `half_open`. */
  breaker: string;
  /** The endpoint. */
  endpoint: string;
  /** Whether an attempt may start there now. */
  usable: boolean;
};

/** The services that agents need. */
export type ServiceList = {
  /** By name. */
  services: Array<ServiceView>;
};

/** How a service is. */
export type ServiceView = {
  /** The share of recent questions that failed. */
  failure_rate?: number | null;
  /** Whether it answers, or nothing speaks against it. */
  healthy: boolean;
  /** The average time of its answers. */
  latency_ms?: number | null;
  /** Its name. */
  name: string;
  /** Whether it runs as a child of this server. */
  started_here: boolean;
  /** How often it was started here. */
  starts: number;
};

/** A session. */
export type SessionView = {
  /** The agent that asked last. */
  agent?: string | null;
  /** Attempts made. */
  attempts: number;
  /** When it began. */
  began: string;
  /** Whether its last turn is still held, so that it can be tried again. */
  can_retry: boolean;
  /** The program that asks. */
  client?: string | null;
  /** The model it climbed to, where that is not the one asked for. */
  escalated?: string | null;
  /** Of it, on attempts that failed. */
  failed_usd_micros: number;
  /** Of them, failed. */
  failures: number;
  /** Requests that went to another model than the one asked for. */
  fallbacks: number;
  /** Of them, failed for good. */
  gave_up: number;
  /** Tokens read. */
  input_tokens: number;
  /** How its last failed attempt failed. */
  kind?: string | null;
  /** When something last happened in it. */
  last: string;
  /** The model that served last, or was asked for last. */
  model?: string | null;
  /** How its last request ended; none while it runs. */
  outcome?: string | null;
  /** Tokens written. */
  output_tokens: number;
  /** Whose it is. */
  project: string;
  /** Requests. */
  requests: number;
  /** How many its policy allows. */
  retries_max: number;
  /** Retries it has used and not got back; its policy allows only so many. */
  retries_used: number;
  /** Its name, as the client gave it. */
  session: string;
  /** Of them, served. */
  succeeded: number;
  /** What it cost, in micro-dollars. */
  usd_micros: number;
};

/** What is kept, and for how long. */
export type Settings = {
  decision_log?: DecisionLogView | null;
  /** Whether replicas share breakers, limits and budgets. */
  shared: boolean;
  /** When this process began. */
  started: string;
  /** What happened to requests, and what people wrote. */
  store: StoreView;
  /** For how long the last turn of a session is held in memory, in milliseconds; 0: not at all. */
  turns_ms: number;
  /** The version of Steadfast. */
  version: string;
};

/** What a policy did in a simulation. */
export type Simulated = {
  /** The changed one. */
  after?: Record<string, unknown> | null;
  /** The policy in force. */
  before: Record<string, unknown>;
};

/** A simulation of a policy before and after a change. */
export type SimulationRequest = {
  /** The changed policy; absent: the one in force alone is run. */
  policy?: Record<string, unknown> | null;
  /** What happens; GET /api/scenarios lists all. */
  scenario: string;
};

/** How a session stands. */
export type Standing = {
  /** How many of its requests failed for good. */
  failures: number;
  last?: FailedRequest | null;
  /** What its calls have cost, in micro-dollars. */
  usd_micros: number;
};

/** What would be done otherwise about a kind of failure. */
export type StepsChange = {
  /** What would be done. */
  after: Array<string>;
  /** What is done. */
  before: Array<string>;
  /** The kind of failure. */
  kind: string;
};

/** The store. */
export type StoreView = {
  /** How much room it takes; absent while it is away. */
  bytes?: number | null;
  /** For how many days requests, sessions, sums and alerts are kept. What people wrote is kept until it is deleted. */
  keep_days: number;
  /** `sqlite`, `postgres`, or `memory`: gone with the process. */
  kind: string;
  /** Events lost since then: the store was away for longer than memory holds. */
  lost: number;
  /** Where it is, without user and password. */
  place: string;
  /** Whether the database answered last. */
  reached: boolean;
  /** What it said where it did not. */
  trouble?: string | null;
  /** Requests and alerts that wait to be written. */
  waiting: number;
  /** Events written since this process began. */
  written: number;
};

/** What is counted, and summed over time. */
export type Sums = {
  /** Requests in which an attempt failed. */
  affected: number;
  /** Attempts made. */
  attempts: number;
  /** Requests whose client left. */
  cancelled: number;
  /** Of them, on attempts that failed. */
  failed_usd_micros: number;
  /** Attempts that failed. */
  failures: number;
  /** Requests that went to another model than the one asked for. */
  fallbacks: number;
  /** Requests that failed for good. */
  gave_up: number;
  /** Tokens read. */
  input_tokens: number;
  /** Milliseconds that the served ones took. */
  latency_ms: number;
  /** Tokens written. */
  output_tokens: number;
  /** Of these, those that were served all the same. */
  recovered: number;
  /** Requests that came in; at a model or an endpoint, requests that went there. */
  requests: number;
  /** Requests that were served. */
  succeeded: number;
  /** Micro-dollars spent. */
  usd_micros: number;
};

/** A model at an endpoint. */
export type Target = {
  /** The endpoint. */
  endpoint: string;
  /** The model. */
  model: string;
};

/** A target of the design documents, and how it was met. */
export type TargetView = {
  /** What was measured; absent where nothing happened to measure, or events cannot tell. */
  measured?: number | null;
  /** A name that stays. */
  name: string;
  /** Of how many requests. */
  of: number;
  /** `pass`, `fail`, `nothing_yet`, or `not_from_events` where something else measures it. */
  verdict: string;
  /** In words. */
  wanted: string;
};

/** The end of what a task has written. */
export type TaskLog = {
  /** Empty where it has written nothing, or runs on another machine. */
  text: string;
  /** Nothing came before that is kept. */
  whole: boolean;
};

/** A task. Moments are in milliseconds since the epoch. */
export type TaskView = {
  /** How often it was tried. */
  attempts: number;
  /** How often its worker died while it ran. */
  crashes: number;
  /** When it came. */
  created: number;
  /** When it is to be run next. */
  due: number;
  /** When it ended. */
  ended?: number | null;
  /** How it last failed, in words. */
  error?: string | null;
  /** Its id. */
  id: string;
  /** The kind of its last failure. */
  kind?: string | null;
  /** What people call it. */
  label: string;
  /** The model it uses. */
  model?: string | null;
  /** Who pays. */
  project: string;
  /** How often it was run anew. */
  restarts: number;
  /** `waiting`, `running`, `succeeded`, `gave_up`, `not_now`, `budget_spent` or `cancelled`. */
  state: string;
  /** Somebody wants it stopped, and whoever runs it has not heard yet. */
  stopping: boolean;
  /** When something last happened to it. */
  updated: number;
  /** Who runs it, or did last. */
  worker?: string | null;
};

/** A task with everything that is known of it. */
export type TaskWhole = {
  /** How often it was tried. */
  attempts: number;
  /** How often its worker died while it ran. */
  crashes: number;
  /** When it came. */
  created: number;
  /** When it is to be run next. */
  due: number;
  /** When it ended. */
  ended?: number | null;
  /** How it last failed, in words. */
  error?: string | null;
  /** Its id. */
  id: string;
  /** The kind of its last failure. */
  kind?: string | null;
  /** What people call it. */
  label: string;
  /** The model it uses. */
  model?: string | null;
  /** Who pays. */
  project: string;
  /** How often it was run anew. */
  restarts: number;
  /** `waiting`, `running`, `succeeded`, `gave_up`, `not_now`, `budget_spent` or `cancelled`. */
  state: string;
  /** Somebody wants it stopped, and whoever runs it has not heard yet. */
  stopping: boolean;
  /** When something last happened to it. */
  updated: number;
  /** Who runs it, or did last. */
  worker?: string | null;
} & {
  /** What is known of it between its runs. */
  memory: Record<string, unknown>;
  /** What came of it. */
  result?: Record<string, unknown> | null;
  /** What it is. */
  spec: Record<string, unknown>;
};

/** A part of the list of tasks. */
export type Tasks = {
  /** What to ask for as `after` to get the next part. */
  next?: string | null;
  /** Newest first. */
  tasks: Array<TaskView>;
};

/** A template. */
export type TemplateView = {
  /** What it is for. */
  about: string;
  /** Its name: `extends` takes it. */
  name: string;
  /** All of it, in the form of the configuration. */
  policy: Record<string, unknown>;
  /** What it does about each kind of failure that does not go away, in words. */
  steps: Record<string, Array<string>>;
};

/** The templates that every policy starts from. */
export type Templates = {
  templates: Array<TemplateView>;
};

/** Tokens an attempt used. */
export type Tokens = {
  /** Tokens read. */
  input_tokens: number;
  /** Tokens written. */
  output_tokens: number;
};

/** A conversation, as the last request held it. */
export type TurnView = {
  /** How many messages it holds. */
  count: number;
  /** When it ended. */
  ended: string;
  /** The wire format: `chat`, `responses`, `messages` or `gemini`. */
  format: string;
  /** The newest 500 of them, in order. */
  messages: Array<MessageView>;
  /** The request. */
  request: string;
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

/** What became of a wish. */
export type Wished = {
  /** The task. */
  id: string;
  /** `done`, `told` (whoever runs it will hear) or `nothing` (it is over, or runs already). */
  wish: string;
};
