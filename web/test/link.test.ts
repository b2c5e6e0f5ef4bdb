// The shell around the connection machine, with a socket and a clock of the test's own.

import { expect, test } from "vitest";
import type { ClientFrame, ServerFrame } from "../src/api/types";
import { Connection } from "../src/link/link";

/** A socket of which the test is the other end. */
class Wire {
  readyState = 1;
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: ((event: { reason: string; code: number }) => void) | null = null;
  readonly sent: ClientFrame[] = [];
  send(text: string): void {
    this.sent.push(JSON.parse(text) as ClientFrame);
  }
  close(): void {
    this.readyState = 3;
  }
  greet(): void {
    const hello: ServerFrame = {
      type: "hello",
      pollux: "0.1.0",
      api: 1,
      features: [],
      heartbeat_seconds: 15,
      device: "phone",
      scopes: ["view", "prompt"],
    };
    this.onmessage?.({ data: JSON.stringify(hello) });
  }
}

/** A connection with a clock that the test turns. */
function rig({ online = true } = {}) {
  let now = 0;
  let wake: (() => void) | undefined;
  const wires: Wire[] = [];
  const heard: ServerFrame[] = [];
  const connection = new Connection(
    {
      now: () => now,
      open: () => {
        const wire = new Wire();
        wires.push(wire);
        return wire as unknown as WebSocket;
      },
      allowed: async () => true,
      timer: (run) => {
        wake = run;
        return () => {
          wake = undefined;
        };
      },
      id: () => "c1",
      visible: () => true,
      online: () => online,
    },
    (frame) => heard.push(frame),
    () => undefined,
  );
  const last = () => {
    const wire = wires.at(-1);
    if (!wire) throw new Error("nothing was opened");
    return wire;
  };
  const wait = (ms: number) => {
    now += ms;
    wake?.();
  };
  connection.tell({ type: "start" });
  last().greet();
  return { connection, heard, last, wait };
}

const commands = (wire: Wire) => wire.sent.filter(({ type }) => type === "command");
const errors = (heard: readonly ServerFrame[]) => heard.filter(({ type }) => type === "error");

test("a command that got no reply is sent again with its id on the next connection, and told of by nobody else", () => {
  const it = rig();
  it.connection.command("s1", { type: "prompt", text: "hello" });
  const first = it.last();
  first.onclose?.({ reason: "", code: 1006 });
  it.wait(2_000);
  expect(it.last()).not.toBe(first);
  it.last().greet();
  expect(commands(it.last())).toEqual(commands(first));
  expect(errors(it.heard)).toEqual([]);
});

test("one that is too old to be sent again is said to be unanswered, once, and not dropped in silence", () => {
  const it = rig();
  it.connection.command("s1", { type: "prompt", text: "hello" });
  it.last().onclose?.({ reason: "", code: 1006 });
  it.wait(61_000);
  it.last().greet();
  expect(commands(it.last())).toEqual([]);
  expect(errors(it.heard)).toMatchObject([{ id: "c1", error: { code: "unanswered" } }]);
  it.last().onclose?.({ reason: "", code: 1006 });
  it.wait(2_000);
  it.last().greet();
  expect(errors(it.heard)).toHaveLength(1);
});

test.each([
  ["no network", { online: false }],
  ["cannot reach Pollux", { online: true }],
])("a connection that broke says why: %s", (cause, world) => {
  const it = rig(world);
  it.last().onclose?.({ reason: "", code: 1006 });
  expect(it.connection.link.value).toMatchObject({ phase: "offline", cause });
});

test("what a browser says of the network costs a ping, and no connection that answers it", () => {
  const it = rig();
  const wire = it.last();
  const sessions: ServerFrame = { type: "sessions", sessions: [] };
  wire.onmessage?.({ data: JSON.stringify(sessions) });
  it.connection.tell({ type: "lost_network" });
  expect(wire.sent.at(-1)).toEqual({ type: "ping" });
  const beat: ServerFrame = { type: "heartbeat", at: "2026-01-05T10:00:00Z" };
  wire.onmessage?.({ data: JSON.stringify(beat) });
  expect(it.connection.link.value).toMatchObject({ phase: "live", troubledSince: undefined });
  expect(it.last()).toBe(wire);
  expect(wire.readyState).toBe(1);
});

test("what comes late of a session that nobody follows any more keeps nobody waiting", () => {
  const it = rig();
  const wire = it.last();
  const tell = (frame: ServerFrame) => wire.onmessage?.({ data: JSON.stringify(frame) });
  tell({ type: "sessions", sessions: [] });
  const leave = it.connection.subscribe("s1");
  tell({ type: "events", session_id: "s1", events: [], caught_up: false });
  expect(it.connection.link.value).toMatchObject({ phase: "replay" });
  leave();
  tell({ type: "events", session_id: "s1", events: [], caught_up: false });
  expect(it.connection.link.value).toMatchObject({ phase: "live", troubledSince: undefined });
});
