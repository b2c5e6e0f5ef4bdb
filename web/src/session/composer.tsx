// The composer: always usable. Send, queue while the agent works, stop, or stop and send.

import { ArrowUp, CornerDownRight, ListPlus, Play, Square } from "lucide";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Summary } from "../api/types";
import { connection, prompt, say, send, state } from "../app";
import { go } from "../route";
import { read, write } from "../settings";
import { taken } from "../state/complete";
import { useStore } from "../store";
import { Icon } from "../ui/icon";
import { ModeChip, ModelChip } from "./chips";
import { Suggestions, useCompletion } from "./complete";
import { AttachButton, AttachedPictures, type Pictures, usePictures } from "./pictures";

const draftOf = (sessionId: string) => `pollux.draft.${sessionId}`;

export function Composer({ session }: { session: Summary }) {
  const scopes = useStore(state, (now) => now.hello?.scopes);
  const key = draftOf(session.id);
  const [text, setText] = useState(() => read<string>(key, ""));
  const change = (next: string) => {
    setText(next);
    write(key, next);
  };
  const pictures = usePictures();
  const names = pictures.all.flatMap(({ name }) => (name === undefined ? [] : [name]));
  const busy = session.status === "working" || session.status === "waiting" || session.status === "starting";
  const ready = (text.trim() !== "" || names.length > 0) && names.length === pictures.all.length;
  const sent = () => {
    change("");
    pictures.clear();
  };
  const submit = () => {
    if (!ready) return;
    prompt(session.id, text, names);
    sent();
  };
  const stopAndSend = () => {
    if (!ready) return;
    // What cannot be stopped now is not said later, when nobody asks for it any more.
    if (!connection.connected) return say("Not connected: the prompt was not sent");
    sent();
    whenStopped(session.id, text, names);
    send(session.id, { type: "interrupt" });
  };
  if (session.status === "exited" || !session.driver) return <Ended session={session} />;
  if (scopes && !scopes.includes("prompt")) {
    return <p class="composer only">Read-only device</p>;
  }
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <AttachedPictures pictures={pictures} />
      <Field
        session={session}
        text={text}
        busy={busy}
        pictures={pictures}
        onText={change}
        onSubmit={submit}
      />
      <div class="composer-row">
        <AttachButton pictures={pictures} />
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

type FieldProps = {
  session: Summary;
  text: string;
  busy: boolean;
  pictures: Pictures;
  onText: (text: string) => void;
  onSubmit: () => void;
};

function Field({ session, text, busy, pictures, onText, onSubmit }: FieldProps) {
  const ref = useRef<HTMLTextAreaElement>(null);
  const [caret, setCaret] = useState(text.length);
  const [at, setAt] = useState(0);
  const [closed, setClosed] = useState<string | undefined>(undefined);
  const found = useCompletion(session, text, caret);
  const completion = closed === text ? undefined : found;
  const index = Math.min(at, (completion?.offers.length ?? 1) - 1);
  // Where the style sheet cannot let it grow, this does.
  useEffect(() => {
    const field = ref.current;
    if (!field || CSS.supports("field-sizing", "content")) return;
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight}px`;
  }, [text]);
  const take = (choice: string) => {
    if (!completion) return;
    const next = taken(text, completion.begun, choice);
    onText(next.text);
    setCaret(next.caret);
    setAt(0);
    requestAnimationFrame(() => ref.current?.setSelectionRange(next.caret, next.caret));
  };
  /** True where a key was for the suggestions. */
  const steered = (key: string): boolean => {
    const offers = completion?.offers ?? [];
    if (offers.length === 0) return false;
    if (key === "ArrowDown") setAt((index + 1) % offers.length);
    else if (key === "ArrowUp") setAt((index + offers.length - 1) % offers.length);
    else if (key === "Tab" || key === "Enter") take(offers[index]?.value ?? "");
    else if (key === "Escape") setClosed(text);
    else return false;
    return true;
  };
  return (
    <div class="field">
      {completion && <Suggestions completion={completion} at={index} onTake={take} />}
      <textarea
        ref={ref}
        rows={1}
        dir="auto"
        value={text}
        enterkeyhint="enter"
        placeholder={busy ? "Queue a prompt" : "Message Gemini"}
        aria-label="Prompt"
        aria-controls={completion ? "suggestions" : undefined}
        aria-activedescendant={completion ? `suggestion-${index}` : undefined}
        onInput={(event) => {
          onText(event.currentTarget.value);
          setCaret(event.currentTarget.selectionStart);
        }}
        onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
        onPaste={(event) => {
          const files = [...(event.clipboardData?.files ?? [])];
          if (files.length === 0 || !pictures.able) return;
          event.preventDefault();
          pictures.attach(files);
        }}
        onKeyDown={(event) => {
          // A key that ends a composition (Japanese, Chinese, Korean) is not a key that sends.
          if (event.isComposing || event.keyCode === 229) return;
          if (steered(event.key)) {
            event.preventDefault();
            return;
          }
          if (event.key !== "Enter") return;
          const asks = event.metaKey || event.ctrlKey;
          if (asks || (desk() && !event.shiftKey)) {
            event.preventDefault();
            onSubmit();
          }
        }}
      />
    </div>
  );
}

/** A device with a keyboard: there Enter sends. On a phone it begins a line. */
function desk(): boolean {
  return window.matchMedia("(hover: hover) and (pointer: fine)").matches;
}

/** Sends a prompt when the turn that runs has stopped. Until then, and where the session ends instead, the words are its draft. */
function whenStopped(sessionId: string, text: string, images: readonly string[]): void {
  const draft = draftOf(sessionId);
  write(draft, text);
  const forget = state.watch(() => {
    const session = state.value.sessions[sessionId];
    if (session?.status === "working" || session?.status === "waiting" || session?.status === "starting")
      return;
    forget();
    if (session?.status === "idle" || session?.status === "error") {
      if (read(draft, "") === text) write(draft, "");
      return prompt(sessionId, text, images);
    }
    write(draft, text);
    say("The session ended. Your prompt was saved as a draft.");
  });
}

function Ended({ session }: { session: Summary }) {
  return (
    <div class="composer only">
      <span>{session.driver ? "This session has ended." : "Read-only (started outside Pollux)"}</span>
      <button type="button" class="button primary" onClick={() => go({ at: "new", resume: session.id })}>
        <Icon of={Play} size={16} /> Resume
      </button>
    </div>
  );
}
