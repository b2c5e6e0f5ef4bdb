// The one place where what the app knows changes. Pure: a state and an action in, a state out.

import type {
  Event,
  Messages,
  Numbered,
  Problem,
  Recorded,
  ServerFrame,
  Snapshot,
  Summary,
} from "../api/types";
import { foldLive } from "./live";
import type { AnyEvent, Note, Opened, Sent, State, ToolFacts } from "./model";
import { EMPTY_SESSION, LISTED } from "./model";
import { draw } from "./screen";
import type { Team } from "./team";

export type Action =
  | { type: "frame"; frame: ServerFrame; at: number }
  /** `before`: the place that was asked for. */
  | { type: "page"; sessionId: string; before: number; page: Messages }
  | { type: "older_sessions"; sessions: readonly Summary[] }
  | { type: "sent"; id: string; sent: Sent }
  | { type: "forget"; id: string }
  | { type: "failed"; id: string; problem: Problem }
  | { type: "seen"; sessionId: string; seq: number }
  | { type: "trim"; sessionId: string }
  | { type: "team"; team: Team }
  | { type: "stored"; state: Pick<State, "sessions" | "seen" | "inStepAt">; opened: Record<string, Opened> }
  | { type: "signed_out" };

/** A window longer than this loses its oldest messages while the reader is at the end; they can be paged in again. */
export const LONGEST_WINDOW = 1500;
const KEPT = 1000;
/** So many sessions stay opened: those that were asked for last. One that has left is asked for anew. */
export const MOST_OPENED = 20;
/** So many notes, tool facts and commands that are over are kept. */
const MOST_NOTES = 1000;
const MOST_FACTS = 1000;
const MOST_SENT = 100;

/** Kinds that say nothing in a transcript: what they tell is in the summary or in the messages. */
const SILENT = new Set<string>([
  "session_started",
  "session_changed",
  "session_rekeyed",
  "asked",
  "answered",
  "turn_started",
  "text_grew",
  "tool_started",
  "tool_ended",
  "usage_changed",
  "message_recorded",
]);

export function reduce(state: State, action: Action): State {
  switch (action.type) {
    case "frame":
      return onFrame(state, action.frame, action.at);
    case "page":
      return change(state, action.sessionId, (opened) => onPage(opened, action.before, action.page));
    case "older_sessions":
      return action.sessions.reduce(newer, state);
    case "sent":
      return { ...state, sent: { ...settled(state.sent), [action.id]: action.sent } };
    case "forget":
      return { ...state, sent: without(state.sent, action.id) };
    case "failed": {
      const sent = state.sent[action.id];
      return sent
        ? { ...state, sent: { ...state.sent, [action.id]: { ...sent, problem: action.problem } } }
        : state;
    }
    case "seen":
      return (state.seen[action.sessionId] ?? -1) >= action.seq
        ? state
        : { ...state, seen: { ...state.seen, [action.sessionId]: action.seq } };
    case "trim":
      return change(state, action.sessionId, trim);
    case "team":
      return { ...state, team: action.team };
    case "stored":
      return onStored(state, action);
    case "signed_out":
      return {
        ...state,
        hello: undefined,
        sessions: {},
        opened: {},
        sent: {},
        troubles: {},
        screens: {},
        team: undefined,
        inStepAt: undefined,
        listed: false,
      };
  }
}

function onFrame(state: State, frame: ServerFrame, at: number): State {
  switch (frame.type) {
    case "hello":
      return { ...state, hello: frame };
    case "sessions":
      return {
        ...state,
        sessions: { ...beyond(state, frame.sessions), ...byId(frame.sessions) },
        inStepAt: at,
        listed: true,
      };
    case "session":
      return { ...newer(state, frame.session), inStepAt: at };
    case "resumed":
      return change(followed(state, frame.session_id), frame.session_id, (opened) =>
        frame.after === opened.seq && frame.epoch === opened.epoch
          ? { ...opened, stored: false, torn: false }
          : { ...opened, torn: true },
      );
    case "snapshot": {
      const opened = { ...without(state.opened, frame.session_id), [frame.session_id]: fromSnapshot(frame) };
      const now = { ...followed(state, frame.session_id), opened: bounded(opened, MOST_OPENED) };
      return newer(now, frame.session);
    }
    case "events":
      return change(state, frame.session_id, (opened) => onEvents(opened, frame.events));
    case "result": {
      const sent = state.sent[frame.id];
      return sent
        ? { ...state, sent: { ...state.sent, [frame.id]: { ...sent, reply: frame.reply } } }
        : state;
    }
    case "error":
      return frame.id === undefined ? state : onError(state, frame.id, frame.error);
    case "screen":
      return {
        ...followed(state, frame.session_id),
        screens: { ...state.screens, [frame.session_id]: draw(state.screens[frame.session_id], frame) },
      };
    case "team":
      return { ...state, teamNews: state.teamNews + 1 };
    case "heartbeat":
      return state.hello ? { ...state, inStepAt: at } : state;
    default:
      // A kind that a newer daemon knows.
      return state;
  }
}

/** What a command came to, or why a session is not followed. */
function onError(state: State, id: string, problem: Problem): State {
  const sent = Object.hasOwn(state.sent, id) ? state.sent[id] : undefined;
  if (sent) return { ...state, sent: { ...state.sent, [id]: { ...sent, problem } } };
  return { ...state, troubles: bounded({ ...state.troubles, [id]: problem }, MOST_OPENED) };
}

function followed(state: State, id: string): State {
  return Object.hasOwn(state.troubles, id) ? { ...state, troubles: without(state.troubles, id) } : state;
}

function byId(sessions: readonly Summary[]): Readonly<Record<string, Summary>> {
  return Object.fromEntries(sessions.map((session) => [session.id, session]));
}

/** A full list says nothing of sessions that are older than all in it. What the phone kept is not believed beside it. */
function beyond({ sessions, listed }: State, list: readonly Summary[]): Readonly<Record<string, Summary>> {
  const oldest = listed && list.length >= LISTED ? list.at(-1)?.updated_at : undefined;
  if (oldest === undefined) return {};
  return byId(Object.values(sessions).filter(({ updated_at }) => updated_at < oldest));
}

/** An older summary never replaces a newer one. */
function newer(state: State, session: Summary): State {
  const known = state.sessions[session.id];
  if (known && known.version >= session.version) return state;
  return { ...state, sessions: { ...state.sessions, [session.id]: session } };
}

function fromSnapshot(snapshot: Snapshot): Opened {
  const { seq, epoch, messages, before, live, facts = [] } = snapshot;
  const known = factsOf(facts, messages);
  return { ...EMPTY_SESSION, seq, epoch, messages, before, live: live.parts, ...known };
}

/** What a page tells of that happened between its messages. */
function factsOf(facts: readonly Numbered[], messages: readonly Recorded[]): Pick<Opened, "tools" | "notes"> {
  let tools: Readonly<Record<string, ToolFacts>> = {};
  const notes: Note[] = [];
  for (const numbered of facts) {
    const { event, seq } = numbered;
    const at = Date.parse(event.at ?? numbered.recorded_at);
    const after = messages.findLast((recorded) => recorded.seq < seq)?.position ?? 0;
    tools = foldTools(tools, numbered, at, after);
    const note = event.type === "tool_ended" ? stopped(event.id, tools, at) : noteOf(numbered, at, after);
    if (note) notes.push(note);
  }
  return { tools, notes: withNotes([], notes) };
}

/** A call that was stopped or denied may be part of no message. */
function stopped(id: string, tools: Readonly<Record<string, ToolFacts>>, at: number): Note | undefined {
  const { name, input, status, after = 0 } = tools[id] ?? {};
  if (status !== "cancelled" || name === undefined) return undefined;
  return { key: `c${id}`, after, at, kind: "call", call: { type: "tool", id, name, input, status } };
}

function onEvents(opened: Opened, events: readonly Numbered[]): Opened {
  if (opened.torn) return opened;
  let next = opened;
  for (const numbered of events) {
    if (numbered.seq <= next.seq) continue;
    if (numbered.seq > next.seq + 1) return { ...next, torn: true };
    next = { ...fold(next, numbered), seq: numbered.seq, epoch: numbered.epoch };
  }
  return { ...next, stored: false };
}

function fold(opened: Opened, numbered: Numbered): Opened {
  const event = numbered.event;
  const at = Date.parse(event.at ?? numbered.recorded_at);
  const messages = foldMessages(opened.messages, event, numbered);
  const last = messages.at(-1)?.position ?? 0;
  const note = noteOf(numbered, at, last);
  const notes = event.type === "history_rewritten" ? notLater(opened.notes, last) : opened.notes;
  return {
    ...opened,
    messages,
    live: foldLive(opened.live, event, numbered.cut !== undefined),
    tools: foldTools(opened.tools, numbered, at, last),
    notes: withNotes(notes, [
      ...(event.type === "turn_started" ? notLater(unrecorded(opened, at), last) : []),
      ...(note ? [note] : []),
    ]),
    turnSince: turnSince(opened.turnSince, event, at),
    torn: opened.torn || (event.type === "history_rewritten" && wentPast(opened, messages)),
  };
}

/** Nothing is left of the window, and there is more above it: where the next message stands, nobody here knows. */
function wentPast({ before }: Opened, left: readonly Recorded[]): boolean {
  return left.length === 0 && before !== undefined;
}

/** What stood after messages that are gone stands after the last one that is left. */
function notLater(notes: readonly Note[], last: number): readonly Note[] {
  return notes.map((note) => (note.after > last ? { ...note, after: last } : note));
}

/** Calls of the turn before that became part of no message: they stay where they were made. */
function unrecorded({ live, tools }: Opened, at: number): Note[] {
  return live.flatMap((part): Note[] =>
    part.type === "tool"
      ? [{ key: `c${part.id}`, after: tools[part.id]?.after ?? 0, at, kind: "call", call: part }]
      : [],
  );
}

/** In the order of their places; those of one place in the order in which they came. */
function withNotes(notes: readonly Note[], more: readonly Note[]): readonly Note[] {
  if (more.length === 0) return notes;
  return [...notes, ...more].sort((a, b) => a.after - b.after).slice(-MOST_NOTES);
}

function turnSince(since: number | undefined, event: Event, at: number): number | undefined {
  if (event.type === "turn_started") return at;
  return event.type === "turn_ended" || event.type === "session_ended" ? undefined : since;
}

function foldMessages(
  messages: readonly Recorded[],
  event: Event,
  { seq, cut }: Numbered,
): readonly Recorded[] {
  if (event.type === "history_rewritten") {
    const gone = new Set(event.removed);
    return gone.size === 0 ? messages : messages.filter(({ message }) => !gone.has(message.id));
  }
  if (event.type !== "message_recorded") return messages;
  const { message } = event;
  const cuts = cut ? { cut: cut.map(([place, bytes]): [string, number] => [inMessage(place), bytes]) } : {};
  const known = messages.findLastIndex((recorded) => recorded.message.id === message.id);
  if (known >= 0) {
    const position = messages[known]?.position ?? 0;
    return messages.with(known, { position, seq, message, ...cuts });
  }
  return [...messages, { position: (messages.at(-1)?.position ?? 0) + 1, seq, message, ...cuts }];
}

/** Places in an event begin at the event, places in a page at the message. */
function inMessage(place: string): string {
  return place.startsWith("/message/") ? place.slice("/message".length) : place;
}

/** What the daemon says of the end of a call that somebody has turned down. */
const DENIED = "the answer to its question";

function foldTools(
  tools: Readonly<Record<string, ToolFacts>>,
  { event, seq, cut }: Numbered,
  at: number,
  after: number,
): Readonly<Record<string, ToolFacts>> {
  if (event.type === "tool_started") {
    const { id, name, input, meaning } = event;
    const facts: ToolFacts = { name, input, startedAt: at, after, ...(meaning ? { meaning } : {}) };
    return bounded({ ...tools, [id]: facts }, MOST_FACTS);
  }
  if (event.type !== "tool_ended") return tools;
  const known = tools[event.id] ?? {};
  const output = event.output ?? event.error;
  const facts: ToolFacts = {
    ...known,
    status: event.status,
    ...(event.name === undefined ? {} : { name: event.name }),
    ...(event.meaning ? { meaning: event.meaning } : {}),
    ...(output ? { output } : {}),
    ...(event.derived === DENIED ? { denied: true } : {}),
    ...(cut ? { cuts: cut.map(([pointer, bytes]) => ({ seq, pointer, bytes })) } : {}),
    // The first end is the moment; a later source only knows more about it.
    ...(known.endedAt === undefined ? { endedAt: at } : {}),
  };
  return bounded({ ...tools, [event.id]: facts }, MOST_FACTS);
}

function noteOf({ seq, event }: Numbered, at: number, after: number): Note | undefined {
  const place = { key: `n${seq}`, after, at };
  const any: AnyEvent = event;
  switch (event.type) {
    case "notice":
      return { ...place, kind: "notice", level: event.level, text: event.text };
    case "turn_ended":
      // That somebody stopped it is no trouble, and said in a word.
      if (event.error && event.stop_reason !== "cancelled") {
        const hint = event.error.hint === undefined ? {} : { hint: event.error.hint };
        return { ...place, kind: "notice", level: "error", text: event.error.message, ...hint };
      }
      return {
        ...place,
        kind: "turn",
        stop: event.stop_reason,
        ...(event.duration_ms === undefined ? {} : { ms: event.duration_ms }),
        ...(event.tool_calls === undefined ? {} : { tools: event.tool_calls }),
      };
    case "history_rewritten":
      return event.reason === "retried"
        ? undefined
        : { ...place, kind: "notice", level: "info", text: REWRITES[event.reason] };
    case "session_ended":
      return { ...place, kind: "notice", level: "info", text: `The session ended: ${event.reason}` };
    case "unread":
      return { ...place, kind: "unknown", name: event.reason, raw: event.text };
    default:
      return SILENT.has(any.type) ? undefined : { ...place, kind: "unknown", name: any.type, raw: any };
  }
}

const REWRITES = {
  rewind: "Rewound to an earlier message",
  checkpoint: "The agent rewrote its history",
  replaced: "The session file was replaced",
};

function onPage(opened: Opened, before: number, page: Messages): Opened {
  // Where the window has changed meanwhile there would be a hole between the page and what is here.
  if (page.epoch !== opened.epoch || before !== opened.before) return opened;
  const first = opened.messages[0]?.position ?? Number.POSITIVE_INFINITY;
  const older = page.messages.filter(({ position }) => position < first);
  const { tools, notes } = factsOf(page.facts ?? [], older);
  const known = new Set(opened.notes.map(({ key }) => key));
  return {
    ...opened,
    messages: [...older, ...opened.messages],
    before: page.before,
    tools: { ...tools, ...opened.tools },
    notes: [...notes.filter(({ key }) => !known.has(key)), ...opened.notes],
  };
}

function trim(opened: Opened): Opened {
  if (opened.messages.length <= LONGEST_WINDOW) return opened;
  const messages = opened.messages.slice(-KEPT);
  const first = messages[0]?.position ?? 0;
  // What happened between messages that have left comes again with them.
  return { ...opened, messages, before: first, notes: opened.notes.filter(({ after }) => after >= first) };
}

/** What the phone kept is good until the daemon has spoken. */
function onStored(state: State, action: Extract<Action, { type: "stored" }>): State {
  const heard = state.hello !== undefined;
  return {
    ...state,
    seen: { ...action.state.seen, ...state.seen },
    sessions: heard ? state.sessions : action.state.sessions,
    inStepAt: heard ? state.inStepAt : action.state.inStepAt,
    opened: { ...action.opened, ...state.opened },
  };
}

function change(state: State, id: string, by: (opened: Opened) => Opened): State {
  const opened = state.opened[id];
  if (!opened) return state;
  const next = by(opened);
  return next === opened ? state : { ...state, opened: { ...state.opened, [id]: next } };
}

function without<T>(record: Readonly<Record<string, T>>, key: string): Readonly<Record<string, T>> {
  const { [key]: _gone, ...rest } = record;
  return rest;
}

/** Without the oldest of what is over, where there is too much of it. What waits, and words that did not arrive, stay. */
function settled(sent: State["sent"]): State["sent"] {
  const over = Object.keys(sent).filter((id) => sent[id] && isOver(sent[id]));
  const gone = new Set(over.slice(0, Math.max(0, over.length - MOST_SENT)));
  return gone.size === 0 ? sent : Object.fromEntries(Object.entries(sent).filter(([id]) => !gone.has(id)));
}

function isOver({ reply, problem, text }: Sent): boolean {
  const done = reply !== undefined && "done" in reply && problem === undefined;
  return done || (text === undefined && (reply !== undefined || problem !== undefined));
}

/** The newest `most` entries, by the order in which they came. */
function bounded<T>(record: Record<string, T>, most: number): Record<string, T> {
  const keys = Object.keys(record);
  if (keys.length <= most) return record;
  return Object.fromEntries(Object.entries(record).slice(keys.length - most));
}
