// The real thing: the program itself as a daemon, the real Gemini CLI, a scripted model, a project and a private home.

import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { until } from "./stage";

const REPOSITORY = new URL("../..", import.meta.url).pathname;
/** The program, and so which build of it. */
export const PROGRAM = process.env.POLLUX_PROGRAM ?? join(REPOSITORY, "target/debug/pollux");
/** The real CLI, in the newest version of `crates/e2e/src/pinned.rs`: `cargo xtask web browser` says where it is. */
export const GEMINI = process.env.GEMINI_CLI_PATH ?? "gemini";
const SCRIPT = new URL("./talk.toml", import.meta.url).pathname;

export class House {
  readonly project: string;
  readonly address: string;
  readonly #home: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #rehearsal: ChildProcess;
  #daemon: ChildProcess | undefined;
  readonly #port: number;

  private constructor(home: string, env: NodeJS.ProcessEnv, rehearsal: ChildProcess, port: number) {
    this.#home = home;
    this.#env = env;
    this.#rehearsal = rehearsal;
    this.#port = port;
    this.address = `http://localhost:${port}`;
    this.project = join(home, "shop");
    mkdirSync(this.project);
    writeFileSync(join(this.project, "hello.txt"), "hello world\nsecond line\n");
    execFileSync("git", ["init", "--quiet", "--initial-branch", "trunk", this.project]);
    const lines = Array.from({ length: 1500 }, (_, n) => `line ${n} of the long file`);
    writeFileSync(join(this.project, "long.txt"), `${lines.join("\n")}\n`);
  }

  static async open(script = SCRIPT): Promise<House> {
    const home = mkdtempSync(join(tmpdir(), "pollux-web-"));
    const rehearsal = spawn(PROGRAM, ["rehearse", script, "--json", "--home", join(home, "gemini")], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const given = await firstObject(rehearsal);
    const own = (name: string) => join(home, name);
    const env = {
      PATH: process.env.PATH,
      NO_COLOR: "1",
      HOME: home,
      XDG_DATA_HOME: own("data"),
      XDG_CONFIG_HOME: own("config"),
      XDG_CACHE_HOME: own("cache"),
      XDG_RUNTIME_DIR: own("run"),
      TMUX_TMPDIR: own("run"),
      GEMINI_CLI_PATH: GEMINI,
      ...given,
    };
    mkdirSync(own("run"), { mode: 0o700 });
    const house = new House(home, env, rehearsal, await freePort());
    await house.serve();
    await house.pollux("serve", "allow", house.project);
    return house;
  }

  /** Starts the daemon, again on the same port. */
  async serve(): Promise<void> {
    this.#daemon = spawn(PROGRAM, ["serve", "--port", String(this.#port)], {
      env: this.#env,
      stdio: "ignore",
    });
    const answers = () =>
      fetch(`${this.address}/api/v1/health`).then(
        (answer) => answer.ok,
        () => false,
      );
    await until("the daemon answers", answers, 20_000);
  }

  /** Ends the daemon as a power cut does. */
  async kill(): Promise<void> {
    const daemon = this.#daemon;
    if (!daemon || daemon.exitCode !== null) return;
    const gone = new Promise((resolve) => daemon.once("exit", resolve));
    daemon.kill("SIGKILL");
    await gone;
  }

  async pollux(...words: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(PROGRAM, words, { env: this.#env, cwd: this.project });
    return stdout;
  }

  /** A link that lets one device in. */
  async link(): Promise<string> {
    const scopes = ["--scopes", "view,prompt,approve,admin"];
    const said = await this.pollux("pair", "--name", "Ada's phone", ...scopes, "--json");
    const pair = JSON.parse(said) as { code: string };
    return `${this.address}/#pair=${pair.code}`;
  }

  /** The CLI by itself, as in a plain terminal without Pollux. */
  async gemini(...words: string[]): Promise<string> {
    const ran = promisify(execFile)(GEMINI, words, { env: this.#env, cwd: this.project });
    ran.child.stdin?.end();
    return (await ran).stdout;
  }

  /** Lays a session file with many messages beside those that the CLI wrote. Several are told apart by a number. */
  remember(messages: number, nth = 0): void {
    const own = readdirSync(this.#home, { recursive: true, encoding: "utf8" });
    const name = own.find((path) => /chats\/session-[^/]+\.jsonl$/.test(path));
    if (!name) throw new Error("the CLI has written no session yet");
    const head = JSON.parse(readFileSync(join(this.#home, name), "utf8").split("\n", 1)[0] ?? "") as object;
    const id = `${nth + 1}0000000-aaaa-4bbb-8ccc-000000010000`;
    const many = nth === 0 ? "many" : `many in file ${nth}`;
    const began = Date.parse("2026-01-05T10:00:00Z");
    const at = (n: number) => new Date(began + n * 1000).toISOString();
    const lines = Array.from({ length: messages }, (_, n) => {
      const words =
        n % 2 ? `Answer **${n}** with \`code\`.\n\n- one\n- two` : [{ text: `Question ${n} of ${many}?` }];
      const kind = n % 2 ? { type: "gemini", thoughts: [], model: "gemini-2.5-pro" } : { type: "user" };
      return JSON.stringify({ id: `m${n}`, timestamp: at(n), ...kind, content: words });
    });
    const first = JSON.stringify({ ...head, sessionId: id, startTime: at(0), lastUpdated: at(messages) });
    const file = join(this.#home, dirname(name), `session-2026-01-05T10-00-${id.slice(0, 8)}.jsonl`);
    writeFileSync(file, `${[first, ...lines].join("\n")}\n`);
  }

  /** The sizes of the windows at the desk: columns and rows of each. */
  async windows(): Promise<string[]> {
    const sizes = ["list-windows", "-a", "-F", "#{window_width}x#{window_height}"];
    const told = this.#sockets().map((socket) => promisify(execFile)("tmux", ["-S", socket, ...sizes]));
    const all = await Promise.all(told.map((one) => one.catch(() => ({ stdout: "" }))));
    return all.flatMap(({ stdout }) => stdout.split("\n").filter(Boolean));
  }

  #sockets(): string[] {
    const all = readdirSync(this.#home, { recursive: true, encoding: "utf8" });
    const places = all.filter((path) => /tmux/.test(path)).map((path) => join(this.#home, path));
    return places.filter((path) => lstatSync(path).isSocket());
  }

  has(name: string): boolean {
    return existsSync(join(this.project, name));
  }

  async close(): Promise<void> {
    await this.pollux("serve", "down").catch(() => undefined);
    await this.kill();
    this.#rehearsal.kill("SIGTERM");
    // Agents in terminals outlive the daemon; not this one.
    for (const socket of this.#sockets())
      await promisify(execFile)("tmux", ["-S", socket, "kill-server"]).catch(() => undefined);
    rmSync(this.#home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

async function firstObject(child: ChildProcess): Promise<Record<string, string>> {
  if (!child.stdout) throw new Error("no output");
  let text = "";
  for await (const line of createInterface({ input: child.stdout })) {
    text += line;
    try {
      const object = JSON.parse(text) as { env?: Record<string, string> };
      return object.env ?? (object as Record<string, string>);
    } catch {
      // Not whole yet.
    }
  }
  throw new Error("the rehearsal printed nothing");
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
