// Requests to the daemon that served this page. No address comes from anywhere else: the paths below are all.

import type {
  Accepted,
  Begin,
  Capabilities,
  Command,
  Devices,
  Me,
  Messages,
  Pair,
  Problem,
  Projects,
  Scope,
  Search,
  Summary,
} from "./types";

const API = "/api/v1";

/** What a request failed with, in the daemon's own shape. */
export class Failed extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(problem.message);
  }
}

export function problemOf(error: unknown): Problem {
  if (error instanceof Failed) return error.problem;
  const message = error instanceof Error ? error.message : String(error);
  return { code: "not_reached", message: "Pollux could not be reached", hint: message };
}

async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(API + path, {
    method,
    credentials: "same-origin",
    cache: "no-store",
    redirect: "error",
    ...(method === "GET"
      ? {}
      : { headers: { "content-type": "application/json" }, body: JSON.stringify(body ?? {}) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Failed(answer.status, readProblem(text, answer.status));
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

function readProblem(text: string, status: number): Problem {
  try {
    const body: unknown = JSON.parse(text);
    const inner = (body as { error?: unknown }).error ?? body;
    const { code, message, hint } = inner as Partial<Problem>;
    if (typeof code === "string" && typeof message === "string") {
      return { code, message, ...(typeof hint === "string" ? { hint } : {}) };
    }
  } catch {
    // Not ours: a proxy's page, for instance.
  }
  return { code: "http", message: `The answer was ${status}` };
}

const enc = encodeURIComponent;

export const api = {
  me: () => ask<Me>("GET", "/me"),
  pair: (code: string) => ask<Me>("POST", "/pair", { code }),
  capabilities: () => ask<Capabilities>("GET", "/capabilities"),
  begin: (begin: Begin) => ask<Summary>("POST", "/sessions", begin),
  messages: (id: string, before: number, limit = 100) =>
    ask<Messages>("GET", `/sessions/${enc(id)}/messages?before=${before}&limit=${limit}`),
  command: (id: string, commandId: string, command: Command) =>
    ask<Accepted>("POST", `/sessions/${enc(id)}/commands`, { id: commandId, command }),
  search: (words: string) => ask<Search>("GET", `/search?q=${enc(words)}&limit=50`),
  projects: () => ask<Projects>("GET", "/projects"),
  devices: () => ask<Devices>("GET", "/devices"),
  revoke: (id: string) => ask<unknown>("DELETE", `/devices/${enc(id)}`),
  invite: (name: string, scopes: readonly Scope[]) => ask<Pair>("POST", "/pairings", { name, scopes }),
};
