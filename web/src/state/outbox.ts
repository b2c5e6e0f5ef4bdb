// Prompts that were written without a connection. They go out on return only if nothing happened in the session
// meanwhile; else the person is asked. Pure.

import type { Summary } from "../api/types";

export type Letter = {
  id: string;
  sessionId: string;
  text: string;
  at: number;
  /** The number of the last event that the writer could know of. */
  seq: number;
  /** Something happened since: the person decides. */
  asks: boolean;
};

export type Sorted = { send: readonly Letter[]; keep: readonly Letter[] };

/** Which letters go out now that the list of sessions is true again. */
export function sort(letters: readonly Letter[], sessions: Readonly<Record<string, Summary>>): Sorted {
  const send: Letter[] = [];
  const keep: Letter[] = [];
  // After the first letter of a session the session changes by our own doing: its others follow it.
  const going = new Set<string>();
  for (const letter of letters) {
    const session = sessions[letter.sessionId];
    const still = session !== undefined && session.seq <= letter.seq;
    if (!letter.asks && (still || going.has(letter.sessionId))) {
      send.push(letter);
      going.add(letter.sessionId);
    } else {
      keep.push({ ...letter, asks: true });
    }
  }
  return { send, keep };
}
