// The shell around the connection machine: the WebSocket, the timers, the page's visibility. It decides nothing.

import type { ClientFrame, Command, ServerFrame } from "../api/types";
import { RESEND_FOR } from "../state/outbox";
import { Store } from "../store";
import { begin, type Effect, type Input, type Link, step } from "./machine";

/** What the shell needs of the world; the tests bring their own. */
export type World = {
  now: () => number;
  open: () => WebSocket;
  /** Whether this device is let in; undefined where nobody answers. */
  allowed: () => Promise<boolean | undefined>;
  timer: (run: () => void, ms: number) => () => void;
  id: () => string;
  /** Whether somebody looks. */
  visible: () => boolean;
  /** What the browser thinks of the network. It is not always right, and decides nothing: it is a cause to be told. */
  online: () => boolean;
};

type Waiting = {
  frame: { type: "command"; id: string; session_id: string; command: Command };
  since: number;
};
/** What is told of a command that is too old to be sent again: it may have arrived, and nobody wants it done so late unasked. */
const UNANSWERED = {
  code: "unanswered",
  message: "The connection was lost before Pollux confirmed this. It was not sent again.",
  hint: "Check whether it arrived before you send it again.",
};
export const LIST = "list";
/** The code of a connection that broke, or never was one. */
const NO_GOODBYE = 1006;

export class Connection {
  readonly link: Store<Link>;
  readonly #world: World;
  readonly #onFrame: (frame: ServerFrame) => void;
  /** Where to go on from, for each session that is looked at. */
  readonly #place: (sessionId: string) => { after: number; epoch: number } | undefined;
  readonly #subscribed = new Map<string, number>();
  readonly #screens = new Set<string>();
  readonly #unreplied = new Map<string, Waiting>();
  /** True where the daemon calls devices that nobody looks at. */
  #calls = false;
  #socket: WebSocket | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(
    world: World,
    onFrame: (frame: ServerFrame) => void,
    place: (sessionId: string) => { after: number; epoch: number } | undefined,
  ) {
    this.#world = world;
    this.#onFrame = onFrame;
    this.#place = place;
    this.link = new Store(begin(world.now()));
  }

  /** The page is looked at, or no more. */
  look(visible: boolean): void {
    this.#sayVisible(visible);
    this.tell({ type: visible ? "visible" : "hidden" });
  }

  #sayVisible(visible: boolean): void {
    if (this.#calls) this.#send({ type: "visible", visible });
  }

  tell(input: Input): void {
    const [link, effects] = step(this.link.value, input, this.#world.now());
    this.link.set(link);
    for (const effect of effects) this.#do(effect);
    this.#arm();
  }

  get connected(): boolean {
    const { phase } = this.link.value;
    return phase === "live" || phase === "replay" || phase === "stale";
  }

  /** Watches a session until the returned function is called. */
  subscribe(sessionId: string): () => void {
    const readers = this.#subscribed.get(sessionId) ?? 0;
    this.#subscribed.set(sessionId, readers + 1);
    if (readers === 0 && this.connected) this.#ask(sessionId);
    return () => {
      const left = (this.#subscribed.get(sessionId) ?? 1) - 1;
      if (left > 0) {
        this.#subscribed.set(sessionId, left);
        return;
      }
      this.#subscribed.delete(sessionId);
      this.#send({ type: "unsubscribe", session_id: sessionId });
      this.tell({ type: "settled", generation: this.link.value.generation, what: sessionId });
    };
  }

  /** Watches the agent's own screen until the returned function is called. */
  watchScreen(sessionId: string): () => void {
    this.#screens.add(sessionId);
    this.#send({ type: "screen", session_id: sessionId, on: true });
    return () => {
      this.#screens.delete(sessionId);
      this.#send({ type: "screen", session_id: sessionId, on: false });
    };
  }

  /** Asks for a session anew: an event was missing. */
  refresh(sessionId: string): void {
    if (this.#subscribed.has(sessionId) && this.connected) this.#ask(sessionId);
  }

  /** Asks for the list anew. */
  refreshList(): void {
    if (this.connected) this.#send({ type: "watch" });
    else this.tell({ type: "retry" });
  }

  command(sessionId: string, command: Command, id = this.#world.id()): string {
    const frame = { type: "command" as const, id, session_id: sessionId, command };
    this.#unreplied.set(id, { frame, since: this.#world.now() });
    this.#send(frame);
    return id;
  }

  #ask(sessionId: string): void {
    const place = this.#place(sessionId);
    this.tell({ type: "unsettled", generation: this.link.value.generation, what: sessionId });
    this.#send({ type: "subscribe", session_id: sessionId, ...(place ?? {}) });
  }

  #send(frame: ClientFrame): void {
    if (this.#socket?.readyState === 1) this.#socket.send(JSON.stringify(frame));
  }

  #do(effect: Effect): void {
    switch (effect.type) {
      case "open":
        return this.#open(effect.generation);
      case "close":
        return this.#close();
      case "ping":
        return this.#send({ type: "ping" });
      case "ask":
        void this.#world.allowed().then((allowed) => {
          if (allowed === false) this.tell({ type: "refused" });
        });
    }
  }

  #open(generation: number): void {
    const socket = this.#world.open();
    this.#socket = socket;
    socket.onopen = () => this.tell({ type: "opened", generation });
    socket.onmessage = ({ data }) => this.#onMessage(String(data), generation);
    socket.onclose = ({ reason, code }) =>
      this.tell({ type: "closed", generation, cause: reason || this.#cause(code) });
  }

  #cause(code: number): string {
    if (!this.#world.online()) return "no network";
    return code === NO_GOODBYE ? "cannot reach Pollux" : `connection closed (${code})`;
  }

  #close(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  #onMessage(data: string, generation: number): void {
    if (generation !== this.link.value.generation) return;
    const frame = JSON.parse(data) as ServerFrame;
    this.tell({ type: "heard", generation });
    if (frame.type === "hello") {
      this.#calls = frame.features.includes("push");
      this.#greet(frame.heartbeat_seconds, generation);
    }
    this.#onFrame(frame);
    this.#settle(frame, generation);
  }

  #greet(heartbeatSeconds: number, generation: number): void {
    this.tell({ type: "hello", generation, heartbeatSeconds, waitFor: [LIST, ...this.#subscribed.keys()] });
    this.#send({ type: "watch" });
    this.#sayVisible(this.#world.visible());
    for (const id of this.#subscribed.keys()) this.#ask(id);
    for (const id of this.#screens) this.#send({ type: "screen", session_id: id, on: true });
    for (const [id, { frame, since }] of this.#unreplied) {
      if (this.#world.now() - since < RESEND_FOR) {
        this.#send(frame);
        continue;
      }
      this.#unreplied.delete(id);
      this.#onFrame({ type: "error", id, error: UNANSWERED });
    }
  }

  #settle(frame: ServerFrame, generation: number): void {
    const what = (name: string) => this.tell({ type: "settled", generation, what: name });
    switch (frame.type) {
      case "sessions":
        return what(LIST);
      case "snapshot":
      case "resumed":
        return what(frame.session_id);
      case "events":
        if (frame.caught_up) what(frame.session_id);
        // What nobody follows any more was on its way already: nothing will say that it is whole.
        else if (this.#subscribed.has(frame.session_id))
          this.tell({ type: "unsettled", generation, what: frame.session_id });
        return;
      case "result":
        this.#unreplied.delete(frame.id);
        return;
      case "error":
        if (frame.id !== undefined) {
          this.#unreplied.delete(frame.id);
          what(frame.id);
        }
        return;
      default:
    }
  }

  #arm(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const { wakeAt } = this.link.value;
    if (wakeAt === undefined) return;
    const ms = Math.max(0, wakeAt - this.#world.now());
    this.#cancelTimer = this.#world.timer(() => this.tell({ type: "wake" }), ms);
  }
}
