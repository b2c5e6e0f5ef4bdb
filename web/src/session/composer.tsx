// The composer: always usable. Send, queue while the agent works, stop, or stop and send.

import { ArrowUp, CornerDownRight, ListPlus, Play, Square } from "lucide";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Summary } from "../api/types";
import { prompt, send, state } from "../app";
import { go } from "../route";
import { read, write } from "../settings";
import { useStore } from "../store";
import { Icon } from "../ui/icon";
import { ModeChip, ModelChip } from "./chips";

export function Composer({ session }: { session: Summary }) {
  const scopes = useStore(state, (now) => now.hello?.scopes);
  const key = `pollux.draft.${session.id}`;
  const [text, setText] = useState(() => read<string>(key, ""));
  const change = (next: string) => {
    setText(next);
    write(key, next);
  };
  const busy = session.status === "working" || session.status === "waiting" || session.status === "starting";
  const ready = text.trim() !== "";
  const submit = () => {
    if (!ready) return;
    prompt(session.id, text);
    change("");
  };
  const stopAndSend = () => {
    if (!ready) return;
    whenStopped(session.id, text);
    send(session.id, { type: "interrupt" });
    change("");
  };
  if (session.status === "exited" || !session.driver) return <Ended session={session} />;
  if (scopes && !scopes.includes("prompt")) {
    return <p class="composer only">This device may look, and nothing more.</p>;
  }
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Field text={text} busy={busy} onText={change} onSubmit={submit} />
      <div class="composer-row">
        <ModelChip session={session} />
        <ModeChip session={session} />
        <span class="spring" />
        {busy && ready && (
          <button type="button" class="button ghost stop-send" onClick={stopAndSend}>
            <Icon of={CornerDownRight} size={16} /> Stop and send
          </button>
        )}
        {busy && !ready && (
          <button
            type="button"
            class="send stop"
            aria-label="Stop the turn"
            onClick={() => send(session.id, { type: "interrupt" })}
          >
            <Icon of={Square} size={16} />
          </button>
        )}
        {(!busy || ready) && (
          <button type="submit" class="send" disabled={!ready} aria-label={busy ? "Queue" : "Send"}>
            <Icon of={busy ? ListPlus : ArrowUp} size={20} />
          </button>
        )}
      </div>
    </form>
  );
}

type FieldProps = { text: string; busy: boolean; onText: (text: string) => void; onSubmit: () => void };

function Field({ text, busy, onText, onSubmit }: FieldProps) {
  const ref = useRef<HTMLTextAreaElement>(null);
  // Where the style sheet cannot let it grow, this does.
  useEffect(() => {
    const field = ref.current;
    if (!field || CSS.supports("field-sizing", "content")) return;
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight}px`;
  }, [text]);
  return (
    <textarea
      ref={ref}
      rows={1}
      dir="auto"
      value={text}
      enterkeyhint="enter"
      placeholder={busy ? "Queue a prompt" : "Message Gemini"}
      aria-label="Prompt"
      onInput={(event) => onText(event.currentTarget.value)}
      onKeyDown={(event) => {
        // A key that ends a composition (Japanese, Chinese, Korean) is not a key that sends.
        if (event.key !== "Enter" || event.isComposing || event.keyCode === 229) return;
        const asks = event.metaKey || event.ctrlKey;
        if (asks || (desk() && !event.shiftKey)) {
          event.preventDefault();
          onSubmit();
        }
      }}
    />
  );
}

/** A device with a keyboard: there Enter sends. On a phone it begins a line. */
function desk(): boolean {
  return window.matchMedia("(hover: hover) and (pointer: fine)").matches;
}

/** Sends a prompt when the turn that runs has stopped. */
function whenStopped(sessionId: string, text: string): void {
  const forget = state.watch(() => {
    const session = state.value.sessions[sessionId];
    if (session && session.status !== "idle" && session.status !== "error") return;
    forget();
    if (session) prompt(sessionId, text);
  });
}

function Ended({ session }: { session: Summary }) {
  return (
    <div class="composer only">
      <span>{session.driver ? "This session has ended." : "Of a plain terminal: to be read here."}</span>
      <button type="button" class="button primary" onClick={() => go({ at: "new", resume: session.id })}>
        <Icon of={Play} size={16} /> Resume
      </button>
    </div>
  );
}
