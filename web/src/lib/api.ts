// The one way to the control API: token, errors in its own words, nothing cached.
import { session } from "./session.svelte";

/** What a refusal says about one field. */
export interface FieldProblem {
  field: string;
  message: string;
  help?: string;
  severity: string;
}

/** A refusal of the API, or that it cannot be reached. */
export class ApiError extends Error {
  constructor(
    /** The HTTP status; 0 where nobody answered. */
    readonly status: number,
    readonly code: string,
    message: string,
    readonly field?: string,
    readonly problems: FieldProblem[] = [],
  ) {
    super(message);
  }

  /** Whether the server has no such path or thing. */
  get isMissing(): boolean {
    return this.status === 404 || this.status === 405;
  }
}

export interface Asked {
  method?: "GET" | "POST" | "PUT" | "DELETE";
  query?: Record<string, string | number | boolean | null | undefined>;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Sends a request and returns the response, whatever it is made of. Refusals become `ApiError`s. */
export async function send(path: string, asked: Asked = {}): Promise<Response> {
  const headers: Record<string, string> = { ...asked.headers };
  if (session.token) headers.authorization = `Bearer ${session.token}`;
  if (asked.body !== undefined) headers["content-type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(address(path, asked.query), {
      method: asked.method ?? "GET",
      headers,
      body: asked.body === undefined ? undefined : JSON.stringify(asked.body),
      signal: asked.signal,
      credentials: "omit",
      cache: "no-store",
    });
  } catch (error) {
    if (asked.signal?.aborted) throw error;
    throw new ApiError(0, "unreachable", "Steadfast does not answer. Is it still running? This page comes back by itself.");
  }
  if (response.ok) return response;
  throw await refusal(response);
}

/** Sends a request and reads the JSON that comes back. */
export async function call<T>(path: string, asked: Asked = {}): Promise<T> {
  const response = await send(path, asked);
  return response.status === 204 ? (undefined as T) : ((await response.json()) as T);
}

/** The JSON and the version that goes with it, for changes that must not overwrite another's. */
export async function callVersioned<T>(path: string, asked: Asked = {}): Promise<{ value: T; version: string | null }> {
  const response = await send(path, asked);
  return { value: (await response.json()) as T, version: response.headers.get("etag") };
}

function address(path: string, query: Asked["query"] = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  // Relative, so that a proxy may serve us below a path of its own.
  return `.${path}${search ? `?${search}` : ""}`;
}

async function refusal(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => "");
  if (response.status === 401) session.refused();
  try {
    const { error } = JSON.parse(text);
    return new ApiError(response.status, error.code, error.message, error.field, error.problems);
  } catch {
    return new ApiError(response.status, "unknown", text.slice(0, 300) || `the server answered ${response.status}`);
  }
}
