// A stand-in for the daemon, for tests of the screen alone: it serves the built app with the daemon's headers and plays
// frames. What the daemon does is tested with the daemon.

import { existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { type WebSocket, WebSocketServer } from "ws";
import type {
  ClientFrame,
  Event,
  Job,
  Letter,
  Member,
  Numbered,
  Picture,
  Recorded,
  ServerFrame,
  Summary,
} from "../src/api/types";

export const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
  "manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".webmanifest": "application/manifest+json",
};

export type Played = {
  summary: Summary;
  messages: Recorded[];
  events: Numbered[];
  live: Extract<ServerFrame, { type: "snapshot" }>["live"];
  before?: number;
};
export type Heard = ClientFrame & { at: number };

const PAGE = 60;
/** As the daemon lists them. */
const LISTED = 100;
/** The daemon's pages of events end where they have grown large; these end after so many. */
const EVENTS = 3;

export class Player {
  readonly sessions = new Map<string, Played>();
  readonly heard: Heard[] = [];
  onScreen: (sessionId: string) => void = () => undefined;
  refuses = false;
  /** What stands at the app's address in place of the app. */
  page: string | undefined;
  /** True where commands arrive and their replies do not. */
  mute = false;
  /** Paths to which no answer comes. */
  readonly silent = new Set<string>();
  /** True where a proxy in front of the daemon cannot reach it. */
  lost = false;
  /** Whole texts of what was cut, by session, event and place: `s1 4 /message/content/0/text`. */
  readonly whole = new Map<string, string>();
  /** What the daemon says that it can do. */
  features: string[] = ["files", "images", "models", "screen", "push", "share", "teams"];
  members: Member[] = [];
  jobs: Job[] = [];
  letters: Letter[] = [];
  /** Bodies of what was posted, by path. */
  readonly posted: { path: string; body: unknown }[] = [];
  readonly #server: Server;
  readonly #sockets = new Map<WebSocket, Set<string>>();
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
    this.#server = createServer((request, response) => this.#http(request, response));
    const wss = new WebSocketServer({ noServer: true });
    this.#server.on("upgrade", (request, socket, head) => {
      if (this.refuses || this.lost) {
        socket.end(`HTTP/1.1 ${this.lost ? "502 Bad Gateway" : "401 Unauthorized"}\r\n\r\n`);
        return;
      }
      wss.handleUpgrade(request, socket, head, (ws) => this.#greet(ws));
    });
  }

  async start(port = 0): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
    return `http://localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const ws of this.#sockets.keys()) ws.terminate();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  add(summary: Summary, messages: Recorded[] = [], more: Partial<Played> = {}): void {
    this.sessions.set(summary.id, { summary, messages, events: [], live: { parts: [] }, ...more });
  }

  /** Cuts all connections, as a network does. */
  cut(): void {
    for (const ws of this.#sockets.keys()) ws.terminate();
  }

  change(id: string, change: Partial<Summary>): void {
    const played = this.#played(id);
    played.summary = { ...played.summary, ...change, version: played.summary.version + 1 };
    this.#tell({ type: "session", session: played.summary });
  }

  emit(id: string, ...events: Event[]): void {
    this.emitCut(id, undefined, ...events);
  }

  /** Events whose texts were cut, at these places. */
  emitCut(id: string, cut: Numbered["cut"], ...events: Event[]): void {
    const played = this.#played(id);
    const numbered = events.map((event): Numbered => {
      const seq = played.summary.seq + 1;
      played.summary = { ...played.summary, seq };
      const one = {
        seq,
        epoch: played.summary.epoch,
        recorded_at: new Date().toISOString(),
        event,
        ...(cut ? { cut } : {}),
      };
      played.events.push(one);
      return one;
    });
    const frame: ServerFrame = { type: "events", session_id: id, events: numbered, caught_up: true };
    for (const [ws, followed] of this.#sockets) if (followed.has(id)) ws.send(JSON.stringify(frame));
  }

  #played(id: string): Played {
    const played = this.sessions.get(id);
    if (!played) throw new Error(`no session ${id}`);
    return played;
  }

  /** All, in the order in which they were put on: the newest first where it matters. */
  #listed(): Summary[] {
    return [...this.sessions.values()].map(({ summary }) => summary);
  }

  #tell(frame: ServerFrame): void {
    for (const ws of this.#sockets.keys()) ws.send(JSON.stringify(frame));
  }

  /** Something is different about teams. */
  news(): void {
    this.#tell({ type: "team" });
  }

  /** Turns down the last command. */
  refuseLast(message: string): void {
    const last = this.heard.findLast(({ type }) => type === "command");
    if (last?.type !== "command") throw new Error("no command was heard");
    this.#tell({ type: "result", id: last.id, reply: { refused: { code: "refused", message } } });
  }

  /** Why a session, or its screen, is not followed. */
  fail(id: string, message: string): void {
    this.#tell({ type: "error", id, error: { code: "no_terminal", message } });
  }

  /** The agent's own screen, to those who watch it. */
  show(picture: Picture): void {
    for (const [ws, followed] of this.#sockets)
      if (followed.has(`screen ${picture.session_id}`))
        ws.send(JSON.stringify({ type: "screen", ...picture }));
  }

  #greet(ws: WebSocket): void {
    this.#sockets.set(ws, new Set());
    ws.on("close", () => this.#sockets.delete(ws));
    ws.on("message", (data) => this.#on(ws, JSON.parse(String(data)) as ClientFrame));
    const hello: ServerFrame = {
      type: "hello",
      pollux: "0.1.0",
      api: 1,
      features: this.features,
      heartbeat_seconds: 15,
      device: "Ada's phone",
      scopes: ["view", "prompt", "approve", "admin"],
    };
    ws.send(JSON.stringify(hello));
  }

  #on(ws: WebSocket, frame: ClientFrame): void {
    this.heard.push({ ...frame, at: Date.now() });
    const say = (answer: ServerFrame) => ws.send(JSON.stringify(answer));
    switch (frame.type) {
      case "screen":
        if (frame.on) this.#sockets.get(ws)?.add(`screen ${frame.session_id}`);
        else this.#sockets.get(ws)?.delete(`screen ${frame.session_id}`);
        return this.onScreen(frame.session_id);
      case "watch":
        return say({ type: "sessions", sessions: this.#listed().slice(0, LISTED) });
      case "subscribe":
        return this.#subscribe(ws, frame, say);
      case "unsubscribe":
        this.#sockets.get(ws)?.delete(frame.session_id);
        return;
      case "ping":
        return say({ type: "heartbeat", at: new Date().toISOString() });
      case "command":
        if (this.mute) return;
        return say({ type: "result", id: frame.id, reply: { done: { done: "sent" } } });
    }
  }

  #subscribe(
    ws: WebSocket,
    frame: Extract<ClientFrame, { type: "subscribe" }>,
    say: (frame: ServerFrame) => void,
  ): void {
    const id = frame.session_id;
    const played = this.sessions.get(id);
    if (!played)
      return say({ type: "error", id, error: { code: "unknown_session", message: "there is none" } });
    this.#sockets.get(ws)?.add(id);
    const { summary, messages, events, live } = played;
    if (frame.after !== undefined && frame.epoch === summary.epoch) {
      say({ type: "resumed", session_id: id, after: frame.after, epoch: summary.epoch });
      const missed = events.filter(({ seq }) => seq > (frame.after ?? 0));
      return say({ type: "events", session_id: id, events: missed, caught_up: true });
    }
    const page = messages.slice(-PAGE);
    const first = page[0]?.position ?? 0;
    const before = messages.length > page.length ? { before: first } : {};
    const seq = summary.seq - events.length;
    say({
      type: "snapshot",
      session_id: id,
      why: "fresh",
      seq,
      epoch: summary.epoch,
      session: summary,
      messages: page,
      live,
      ...before,
    });
    if (events.length > 0) say({ type: "events", session_id: id, events, caught_up: true });
  }

  #http(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "/", "http://localhost");
    response.setHeader("content-security-policy", CSP);
    response.setHeader("x-content-type-options", "nosniff");
    if (this.lost) {
      response.statusCode = 502;
      response.end("Bad Gateway");
      return;
    }
    if (this.silent.has(url.pathname)) return;
    if (url.pathname.startsWith("/api/v1/")) {
      let body = "";
      request.on("data", (piece) => {
        body += String(piece);
      });
      request.on("end", () => {
        if (request.method !== "GET") this.posted.push({ path: url.pathname, body: JSON.parse(body) });
        this.#api(url, response);
      });
      return;
    }
    if (this.page !== undefined && url.pathname === "/") {
      response.setHeader("content-type", "text/html; charset=utf-8");
      response.end(this.page);
      return;
    }
    const path = url.pathname === "/" ? "/index.html" : url.pathname;
    try {
      const file = join(this.#root, normalize(path));
      const packed = existsSync(`${file}.gz`);
      if (packed) response.setHeader("content-encoding", "gzip");
      const bytes = readFileSync(packed ? `${file}.gz` : file);
      response.setHeader("content-type", TYPES[extname(path)] ?? "application/octet-stream");
      response.end(bytes);
    } catch {
      response.statusCode = 404;
      response.end();
    }
  }

  #api(url: URL, response: ServerResponse): void {
    response.setHeader("content-type", "application/json");
    const path = url.pathname.slice("/api/v1".length);
    const answer = this.#answer(path, url);
    response.statusCode = answer === undefined ? (this.refuses ? 401 : 404) : 200;
    response.end(JSON.stringify(answer ?? { code: "refused", message: "not let in" }));
  }

  /** As the daemon does it: bytes, in pieces of 64 KB. */
  #piece(key: string, url: URL): unknown {
    const text = this.whole.get(key);
    if (text === undefined) return undefined;
    const bytes = Buffer.from(text);
    const offset = Number(url.searchParams.get("offset"));
    const end = Math.min(offset + (64 << 10), bytes.length);
    return {
      text: bytes.subarray(offset, end).toString(),
      offset,
      bytes: bytes.length,
      ...(end < bytes.length ? { next: end } : {}),
    };
  }

  #answer(path: string, url: URL): unknown {
    if (this.refuses && path !== "/shared") return undefined;
    const piece = /^\/sessions\/([^/]+)\/events\/(\d+)$/.exec(path);
    if (piece) return this.#piece(`${piece[1]} ${piece[2]} ${url.searchParams.get("path")}`, url);
    const log = /^\/sessions\/([^/]+)\/events$/.exec(path)?.[1];
    if (log) {
      const { events, summary } = this.#played(log);
      const after = Number(url.searchParams.get("after"));
      const page = events.filter(({ seq }) => seq > after).slice(0, EVENTS);
      return { events: page, seq: summary.seq, floor: 0, epoch: 0 };
    }
    const of = /^\/sessions\/([^/]+)\/messages$/.exec(path)?.[1];
    if (of) {
      const before = Number(url.searchParams.get("before"));
      const { messages, summary } = this.#played(of);
      const older = messages.filter(({ position }) => position < before);
      const page = older.slice(-Number(url.searchParams.get("limit") ?? 50));
      const rest = older.length > page.length ? { before: page[0]?.position } : {};
      return { messages: page, epoch: summary.epoch, ...rest };
    }
    if (path === "/sessions") {
      const offset = Number(url.searchParams.get("offset"));
      return { sessions: this.#listed().slice(offset, offset + LISTED) };
    }
    const one = /^\/sessions\/([^/]+)$/.exec(path)?.[1];
    if (one) return this.#played(one).summary;
    if (/^\/sessions\/[^/]+\/share$/.test(path))
      return {
        urls: ["https://desk.example/#/shared/tok-en_1"],
        expires_at: new Date(Date.now() + 86_400_000).toISOString(),
      };
    if (path === "/shared") {
      const { token, before } = (this.posted.at(-1)?.body ?? {}) as { token?: string; before?: number };
      if (token !== "tok-en_1") return undefined;
      const messages = this.#played("s1").messages.filter(({ position }) => position < (before ?? 1e9));
      const page = messages.slice(-3);
      const rest = messages.length > page.length ? { before: page[0]?.position } : {};
      const expires_at = new Date(Date.now() + 86_400_000).toISOString();
      return { title: "Fix the rounding in the cart", messages: page, expires_at, ...rest };
    }
    const commands = /^\/sessions\/[^/]+\/commands$/.test(path);
    if (commands)
      return {
        commands: [
          { name: "/chat", description: "Saves and resumes conversations" },
          { name: "/clear", description: "Clears the screen and the conversation" },
          { name: "/compress", description: "Replaces the conversation by a summary" },
          { name: "/stats", description: "Tokens, calls and times" },
        ],
      };
    if (path === "/files") {
      const prefix = url.searchParams.get("prefix") ?? "";
      const files = ["src/", "src/cart.ts", "src/invoice.ts", "test/cart.test.ts", "my notes.md"];
      return { files: files.filter((file) => file.includes(prefix)) };
    }
    if (path === "/projects/browse") {
      const at = url.searchParams.get("path") ?? "";
      return { path: at, directories: at.endsWith("/shop") ? ["api", "web"] : [] };
    }
    if (path === "/letters/read") {
      const read = (this.posted.at(-1)?.body ?? []) as number[];
      this.letters = this.letters.map((letter) =>
        read.includes(letter.id) ? { ...letter, state: "delivered" } : letter,
      );
      this.news();
      return {};
    }
    if (/^\/team\/[^/]+\/stop$/.test(path)) return ["one", "two"];
    if (/^\/jobs\/[^/]+\/(?:cancel|continue)$/.test(path)) return this.jobs[0];
    return {
      "/team": {
        members: this.members,
        unread: this.letters.filter(({ state }) => state === "waiting").length,
      },
      "/team/launch": this.sessions.values().next().value?.summary,
      "/jobs": { jobs: this.jobs },
      "/letters": { letters: this.letters },
      "/profiles": {
        profiles: [
          { name: "developer", description: "Writes code and tests for one piece of work at a time." },
          { name: "reviewer", description: "Reads changes and says what is wrong with them.", mode: "plan" },
          {
            name: "supervisor",
            description: "Splits work, hands it to others, and puts the answers together.",
          },
        ],
      },
      "/push/key": {
        key: "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM",
      },
      "/push/subscription": { ok: true, api: 1 },
      "/push/test": { called: 1 },
      "/images": { name: "0123456789abcdef.png" },
      "/pair": { device: "Ada's phone", scopes: ["view", "prompt", "approve"] },
      "/models": {
        models: [
          { id: "auto", label: "The CLI chooses for each prompt" },
          { id: "pro", label: "For hard thinking", context: 1_048_576 },
          { id: "flash", label: "Fast, for most things", context: 1_048_576 },
          { id: "flash-lite", label: "The fastest", context: 1_048_576 },
        ],
      },
      "/me": { device: "Ada's phone", scopes: ["view", "prompt", "approve", "admin"] },
      "/projects": { projects: ["/home/ada/shop", "/home/ada/atlas", "/home/ada/notes"] },
      "/capabilities": { pollux: "0.1.0", api: 1, features: [], drivers: ["acp", "terminal", "headless"] },
      "/search": {
        found: [
          {
            session_id: "s2",
            seq: 4,
            kind: "message_recorded",
            snippet: "the cart total was rounded twice before tax",
            recorded_at: new Date(Date.now() - 7_200_000).toISOString(),
          },
        ],
      },
      "/devices": {
        devices: [
          {
            id: "d1",
            name: "Ada's phone",
            scopes: ["view", "prompt", "approve", "admin"],
            created_at: "2026-11-01T08:00:00Z",
            seen_at: new Date().toISOString(),
          },
          {
            id: "d2",
            name: "Old tablet",
            scopes: ["view"],
            created_at: "2026-09-01T08:00:00Z",
            seen_at: "2026-10-20T10:00:00Z",
          },
        ],
      },
    }[path];
  }
}
