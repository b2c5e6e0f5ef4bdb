// What is said, as it is read on the phone.

import { describe, expect, test } from "vitest";
import type { Block } from "../src/api/types";
import type { Player } from "./player";
import { message, summary } from "./scene";
import { stages, until } from "./stage";
import { grew, long, quiet, text } from "./talk";

const begin = stages();

describe("streaming", () => {
  test("text appears as it grows, and the finished message takes its place without a jump", async () => {
    const { page, player, address } = await begin(quiet);
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("General greetings").waitFor();
    player.change("s1", { status: "working" });
    player.emit("s1", { type: "turn_started", source: "acp", prompt: "Tell me more" }, grew("Once upon "));
    await page.getByText("Once upon").waitFor();
    player.emit("s1", grew("a time"));
    await page.getByText("Once upon a time").waitFor();
    const recorded = text("assistant", "Once upon a time").message;
    player.emit("s1", {
      type: "message_recorded",
      source: "session_file",
      changed: false,
      message: recorded,
    });
    await until("the text stands once", async () => (await page.getByText("Once upon a time").count()) === 1);
    await page.locator(".said:not(.live)", { hasText: "Once upon a time" }).waitFor();
  });

  test("code has its colours, and the page does not stop while they are found", async () => {
    const code = (lang: string, said: string) => text("assistant", `\`\`\`${lang}\n${said}\n\`\`\``);
    const it = await begin((player) =>
      player.add(summary("s1", { title: "Code" }), [
        code("ts", "export const answer = 42;"),
        code("python", "def answer(): return 42"),
        code("nothing-known", "plain words"),
      ]),
    );
    const { page, address } = it;
    await page.addInitScript(() => {
      const measured = window as { longest?: number };
      const look = ({ duration }: PerformanceEntry) =>
        (measured.longest = Math.max(measured.longest ?? 0, duration));
      new PerformanceObserver((list) => list.getEntries().forEach(look)).observe({ type: "longtask" });
    });
    await page.goto(`${address}/#/s/s1`);
    await page.locator(".tk-keyword", { hasText: "export" }).waitFor();
    await page.locator(".tk-keyword", { hasText: "def" }).waitFor();
    await page.getByText("plain words").waitFor();
    const longest = await page.evaluate(() => (window as { longest?: number }).longest ?? 0);
    // To read the first code of a language takes a third of a second on the quickest machine.
    expect(longest).toBeLessThan(300);
  });

  test("a reader at the end is followed, one who went up is left in peace and told how much is new", async () => {
    const { page, player, address } = await begin(long);
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("message number 119").waitFor();
    await page.locator(".rows").evaluate((rows) => rows.scrollBy(0, -1500));
    await page.getByRole("button", { name: "Jump to latest" }).waitFor();
    const before = await page.locator(".rows").evaluate((rows) => rows.scrollTop);
    for (const n of [1, 2, 3]) {
      const recorded = text("assistant", `news ${n}`).message;
      player.emit("s1", {
        type: "message_recorded",
        source: "session_file",
        changed: false,
        message: recorded,
      });
    }
    await page.getByRole("button", { name: "3 new" }).waitFor();
    expect(await page.locator(".rows").evaluate((rows) => rows.scrollTop)).toBeCloseTo(before, -1);
    await page.getByRole("button", { name: "3 new" }).click();
    await page.getByText("news 3").waitFor();
  });

  test("a reader at the end stays there where the list itself moves the place", async () => {
    const { page, address } = await begin(long);
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("message number 119").waitFor();
    // As the list does it when rows above turn out to be lower than it thought, and the last one higher.
    const toEnd = await page.locator(".rows").evaluate(async (rows) => {
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      const content = rows.firstElementChild as HTMLElement;
      for (let round = 1; round < 4; round += 1) {
        content.style.height = `${content.offsetHeight + 120}px`;
        rows.scrollTop -= 80;
        await frame();
        await frame();
      }
      return rows.scrollHeight - rows.clientHeight - rows.scrollTop;
    });
    expect(toEnd).toBeLessThan(2);
    expect(await page.locator(".new-pill").count()).toBe(0);
  });

  test("a reader can leave the end while it grows, and is brought back when they speak", async () => {
    const { page, player, address } = await begin(long);
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("message number 119").waitFor();
    player.change("s1", { status: "working" });
    player.emit("s1", { type: "turn_started", source: "acp", prompt: "go on" });
    let line = 0;
    const stream = setInterval(() => {
      line += 1;
      player.emit("s1", grew(`line ${line}\n\n`));
    }, 15);
    try {
      await page.getByText("line 20", { exact: true }).waitFor();
      await page.locator(".rows").hover();
      await until("the reader is let go", async () => {
        await page.mouse.wheel(0, -400);
        return page.locator(".new-pill").isVisible();
      });
    } finally {
      clearInterval(stream);
    }
    expect(await page.locator(".new-pill").isVisible()).toBe(true);
    await page.getByRole("textbox", { name: "Prompt" }).fill("and now this");
    await page.getByRole("button", { name: "Queue" }).click();
    player.change("s1", { queue: [{ id: "k1", text: "and now this", by: "Ada's phone" }] });
    await page.getByRole("region", { name: "Queue" }).getByText("and now this").waitFor();
    await page.locator(".new-pill").waitFor({ state: "detached" });
  });

  test("a place that was found is brought to the screen, however far back it is", async () => {
    const { page, player, address } = await begin((player) => long(player, 900));
    const seq = player.sessions.get("s1")?.messages[40]?.seq;
    await page.goto(`${address}/#/s/s1/${seq}`);
    const row = page.locator(".found-row", { hasText: "message number 40" });
    await row.waitFor();
    await until("it is on the screen", async () => {
      const box = await row.boundingBox();
      return box !== null && box.y > 0 && box.y < 700;
    });
  });

  test("older messages come when they are scrolled to, and the first one is the beginning", async () => {
    const { page, address } = await begin((player) => long(player, 400));
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("message number 399").waitFor();
    await until(
      "the beginning is reached",
      async () => {
        await page.locator(".rows").evaluate((rows) => rows.scrollTo(0, 0));
        return page
          .getByText("message number 0\n")
          .first()
          .isVisible()
          .catch(() => false);
      },
      40_000,
    );
    await until("nothing is before it", async () => {
      await page.locator(".rows").evaluate((rows) => rows.scrollTo(0, 0));
      return page.getByText("Start of session").isVisible();
    });
  });
});

test("older messages come by themselves where those that are there are not to be seen", async () => {
  const it = await begin((player) => {
    const said = Array.from({ length: 40 }, (_, n) => text("user", `message number ${n}`));
    const context = (): Block[] => [{ type: "text", text: "context" }];
    const unseen = Array.from({ length: 60 }, () => message("user", context(), { meta: true }));
    const seq = unseen.at(-1)?.seq ?? 0;
    player.add(summary("s1", { title: "Mostly unseen", messages: 100, seq }), [...said, ...unseen]);
  });
  const { page, address } = it;
  await page.goto(`${address}/#/s/s1`);
  await page.getByText("message number 39").waitFor();
});

describe("long texts", () => {
  const output = Array.from({ length: 30_000 }, (_, n) => `line ${n}`).join("\n");
  const answer = `The answer begins.\n\n${"Many words. ".repeat(2000)}\n\nThe answer ends.`;

  function cut(player: Player): void {
    const call = message("assistant", [
      { type: "tool_use", id: "t1", name: "Bash", input: { command: "make all" } },
      {
        type: "tool_result",
        tool_use_id: "t1",
        content: output.slice(0, 4096),
        is_error: false,
        status: "success",
      },
    ]);
    const said = text("assistant", answer.slice(0, 4096));
    player.add(summary("s1", { title: "Long" }), [
      text("user", "Go"),
      { ...said, cut: [["/content/0/text", answer.length]] },
      { ...call, cut: [["/content/1/content", output.length]] },
    ]);
    player.whole.set(`s1 ${call.seq} /message/content/1/content`, output);
    player.whole.set(`s1 ${said.seq} /message/content/0/text`, answer);
  }

  test("a command's card shows the end of its output, its sheet too, and all of it on demand", async () => {
    const { page, address } = await begin(cut);
    await page.goto(`${address}/#/s/s1`);
    const card = page.locator(".card", { hasText: "make all" });
    await card.getByText("line 29999").waitFor();
    await card.click();
    const shown = page.locator(".tool-output .output");
    await shown.getByText("line 29999").waitFor();
    expect(await shown.innerText()).not.toContain("line 17\n");
    await page.getByRole("button", { name: /Show all \(\d+ KB\)/ }).click();
    await until("all of it is there", async () => (await shown.innerText()).startsWith("line 0\nline 1\n"));
    expect((await shown.innerText()).trimEnd()).toBe(output);
  });

  test("a long answer is there to its end", async () => {
    const { page, address } = await begin(cut);
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("The answer ends.").waitFor();
  });

  test("a long answer that streamed stands once when it is recorded with its beginning only", async () => {
    const { page, player, address } = await begin(quiet);
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("General greetings").waitFor();
    player.emit("s1", { type: "turn_started", source: "acp", prompt: "Go" });
    for (let from = 0; from < answer.length; from += 2000)
      player.emit("s1", grew(answer.slice(from, from + 2000)));
    await page.getByText("The answer ends.").waitFor();
    const recorded = text("assistant", answer.slice(0, 4096)).message;
    const seq = (player.sessions.get("s1")?.summary.seq ?? 0) + 1;
    player.whole.set(`s1 ${seq} /message/content/0/text`, answer);
    player.emitCut("s1", [["/message/content/0/text", answer.length]], {
      type: "message_recorded",
      source: "session_file",
      changed: false,
      message: recorded,
    });
    await page.locator(".said:not(.live)", { hasText: "The answer ends." }).waitFor();
    expect(await page.locator(".said", { hasText: "The answer begins." }).count()).toBe(1);
  });
});
