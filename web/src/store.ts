// A value that can be watched, and the hook that shows a part of it.

import { useEffect, useRef, useState } from "preact/hooks";

export class Store<T> {
  #value: T;
  readonly #watchers = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const watcher of [...this.#watchers]) watcher();
  }

  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}

/** A part of a store. The component is drawn again only when that part is another one. */
export function useStore<T, P>(store: Store<T>, part: (value: T) => P): P {
  const [, redraw] = useState(0);
  const latest = useRef(part);
  latest.current = part;
  const now = part(store.value);
  const shown = useRef(now);
  shown.current = now;
  useEffect(() => {
    const look = () => {
      if (!Object.is(latest.current(store.value), shown.current)) redraw((n) => n + 1);
    };
    look();
    return store.watch(look);
  }, [store]);
  return now;
}
