// What has not become a message yet, folded from events. The daemon folds by the same rules for its snapshots.

import type { Event, LivePart, Message } from "../api/types";

/** So much of a growing text is kept: the end of it. */
const LONGEST = 32 << 10;
/** So many parts are kept. */
const MOST = 200;

export function foldLive(live: readonly LivePart[], event: Event): readonly LivePart[] {
  switch (event.type) {
    case "turn_started":
      return [{ type: "prompt", text: event.prompt }];
    case "text_grew":
      return grow(live, event.part, event.text);
    case "tool_started":
      return push(live, {
        type: "tool",
        id: event.id,
        name: event.name,
        input: event.input,
        ...(event.meaning ? { meaning: event.meaning } : {}),
      });
    case "tool_ended": {
      const output = event.output ?? event.error;
      return live.map((part) =>
        part.type === "tool" && part.id === event.id
          ? {
              ...part,
              status: event.status,
              ...(output === undefined ? {} : { output }),
              ...(event.meaning ? { meaning: event.meaning } : {}),
            }
          : part,
      );
    }
    case "message_recorded":
      return settle(live, event.message);
    case "history_rewritten":
      return live.filter((part) => part.type !== "text");
    case "session_ended":
      return live.length === 0 ? live : [];
    default:
      return live;
  }
}

function push(live: readonly LivePart[], part: LivePart): readonly LivePart[] {
  const parts = [...live, part];
  return parts.length > MOST ? parts.slice(1) : parts;
}

function grow(live: readonly LivePart[], type: "text" | "thinking", grown: string): readonly LivePart[] {
  const last = live.at(-1);
  if (last?.type !== type) return push(live, { type, text: grown });
  const text = last.text + grown;
  return [...live.slice(0, -1), { type, text: text.length > LONGEST ? text.slice(-LONGEST) : text }];
}

/** What is in the message is no longer on its way. */
function settle(live: readonly LivePart[], message: Message): readonly LivePart[] {
  const said = textOf(message);
  const blocks = typeof message.content === "string" ? [] : message.content;
  const thought = blocks.some((block) => block.type === "thinking");
  const done = new Set(blocks.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : [])));
  const left = live.filter((part) => {
    switch (part.type) {
      case "prompt":
        return message.role !== "user" || message.meta === true;
      case "text":
        return !said.includes(part.text.trim());
      case "thinking":
        // Thoughts are written down in other words than those in which they grew.
        return message.role !== "assistant" || !(thought || said.includes(part.text.trim()));
      case "tool":
        return !done.has(part.id);
    }
  });
  return left.length === live.length ? live : left;
}

export function textOf(message: Message): string {
  if (typeof message.content === "string") return message.content;
  return message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n\n");
}
