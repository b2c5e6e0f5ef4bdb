// How full the model's window is: a ring, and behind it the numbers.

import { useState } from "preact/hooks";
import type { Summary, Usage } from "../api/types";
import { state } from "../app";
import { count } from "../state/words";
import { useStore } from "../store";
import { Sheet } from "../ui/sheet";

/** The window of today's Gemini models, in tokens, where the daemon does not say. */
const WINDOW = 1_048_576;
const AROUND = 2 * Math.PI * 9;

type Last = { usage: Usage; model: string | undefined };

function lastUsage(id: string): Last | undefined {
  const recorded = state.value.opened[id]?.messages.findLast(({ message }) => message.usage !== undefined);
  return recorded?.message.usage && { usage: recorded.message.usage, model: recorded.message.model };
}

export function UsageButton({ session }: { session: Summary }) {
  const [open, setOpen] = useState(false);
  useStore(state, (now) => now.opened[session.id]?.messages);
  const last = lastUsage(session.id);
  const window = session.context?.limit ?? WINDOW;
  const full = last ? Math.min(1, last.usage.total_tokens / window) : 0;
  const percent = last && full < 0.01 ? "<1" : `${Math.round(full * 100)}`;
  return (
    <>
      <button
        type="button"
        class="plain round ring"
        aria-label={`Context ${percent}% full`}
        onClick={() => setOpen(true)}
      >
        <svg width="26" height="26" viewBox="0 0 26 26" aria-hidden="true">
          <circle class="track" cx="13" cy="13" r="9" />
          <circle
            class={full > 0.8 ? "fill high" : "fill"}
            cx="13"
            cy="13"
            r="9"
            stroke-dasharray={`${Math.max(full, last ? 0.03 : 0) * AROUND} ${AROUND}`}
            transform="rotate(-90 13 13)"
          />
        </svg>
      </button>
      {open && (
        <Sheet title="Tokens" onClose={() => setOpen(false)}>
          {last ? (
            <Numbers last={last} window={window} percent={percent} />
          ) : (
            <p class="hint">No tokens counted yet</p>
          )}
          <dl class="facts">
            <dt>Session total</dt>
            <dd>{count(session.tokens)}</dd>
          </dl>
        </Sheet>
      )}
    </>
  );
}

function Numbers({ last, window, percent }: { last: Last; window: number; percent: string }) {
  const { usage, model } = last;
  return (
    <dl class="facts">
      <dt>Context</dt>
      <dd>
        {count(usage.total_tokens)} of {count(window)} ({percent}%)
      </dd>
      <dt>Last answer</dt>
      <dd>
        {count(usage.input_tokens)} in, {count(usage.output_tokens)} out, {count(usage.cached_tokens)} cached,{" "}
        {count(usage.thoughts_tokens)} thinking
      </dd>
      <dt>Model</dt>
      <dd>{model ?? "unknown"}</dd>
    </dl>
  );
}
