// Keeps a reader who is at the end at the end, whatever grows; whoever scrolls up is left in peace until they speak.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { dispatch, spoken } from "../app";

/** So near to the end is at the end, in pixels. */
const NEAR = 48;
/** A place that changes so soon after the reader's hand has moved was changed by it, in milliseconds. */
const HAND = 300;
const UP = new Set(["ArrowUp", "PageUp", "Home"]);

export function useFollowing(frame: { current: HTMLDivElement | null }, id: string) {
  const [following, setFollowing] = useState(true);
  const follows = useRef(true);
  const follow = (now: boolean) => {
    follows.current = now;
    setFollowing(now);
  };
  useLayoutEffect(() => {
    const scroller = frame.current?.querySelector(".rows");
    return scroller ? watch(scroller, follows, follow) : undefined;
  }, [frame]);
  useLayoutEffect(() => {
    const scroller = frame.current?.querySelector(".rows");
    if (scroller && following) scroller.scrollTop = scroller.scrollHeight;
  }, [frame, following]);
  useEffect(() => {
    if (following) dispatch({ type: "trim", sessionId: id });
  });
  // Who says something wants to see it, and what comes of it.
  useEffect(() => spoken.watch(() => spoken.value?.sessionId === id && follow(true)), [id]);
  return [following, follow] as const;
}

/** Looks at the place of a reader until the returned function is called. */
function watch(scroller: Element, follows: { current: boolean }, follow: (now: boolean) => void): () => void {
  const look = () => {
    const { scrollTop: top, scrollHeight: height, clientHeight: room } = scroller;
    return { top, height, room };
  };
  let last = look();
  let handAt = Number.NEGATIVE_INFINITY;
  const pin = () => {
    if (follows.current) scroller.scrollTop = scroller.scrollHeight;
    last = look();
  };
  const onScroll = () => {
    const now = look();
    const toEnd = now.height - now.room - now.top;
    // The list moves the place too, where rows turn out to be higher or lower than it thought. That is no reader.
    const resized = now.height !== last.height || now.room !== last.room;
    const byHand = performance.now() - handAt < HAND;
    const wentUp = now.top < last.top - 1 && toEnd >= NEAR;
    if (now.height < last.height || (wentUp && resized && !byHand)) return pin();
    if (wentUp) follow(false);
    else if (toEnd < NEAR) follow(true);
    last = now;
  };
  const onHand = () => {
    handAt = performance.now();
  };
  const onWheel = (event: Event) => {
    if (event instanceof WheelEvent && event.deltaY < 0) onHand();
  };
  const onKey = (event: Event) => {
    if (event instanceof KeyboardEvent && UP.has(event.key)) onHand();
  };
  const heard = { scroll: onScroll, wheel: onWheel, touchmove: onHand, keydown: onKey };
  for (const [name, listener] of Object.entries(heard))
    scroller.addEventListener(name, listener, { passive: true });
  const watcher = new ResizeObserver(pin);
  watcher.observe(scroller);
  if (scroller.firstElementChild) watcher.observe(scroller.firstElementChild);
  pin();
  return () => {
    watcher.disconnect();
    for (const [name, listener] of Object.entries(heard)) scroller.removeEventListener(name, listener);
  };
}
