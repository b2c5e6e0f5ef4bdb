// What happened in a session while nobody looked, from its log. Pure.

import type { Numbered } from "../api/types";
import { textOf } from "./live";
import { classOf } from "./tools";
import { base } from "./words";

export type Digest = {
  /** The first event that was missed: where reading goes on. */
  from: number;
  /** Turns that came to their end. */
  turns: number;
  /** What went wrong last, if nothing went right after it. */
  failed: string | undefined;
  /** Files that were changed, each once. */
  edited: readonly string[];
  commands: number;
  /** Questions that somebody answered. */
  answered: number;
  /** The first line of what was said last. */
  said: string | undefined;
};

/** None where nothing happened that a person would want to know. */
export function digest(events: readonly Numbered[]): Digest | undefined {
  const [first] = events;
  if (!first) return undefined;
  const edited = new Set<string>();
  const names = new Map<string, string>();
  const told: Digest = {
    from: first.seq,
    turns: 0,
    failed: undefined,
    edited: [],
    commands: 0,
    answered: 0,
    said: undefined,
  };
  for (const { event } of events) {
    switch (event.type) {
      case "turn_ended":
        told.turns += 1;
        told.failed = event.error?.message;
        break;
      case "answered":
        if (event.outcome === "chosen") told.answered += 1;
        break;
      case "tool_started":
        names.set(event.id, event.name);
        break;
      case "tool_ended": {
        if (event.status !== "success" || event.changed) break;
        if (event.meaning?.kind === "mutation") edited.add(event.meaning.path);
        if (classOf(event.name ?? names.get(event.id) ?? "") === "command") told.commands += 1;
        break;
      }
      case "message_recorded":
        if (event.message.role === "assistant") told.said = firstLine(textOf(event.message)) ?? told.said;
        break;
      default:
    }
  }
  const some = told.turns > 0 || edited.size > 0 || told.commands > 0 || told.said !== undefined;
  return some ? { ...told, edited: [...edited] } : undefined;
}

function firstLine(text: string): string | undefined {
  const line = text.split("\n").find((one) => /[\p{L}\p{N}]/u.test(one) && !/^```/.test(one));
  // The signs of markdown go; those of a name such as `cart_total` stay.
  return line?.replace(/[*`]+|^[#>|\s]+|\b_+|_+\b/g, "").trim();
}

/** `2 turns, edited cart.ts and 1 more, 3 commands`. */
export function inWords(told: Digest): string {
  const [file, ...others] = told.edited;
  return [
    told.turns > 0 ? count(told.turns, "turn") : "",
    file === undefined ? "" : `edited ${base(file)}${others.length > 0 ? ` and ${others.length} more` : ""}`,
    told.commands > 0 ? count(told.commands, "command") : "",
    told.answered > 0 ? `${count(told.answered, "question")} answered` : "",
  ]
    .filter(Boolean)
    .join(", ");
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}
