// What a tool call is called on the screen: a verb, an object, a class. The agent's own names and Claude's mean the same.

import type { Meaning, Status } from "../api/types";
import { bare } from "./risk";

export type ToolClass = "read" | "search" | "edit" | "command" | "web" | "plan" | "other";

type Known = { klass: ToolClass; verb: string; doing: string };

const READ: Known = { klass: "read", verb: "Read", doing: "Reading" };
const LIST: Known = { klass: "read", verb: "Listed", doing: "Listing" };
const SEARCH: Known = { klass: "search", verb: "Searched", doing: "Searching" };
const EDIT: Known = { klass: "edit", verb: "Edited", doing: "Editing" };
const WRITE: Known = { klass: "edit", verb: "Wrote", doing: "Writing" };
const RUN: Known = { klass: "command", verb: "Ran", doing: "Running" };
const FETCH: Known = { klass: "web", verb: "Fetched", doing: "Fetching" };
const WEB: Known = { klass: "web", verb: "Searched the web", doing: "Searching the web" };
const TODO: Known = { klass: "plan", verb: "Updated the to-do list", doing: "Updating the to-do list" };

const KNOWN: Readonly<Record<string, Known>> = {
  Read: READ,
  read_file: READ,
  read_many_files: READ,
  LS: LIST,
  list_directory: LIST,
  Glob: SEARCH,
  glob: SEARCH,
  Grep: SEARCH,
  grep_search: SEARCH,
  search_file_content: SEARCH,
  Edit: EDIT,
  MultiEdit: EDIT,
  replace: EDIT,
  Write: WRITE,
  write_file: WRITE,
  Bash: RUN,
  run_shell_command: RUN,
  WebFetch: FETCH,
  web_fetch: FETCH,
  WebSearch: WEB,
  google_web_search: WEB,
  TodoWrite: TODO,
  write_todos: TODO,
};

/** A tool may be called `constructor`. */
function known(name: string): Known | undefined {
  return Object.hasOwn(KNOWN, name) ? KNOWN[name] : undefined;
}

export function classOf(name: string): ToolClass {
  return known(name)?.klass ?? "other";
}

export function verbOf(name: string, status: Status | undefined, denied = false): string {
  if (status === "cancelled") return denied ? "Denied" : "Stopped";
  const running = status === undefined;
  const own = known(name);
  if (own) return running ? own.doing : own.verb;
  return running ? `Calling ${plain(name)}` : plain(name);
}

/** How a call stands, in a word. */
export function standOf({ status, denied }: { status: Status | undefined; denied?: boolean }): string {
  if (status === undefined) return "running";
  if (status === "error") return "failed";
  return status === "cancelled" ? (denied ? "denied" : "stopped") : "done";
}

/** More of a command or a path does not stand on one line. The sheet has all of it. */
const LONGEST = 500;

/** The short thing that the verb is about, with every sign in it that nobody would see. */
export function objectOf(input: unknown, meaning: Meaning | undefined): string {
  const text = thing(input, meaning);
  return bare(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
}

function thing(input: unknown, meaning: Meaning | undefined): string {
  if (meaning?.kind === "command") return firstLine(meaning.command);
  if (meaning?.kind === "mutation") return meaning.path;
  if (meaning?.kind === "card") return meaning.title;
  const fields = record(input);
  for (const name of OBJECTS) {
    const value = fields[name];
    if (typeof value === "string" && value !== "") return firstLine(value);
  }
  const paths = fields.paths ?? fields.include;
  return Array.isArray(paths) ? paths.filter((path) => typeof path === "string").join(", ") : "";
}

const OBJECTS = [
  "command",
  "file_path",
  "absolute_path",
  "path",
  "dir_path",
  "pattern",
  "query",
  "url",
  "prompt",
  "description",
  "title",
];

export function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

/** `mcp__server__do_it` and `do_it` are both "do it". */
function plain(name: string): string {
  return bare((name.split("__").at(-1) ?? name).slice(0, LONGEST)).replaceAll("_", " ");
}
