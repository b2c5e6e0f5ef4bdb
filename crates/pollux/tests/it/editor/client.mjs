// An editor, made with the official SDK of the Agent Client Protocol. What it is to do says the plan, a list of steps; what it
// hears and what it is asked, it prints, one JSON object on each line.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";

const [sdkPath, plan, exe, ...args] = process.argv.slice(2);
const acp = await import(sdkPath);
const print = (at, it) => console.log(JSON.stringify({ at, ...it }));
const { steps, decide } = JSON.parse(plan);

const agent = spawn(exe, args, { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const seen = [];
let awaited;
// Waits until an update of a kind has a text in it.
const heard = async ({ kind, text }) => {
  const is = (update) => update.sessionUpdate === kind && update.content?.text?.includes(text);
  while (!seen.some(is)) await new Promise((resolve) => (awaited = resolve));
};
// Prints the hash of every file of a directory, and copies those that are not as they were.
const known = {};
let kept = 0;
const keep = ({ from, to }) => {
  kept += 1;
  const files = {};
  for (const name of readdirSync(from, { withFileTypes: true }).filter((it) => it.isFile()).map((it) => it.name)) {
    files[name] = createHash("sha256").update(readFileSync(`${from}/${name}`)).digest("hex");
    if (known[name] === files[name]) continue;
    known[name] = files[name];
    copyFileSync(`${from}/${name}`, `${to}/${kept}-${name}`);
  }
  print("kept", { files });
};
// What is between this program and the test: one makes a file, the other waits for it.
const touch = ({ path }) => writeFileSync(path, "");
const there = async ({ path }) => {
  while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 50));
};
const own = { heard, keep, touch, there };
const { client: at, agent: to } = acp.methods;
const app = acp
  .client({ name: "an editor" })
  .onNotification(at.session.update, ({ params }) => {
    print("update", params);
    seen.push(params.update);
    awaited?.();
  })
  .onRequest(at.session.requestPermission, ({ params }) => {
    print("asked", params);
    // Somebody else has to decide.
    if (decide === "wait") return new Promise(() => {});
    const option = params.options.find((option) => option.kind === (decide ?? "allow_once"));
    return { outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" } };
  });

const names = {
  initialize: to.initialize,
  new: to.session.new,
  load: to.session.load,
  list: to.session.list,
  resume: to.session.resume,
  fork: to.session.fork,
  close: to.session.close,
  prompt: to.session.prompt,
  set_mode: to.session.setMode,
  set_option: to.session.setConfigOption,
};

// `$name` stands for the session that the step with this name has opened.
const opened = {};
const fill = (value) => (typeof value === "string" && value.startsWith("$") ? opened[value.slice(1)] : value);

await app.connectWith(stream, async (context) => {
  await context.request(to.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} }).then((answer) => print("answer", { step: "initialize", answer }));
  for (const [step, given, name] of steps) {
    const params = Object.fromEntries(Object.entries(given).map(([key, value]) => [key, fill(value)]));
    if (own[step]) {
      await own[step](given);
      continue;
    }
    try {
      const call = context.request(names[step], params);
      const answer = await call;
      if (name) opened[name] = answer.sessionId ?? params.sessionId;
      print("answer", { step, answer });
    } catch (error) {
      print("error", { step, code: error.code, message: error.message, data: error.data });
    }
  }
});
agent.stdin.end();
await new Promise((resolve) => agent.on("exit", resolve));
process.exit(0);
