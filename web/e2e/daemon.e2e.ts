import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Faults, launch, open, PHONE, shot } from "./browser";
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
  context.setDefaultTimeout(40_000);
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
describe("a phone, the daemon, the real CLI", { timeout: 120_000 }, () => {
  test("pair: a link lets the phone in, and its code is gone from the address", async () => {
    await page.goto(await house.link());
    await page.getByRole("button", { name: "Pair this device" }).click();
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
    await page.waitForTimeout(600);
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
    await page.waitForTimeout(600);
    await shot(page, "real-edit");
    await page.getByRole("button", { name: "Allow once" }).click();
    await talk().getByText("The greeting is braver now.").waitFor();
    await ready().waitFor();
  });

  test("deny, and say why: nothing runs, and the words reach the agent or the transcript", async () => {
    await say("touch it once more");
    await page.getByRole("dialog", { name: "Run this command?" }).waitFor();
    await page.getByRole("button", { name: "Deny and say why" }).click();
    await page.getByLabel("Why not").fill("it is there already");
    await page.getByRole("button", { name: "Deny and send" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await ready().waitFor();
    await talk().locator(".card", { hasText: "Edited" }).waitFor();
    await talk().locator(".card", { hasText: "touch approved.txt" }).last().waitFor();
    await shot(page, "real-denied");
  });

  test("mode and model: changed when the daemon says so, and yolo counts down", async () => {
    await page.getByRole("button", { name: "Mode", exact: true }).click();
    await page.getByRole("button", { name: /^Yolo/ }).click();
    const chip = page.getByRole("button", { name: "Mode", exact: true });
    await chip.getByText("Yolo").waitFor();
    await chip.getByText(/5\dm|60m|1h/).waitFor();
    await chip.click();
    await page.getByRole("button", { name: /^Ask/ }).click();
    await chip.getByText("Ask").waitFor();
    await page.getByRole("button", { name: "Model" }).click();
    await page.getByRole("button", { name: /^flash Fast/ }).click();
    await page.getByRole("button", { name: "Model" }).getByText("flash").waitFor();
  });

  test("two devices: one question, one answer, and the other one is told", async () => {
    const another = await browser.newContext(PHONE);
    const desk = await open(another);
    another.setDefaultTimeout(40_000);
    await desk.page.goto(await house.link());
    await desk.page.getByRole("button", { name: "Pair this device" }).click();
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
    await page.getByRole("button", { name: "Go on" }).click();
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

  test("a killed daemon: the screen stays, and what it missed is there once", async () => {
    await page.locator(".row").first().click();
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
