// An MCP server over stdio with one tool, which adds two numbers.
import { createInterface } from "node:readline";

const add = {
  name: "add",
  description: "Adds two numbers",
  inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
};
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "calc", version: "1" } }),
  "tools/list": () => ({ tools: [add] }),
  "tools/call": ({ arguments: { a, b } }) => ({ content: [{ type: "text", text: `The sum is ${a + b}.` }] }),
  ping: () => ({}),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = answers[method];
  const outcome = answer ? { result: answer(params) } : { error: { code: -32601, message: method } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
}
