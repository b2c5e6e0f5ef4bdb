// One row of a transcript.

import { Brain, ChevronDown, ChevronRight, CircleAlert, Eye, Info, TriangleAlert } from "lucide";
import { memo } from "preact/compat";
import { useState } from "preact/hooks";
import type { ImageSource, Summary } from "../api/types";
import { settings } from "../settings";
import type { Note } from "../state/model";
import type { Row, Tool } from "../state/rows";
import { classOf, objectOf } from "../state/tools";
import { lastSubject, took, within } from "../state/words";
import { useStore } from "../store";
import { CopyButton } from "../ui/copy";
import { Icon } from "../ui/icon";
import { Markdown } from "../ui/markdown";
import { ToolCard } from "./card";

type Props = { row: Row; session: Summary; onTool: (tool: Tool) => void };

/** Drawn again only where the row is another one: streaming costs the rows that stream. */
export const RowView = memo(
  ({ row, session, onTool }: Props) => {
    switch (row.kind) {
      case "prompt":
        return <Prompt text={row.text} images={row.images} at={row.at} />;
      case "text":
        return <Said text={row.text} live={row.live} />;
      case "thinking":
        return <Thinking text={row.text} live={row.live} />;
      case "tool":
        return <ToolCard tool={row.tool} cwd={session.cwd} onOpen={onTool} />;
      case "explored":
        return <Explored tools={row.tools} cwd={session.cwd} onTool={onTool} />;
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
    return before.text === after.text && before.live === after.live;
  return false;
}

function Prompt({ text, images, at }: { text: string; images: readonly ImageSource[]; at: number | null }) {
  return (
    <div class="prompt">
      <div class="bubble" dir="auto">
        {images.map((source) => (
          <Picture key={source.type === "url" ? source.url : source.data.slice(0, 64)} source={source} />
        ))}
        {text}
      </div>
      <div class="under">
        {at !== null && (
          <time>{new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}</time>
        )}
        <CopyButton text={text} label="Copy prompt" />
      </div>
    </div>
  );
}

function Said({ text, live }: { text: string; live: boolean }) {
  return (
    <div class={live ? "said live" : "said"}>
      <Markdown text={text} />
      {!live && (
        <div class="under">
          <CopyButton text={text} label="Copy answer" />
        </div>
      )}
    </div>
  );
}

function Thinking({ text, live }: { text: string; live: boolean }) {
  const how = useStore(settings, (chosen) => chosen.thinking);
  const [toggled, setToggled] = useState(false);
  if (how === "hidden" && !live) return null;
  const open = toggled !== (how === "open");
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
          {lastSubject(text) || "Thinking"}
        </span>
        <Icon of={open ? ChevronDown : ChevronRight} size={15} />
      </button>
      {open && (
        <div class="thought">
          <Markdown text={text} />
        </div>
      )}
    </div>
  );
}

function Explored({
  tools,
  cwd,
  onTool,
}: {
  tools: readonly Tool[];
  cwd: string | undefined;
  onTool: Props["onTool"];
}) {
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
      {open && tools.map((tool) => <ToolCard key={tool.id} tool={tool} cwd={cwd} onOpen={onTool} />)}
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
        <p>{text}</p>
        {hint && <p class="hint">{hint}</p>}
      </div>
    </div>
  );
}

const STOPS: Readonly<Record<string, string>> = {
  end_turn: "Done",
  cancelled: "Stopped",
  max_turns: "Stopped: no more turns allowed",
  timeout: "Stopped: out of time",
  error: "Failed",
};

function NoteView({ note }: { note: Note }) {
  switch (note.kind) {
    case "notice":
      return <Notice level={note.level} text={note.text} hint={note.hint} />;
    case "turn": {
      const more = [
        note.ms === undefined ? "" : took(note.ms),
        note.tools ? `${note.tools} ${note.tools === 1 ? "call" : "calls"}` : "",
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
