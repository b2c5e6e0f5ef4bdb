// Requests to the daemon that served this page. No address comes from anywhere else: the paths below are all.

import { sentence } from "../state/words";
import type {
  Accepted,
  Begin,
  Browsed,
  Called,
  Capabilities,
  Command,
  Devices,
  Events,
  Files,
  Job,
  Jobs,
  Kept,
  Launch,
  Letters,
  Me,
  Messages,
  Models,
  More,
  Pair,
  Problem,
  Profiles,
  Projects,
  PushKey,
  Scope,
  Search,
  Sessions,
  Shared,
  ShareLink,
  SlashCommands,
  Summary,
  Teams,
} from "./types";

const API = "/api/v1";
/** What is only read is here by then, or the network has lost it: whoever waits for it can ask again. */
const READ_WITHIN = 60_000;

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
  if (error instanceof Failed) return asSentences(error.problem);
  const message = error instanceof Error ? error.message : String(error);
  return { code: "not_reached", message: "Cannot reach Pollux", hint: message };
}

function asSentences({ code, message, hint }: Problem): Problem {
  return { code, message: sentence(message), ...(hint === undefined ? {} : { hint: sentence(hint) }) };
}

async function ask<T>(method: string, path: string, body?: unknown, reads = method === "GET"): Promise<T> {
  const answer = await fetch(API + path, {
    method,
    credentials: "same-origin",
    cache: "no-store",
    redirect: "error",
    ...(reads ? { signal: AbortSignal.timeout(READ_WITHIN) } : {}),
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
  return { code: "http", message: `Unexpected HTTP status ${status}` };
}

/** A piece of a long text: where it begins, how long the whole is, where the next one begins. */
export type Piece = { text: string; offset: number; bytes: number; next?: number };

const enc = encodeURIComponent;

export const api = {
  me: () => ask<Me>("GET", "/me"),
  pair: (code: string, name: string) => ask<Me>("POST", "/pair", { code, ...(name === "" ? {} : { name }) }),
  capabilities: () => ask<Capabilities>("GET", "/capabilities"),
  begin: (begin: Begin) => ask<Summary>("POST", "/sessions", begin),
  /** The sessions after so many of the newest. */
  sessions: (offset: number) => ask<Sessions>("GET", `/sessions?offset=${offset}`),
  messages: (id: string, before: number, limit = 100) =>
    ask<Messages>("GET", `/sessions/${enc(id)}/messages?before=${before}&limit=${limit}`),
  command: (id: string, commandId: string, command: Command) =>
    ask<Accepted>("POST", `/sessions/${enc(id)}/commands`, { id: commandId, command }),
  events: (id: string, after: number) => ask<Events>("GET", `/sessions/${enc(id)}/events?after=${after}`),
  /** A piece of a text that was cut, from a byte on. */
  piece: (id: string, seq: number, pointer: string, offset: number) =>
    ask<Piece>("GET", `/sessions/${enc(id)}/events/${seq}?path=${enc(pointer)}&offset=${offset}`),
  search: (words: string) => ask<Search>("GET", `/search?q=${enc(words)}&limit=50`),
  files: (cwd: string, prefix: string) => ask<Files>("GET", `/files?cwd=${enc(cwd)}&prefix=${enc(prefix)}`),
  slash: (id: string) => ask<SlashCommands>("GET", `/sessions/${enc(id)}/commands`),
  models: () => ask<Models>("GET", "/models"),
  image: (media_type: string, data: string) => ask<Kept>("POST", "/images", { media_type, data }),
  browse: (path: string) => ask<Browsed>("GET", `/projects/browse?path=${enc(path)}`),
  share: (id: string, hours: number) => ask<ShareLink>("POST", `/sessions/${enc(id)}/share`, { hours }),
  unshare: (id: string) => ask<unknown>("DELETE", `/sessions/${enc(id)}/share`),
  /** Only read, and yet posted: the token stands in no address. */
  shared: (token: string, before?: number) =>
    ask<Shared>("POST", "/shared", { token, ...(before === undefined ? {} : { before }) }, true),
  pushKey: () => ask<PushKey>("GET", "/push/key"),
  subscribe: (subscription: PushSubscriptionJSON) =>
    ask<unknown>("POST", "/push/subscription", { endpoint: subscription.endpoint, keys: subscription.keys }),
  unsubscribe: (endpoint: string) => ask<unknown>("DELETE", "/push/subscription", { endpoint }),
  callMe: () => ask<Called>("POST", "/push/test"),
  team: () => ask<Teams>("GET", "/team"),
  jobs: () => ask<Jobs>("GET", "/jobs?limit=100"),
  letters: () => ask<Letters>("GET", "/letters?limit=100"),
  profiles: () => ask<Profiles>("GET", "/profiles"),
  launch: (launch: Launch) => ask<Summary>("POST", "/team/launch", launch),
  stopAgent: (session: string) => ask<string[]>("POST", `/team/${enc(session)}/stop`),
  cancelJob: (id: string) => ask<Job>("POST", `/jobs/${enc(id)}/cancel`),
  continueJob: (id: string, more: More) => ask<Job>("POST", `/jobs/${enc(id)}/continue`, more),
  writeTo: (to: string, text: string) => ask<unknown>("POST", "/letters", { to, text }),
  readLetters: (ids: readonly number[]) => ask<unknown>("POST", "/letters/read", ids),
  projects: () => ask<Projects>("GET", "/projects"),
  devices: () => ask<Devices>("GET", "/devices"),
  revoke: (id: string) => ask<unknown>("DELETE", `/devices/${enc(id)}`),
  invite: (name: string, scopes: readonly Scope[]) => ask<Pair>("POST", "/pairings", { name, scopes }),
};
