// How large the letters of a terminal are: as its whole width fits, or as they can be read, and then the place of the cursor
// is kept in view.

import { useEffect, useRef, useState } from "preact/hooks";
import { read, write } from "../settings";
import { brought, type Screen, seen } from "../state/screen";
import type { View } from "./xterm";

/** Letters of so many pixels can be read. */
export const READABLE = 10;
const LARGEST = 15;
/** Smaller ones are shown only to those who ask for the whole width. */
const SMALL = 7;
/** A letter of this type is six tenths as wide as it is high. */
export const WIDE = 0.6021;
/** What the frame has around the terminal, left and right. */
export const EDGES = 16;
const CHOICE = "pollux.screen.large";

export function useLetters(frame: { current: HTMLElement | null }, view: View | undefined, screen: Screen) {
  const [whole, setWhole] = useState(LARGEST);
  const [chosen, setChosen] = useState(() => read<boolean | undefined>(CHOICE, undefined));
  const large = chosen ?? whole < SMALL;
  const pixels = large ? Math.max(whole, READABLE) : whole;
  const { columns, cursor } = screen;
  useEffect(() => {
    const element = frame.current;
    if (!element || !view) return;
    const fit = () => setWhole(fitting(element.clientWidth - EDGES, columns));
    const watcher = new ResizeObserver(fit);
    watcher.observe(element);
    return () => watcher.disconnect();
  }, [view, columns]);
  useEffect(() => view?.size(pixels), [view, pixels]);
  useInView(frame, view, cursor, pixels);
  const toggle = () => {
    write(CHOICE, !large);
    setChosen(!large);
  };
  return { large, small: whole < READABLE, toggle };
}

function fitting(width: number, columns: number): number {
  return Math.min(LARGEST, Math.max(2, Math.floor((width / (columns * WIDE)) * 10) / 10));
}

/** Keeps the cursor in view; whoever has scrolled away from it is left in peace. */
function useInView(
  frame: { current: HTMLElement | null },
  view: View | undefined,
  cursor: Screen["cursor"],
  pixels: number,
): void {
  const held = useRef(true);
  const place = useRef(cursor);
  place.current = cursor;
  const bring = () => {
    const element = frame.current;
    const spot = element && place.current && view?.spot(place.current, element);
    if (!spot || !held.current) return;
    const { left, top } = brought(windowOf(element), spot);
    element.scrollLeft = left;
    element.scrollTop = top;
  };
  useEffect(() => {
    const element = frame.current;
    if (!element || !view) return;
    const onScroll = () => {
      const spot = place.current && view.spot(place.current, element);
      held.current = !spot || seen(windowOf(element), spot);
    };
    element.addEventListener("scroll", onScroll, { passive: true });
    const watcher = new ResizeObserver(bring);
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      element.removeEventListener("scroll", onScroll);
    };
  }, [view]);
  useEffect(() => {
    // Letters of another size are drawn with the next frame.
    const soon = requestAnimationFrame(bring);
    return () => cancelAnimationFrame(soon);
  }, [view, cursor?.[0], cursor?.[1], pixels]);
}

function windowOf({ scrollLeft: left, scrollTop: top, clientWidth: width, clientHeight: height }: Element) {
  return { left, top, width, height };
}
