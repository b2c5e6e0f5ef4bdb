// One ticking clock for all ages on the screen.

import { useEffect, useState } from "preact/hooks";

const watchers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  timer ??= setInterval(() => {
    for (const each of [...watchers]) each();
  }, 1000);
  return () => {
    watchers.delete(watcher);
    if (watchers.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The time, again each second while `ticking`. */
export function useNow(ticking = true): number {
  const [, redraw] = useState(0);
  useEffect(() => (ticking ? watch(() => redraw((n) => n + 1)) : undefined), [ticking]);
  return Date.now();
}
