import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Block, ClientFrame, Event } from "../src/api/types";
import { answerable, launch, PHONE, shot } from "./browser";
import type { Player } from "./player";
import { message, scene, summary } from "./scene";
import { type Stage, stage, until } from "./stage";

let browser: Browser;
let it: Stage | undefined;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser?.close());
afterEach(async () => {
  const faults = it?.faults ?? [];
  await it?.end();
  it = undefined;
  expect(faults).toEqual([]);
});

const text = (role: "user" | "assistant", said: string) => message(role, [{ type: "text", text: said }]);
const grew = (said: string): Event => ({ type: "text_grew", source: "acp", part: "text", text: said });
const commands = (player: Player) =>
  player.heard.filter(
    (frame): frame is Extract<ClientFrame, { type: "command" }> & { at: number } => frame.type === "command",
  );

function quiet(player: Player): void {
  player.add(summary("s1", { title: "A talk", updated_at: new Date().toISOString() }), [
    text("user", "Hello there"),
    text("assistant", "General greetings"),
  ]);
}

/** Whether the phone keeps these words for when there is no connection. It writes every two seconds. */
function keeps(page: Page, words: string): Promise<boolean> {
  return page.evaluate(
    (looked) =>
      new Promise<boolean>((resolve) => {
        const open = indexedDB.open("keyval-store");
        open.onerror = () => resolve(false);
        open.onsuccess = () => {
          if (!open.result.objectStoreNames.contains("keyval")) return resolve(false);
          const all = open.result.transaction("keyval").objectStore("keyval").getAll();
          all.onsuccess = () => resolve(JSON.stringify(all.result).includes(looked));
          all.onerror = () => resolve(false);
        };
      }),
    words,
  );
}

function long(player: Player, count = 120): void {
  const messages = Array.from({ length: count }, (_, n) =>
    text(n % 2 ? "assistant" : "user", `message number ${n}\n\nwith a second line`),
  );
  const seq = messages.at(-1)?.seq ?? 0;
  player.add(summary("s1", { title: "A long talk", messages: count, seq }), messages);
}

describe("streaming", () => {
  test("text appears as it grows, and the finished message takes its place without a jump", async () => {
    it = await stage(browser, quiet);
    const { page, player, address } = it;
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
    it = await stage(browser, (player) =>
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
    it = await stage(browser, long);
    const { page, player, address } = it;
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("message number 119").waitFor();
    await page.locator(".rows").evaluate((rows) => rows.scrollBy(0, -1500));
    await page.getByRole("button", { name: "To the end" }).waitFor();
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
    it = await stage(browser, long);
    const { page, address } = it;
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
    it = await stage(browser, long);
    const { page, player, address } = it;
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
    it = await stage(browser, (player) => long(player, 900));
    const { page, player, address } = it;
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
    it = await stage(browser, (player) => long(player, 400));
    const { page, address } = it;
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
      return page.getByText("The beginning").isVisible();
    });
  });
});

test("older messages come by themselves where those that are there are not to be seen", async () => {
  it = await stage(browser, (player) => {
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
    it = await stage(browser, cut);
    const { page, address } = it;
    await page.goto(`${address}/#/s/s1`);
    const card = page.locator(".card", { hasText: "make all" });
    await card.getByText("line 29999").waitFor();
    await card.click();
    const shown = page.locator(".tool-output .output");
    await shown.getByText("line 29999").waitFor();
    expect(await shown.innerText()).not.toContain("line 17\n");
    await page.getByRole("button", { name: /Show all of it \(\d+ KB\)/ }).click();
    await until("all of it is there", async () => (await shown.innerText()).startsWith("line 0\nline 1\n"));
    expect((await shown.innerText()).trimEnd()).toBe(output);
  });

  test("a long answer is there to its end", async () => {
    it = await stage(browser, cut);
    const { page, address } = it;
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("The answer ends.").waitFor();
  });

  test("a long answer that streamed stands once when it is recorded with its beginning only", async () => {
    it = await stage(browser, quiet);
    const { page, player, address } = it;
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

describe("questions", () => {
  test("what is shown is what is released, and it is done only when the log says so", async () => {
    it = await stage(browser, scene);
    const { page, player, address } = it;
    await page.goto(address);
    await page.getByRole("button", { name: "Allow once" }).click();
    await page.getByText("Sent. Waiting for the agent.").waitFor();
    expect(commands(player)[0]?.command).toEqual({
      type: "answer",
      question_id: "q1",
      choice: "once",
      shown: "h1",
    });
    player.change("s1", { questions: [], status: "working" });
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });

  test("a sign that turns what is read is named in what will run", async () => {
    it = await stage(browser, (player) => {
      scene(player);
      const [open] = player.sessions.get("s1")?.summary.questions ?? [];
      if (open?.question.meaning?.kind === "command") open.question.meaning.command = "ls \u202e/ fr- mr #";
    });
    const { page, address } = it;
    await page.goto(address);
    await page.locator(".will-run mark", { hasText: "⟨U+202E⟩" }).waitFor();
    expect(await page.locator(".will-run").innerText()).not.toContain("\u202e");
  });

  test("a denial can say why", async () => {
    it = await stage(browser, scene);
    const { page, player, address } = it;
    await page.goto(address);
    await page.getByRole("button", { name: "Deny and say why" }).click();
    const why = page.getByLabel("Why not");
    await until("it has the keyboard", () => why.evaluate((field) => field === document.activeElement));
    await why.fill("Open a pull request instead");
    await page.getByRole("button", { name: "Deny and send" }).click();
    await until("the answer was sent", () => commands(player).length === 1);
    expect(commands(player)[0]?.command).toMatchObject({
      choice: "no",
      reason: "Open a pull request instead",
    });
  });

  test("what wants words is answered in words, at once where nothing else can be answered", async () => {
    const words = { id: "Type your answer", label: "Type your answer", effect: "words" } as const;
    it = await stage(browser, (player) => {
      scene(player);
      const [open] = player.sessions.get("s1")?.summary.questions ?? [];
      if (open) open.question.options = [{ id: "SQLite", label: "SQLite", effect: "other" }, words];
    });
    const { page, player, address } = it;
    await page.goto(address);
    await page.getByRole("button", { name: words.label }).click();
    await page.getByRole("button", { name: "Back" }).click();
    await page.getByRole("button", { name: "SQLite" }).waitFor();
    await page.getByRole("button", { name: words.label }).click();
    const answer = page.getByLabel("Your answer");
    expect(await page.getByRole("button", { name: "Send", exact: true }).isDisabled()).toBe(true);
    await answer.fill("a pile of cards");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await until("the answer was sent", () => commands(player).length === 1);
    expect(commands(player)[0]?.command).toMatchObject({ choice: words.id, reason: "a pile of cards" });
    const [open] = player.sessions.get("s1")?.summary.questions ?? [];
    if (!open) throw new Error("there was a question");
    const question = { ...open.question, id: "q2", text: "What shall it be called?", options: [words] };
    player.change("s1", { questions: [{ ...open, question }] });
    await page.getByText("What shall it be called?").waitFor();
    await answer.fill("castor");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await until("that one too", () => commands(player).length === 2);
    expect(commands(player)[1]?.command).toMatchObject({ question_id: "q2", reason: "castor" });
  });

  test("a finger that was on its way to something else answers nothing", async () => {
    it = await stage(browser, scene);
    const { page, player, address } = it;
    // It comes down in the moment in which the button is there.
    await page.addInitScript(() => {
      new MutationObserver((_, observer) => {
        const buttons = [...document.querySelectorAll("button")];
        const button = buttons.find(({ textContent }) => textContent === "Allow once");
        if (!button) return;
        observer.disconnect();
        button.click();
        document.documentElement.dataset.tapped = "yes";
      }).observe(document, { subtree: true, childList: true });
    });
    await page.goto(address);
    await page.locator("[data-tapped=yes]").waitFor();
    await answerable(page).waitFor();
    expect(commands(player)).toEqual([]);
    await answerable(page).click();
    await until("a tap that was meant is sent", () => commands(player).length === 1);
  });

  test("two devices: the second one sees who answered and what", async () => {
    it = await stage(browser, scene);
    const { page, player, address } = it;
    const second = await it.other();
    await Promise.all([page.goto(address), second.page.goto(address)]);
    await second.page.getByRole("button", { name: "Allow once" }).waitFor();
    const [open] = player.sessions.get("s1")?.summary.questions ?? [];
    if (!open) throw new Error("no question");
    player.change("s1", {
      questions: [{ ...open, sent: { outcome: "chosen", choice: "once", by: "Ada's desk" } }],
    });
    await second.page.getByText("Ada's desk: Allow once. Waiting for the agent.").waitFor();
    player.change("s1", { questions: [], status: "working" });
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await second.page.getByRole("dialog").waitFor({ state: "detached" });
    expect(second.faults).toEqual([]);
  });

  test("somebody who writes is not interrupted: the question waits in a bar", async () => {
    it = await stage(browser, quiet);
    const { page, player, address } = it;
    await page.goto(`${address}/#/s/s1`);
    await page.getByRole("textbox", { name: "Prompt" }).fill("I am in the middle of a");
    scene(player);
    const asked = player.sessions.get("s1")?.summary;
    player.change("s1", { ...asked, version: 50 });
    await page.getByRole("button", { name: "A question waits" }).click();
    await page.getByRole("dialog", { name: "Run this command?" }).waitFor();
  });
});

test("what somebody has answered waits for the agent: it comes up over nothing, and no bar says that it waits", async () => {
  it = await stage(browser, scene);
  const { page, player, address } = it;
  const questions = player.sessions.get("s1")?.summary.questions ?? [];
  const sent = { outcome: "chosen" as const, choice: "ok", by: "Ada's desk" };
  player.change("s1", { questions: questions.map((question) => ({ ...question, sent })) });
  await page.goto(address);
  await page.getByText("Why is the nightly build slow?").first().waitFor();
  expect(await page.getByRole("dialog").count()).toBe(0);
  expect(await page.locator(".need-bar").count()).toBe(0);
});

test("what a newer daemon says in words of its own breaks nothing", async () => {
  const strange = (word: string) => word as never;
  it = await stage(browser, (player) => {
    scene(player);
    const [open] = player.sessions.get("s1")?.summary.questions ?? [];
    const [first] = player.jobs;
    if (!open || !first) throw new Error("no question or no job");
    const said = { status: strange("dreaming"), mode: strange("careful") };
    const questions = [{ ...open, question: { ...open.question, kind: strange("oracle") } }];
    const hologram = { type: "hologram", of: "a fox" } as never;
    player.add(summary("s1", { title: "From tomorrow", ...said, questions }), [
      message("assistant", [hologram, { type: "text", text: "Still here" }]),
    ]);
    player.jobs = [{ ...first, state: strange("frozen") }];
  });
  const { page, address } = it;
  await page.goto(`${address}/#/s/s1`);
  await page.getByRole("dialog", { name: "The agent asks" }).waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await page.locator(".said", { hasText: "Still here" }).waitFor();
  await page.getByRole("button", { name: "Mode careful" }).waitFor();
  await page.goto(`${address}/#/team/jobs`);
  await page.locator(".row.job", { hasText: "frozen" }).waitFor();
  await page.goto(`${address}/#/`);
  await page.locator(".row", { hasText: "From tomorrow" }).waitFor();
});

describe("several questions", () => {
  test("the one that is read stays, whatever is answered beside it", async () => {
    it = await stage(browser, scene);
    const { page, player, address } = it;
    const [open] = player.sessions.get("s1")?.summary.questions ?? [];
    if (!open) throw new Error("no question");
    for (const [id, command] of [
      ["s2", "make two"],
      ["s3", "make three"],
    ] as const) {
      const meaning = { kind: "command" as const, command, derived: {} };
      const question = { ...open.question, id: command, text: command, meaning };
      player.change(id, { questions: [{ shown: command, question }] });
    }
    await page.goto(address);
    const sheet = page.getByRole("dialog", { name: "Run this command?" });
    await sheet.getByText("1 of 3").waitFor();
    await sheet.getByRole("button", { name: "Next" }).click();
    await sheet.locator(".will-run", { hasText: "make two" }).waitFor();
    player.change("s1", { questions: [], status: "working" });
    await sheet.getByText("1 of 2").waitFor();
    expect(await sheet.locator(".will-run").innerText()).toBe("make two");
  });
});

describe("composer", () => {
  test("what was to be sent after a stop is a draft again where the session ends instead", async () => {
    it = await stage(browser, quiet);
    const { page, player, address } = it;
    player.change("s1", { status: "working" });
    await page.goto(`${address}/#/s/s1`);
    await page.getByRole("textbox", { name: "Prompt" }).fill("and then this");
    await page.getByRole("button", { name: "Stop and send" }).click();
    await until("it was interrupted", () => commands(player).length === 1);
    player.change("s1", { status: "exited" });
    await page.getByText("kept as its draft").waitFor();
    player.change("s1", { status: "idle" });
    await page.reload();
    const field = page.getByRole("textbox", { name: "Prompt" });
    await until("it is there again", async () => (await field.inputValue()) === "and then this");
    expect(commands(player).filter(({ command }) => command.type === "prompt")).toEqual([]);
  });

  test("what is to be sent after a stop outlives the page", async () => {
    it = await stage(browser, quiet);
    const { page, player, address } = it;
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
    it = await stage(browser, quiet);
    const { page, player, address } = it;
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
    await page.getByRole("button", { name: "Take back" }).click();
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
    it = await stage(browser, quiet);
    const { page, player, address, context } = it;
    player.change("s1", { status: "working" });
    await page.goto(`${address}/#/s/s1`);
    await page.getByRole("button", { name: "Stop the turn" }).waitFor();
    await context.setOffline(true);
    player.cut();
    await page.locator(".trouble:visible", { hasText: "Offline" }).waitFor();
    const field = page.getByRole("textbox", { name: "Prompt" });
    await field.fill("and then this");
    await page.getByRole("button", { name: "Stop and send" }).click();
    await page.getByText("Not connected: it stays here").waitFor();
    expect(await field.inputValue()).toBe("and then this");
    expect(commands(player)).toEqual([]);
  });

  /** What is left free at the sides, in pixels. */
  const EDGE = 10;

  test.each([320, 360, 390])("everything under the prompt is whole at %i pixels", async (width) => {
    for (const colorScheme of ["light", "dark"] as const) {
      it = await stage(browser, quiet, { ...PHONE, viewport: { width, height: 700 }, colorScheme });
      const { page, player, address } = it;
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
      expect(it.faults).toEqual([]);
      await it.end();
    }
    it = undefined;
  });

  test("a draft is kept for each session, through a reload", async () => {
    it = await stage(browser, quiet);
    const { page, address } = it;
    await page.goto(`${address}/#/s/s1`);
    await page.getByRole("textbox", { name: "Prompt" }).fill("half a thou");
    await page.reload();
    await until(
      "the draft is back",
      async () => (await page.getByRole("textbox", { name: "Prompt" }).inputValue()) === "half a thou",
    );
  });

  test("enter begins a line on a phone", async () => {
    it = await stage(browser, quiet);
    const { page, player, address } = it;
    await page.goto(`${address}/#/s/s1`);
    await page.getByRole("textbox", { name: "Prompt" }).focus();
    await page.keyboard.type("one");
    await page.keyboard.press("Enter");
    await page.keyboard.type("two");
    expect(await page.getByRole("textbox", { name: "Prompt" }).inputValue()).toBe("one\ntwo");
    expect(commands(player)).toEqual([]);
  });

  test("mode and model are changed by what the daemon says, not by the tap", async () => {
    it = await stage(browser, quiet);
    const { page, player, address } = it;
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

describe("away", () => {
  test("what happened while the connection was cut is there after it, once, and the place is kept", async () => {
    it = await stage(browser, quiet);
    const { page, player, address } = it;
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
    it = await stage(browser, quiet);
    const { page, player, address, context } = it;
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("General greetings").waitFor();
    await context.setOffline(true);
    player.cut();
    await page.locator(".trouble:visible", { hasText: "Offline" }).waitFor();
    await page.getByRole("textbox", { name: "Prompt" }).fill("written in a tunnel");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("Goes out when we are back").waitFor();
    await context.setOffline(false);
    await until("it went out", () => commands(player).length === 1);
    expect(commands(player)[0]?.command).toEqual({ type: "prompt", text: "written in a tunnel" });
  });

  test("a prompt whose reply never came outlives the page, and is sent once more with the same id", async () => {
    it = await stage(browser, quiet);
    const { page, player, address } = it;
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("General greetings").waitFor();
    player.mute = true;
    await page.getByRole("textbox", { name: "Prompt" }).fill("said into a dead line");
    await page.getByRole("button", { name: "Send" }).click();
    const waiting = page.getByRole("region", { name: "Outbox" });
    await waiting.getByText("On its way").waitFor();
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
    it = await stage(browser, quiet);
    const { page, player, address } = it;
    await page.addInitScript(() => {
      if (!location.protocol.startsWith("http") || localStorage.getItem("pollux.past")) return;
      const sent = Date.now() - 120_000;
      const letter = { id: "l1", sessionId: "s1", text: "from before", at: sent, seq: 1, asks: false, sent };
      localStorage.setItem("pollux.outbox", JSON.stringify([letter]));
      localStorage.setItem("pollux.past", "1");
    });
    player.emit("s1", { type: "turn_started", source: "acp", prompt: "somebody at the desk" });
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("Not confirmed. Look whether it arrived.").waitFor();
    expect(commands(player)).toEqual([]);
    await page.getByRole("button", { name: "Discard" }).click();
    await page.getByRole("region", { name: "Outbox" }).waitFor({ state: "detached" });
  });

  test("another window of the app shows what waits, and what was thrown away in one is gone in both", async () => {
    it = await stage(browser, quiet);
    const { page, player, address, context } = it;
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
    it = await stage(browser, quiet);
    const { page, address } = it;
    await page.addInitScript(() => {
      IDBFactory.prototype.open = () => ({}) as IDBOpenDBRequest;
    });
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("General greetings").waitFor();
  });

  test("without a connection nobody is asked for older messages, and nothing is said of it", async () => {
    it = await stage(browser, (player) => long(player, 300));
    const { page, player, address } = it;
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
    await page.getByRole("button", { name: "Retry" }).first().click();
    await until("it is asked again", () => asked.some((path) => path.endsWith("/messages")));
  });

  test("what was written offline stands behind what waits in the queue", async () => {
    it = await stage(browser, quiet);
    const { page, player, address, context } = it;
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
    it = await stage(browser, quiet);
    const { page, player, address, context } = it;
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
    await page.getByText("Things happened since").waitFor();
    expect(commands(player)).toEqual([]);
    await page.getByRole("button", { name: "Send now" }).click();
    await until("it went out", () => commands(player).length === 1);
  });

  test("while you were away: what happened is told in a line, with a link to where it began", async () => {
    it = await stage(browser, long);
    const { page, player, address } = it;
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
    it = await stage(browser, quiet);
    const { page, player, address, context } = it;
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
    it = await stage(browser, quiet);
    const { page, address } = it;
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("General greetings").waitFor();
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    await page.reload();
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
    await page.getByText("General greetings").waitFor();
    await until("the phone kept it", () => keeps(page, "General greetings"));
    return it;
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
    it = await stage(browser, quiet);
    const { page, player, address } = it;
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("General greetings").waitFor();
    await until("the phone kept it", () => keeps(page, "General greetings"));
    player.refuses = true;
    player.cut();
    await page.getByText("Let this device in.").waitFor();
    await until("the phone forgot it", async () => !(await keeps(page, "General greetings")));
  });
});
