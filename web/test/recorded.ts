// Events that `pollux run -o events` printed for the real Gemini CLI on a rehearsal, as the daemon's frames.

import { readFileSync } from "node:fs";
import type { Event, Numbered, ServerFrame, Summary } from "../src/api/types";

export const NAMES = ["chain", "shell", "markdown", "parallel", "edit", "error-429"] as const;

export function recorded(name: (typeof NAMES)[number]): Numbered[] {
  const text = readFileSync(new URL(`./recorded/${name}.jsonl`, import.meta.url), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line, index) => numbered(index + 1, JSON.parse(line)));
}

export function numbered(seq: number, event: Event, epoch = 0): Numbered {
  const at = new Date(1_800_000_000_000 + seq * 100).toISOString();
  return { seq, epoch, recorded_at: at, event };
}

export function summary(more: Partial<Summary> = {}): Summary {
  return {
    id: "s1",
    version: 1,
    driver: "acp",
    cwd: "/home/ada/shop",
    title: "Three steps",
    status: "idle",
    mode: "default",
    questions: [],
    queue: [],
    held: false,
    seq: 0,
    epoch: 0,
    messages: 0,
    tokens: 0,
    created_at: "2027-01-15T08:00:00Z",
    updated_at: "2027-01-15T08:00:00Z",
    ...more,
  };
}

export function snapshot(more: Partial<Extract<ServerFrame, { type: "snapshot" }>> = {}): ServerFrame {
  return {
    type: "snapshot",
    session_id: "s1",
    why: "fresh",
    seq: 0,
    epoch: 0,
    session: summary(),
    messages: [],
    live: { parts: [] },
    ...more,
  };
}
