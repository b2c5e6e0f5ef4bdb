// Claude's own types, held against what was received: it compiles only where every message is one that they allow.
import type { SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import type { BetaRawMessageStreamEvent } from "@anthropic-ai/sdk/resources/beta/messages/messages.js";
import { messages } from "./received.js";

const all: readonly SDKMessage[] = messages;
for (const message of all) {
  if (message.type === "stream_event") {
    const event: BetaRawMessageStreamEvent = message.event;
    void event;
  }
}
