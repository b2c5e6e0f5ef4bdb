// The door: a code lets this device in, once.

import { Check, KeyRound, QrCode, X } from "lucide";
import { useEffect, useState } from "preact/hooks";
import { api, problemOf } from "../api/http";
import type { Me, Problem, Scope } from "../api/types";
import { connection } from "../app";
import { renewCalls } from "../push";
import { go } from "../route";
import { Badge, Icon } from "../ui/icon";
import { ProblemNotice } from "../ui/problem";
import { Uncalled } from "./notifications";

export function PairScreen({ code: given }: { code: string }) {
  const [code, setCode] = useState(given);
  const [busy, setBusy] = useState(false);
  const [name, setName] = useState(ownName);
  const [me, setMe] = useState<Me | undefined>(undefined);
  const [problem, setProblem] = useState<Problem | undefined>(undefined);
  useEffect(() => setCode(given), [given]);
  const pair = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      setMe(await api.pair(code.trim(), name.trim()));
      // The calls were for the device that it was before. Where it is not called any more, the settings say so.
      void renewCalls().catch(() => undefined);
    } catch (error) {
      setProblem(problemOf(error));
    } finally {
      setBusy(false);
    }
  };
  if (me) return <LetIn me={me} />;
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
        <p class="lead">Pair this device with Pollux.</p>
        <ol class="how">
          <li>
            <Icon of={QrCode} /> <span>On your machine, run</span> <code>pollux pair</code>
          </li>
          <li>
            <Icon of={KeyRound} /> <span>Scan the QR code, or type the pairing code here</span>
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
        <label class="name-field">
          <span>Device name</span>
          <input
            maxLength={60}
            autocomplete="off"
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        {problem && <ProblemNotice problem={problem} />}
        <button type="submit" class="button primary big" disabled={busy || code.trim() === ""}>
          {busy ? "Pairing" : "Pair this device"}
        </button>
        <p class="hint">
          A code works once and expires after a few minutes. You can revoke this device later.
        </p>
        <Uncalled />
      </form>
    </main>
  );
}

const SCOPES: Readonly<Record<Scope, string>> = {
  view: "View all sessions",
  prompt: "Send prompts, start and stop sessions",
  approve: "Answer questions and change the mode",
  admin: "Pair devices, share sessions, type into terminals",
};

/** What the device may do, before it does anything. */
function LetIn({ me }: { me: Me }) {
  return (
    <main class="door">
      <div class="door-card">
        <Badge size={56} />
        <h1>Paired</h1>
        <p class="lead">
          <b>{me.device}</b> can:
        </p>
        <ul class="scopes">
          {(Object.keys(SCOPES) as Scope[]).map((scope) => (
            <li key={scope} class={me.scopes.includes(scope) ? "" : "not"}>
              <Icon of={me.scopes.includes(scope) ? Check : X} size={18} />
              <span>{SCOPES[scope]}</span>
              <span class="sr">{me.scopes.includes(scope) ? "allowed" : "not allowed"}</span>
            </li>
          ))}
        </ul>
        <Uncalled />
        <button type="button" class="button primary big" onClick={enter}>
          Go to sessions
        </button>
      </div>
    </main>
  );
}

/** What is open was opened as the device that it was before, if as any. */
function enter(): void {
  go({ at: "inbox" }, true);
  connection.tell({ type: "anew" });
}

/** A first guess, which the person may change. */
function ownName(): string {
  const agent = navigator.userAgent;
  const kinds: [RegExp, string][] = [
    [/iPhone/, "iPhone"],
    [/iPad/, "iPad"],
    [/Android.*Mobile/, "Android phone"],
    [/Android/, "Android tablet"],
    [/Macintosh/, "Mac"],
    [/Windows/, "Windows computer"],
    [/Linux|X11/, "Linux computer"],
  ];
  return kinds.find(([pattern]) => pattern.test(agent))?.[1] ?? "";
}
