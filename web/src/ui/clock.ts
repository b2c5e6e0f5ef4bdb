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
  const [now, set] = useState(() => Date.now());
  useEffect(() => (ticking ? watch(() => set(Date.now())) : undefined), [ticking]);
  return ticking ? now : Date.now();
}
