// Keys go to the agent in the order in which they were pressed: the next ones when the ones before have arrived.

import { send, state } from "../app";
import type { Press } from "../state/screen";

export class Typist {
  readonly #sessionId: string;
  #waiting: Press[] = [];
  #busy = false;

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  press(more: readonly Press[]): void {
    for (const press of more) {
      const last = this.#waiting.at(-1);
      // What was typed while others were on their way goes with one.
      if (last && "text" in last && !("keys" in last) && "text" in press)
        this.#waiting[this.#waiting.length - 1] = { ...press, text: last.text + press.text };
      else this.#waiting.push(press);
    }
    this.#next();
  }

  #next(): void {
    const press = this.#busy ? undefined : this.#waiting.shift();
    if (!press) return;
    this.#busy = true;
    const keys = "keys" in press ? [...press.keys] : [];
    const id = send(this.#sessionId, {
      type: "keys",
      keys,
      ...("text" in press ? { text: press.text } : {}),
    });
    const over = () => {
      const sent = state.value.sent[id];
      return sent?.reply !== undefined || sent?.problem !== undefined;
    };
    const next = () => {
      // What could not be sent, or was refused, is said; what was typed after it would be out of place.
      const reply = state.value.sent[id]?.reply;
      if (!reply || "refused" in reply) this.#waiting = [];
      this.#busy = false;
      this.#next();
    };
    if (over()) return next();
    const leave = state.watch(() => {
      if (!over()) return;
      leave();
      next();
    });
  }
}
