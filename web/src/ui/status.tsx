// The status of a session: by colour, by shape and by word, with its age.

import {
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CircleX,
  Hourglass,
  type IconNode,
  LoaderCircle,
  Moon,
} from "lucide";
import type { ComponentChildren } from "preact";
import type { Summary } from "../api/types";
import { age, span, standing, type Tone } from "../state/words";
import { useNow } from "./clock";
import { Icon } from "./icon";

const SHAPES: Readonly<Record<Tone, IconNode>> = {
  need: CircleAlert,
  work: LoaderCircle,
  stall: Hourglass,
  done: CircleCheck,
  fail: CircleX,
  idle: CircleDashed,
  gone: Moon,
};

export function StatusChip({ session, turnSince }: { session: Summary; turnSince?: number | undefined }) {
  const { tone, word, since } = standing(session, turnSince);
  const ticks = tone === "work" || tone === "stall" || tone === "need";
  const now = useNow(ticks);
  const aged = since !== undefined && ticks;
  return (
    <ToneChip tone={tone} word={word}>
      {aged && <span class="age">{tone === "need" ? age(now - since) : span(now - since)}</span>}
    </ToneChip>
  );
}

type ToneProps = { tone: Tone; word: string; children?: ComponentChildren };

/** A word with its colour and its shape. */
export function ToneChip({ tone, word, children }: ToneProps) {
  return (
    <span class={`chip tone-${tone}`}>
      <Icon of={SHAPES[tone]} size={14} spin={tone === "work"} />
      <span>{word}</span>
      {children}
    </span>
  );
}
