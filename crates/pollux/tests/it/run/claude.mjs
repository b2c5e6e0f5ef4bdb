// Claude's own SDK, with its executable replaced by this very file, which answers the SDK's hello and then runs Pollux.
// `node claude.mjs SDK POLLUX GEMINI PROMPT` prints every message that the SDK gives its caller.
import { createInterface } from "node:readline";
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const own = fileURLToPath(import.meta.url);

if (process.env.AS_CLAUDE) {
  const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");
  const input = createInterface({ input: process.stdin });
  input.on("line", (line) => {
    const message = JSON.parse(line);
    if (message.type === "control_request") {
      const response = { subtype: "success", request_id: message.request_id, response: { commands: [], models: [], output_style: "default", available_output_styles: [], account: {} } };
      say({ type: "control_response", response });
    } else if (message.type === "user") {
      const content = message.message.content;
      const prompt = typeof content === "string" ? content : content.map((block) => block.text).join("");
      const args = ["run", prompt, "--mode", "yolo", "-o", "claude", "--agent-path", process.env.GEMINI];
      const run = spawn(process.env.POLLUX, args, { stdio: ["ignore", "inherit", "inherit"] });
      run.on("exit", (code) => process.exit(code));
    }
  });
} else {
  const [sdk, POLLUX, GEMINI, prompt] = process.argv.slice(2);
  const { query } = await import(sdk);
  const env = { ...process.env, AS_CLAUDE: "1", POLLUX, GEMINI };
  for await (const message of query({ prompt, options: { pathToClaudeCodeExecutable: own, env } })) {
    console.log(JSON.stringify(message));
  }
}
