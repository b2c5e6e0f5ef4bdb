// One row of a transcript.

import { Brain, ChevronDown, ChevronRight, CircleAlert, Eye, Info, TriangleAlert } from "lucide";
import { memo } from "preact/compat";
import { useState } from "preact/hooks";
import type { ImageSource, Summary } from "../api/types";
import { settings } from "../settings";
import type { Note } from "../state/model";
import type { Row, Tool } from "../state/rows";
import { classOf, objectOf } from "../state/tools";
import { bytes, lastSubject, sentence, timeOf, took, within } from "../state/words";
import { useStore } from "../store";
import { CopyButton } from "../ui/copy";
import { Icon } from "../ui/icon";
import { Markdown } from "../ui/markdown";
import { ToolCard } from "./card";
import { useWhole, type Whole } from "./whole";

type Props = { row: Row; session: Summary; onTool: (tool: Tool) => void };

/** Drawn again only where the row is another one: streaming costs the rows that stream. */
export const RowView = memo(
  ({ row, session, onTool }: Props) => {
    switch (row.kind) {
      case "prompt":
        return <Prompt row={row} sessionId={session.id} />;
      case "text":
        return <Said row={row} sessionId={session.id} />;
      case "thinking":
        return <Thinking row={row} sessionId={session.id} />;
      case "tool":
        return <ToolCard tool={row.tool} session={session} onOpen={onTool} />;
      case "explored":
        return <Explored tools={row.tools} session={session} onTool={onTool} />;
      case "system":
        return <Notice level={row.level} text={row.text} />;
      case "image":
        return <Picture source={row.source} />;
      case "note":
        return <NoteView note={row.note} />;
    }
  },
  (before, after) => same(before.row, after.row) && before.session.cwd === after.session.cwd,
);

function same(before: Row, after: Row): boolean {
  if (before === after) return true;
  if (before.kind === "text" && after.kind === "text")
    return before.text === after.text && before.live === after.live && before.cut?.seq === after.cut?.seq;
  return false;
}

type Of<Kind extends Row["kind"]> = { row: Extract<Row, { kind: Kind }>; sessionId: string };

/** What is still missing of a long text. */
function Rest({ whole }: { whole: Whole }) {
  if (whole.left === 0) return null;
  return (
    <div class="rest">
      {whole.problem && <span class="hint">{whole.problem}</span>}
      <button type="button" class="plain small" disabled={whole.busy} onClick={whole.more}>
        {whole.busy ? "Loading the rest" : `Show the rest (${bytes(whole.left)})`}
      </button>
    </div>
  );
}

function Prompt({ row, sessionId }: Of<"prompt">) {
  const { images, at } = row;
  const whole = useWhole(sessionId, row.text, row.cut, false);
  const { text } = whole;
  return (
    <div class="prompt">
      <div class="bubble" dir="auto">
        {images.map((source) => (
          <Picture key={source.type === "url" ? source.url : source.data.slice(0, 64)} source={source} />
        ))}
        {text}
        <Rest whole={whole} />
      </div>
      <div class="under">
        {at !== null && <time>{timeOf(at)}</time>}
        <CopyButton text={text} label="Copy prompt" />
      </div>
    </div>
  );
}

/** A sentence on the way to a call needs no button under it. */
const SHORT = 100;

function Said({ row, sessionId }: Of<"text">) {
  const { live } = row;
  const whole = useWhole(sessionId, row.text, row.cut, true);
  const { text } = whole;
  return (
    <div class={live ? "said live" : "said"}>
      <Markdown text={text} />
      <Rest whole={whole} />
      {!live && text.length > SHORT && (
        <div class="under">
          <CopyButton text={text} label="Copy answer" />
        </div>
      )}
    </div>
  );
}

function Thinking({ row, sessionId }: Of<"thinking">) {
  const { live } = row;
  const how = useStore(settings, (chosen) => chosen.thinking);
  const [toggled, setToggled] = useState(false);
  const open = toggled !== (how === "open");
  const whole = useWhole(sessionId, row.text, row.cut, open);
  if (how === "hidden" && !live) return null;
  return (
    <div class={live ? "thinking live" : "thinking"}>
      <button
        type="button"
        class="plain line-button"
        aria-expanded={open}
        onClick={() => setToggled(!toggled)}
      >
        <Icon of={Brain} size={15} />
        <span class="subject" dir="auto">
          {lastSubject(row.text) || "Thinking"}
        </span>
        <Icon of={open ? ChevronDown : ChevronRight} size={15} />
      </button>
      {open && (
        <div class="thought">
          <Markdown text={whole.text} />
          <Rest whole={whole} />
        </div>
      )}
    </div>
  );
}

type ExploredProps = { tools: readonly Tool[]; session: Summary; onTool: Props["onTool"] };

function Explored({ tools, session, onTool }: ExploredProps) {
  const { cwd } = session;
  const [open, setOpen] = useState(false);
  const reads = tools.filter((tool) => classOf(tool.name) === "read").length;
  const searches = tools.length - reads;
  const parts = [
    reads > 0 ? `${reads} ${reads === 1 ? "file" : "files"}` : "",
    searches > 0 ? `${searches} ${searches === 1 ? "search" : "searches"}` : "",
  ].filter(Boolean);
  const running = tools.some((tool) => tool.status === undefined);
  return (
    <div class="explored">
      <button type="button" class="plain line-button" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon of={Eye} size={15} />
        <span>
          {running ? "Exploring" : "Explored"} {parts.join(", ")}
        </span>
        <span class="names">
          {tools.map((tool) => within(objectOf(tool.input, tool.meaning), cwd)).join(", ")}
        </span>
        <Icon of={open ? ChevronDown : ChevronRight} size={15} />
      </button>
      {open && tools.map((tool) => <ToolCard key={tool.id} tool={tool} session={session} onOpen={onTool} />)}
    </div>
  );
}

const LEVELS = { info: Info, warning: TriangleAlert, error: CircleAlert };

function Notice({
  level,
  text,
  hint,
}: {
  level: "info" | "warning" | "error";
  text: string;
  hint?: string | undefined;
}) {
  return (
    <div class={`notice ${level}`} role={level === "error" ? "alert" : undefined}>
      <Icon of={LEVELS[level]} size={16} />
      <div dir="auto">
        <p>{level === "error" ? sentence(text) : text}</p>
        {hint && <p class="hint">{sentence(hint)}</p>}
      </div>
    </div>
  );
}

const STOPS: Readonly<Record<string, string>> = {
  end_turn: "Done",
  cancelled: "Stopped",
  max_turns: "Stopped: turn limit reached",
  timeout: "Stopped: timed out",
  error: "Failed",
};

function NoteView({ note }: { note: Note }) {
  switch (note.kind) {
    case "notice":
      return <Notice level={note.level} text={note.text} hint={note.hint} />;
    case "turn": {
      const more = [
        note.ms === undefined ? "" : took(note.ms),
        note.tools ? `${note.tools} ${note.tools === 1 ? "tool call" : "tool calls"}` : "",
      ].filter(Boolean);
      return (
        <div class="turn-end">
          <span>{[STOPS[note.stop] ?? note.stop, ...more].join(" · ")}</span>
        </div>
      );
    }
    case "call":
      return null;
    case "unknown":
      return (
        <details class="unknown">
          <summary>{note.name}</summary>
          <pre>{typeof note.raw === "string" ? note.raw : JSON.stringify(note.raw, null, 2)}</pre>
        </details>
      );
  }
}

/** Only pictures that came with the session are drawn; an address is shown and not loaded. */
function Picture({ source }: { source: ImageSource }) {
  if (source.type === "url") return <span class="mono">{source.url}</span>;
  if (!/^image\/(png|jpeg|gif|webp)$/.test(source.media_type)) return <span>[{source.media_type}]</span>;
  return (
    <img
      class="picture"
      alt="From the conversation"
      src={`data:${source.media_type};base64,${source.data}`}
    />
  );
}
