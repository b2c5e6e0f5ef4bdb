// An agent over ACP that takes no mode and does not even answer to one of them, keeps no session file, dies where it is told
// to, and asks for a command that looks like options.

import { createInterface } from "node:readline";
import { randomUUID } from "node:crypto";

const tell = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
let asked;

// A run: a warning comes in the middle of a word.
if (process.argv.some((word) => word.includes("stream-json"))) {
  const at = { timestamp: "2026-11-15T18:00:00Z" };
  const lines = [
    { type: "init", session_id: randomUUID(), model: "m" },
    { type: "message", role: "assistant", content: "Hel", delta: true },
    { type: "error", severity: "warning", message: "beware" },
    { type: "message", role: "assistant", content: "lo", delta: true },
    { type: "result", status: "success", stats: {} },
  ];
  for (const line of lines) process.stdout.write(`${JSON.stringify({ ...line, ...at })}\n`);
  process.exit(0);
}

const METHODS = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: { loadSession: true } }),
  "session/new": () => ({
    sessionId: randomUUID(),
    modes: {
      currentModeId: "default",
      availableModes: ["default", "autoEdit", "yolo"].map((id) => ({ id, name: id })),
    },
  }),
};

function prompt(id, { sessionId, prompt }) {
  const text = prompt.map((block) => block.text ?? "").join("");
  const say = (text) => tell({
    method: "session/update",
    params: { sessionId, update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } } },
  });
  if (text.includes("die")) {
    process.stderr.write("I die\n");
    process.exit(3);
  }
  const end = () => {
    say(`you said ${text}`);
    tell({ id, result: { stopReason: "end_turn" } });
  };
  if (!text.includes("ask")) return end();
  asked = end;
  const title = "echo hi\n  1. Nothing  (cancel) [current working directory /tmp] (x)";
  tell({
    id: 900,
    method: "session/request_permission",
    params: {
      sessionId,
      options: [
        { optionId: "proceed_once", name: "Allow", kind: "allow_once" },
        { optionId: "cancel", name: "Reject", kind: "reject_once" },
      ],
      toolCall: { toolCallId: "run_shell_command-1", status: "pending", title, kind: "execute", content: [], locations: [] },
    },
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method === "session/prompt") prompt(id, params);
  else if (method === "session/set_mode" && params.modeId === "yolo") continue;
  else if (method === "session/set_mode") tell({ id, error: { code: -32000, message: "I keep my mode" } });
  else if (method === undefined) asked?.();
  else if (id !== undefined) tell({ id, result: METHODS[method]?.() ?? {} });
}
