// A talk to try things on, and what is looked for in it.

import type { Page } from "playwright-core";
import type { ClientFrame, Event } from "../src/api/types";
import type { Player } from "./player";
import { message, summary } from "./scene";

export const text = (role: "user" | "assistant", said: string) =>
  message(role, [{ type: "text", text: said }]);
export const grew = (said: string): Event => ({ type: "text_grew", source: "acp", part: "text", text: said });
export const commands = (player: Player) =>
  player.heard.filter(
    (frame): frame is Extract<ClientFrame, { type: "command" }> & { at: number } => frame.type === "command",
  );

export function quiet(player: Player): void {
  player.add(summary("s1", { title: "A talk", updated_at: new Date().toISOString() }), [
    text("user", "Hello there"),
    text("assistant", "General greetings"),
  ]);
}

/** Whether the phone keeps these words for when there is no connection. It writes every two seconds. */
export function keeps(page: Page, words: string): Promise<boolean> {
  return page.evaluate(
    (looked) =>
      new Promise<boolean>((resolve) => {
        const open = indexedDB.open("keyval-store");
        open.onerror = () => resolve(false);
        open.onsuccess = () => {
          if (!open.result.objectStoreNames.contains("keyval")) return resolve(false);
          const all = open.result.transaction("keyval").objectStore("keyval").getAll();
          all.onsuccess = () => resolve(JSON.stringify(all.result).includes(looked));
          all.onerror = () => resolve(false);
        };
      }),
    words,
  );
}

export function long(player: Player, count = 120): void {
  const messages = Array.from({ length: count }, (_, n) =>
    text(n % 2 ? "assistant" : "user", `message number ${n}\n\nwith a second line`),
  );
  const seq = messages.at(-1)?.seq ?? 0;
  player.add(summary("s1", { title: "A long talk", messages: count, seq }), messages);
}
