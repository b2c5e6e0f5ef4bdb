// When this device was last looked at, and what happened since: the digest at the top of the list.

import { api } from "./api/http";
import type { Numbered, Summary } from "./api/types";
import { onInStep, onLeave, state } from "./app";
import { read, write } from "./settings";
import { type Digest, digest } from "./state/digest";
import { Store } from "./store";

/** Shorter than this nobody was away. */
const AWAY = 10 * 60_000;
const KEY = "pollux.here";
/** So many sessions are asked about, and so many events of each, in so many pages: one ends where it has grown large. */
const MOST = 8;
const EVENTS = 500;
const PAGES = 8;

export type Missed = { session: Summary; told: Digest };
export const missed = new Store<{ since: number; all: readonly Missed[] } | undefined>(undefined);

let here = read<number>(KEY, 0);
/** Set while there is something to find out, until the list is true. */
let since: number | undefined;

/** The device is looked at. */
export function arrive(now: number): void {
  if (here > 0 && now - here > AWAY) since = here;
  stay(now);
}

/** The device is still looked at, or was until now. */
export function stay(now: number): void {
  here = now;
  write(KEY, now);
}

/** The list is true again: what was missed can be asked for. */
export async function catchUp(): Promise<void> {
  if (since === undefined) return;
  const from = since;
  since = undefined;
  const changed = Object.values(state.value.sessions)
    .filter((session) => session.driver !== undefined && Date.parse(session.updated_at) > from)
    .sort((a, b) => b.updated_at.localeCompare(a.updated_at))
    .slice(0, MOST);
  const asked = await Promise.allSettled(changed.map((session) => missedOf(session, from)));
  const all = asked.flatMap((one) => (one.status === "fulfilled" && one.value ? [one.value] : []));
  if (all.length > 0) missed.set({ since: from, all });
}

async function missedOf(session: Summary, from: number): Promise<Missed | undefined> {
  const seen = state.value.seen[session.id] ?? 0;
  const after = Math.max(seen, session.seq - EVENTS);
  if (after >= session.seq) return undefined;
  const events = await eventsOf(session, after);
  const told = digest(events.filter(({ recorded_at }) => Date.parse(recorded_at) > from));
  return told && { session, told };
}

async function eventsOf({ id, seq }: Summary, after: number): Promise<readonly Numbered[]> {
  const all: Numbered[] = [];
  for (let page = 0, at = after; page < PAGES && at < seq; page += 1) {
    const { events } = await api.events(id, at);
    all.push(...events);
    at = events.at(-1)?.seq ?? seq;
  }
  return all;
}

/** Watches whether this device is looked at. */
export function watchAway(): void {
  const look = () => {
    if (document.visibilityState === "visible") arrive(Date.now());
    else stay(Date.now());
  };
  document.addEventListener("visibilitychange", look);
  setInterval(() => document.visibilityState === "visible" && stay(Date.now()), 30_000);
  onInStep.add(() => void catchUp());
  onLeave.add(() => missed.set(undefined));
  look();
}
