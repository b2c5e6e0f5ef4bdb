// What failed, and what to do about it.

import type { ComponentChildren } from "preact";
import { sentence } from "../state/words";
import { CopyButton } from "./copy";

type Props = {
  problem: { message: string; hint?: string };
  /** What somebody wrote, which would be lost otherwise. */
  words?: string | undefined;
  /** What can be done about it. */
  children?: ComponentChildren;
};

export function ProblemNotice({ problem, words, children }: Props) {
  return (
    <div class="notice error" role="alert">
      <div>
        <p>{sentence(problem.message)}</p>
        {problem.hint && <p class="hint">{sentence(problem.hint)}</p>}
        {words && (
          <p class="letter" dir="auto">
            {words}
          </p>
        )}
      </div>
      {/* Of many words the first are seen. */}
      {words && <CopyButton text={words} label="Copy what you wrote" />}
      {children}
    </div>
  );
}
