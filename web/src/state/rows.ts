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
  output: string | undefined;
  meaning: Meaning | undefined;
  ms: number | undefined;
  startedAt: number | undefined;
  /** The event and the place of a text that was cut, and how long the whole is. */
  cut: { seq: number; pointer: string; bytes: number } | undefined;
};

export type Row = { key: string } & (
  | { kind: "prompt"; text: string; images: readonly ImageSource[]; at: number | null; live: boolean }
  | { kind: "text"; text: string; live: boolean }
  | { kind: "thinking"; text: string; live: boolean }
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
  const told = new Set(
    notes.some((note) => note.kind === "call") ? messages.flatMap(({ message }) => callsOf(message)) : [],
  );
  const rows: Row[] = [];
  let next = 0;
  const notesUpTo = (position: number) => {
    for (let note = notes[next]; note && note.after < position; note = notes[++next]) {
      if (note.kind !== "call") rows.push({ key: note.key, kind: "note", note });
      else if (!told.has(note.call.id)) rows.push(liveRow(note.call, 0, tools));
    }
  };
  for (const entry of messages) {
    notesUpTo(entry.position);
    for (const row of messageRows(entry, tools)) {
      if (row.kind !== "tool" || row.tool.status !== undefined || !running.has(row.tool.id)) rows.push(row);
    }
  }
  notesUpTo(Number.POSITIVE_INFINITY);
  const folded = foldReads(rows);
  made.set(messages, { tools, notes, live, rows: folded });
  return folded;
}

function callsOf({ content }: Message): string[] {
  return typeof content === "string"
    ? []
    : content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
}

type MadeMessage = { facts: readonly (ToolFacts | undefined)[]; rows: readonly Row[] };
const madeOf = new WeakMap<Recorded, MadeMessage>();

function messageRows(entry: Recorded, tools: Readonly<Record<string, ToolFacts>>): readonly Row[] {
  const { content } = entry.message;
  const blocks = typeof content === "string" ? [] : content;
  const facts = blocks.flatMap((block) => (block.type === "tool_use" ? [tools[block.id]] : []));
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
  if (message.meta) return [];
  if (message.role === "user") return userRows(message);
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
        return block.text.trim() === "" ? [] : [{ key, kind: "text", text: block.text, live: false }];
      case "thinking":
        return [{ key, kind: "thinking", text: block.thinking, live: false }];
      case "image":
        return [{ key, kind: "image", source: block.source }];
      case "tool_use": {
        const result = results.get(block.id);
        const place = result ? `/content/${result.at}/content` : undefined;
        const cut = entry.cut?.find(([pointer]) => place !== undefined && pointer.startsWith(place));
        const fact = tools[block.id];
        const tool: Tool = {
          id: block.id,
          name: block.name,
          input: block.input,
          status: result?.block.status ?? fact?.status,
          output: result ? resultText(result.block.content) : fact?.output,
          meaning: fact?.meaning,
          ms: took(fact),
          startedAt: fact?.startedAt,
          cut: cut ? { seq: entry.seq, pointer: cut[0], bytes: cut[1] } : undefined,
        };
        return [{ key: `t${block.id}`, kind: "tool", tool }];
      }
      case "tool_result":
        return [];
    }
  });
}

function textBlocks(text: string): { type: "text"; text: string }[] {
  return [{ type: "text", text }];
}

function userRows(message: Message): readonly Row[] {
  const blocks = typeof message.content === "string" ? textBlocks(message.content) : message.content;
  const text = blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  const images = blocks.flatMap((block) => (block.type === "image" ? [block.source] : []));
  if (text.trim() === "" && images.length === 0) return [];
  return [{ key: message.id, kind: "prompt", text, images, at: message.timestamp, live: false }];
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
        output: part.output,
        meaning: part.meaning ?? facts?.meaning,
        ms: took(facts),
        startedAt: facts?.startedAt,
        cut: undefined,
      };
      return { key: `t${part.id}`, kind: "tool", tool };
    }
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
