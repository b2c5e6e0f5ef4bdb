// What the app knows, and the rows that it draws, from recorded runs and from frames made here.

import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Block, Event, Message, Numbered, Recorded, ServerFrame } from "../src/api/types";
import { EMPTY, type State } from "../src/state/model";
import { LONGEST_WINDOW, reduce } from "../src/state/reduce";
import { rowAt, rowsOf } from "../src/state/rows";
import { NAMES, numbered, recorded, snapshot, summary } from "./recorded";

const hello: ServerFrame = {
  type: "hello",
  pollux: "0.1.0",
  api: 1,
  features: [],
  heartbeat_seconds: 15,
  device: "phone",
  scopes: ["view", "prompt", "approve"],
};

function play(frames: readonly ServerFrame[], from: State = EMPTY): State {
  return frames.reduce((state, frame) => reduce(state, { type: "frame", frame, at: 1000 }), from);
}

function events(list: readonly Numbered[], caught_up = true): ServerFrame {
  return { type: "events", session_id: "s1", events: [...list], caught_up };
}

function at(state: State) {
  const opened = state.opened.s1;
  if (!opened) throw new Error("s1 is not opened");
  return opened;
}

/** A transcript in a few words for each row. */
function told(state: State): string[] {
  return rowsOf(at(state)).map((row) => {
    switch (row.kind) {
      case "prompt":
      case "text":
      case "thinking":
        return `${row.kind}${row.live ? "…" : ""}: ${row.text.slice(0, 60)}`;
      case "tool":
        return `tool: ${row.tool.name} ${row.tool.status ?? "…"}${row.tool.meaning ? ` (${row.tool.meaning.kind})` : ""}`;
      case "explored":
        return `explored: ${row.tools.map((tool) => tool.name).join(", ")}`;
      case "system":
        return `system ${row.level}: ${row.text.slice(0, 60)}`;
      case "image":
        return "image";
      case "note":
        return `note: ${row.note.kind} ${row.note.kind === "notice" ? row.note.text : ""}`.trim();
    }
  });
}

describe("recorded runs of the real CLI", () => {
  test.each(NAMES)("%s is told in rows", (name) => {
    const state = play([hello, snapshot(), events(recorded(name))]);
    expect(told(state)).toMatchSnapshot();
    expect(at(state).live).toEqual([]);
  });

  test.each(NAMES)("%s is the same however its events are cut into frames, repeated or resumed", (name) => {
    const all = recorded(name);
    const whole = at(play([snapshot(), events(all)]));
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: all.length }), { maxLength: 6 }),
        fc.nat({ max: 3 }),
        (cuts, overlap) => {
          const places = [0, ...cuts.sort((a, b) => a - b), all.length];
          const frames: ServerFrame[] = places
            .slice(1)
            .map((to, index) =>
              events(all.slice(Math.max(0, (places[index] ?? 0) - overlap), to), to === all.length),
            );
          expect(at(play([snapshot(), ...frames]))).toEqual(whole);
        },
      ),
    );
  });

  test.each(NAMES)(
    "%s has the same rows from its first event on and from a snapshot of its messages",
    (name) => {
      const all = recorded(name);
      const live = play([snapshot(), events(all)]);
      const { messages, seq } = at(live);
      const facts = all.filter(({ event }) => FACTS.has(event.type));
      const late = play([snapshot({ messages: [...messages], seq, facts })]);
      expect(told(late)).toEqual(told(live));
    },
  );
});

/** What the daemon sends along with a page of messages. */
const FACTS = new Set(["tool_started", "tool_ended", "notice", "turn_ended", "session_ended", "unread"]);

describe("frames that the daemon itself was recorded sending", () => {
  const path = new URL("../../recordings/frames/headless-shell.jsonl", import.meta.url);
  const sent = () =>
    readFileSync(process.env.POLLUX_FRAMES ?? path, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as ServerFrame);

  test("become a transcript with nothing missing and nothing left over", () => {
    const state = play(sent());
    const [opened] = Object.values(state.opened);
    const [session] = Object.values(state.sessions);
    if (!opened || !session) throw new Error("the recording opens a session");
    expect(opened).toMatchObject({ torn: false, live: [] });
    expect(opened.seq).toBe(session.seq);
    expect(told({ ...state, opened: { s1: opened } })).toMatchSnapshot();
  });
});

describe("two sources of one text", () => {
  const said = {
    id: "m1",
    role: "assistant",
    content: [{ type: "text", text: "Once upon a time." }],
    timestamp: 1,
    tool: "gemini",
  } as const;
  const grew = (seq: number, text: string) =>
    numbered(seq, { type: "text_grew", source: "acp", part: "text", text });
  const asked = numbered(1, { type: "turn_started", source: "acp", prompt: "Go" });
  const recordedAt = (seq: number) =>
    numbered(seq, {
      type: "message_recorded",
      source: "session_file",
      changed: false,
      message: { ...said, content: [...said.content] },
    });

  test("the text stands once, whether the file or the stream is faster", () => {
    const late = play([
      snapshot(),
      events([asked, grew(2, "Once upon "), grew(3, "a time."), recordedAt(4)]),
    ]);
    const early = play([
      snapshot(),
      events([asked, grew(2, "Once upon "), recordedAt(3), grew(4, "a time.")]),
    ]);
    const earliest = play([
      snapshot(),
      events([asked, recordedAt(2), grew(3, "Once upon "), grew(4, "a time.")]),
    ]);
    for (const state of [late, early, earliest]) {
      expect(told(state).filter((line) => line.includes("time"))).toHaveLength(1);
    }
  });
});

test("a call that no message tells of stays where it was made, also when the next turn begins", () => {
  const turn = (seq: number, prompt: string) =>
    numbered(seq, { type: "turn_started", source: "acp", prompt });
  const recorded = (seq: number, id: string) =>
    numbered(seq, {
      type: "message_recorded",
      source: "session_file",
      changed: false,
      message: {
        id,
        role: "assistant",
        content: [{ type: "text", text: `said ${id}` }],
        timestamp: 1,
        tool: "gemini",
      },
    });
  const state = play([
    snapshot(),
    events([
      turn(1, "one"),
      recorded(2, "a"),
      numbered(3, { type: "tool_started", source: "acp", id: "t", name: "run_shell_command", input: {} }),
      numbered(4, { type: "tool_ended", source: "acp", id: "t", status: "cancelled", changed: false }),
      recorded(5, "b"),
      turn(6, "two"),
    ]),
  ]);
  expect(told(state)).toEqual([
    "text: said a",
    "tool: run_shell_command cancelled",
    "text: said b",
    "prompt…: two",
  ]);
});

test("a turn that failed says why, and what to do", () => {
  const error = {
    code: "rate_limited",
    message: "Too many requests",
    hint: "wait a minute",
    retryable: true,
  };
  const ended: Event = {
    type: "turn_ended",
    source: "acp",
    stop_reason: "error",
    error: { phase: "request", ...error },
  };
  const state = play([snapshot(), events([numbered(1, ended)])]);
  expect(told(state)).toEqual(["note: notice Too many requests"]);
  expect(at(state).notes).toMatchObject([{ level: "error", hint: "wait a minute" }]);
});

test("a turn that somebody stopped ends with a word, and with no trouble", () => {
  const error = {
    code: "cancelled",
    phase: "request",
    message: "the turn was cancelled",
    retryable: true,
  } as const;
  const ended: Event = { type: "turn_ended", source: "acp", stop_reason: "cancelled", error };
  const state = play([snapshot(), events([numbered(1, ended)])]);
  expect(at(state).notes).toMatchObject([{ kind: "turn", stop: "cancelled" }]);
});

describe("numbers", () => {
  test("an event that is missing tears the session, and nothing after it is believed", () => {
    const all = recorded("chain");
    const state = play([snapshot(), events(all.slice(0, 5)), events(all.slice(7))]);
    expect(at(state).torn).toBe(true);
    expect(at(state).seq).toBe(5);
  });

  test("a snapshot mends a torn session", () => {
    const torn = play([snapshot(), events(recorded("chain").slice(3))]);
    expect(at(play([snapshot({ seq: 9 })], torn))).toMatchObject({ torn: false, seq: 9 });
  });

  test("a tail that begins elsewhere than asked for tears the session", () => {
    const state = play([snapshot({ seq: 4 }), { type: "resumed", session_id: "s1", after: 3, epoch: 0 }]);
    expect(at(state).torn).toBe(true);
  });

  test("an older summary never replaces a newer one", () => {
    const frames: ServerFrame[] = [3, 1, 2].map((version) => ({
      type: "session",
      session: summary({ version, title: `v${version}` }),
    }));
    expect(play(frames).sessions.s1?.title).toBe("v3");
  });

  test("a list that is full says nothing of older sessions, and a short one is all there is", () => {
    const of = (n: number) => summary({ id: `s${n}`, updated_at: new Date(1e12 - n * 1000).toISOString() });
    const list = (from: number, to: number): ServerFrame => ({
      type: "sessions",
      sessions: Array.from({ length: to - from }, (_, n) => of(from + n)),
    });
    const ids = (state: State) => Object.keys(state.sessions).length;
    const first = play([hello, list(1, 101)]);
    const paged = reduce(first, { type: "older_sessions", sessions: [of(101), of(102)] });
    expect(ids(paged)).toBe(102);
    // One that is newer than the oldest in the list, and is not in it, is gone.
    const again = play([list(0, 50), list(1, 101)], paged);
    expect(ids(again)).toBe(100);
    const next = play(
      [{ type: "sessions", sessions: [of(0), ...Array.from({ length: 99 }, (_, n) => of(n + 2))] }],
      paged,
    );
    expect([next.sessions.s1, next.sessions.s101?.id, next.sessions.s102?.id]).toEqual([
      undefined,
      "s101",
      "s102",
    ]);
  });

  test("what the phone kept of older sessions is not believed beside the daemon's list", () => {
    const old = summary({ id: "old", updated_at: "2001-01-01T00:00:00Z" });
    const stored = reduce(EMPTY, {
      type: "stored",
      state: { sessions: { old }, seen: {}, inStepAt: 1 },
      opened: {},
    });
    const full = Array.from({ length: 100 }, (_, n) => summary({ id: `s${n}` }));
    const state = play([hello, { type: "sessions", sessions: full }], stored);
    expect(state.sessions.old).toBeUndefined();
  });

  test("why a session is not followed is known until it is", () => {
    const error = { code: "unknown_session", message: "there is none" };
    const state = play([hello, { type: "error", id: "s1", error }]);
    expect(state.troubles).toEqual({ s1: error });
    expect(play([snapshot()], state).troubles).toEqual({});
    const odd = play([hello, { type: "error", id: "constructor", error }]);
    expect(odd.sent).toEqual({});
    expect(odd.troubles).toEqual({ constructor: error });
  });

  test("frames and events of kinds that nobody knows yet break nothing, and the event is shown", () => {
    const odd = { type: "orbit_changed", source: "acp", radius: 7 } as unknown as Event;
    const state = play([
      hello,
      { type: "weather" } as unknown as ServerFrame,
      snapshot(),
      events([numbered(1, odd)]),
    ]);
    expect(at(state).notes).toMatchObject([{ kind: "unknown", name: "orbit_changed" }]);
    expect(at(state).seq).toBe(1);
  });
});

describe("history", () => {
  const message = (id: string, text: string): Message => ({
    id,
    role: "assistant",
    content: [{ type: "text", text }],
    timestamp: 1,
    tool: "gemini",
  });
  const record = (seq: number, id: string, changed = false) =>
    numbered(seq, {
      type: "message_recorded",
      source: "session_file",
      changed,
      message: message(id, `${id} ${seq}`),
    });

  test("a message that is completed takes its own place", () => {
    const state = play([snapshot(), events([record(1, "a"), record(2, "b"), record(3, "a", true)])]);
    expect(at(state).messages.map((entry) => [entry.message.id, entry.position, entry.seq])).toEqual([
      ["a", 1, 3],
      ["b", 2, 2],
    ]);
  });

  const rewind = (...removed: string[]): Event => ({
    type: "history_rewritten",
    source: "session_file",
    epoch: 1,
    reason: "rewind",
    removed,
  });

  test("messages that were taken back are gone, and the epoch is the new one", () => {
    const state = play([snapshot(), events([record(1, "a"), record(2, "b"), numbered(3, rewind("b"), 1)])]);
    expect(at(state).messages.map((entry) => entry.message.id)).toEqual(["a"]);
    expect(at(state).epoch).toBe(1);
  });

  test("where more was taken back than is here, the session is asked for anew; where it began here, it is not", () => {
    const entry = { position: 5, seq: 5, message: message("m5", "x") };
    const gone = events([numbered(6, rewind("m3", "m4", "m5"), 1)]);
    expect(at(play([snapshot({ messages: [entry], seq: 5, before: 5 }), gone])).torn).toBe(true);
    expect(at(play([snapshot({ messages: [entry], seq: 5 }), gone])).torn).toBe(false);
  });

  test("what happened in turns that were taken back stands after what is left, and not among what comes after", () => {
    const ended: Event = { type: "turn_ended", source: "acp", stop_reason: "end_turn" };
    const before = [record(1, "a"), record(2, "b"), record(3, "c"), numbered(4, ended)];
    const after = [numbered(5, rewind("b", "c"), 1), record(6, "d"), record(7, "e")];
    const state = play([snapshot(), events([...before, ...after])]);
    expect(told(state)).toEqual([
      "text: a 1",
      "note: turn",
      "note: notice Rewound to an earlier message",
      "text: d 6",
      "text: e 7",
    ]);
  });

  test("an older page goes before what is there; one of another epoch is not taken", () => {
    const entry = (position: number) => ({ position, seq: position, message: message(`m${position}`, "x") });
    const state = play([snapshot({ messages: [entry(5)], before: 5 })]);
    const page = { messages: [entry(3), entry(4), entry(5)], before: 3, epoch: 0 };
    const paged = reduce(state, { type: "page", sessionId: "s1", before: 5, page });
    expect(at(paged).messages.map(({ position }) => position)).toEqual([3, 4, 5]);
    expect(at(paged).before).toBe(3);
    const other = { ...page, epoch: 1 };
    expect(reduce(state, { type: "page", sessionId: "s1", before: 5, page: other })).toBe(state);
  });

  test("a page that was asked for before the window changed leaves no hole: it is not taken", () => {
    const entry = (position: number) => ({ position, seq: position, message: message(`m${position}`, "x") });
    const before = play([snapshot({ messages: [entry(5)], before: 5 })]);
    const state = play([snapshot({ messages: [entry(9)], seq: 9, before: 9 })], before);
    const page = { messages: [entry(3), entry(4)], before: 3, epoch: 0 };
    expect(reduce(state, { type: "page", sessionId: "s1", before: 5, page })).toBe(state);
  });

  test("a long stream keeps a bounded window, and what left it can be paged in again", () => {
    const ended: Event = { type: "turn_ended", source: "acp", stop_reason: "end_turn" };
    let state = play([snapshot(), events([record(1, "m1"), numbered(2, ended)])]);
    for (let seq = 3; seq <= 4 * LONGEST_WINDOW; seq += 1) {
      state = play([events([record(seq, `m${seq}`)])], state);
      state = reduce(state, { type: "trim", sessionId: "s1" });
    }
    expect(at(state).messages.length).toBeLessThanOrEqual(LONGEST_WINDOW);
    expect(at(state).before).toBe(at(state).messages[0]?.position);
    expect(at(state).messages.at(-1)?.message.id).toBe(`m${4 * LONGEST_WINDOW}`);
    // The end of a turn does not stand where its messages are no more.
    expect(at(state).notes).toEqual([]);
  });
});

describe("commands", () => {
  test("words that were refused, and what waits for its reply, outlast a thousand keys", () => {
    const one = (state: State, id: string, text?: string) =>
      reduce(state, { type: "sent", id, sent: { sessionId: "s1", at: 0, ...(text ? { text } : {}) } });
    const replied = (state: State, id: string, done: boolean) =>
      play(
        [
          {
            type: "result",
            id,
            reply: done ? { done: { done: "sent" } } : { refused: { code: "no", message: "not now" } },
          },
        ],
        state,
      );
    let state = replied(one(EMPTY, "refused", "my words"), "refused", false);
    state = one(state, "waits", "on its way");
    for (let n = 0; n < 1000; n += 1) state = replied(one(state, `k${n}`), `k${n}`, n % 2 === 0);
    expect(state.sent.refused?.text).toBe("my words");
    expect(state.sent.waits?.text).toBe("on its way");
    expect(Object.keys(state.sent).length).toBeLessThan(110);
  });

  test("a command is done when the daemon has said so, and says why it was refused", () => {
    const sent = reduce(EMPTY, { type: "sent", id: "c1", sent: { sessionId: "s1", at: 1, text: "hi" } });
    expect(sent.sent.c1).not.toHaveProperty("reply");
    const refused = { code: "queue_full", message: "the queue is full (32 prompts)" };
    const state = play([{ type: "result", id: "c1", reply: { refused } }], sent);
    expect(state.sent.c1?.reply).toEqual({ refused });
  });

  test("what the phone kept is shown until the daemon speaks, and never after", () => {
    const kept = { sessions: { s1: summary({ title: "kept" }) }, seen: { s1: 3 }, inStepAt: 5 };
    const stored = reduce(EMPTY, { type: "stored", state: kept, opened: {} });
    expect(stored.sessions.s1?.title).toBe("kept");
    const live = play([hello, { type: "sessions", sessions: [summary({ title: "true" })] }]);
    expect(reduce(live, { type: "stored", state: kept, opened: {} }).sessions.s1?.title).toBe("true");
  });
});

test("a call that was denied stands where its result was recorded, although no message has the call", () => {
  const denied = (extra: Numbered[]) => {
    const result: Event = {
      type: "message_recorded",
      source: "session_file",
      changed: false,
      message: {
        id: "m1",
        role: "user",
        meta: true,
        timestamp: 0,
        tool: "gemini",
        content: [
          {
            type: "tool_result",
            tool_use_id: "run_shell_command__x_0",
            content: 'Tool "run_shell_command" was canceled by the user.',
            is_error: false,
            status: "cancelled",
          },
        ],
      },
    };
    const events = [...extra, numbered(extra.length + 1, result)];
    const first = reduce(EMPTY, { type: "frame", frame: snapshot(), at: 0 });
    const frame: ServerFrame = { type: "events", session_id: "s1", events, caught_up: true };
    const opened = reduce(first, { type: "frame", frame, at: 0 }).opened.s1;
    return opened ? rowsOf(opened) : [];
  };
  const id = "run_shell_command__x_0";
  const meaning = { kind: "command" as const, command: "touch a", derived: {} };
  const live = denied([
    numbered(1, { type: "turn_started", source: "acp", prompt: "go" }),
    numbered(2, { type: "tool_started", source: "acp", id, name: "run_shell_command", input: {}, meaning }),
    numbered(3, { type: "tool_ended", source: "acp", id, status: "cancelled", changed: false, meaning }),
  ]);
  const tools = live.flatMap((row) => (row.kind === "tool" ? [row.tool] : []));
  expect(tools).toMatchObject([{ id, name: "run_shell_command", status: "cancelled", meaning }]);
  // A reader who comes later, to a daemon that has forgotten what happened between messages, knows that it was.
  expect(denied([])).toMatchObject([
    { kind: "tool", tool: { name: "run_shell_command", status: "cancelled", denied: true } },
  ]);
});

test("a call that was denied is denied after a reload, with its command, also where no message tells of it", () => {
  const id = "run_shell_command__x_0";
  const meaning = { kind: "command" as const, command: "touch a", derived: {} };
  const facts = [
    numbered(2, { type: "tool_started", source: "acp", id, name: "run_shell_command", input: {}, meaning }),
    numbered(3, {
      type: "tool_ended",
      source: "pollux",
      id,
      status: "cancelled",
      changed: false,
      meaning,
      derived: "the answer to its question",
    }),
  ];
  const state = play([snapshot({ seq: 3, facts })]);
  const tools = rowsOf(at(state)).flatMap((row) => (row.kind === "tool" ? [row.tool] : []));
  expect(tools).toMatchObject([{ id, status: "cancelled", denied: true, meaning }]);
});

test("a call that two messages have is shown once, where it was made, and hides none that comes after it", () => {
  const call = (id: string, name: string): Block => ({ type: "tool_use", id, name, input: {} });
  const result = (id: string): Block => ({
    type: "tool_result",
    tool_use_id: id,
    content: "",
    is_error: false,
    status: "success",
  });
  const said = (position: number, content: Block[]): Recorded => ({
    position,
    seq: position,
    message: { id: `m${position}`, role: "assistant", content, timestamp: 1, tool: "gemini" },
  });
  const messages = [
    said(1, [call("a", "Bash"), result("a")]),
    said(2, [call("a", "Bash"), result("a"), call("b", "Edit"), result("b")]),
  ];
  const rows = rowsOf(at(play([snapshot({ messages, seq: 2 })])));
  expect(rows.map(({ key }) => key)).toEqual(["ta", "tb"]);
});

test("a call that was stopped, and that no message tells of, stands once after a reload, and after the next turn has begun", () => {
  const call = { type: "tool" as const, id: "t", name: "run_shell_command", input: {} };
  const facts = [
    numbered(2, { ...call, type: "tool_started", source: "acp" }),
    numbered(3, { type: "tool_ended", source: "acp", id: "t", status: "cancelled", changed: false }),
  ];
  const live = { parts: [{ ...call, status: "cancelled" as const }] };
  const reloaded = play([snapshot({ seq: 3, facts, live })]);
  const keys = (state: State) => rowsOf(at(state)).map(({ key }) => key);
  expect(keys(reloaded)).toEqual(["tt"]);
  const next = numbered(4, { type: "turn_started", source: "acp", prompt: "go on" });
  expect(keys(play([events([next])], reloaded))).toEqual(["tt", "live0"]);
});

test("the place of an event is the row of the first message from there on that has one, also in a run of reads", () => {
  const read = (id: string): Block => ({ type: "tool_use", id, name: "read_file", input: {} });
  const entry = (seq: number, content: Block[], more: Partial<Message> = {}): Recorded => ({
    position: seq,
    seq,
    message: { id: `m${seq}`, role: "assistant", content, timestamp: 1, tool: "gemini", ...more },
  });
  const text: Block = { type: "text", text: "words" };
  const messages = [
    entry(1, [text], { role: "user", meta: true }),
    entry(2, [text]),
    entry(3, [read("a")]),
    entry(4, [read("b")]),
    entry(5, [text], { role: "user", meta: true }),
  ];
  const rows = rowsOf(at(play([snapshot({ messages, seq: 5 })])));
  expect(rows.map(({ kind }) => kind)).toEqual(["text", "explored"]);
  expect([1, 2, 3, 4, 5, 9].map((place) => rowAt(rows, messages, place))).toEqual([0, 0, 1, 1, 1, 1]);
});
