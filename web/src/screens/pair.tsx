// The door: a code lets this device in, once.

import { KeyRound, QrCode } from "lucide";
import { useEffect, useState } from "preact/hooks";
import { api, problemOf } from "../api/http";
import type { Problem } from "../api/types";
import { connection } from "../app";
import { go } from "../route";
import { Badge, Icon } from "../ui/icon";

export function PairScreen({ code: given }: { code: string }) {
  const [code, setCode] = useState(given);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | undefined>(undefined);
  useEffect(() => setCode(given), [given]);
  const pair = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      await api.pair(code.trim());
      go({ at: "inbox" }, true);
      connection.tell({ type: "retry" });
    } catch (error) {
      setProblem(problemOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="door">
      <form
        class="door-card"
        onSubmit={(event) => {
          event.preventDefault();
          void pair();
        }}
      >
        <Badge size={56} />
        <h1>Pollux</h1>
        <p class="lead">Let this device in.</p>
        <ol class="how">
          <li>
            <Icon of={QrCode} /> <span>On your machine, run</span> <code>pollux pair</code>
          </li>
          <li>
            <Icon of={KeyRound} /> <span>Scan its code, or type it here</span>
          </li>
        </ol>
        <input
          class="code-field"
          autocomplete="one-time-code"
          autocapitalize="characters"
          spellcheck={false}
          placeholder="CODE"
          aria-label="Pairing code"
          value={code}
          onInput={(event) => setCode(event.currentTarget.value)}
        />
        {problem && (
          <p class="notice error" role="alert">
            {problem.message} {problem.hint}
          </p>
        )}
        <button type="submit" class="button primary big" disabled={busy || code.trim() === ""}>
          {busy ? "Knocking" : "Pair this device"}
        </button>
        <p class="hint">
          A code works once, for two minutes. The device gets a key of its own, which you can take back.
        </p>
      </form>
    </main>
  );
}
