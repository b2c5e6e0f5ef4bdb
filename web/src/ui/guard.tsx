// What cannot be drawn takes nothing else with it: in its place stands what to do, and the rest of the app goes on.

import type { ComponentChildren } from "preact";
import { useErrorBoundary } from "preact/hooks";

export function Guard({ children }: { children: ComponentChildren }) {
  const [error, again] = useErrorBoundary();
  if (!error) return <>{children}</>;
  return (
    <div class="nothing" role="alert">
      <p>Cannot display this: {error instanceof Error ? error.message : String(error)}</p>
      <button type="button" class="plain" onClick={again}>
        Try again
      </button>
    </div>
  );
}
