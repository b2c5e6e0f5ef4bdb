// A program made for Claude's Agent SDK. Which one of several it is says the plan; what it hears and what it is asked, it
// prints, one JSON object on each line.
const [sdkPath, exe, text] = process.argv.slice(2);
const plan = JSON.parse(text);
const { query, createSdkMcpServer, tool } = await import(sdkPath);
const print = (at, it) => console.log(JSON.stringify({ at, ...it }));

const options = { pathToClaudeCodeExecutable: exe, ...plan.options };
if (plan.decide) {
  options.canUseTool = async (name, input, context) => {
    print("asked", { name, input, id: context.toolUseID });
    const answer = plan.decide[name] ?? plan.decide["*"];
    if (answer.behavior === "wait") {
      // Somebody else has to decide.
      await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
      print("withdrawn", { name });
      return { behavior: "deny", message: "too late" };
    }
    return answer.behavior === "allow" ? { updatedInput: input, ...answer } : answer;
  };
}
if (plan.server) {
  const { z } = await import(new URL("../../zod/index.js", new URL(`file://${sdkPath}`)).href);
  const add = tool("add", "Adds two numbers", { a: z.number(), b: z.number() }, async ({ a, b }) => {
    print("called", { a, b });
    return { content: [{ type: "text", text: `The sum is ${a + b}.` }] };
  });
  options.mcpServers = { ...options.mcpServers, calc: createSdkMcpServer({ name: "calc", version: "1.0.0", tools: [add] }) };
}
if (plan.hooks) {
  const called = (event, answer) => async (input) => {
    print("hook", { event, tool: input.tool_name, input: input.tool_input, prompt: input.prompt, response: input.tool_response });
    return answer;
  };
  const hook = ([event, { matcher, answer }]) => [event, [{ matcher, hooks: [called(event, answer ?? {})] }]];
  options.hooks = Object.fromEntries(Object.entries(plan.hooks).map(hook));
}
if (plan.abortAfter) {
  options.abortController = new AbortController();
  setTimeout(() => options.abortController.abort(), plan.abortAfter);
}

// The next prompt is sent when the answer to the one before has come.
let next;
async function* prompts() {
  for (const prompt of plan.prompts) {
    const content = plan.image ? [{ type: "text", text: prompt }, plan.image] : prompt;
    yield { type: "user", message: { role: "user", content }, parent_tool_use_id: null, session_id: "" };
    await new Promise((resolve) => (next = resolve));
  }
}

const talk = query({ prompt: plan.prompt ?? prompts(), options });
let turns = 0;
try {
  for await (const message of talk) {
    print("message", { message });
    if (message.type === "stream_event" && plan.interruptOnWords && message.event.type === "content_block_delta") {
      plan.interruptOnWords = false;
      await talk.interrupt();
    }
    if (message.type !== "result") continue;
    turns += 1;
    for (const [method, ...args] of plan.between?.[turns] ?? []) {
      const answer = await talk[method](...args).catch((error) => ({ error: error.message }));
      print("control", { method, answer });
    }
    if (turns === plan.prompts?.length) break;
    next?.();
  }
} catch (error) {
  print("error", { message: error.message.slice(0, 2000) });
}
process.exit(0);
