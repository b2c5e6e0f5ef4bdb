// The transcript: a virtual list that opens at its end, pages upward, and follows only a reader who is at the end.

import { ArrowDown } from "lucide";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Summary } from "../api/types";
import { dispatch, older } from "../app";
import type { Opened } from "../state/model";
import { type Row, rowsOf, type Tool } from "../state/rows";
import { Icon } from "../ui/icon";
import { List, type ListHandle } from "../ui/list";
import { RowView } from "./row";
import { ToolSheet } from "./tool";
import { Outbox, Waiting } from "./waiting";

/** So near to the end is at the end, in pixels. */
const NEAR = 48;
/** So near to the beginning, older messages are asked for. */
const FAR = 1200;

export function Transcript({ id, opened, session }: { id: string; opened: Opened; session: Summary }) {
  const rows = useMemo(() => rowsOf(opened), [opened]);
  const frame = useRef<HTMLDivElement>(null);
  const list = useRef<ListHandle>(null);
  const [following, setFollowing] = useFollowing(frame, id);
  const [tool, setTool] = useState<Tool | undefined>(undefined);
  const fresh = useFresh(rows, following);
  const prepended = usePrepended(rows);
  const onScroll = () => {
    if ((list.current?.scrollOffset ?? FAR) < FAR) void older(id);
  };
  return (
    <div ref={frame} class="transcript" role="log" aria-label="Transcript" aria-live="off">
      <List ref={list} class="rows" shift={prepended} onScroll={onScroll}>
        <div class="edge" key="top">
          {opened.before === undefined ? "The beginning" : "Older messages"}
        </div>
        {rows.map((row) => (
          <RowView key={row.key} row={row} session={session} onTool={setTool} />
        ))}
        <div key="end">
          <Outbox sessionId={id} />
          <Waiting session={session} />
        </div>
      </List>
      {!following && (
        <button type="button" class="new-pill" onClick={() => setFollowing(true)}>
          <Icon of={ArrowDown} size={16} />
          {fresh > 0 ? `${fresh} new` : "To the end"}
        </button>
      )}
      {tool && <ToolSheet tool={newest(rows, tool)} session={session} onClose={() => setTool(undefined)} />}
    </div>
  );
}

/** Keeps a reader who is at the end at the end, whatever grows; whoever scrolls up is left in peace. */
function useFollowing(frame: { current: HTMLDivElement | null }, id: string) {
  const [following, setFollowing] = useState(true);
  const follows = useRef(true);
  const follow = (now: boolean) => {
    follows.current = now;
    setFollowing(now);
  };
  useLayoutEffect(() => {
    const scroller = frame.current?.querySelector(".rows");
    const content = scroller?.firstElementChild;
    if (!scroller || !content) return;
    const pin = () => {
      if (follows.current) scroller.scrollTop = scroller.scrollHeight;
    };
    let last = scroller.scrollTop;
    let height = scroller.scrollHeight;
    const onScroll = () => {
      const toEnd = scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop;
      // Only a reader goes up. What grows below does not move the place, and what goes above is no reader.
      const shrank = scroller.scrollHeight < height;
      if (shrank) pin();
      else if (scroller.scrollTop < last - 1 && toEnd >= NEAR) follow(false);
      else if (toEnd < NEAR) follow(true);
      last = scroller.scrollTop;
      height = scroller.scrollHeight;
    };
    const watcher = new ResizeObserver(pin);
    watcher.observe(content);
    watcher.observe(scroller);
    scroller.addEventListener("scroll", onScroll, { passive: true });
    pin();
    return () => {
      watcher.disconnect();
      scroller.removeEventListener("scroll", onScroll);
    };
  }, [frame]);
  useLayoutEffect(() => {
    const scroller = frame.current?.querySelector(".rows");
    if (scroller && following) scroller.scrollTop = scroller.scrollHeight;
  }, [frame, following]);
  useEffect(() => {
    if (following) dispatch({ type: "trim", sessionId: id });
  });
  return [following, follow] as const;
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
