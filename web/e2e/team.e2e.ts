// Teams on the screen: who works for whom, jobs, letters.

import { describe, expect, test } from "vitest";
import { scene } from "./scene";
import { type Stage, stages, until } from "./stage";

const begin = stages();

async function team(path: string): Promise<Stage> {
  const it = await begin(scene);
  await it.page.goto(it.address);
  await it.page.getByRole("button", { name: "Close" }).click();
  await it.page.goto(`${it.address}/#/${path}`);
  return it;
}

describe("a team", () => {
  test("is a tree of who works for whom, and changes when the daemon says so", async () => {
    const { page, player } = await team("team");
    const gone = page.locator(".member", { hasText: "tester-1d3f" });
    const below = page.locator(".tree > li > ul > li", { hasText: "developer-9a02" });
    await below.locator("ul").getByText("reviewer-77be").waitFor();
    expect(await gone.isVisible()).toBe(false);
    await page.getByText("1 ended agent").click();
    await gone.waitFor();
    // What a session says of itself needs no question to the daemon.
    player.change("s2", { tokens: 2_500_000, status: "idle" });
    await page.locator(".member", { hasText: "supervisor-4f1c" }).getByText("2.5M tokens").waitFor();
    const [first] = player.members;
    if (!first) throw new Error("no member");
    player.members = [...player.members, { ...first, session: "s6", name: "writer-0001", parent: "s2" }];
    player.news();
    await page.locator(".member", { hasText: "writer-0001" }).waitFor();
  });

  test("an agent is written to, and ended", async () => {
    const { page, player } = await team("team");
    await page.getByRole("button", { name: "More about developer-c0de" }).click();
    await page.getByLabel("Message to developer-c0de").fill("Use the new lock file");
    await page.getByRole("button", { name: "Send message" }).click();
    await until("it was written", () => player.posted.some(({ path }) => path === "/api/v1/letters"));
    expect(player.posted.at(-1)?.body).toEqual({ to: "s3", text: "Use the new lock file" });
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "More about developer-c0de" }).click();
    await page.getByRole("button", { name: /^End this agent/ }).click();
    await page.getByText("Ending 2 agents").waitFor();
    expect(player.posted.at(-1)?.path).toBe("/api/v1/team/s3/stop");
  });

  test("jobs: what waits comes first, one that has paused goes on, one that is done says what came of it", async () => {
    const { page, player } = await team("team/jobs");
    const rows = page.locator(".row.job");
    await rows.first().getByText("Needs you").waitFor();
    expect(await rows.count()).toBe(4);
    await rows.filter({ hasText: "Upgrade to Node 24" }).click();
    await page.getByText("It has used 900k of 900k tokens.").waitFor();
    await page.getByRole("button", { name: "Continue job" }).click();
    await page.getByText("Job continued").waitFor();
    expect(player.posted.at(-1)?.path).toBe("/api/v1/jobs/j2/continue");
    await rows.filter({ hasText: "Measure the nightly build" }).click();
    const sheet = page.getByRole("dialog");
    await sheet.locator("strong", { hasText: "tsc" }).waitFor();
    expect(await sheet.getByRole("button", { name: "Cancel job" }).count()).toBe(0);
  });

  test("letters: what was opened is read, here and in the number at the top of the list", async () => {
    const { page, player, address } = await team("team/letters");
    await page.getByRole("button", { name: /Shall the upgrade go/ }).click();
    await page.getByRole("dialog").getByText("or wait for the next one?").waitFor();
    await until("it was read", () => player.posted.some(({ path }) => path === "/api/v1/letters/read"));
    expect(player.posted.at(-1)?.body).toEqual([2]);
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("link", { name: "Inbox 1" }).waitFor();
    await page.goto(`${address}/#/`);
    await page.getByRole("link", { name: "Team, 1 unread" }).waitFor();
  });

  test("an agent is launched as a profile", async () => {
    const { page, player } = await team("team");
    await page.getByRole("button", { name: "Launch an agent" }).click();
    await page.locator(".place", { hasText: "reviewer" }).click();
    await page.getByLabel("Prompt").fill("Look at the last three commits");
    await page.getByRole("button", { name: "Launch", exact: true }).click();
    await page.getByRole("log", { name: "Transcript" }).waitFor();
    expect(player.posted.at(-1)).toMatchObject({
      path: "/api/v1/team/launch",
      body: { profile: "reviewer", cwd: "/home/ada/shop", prompt: "Look at the last three commits" },
    });
  });
});
