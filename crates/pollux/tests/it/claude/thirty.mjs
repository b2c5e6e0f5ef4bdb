// A program made for Claude's Agent SDK, as the SDK's own documentation has it. Only the executable is another one.
import { query } from "@anthropic-ai/claude-agent-sdk";

const print = (at, it) => console.log(JSON.stringify({ at, ...it }));

const options = {
  pathToClaudeCodeExecutable: process.argv[2],
  canUseTool: async (name, input, { toolUseID: id }) => {
    print("asked", { name, input, id });
    if (name !== "Edit") return { behavior: "deny", message: "Only edits, please." };
    return { behavior: "allow", updatedInput: input };
  },
};

for await (const message of query({ prompt: "edit the greeting", options })) {
  print("message", { message });
}
