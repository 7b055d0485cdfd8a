// What is going on, kept up to date by live events.
//
// Events are gathered and taken over together, a few times a second and in step with the screen, so that a storm of them
// costs as much as a breeze. Every list has a bound. What `GET /api/now` says corrects the rest every few seconds.
import { ApiError, call } from "./api";
import { clock } from "./clock.svelte";
import { follow } from "./events";
import type { Part } from "./page";
import { RecentSessions, type Recent } from "./recent";
import type { AlertView, EndpointView, Endpoints, Now, RecordView, Second, SessionView, Target } from "./schema";
import { session } from "./session.svelte";

const FEED_MAX = 150;
const ROWS_MAX = 40;
const OPEN_MAX = 2000;
const QUEUE_MAX = 4000;
/** How often the screen takes over what was heard. */
const TAKE_MS = 200;
const RESYNC_MS = 10_000;
/** The same in a demo, which changes what it plays. */
const DEMO_RESYNC_MS = 2000;
/** A request that needed help stays in sight for so long after its end. */
const LINGER_MS = 6000;
const SECONDS = 60;
/** Events from before the page was opened that it asks for. */
const BEFORE_MAX = 200;
const ALERTS_MAX = 50;
const RECENT_MAX = 6;
/** The store is a moment behind what is heard: for so long what was heard of an alert counts more. */
const ALERT_NEWS_MS = 8000;

/** A request as the list of requests shows it. */
export interface Row {
  request: string;
  session?: string;
  project?: string;
  client?: string;
  began: number;
  /** The model asked for. */
  model?: string;
  target?: Target;
  attempt: number;
  attemptsMax: number;
  kind?: string;
  step?: string;
  reason?: string;
  waitsFrom?: number;
  waitsUntil?: number;
  /** How it ended, and when. */
  ending?: "served" | "recovered" | "failed" | "left";
  ended?: number;
}

/** Something a person should know, as long as it is not over. */
export type Raised = Pick<AlertView, "alert" | "about" | "reason" | "raised">;

const nothing = (): Second => ({ requests: 0, served: 0, recovered: 0, failed: 0, failures: 0 });

class Live {
  connected = $state(false);
  /** The first answer came. */
  ready = $state(false);
  error = $state<ApiError>();
  enabled = $state(true);
  /** What goes wrong on purpose right now; only in a demo. */
  playing = $state<string>();
  underWay = $state(0);
  waiting = $state(0);
  sessions = $state<number | null>();
  rows = $state.raw<Row[]>([]);
  feed = $state.raw<RecordView[]>([]);
  traffic = $state.raw<Second[]>(Array.from({ length: SECONDS }, nothing));
  minute = $state.raw<Second>(nothing());
  endpoints = $state.raw<EndpointView[]>([]);
  /** The second that the last of `traffic` is about, since the epoch. */
  lastSecond = $state(Math.floor(Date.now() / 1000));
  /** Sessions that were heard of last. */
  recent = $state.raw<Recent[]>([]);
  /** Alerts that are not over, newest first. */
  alerts = $state.raw<Raised[]>([]);
  /** How attempts failed within the minute, and what was decided about it; most frequent first. */
  kinds = $state.raw<[string, number][]>([]);
  steps = $state.raw<[string, number][]>([]);
  paused = $state(false);
  /** Events taken over since the page was opened, and how many were missed. */
  heard = $state(0);
  missed = $state(0);

  #open = new Map<string, Row>();
  #sessions = new RecentSessions();
  /** What was heard of alerts lately, by name and subject; nothing where one is over. */
  #alertNews = new Map<string, { time: number; raised?: Raised }>();
  #meter = new Map<number, Second>();
  #decided = new Map<number, Map<string, number>>();
  #queue: RecordView[] = [];
  #feed: RecordView[] = [];
  #taking = false;
  #taken = 0;
  #started = "";
  /** Events below this number are in the figures of the last `GET /api/now`. */
  #counted = 0;
  /** Whether something may have been missed before the next connection. */
  #gap = false;
  #stop?: AbortController;
  #listeners = new Set<(record: RecordView) => void>();

  /** Begins to follow. */
  start(): void {
    this.stop();
    const stop = new AbortController();
    this.#stop = stop;
    void this.resync().then(() => {
      if (stop.signal.aborted) return;
      const follower = {
        heard: (event: string, data: string) => this.#hear(event, data),
        changed: (connected: boolean, error?: ApiError) => this.#changed(connected, error),
      };
      this.#gap = !this.ready;
      // A page that is opened in the middle of things tells what led there.
      const since = String(Math.max(0, this.#counted - BEFORE_MAX));
      void follow({ since }, follower, stop.signal);
    });
    const timers = [
      setInterval(() => void this.resync(), RESYNC_MS),
      setInterval(() => this.playing && void this.resync(), DEMO_RESYNC_MS),
      // Seconds in which nothing happens are part of the picture.
      setInterval(() => this.ready && !document.hidden && this.#show(), 1000),
    ];
    stop.signal.addEventListener("abort", () => timers.forEach(clearInterval));
  }

  stop(): void {
    this.#stop?.abort();
  }

  /** Forgets everything: somebody else is going to look. */
  forget(): void {
    this.stop();
    this.#stop = undefined;
    for (const kept of [this.#open, this.#meter, this.#decided, this.#alertNews, this.#sessions]) kept.clear();
    this.#queue = [];
    this.#feed = [];
    this.#started = "";
    this.#counted = 0;
    this.connected = this.ready = this.paused = false;
    this.error = undefined;
    this.sessions = this.playing = undefined;
    this.endpoints = [];
    this.alerts = [];
    this.missed = 0;
    this.#show();
  }

  /** Calls back for every record, as it is taken over. */
  listen(listener: (record: RecordView) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Asks how things are, and takes that for the truth. */
  async resync(): Promise<void> {
    if (session.locked) return;
    const asked = this.#stop;
    // The store may be away, or slow: what is going on is told without it.
    void this.#resyncStored(asked);
    try {
      const [now, { endpoints }] = await Promise.all([call<Now>("/api/now"), call<Endpoints>("/api/endpoints")]);
      // An answer to somebody who has logged out since is nobody's business.
      if (this.#stop !== asked) return;
      this.#adopt(now);
      this.endpoints = endpoints;
      this.error = undefined;
      this.ready = true;
    } catch (error) {
      if (error instanceof ApiError && this.#stop === asked) this.error = error;
    }
  }

  /** Asks for what only the store knows: alerts raised before this page was opened, sessions before this moment. */
  async #resyncStored(asked: AbortController | undefined): Promise<void> {
    const alerts = session.isAdmin ? call<Part<AlertView>>("/api/alerts", { query: { open: true, limit: ALERTS_MAX } }) : undefined;
    const sessions = call<Part<SessionView>>("/api/sessions", { query: { limit: RECENT_MAX } });
    const [known, latest] = await Promise.allSettled([alerts, sessions]);
    if (this.#stop !== asked) return;
    if (known.status === "fulfilled" && known.value) this.#adoptAlerts(known.value.items);
    if (latest.status === "fulfilled") this.#sessions.adopt(latest.value.items);
    if (!this.paused) this.recent = this.#sessions.latest(RECENT_MAX);
  }

  async refreshEndpoints(): Promise<void> {
    try {
      this.endpoints = (await call<Endpoints>("/api/endpoints")).endpoints;
    } catch {
      // The next resync says what is wrong.
    }
  }

  #adopt(now: Now): void {
    clock.set(now.time);
    this.#counted = now.next_event;
    this.enabled = now.enabled;
    this.playing = now.playing ?? undefined;
    this.underWay = now.under_way;
    this.waiting = now.waiting;
    this.sessions = now.sessions;
    if (this.#started && this.#started !== now.started) {
      this.#open.clear();
      this.#alertNews.clear();
    }
    this.#started = now.started;
    const last = Math.floor(Date.parse(now.time) / 1000);
    this.#meter = new Map(now.traffic.map((second, index) => [last - (SECONDS - 1 - index), second]));
    const known = new Set(now.requests.map((open) => open.request));
    for (const [id, row] of this.#open) {
      if (!row.ending && !known.has(id) && now.under_way <= known.size) this.#open.delete(id);
    }
    for (const open of now.requests) {
      const row = this.#open.get(open.request);
      const until = open.waits_until ? Date.parse(open.waits_until) : undefined;
      this.#open.set(open.request, {
        request: open.request,
        session: open.session ?? undefined,
        project: open.project ?? undefined,
        client: open.client ?? undefined,
        began: Date.parse(open.began),
        model: open.model ?? undefined,
        target: open.target ?? undefined,
        attempt: open.attempt,
        attemptsMax: open.attempts_max,
        kind: open.kind ?? undefined,
        step: open.step ?? undefined,
        reason: row?.reason,
        waitsFrom: row?.waitsFrom ?? (until && Date.parse(now.time)),
        waitsUntil: until,
      });
    }
    this.#show();
  }

  #changed(connected: boolean, error?: ApiError): void {
    this.connected = connected;
    if (error) this.error = error;
    // The first connection comes right after an answer; later ones after a gap.
    if (connected && this.#gap) void this.resync();
    this.#gap = true;
  }

  #hear(event: string, data: string): void {
    if (event === "missed") {
      this.missed += (JSON.parse(data) as { missed: number | null }).missed ?? 1;
      void this.resync();
      return;
    }
    // The stream ends, and is followed anew from where it was.
    if (event === "dropped") return;
    this.#queue.push(JSON.parse(data) as RecordView);
    if (this.#queue.length > QUEUE_MAX) {
      this.missed += this.#queue.length - QUEUE_MAX;
      this.#queue.splice(0, this.#queue.length - QUEUE_MAX);
    }
    if (this.#taking) return;
    this.#taking = true;
    const wait = Math.max(0, this.#taken + TAKE_MS - performance.now());
    setTimeout(() => (document.hidden ? this.#take() : requestAnimationFrame(() => this.#take())), wait);
  }

  /** Takes over everything that was heard. */
  #take(): void {
    this.#taking = false;
    this.#taken = performance.now();
    const records = this.#queue;
    this.#queue = [];
    let breakers = false;
    for (const record of records) {
      this.#count(record);
      this.#sessions.heard(record, record.session ?? this.#open.get(record.request ?? "")?.session, record.project ?? this.#open.get(record.request ?? "")?.project);
      this.#apply(record);
      // Who served is in the record before.
      if (record.event === "outcome") record.target ??= this.#open.get(record.request ?? "")?.target;
      // A stream that broke off and came back may tell its last events again.
      if (isStory(record) && !this.#feed.some((known) => known.number === record.number)) this.#feed.unshift(record);
      if (record.event === "breaker") breakers = true;
      // What happened before the page was opened, the list of alerts knows better.
      if (record.event === "alert" && Date.parse(record.time) > clock.time() - ALERT_NEWS_MS) this.#alert(record);
      for (const listener of this.#listeners) listener(record);
    }
    this.heard += records.length;
    this.#feed.length = Math.min(this.#feed.length, FEED_MAX);
    if (breakers) void this.refreshEndpoints();
    this.#show();
  }

  #alert(record: RecordView): void {
    const raised = { alert: record.alert ?? "", about: record.about ?? "", reason: record.reason ?? record.text, raised: record.time };
    this.#alertNews.set(subject(raised), { time: clock.time(), raised: record.state === "raised" ? raised : undefined });
    this.#adoptAlerts(this.alerts);
  }

  /** Takes alerts as the store knows them, and what was heard since. */
  #adoptAlerts(known: Raised[]): void {
    const since = clock.time() - ALERT_NEWS_MS;
    for (const [about, news] of this.#alertNews) if (news.time < since) this.#alertNews.delete(about);
    const others = [...new Map(known.filter((one) => !this.#alertNews.has(subject(one))).map((one) => [subject(one), one])).values()];
    const news = [...this.#alertNews.values()].flatMap(({ raised }) => raised ?? []);
    this.alerts = [...news.reverse(), ...others].slice(0, ALERTS_MAX);
  }

  #count(record: RecordView): void {
    const second = Math.floor(Date.parse(record.time) / 1000);
    // Figures of the server hold requests, not what was decided: that is ours to count, whenever it was.
    if (record.event === "decision" && record.rule) this.#tally(second, record);
    if ((record.number ?? Infinity) < this.#counted) return;
    const counted = this.#meter.get(second) ?? nothing();
    if (record.event === "start") counted.requests += 1;
    else if (record.event === "decision" && record.rule) counted.failures += 1;
    else if (record.event === "outcome" && record.outcome === "succeeded") {
      counted.served += 1;
      if ((record.attempt ?? 0) > 1) counted.recovered += 1;
    } else if (record.event === "outcome" && record.outcome === "gave_up") counted.failed += 1;
    else return;
    this.#meter.set(second, counted);
  }

  #tally(second: number, record: RecordView): void {
    const tally = this.#decided.get(second) ?? new Map<string, number>();
    for (const name of [`kind ${record.kind}`, `step ${record.step}`]) tally.set(name, (tally.get(name) ?? 0) + 1);
    this.#decided.set(second, tally);
  }

  #ranked(sort: string): [string, number][] {
    const sums = new Map<string, number>();
    for (const tally of this.#decided.values()) {
      for (const [name, count] of tally) {
        if (name.startsWith(sort)) sums.set(name.slice(sort.length), (sums.get(name.slice(sort.length)) ?? 0) + count);
      }
    }
    return [...sums].sort((a, b) => b[1] - a[1]);
  }

  #apply(record: RecordView): void {
    if (!record.request) return;
    const time = Date.parse(record.time);
    if (record.event === "start") {
      // The oldest goes: it is the likeliest to be one whose end was missed.
      if (this.#open.size >= OPEN_MAX) this.#open.delete(this.#open.keys().next().value!);
      this.#open.set(record.request, {
        request: record.request,
        session: record.session ?? undefined,
        project: record.project ?? undefined,
        client: record.client ?? undefined,
        began: time,
        model: record.chain?.[0]?.model,
        attempt: 0,
        attemptsMax: record.attempts_max ?? 0,
      });
      return;
    }
    const row = this.#open.get(record.request);
    if (!row) return;
    if (record.attempt) row.attempt = record.attempt;
    if (record.event === "attempt") {
      row.target = record.target ?? row.target;
      row.waitsUntil = undefined;
    } else if (record.event === "decision") {
      row.kind = record.kind ?? row.kind;
      row.step = record.step ?? undefined;
      row.reason = record.reason ?? undefined;
      row.waitsFrom = time;
      row.waitsUntil = record.wait_ms ? time + record.wait_ms : undefined;
      if (record.step === "fallback" || record.step === "escalate") row.target = record.to ?? row.target;
    } else if (record.event === "outcome") {
      row.ended = time;
      row.waitsUntil = undefined;
      row.ending =
        record.outcome === "succeeded" ? (row.attempt > 1 ? "recovered" : "served") : record.outcome === "cancelled" ? "left" : "failed";
    }
  }

  /** Works out what is shown. */
  #show(): void {
    // Not `clock.now`: that stands still while nobody looks, and what is kept has to go all the same.
    const now = clock.time();
    const last = Math.floor(now / 1000);
    for (const counts of [this.#meter, this.#decided]) {
      for (const second of counts.keys()) if (second <= last - SECONDS || second > last + SECONDS) counts.delete(second);
    }
    this.lastSecond = last;
    this.kinds = this.#ranked("kind ");
    this.steps = this.#ranked("step ");
    this.traffic = Array.from({ length: SECONDS }, (_, index) => this.#meter.get(last - (SECONDS - 1 - index)) ?? nothing());
    const sum = nothing();
    for (const second of this.traffic) {
      for (const name of Object.keys(sum) as (keyof Second)[]) sum[name] += second[name];
    }
    this.minute = sum;
    let [open, waiting] = [0, 0];
    for (const [id, row] of this.#open) {
      const troubled = row.kind !== undefined;
      if (row.ended && (!troubled || now - row.ended > LINGER_MS)) this.#open.delete(id);
      else if (!row.ended) {
        open += 1;
        if (row.waitsUntil && row.waitsUntil > now) waiting += 1;
      }
    }
    this.underWay = open;
    this.waiting = waiting;
    if (this.paused) return;
    this.feed = this.#feed.slice();
    this.recent = this.#sessions.latest(RECENT_MAX);
    const rows = [...this.#open.values()].filter((row) => row.kind !== undefined || (!row.ended && now - row.began > 800));
    // Newest trouble first, and a row keeps its place while it lives.
    rows.sort((a, b) => b.began - a.began);
    this.rows = rows.slice(0, ROWS_MAX).map((row) => ({ ...row }));
  }
}

const subject = (alert: Raised): string => `${alert.alert} ${alert.about}`;

/** What belongs into the story: decisions, ends that needed help or failed, breakers, alerts, climbs. */
function isStory(record: RecordView): boolean {
  switch (record.event) {
    case "decision":
    case "breaker":
    case "alert":
    case "escalation":
      return true;
    case "outcome":
      return record.outcome === "gave_up" || (record.outcome === "succeeded" && (record.attempt ?? 0) > 1);
    default:
      return false;
  }
}

export const live = new Live();
