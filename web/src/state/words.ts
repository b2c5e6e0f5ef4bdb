// Words, ages and numbers for people. Pure.

import type { Driver, Mode, OpenQuestion, QuestionKind, Summary } from "../api/types";
import { bare, calm } from "./risk";

export type Tone = "need" | "work" | "stall" | "done" | "fail" | "idle" | "gone";

/** The status of a session by tone (colour), shape and word, with the moment from which its age counts. */
export type Standing = { tone: Tone; word: string; since: number | undefined };

export function standing(session: Summary, turnSince?: number): Standing {
  const updated = Date.parse(session.updated_at);
  if (session.unwritten_since)
    return { tone: "fail", word: "Disk full", since: Date.parse(session.unwritten_since) };
  if (open(session).length > 0) return { tone: "need", word: needWord(open(session)), since: updated };
  if (session.stalled_since)
    return { tone: "stall", word: "Stalled", since: Date.parse(session.stalled_since) };
  switch (session.status) {
    case "starting":
      return { tone: "work", word: "Starting", since: updated };
    case "working":
      return { tone: "work", word: "Working", since: turnSince };
    case "waiting":
      return { tone: "need", word: "Needs you", since: updated };
    case "error":
      return { tone: "fail", word: "Failed", since: updated };
    case "exited":
      return { tone: "gone", word: "Ended", since: updated };
    case "idle":
      return session.driver
        ? { tone: "done", word: "Ready", since: updated }
        : { tone: "gone", word: "Read-only", since: updated };
    default:
      return { tone: "idle", word: session.status, since: updated };
  }
}

/** Questions that nobody has answered yet. */
export function open(session: Summary): OpenQuestion[] {
  return session.questions.filter((question) => question.sent === undefined);
}

function needWord(questions: readonly OpenQuestion[]): string {
  const [first] = questions;
  if (questions.length > 1) return `${questions.length} need you`;
  return first ? questionOf(first.question.kind).need : "Needs you";
}

const QUESTIONS: Readonly<Record<QuestionKind, { need: string; title: string }>> = {
  command: { need: "Approve", title: "Run this command?" },
  edit: { need: "Approve", title: "Make this change?" },
  fetch: { need: "Approve", title: "Fetch this URL?" },
  mcp: { need: "Approve", title: "Call this tool?" },
  plan: { need: "Plan", title: "Go ahead with this plan?" },
  choice: { need: "Question", title: "The agent has a question" },
  trust: { need: "Trust", title: "Trust this folder?" },
  sign_in: { need: "Sign in", title: "Sign in" },
  quota: { need: "Quota", title: "Quota exhausted" },
  loop: { need: "Loop", title: "Possible loop detected" },
  quit: { need: "Question", title: "Quit?" },
  other: { need: "Question", title: "The agent has a question" },
};

export const MODES: Readonly<Record<Mode, { name: string; says: string }>> = {
  default: { name: "Ask", says: "Asks before each change and command" },
  auto_edit: { name: "Auto edit", says: "Edits files without asking; asks before commands" },
  plan: { name: "Plan", says: "Reads and plans, but changes nothing" },
  yolo: { name: "Yolo", says: "Does everything without asking" },
};

// A daemon that was updated while the app was open may know words that the app does not: they are shown as they are.

export function questionOf(kind: QuestionKind): { need: string; title: string } {
  return QUESTIONS[kind] ?? QUESTIONS.other;
}

export function modeOf(mode: Mode): { name: string; says: string } {
  return MODES[mode] ?? { name: mode, says: "" };
}

const DRIVERS: Readonly<Record<Driver, string>> = {
  acp: "In the background",
  terminal: "In a terminal",
  headless: "One-shot",
};

/** What a driver is called on the screen. */
export function driverOf(driver: Driver): string {
  return DRIVERS[driver] ?? driver;
}

/** An error as the app shows it: with a capital letter, unless it begins with a name such as `src/main.rs`. */
export function sentence(text: string): string {
  return /^[a-z]+(?:[\s,:;']|[.!?]?$)/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}

/** `5s`, `2m 14s`, `3h`, `4d`. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  const rest = minutes < 10 ? seconds % 60 : 0;
  if (minutes < 60) return rest > 0 ? `${minutes}m ${rest}s` : `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}

/** `now`, `2m`, `3h`, `4d`: an age that does not tick. */
export function age(ms: number): string {
  if (ms < 45_000) return "now";
  if (ms < 3_600_000) return `${Math.max(1, Math.round(ms / 60_000))}m`;
  return span(ms);
}

const TIME: Intl.DateTimeFormatOptions = { hour: "numeric", minute: "2-digit" };
const MOMENT: Intl.DateTimeFormatOptions = { month: "short", day: "numeric", ...TIME };

/** The time of a day. */
export function timeOf(at: string | number): string {
  return new Date(at).toLocaleTimeString(undefined, TIME);
}

/** A day and a time, as people say them: no seconds, and no year. */
export function moment(at: string): string {
  return new Date(at).toLocaleString(undefined, MOMENT);
}

/** How long a tool took. */
export function took(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : ms < 10_000 ? `${(ms / 1000).toFixed(1)}s` : span(ms);
}

export function count(n: number): string {
  if (n < 1000) return `${n}`;
  if (n < 1_000_000) return `${(n / 1000).toFixed(n < 10_000 ? 1 : 0)}k`;
  return `${(n / 1_000_000).toFixed(1)}M`;
}

export function bytes(n: number): string {
  return n < 1024
    ? `${n} B`
    : n < 1 << 20
      ? `${(n / 1024).toFixed(0)} KB`
      : `${(n / (1 << 20)).toFixed(1)} MB`;
}

/** The last part of a path. */
export function base(path: string): string {
  return path.split("/").filter(Boolean).at(-1) ?? path;
}

/** The project and its branch. */
export function placeOf({ cwd, branch }: Summary): string {
  const folder = cwd ? bare(base(cwd)) : "unknown folder";
  return branch ? `${folder} @ ${bare(branch)}` : folder;
}

/** More of a title is never seen. */
const LONGEST_TITLE = 300;

/** What a session is called. A title is the words of a model or of whoever asked it. */
export function titleOf(session: Pick<Summary, "title"> | undefined, otherwise = "Untitled"): string {
  return calm((session?.title ?? "").slice(0, LONGEST_TITLE)) || otherwise;
}

/** A path without what everybody knows: `src/main.rs` in the project, `~` never guessed. */
export function within(path: string, cwd: string | undefined): string {
  return cwd && path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path;
}

/** The first line of a thought is its subject: `**Reading the code**`, or all up to a colon. */
export function subject(thought: string): string {
  const line = thought.trim().split("\n").filter(Boolean).at(0) ?? "";
  const bold = /^\*\*(.+?)\*\*/.exec(line);
  if (bold?.[1]) return bold[1];
  const colon = line.indexOf(": ");
  return colon > 0 && colon < 80 ? line.slice(0, colon) : line.slice(0, 120);
}

/** The subject of the thought that came last. */
export function lastSubject(thoughts: string): string {
  const bolds = [...thoughts.matchAll(/^\*\*(.+?)\*\*/gm)];
  return bolds.at(-1)?.[1] ?? subject(thoughts.trim().split(/\n\n+/).at(-1) ?? "");
}
