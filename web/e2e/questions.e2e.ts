// What the agent asks, and how it is answered.

import { describe, expect, test } from "vitest";
import { answerable } from "./browser";
import { message, scene, summary } from "./scene";
import { stages, until } from "./stage";
import { commands, quiet } from "./talk";

const begin = stages();

describe("questions", () => {
  test("what is shown is what is released, and it is done only when the log says so", async () => {
    const { page, player, address } = await begin(scene);
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

  test("an answer is not taken for one to the next question with the same id: an agent that was resumed counts from one again", async () => {
    const { page, player, address } = await begin(scene);
    const [open] = player.sessions.get("s1")?.summary.questions ?? [];
    if (!open) throw new Error("no question");
    await page.goto(address);
    await answerable(page).click();
    await page.getByText("Sent. Waiting for the agent.").waitFor();
    player.change("s1", { questions: [], status: "exited" });
    await page.getByRole("dialog").waitFor({ state: "detached" });
    player.change("s1", { questions: [{ ...open, shown: "h2" }], status: "waiting" });
    await answerable(page).click();
    await until("that one is answered too", () => commands(player).length === 2);
    expect(commands(player)[1]?.command).toMatchObject({ question_id: "q1", shown: "h2" });
  });

  test("a sign that turns what is read is named in what will run", async () => {
    const it = await begin((player) => {
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
    const { page, player, address } = await begin(scene);
    await page.goto(address);
    await page.getByRole("button", { name: "Deny and say why" }).click();
    const why = page.getByLabel("Reason for denying");
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
    const it = await begin((player) => {
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
    const { page, player, address } = await begin(scene);
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
    const { page, player, address, other } = await begin(scene);
    const second = await other();
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
    const { page, player, address } = await begin(quiet);
    await page.goto(`${address}/#/s/s1`);
    await page.getByRole("textbox", { name: "Prompt" }).fill("I am in the middle of a");
    scene(player);
    const asked = player.sessions.get("s1")?.summary;
    player.change("s1", { ...asked, version: 50 });
    await page.getByRole("button", { name: "1 question waiting" }).click();
    await page.getByRole("dialog", { name: "Run this command?" }).waitFor();
  });
});

test("what somebody has answered waits for the agent: it comes up over nothing, and no bar says that it waits", async () => {
  const { page, player, address } = await begin(scene);
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
  const it = await begin((player) => {
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
  await page.getByRole("dialog", { name: "The agent has a question" }).waitFor();
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
    const { page, player, address } = await begin(scene);
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
