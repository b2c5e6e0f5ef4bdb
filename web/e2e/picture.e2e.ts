// The picture of the README: one question, on the agent's own screen as it was recorded, and on the phone.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { launch, OUT, open, PHONE, shot } from "./browser";
import { Player } from "./player";
import { message, summary } from "./scene";

const FRAMES = process.env.POLLUX_FRAMES ?? new URL("../../recordings/frames/x", import.meta.url).pathname;
const RECORDED = join(dirname(FRAMES), "../0.61.0/tui/approval-asked-1.100x30.txt");

const escaped = (text: string) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");

function scene(player: Player): void {
  const choice = (id: string, label: string, effect: "allow_once" | "allow_always" | "reject_once") => ({
    id,
    label,
    effect,
  });
  const question = {
    id: "q1",
    kind: "command" as const,
    tool: "run_shell_command",
    tool_id: "t1",
    text: "touch approved.txt",
    meaning: { kind: "command" as const, command: "touch approved.txt", derived: {} },
    options: [
      choice("once", "Allow once", "allow_once"),
      choice("session", "Allow for this session", "allow_always"),
      choice("no", "No, suggest changes (esc)", "reject_once"),
    ],
  };
  const more = {
    title: "touch a file",
    driver: "terminal" as const,
    cwd: "/home/ada/work",
    status: "waiting" as const,
  };
  player.add(summary("s1", { ...more, questions: [{ shown: "h1", question }] }), [
    message("user", [{ type: "text", text: "touch a file" }]),
    message("assistant", [{ type: "text", text: "Running." }]),
  ]);
}

test("one question at the desk and on the phone", async () => {
  const browser = await launch();
  const player = new Player(OUT);
  scene(player);
  const address = await player.start();
  const context = await browser.newContext({ ...PHONE, colorScheme: "light", reducedMotion: "reduce" });
  const { page, faults } = await open(context);
  await page.goto(`${address}/#/s/s1`);
  await page.getByRole("dialog", { name: "Run this command?" }).waitFor();
  await page.waitForTimeout(700);
  const phone = (await page.screenshot()).toString("base64");
  expect(faults).toEqual([]);
  const desk = await browser.newPage({ viewport: { width: 1180, height: 560 }, deviceScaleFactor: 1 });
  const screen = escaped(readFileSync(RECORDED, "utf8").trimEnd());
  await desk.setContent(`<style>
    body { margin: 0; display: flex; gap: 28px; align-items: center; justify-content: center; height: 100vh; background: #eef1f6 }
    pre { margin: 0; padding: 18px; border-radius: 10px; background: #11151c; color: #d8dee9; font: 12px/1.35 monospace; box-shadow: 0 8px 24px #0003 }
    img { height: 500px; border: 8px solid #11151c; border-radius: 26px; box-shadow: 0 8px 24px #0003 }
  </style><pre>${screen}</pre><img src="data:image/png;base64,${phone}">`);
  await desk.waitForTimeout(200);
  await shot(desk, "picture");
  await browser.close();
  await player.stop();
});
