// The window at the desk in the size of this screen: asked for with a button, and given back with it, or by leaving:
// another screen of the app, or the page itself.

import { useEffect, useRef } from "preact/hooks";
import { send } from "../app";
import { EDGES, READABLE, WIDE } from "./letters";

/** Letters of this size can be read with ease. */
const LETTERS = READABLE + 1;
/** A row is so much higher than its letters. */
const HIGH = 1.2;

export function useFit(
  frame: { current: HTMLElement | null },
  sessionId: string,
  fitted: boolean,
): () => void {
  const asked = useRef(false);
  useEffect(() => {
    const leave = () => {
      if (asked.current) send(sessionId, { type: "give_back" });
      asked.current = false;
    };
    window.addEventListener("pagehide", leave);
    return () => {
      window.removeEventListener("pagehide", leave);
      leave();
    };
  }, [sessionId]);
  return () => {
    if (!frame.current) return;
    asked.current = !fitted;
    send(sessionId, fitted ? { type: "give_back" } : { type: "fit", ...room(frame.current) });
  };
}

/** How many columns and rows of readable letters fit into an element. */
export function room({ clientWidth, clientHeight }: { clientWidth: number; clientHeight: number }) {
  const columns = Math.floor((clientWidth - EDGES) / (LETTERS * WIDE));
  const rows = Math.floor((clientHeight - EDGES) / (LETTERS * HIGH));
  return { columns: within(columns, 20, 400), rows: within(rows, 10, 200) };
}

function within(number: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, number));
}
