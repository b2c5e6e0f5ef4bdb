// Pull to refresh. It says when the list was last in step.

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { state } from "../app";
import { age } from "../state/words";

/** So far must be pulled, in pixels. */
const FAR = 64;

export function Pull({ onPull, children }: { onPull: () => void; children: ComponentChildren }) {
  const from = useRef<number | undefined>(undefined);
  const [pulled, setPulled] = useState(0);
  const at = state.value.inStepAt;
  const since =
    at === undefined
      ? "not updated yet"
      : `updated ${age(Date.now() - at)} ago`.replace("now ago", "just now");
  const end = () => {
    if (pulled >= FAR) onPull();
    from.current = undefined;
    setPulled(0);
  };
  return (
    <div
      class="scroll"
      onTouchStart={(event) => {
        from.current = event.currentTarget.scrollTop <= 0 ? event.touches[0]?.clientY : undefined;
      }}
      onTouchMove={(event) => {
        const y = event.touches[0]?.clientY;
        if (from.current === undefined || y === undefined) return;
        setPulled(Math.max(0, Math.min(FAR + 16, (y - from.current) / 2)));
      }}
      onTouchEnd={end}
      onTouchCancel={end}
    >
      <div class="pulled" style={{ height: pulled }} aria-hidden="true">
        {pulled > 12 && (pulled >= FAR ? `Release to refresh, ${since}` : `Pull to refresh, ${since}`)}
      </div>
      {children}
    </div>
  );
}
