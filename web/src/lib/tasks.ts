// Tasks and services, as the supervisor's routes tell them (crates/supervisor/src/api.rs). They are not in docs/openapi.json,
// which holds the routes that every server has. Moments are in milliseconds since the epoch.

export interface Task {
  id: string;
  label: string;
  project: string;
  state: string;
  due: number;
  created: number;
  updated: number;
  ended?: number | null;
  worker?: string | null;
  stopping: boolean;
  attempts: number;
  restarts: number;
  crashes: number;
  model?: string | null;
  kind?: string | null;
  error?: string | null;
}

export interface TaskWhole extends Task {
  spec: Record<string, unknown>;
  memory: Record<string, unknown>;
  result?: Record<string, unknown> | null;
}

export interface Service {
  name: string;
  healthy: boolean;
  failure_rate?: number | null;
  latency_ms?: number | null;
  starts: number;
  started_here: boolean;
}

export const STATES = ["waiting", "running", "succeeded", "gave_up", "not_now", "budget_spent", "cancelled"];
export const TONES: Record<string, string> = { waiting: "info", running: "accent", succeeded: "good", gave_up: "bad", not_now: "warn", budget_spent: "bad", cancelled: "" };
export const isOver = (task: Task): boolean => task.state !== "waiting" && task.state !== "running";
