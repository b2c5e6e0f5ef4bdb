// Long texts come cut: their beginning is in the frame, the rest is fetched when somebody looks at it.

import { useEffect, useState } from "preact/hooks";
import { api, problemOf } from "../api/http";
import type { Cut } from "../state/rows";

/** An answer is fetched up to here by itself; more of it by a tap. */
const BY_ITSELF = 256 << 10;
/** What was fetched is kept for as long as the app is open, up to so many characters. */
const MOST_KEPT = 8 << 20;
const kept = new Map<string, string>();

function keep(key: string, text: string): void {
  kept.delete(key);
  kept.set(key, text);
  let size = [...kept.values()].reduce((sum, one) => sum + one.length, 0);
  for (const [oldest, one] of kept) {
    if (size <= MOST_KEPT || oldest === key) return;
    kept.delete(oldest);
    size -= one.length;
  }
}

const keyOf = (sessionId: string, cut: Cut) => `${sessionId} ${cut.seq} ${cut.pointer}`;

/** The text from a byte on, in pieces, until it ends or `most` bytes are here. */
async function fetchFrom(sessionId: string, cut: Cut, from: number, most: number): Promise<Fetched> {
  let text = "";
  for (let next: number | undefined = from; next !== undefined; ) {
    if (next - from >= most) return { text, next };
    const piece = await api.piece(sessionId, cut.seq, cut.pointer, next);
    text += piece.text;
    next = piece.next;
  }
  return { text, next: undefined };
}

type Fetched = { text: string; next: number | undefined };

export type Whole = {
  text: string;
  /** How many bytes are still not here. */
  left: number;
  busy: boolean;
  problem: string | undefined;
  /** Fetches the rest. */
  more: () => void;
};

/** A text that may be cut. With `eager` the rest comes by itself, within reason. */
export function useWhole(sessionId: string, text: string, cut: Cut | undefined, eager: boolean): Whole {
  const key = cut ? keyOf(sessionId, cut) : "";
  const [fetched, setFetched] = useState<(Fetched & { key: string }) | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const known = kept.get(key) ?? (fetched?.key === key ? fetched.text : undefined);
  const load = async (most: number) => {
    if (!cut || busy) return;
    setBusy(true);
    setProblem(undefined);
    try {
      const got = await fetchFrom(sessionId, cut, 0, most);
      if (got.next === undefined) keep(key, got.text);
      setFetched({ ...got, key });
    } catch (error) {
      setProblem(problemOf(error).message);
    } finally {
      setBusy(false);
    }
  };
  useEffect(() => {
    if (eager && cut && known === undefined) void load(BY_ITSELF);
  }, [key, eager]);
  const next = kept.has(key) ? undefined : fetched?.key === key ? fetched.next : undefined;
  const here = next ?? (known === undefined ? new TextEncoder().encode(text).length : cut?.bytes);
  return {
    text: known ?? text,
    left: cut ? Math.max(0, cut.bytes - (here ?? 0)) : 0,
    busy,
    problem,
    more: () => void load(Number.POSITIVE_INFINITY),
  };
}

/** The end of a text that may be cut: its last `bytes`. */
export function useTail(sessionId: string, text: string, cut: Cut | undefined, bytes: number): string {
  const key = cut ? `${keyOf(sessionId, cut)} ${bytes}` : "";
  const [, redraw] = useState(0);
  useEffect(() => {
    if (!cut || kept.has(key)) return;
    // Without it the beginning is shown, which is there.
    api.piece(sessionId, cut.seq, cut.pointer, Math.max(0, cut.bytes - bytes)).then(
      (piece) => {
        keep(key, piece.text);
        redraw((n) => n + 1);
      },
      () => undefined,
    );
  }, [key]);
  return (cut && kept.get(key)) ?? text;
}
