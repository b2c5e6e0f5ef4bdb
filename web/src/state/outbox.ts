// Prompts that the daemon has not confirmed yet, kept through the end of the page. Those that were written without a
// connection go out on return only if nobody spoke in the session meanwhile; else the person is asked. Pure.

import type { Event, Summary } from "../api/types";

export type Letter = {
  id: string;
  sessionId: string;
  text: string;
  /** Pictures that the daemon has already. */
  images?: readonly string[];
  at: number;
  /** The number of the last event that the writer could know of. */
  seq: number;
  /** Something happened since: the person decides. */
  asks: boolean;
  /** When it was handed to the connection, if it was. */
  sent?: number;
};

/** What got no reply is sent again with the same id, which the daemon runs once, for this long. */
export const RESEND_FOR = 60_000;

export type Sorted = { send: readonly Letter[]; keep: readonly Letter[] };

/** Whether an event is somebody who spoke, or something that a writer would want to know first. */
export function speaks(event: Event): boolean {
  switch (event.type) {
    case "turn_started":
    case "asked":
    case "answered":
    case "session_ended":
    case "unread":
      return true;
    case "message_recorded":
      return event.message.role === "user" && event.message.meta !== true;
    case "history_rewritten":
      return event.reason !== "retried";
    default:
      return false;
  }
}

/** Which letters go out now that the list of sessions is true again. `quiet` are those after which nobody spoke. */
export function sort(
  letters: readonly Letter[],
  sessions: Readonly<Record<string, Summary>>,
  quiet: ReadonlySet<string> = new Set(),
  now = Number.POSITIVE_INFINITY,
): Sorted {
  const send: Letter[] = [];
  const keep: Letter[] = [];
  // After the first letter of a session the session changes by our own doing: its others follow it.
  const going = new Set<string>();
  for (const letter of letters) {
    const session = sessions[letter.sessionId];
    const again = letter.sent !== undefined && now - letter.sent < RESEND_FOR;
    const still = session !== undefined && (again || session.seq <= letter.seq || quiet.has(letter.id));
    if (!letter.asks && (still || going.has(letter.sessionId))) {
      send.push(letter);
      going.add(letter.sessionId);
    } else {
      keep.push({ ...letter, asks: true });
    }
  }
  return { send, keep };
}
