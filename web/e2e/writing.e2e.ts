// What is written to the agent.

import { describe, expect, test } from "vitest";
import { PHONE, shot } from "./browser";
import { stages, until } from "./stage";
import { commands, quiet } from "./talk";

const begin = stages();

describe("composer", () => {
  test("what was to be sent after a stop is a draft again where the session ends instead", async () => {
    const { page, player, address } = await begin(quiet);
    player.change("s1", { status: "working" });
    await page.goto(`${address}/#/s/s1`);
    await page.getByRole("textbox", { name: "Prompt" }).fill("and then this");
    await page.getByRole("button", { name: "Stop and send" }).click();
    await until("it was interrupted", () => commands(player).length === 1);
    player.change("s1", { status: "exited" });
    await page.getByText("saved as a draft").waitFor();
    player.change("s1", { status: "idle" });
    await page.reload();
    const field = page.getByRole("textbox", { name: "Prompt" });
    await until("it is there again", async () => (await field.inputValue()) === "and then this");
    expect(commands(player).filter(({ command }) => command.type === "prompt")).toEqual([]);
  });

  test("what is to be sent after a stop outlives the page", async () => {
    const { page, player, address } = await begin(quiet);
    player.change("s1", { status: "working" });
    await page.goto(`${address}/#/s/s1`);
    await page.getByRole("textbox", { name: "Prompt" }).fill("and then this");
    await page.getByRole("button", { name: "Stop and send" }).click();
    await until("it was interrupted", () => commands(player).length === 1);
    await page.reload();
    const field = page.getByRole("textbox", { name: "Prompt" });
    await until("it is a draft again", async () => (await field.inputValue()) === "and then this");
  });

  test("send, queue while it works, stop, stop and send", async () => {
    const { page, player, address } = await begin(quiet);
    await page.goto(`${address}/#/s/s1`);
    await page.getByRole("textbox", { name: "Prompt" }).fill("first");
    await page.getByRole("button", { name: "Send" }).click();
    await until("it was sent", () => commands(player).length === 1);
    expect(commands(player)[0]?.command).toEqual({ type: "prompt", text: "first" });
    expect(await page.getByRole("textbox", { name: "Prompt" }).inputValue()).toBe("");
    player.change("s1", { status: "working" });
    await page.getByRole("button", { name: "Stop the turn" }).waitFor();
    await page.getByRole("textbox", { name: "Prompt" }).fill("second");
    await page.getByRole("button", { name: "Queue" }).click();
    player.change("s1", { queue: [{ id: "k1", text: "second", by: "Ada's phone" }] });
    await page.getByRole("region", { name: "Queue" }).getByText("second").waitFor();
    await page.getByRole("button", { name: "Cancel prompt" }).click();
    await until("it was taken back", () => commands(player).some(({ command }) => command.type === "cancel"));
    await page.getByRole("textbox", { name: "Prompt" }).fill("third");
    await page.getByRole("button", { name: "Stop and send" }).click();
    await until("it was interrupted", () =>
      commands(player).some(({ command }) => command.type === "interrupt"),
    );
    expect(commands(player).filter(({ command }) => command.type === "prompt")).toHaveLength(2);
    player.change("s1", { status: "idle", queue: [] });
    await until("the third was sent", () => commands(player).at(-1)?.command.type === "prompt");
    expect(commands(player).at(-1)?.command).toEqual({ type: "prompt", text: "third" });
  });

  test("without a connection nothing is stopped, and what was written stays where it is", async () => {
    const { page, player, address, context } = await begin(quiet);
    player.change("s1", { status: "working" });
    await page.goto(`${address}/#/s/s1`);
    await page.getByRole("button", { name: "Stop the turn" }).waitFor();
    await context.setOffline(true);
    player.cut();
    await page.locator(".trouble:visible", { hasText: "Offline" }).waitFor();
    const field = page.getByRole("textbox", { name: "Prompt" });
    await field.fill("and then this");
    await page.getByRole("button", { name: "Stop and send" }).click();
    await page.getByText("Not connected: the prompt was not sent").waitFor();
    expect(await field.inputValue()).toBe("and then this");
    expect(commands(player)).toEqual([]);
  });

  /** What is left free at the sides, in pixels. */
  const EDGE = 10;

  test.each([320, 360, 390])("everything under the prompt is whole at %i pixels", async (width) => {
    for (const colorScheme of ["light", "dark"] as const) {
      const { page, player, address } = await begin(quiet, {
        ...PHONE,
        viewport: { width, height: 700 },
        colorScheme,
      });
      const mode = { mode: "yolo" as const, mode_until: new Date(Date.now() + 3_500_000).toISOString() };
      player.change("s1", { status: "working", model: "gemini-2.5-flash-lite", ...mode });
      await page.goto(`${address}/#/s/s1`);
      await page.getByRole("button", { name: "Stop the turn" }).waitFor();
      await shot(page, `composer-${width}-${colorScheme}-busy`);
      await page.getByRole("textbox", { name: "Prompt" }).fill("One more thing");
      await page.getByRole("button", { name: "Stop and send" }).waitFor();
      await shot(page, `composer-${width}-${colorScheme}-queue`);
      const boxes = await page.locator(".composer-row").evaluate((row) =>
        [...row.querySelectorAll("button, label")].map((button) => {
          const { left, right, width, height } = button.getBoundingClientRect();
          return { left, right, width, height, cut: button.scrollWidth > button.clientWidth + 1 };
        }),
      );
      expect(boxes).toHaveLength(5);
      for (const [index, { left, height, cut, ...box }] of boxes.entries()) {
        expect(cut).toBe(false);
        expect(Math.min(box.width, height)).toBeGreaterThanOrEqual(36);
        expect(left).toBeGreaterThanOrEqual(boxes[index - 1]?.right ?? 0);
        expect(box.right).toBeLessThanOrEqual(width - EDGE);
      }
      // Their words are not to be seen, and still there to be heard.
      await page.getByRole("button", { name: "Model 2.5-flash-lite" }).waitFor();
      await page.getByRole("button", { name: /^Mode Yolo/ }).waitFor();
    }
  });

  test("a draft is kept for each session, through a reload", async () => {
    const { page, address } = await begin(quiet);
    await page.goto(`${address}/#/s/s1`);
    await page.getByRole("textbox", { name: "Prompt" }).fill("half a thou");
    await page.reload();
    await until(
      "the draft is back",
      async () => (await page.getByRole("textbox", { name: "Prompt" }).inputValue()) === "half a thou",
    );
  });

  test("enter begins a line on a phone", async () => {
    const { page, player, address } = await begin(quiet);
    await page.goto(`${address}/#/s/s1`);
    await page.getByRole("textbox", { name: "Prompt" }).focus();
    await page.keyboard.type("one");
    await page.keyboard.press("Enter");
    await page.keyboard.type("two");
    expect(await page.getByRole("textbox", { name: "Prompt" }).inputValue()).toBe("one\ntwo");
    expect(commands(player)).toEqual([]);
  });

  test("mode and model are changed by what the daemon says, not by the tap", async () => {
    const { page, player, address } = await begin(quiet);
    await page.goto(`${address}/#/s/s1`);
    await page.getByRole("button", { name: /^Mode / }).click();
    await page.getByRole("button", { name: /Yolo/ }).click();
    await until("it was asked for", () => commands(player).length === 1);
    await page
      .getByRole("button", { name: /^Mode / })
      .getByText("Ask")
      .waitFor();
    player.change("s1", { mode: "yolo", mode_until: new Date(Date.now() + 3_600_000).toISOString() });
    await page
      .getByRole("button", { name: /^Mode / })
      .getByText("Yolo")
      .waitFor();
    await page.getByRole("button", { name: /^Model / }).click();
    await page.getByRole("button", { name: /^flash Fast/ }).click();
    await until("the model was asked for", () => commands(player).at(-1)?.command.type === "model");
  });
});
