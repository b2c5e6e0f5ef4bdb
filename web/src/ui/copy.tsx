// A button that copies a text and says that it did.

import { Check, Copy } from "lucide";
import { useState } from "preact/hooks";
import { say } from "../app";
import { Icon } from "./icon";

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    } catch {
      say("This browser does not let the page copy");
    }
  };
  return (
    <button type="button" class="plain copy" aria-label={done ? "Copied" : label} onClick={copy}>
      <Icon of={done ? Check : Copy} size={15} />
    </button>
  );
}
