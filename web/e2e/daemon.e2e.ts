// One long story of a phone with the real daemon, the real CLI and a rehearsal.

import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { answerable, type Faults, launch, open, PHONE, shot } from "./browser";
import { House } from "./house";
import { until } from "./stage";

let browser: Browser;
let house: House;
let context: BrowserContext;
let page: Page;
let faults: Faults;

beforeAll(async () => {
  browser = await launch();
  house = await House.open();
  context = await browser.newContext(PHONE);
  ({ page, faults } = await open(context));
  // A cold start of the CLI takes seconds, and on a busy machine a minute.
  context.setDefaultTimeout(90_000);
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await house?.close();
});

afterEach(async ({ task }) => {
  if (task.result?.state === "fail") await shot(page, `failed-${task.name.split(":", 1)[0]}`);
  expect(faults).toEqual([]);
});

const talk = () => page.getByRole("log", { name: "Transcript" });
const ready = () => page.locator(".session-head").getByText("Ready");
const field = () => page.getByRole("textbox", { name: "Prompt" });
async function say(text: string): Promise<void> {
  await field().fill(text);
  await page.getByRole("button", { name: /^(Send|Queue)$/ }).click();
}

/** The story of a day, in order: each test goes on where the one before it stopped. */
describe("a phone, the daemon, the real CLI", { timeout: 180_000 }, () => {
  test("pair: a link lets the phone in, and its code is gone from the address", async () => {
    await page.goto(await house.link());
    await page.getByLabel("Device name").fill("Ada's pocket");
    await page.getByRole("button", { name: "Pair this device" }).click();
    await page.getByText("Answer questions and change the mode").waitFor();
    await shot(page, "real-let-in");
    await page.getByRole("button", { name: "Go to sessions" }).click();
    await page.getByText("No sessions yet").waitFor();
    expect(page.url()).not.toContain("pair=");
  });

  test("start: a new session with its first prompt, whose answer streams", async () => {
    await page.getByRole("button", { name: "New session" }).click();
    await page.getByText(house.project, { exact: false }).first().waitFor();
    await field().fill("hello there");
    await page.getByRole("button", { name: "Start" }).click();
    await talk().getByText("Hello from").first().waitFor();
    await shot(page, "real-streaming");
    await talk().getByText("so that it can be watched.").waitFor();
    await ready().waitFor();
    expect(await talk().getByText("so that it can be watched.").count()).toBe(1);
  });

  test("approve: the sheet shows the command, it runs only when it is allowed, and the answer follows", async () => {
    await say("touch a file");
    const sheet = page.getByRole("dialog", { name: "Run this command?" });
    await sheet.waitFor();
    await sheet.getByText("touch approved.txt").first().waitFor();
    expect(house.has("approved.txt")).toBe(false);
    await answerable(page).waitFor();
    await shot(page, "real-question");
    await page.getByRole("button", { name: "Allow once" }).click();
    await talk().getByText("The command is through.").waitFor();
    expect(house.has("approved.txt")).toBe(true);
    await ready().waitFor();
    await shot(page, "real-approved");
  });

  test("edit: the diff comes first", async () => {
    await say("edit the greeting");
    await page.getByRole("dialog", { name: "Make this change?" }).waitFor();
    await page.getByText("hello brave new world").first().waitFor();
    await answerable(page).waitFor();
    await shot(page, "real-edit");
    await page.getByRole("button", { name: "Allow once" }).click();
    await talk().getByText("The greeting is braver now.").waitFor();
    await ready().waitFor();
  });

  test("deny, and say why: nothing runs, and the words reach the agent or the transcript", async () => {
    await say("touch it once more");
    await page.getByRole("dialog", { name: "Run this command?" }).waitFor();
    await page.getByRole("button", { name: "Deny and say why" }).click();
    await page.getByLabel("Reason for denying").fill("it is there already");
    await page.getByRole("button", { name: "Deny and send" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await ready().waitFor();
    const denied = talk().locator(".card", { hasText: "Denied" });
    await denied.getByText("touch approved.txt").waitFor();
    await shot(page, "real-denied");
    // It is what it was when the app knows nothing any more.
    await page.evaluate(() => indexedDB.deleteDatabase("keyval-store"));
    await page.reload();
    await denied.getByText("touch approved.txt").waitFor();
    expect(await talk().locator(".state.failed").count()).toBe(0);
  });

  test("mode and model: changed when the daemon says so, and yolo counts down", async () => {
    await page.getByRole("button", { name: /^Mode / }).click();
    await page.getByRole("button", { name: /^Yolo/ }).click();
    const chip = page.getByRole("button", { name: /^Mode / });
    await chip.getByText("Yolo").waitFor();
    await chip.getByText(/5\dm|60m|1h/).waitFor();
    await chip.click();
    await page.getByRole("button", { name: /^Ask/ }).click();
    await chip.getByText("Ask").waitFor();
    await page.getByRole("button", { name: /^Model / }).click();
    await page.getByRole("button", { name: /^flash latest/ }).click();
    await page
      .getByRole("button", { name: /^Model / })
      .getByText("flash")
      .waitFor();
  });

  test("two devices: one question, one answer, and the other one is told", async () => {
    const another = await browser.newContext(PHONE);
    const desk = await open(another);
    another.setDefaultTimeout(90_000);
    await desk.page.goto(await house.link());
    await desk.page.getByRole("button", { name: "Pair this device" }).click();
    await desk.page.getByRole("button", { name: "Go to sessions" }).click();
    await desk.page.locator(".row").first().click();
    await say("touch for two");
    for (const one of [page, desk.page])
      await one.getByRole("dialog", { name: "Run this command?" }).waitFor();
    await page.getByRole("button", { name: "Allow once" }).click();
    for (const one of [page, desk.page]) await one.getByRole("dialog").waitFor({ state: "detached" });
    await desk.page.getByRole("log").getByText("The command is through.").last().waitFor();
    await ready().waitFor();
    expect(desk.faults).toEqual([]);
    await another.close();
  });

  test("interrupt and queue: a slow turn is stopped, what waited goes on when it is told to", async () => {
    await say("slow please");
    await talk().getByText("word 5 ").waitFor();
    await say("queued question");
    await page.getByRole("region", { name: "Queue" }).getByText("queued question").waitFor();
    await page.getByRole("button", { name: "Stop the turn" }).click();
    await ready().waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await talk().getByText("This one waited in the queue.").waitFor();
    await ready().waitFor();
  });

  test("resume: an ended session goes on and remembers", async () => {
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("button", { name: "End this session" }).click();
    await page.getByText("This session has ended.").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await field().fill("remember?");
    await page.getByRole("button", { name: "Resume" }).click();
    await talk().getByText("I remember: we made a file.").waitFor();
    await talk().getByText("This one waited in the queue.").first().waitFor();
    await shot(page, "real-resumed");
  });

  test("search: words of an answer are found", async () => {
    await page.goto(`${house.address}/#/`);
    await page.getByRole("searchbox").fill("braver");
    await page.locator(".snippet", { hasText: "braver" }).first().waitFor();
    await page.getByRole("searchbox").fill("");
  });

  test("a long output: its end first, all of it on demand", async () => {
    await page.locator(".row").first().click();
    await say("look into the long file");
    await talk().getByText("The file is long.").waitFor();
    await ready().waitFor();
    await talk().locator(".card", { hasText: "long.txt" }).click();
    const shown = page.locator(".tool-output .output");
    await shown.getByText("line 1499 of the long file").waitFor();
    expect(await shown.innerText()).not.toContain("line 17 of");
    await page.getByRole("button", { name: /Show all/ }).click();
    await until("all of it is there", async () => (await shown.innerText()).includes("line 17 of"));
    expect(await shown.innerText()).toContain("line 1499 of the long file");
    await page.getByRole("button", { name: "Close" }).click();
  });

  test("as you write: the project's files, the agent's commands, and the branch in the head", async () => {
    await page.locator(".session-head").getByText("shop @ trunk").waitFor();
    await field().fill("see @hel");
    await page.getByRole("option", { name: "hello.txt" }).waitFor();
    await field().fill("/st");
    await page.getByRole("option", { name: /stats/ }).waitFor();
    await field().fill("");
    await page.getByRole("button", { name: /^Model / }).click();
    await page.getByText("1.0M tokens").first().waitFor();
    await page.getByRole("button", { name: "Close" }).click();
  });

  test("a link shows this session to somebody without a key, and no more when it is taken back", async () => {
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("button", { name: "Share read-only link" }).click();
    await page.getByRole("button", { name: "Create link" }).click();
    const link = await page.locator(".share-url code").innerText();
    await page.getByRole("button", { name: "Close" }).click();
    const stranger = await browser.newContext(PHONE);
    const { page: other, faults: found } = await open(stranger);
    stranger.setDefaultTimeout(90_000);
    await other.goto(`${house.address}/${link.slice(link.indexOf("#"))}`);
    await other.getByText("so that it can be watched.").first().waitFor();
    await shot(other, "real-shared");
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("button", { name: "Share read-only link" }).click();
    await page.getByRole("button", { name: "Revoke all links" }).click();
    await page.getByText("All links to this session are revoked").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await other.reload();
    await other.getByRole("alert").waitFor();
    expect(found).toEqual([]);
    await stranger.close();
  });

  test("offline and back: a prompt that was written in a tunnel goes out on return, once", async () => {
    await context.setOffline(true);
    await page.locator(".trouble:visible", { hasText: "Offline" }).waitFor();
    await say("hello from the tunnel");
    await page.getByText("Will be sent when reconnected").waitFor();
    await context.setOffline(false);
    await talk().getByText("hello from the tunnel").waitFor();
    await talk().getByText("so that it can be watched.").last().waitFor();
    await ready().waitFor();
    expect(await talk().locator(".prompt", { hasText: "hello from the tunnel" }).count()).toBe(1);
  });

  test("a plain terminal's session: it appears by itself, is read, and goes on here", async () => {
    await house.gemini("-p", "hello from a terminal");
    await page.goto(`${house.address}/#/`);
    const row = page.locator(".row", { hasText: "hello from a terminal" });
    await row.getByText("Ended").waitFor();
    await row.click();
    await talk().getByText("so that it can be watched.").waitFor();
    await shot(page, "real-read-only");
    await page.getByRole("button", { name: "Resume" }).click();
    await field().fill("remember?");
    await page.getByRole("button", { name: "Resume" }).click();
    await talk().getByText("I remember: we made a file.").waitFor();
    await talk().getByText("hello from a terminal").first().waitFor();
    await ready().waitFor();
  });

  test("ten thousand messages of a real session file open in under a second", async () => {
    house.remember(10_000);
    await page.goto(`${house.address}/#/`);
    const row = page.locator(".row", { hasText: "Question 0 of many?" });
    await row.waitFor();
    // The daemon reads a file when it is first looked at; the phone waits for no more than that.
    const before = Date.now();
    await row.click();
    await talk().getByText("Answer 9999").waitFor();
    const first = Date.now() - before;
    await page.goto(`${house.address}/#/`);
    const again = Date.now();
    await row.click();
    await talk().getByText("Answer 9999").waitFor();
    const second = Date.now() - again;
    process.stdout.write(`\n10,000 messages by the daemon: ${first} ms at first, ${second} ms again\n`);
    expect(second).toBeLessThan(1000);
  });

  test("a daemon that ends in mid-stream: what was said stays, it is told honestly, and the session goes on", async () => {
    await page.goto(`${house.address}/#/`);
    await page.locator(".row", { hasText: "hello from a terminal" }).first().click();
    await ready().waitFor();
    await say("slow please");
    await talk().getByText("word 9 ").waitFor();
    await house.kill();
    await page.locator(".trouble:visible", { hasText: "Offline" }).waitFor();
    await talk().getByText("word 9 ").waitFor();
    await shot(page, "real-offline");
    await house.serve();
    await until(
      "it is in step again",
      async () => (await page.locator(".trouble:visible").count()) === 0,
      40_000,
    );
    await talk().getByText("slow please").first().waitFor();
    await shot(page, "real-after-restart");
    const resume = page.getByRole("button", { name: "Resume" });
    if (await resume.isVisible()) {
      await resume.click();
      await field().fill("remember?");
      await page.getByRole("button", { name: "Resume" }).click();
    } else {
      await say("remember?");
    }
    await talk().getByText("I remember: we made a file.").last().waitFor();
    expect(await talk().locator(".prompt", { hasText: "slow please" }).count()).toBe(1);
  });

  test("a session in a terminal: talk and screen of one agent, steered by keys", async () => {
    await page.goto(`${house.address}/#/new`);
    await page.locator(".segment", { hasText: "terminal" }).click();
    await field().fill("hello there");
    await page.getByRole("button", { name: "Start" }).click();
    await talk().getByText("so that it can be watched.").waitFor();
    await page.getByRole("tab", { name: "Terminal" }).click();
    await page.locator(".xterm-rows").getByText("so that it can be watched.").waitFor();
    await page.getByLabel("Type into the terminal").fill("remember?");
    await page.getByLabel("Type into the terminal").press("Enter");
    await page.locator(".xterm-rows").getByText("I remember: we made a file.").waitFor();
    await shot(page, "real-screen");
  });

  test("a window that is asked to fit the phone does, takes keys, and is the desk's again when the phone leaves", async () => {
    const rows = page.locator(".xterm-rows");
    const desk = await house.windows();
    expect(desk).toHaveLength(1);
    await page.getByRole("button", { name: "Resize window to fit this screen" }).click();
    await page.getByRole("button", { name: "Restore window size" }).waitFor();
    const columns = async () => Number.parseInt((await house.windows())[0] ?? "", 10);
    await until("the window fits", async () => (await columns()) < 70, 20_000);
    // What was said stands there anew, in lines that are as long as the phone is wide.
    await rows.getByText("I remember: we made a file.").last().waitFor();
    await shot(page, "real-screen-fitted");
    await page.getByLabel("Type into the terminal").fill("/stats");
    await page.getByLabel("Type into the terminal").press("Enter");
    await rows.getByText("Session Stats").waitFor();
    // Each key when the one before has done what it does: two that come at once may mean something else to the CLI.
    const press = (key: string) => page.getByRole("button", { name: key, exact: true }).click();
    const typed = async () => (await rows.innerText()).match(/[>*]\s+\/stats/g)?.length ?? 0;
    // The panel may be drawn a moment before the command above it.
    await until("the command stands above its answer", async () => (await typed()) > 0);
    const before = await typed();
    await press("Up");
    await until("what was typed last stands there again", async () => (await typed()) > before, 20_000);
    await press("Control C");
    await until("it is gone again", async () => (await typed()) === before, 20_000);
    await shot(page, "real-screen-keys");
    await page.getByRole("tab", { name: "Chat" }).click();
    await until(
      "the desk has its size back",
      async () => String(await house.windows()) === String(desk),
      20_000,
    );
    await talk().getByText("I remember: we made a file.").waitFor();
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("button", { name: "End this session" }).click();
    await page.getByText("This session has ended.").waitFor();
  });

  test("a killed daemon: the screen stays, and what it missed is there once", async () => {
    await page.goto(`${house.address}/#/`);
    await page.locator(".row", { hasText: "hello there" }).first().click();
    await talk().getByText("I remember: we made a file.").waitFor();
    await house.kill();
    await page.locator(".trouble:visible", { hasText: "Offline" }).waitFor();
    await talk().getByText("I remember: we made a file.").waitFor();
    await house.serve();
    await until(
      "it is in step again",
      async () => (await page.locator(".trouble:visible").count()) === 0,
      40_000,
    );
    expect(await talk().getByText("I remember: we made a file.").count()).toBe(1);
  });
});
