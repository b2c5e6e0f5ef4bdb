// What the phone keeps for when there is no connection: the list, and the ends of the sessions that were looked at last.

import { del, get, set } from "idb-keyval";
import type { Opened, State } from "./state/model";
import { type Action, MOST_OPENED } from "./state/reduce";
import type { Store } from "./store";

const KEY = "pollux.kept.1";
const MOST_MESSAGES = 60;
/** How long changes gather before they are written. */
const WRITE_EVERY = 2_000;

type Kept = Omit<Extract<Action, { type: "stored" }>, "type">;

/** A store that is broken may never answer: after so long it is as if nothing was kept. */
const PATIENCE = 1_500;

export async function restore(): Promise<Extract<Action, { type: "stored" }> | undefined> {
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, PATIENCE));
  const kept = await Promise.race([get<Kept>(KEY), late]).catch(() => undefined);
  return kept && { type: "stored", ...kept };
}

export function keep(state: Store<State>): void {
  let waiting = false;
  const write = () => {
    waiting = false;
    // Without it the app is slower to open offline, and nothing else.
    set(KEY, kept(state.value)).catch(() => undefined);
  };
  state.watch(() => {
    if (waiting) return;
    waiting = true;
    setTimeout(() => atRest(write), WRITE_EVERY);
  });
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") write();
  });
}

/** All of it is copied at once: while an answer streams, that waits for a moment in which nothing is drawn. */
function atRest(run: () => void): void {
  if ("requestIdleCallback" in window) requestIdleCallback(run, { timeout: WRITE_EVERY });
  else run();
}

export function forget(): Promise<void> {
  return del(KEY).catch(() => undefined);
}

/** A bounded copy: no window of a session is kept with more than its end. */
export function kept({ sessions, seen, inStepAt, opened }: State): Kept {
  const whole = Object.entries(opened).filter(([, session]) => !session.torn);
  const some = whole.slice(-MOST_OPENED).map(([id, session]): [string, Opened] => {
    const messages = session.messages.slice(-MOST_MESSAGES);
    const before = messages.length < session.messages.length ? messages[0]?.position : session.before;
    return [id, { ...session, messages, before, stored: true, notes: session.notes.slice(-20) }];
  });
  return { state: { sessions, seen, inStepAt }, opened: Object.fromEntries(some) };
}
