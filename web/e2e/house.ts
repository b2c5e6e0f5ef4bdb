// The real thing: the program itself as a daemon, the real Gemini CLI, a scripted model, a project and a private home.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { until } from "./stage";

const REPOSITORY = new URL("../..", import.meta.url).pathname;
export const PROGRAM = process.env.POLLUX_PROGRAM ?? join(REPOSITORY, "target/debug/pollux");
const CLIS = process.env.POLLUX_GEMINI_CLI ?? join(REPOSITORY, "target/gemini-cli");
export const GEMINI = process.env.GEMINI_CLI_PATH ?? join(CLIS, "0.61.0/node_modules/.bin/gemini");
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
  }

  static async open(): Promise<House> {
    const home = mkdtempSync(join(tmpdir(), "pollux-web-"));
    const rehearsal = spawn(PROGRAM, ["rehearse", SCRIPT, "--json", "--home", join(home, "gemini")], {
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
    const pair = JSON.parse(await this.pollux("pair", "--name", "Ada's phone", "--json")) as { code: string };
    return `${this.address}/#pair=${pair.code}`;
  }

  has(name: string): boolean {
    return existsSync(join(this.project, name));
  }

  async close(): Promise<void> {
    await this.pollux("serve", "down").catch(() => undefined);
    await this.kill();
    this.#rehearsal.kill("SIGTERM");
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
