// Sessions that were heard of lately: which model serves each, and how its last request goes. Bounded; the least recent go.
import type { RecordView, SessionView, Target } from "./schema";

const KEPT_MAX = 200;

/** A session as the list of sessions now shows it. */
export interface Recent {
  project: string;
  session: string;
  client?: string;
  /** The model asked for. */
  model?: string;
  target?: Target;
  /** The model it climbed to. */
  escalated?: string;
  last: number;
  /** Attempts of its last request. */
  attempt: number;
  kind?: string;
  state: "running" | "waiting" | "served" | "recovered" | "failed" | "left";
}

export class RecentSessions {
  #known = new Map<string, Recent>();

  clear(): void {
    this.#known.clear();
    this.#shown = [];
  }

  /** What the store knows; what was heard since is newer. */
  adopt(sessions: SessionView[]): void {
    for (const one of [...sessions].reverse()) {
      const [key, last] = [`${one.project}/${one.session}`, Date.parse(one.last)];
      const known = this.#known.get(key);
      if (known) {
        known.escalated = one.escalated ?? undefined;
        continue;
      }
      const state = one.outcome === "succeeded" ? "served" : one.outcome === "gave_up" ? "failed" : one.outcome ? "left" : "running";
      const { project, session } = one;
      this.#keep(key, { project, session, client: one.client ?? undefined, model: one.model ?? undefined, escalated: one.escalated ?? undefined, last, attempt: 0, kind: one.kind ?? undefined, state });
    }
  }

  /** Something happened to a request of a session. */
  heard(record: RecordView, session: string | undefined, project: string | undefined): void {
    if (!session) return;
    const key = `${project ?? "default"}/${session}`;
    const time = Date.parse(record.time);
    if (record.event === "start") {
      const model = record.chain?.[0]?.model;
      this.#keep(key, { project: project ?? "default", session, client: record.client ?? undefined, model, escalated: this.#known.get(key)?.escalated, last: time, attempt: 0, state: "running" });
      return;
    }
    const known = this.#known.get(key);
    if (!known) return;
    known.last = Math.max(known.last, time);
    if (record.attempt) known.attempt = record.attempt;
    if (record.event === "attempt") {
      known.target = record.target ?? known.target;
      known.state = "running";
    } else if (record.event === "decision") {
      known.kind = record.kind ?? known.kind;
      if (record.wait_ms) known.state = "waiting";
    } else if (record.event === "escalation") {
      known.escalated = record.state === "rolled_back" ? undefined : (record.to?.model ?? known.escalated);
    } else if (record.event === "outcome") {
      known.state = record.outcome === "succeeded" ? (known.attempt > 1 ? "recovered" : "served") : record.outcome === "cancelled" ? "left" : "failed";
    }
  }

  #shown: string[] = [];

  /** The latest ones. One that was among them keeps its place: rows that change places all the time cannot be read. */
  latest(count: number): Recent[] {
    const latest = [...this.#known].sort(([, a], [, b]) => b.last - a.last).slice(0, count).map(([key]) => key);
    const stay = this.#shown.map((key) => (latest.includes(key) ? key : undefined));
    const fresh = latest.filter((key) => !stay.includes(key));
    this.#shown = [...stay.map((key) => key ?? fresh.shift()), ...fresh].filter((key) => key !== undefined).slice(0, count);
    return this.#shown.map((key) => ({ ...this.#known.get(key)! }));
  }

  #keep(key: string, one: Recent): void {
    // A map keeps the order in which keys came: the first is the one longest not heard of.
    this.#known.delete(key);
    this.#known.set(key, one);
    if (this.#known.size > KEPT_MAX) this.#known.delete(this.#known.keys().next().value!);
  }
}
