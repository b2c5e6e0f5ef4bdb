// Icons: drawings of the lucide set, drawn without any markup from strings.

import type { IconNode } from "lucide";
import { h } from "preact";

export function Icon({ of, size = 18, spin = false }: { of: IconNode; size?: number; spin?: boolean }) {
  return (
    <svg
      class={spin ? "icon spin" : "icon"}
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {of.map(([tag, attributes]) => h(tag, { ...attributes, key: JSON.stringify(attributes) }))}
    </svg>
  );
}

/** The agent's badge: a four-pointed star on its blue. */
export function Badge({ size = 36 }: { size?: number }) {
  return (
    <svg class="badge" width={size} height={size} viewBox="0 0 36 36" role="img" aria-label="Gemini">
      <rect width="36" height="36" rx="10" fill="#4285f4" />
      <path
        d="M18 7q1.400 9.600 11 11q-9.600 1.400-11 11q-1.400-9.600-11-11q9.600-1.400 11-11Z"
        fill="#fff"
      />
    </svg>
  );
}
