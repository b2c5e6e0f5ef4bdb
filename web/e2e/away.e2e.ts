// A phone that was away: offline, cut off, closed, no longer let in.

import { describe, expect, test } from "vitest";
import { shot } from "./browser";
import { type Stage, stages, until } from "./stage";
import { commands, keeps, long, quiet, text } from "./talk";

const begin = stages();

describe("away", () => {
  test("what happened while the connection was cut is there after it, once, and the place is kept", async () => {
    const { page, player, address } = await begin(quiet);
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("General greetings").waitFor();
    for (let round = 0; round < 5; round += 1) {
      player.cut();
      const recorded = text("assistant", `after cut ${round}`).message;
      player.emit("s1", {
        type: "message_recorded",
        source: "session_file",
        changed: false,
        message: recorded,
      });
      await page.getByText(`after cut ${round}`).waitFor();
    }
    for (let round = 0; round < 5; round += 1)
      expect(await page.getByText(`after cut ${round}`).count()).toBe(1);
    expect(player.heard.filter(({ type }) => type === "subscribe").at(-1)).toMatchObject({ epoch: 0 });
  });

  test("offline: the list and the transcript stay, a prompt waits, and goes out on return", async () => {
    const { page, player, address, context } = await begin(quiet);
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("General greetings").waitFor();
    await context.setOffline(true);
    player.cut();
    await page.locator(".trouble:visible", { hasText: "Offline" }).waitFor();
    await page.getByRole("textbox", { name: "Prompt" }).fill("written in a tunnel");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("Will be sent when reconnected").waitFor();
    await context.setOffline(false);
    await until("it went out", () => commands(player).length === 1);
    expect(commands(player)[0]?.command).toEqual({ type: "prompt", text: "written in a tunnel" });
  });

  test("a prompt whose reply never came outlives the page, and is sent once more with the same id", async () => {
    const { page, player, address } = await begin(quiet);
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("General greetings").waitFor();
    player.mute = true;
    await page.getByRole("textbox", { name: "Prompt" }).fill("said into a dead line");
    await page.getByRole("button", { name: "Send" }).click();
    const waiting = page.getByRole("region", { name: "Outbox" });
    await waiting.getByText("Sending").waitFor();
    await waiting.getByText("said into a dead line").waitFor();
    await shot(page, "phone-light-on-its-way");
    player.mute = false;
    await page.reload();
    await until("it was sent again", () => commands(player).length === 2);
    const [first, second] = commands(player);
    expect(second?.id).toBe(first?.id);
    expect(second?.command).toEqual({ type: "prompt", text: "said into a dead line" });
    await until("it waits no longer", () =>
      page.evaluate(() => localStorage.getItem("pollux.outbox") === null),
    );
    expect(await waiting.count()).toBe(0);
  });

  test("one that got no reply, and after which somebody spoke, is not sent late without being asked", async () => {
    const { page, player, address } = await begin(quiet);
    await page.addInitScript(() => {
      if (!location.protocol.startsWith("http") || localStorage.getItem("pollux.past")) return;
      const sent = Date.now() - 120_000;
      const letter = { id: "l1", sessionId: "s1", text: "from before", at: sent, seq: 1, asks: false, sent };
      localStorage.setItem("pollux.outbox", JSON.stringify([letter]));
      localStorage.setItem("pollux.past", "1");
    });
    player.emit("s1", { type: "turn_started", source: "acp", prompt: "somebody at the desk" });
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("Not confirmed. Check whether it arrived.").waitFor();
    expect(commands(player)).toEqual([]);
    await page.getByRole("button", { name: "Discard" }).click();
    await page.getByRole("region", { name: "Outbox" }).waitFor({ state: "detached" });
  });

  test("another window of the app shows what waits, and what was thrown away in one is gone in both", async () => {
    const { page, player, address, context } = await begin(quiet);
    const second = await context.newPage();
    for (const one of [page, second]) {
      await one.goto(`${address}/#/s/s1`);
      await one.getByText("General greetings").waitFor();
    }
    await context.setOffline(true);
    player.cut();
    await page.locator(".trouble:visible", { hasText: "Offline" }).waitFor();
    await page.getByRole("textbox", { name: "Prompt" }).fill("in two places");
    await page.getByRole("button", { name: "Send" }).click();
    await second.getByRole("region", { name: "Outbox" }).getByText("in two places").waitFor();
    await second.getByRole("button", { name: "Discard" }).click();
    await page.getByRole("region", { name: "Outbox" }).waitFor({ state: "detached" });
  });

  test("a phone whose own store never answers opens all the same", async () => {
    const { page, address } = await begin(quiet);
    await page.addInitScript(() => {
      IDBFactory.prototype.open = () => ({}) as IDBOpenDBRequest;
    });
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("General greetings").waitFor();
  });

  test("without a connection nobody is asked for older messages, and nothing is said of it", async () => {
    const { page, player, address } = await begin((player) => long(player, 300));
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("message number 299").waitFor();
    player.lost = true;
    player.cut();
    await page.locator(".trouble:visible", { hasText: "Offline" }).waitFor();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    const rows = page.locator(".rows");
    const top = () => rows.evaluate((element) => element.scrollTop);
    await rows.hover();
    await until("it is at its top", async () => {
      await page.mouse.wheel(0, -2000);
      return (await top()) <= 0;
    });
    await page.getByText("Older messages").waitFor();
    expect(asked.filter((path) => path.endsWith("/messages"))).toEqual([]);
    expect(await page.locator(".toast").count()).toBe(0);
    player.lost = false;
    // The app also retries by itself, and the button goes when that comes first.
    const retry = page.getByRole("button", { name: "Retry" }).first();
    if (await retry.isVisible()) await retry.click({ timeout: 1_000 }).catch(() => undefined);
    await until("it is asked again", () => asked.some((path) => path.endsWith("/messages")), 40_000);
  });

  test("what was written offline stands behind what waits in the queue", async () => {
    const { page, player, address, context } = await begin(quiet);
    player.change("s1", { status: "working", queue: [{ id: "k1", text: "before", by: "Ada's phone" }] });
    await page.goto(`${address}/#/s/s1`);
    await page.getByRole("region", { name: "Queue" }).waitFor();
    await context.setOffline(true);
    player.cut();
    await page.locator(".trouble:visible", { hasText: "Offline" }).waitFor();
    await page.getByRole("textbox", { name: "Prompt" }).fill("after");
    await page.getByRole("button", { name: "Queue", exact: true }).click();
    await page.getByRole("region", { name: "Outbox" }).waitFor();
    expect(await page.locator("section.queue .letter").allInnerTexts()).toEqual(["before", "after"]);
  });

  test("offline: where somebody else spoke meanwhile, it asks before it sends", async () => {
    const { page, player, address, context } = await begin(quiet);
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("General greetings").waitFor();
    await context.setOffline(true);
    player.cut();
    await page.locator(".trouble:visible", { hasText: "Offline" }).waitFor();
    await page.getByRole("textbox", { name: "Prompt" }).fill("old news");
    await page.getByRole("button", { name: "Send" }).click();
    const recorded = text("user", "somebody at the desk").message;
    player.emit("s1", {
      type: "message_recorded",
      source: "session_file",
      changed: false,
      message: recorded,
    });
    await context.setOffline(false);
    await page.getByText("The session has changed since").waitFor();
    expect(commands(player)).toEqual([]);
    await page.getByRole("button", { name: "Send now" }).click();
    await until("it went out", () => commands(player).length === 1);
  });

  test("while you were away: what happened is told in a line, with a link to where it began", async () => {
    const { page, player, address } = await begin(long);
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("message number 119").waitFor();
    await page.goto("about:blank");
    const done = text("assistant", "All prices are right now").message;
    const edit = { kind: "mutation" as const, path: "/home/ada/shop/cart.ts", derived: {} };
    player.emit(
      "s1",
      { type: "turn_started", source: "acp", prompt: "go on" },
      { type: "tool_started", source: "acp", id: "x1", name: "replace", input: {}, meaning: edit },
      {
        type: "tool_ended",
        source: "acp",
        id: "x1",
        name: "replace",
        status: "success",
        changed: false,
        meaning: edit,
      },
      { type: "message_recorded", source: "session_file", changed: false, message: done },
      { type: "turn_ended", source: "acp", stop_reason: "end_turn" },
    );
    // Two hours later.
    await page.addInitScript(() => {
      if (!location.protocol.startsWith("http")) return;
      const past = localStorage.getItem("pollux.past");
      if (past === null) localStorage.setItem("pollux.here", String(Date.now() - 7_200_000));
      localStorage.setItem("pollux.past", "1");
    });
    player.change("s1", { updated_at: new Date().toISOString() });
    await page.goto(`${address}/#/`);
    const away = page.getByRole("region", { name: "While you were away" });
    await away.getByText("1 turn, edited cart.ts").waitFor();
    await away.getByText("All prices are right now").waitFor();
    await shot(page, "phone-light-away");
    await away.getByRole("link").click();
    await page.locator(".said", { hasText: "All prices are right now" }).waitFor();
  });

  test("the app opens without a connection and shows what it kept", async () => {
    const { page, player, address, context } = await begin(quiet);
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("General greetings").waitFor();
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    await page.reload();
    await page.getByText("General greetings").waitFor();
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
    // As after an update: another page is kept, with a file that this one does not name.
    await page.evaluate(async () => {
      const cache = await caches.open("pollux-shell-1");
      await cache.put("/", new Response("the page before"));
      await cache.put("/assets/before.js", new Response("before"));
    });
    await page.reload();
    const before = () => page.evaluate(async () => (await caches.match("/assets/before.js")) !== undefined);
    await until("files of the version before are gone", async () => !(await before()));
    await until("the phone kept it", () => keeps(page, "General greetings"));
    await context.setOffline(true);
    player.cut();
    await page.reload();
    await page.getByText("General greetings").waitFor();
    await page.locator(".trouble:visible", { hasText: "Offline" }).waitFor();
  });

  /** The app, with all that it needs to open without a connection. */
  async function installed(): Promise<Stage> {
    const stage = await begin(quiet);
    const { page, address } = stage;
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("General greetings").waitFor();
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    await page.reload();
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
    await page.getByText("General greetings").waitFor();
    await until("the phone kept it", () => keeps(page, "General greetings"));
    return stage;
  }

  test.each([
    ["a proxy's page", "/", "<!doctype html><title>Who are you?</title>"],
    ["a page whose files do not come", "/", '<!doctype html><a href="/assets/next.js">next</a>'],
    ["a file that somebody looks at", "/icon.svg", undefined],
  ])("the app that opens without a connection is not replaced by %s", async (_what, path, other) => {
    const { page, player, address, context } = await installed();
    player.page = other;
    // With the second one, the first has been dealt with.
    for (let time = 0; time < 2; time += 1) await page.goto(address + path);
    await page.goto("about:blank");
    await context.setOffline(true);
    player.cut();
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("General greetings").waitFor();
  });

  test("behind a proxy that has lost the daemon the app opens all the same", async () => {
    const { page, player } = await installed();
    player.lost = true;
    player.cut();
    await page.reload();
    await page.getByText("General greetings").waitFor();
    await page.locator(".trouble:visible", { hasText: "Offline" }).waitFor();
  });

  test("a device that is no longer let in comes to the door, and keeps nothing of what it was shown", async () => {
    const { page, player, address } = await begin(quiet);
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("General greetings").waitFor();
    await until("the phone kept it", () => keeps(page, "General greetings"));
    await page.evaluate(() => localStorage.setItem("pollux.new./home/ada/shop", "{}"));
    player.refuses = true;
    player.cut();
    await page.getByText("Pair this device with Pollux.").waitFor();
    await until("the phone forgot it", async () => !(await keeps(page, "General greetings")));
    const folders = await page.evaluate(() =>
      Object.keys(localStorage).filter((key) => key.startsWith("pollux.new.")),
    );
    expect(folders).toEqual([]);
  });
});
