// The app's few single things: what it knows, its connection, its outbox, its place in the address bar.

import { api, Failed, problemOf } from "./api/http";
import type { Command, ServerFrame } from "./api/types";
import { forget, keep, restore } from "./keep";
import { Connection } from "./link/link";
import { drop, NEW, read, write } from "./settings";
import { EMPTY, type State } from "./state/model";
import { type Letter, sort, speaks } from "./state/outbox";
import { type Action, reduce } from "./state/reduce";
import { Store } from "./store";

export const state = new Store<State>(EMPTY);

export function dispatch(action: Action): void {
  state.set(reduce(state.value, action));
}

/** Frames of one moment are taken in together: the screen is drawn once for all of them. */
let pending: { frame: ServerFrame; at: number }[] = [];

function take(frame: ServerFrame): void {
  pending.push({ frame, at: Date.now() });
  if (pending.length > 1) return;
  // A page that is not seen gets no animation frames.
  if (document.visibilityState === "visible") requestAnimationFrame(flush);
  else setTimeout(flush, 50);
}

function flush(): void {
  const frames = pending;
  pending = [];
  let next = state.value;
  for (const { frame, at } of frames) next = reduce(next, { type: "frame", frame, at });
  state.set(next);
  mend(next);
}

/** Sessions that are asked for anew: once, until the daemon has answered. */
const mending = new Set<string>();

function mend({ opened }: State): void {
  for (const [id, session] of Object.entries(opened)) {
    if (!session.torn) mending.delete(id);
    else if (!mending.has(id) && connection.connected) {
      mending.add(id);
      connection.refresh(id);
    }
  }
}

function uuid(): string {
  return crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), hex).join("");
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}

export const connection = new Connection(
  {
    now: () => Date.now(),
    open: () => {
      const { protocol, host } = window.location;
      return new WebSocket(`${protocol === "https:" ? "wss" : "ws"}://${host}/api/v1/ws`);
    },
    allowed: async () => {
      try {
        await api.me();
        return true;
      } catch (error) {
        return error instanceof Failed && (error.status === 401 || error.status === 403) ? false : undefined;
      }
    },
    timer: (run, ms) => {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
    id: uuid,
    visible: () => document.visibilityState === "visible",
    online: () => navigator.onLine,
  },
  take,
  (id) => {
    flush();
    const opened = state.value.opened[id];
    return opened && !opened.torn ? { after: opened.seq, epoch: opened.epoch } : undefined;
  },
);

/** Sends a command. What came of it is in `state.sent` under the id. */
export function send(
  sessionId: string,
  command: Command,
  about: { text?: string; questionId?: string; shown?: string } = {},
): string {
  const id = uuid();
  dispatch({ type: "sent", id, sent: { sessionId, at: Date.now(), ...about } });
  if (connection.connected) connection.command(sessionId, command, id);
  else
    dispatch({
      type: "failed",
      id,
      problem: { code: "offline", message: "Not connected: nothing was sent" },
    });
  return id;
}

const OUTBOX = "pollux.outbox";
export const outbox = new Store<readonly Letter[]>(read<readonly Letter[]>(OUTBOX, []));
outbox.watch(() => write(OUTBOX, outbox.value.length > 0 ? outbox.value : undefined));
// What the daemon has answered, one way or the other, waits no longer.
state.watch(() => {
  const { sent } = state.value;
  const left = outbox.value.filter(({ id }) => !sent[id]?.reply && !sent[id]?.problem);
  if (left.length < outbox.value.length) outbox.set(left);
});

/** The session in which somebody has just spoken here. */
export const spoken = new Store<{ sessionId: string } | undefined>(undefined);

/** A prompt: at once where there is a connection. Until the daemon has it, it is in the outbox: a page may end at any time. */
export function prompt(sessionId: string, text: string, images: readonly string[] = []): void {
  spoken.set({ sessionId });
  const seq = Math.max(state.value.sessions[sessionId]?.seq ?? 0, state.value.opened[sessionId]?.seq ?? 0);
  const pictures = images.length > 0 ? { images } : {};
  const letter: Letter = { id: uuid(), sessionId, text, ...pictures, at: Date.now(), seq, asks: false };
  outbox.set([...outbox.value, letter]);
  if (connection.connected) post(letter);
}

function asPrompt(text: string, images: readonly string[] = []): Command {
  return { type: "prompt", text, ...(images.length > 0 ? { images: [...images] } : {}) };
}

export function post(letter: Letter): void {
  if (!connection.connected) {
    say("Not connected: the prompt was not sent");
    return;
  }
  const { id, sessionId, text, images } = letter;
  const at = Date.now();
  outbox.set(outbox.value.map((one) => (one.id === id ? { ...one, asks: false, sent: at } : one)));
  dispatch({ type: "sent", id, sent: { sessionId, at, text } });
  connection.command(sessionId, asPrompt(text, images), id);
}

export function discard(letter: Letter): void {
  outbox.set(outbox.value.filter(({ id }) => id !== letter.id));
}

/** When the list is true again, what was written meanwhile goes out. */
async function sendOutbox(): Promise<void> {
  if (resting().length === 0) return;
  const quiet = await quietSince(resting());
  if (connection.link.value.phase !== "live") return;
  flush();
  const { send: going, keep: kept } = sort(resting(), state.value.sessions, quiet, Date.now());
  outbox.set(outbox.value.map((letter) => kept.find(({ id }) => id === letter.id) ?? letter));
  for (const letter of going) post(letter);
}

/** Letters that nobody carries: what this page has handed over is the connection's to send again. */
function resting(): readonly Letter[] {
  return outbox.value.filter(({ id }) => !Object.hasOwn(state.value.sent, id));
}

/** The letters after which things were written down, and nobody spoke. */
async function quietSince(letters: readonly Letter[]): Promise<ReadonlySet<string>> {
  const quiet = new Set<string>();
  for (const { id, sessionId, seq, asks } of letters) {
    const now = state.value.sessions[sessionId]?.seq ?? 0;
    if (asks || now <= seq) continue;
    // Where nobody answers, the person is asked.
    const page = await api.events(sessionId, seq).catch(() => undefined);
    const whole = page !== undefined && page.floor <= seq && page.events.at(-1)?.seq === page.seq;
    if (whole && !page.events.some(({ event }) => speaks(event))) quiet.add(id);
  }
  return quiet;
}

/** One more page of older messages. One at a time for each session, and none where nobody is there to be asked. */
const paging = new Set<string>();
export async function older(sessionId: string, limit?: number): Promise<void> {
  const before = state.value.opened[sessionId]?.before;
  if (before === undefined || paging.has(sessionId) || !connection.connected) return;
  paging.add(sessionId);
  try {
    dispatch({ type: "page", sessionId, before, page: await api.messages(sessionId, before, limit) });
  } catch (error) {
    say(problemOf(error).message);
  } finally {
    paging.delete(sessionId);
  }
}

/** A few words at the bottom of the screen, for a moment. */
export const toast = new Store<{ text: string; key: number } | undefined>(undefined);
let toastTimer: ReturnType<typeof setTimeout> | undefined;
export function say(text: string): void {
  toast.set({ text, key: Date.now() });
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => toast.set(undefined), 4000);
}

/** What is done each time when the list is true again. */
export const onInStep = new Set<() => void>();

function inStep(): void {
  flush();
  void sendOutbox();
  for (const each of onInStep) each();
}

/** What is done when this device is not let in any more. */
export const onLeave = new Set<() => void>();

/** A device that is not let in any more keeps nothing of what it was shown. */
function leave(): void {
  flush();
  dispatch({ type: "signed_out" });
  void forget();
  drop(NEW);
  for (const each of onLeave) each();
}

export async function start(): Promise<void> {
  const stored = await restore();
  if (stored) dispatch(stored);
  document.addEventListener("visibilitychange", () => {
    // The animation frame that was asked for while the page was seen may not come for hours.
    flush();
    connection.look(document.visibilityState === "visible");
  });
  // Another window of the app has written, or sent, or thrown away what waits.
  window.addEventListener("storage", ({ key }) => {
    if (key === OUTBOX) outbox.set(read<readonly Letter[]>(OUTBOX, []));
  });
  window.addEventListener("online", () => connection.tell({ type: "online" }));
  window.addEventListener("offline", () => connection.tell({ type: "lost_network" }));
  let phase = connection.link.value.phase;
  connection.link.watch(() => {
    const now = connection.link.value.phase;
    if (now !== phase && now === "refused") leave();
    if (now !== phase && now === "connect") mending.clear();
    if (now !== phase && now === "live") setTimeout(inStep);
    phase = now;
  });
  keep(state);
  connection.tell({ type: "start" });
}
