// The transcript: a virtual list that opens at its end, pages upward, and follows only a reader who is at the end.

import { ArrowDown } from "lucide";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Summary } from "../api/types";
import { connection, older } from "../app";
import type { Opened } from "../state/model";
import { type Row, rowAt, rowsOf, type Tool } from "../state/rows";
import { useStore } from "../store";
import { Icon } from "../ui/icon";
import { List, type ListHandle } from "../ui/list";
import { useFollowing } from "./follow";
import { RowView } from "./row";
import { ToolSheet } from "./tool";
import { Outbox, Waiting } from "./waiting";

/** So near to the beginning, older messages are asked for. */
const FAR = 1200;

type Props = { id: string; opened: Opened; session: Summary; place?: number | undefined };

/** `place`: the event that is looked for. */
export function Transcript({ id, opened, session, place }: Props) {
  const rows = useMemo(() => rowsOf(opened), [opened]);
  const frame = useRef<HTMLDivElement>(null);
  const list = useRef<ListHandle>(null);
  const [following, setFollowing] = useFollowing(frame, id);
  const [tool, setTool] = useState<Tool | undefined>(undefined);
  const fresh = useFresh(rows, following);
  const found = useFound({ id, opened, rows, place, list, leave: () => setFollowing(false) });
  const prepended = usePrepended(rows);
  const onScroll = () => {
    if ((list.current?.scrollOffset ?? FAR) < FAR) void older(id);
  };
  useReturn(onScroll);
  // Where there is too little to scroll, nobody could ask for more: a page may be all of things that are not shown.
  useEffect(() => {
    const scroller = frame.current?.querySelector(".rows");
    if (!scroller || opened.stored) return;
    if (scroller.scrollHeight - scroller.clientHeight < FAR) void older(id);
  }, [id, opened.stored, opened.before, opened.messages]);
  return (
    <div ref={frame} class="transcript" role="log" aria-label="Transcript" aria-live="off">
      <List ref={list} class="rows" shift={prepended} onScroll={onScroll}>
        <div class="edge" key="top">
          {opened.before === undefined ? "Start of session" : "Older messages"}
        </div>
        {rows.map((row) => (
          <div key={row.key} class={row.key === found ? "found-row" : undefined}>
            <RowView row={row} session={session} onTool={setTool} />
          </div>
        ))}
        <div key="end">
          <Waiting session={session} />
          <Outbox sessionId={id} />
        </div>
      </List>
      {!following && (
        <button type="button" class="new-pill" onClick={() => setFollowing(true)}>
          <Icon of={ArrowDown} size={16} />
          {fresh > 0 ? `${fresh} new` : "Jump to latest"}
        </button>
      )}
      {tool && <ToolSheet tool={newest(rows, tool)} session={session} onClose={() => setTool(undefined)} />}
    </div>
  );
}

/** Runs each time when the connection is back: whoever waits at the beginning gets what is before it. */
function useReturn(run: () => void): void {
  const live = useStore(connection.link, ({ phase }) => phase === "live");
  const lost = useRef(false);
  useEffect(() => {
    if (live && lost.current) run();
    lost.current = !live;
  }, [live]);
}

/** So many messages are fetched at once on the way to an old one. */
const LEAP = 500;

type Looking = {
  id: string;
  opened: Opened;
  rows: readonly Row[];
  place: number | undefined;
  list: { current: ListHandle | null };
  leave: () => void;
};

/** Brings the message of an event to the top of the screen, once; gives the key of its row. */
function useFound({ id, opened, rows, place, list, leave }: Looking): string | undefined {
  const [found, setFound] = useState<string | undefined>(undefined);
  const done = useRef<number | undefined>(undefined);
  useEffect(() => {
    if (place === undefined || done.current === place || opened.stored) return;
    const first = opened.messages[0];
    if (first && first.seq > place && opened.before !== undefined) {
      leave();
      void older(id, LEAP);
      return;
    }
    const index = rowAt(rows, opened.messages, place);
    if (index < 0) return;
    done.current = place;
    leave();
    setFound(rows[index]?.key);
    // The list's first child is its edge.
    requestAnimationFrame(() => list.current?.scrollToIndex(index + 1, { align: "start" }));
  }, [id, opened, rows, place]);
  return found;
}

/** How many rows came since the reader left the end. */
function useFresh(rows: readonly Row[], following: boolean): number {
  const left = useRef<string | undefined>(undefined);
  if (following) left.current = rows.at(-1)?.key;
  const index = rows.findLastIndex((row) => row.key === left.current);
  return following || index < 0 ? 0 : rows.length - 1 - index;
}

/** True where rows were put in front since the last drawing: the list then keeps its place from the end. */
function usePrepended(rows: readonly Row[]): boolean {
  const before = useRef<readonly Row[]>(rows);
  const first = before.current[0]?.key;
  const shifted = first !== undefined && rows[0]?.key !== first && rows.some((row) => row.key === first);
  before.current = rows;
  return shifted;
}

/** What is known of a call by now. */
function newest(rows: readonly Row[], tool: Tool): Tool {
  for (const row of rows) {
    if (row.kind === "tool" && row.tool.id === tool.id) return row.tool;
    const found = row.kind === "explored" ? row.tools.find(({ id }) => id === tool.id) : undefined;
    if (found) return found;
  }
  return tool;
}
