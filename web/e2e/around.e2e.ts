// All around a talk: drafts and pictures, new sessions, pairing, the list, the agent's own screen.

import { describe, expect, test } from "vitest";
import type { ClientFrame, Picture } from "../src/api/types";
import { DESK, PHONE, shot } from "./browser";
import type { Player } from "./player";
import { conversation, scene, screen, summary } from "./scene";
import { stages, until } from "./stage";

const begin = stages();

const commands = (player: Player) =>
  player.heard.flatMap((frame) => (frame.type === "command" ? [(frame as Sent).command] : []));
type Sent = Extract<ClientFrame, { type: "command" }>;

function quiet(player: Player): void {
  player.add(summary("s1", { title: "A talk" }), conversation());
}

/** A picture of one pixel. */
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

describe("what is being written", () => {
  test("a slash at the beginning offers the agent's commands, by finger", async () => {
    const { page, address } = await begin(quiet);
    await page.goto(`${address}/#/s/s1`);
    const field = page.getByRole("textbox", { name: "Prompt" });
    await field.pressSequentially("/c");
    const list = page.getByRole("listbox", { name: "Suggestions" });
    await list.getByText("/compress").waitFor();
    expect(await list.getByRole("option").count()).toBe(3);
    await shot(page, "phone-light-complete");
    await list.getByText("/compress").tap();
    expect(await field.inputValue()).toBe("/compress ");
    await list.waitFor({ state: "detached" });
  });

  test("an at sign offers the project's files, by keys, and a blank in a path is written as the CLI reads it", async () => {
    const { page, player, address } = await begin(quiet, DESK);
    await page.goto(`${address}/#/s/s1`);
    const field = page.getByRole("textbox", { name: "Prompt" });
    await field.pressSequentially("look at @cart");
    await page.getByRole("option", { name: "src/cart.ts" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    expect(await field.inputValue()).toBe("look at @test/cart.test.ts ");
    await field.pressSequentially("and @notes");
    await page.getByRole("option", { name: "my notes.md" }).waitFor();
    await page.keyboard.press("Tab");
    expect(await field.inputValue()).toBe("look at @test/cart.test.ts and @my\\ notes.md ");
    expect(commands(player)).toEqual([]);
  });

  test("a picture is sent when it is chosen, and the prompt names it", async () => {
    const { page, player, address } = await begin(quiet);
    await page.goto(`${address}/#/s/s1`);
    await page
      .getByLabel("Add a picture")
      .setInputFiles({ name: "photo.png", mimeType: "image/png", buffer: PIXEL });
    await page.getByRole("img", { name: "Attachment" }).waitFor();
    await page.getByRole("textbox", { name: "Prompt" }).fill("What is this?");
    await shot(page, "phone-light-picture");
    await page.getByRole("button", { name: "Send" }).click();
    await until("it was sent", () => commands(player).length === 1);
    expect(player.posted).toContainEqual({
      path: "/api/v1/images",
      body: { media_type: "image/png", data: PIXEL.toString("base64") },
    });
    expect(commands(player)[0]).toEqual({
      type: "prompt",
      text: "What is this?",
      images: ["0123456789abcdef.png"],
    });
    await page.getByRole("img", { name: "Attachment" }).waitFor({ state: "detached" });
  });
});

test("a picture that the browser cannot read is said to be one, and holds up no prompt", async () => {
  const { page, player, address } = await begin(quiet);
  await page.goto(`${address}/#/s/s1`);
  const odd = { name: "photo.heic", mimeType: "image/heic", buffer: Buffer.from("no picture") };
  await page.getByLabel("Add a picture").setInputFiles(odd);
  await page.getByText("This browser cannot read this picture").waitFor();
  await page.getByRole("textbox", { name: "Prompt" }).fill("Without it, then");
  await page.getByRole("button", { name: "Send" }).click();
  await until("it was sent", () => commands(player).length === 1);
});

describe("a new session", () => {
  test("folders below an allowed one can be looked through", async () => {
    const { page, player, address } = await begin(quiet);
    await page.goto(`${address}/#/new`);
    await page.getByRole("button", { name: "Browse" }).click();
    await page.getByRole("button", { name: /^shop/ }).click();
    await page.getByRole("button", { name: "web" }).click();
    await shot(page, "phone-light-browse");
    await page.getByRole("button", { name: "Use web" }).click();
    await page.getByText("/home/ada/shop/web").waitFor();
    await page.getByRole("button", { name: "Start" }).click();
    await until("it was begun", () => player.posted.some(({ path }) => path === "/api/v1/sessions"));
    expect(player.posted.at(-1)?.body).toMatchObject({ cwd: "/home/ada/shop/web" });
  });

  test("begins in the folder that was offered first, whatever happens in another one meanwhile", async () => {
    const { page, player, address } = await begin(quiet, DESK);
    await page.goto(`${address}/#/new`);
    await page.locator(".place:has(:checked)").getByText("/home/ada/shop").waitFor();
    await page.locator(".row", { hasText: "A talk" }).waitFor();
    player.add(summary("s2", { title: "Elsewhere", cwd: "/home/ada/atlas" }));
    player.change("s2", { updated_at: new Date(Date.now() + 60_000).toISOString() });
    await page.locator(".row", { hasText: "Elsewhere" }).waitFor();
    await page.getByRole("button", { name: "Start" }).click();
    await until("it was begun", () => player.posted.some(({ path }) => path === "/api/v1/sessions"));
    expect(player.posted.at(-1)?.body).toMatchObject({ cwd: "/home/ada/shop" });
  });

  test("an old one is resumed in its own folder, also where the page was loaded for it", async () => {
    const it = await begin((player) => {
      quiet(player);
      const old = { title: "Notes", cwd: "/home/ada/notes", status: "exited" as const };
      player.add(summary("s2", { ...old, updated_at: "2026-01-05T10:00:00Z" }));
    });
    const { page, address } = it;
    await page.goto(`${address}/#/new/s2`);
    await page.locator(".place:has(:checked)").getByText("/home/ada/notes").waitFor();
  });
});

describe("pairing", () => {
  test("the device names itself and is told what it may do", async () => {
    const { page, player, address } = await begin(scene);
    player.refuses = true;
    await page.goto(`${address}/#pair=AB12-CD34`);
    const name = page.getByLabel("Device name");
    expect(await name.inputValue()).not.toBe("");
    await name.fill("Ada's phone");
    player.refuses = false;
    await page.getByRole("button", { name: "Pair this device" }).click();
    await page.getByText("Paired").waitFor();
    expect(player.posted).toEqual([
      { path: "/api/v1/pair", body: { code: "AB12-CD34", name: "Ada's phone" } },
    ]);
    expect(await page.locator(".scopes li:not(.not)").count()).toBe(3);
    await shot(page, "phone-light-let-in");
    await page.getByRole("button", { name: "Go to sessions" }).click();
    await page.getByText("Needs you").first().waitFor();
  });
});

describe.each([
  ["phone", PHONE],
  ["desk", DESK],
] as const)("the agent's own screen on a %s", (size, options) => {
  const picture = (more: Partial<Picture>): Picture => ({
    session_id: "s1",
    whole: true,
    columns: 80,
    fitted: false,
    rows: 24,
    cursor: [4, 4],
    title: "Gemini - shop",
    lines: [
      { row: 0, runs: [{ text: " ███ GEMINI", fg: "#4285f4", bold: true }] },
      { row: 2, runs: [{ text: "✦ " }, { text: "All tests pass.", fg: "2" }] },
      { row: 4, runs: [{ text: "> " }, { text: "Type your message", dim: true }] },
      {
        row: 6,
        runs: [
          { text: "~/shop (main*)", fg: "6" },
          { text: "   no sandbox   " },
          { text: "auto", inverse: true },
        ],
      },
    ],
    ...more,
  });

  test("is shown as it stands, changes row by row, and takes keys", async () => {
    const it = await begin((player) => {
      player.add(summary("s1", { title: "At the desk", driver: "terminal" }), conversation());
      player.onScreen = () => player.show(picture({}));
    }, options);
    const { page, player, address } = it;
    await page.goto(`${address}/#/s/s1`);
    await page.getByRole("tab", { name: "Terminal" }).click();
    await page.locator(".xterm-rows span", { hasText: "All tests pass." }).waitFor();
    player.show(
      picture({ whole: false, cursor: [4, 9], lines: [{ row: 2, runs: [{ text: "✦ Two fail." }] }] }),
    );
    const rows = page.locator(".xterm-rows");
    await rows.getByText("Two fail.").waitFor();
    await rows.getByText("no sandbox").waitFor();
    await shot(page, `${size}-light-screen`);
    await page.getByRole("button", { name: "Esc" }).click();
    await page.getByLabel("Type into the terminal").fill("/stats");
    await page.getByLabel("Type into the terminal").press("Enter");
    await until("both were sent", () => commands(player).length === 2);
    // The terminal itself takes keys too, in their order.
    await page.locator(".xterm-helper-textarea").focus();
    await page.keyboard.type("hello");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Control+c");
    const typed = () => commands(player).slice(2) as { keys: string[]; text?: string }[];
    await until("all was sent", () => typed().at(-1)?.keys.at(-1) === "C-c").catch((error: Error) => {
      throw new Error(`${error.message}: ${JSON.stringify(typed())}`);
    });
    expect(commands(player).slice(0, 2)).toEqual([
      { type: "keys", keys: ["Escape"] },
      { type: "keys", keys: ["Enter"], text: "/stats" },
    ]);
    expect(
      typed()
        .map(({ text = "" }) => text)
        .join(""),
    ).toBe("hello");
    expect(typed().flatMap(({ keys }) => keys)).toEqual(["Up", "C-c"]);
    // It has the colours that the agent gave, and the size that the desk has.
    const colour = (text: string) =>
      rows
        .locator("span", { hasText: text })
        .first()
        .evaluate((span) => getComputedStyle(span).color);
    expect(await colour("GEMINI")).toBe("rgb(66, 133, 244)");
    expect(await rows.locator("> div").count()).toBe(24);
    // Whoever has no mouse comes out of it again.
    await page.locator(".xterm-helper-textarea").focus();
    await page.keyboard.press("F6");
    await page.keyboard.press("Tab");
    expect(await page.locator(".xterm-helper-textarea:focus").count()).toBe(0);
    await page.getByRole("tab", { name: "Chat" }).click();
    await until("it is watched no more", () =>
      player.heard.some((frame) => (frame as { on?: boolean }).on === false),
    );
  });
});

test("of very many sessions a hundred are drawn, and more when they are asked for", async () => {
  const it = await begin((player) => {
    for (let n = 0; n < 250; n += 1) {
      const updated_at = new Date(Date.now() - n * 60_000).toISOString();
      player.add(summary(`s${n}`, { title: `Session number ${n}`, updated_at }));
    }
  });
  const { page, address } = it;
  await page.goto(address);
  const rows = page.locator(".group .row");
  await rows.first().getByText("Session number 0").waitFor();
  expect(await rows.count()).toBe(100);
  for (const all of [200, 250]) {
    await page.getByRole("button", { name: "Older sessions" }).click();
    await until("they are there", async () => (await rows.count()) === all);
  }
  // Whoever comes back from a search begins with a hundred.
  await page.getByRole("searchbox").fill("nothing like it");
  await page.getByRole("heading", { name: "Messages" }).waitFor();
  await page.getByRole("searchbox").fill("");
  await page.getByRole("button", { name: "Show 100 more" }).click();
  await page.getByRole("button", { name: "Show 50 more" }).click();
  await until("all are there", async () => (await rows.count()) === 250);
});

test("keys that were typed after one that was refused are not pressed", async () => {
  const it = await begin((player) => {
    player.add(summary("s1", { title: "At the desk", driver: "terminal" }), conversation());
    player.onScreen = () => player.show(screen({ session_id: "s1" }));
    // The reply takes its time, in which more is typed.
    player.mute = true;
  });
  const { page, player, address } = it;
  await page.goto(`${address}/#/s/s1`);
  await page.getByRole("tab", { name: "Terminal" }).click();
  for (const key of ["Esc", "Up", "Enter"])
    await page.getByRole("button", { name: key, exact: true }).click();
  await until("the first was sent", () => commands(player).length === 1);
  player.refuseLast("not while it asks");
  await page.getByRole("alert").getByText("not while it asks").waitFor();
  player.mute = false;
  await page.getByRole("button", { name: "Tab", exact: true }).click();
  await until("the next one was sent", () => commands(player).length > 1);
  expect(commands(player)).toEqual([
    { type: "keys", keys: ["Escape"] },
    { type: "keys", keys: ["Tab"] },
  ]);
});

test("a finger that scrolls the suggestions takes none of them, and one that taps does", async () => {
  const { page, context, address } = await begin(quiet, { ...PHONE, viewport: { width: 390, height: 360 } });
  await page.goto(`${address}/#/s/s1`);
  const field = page.getByRole("textbox", { name: "Prompt" });
  await field.fill("/");
  const option = page.getByRole("option", { name: /^\/clear/ });
  const box = await option.boundingBox();
  if (!box) throw new Error("it is not drawn");
  const cdp = await context.newCDPSession(page);
  const [x, y] = [box.x + 40, box.y + box.height / 2];
  await cdp.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [{ x, y }] });
  for (const by of [10, 20, 30, 40])
    await cdp.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [{ x, y: y - by }] });
  await cdp.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  expect(await field.inputValue()).toBe("/");
  await option.tap();
  await until("it was taken", async () => (await field.inputValue()) === "/clear ");
  expect(await field.evaluate((element) => element === document.activeElement)).toBe(true);
});

test("words that were refused can be had back whole", async () => {
  const { page, player, address } = await begin(quiet, {
    ...PHONE,
    permissions: ["clipboard-read", "clipboard-write"],
  });
  player.mute = true;
  await page.goto(`${address}/#/s/s1`);
  const words = Array.from({ length: 30 }, (_, n) => `line ${n} of what was meant`).join("\n");
  await page.getByRole("textbox", { name: "Prompt" }).fill(words);
  await page.getByRole("button", { name: "Send" }).click();
  await until("it was sent", () => commands(player).length === 1);
  player.refuseLast("not now");
  await page.getByRole("alert").getByText("not now").waitFor();
  await page.getByRole("button", { name: "Copy what you wrote" }).click();
  await until("it is copied", async () => {
    return (await page.evaluate(() => navigator.clipboard.readText())) === words;
  });
});

test("a theme that was chosen is that of what the system draws around the page too", async () => {
  const { page, address } = await begin(quiet, { ...PHONE, colorScheme: "light" });
  await page.goto(`${address}/#/settings`);
  const around = () =>
    page.evaluate(() => {
      const metas = [...document.querySelectorAll<HTMLMetaElement>('meta[name="theme-color"]')];
      return metas.map(({ content }) => content);
    });
  expect(await around()).toEqual(["#fbfbfc", "#101216"]);
  await page.getByText("Dark", { exact: true }).click();
  expect(await around()).toEqual(["#101216", "#101216"]);
  await page.reload();
  await page.getByText("Dark", { exact: true }).waitFor();
  expect(await around()).toEqual(["#101216", "#101216"]);
});

test("a screen that cannot be shown says why, and the talk goes on", async () => {
  const it = await begin((player) => {
    player.add(summary("s1", { title: "At the desk", driver: "terminal" }), conversation());
    player.onScreen = (id) => player.fail(id, "the terminal is gone");
  });
  const { page, address } = it;
  await page.goto(`${address}/#/s/s1`);
  await page.getByRole("tab", { name: "Terminal" }).click();
  await page.getByRole("alert").getByText("the terminal is gone").waitFor();
  expect(await page.getByText("Waiting for the terminal").count()).toBe(0);
  await page.getByRole("tab", { name: "Chat" }).click();
  await page.getByText("Two things to know").waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);
});

describe("more sessions than the daemon lists", () => {
  const many = (player: Player) => {
    for (let n = 0; n < 130; n += 1) {
      const updated_at = new Date(Date.now() - n * 60_000).toISOString();
      player.add(summary(`s${n}`, { title: `Talk ${n}`, updated_at }), conversation());
    }
  };

  test("are asked for at the end of the list", async () => {
    const { page, address } = await begin(many);
    await page.goto(address);
    await page.getByText("Talk 99", { exact: true }).waitFor();
    expect(await page.getByText("Talk 100", { exact: true }).count()).toBe(0);
    await page.getByRole("button", { name: "Older sessions" }).click();
    await page.getByText("Talk 129", { exact: true }).waitFor();
    expect(await page.locator("a.row").count()).toBe(130);
    expect(await page.getByRole("button", { name: "Older sessions" }).count()).toBe(0);
  });

  test("none of them is left out because another one was opened first", async () => {
    const { page, address } = await begin(many, DESK);
    await page.goto(`${address}/#/s/s120`);
    await page.getByRole("button", { name: "Show 1 more" }).click();
    await page.locator("a.row", { hasText: "Talk 120" }).waitFor();
    await page.getByRole("button", { name: "Older sessions" }).click();
    await page.locator("a.row", { hasText: "Talk 129" }).waitFor();
    await page.locator("a.row", { hasText: "Talk 100" }).waitFor();
  });

  test("one of them that is open stays where it is when the list is asked for anew", async () => {
    const { page, player, address } = await begin(many, DESK);
    await page.goto(`${address}/#/s/s120`);
    await page.getByRole("heading", { name: "Talk 120" }).waitFor();
    const watched = () => player.heard.filter(({ type }) => type === "watch").length;
    const before = watched();
    await page.getByRole("button", { name: "Refresh" }).click();
    await until("the list was asked for", () => watched() > before);
    player.change("s1", { title: "Told after the list" });
    await page.getByText("Told after the list").waitFor();
    expect(await page.getByRole("heading", { name: "Talk 120" }).count()).toBe(1);
  });
});

test("talk and terminal are chosen by arrow keys", async () => {
  const terminal = (player: Player) =>
    player.add(summary("s1", { title: "At the desk", driver: "terminal" }), conversation());
  const { page, address } = await begin(terminal, DESK);
  await page.goto(`${address}/#/s/s1`);
  await page.getByRole("tab", { name: "Chat" }).focus();
  await page.keyboard.press("ArrowRight");
  const at = page.getByRole("tab", { name: "Terminal", selected: true });
  await at.waitFor();
  expect(await at.evaluate((tab) => tab === document.activeElement)).toBe(true);
  expect(await page.getByRole("tab", { name: "Chat" }).getAttribute("tabindex")).toBe("-1");
  await page.keyboard.press("ArrowRight");
  await page.getByRole("tab", { name: "Chat", selected: true }).waitFor();
});

test("a wide terminal on a phone: letters that can be read, the cursor in view, the whole width when it is asked for", async () => {
  const rows = Array.from({ length: 40 }, (_, row) => ({
    row,
    runs: [{ text: `row ${row} `.padEnd(120, "·") }],
  }));
  const picture = (cursor: [number, number], whole = true): Picture => ({
    session_id: "s1",
    whole,
    columns: 120,
    fitted: false,
    rows: 40,
    cursor,
    title: "Gemini - shop",
    lines: whole ? rows : [],
  });
  const it = await begin((player) => {
    player.add(summary("s1", { title: "At the desk", driver: "terminal" }), conversation());
    player.onScreen = () => player.show(picture([30, 4]));
  });
  const { page, player, address, context } = it;
  await page.goto(`${address}/#/s/s1`);
  await page.getByRole("tab", { name: "Terminal" }).click();
  await page.locator(".xterm-rows").getByText("row 30").waitFor();
  const frame = page.locator(".screen-frame");
  const place = () =>
    frame.evaluate(({ scrollLeft, scrollTop, scrollWidth, clientWidth }) => ({
      scrollLeft,
      scrollTop,
      wide: scrollWidth > clientWidth,
    }));
  const letters = () =>
    page.locator(".xterm-rows").evaluate((element) => Number.parseFloat(getComputedStyle(element).fontSize));
  await until("letters can be read", async () => (await letters()) === 10);
  // All forty rows fit.
  await until("it stands at its beginning", async () => (await place()).scrollTop === 0);
  expect(await place()).toMatchObject({ scrollLeft: 0, wide: true });
  await shot(page, "phone-light-screen-wide");
  player.show(picture([39, 110], false));
  await until("the cursor is in view", async () => (await place()).scrollLeft > 200);
  player.show(picture([39, 2], false));
  await until("the beginning of the line is in view", async () => (await place()).scrollLeft === 0);
  // A finger moves it, and who has moved it away from the cursor is left in peace.
  const cdp = await context.newCDPSession(page);
  const finger = (
    type: "touchStart" | "touchMove" | "touchEnd",
    ...touchPoints: { x: number; y: number }[]
  ) => cdp.send("Input.dispatchTouchEvent", { type, touchPoints });
  await finger("touchStart", { x: 350, y: 300 });
  for (let x = 340; x >= 80; x -= 20) await finger("touchMove", { x, y: 300 });
  await finger("touchEnd");
  await until("a finger moves it", async () => (await place()).scrollLeft > 150);
  const { scrollLeft } = await place();
  player.show({ ...picture([38, 3], false), lines: [{ row: 20, runs: [{ text: "news" }] }] });
  await page.locator(".xterm-rows").getByText("news").waitFor();
  expect((await place()).scrollLeft).toBeGreaterThanOrEqual(scrollLeft);
  await page.getByRole("button", { name: "Fit width" }).click();
  await until("all of it is there", async () => !(await place()).wide);
  await shot(page, "phone-light-screen-whole");
  // What was chosen stays chosen.
  await page.getByRole("tab", { name: "Chat" }).click();
  await page.getByRole("tab", { name: "Terminal" }).click();
  await page.getByRole("button", { name: "Show larger text" }).click();
  await until("letters can be read again", async () => (await letters()) === 10);
  const commands = () =>
    player.heard.flatMap((frame) => (frame.type === "command" ? [frame.command as { type: string }] : []));
  expect(commands()).toEqual([]);
  await page.getByRole("button", { name: "Resize window to fit this screen" }).click();
  await until("it was asked for", () => commands().some(({ type }) => type === "fit"));
  const { columns } = commands()[0] as { type: string; columns: number };
  expect(columns).toBeGreaterThan(40);
  expect(columns).toBeLessThan(70);
  player.show({ ...picture([2, 4]), columns, fitted: true });
  await page.getByRole("button", { name: "Restore window size" }).waitFor();
  await until("its letters can be read with ease", async () => (await letters()) > 10);
  await until("it fits", async () => !(await place()).wide);
  await shot(page, "phone-light-screen-fitted");
  // Whoever leaves gives it back.
  await page.getByRole("tab", { name: "Chat" }).click();
  await until("it was given back", () => commands().at(-1)?.type === "give_back");
  // So does whoever closes the page.
  await page.getByRole("tab", { name: "Terminal" }).click();
  await page.getByRole("button", { name: "Resize window to fit this screen" }).click();
  await until("it was asked for again", () => commands().at(-1)?.type === "fit");
  await page.goto("about:blank");
  await until("it was given back again", () => commands().at(-1)?.type === "give_back");
});
