// A fresh player and a fresh phone for each test.

import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { type Faults, launch, OUT, open, PHONE } from "./browser";
import { Player } from "./player";

export type Stage = {
  player: Player;
  address: string;
  context: BrowserContext;
  page: Page;
  faults: Faults;
  /** One more device that looks at the same thing. */
  other: () => Promise<{ page: Page; faults: Faults }>;
  end: () => Promise<void>;
};

export async function stage(
  browser: Browser,
  set: (player: Player) => void,
  options: object = PHONE,
): Promise<Stage> {
  const player = new Player(OUT);
  set(player);
  const address = await player.start();
  const context = await browser.newContext(options);
  const { page, faults } = await open(context);
  const contexts = [context];
  const other = async () => {
    const another = await browser.newContext(options);
    contexts.push(another);
    return open(another);
  };
  const end = async () => {
    await Promise.all(contexts.map((one) => one.close()));
    await player.stop();
  };
  return { player, address, context, page, faults, other, end };
}

/** A browser for the tests of one file, and in it a stage whenever one of them wants one. No page may have had a fault. */
export function stages(kind?: Parameters<typeof launch>[0]) {
  let browser: Browser;
  let begun: Stage[] = [];
  beforeAll(async () => {
    browser = await launch(kind);
  });
  afterAll(() => browser?.close());
  afterEach(async () => {
    const all = begun;
    begun = [];
    await Promise.all(all.map((one) => one.end()));
    expect(all.flatMap(({ faults }) => faults)).toEqual([]);
  });
  return async (set: (player: Player) => void, options: object = PHONE): Promise<Stage> => {
    const one = await stage(browser, set, options);
    begun.push(one);
    return one;
  };
}

/** Waits until a transcript stands still: all that scrolling and drawing bring is there, and the same in two looks. */
export async function still(page: Page): Promise<void> {
  const look = () =>
    page.locator(".rows").evaluate(async (rows) => {
      // What is scrolled is told to the page with one frame, and drawn with the next.
      for (let n = 0; n < 2; n += 1) await new Promise(requestAnimationFrame);
      return `${rows.scrollTop} ${rows.scrollHeight} ${rows.innerHTML.length}`;
    });
  let before = "";
  await until("nothing moves any more", async () => {
    const now = await look();
    const same = now === before;
    before = now;
    return same;
  });
}

/** Waits until something is so. */
export async function until(what: string, is: () => boolean | Promise<boolean>, ms = 10_000): Promise<void> {
  const end = Date.now() + ms;
  while (!(await is())) {
    if (Date.now() > end) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
