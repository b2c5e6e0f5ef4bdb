// Every screen once, on a phone and on a desk, in light and dark: nothing breaks, and there are pictures to look at.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { answerable, DESK, type Faults, launch, OUT, open, PHONE, shot } from "./browser";
import { Player } from "./player";
import { edits, moments, scene, streams, wonders } from "./scene";
import { stage, still } from "./stage";

let browser: Browser;
let player: Player;
let address: string;

beforeAll(async () => {
  browser = await launch();
  player = new Player(OUT);
  scene(player);
  address = await player.start();
});

afterAll(async () => {
  await browser?.close();
  await player?.stop();
});

async function at(
  options: object,
  path: string,
  scheme: "light" | "dark",
): Promise<{ page: Page; faults: Faults; close: () => Promise<void> }> {
  const context = await browser.newContext({ ...options, colorScheme: scheme, reducedMotion: "reduce" });
  const { page, faults } = await open(context);
  await page.goto(address + path);
  return { page, faults, close: () => context.close() };
}

describe.each(["light", "dark"] as const)("every screen in %s", (scheme) => {
  test.each([
    ["phone", PHONE],
    ["desk", DESK],
  ] as const)("on a %s", async (size, options) => {
    const name = (screen: string) => `${size}-${scheme}-${screen}`;
    const { page, faults, close } = await at(options, "/", scheme);
    await page.getByRole("dialog", { name: "Run this command?" }).waitFor();
    await answerable(page).waitFor();
    await shot(page, name("question"));
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByText("Needs you").first().waitFor();
    await shot(page, name("inbox"));
    await page.getByRole("searchbox").fill("cart");
    await page.locator(".snippet").first().waitFor();
    await shot(page, name("search"));
    await page.getByRole("searchbox").fill("");
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("Two things to know").waitFor();
    // Colours come last; then nothing moves any more.
    await page.locator(".tk-keyword").first().waitFor();
    await still(page);
    await shot(page, name("session"));
    await page.getByText("Edited").first().click();
    await page.getByText("Rounding belongs to the end").first().waitFor();
    await shot(page, name("diff"));
    await page.getByRole("button", { name: "Close" }).click();
    await page.locator(".card", { hasText: "npm test" }).click();
    await page.locator(".tool-output").getByText("9 passed").waitFor();
    await shot(page, name("tool"));
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("textbox", { name: "Prompt" }).fill("Look at @ca");
    await page.getByRole("option", { name: "src/cart.ts" }).waitFor();
    await shot(page, name("complete"));
    await page.getByRole("textbox", { name: "Prompt" }).fill("");
    await page.getByRole("button", { name: /^Mode / }).click();
    await page.getByText("Does everything without asking").waitFor();
    await shot(page, name("mode"));
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: /^Model / }).click();
    await page.getByText("For hard thinking").waitFor();
    await shot(page, name("model"));
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("button", { name: "Share read-only link" }).waitFor();
    await shot(page, name("more"));
    await page.getByRole("button", { name: "Share read-only link" }).click();
    await page.getByRole("button", { name: "Create link" }).click();
    await page.getByText("https://desk.example").waitFor();
    await shot(page, name("share"));
    await page.getByRole("button", { name: "Close" }).click();
    await page.goto(`${address}/#/s/s8`);
    await page.getByRole("tab", { name: "Terminal" }).click();
    await page.locator(".xterm-rows span", { hasText: "Three of five are." }).waitFor();
    await shot(page, name("screen"));
    await page.goto(`${address}/#/s/s3`);
    await page.getByText("Two things to know").waitFor();
    await shot(page, name("yolo"));
    await page.goto(`${address}/#/team`);
    await page.getByText("supervisor-4f1c").last().waitFor();
    await shot(page, name("team"));
    await page.getByRole("link", { name: "Jobs" }).click();
    await page.getByRole("button", { name: /Measure the nightly build/ }).waitFor();
    await shot(page, name("jobs"));
    await page.getByRole("button", { name: /Measure the nightly build/ }).click();
    await page.getByText("docs/build.md").waitFor();
    await shot(page, name("job"));
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("link", { name: /^Inbox/ }).click();
    await page.getByText("Shall the upgrade go").waitFor();
    await shot(page, name("letters"));
    await page.getByRole("button", { name: "Launch an agent" }).click();
    await page.getByText("Splits work").waitFor();
    await shot(page, name("launch"));
    await page.getByRole("button", { name: "Close" }).click();
    await page.goto(`${address}/#/new`);
    await page.getByText("Permissions").waitFor();
    await shot(page, name("new"));
    await page.goto(`${address}/#/settings`);
    await page.getByText("Old tablet").waitFor();
    await shot(page, name("settings"));
    await page.goto(`${address}/#/pair`);
    await page.getByText("Pair this device with Pollux").waitFor();
    await shot(page, name("pair"));
    await page.getByLabel("Pairing code").fill("AB12-CD34");
    await page.getByRole("button", { name: "Pair this device" }).click();
    await page.getByText("Paired").waitFor();
    await shot(page, name("let-in"));
    // A link is opened by somebody who has nothing open yet.
    await page.goto("about:blank");
    await page.goto(`${address}/#/shared/tok-en_1`);
    await page.getByText("Two things to know").waitFor();
    await shot(page, name("shared"));
    expect(faults).toEqual([]);
    await close();
  });
});

describe.each(["light", "dark"] as const)("moments that do not last, in %s", (scheme) => {
  test.each([
    ["phone", PHONE],
    ["desk", DESK],
  ] as const)("on a %s", async (size, options) => {
    const it = await stage(browser, moments, { ...options, colorScheme: scheme, reducedMotion: "reduce" });
    const { page, context } = it;
    const name = (screen: string) => `${size}-${scheme}-${screen}`;
    await page.goto(it.address);
    await page.getByText("No sessions yet").waitFor();
    await shot(page, name("empty"));
    edits(it.player);
    await page.getByRole("dialog", { name: "Make this change?" }).waitFor();
    await page.getByText("Rounding belongs to the end").first().waitFor();
    await answerable(page).waitFor();
    await shot(page, name("edit"));
    await page.getByRole("button", { name: "More ways to allow" }).click();
    await shot(page, name("more-ways"));
    await page.getByRole("button", { name: "Deny and say why" }).click();
    await page.getByLabel("Reason for denying").fill("Round in one place only, please.");
    await shot(page, name("why"));
    wonders(it.player);
    await page.locator("fieldset.answers:enabled", { hasText: "[x] Tests" }).waitFor();
    await shot(page, name("choice"));
    await page.getByRole("button", { name: "Enter a custom value" }).click();
    await page.getByLabel("Your answer").fill("The pages that nobody reads");
    await shot(page, name("words"));
    it.player.change("s1", { questions: [], status: "working" });
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.goto(`${it.address}/#/s/s1`);
    await page.getByText("Two things to know").waitFor();
    streams(it.player);
    await page.getByText("Half of it is there").waitFor();
    await shot(page, name("streaming"));
    await context.setOffline(true);
    it.player.cut();
    await page.locator(".trouble:visible", { hasText: "Offline" }).waitFor();
    await page.getByRole("textbox", { name: "Prompt" }).fill("Then the tests, please.");
    await page.getByRole("button", { name: "Queue" }).click();
    await page.getByText("Will be sent when reconnected").waitFor();
    await shot(page, name("offline"));
    expect(it.faults).toEqual([]);
    await it.end();
  });
});
