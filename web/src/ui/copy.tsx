// A button that copies a text and says that it did.

import { Check, Copy } from "lucide";
import { useState } from "preact/hooks";
import { say } from "../app";
import { Icon } from "./icon";

/** True where it was copied; else it is said that it was not: an address that browsers do not trust has no clipboard. */
export async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    say("This browser does not allow copying from this page");
    return false;
  }
}

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    if (!(await copied(text))) return;
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" class="plain copy" aria-label={done ? "Copied" : label} onClick={copy}>
      <Icon of={done ? Check : Copy} size={15} />
    </button>
  );
}
