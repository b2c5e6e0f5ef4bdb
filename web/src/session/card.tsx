// A tool call as a card: what is done to what, how it stands, how long it took. The rest is in a sheet.

import {
  CircleCheck,
  CircleMinus,
  CircleX,
  FilePen,
  FileText,
  Globe,
  type IconNode,
  ListTodo,
  LoaderCircle,
  Search,
  Terminal,
  Wrench,
} from "lucide";
import type { Summary } from "../api/types";
import type { Tool } from "../state/rows";
import { classOf, objectOf, record, type ToolClass, verbOf } from "../state/tools";
import { span, took, within } from "../state/words";
import { useNow } from "../ui/clock";
import { Icon } from "../ui/icon";
import { useTail } from "./whole";

const ICONS: Readonly<Record<ToolClass, IconNode>> = {
  read: FileText,
  search: Search,
  edit: FilePen,
  command: Terminal,
  web: Globe,
  plan: ListTodo,
  other: Wrench,
};

/** So many of the last lines of a command's output stand on its card. */
const TAIL = 4;

/** And no more than so many bytes of it. */
const TAIL_BYTES = 2048;

type Props = { tool: Tool; session: Summary; onOpen: (tool: Tool) => void };

export function ToolCard({ tool, session, onOpen }: Props) {
  const { cwd } = session;
  const klass = classOf(tool.name);
  const failed = tool.status === "error" || exitCode(tool) > 0;
  return (
    <button type="button" class={`card ${failed ? "failed" : ""}`} onClick={() => onOpen(tool)}>
      <span class="card-line">
        <Icon of={ICONS[klass]} size={16} />
        <span class="verb">{verbOf(tool.name, tool.status, tool.denied)}</span>
        <span class="object">{within(objectOf(tool.input, tool.meaning), cwd)}</span>
        <Changed tool={tool} />
        <State tool={tool} failed={failed} />
      </span>
      {klass === "command" && !tool.denied && <Tail tool={tool} sessionId={session.id} />}
    </button>
  );
}

function State({ tool, failed }: { tool: Tool; failed: boolean }) {
  const running = tool.status === undefined;
  const now = useNow(running && tool.startedAt !== undefined);
  const since = running && tool.startedAt !== undefined ? span(now - tool.startedAt) : "";
  const icon = running
    ? LoaderCircle
    : failed
      ? CircleX
      : tool.status === "cancelled"
        ? CircleMinus
        : CircleCheck;
  const word = running ? "running" : failed ? "failed" : tool.status === "cancelled" ? "cancelled" : "done";
  const said = tool.denied ? "denied" : word;
  return (
    <span class={`state ${word}`}>
      <span class="time">{running ? since : tool.ms === undefined ? "" : took(tool.ms)}</span>
      <Icon of={icon} size={15} spin={running} />
      <span class="sr">{said}</span>
    </span>
  );
}

function Changed({ tool }: { tool: Tool }) {
  const lines = tool.meaning?.kind === "mutation" ? tool.meaning.diff?.split("\n") : undefined;
  // Of a diff that was cut the beginning is here, and its lines are not all.
  if (!lines || tool.cutDiff) return null;
  const of = (sign: string) =>
    lines.filter((line) => line.startsWith(sign) && !line.startsWith(sign.repeat(3))).length;
  return (
    <span class="counts">
      <span class="plus">+{of("+")}</span> <span class="minus">-{of("-")}</span>
    </span>
  );
}

function Tail({ tool, sessionId }: { tool: Tool; sessionId: string }) {
  const end = useTail(sessionId, "", tool.cut, TAIL_BYTES);
  const text = end === "" ? outputOf(tool) : printed(tool, end);
  const lines = text.trimEnd().slice(-TAIL_BYTES).split("\n").slice(-TAIL);
  return text.trim() === "" ? null : <span class="tail">{lines.join("\n")}</span>;
}

export function exitCode(tool: Tool): number {
  return tool.meaning?.kind === "command" ? (tool.meaning.exit_code ?? 0) : 0;
}

/** What a call gave back, without the signs by which terminals are steered. */
export function outputOf(tool: Tool): string {
  return printed(tool, meantOutput(tool) ?? tool.output ?? "");
}

/** A text of this call's output, or the end of one, as a person wants to read it. */
export function printed(tool: Tool, text: string): string {
  const own = meantOutput(tool) === undefined ? unwrapped(tool, text) : text;
  return own.replace(STEERING, "");
}

/** What a command printed, where its meaning has it: the daemon has unwrapped it, and what is left is the command's own. */
function meantOutput({ meaning }: Tool): string | undefined {
  return meaning?.kind === "command" ? meaning.output : undefined;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const STEERING = /\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|[\x00-\x08\x0b-\x1f\x7f]/g;

/** What the CLI writes after a command's output: each on a line of its own, once, the last one first. */
const AFTER = [/^Process Group PGID: /, /^Background PIDs: /, /^Signal: /, /^Exit Code: /];
/** Only where it puts the command in front: elsewhere such a line is nearly always the command's own. */
const NO_ERROR = /^Error: \(none\)$/;

/** The CLI wraps what a tool gave back for the model, and once more what a command printed; a person wants what is in it. */
function unwrapped(tool: Tool, text: string): string {
  const inner = text.replace(/^<untrusted_context>\n/, "").replace(/\n<\/untrusted_context>\s*$/, "");
  if (classOf(tool.name) !== "command") return inner;
  const [head = "", command] = /^(Command: .*\nDirectory: .*\n)?Output: /.exec(inner) ?? [];
  const lines = inner.slice(head.length).split("\n");
  for (const label of command === undefined ? AFTER : [...AFTER, NO_ERROR]) {
    if (lines.length > 1 && label.test(lines.at(-1) ?? "")) lines.pop();
  }
  return lines.join("\n");
}

/** What a question or a call shows first: the diff of an edit, where there is one or where it can be made. */
export function diffSource(
  tool: Pick<Tool, "input" | "meaning">,
): { diff: string } | { path: string; before: string; after: string } | undefined {
  const { meaning } = tool;
  if ((meaning?.kind === "mutation" || meaning?.kind === "diff") && meaning.diff)
    return { diff: meaning.diff };
  const input = record(tool.input);
  const path = input.file_path;
  if (typeof path !== "string") return undefined;
  if (typeof input.old_string === "string" && typeof input.new_string === "string") {
    return { path, before: input.old_string, after: input.new_string };
  }
  return typeof input.content === "string" ? { path, before: "", after: input.content } : undefined;
}
