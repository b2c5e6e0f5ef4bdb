// What waits at the end of a transcript: prompts in the queue, commands that were refused, letters in the outbox.

import { Clock, Pencil, Play, Send, Trash2 } from "lucide";
import { useState } from "preact/hooks";
import type { Queued, Summary } from "../api/types";
import { discard, dispatch, outbox, post, send, state } from "../app";
import { PATIENCE } from "../link/machine";
import type { Sent } from "../state/model";
import type { Letter } from "../state/outbox";
import { useStore } from "../store";
import { useNow } from "../ui/clock";
import { focused } from "../ui/focus";
import { Icon } from "../ui/icon";
import { ProblemNotice } from "../ui/problem";

export function Waiting({ session }: { session: Summary }) {
  const sent = useStore(state, (now) => now.sent);
  const failed = Object.entries(sent).filter(
    ([, one]) => one.sessionId === session.id && troubleOf(one) !== undefined,
  );
  // While the turn that was stopped still ends, there is nothing to go on with.
  const busy = session.status === "working" || session.status === "waiting";
  return (
    <>
      {failed.map(([id, one]) => (
        <Refused key={id} id={id} sent={one} />
      ))}
      {session.queue.length > 0 && (
        <section class="queue" aria-label="Queue">
          <header>
            <span>{session.held ? "Queue paused" : "Queued"}</span>
            {session.held && !busy && (
              <button
                type="button"
                class="plain small"
                onClick={() => send(session.id, { type: "continue" })}
              >
                <Icon of={Play} size={14} /> Resume
              </button>
            )}
          </header>
          {session.queue.map((queued) => (
            <InQueue key={queued.id} session={session} queued={queued} />
          ))}
        </section>
      )}
    </>
  );
}

function troubleOf(sent: Sent): { message: string; hint?: string } | undefined {
  if (sent.problem) return sent.problem;
  return sent.reply && "refused" in sent.reply ? sent.reply.refused : undefined;
}

function Refused({ id, sent }: { id: string; sent: Sent }) {
  const trouble = troubleOf(sent);
  if (!trouble) return null;
  return (
    <ProblemNotice problem={trouble} words={sent.text}>
      <button type="button" class="plain small" onClick={() => dispatch({ type: "forget", id })}>
        Dismiss
      </button>
    </ProblemNotice>
  );
}

function InQueue({ session, queued }: { session: Summary; queued: Queued }) {
  const [editing, setEditing] = useState<string | undefined>(undefined);
  const save = () => {
    if (editing !== undefined && editing.trim() !== "" && editing !== queued.text) {
      send(session.id, { type: "edit", queued: queued.id, text: editing });
    }
    setEditing(undefined);
  };
  if (editing !== undefined) {
    return (
      <div class="queued editing">
        <textarea
          ref={focused}
          dir="auto"
          aria-label="Queued prompt"
          value={editing}
          onInput={(event) => setEditing(event.currentTarget.value)}
        />
        <button type="button" class="button primary" onClick={save}>
          Save
        </button>
      </div>
    );
  }
  return (
    <div class="queued">
      <Icon of={Clock} size={15} />
      <span class="letter" dir="auto">
        {queued.text}
      </span>
      <button type="button" class="plain" aria-label="Edit prompt" onClick={() => setEditing(queued.text)}>
        <Icon of={Pencil} size={15} />
      </button>
      <button
        type="button"
        class="plain"
        aria-label="Cancel prompt"
        onClick={() => send(session.id, { type: "cancel", queued: queued.id })}
      >
        <Icon of={Trash2} size={15} />
      </button>
    </div>
  );
}

const isUnderWay = ({ sent, asks }: Letter): boolean => sent !== undefined && !asks;

/** What is to be known of those that wait. */
function headOf(letters: readonly Letter[]): string {
  const asking = letters.filter(({ asks }) => asks);
  if (asking.some(({ sent }) => sent !== undefined)) return "Not confirmed. Check whether it arrived.";
  if (asking.length > 0) return "Written offline. The session has changed since.";
  return letters.every(isUnderWay) ? "Sending" : "Will be sent when reconnected";
}

export function Outbox({ sessionId }: { sessionId: string }) {
  const all = useStore(outbox, (now) => now).filter((letter) => letter.sessionId === sessionId);
  const now = useNow(all.some(isUnderWay));
  // Most are confirmed before anybody could read that they are not.
  const letters = all.filter((letter) => !isUnderWay(letter) || now - (letter.sent ?? 0) > PATIENCE);
  if (letters.length === 0) return null;
  return (
    <section class="queue" aria-label="Outbox">
      <header>
        <span>{headOf(letters)}</span>
      </header>
      {letters.map((letter) => (
        <div class="queued" key={letter.id}>
          <Icon of={Clock} size={15} />
          <span class="letter" dir="auto">
            {letter.text}
          </span>
          {letter.asks && (
            <button type="button" class="plain" aria-label="Send now" onClick={() => post(letter)}>
              <Icon of={Send} size={15} />
            </button>
          )}
          {!isUnderWay(letter) && (
            <button type="button" class="plain" aria-label="Discard" onClick={() => discard(letter)}>
              <Icon of={Trash2} size={15} />
            </button>
          )}
        </div>
      ))}
    </section>
  );
}
