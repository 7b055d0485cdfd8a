// Lists that come in parts.
import { call, type Asked } from "./api";

/** One part of a list. */
export interface Part<T> {
  items: T[];
  next?: string | null;
}

export const part = <T>(path: string, query: Asked["query"], signal?: AbortSignal): Promise<Part<T>> => call<Part<T>>(path, { query, signal });

/** Tells requests apart: a task that ran more than once has one for each run, all under its name. */
export const runOf = (one: { request: string; started: string }): string => `${one.request} ${one.started}`;
