// How tasks are shown.
import type { TaskView } from "./schema";

export const STATES = ["waiting", "running", "succeeded", "gave_up", "not_now", "budget_spent", "cancelled"];
export const TONES: Record<string, string> = { waiting: "info", running: "accent", succeeded: "good", gave_up: "bad", not_now: "warn", budget_spent: "bad", cancelled: "" };
export const isOver = (task: TaskView): boolean => task.state !== "waiting" && task.state !== "running";
