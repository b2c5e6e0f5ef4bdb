// Asks for the colours of code. The first code of a language takes a phone a second to read, in which the page must go on: it is
// done in another thread.

import type { Ask, Line, Told } from "./highlight";

type Lines = readonly Line[] | undefined;

let worker: Worker | undefined;
let asked = 0;
const waiting = new Map<number, (lines: Lines) => void>();

function begin(): Worker {
  const begun = new Worker(new URL("./highlight.ts", import.meta.url), { type: "module" });
  begun.addEventListener("message", ({ data }: MessageEvent<Told>) => {
    waiting.get(data.id)?.(data.lines);
    waiting.delete(data.id);
  });
  // Without a connection it may not be loaded. Then the code has no colours, and the next is a new attempt.
  begun.addEventListener("error", () => {
    worker = undefined;
    for (const done of waiting.values()) done(undefined);
    waiting.clear();
  });
  return begun;
}

export function colours(text: string, lang: string): Promise<Lines> {
  worker ??= begin();
  asked += 1;
  const ask: Ask = { id: asked, text, lang };
  const lines = new Promise<Lines>((resolve) => waiting.set(ask.id, resolve));
  worker.postMessage(ask);
  return lines;
}
