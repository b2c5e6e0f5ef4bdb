// A transcript as the rows of a list: pure, and cheap while a message grows, because rows of finished messages are
// kept for as long as the messages are the same.

import type { ImageSource, LivePart, Meaning, Message, Recorded, Status } from "../api/types";
import { textOf } from "./live";
import type { Note, Opened, ToolFacts } from "./model";
import { classOf } from "./tools";

export type Tool = {
  id: string;
  name: string;
  input: unknown;
  /** None while it runs. */
  status: Status | undefined;
  /** True where somebody said no to it. */
  denied: boolean;
  output: string | undefined;
  meaning: Meaning | undefined;
  ms: number | undefined;
  startedAt: number | undefined;
  /** Where its output is whole, and where its diff is, if they were cut. */
  cut: Cut | undefined;
  cutDiff: Cut | undefined;
};

/** The event and the place of a text that was cut, and how many bytes the whole has. */
export type Cut = { seq: number; pointer: string; bytes: number };

export type Row = { key: string } & (
  | {
      kind: "prompt";
      text: string;
      images: readonly ImageSource[];
      at: number | null;
      live: boolean;
      cut?: Cut;
    }
  | { kind: "text"; text: string; live: boolean; cut?: Cut }
  | { kind: "thinking"; text: string; live: boolean; cut?: Cut }
  | { kind: "tool"; tool: Tool }
  | { kind: "explored"; tools: readonly Tool[] }
  | { kind: "system"; level: "info" | "warning" | "error"; text: string }
  | { kind: "image"; source: ImageSource }
  | { kind: "note"; note: Note }
);

export function rowsOf(opened: Opened): readonly Row[] {
  const recorded = finished(opened.messages, opened.tools, opened.notes, liveIds(opened.live));
  if (opened.live.length === 0) return recorded;
  const said = saidInTurn(opened.messages);
  const live = opened.live.flatMap((part, index) =>
    part.type === "text" && said.includes(part.text.trim()) ? [] : [liveRow(part, index, opened.tools)],
  );
  return foldReads([...recorded, ...live]);
}

/** What was said since the last prompt. A file may tell of a text before the stream has finished saying it. */
function saidInTurn(messages: readonly Recorded[]): string {
  const asked = messages.findLastIndex(({ message }) => message.role === "user" && !message.meta);
  return messages
    .slice(asked + 1)
    .map(({ message }) => textOf(message))
    .join("\n");
}

function liveIds(live: readonly LivePart[]): string {
  return live.flatMap((part) => (part.type === "tool" ? [part.id] : [])).join("\n");
}

type Made = { tools: unknown; notes: unknown; live: string; rows: readonly Row[] };
const made = new WeakMap<readonly Recorded[], Made>();

/** Rows of what is finished: the same list as before where nothing of it changed. */
function finished(
  messages: readonly Recorded[],
  tools: Readonly<Record<string, ToolFacts>>,
  notes: readonly Note[],
  live: string,
): readonly Row[] {
  const before = made.get(messages);
  if (before && before.tools === tools && before.notes === notes && before.live === live) return before.rows;
  const running = new Set(live.split("\n"));
  const calls = new Set(messages.flatMap(({ message }) => idsOf(message, "tool_use")));
  const told = new Set(messages.flatMap(({ message }) => idsOf(message, "tool_result")));
  const rows: Row[] = [];
  // The agent may write a call down with a later message once more: it stands where it was made.
  const drawn = new Set<string>();
  // A note's call stands where a message has it, or what is on its way, or an earlier note: after a reload several tell of one.
  const known = (id: string) => [calls, told, running, drawn].some((ids) => ids.has(id));
  let next = 0;
  const notesUpTo = (position: number) => {
    for (let note = notes[next]; note && note.after < position; note = notes[++next]) {
      if (note.kind !== "call") rows.push({ key: note.key, kind: "note", note });
      else if (!known(note.call.id)) {
        drawn.add(note.call.id);
        rows.push(liveRow(note.call, 0, tools));
      }
    }
  };
  for (const entry of messages) {
    notesUpTo(entry.position);
    const result = entry.message.role === "user";
    for (const row of messageRows(entry, tools)) {
      // What came of a call stands with the call; where no message has the call, it stands for itself.
      if (row.kind === "tool" && result && calls.has(row.tool.id)) continue;
      if (row.kind === "tool" && drawn.has(row.tool.id)) continue;
      if (row.kind === "tool") drawn.add(row.tool.id);
      if (row.kind !== "tool" || row.tool.status !== undefined || !running.has(row.tool.id)) rows.push(row);
    }
  }
  notesUpTo(Number.POSITIVE_INFINITY);
  const folded = foldReads(rows);
  made.set(messages, { tools, notes, live, rows: folded });
  return folded;
}

/** The calls of a message, or those whose results it has. */
function idsOf({ content }: Message, type: "tool_use" | "tool_result"): string[] {
  if (typeof content === "string") return [];
  return content.flatMap((block) => {
    if (block.type !== type) return [];
    return [block.type === "tool_use" ? block.id : block.type === "tool_result" ? block.tool_use_id : ""];
  });
}

type MadeMessage = { facts: readonly (ToolFacts | undefined)[]; rows: readonly Row[] };
const madeOf = new WeakMap<Recorded, MadeMessage>();

function messageRows(entry: Recorded, tools: Readonly<Record<string, ToolFacts>>): readonly Row[] {
  const { content } = entry.message;
  const blocks = typeof content === "string" ? [] : content;
  const facts = blocks.flatMap((block) =>
    block.type === "tool_use"
      ? [tools[block.id]]
      : block.type === "tool_result"
        ? [tools[block.tool_use_id]]
        : [],
  );
  const before = madeOf.get(entry);
  if (before?.facts.every((fact, index) => fact === facts[index])) return before.rows;
  const rows = makeRows(entry, tools);
  madeOf.set(entry, { facts, rows });
  return rows;
}

function makeRows(entry: Recorded, tools: Readonly<Record<string, ToolFacts>>): readonly Row[] {
  const { message } = entry;
  const id = message.id;
  // What no person wrote is not part of the conversation that a person reads.
  if (message.role === "user") {
    return [...(message.meta ? [] : userRows(entry)), ...resultRows(message, tools)];
  }
  if (message.meta) return [];
  const blocks = typeof message.content === "string" ? textBlocks(message.content) : message.content;
  if (message.role === "system") {
    const text = blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
    return text === "" ? [] : [{ key: id, kind: "system", level: message.level ?? "info", text }];
  }
  const results = new Map(
    blocks.flatMap((block, at) =>
      block.type === "tool_result" ? [[block.tool_use_id, { block, at }] as const] : [],
    ),
  );
  // The agent says its text before it calls; its file only keeps them apart.
  const order = { thinking: 0, text: 1, image: 1, tool_use: 2, tool_result: 3 };
  const sorted = blocks
    .map((block, at) => ({ block, at }))
    .sort((a, b) => order[a.block.type] - order[b.block.type]);
  return sorted.flatMap(({ block, at }): Row[] => {
    const key = `${id}.${at}`;
    switch (block.type) {
      case "text":
        if (block.text.trim() === "") return [];
        return [{ key, kind: "text", text: block.text, live: false, ...cutAt(entry, `/content/${at}/text`) }];
      case "thinking": {
        const cut = cutAt(entry, `/content/${at}/thinking`);
        return [{ key, kind: "thinking", text: block.thinking, live: false, ...cut }];
      }
      case "image":
        return [{ key, kind: "image", source: block.source }];
      case "tool_use": {
        const result = results.get(block.id);
        const { cut } = result ? cutAt(entry, `/content/${result.at}/content`) : {};
        const fact = tools[block.id];
        const status = result?.block.status ?? fact?.status;
        const output = result ? resultText(result.block.content) : fact?.output;
        const tool: Tool = {
          id: block.id,
          name: block.name,
          input: block.input,
          status,
          denied: isDenied(status, fact, output),
          output,
          meaning: fact?.meaning,
          ms: took(fact),
          startedAt: fact?.startedAt,
          ...cutsOf(fact, cut),
        };
        return [{ key: `t${block.id}`, kind: "tool", tool }];
      }
      // What came of a call stands with the call; what a newer daemon calls by another name is passed over.
      default:
        return [];
    }
  });
}

/** Where the whole is of a text at this place of a message, if it was cut. */
function cutAt({ seq, cut }: Recorded, place: string): { cut?: Cut } {
  const found = cut?.find(([pointer]) => pointer === place || pointer.startsWith(`${place}/`));
  return found ? { cut: { seq, pointer: `/message${found[0]}`, bytes: found[1] } } : {};
}

/** What a command printed is shown as its meaning has it, everything else as the message has it. */
function cutsOf(fact: ToolFacts | undefined, message: Cut | undefined) {
  const at = (pointer: string) => fact?.cuts?.find((cut) => cut.pointer === pointer);
  const meant = fact?.meaning?.kind === "command" && fact.meaning.output !== undefined;
  const own = meant ? at("/meaning/output") : (message ?? at("/output") ?? at("/error"));
  return { cut: own, cutDiff: at("/meaning/diff") };
}

function textBlocks(text: string): { type: "text"; text: string }[] {
  return [{ type: "text", text }];
}

function userRows(entry: Recorded): readonly Row[] {
  const { message } = entry;
  const blocks = typeof message.content === "string" ? textBlocks(message.content) : message.content;
  const text = blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  const images = blocks.flatMap((block) => (block.type === "image" ? [block.source] : []));
  if (text.trim() === "" && images.length === 0) return [];
  const cut =
    blocks.length === 1 ? cutAt(entry, typeof message.content === "string" ? "/content" : "/content/0") : {};
  return [{ key: message.id, kind: "prompt", text, images, at: message.timestamp, live: false, ...cut }];
}

/** Results of calls that no message tells of, such as one that was denied. */
function resultRows({ content }: Message, tools: Readonly<Record<string, ToolFacts>>): readonly Row[] {
  if (typeof content === "string") return [];
  return content.flatMap((block): Row[] => {
    if (block.type !== "tool_result") return [];
    const id = block.tool_use_id;
    const fact = tools[id];
    const status = fact?.status ?? block.status;
    const output = resultText(block.content);
    const tool: Tool = {
      id,
      // The agent makes ids of the tool's name.
      name: fact?.name ?? id.split("__", 1)[0] ?? id,
      input: fact?.input ?? {},
      status,
      denied: isDenied(status, fact, output),
      output,
      meaning: fact?.meaning,
      ms: took(fact),
      startedAt: fact?.startedAt,
      ...cutsOf(fact, undefined),
    };
    return [{ key: `t${id}`, kind: "tool", tool }];
  });
}

/** The words by which the agent tells itself that a person said no; and what the daemon saw. */
function isDenied(status: Status | undefined, fact: ToolFacts | undefined, output: string | undefined) {
  if (status !== "cancelled") return false;
  return fact?.denied === true || /was canceled by the user\.$|User denied/.test(output ?? "");
}

function resultText(content: string | readonly { type: string; text?: string }[]): string {
  if (typeof content === "string") return content;
  return content
    .flatMap((block) => (block.type === "text" && block.text !== undefined ? [block.text] : []))
    .join("\n");
}

function took(facts: ToolFacts | undefined): number | undefined {
  if (facts?.startedAt === undefined || facts.endedAt === undefined) return undefined;
  return Math.max(0, facts.endedAt - facts.startedAt);
}

function liveRow(part: LivePart, index: number, tools: Readonly<Record<string, ToolFacts>>): Row {
  const key = `live${index}`;
  switch (part.type) {
    case "prompt":
      return { key, kind: "prompt", text: part.text, images: [], at: null, live: true };
    case "text":
      return { key, kind: "text", text: part.text, live: true };
    case "thinking":
      return { key, kind: "thinking", text: part.text, live: true };
    case "tool": {
      const facts = tools[part.id];
      const tool: Tool = {
        id: part.id,
        name: part.name,
        input: part.input,
        status: part.status,
        denied: isDenied(part.status, facts, part.output),
        output: part.output,
        meaning: part.meaning ?? facts?.meaning,
        ms: took(facts),
        startedAt: facts?.startedAt,
        ...cutsOf(facts, undefined),
      };
      return { key: `t${part.id}`, kind: "tool", tool };
    }
    default:
      return { key, kind: "system", level: "info", text: (part as { type: string }).type };
  }
}

/** A run of reads and searches is one line. */
function foldReads(rows: readonly Row[]): readonly Row[] {
  const folded: Row[] = [];
  for (const row of rows) {
    const last = folded.at(-1);
    const tools = row.kind === "tool" ? [row.tool] : row.kind === "explored" ? row.tools : [];
    if (tools.length === 0 || !tools.every(folds)) {
      folded.push(row);
    } else if (last?.kind === "explored") {
      folded[folded.length - 1] = { ...last, tools: [...last.tools, ...tools] };
    } else if (last?.kind === "tool" && folds(last.tool)) {
      folded[folded.length - 1] = { key: last.key, kind: "explored", tools: [last.tool, ...tools] };
    } else {
      folded.push(row);
    }
  }
  return folded;
}

function folds(tool: Tool): boolean {
  const klass = classOf(tool.name);
  return (klass === "read" || klass === "search") && tool.status !== "error";
}

/** The row of the first message at or after an event that has one, for a message may draw none; else the last row. */
export function rowAt(rows: readonly Row[], messages: readonly Recorded[], place: number): number {
  for (const { seq, message } of messages) {
    const index = seq < place ? -1 : rows.findIndex((row) => belongs(row, message));
    if (index >= 0) return index;
  }
  return rows.length - 1;
}

function belongs(row: Row, message: Message): boolean {
  const tools = row.kind === "tool" ? [row.tool] : row.kind === "explored" ? row.tools : undefined;
  if (!tools) return row.key === message.id || row.key.startsWith(`${message.id}.`);
  const ids = [...idsOf(message, "tool_use"), ...idsOf(message, "tool_result")];
  return tools.some(({ id }) => ids.includes(id));
}
