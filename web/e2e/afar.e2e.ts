// Far from the desk: calls to this device, addresses that a browser does not trust, sessions that were shared to be read.

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { Call } from "../src/api/types";
import { ELSEWHERE, PHONE, shot } from "./browser";
import { scene } from "./scene";
import { type Stage, stages, until } from "./stage";

const begin = stages("whole");

/** Delivers a call to the service worker as the browser does, without anybody who carries it. */
async function carrier({ page, context, address }: Stage): Promise<(call: Call) => Promise<void>> {
  const cdp = await context.newCDPSession(page);
  let registrationId = "";
  cdp.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
    registrationId = registrations[0]?.registrationId ?? registrationId;
  });
  await cdp.send("ServiceWorker.enable");
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await until("the worker is known", () => registrationId !== "");
  return async (call) => {
    await cdp.send("ServiceWorker.deliverPushMessage", {
      origin: address,
      registrationId,
      data: JSON.stringify(call),
    });
  };
}

type Shown = { title: string; body: string; actions: string[] };
function notifications(page: Page): Promise<Shown[]> {
  return page.evaluate(async () => {
    const worker = await navigator.serviceWorker.ready;
    const all = await worker.getNotifications();
    return all.map((one) => ({
      title: one.title,
      body: one.body,
      actions: (one as unknown as { actions: { action: string }[] }).actions.map(({ action }) => action),
    }));
  });
}

const QUESTION: Call = { kind: "question", title: "Fix the rounding", body: "git push", session_id: "s1" };

async function away(set: typeof scene = scene): Promise<Stage> {
  const it = await begin(set, { ...PHONE, permissions: ["notifications"] });
  await it.page.goto(it.address);
  await it.page.getByRole("button", { name: "Close" }).click();
  return it;
}

describe("a device that is called", () => {
  test("shows exactly what will run, and answers from the notification with the hash of what was shown", async () => {
    const here = await away();
    const { page, player, context } = here;
    const deliver = await carrier(here);
    await deliver(QUESTION);
    await until("it is shown", async () => (await notifications(page)).length === 1);
    expect(await notifications(page)).toEqual([
      {
        title: "Fix the rounding",
        body: "git push --force origin main && rm -rf build/cache",
        actions: ["allow", "deny"],
      },
    ]);
    const [worker] = context.serviceWorkers();
    await worker?.evaluate(async () => {
      const scope = globalThis as unknown as ServiceWorkerGlobalScope;
      const [notification] = await scope.registration.getNotifications();
      if (!notification) return;
      // A tap by hand is no tap to the browser, and may not be waited for; it is handled all the same.
      scope.addEventListener("error", (event) => event.preventDefault());
      scope.dispatchEvent(new NotificationEvent("notificationclick", { notification, action: "deny" }));
    });
    const answers = () => player.posted.filter(({ path }) => path === "/api/v1/sessions/s1/commands");
    await until("the answer was sent", () => answers().length === 1);
    expect(answers()[0]?.body).toMatchObject({
      command: { type: "answer", question_id: "q1", choice: "no", shown: "h1" },
    });
  });

  test.each([
    ["a long command", `echo ${"x".repeat(200)}; rm -rf /`],
    ["one with a sign that turns what is read", "ls \u202e/ fr- mr #"],
  ])("what cannot be seen whole on a notification cannot be allowed from it: %s", async (_what, command) => {
    const here = await away((player) => {
      scene(player);
      const session = player.sessions.get("s1");
      const [open] = session?.summary.questions ?? [];
      if (open?.question.meaning?.kind === "command") open.question.meaning.command = command;
    });
    const deliver = await carrier(here);
    await deliver(QUESTION);
    await until("it is shown", async () => (await notifications(here.page)).length === 1);
    expect((await notifications(here.page))[0]?.actions).toEqual(["deny"]);
  });

  test("where the daemon does not answer, the words that came with the call are shown, with no button", async () => {
    const here = await away();
    const deliver = await carrier(here);
    here.player.silent.add("/api/v1/sessions/s1");
    await deliver(QUESTION);
    await until("it is shown", async () => (await notifications(here.page)).length === 1);
    expect(await notifications(here.page)).toEqual([
      { title: QUESTION.title, body: QUESTION.body, actions: [] },
    ]);
  });

  test("a question that was answered elsewhere is taken back, and a later call takes the place of an earlier one", async () => {
    const here = await away();
    const { page, player } = here;
    const deliver = await carrier(here);
    await deliver(QUESTION);
    await until("it is shown", async () => (await notifications(page)).length === 1);
    player.change("s1", { questions: [], status: "working" });
    await until("it is taken back", async () => (await notifications(page)).length === 0);
    await deliver({
      kind: "stalled",
      title: "Fix the rounding",
      body: "silent for 2 minutes",
      session_id: "s1",
    });
    await deliver({ kind: "done", title: "Fix the rounding", body: "All tests pass", session_id: "s1" });
    await until("only the last one is there", async () => {
      const all = await notifications(page);
      return all.length === 1 && all[0]?.body === "All tests pass";
    });
  });

  test("a question that was answered while the app was closed gives way to a line that goes by itself", async () => {
    const here = await away();
    const deliver = await carrier(here);
    await deliver(QUESTION);
    await until("it is shown", async () => (await notifications(here.page)).length === 1);
    await deliver({ ...QUESTION, kind: "answered", body: "Question answered" });
    const told = { title: "Fix the rounding", body: "Question answered", actions: [] };
    await until("it gave way", async () => (await notifications(here.page))[0]?.actions.length === 0);
    expect(await notifications(here.page)).toEqual([told]);
    await until("it is gone", async () => (await notifications(here.page)).length === 0, 20_000);
  });

  /** The browser's own service is not to be reached from a test. */
  async function carried(page: Page): Promise<void> {
    await page.addInitScript(() => {
      let made: unknown = null;
      const subscription = {
        endpoint: "https://fcm.googleapis.com/fcm/send/x",
        toJSON: () => ({
          endpoint: "https://fcm.googleapis.com/fcm/send/x",
          keys: { p256dh: "p", auth: "a" },
        }),
        unsubscribe: async () => {
          made = null;
          return true;
        },
      };
      PushManager.prototype.getSubscription = async () => made as PushSubscription | null;
      PushManager.prototype.subscribe = async () => {
        made = subscription;
        return subscription as unknown as PushSubscription;
      };
    });
  }

  test("one that is let in again is called as the device that it is now, over a connection of its own", async () => {
    const { page, player, address } = await begin(scene, { ...PHONE, permissions: ["notifications"] });
    await carried(page);
    await page.goto(address);
    await page.getByRole("button", { name: "Close" }).click();
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    await page.goto(`${address}/#/settings`);
    await page.getByRole("button", { name: "Turn on" }).click();
    const told = () => player.posted.filter(({ path }) => path === "/api/v1/push/subscription").length;
    await until("the daemon knows whom to call", () => told() === 1);
    await page.goto(`${address}/#pair=AB12-CD34`);
    await page.getByRole("button", { name: "Pair this device" }).click();
    await page.getByText("Paired").waitFor();
    await until("it is told again", () => told() === 2);
    const watched = () => player.heard.filter(({ type }) => type === "watch").length;
    const before = watched();
    await page.getByRole("button", { name: "Go to sessions" }).click();
    await until("it connects anew", () => watched() > before);
  });

  test("settings: turned on with a test, and the daemon is told whether somebody looks", async () => {
    const { page, player, address } = await begin(scene, { ...PHONE, permissions: ["notifications"] });
    await carried(page);
    await page.goto(address);
    await page.getByRole("button", { name: "Close" }).click();
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    await page.goto(`${address}/#/settings`);
    await page.getByRole("button", { name: "Turn on" }).click();
    await page.getByRole("button", { name: "Send a test" }).click();
    await until("the test was asked for", () =>
      player.posted.some(({ path }) => path.endsWith("/push/test")),
    );
    expect(player.posted[0]).toEqual({
      path: "/api/v1/push/subscription",
      body: { endpoint: "https://fcm.googleapis.com/fcm/send/x", keys: { p256dh: "p", auth: "a" } },
    });
    await shot(page, "phone-light-notifications");
    await page.getByRole("button", { name: "Turn off" }).click();
    await page.getByRole("button", { name: "Turn on" }).waitFor();
    expect(player.heard).toContainEqual(expect.objectContaining({ type: "visible", visible: true }));
  });
});

test("an address that the browser does not trust says that nobody is called there, at the door and in the settings", async () => {
  const { page, player, address } = await begin(scene);
  const there = address.replace("localhost", ELSEWHERE);
  player.refuses = true;
  await page.goto(`${there}/#pair=AB12-CD34`);
  await page.getByText("No notifications here.").waitFor();
  await page.getByText("This page was loaded without TLS").waitFor();
  await shot(page, "phone-light-pair-untrusted");
  player.refuses = false;
  await page.getByRole("button", { name: "Pair this device" }).click();
  await page.getByText("Paired").waitFor();
  await page.getByText("No notifications here.").waitFor();
  await page.getByRole("button", { name: "Go to sessions" }).click();
  await page.goto(`${there}/#/settings`);
  await page.getByText("Off. This page was loaded without TLS").waitFor();
  expect(await page.getByRole("button", { name: "Turn on" }).count()).toBe(0);
  // Where it is trusted, nothing of it is said.
  await page.goto(`${address}/#/pair`);
  await page.getByText("Pair this device with Pollux.").waitFor();
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  expect(await page.getByText("No notifications here.").count()).toBe(0);
});

describe("a shared session", () => {
  test("a link is made, copied and taken back", async () => {
    const { page, player, address } = await away();
    await page.goto(`${address}/#/s/s2`);
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("button", { name: "Share read-only link" }).click();
    await page.getByText("1 hour").click();
    await page.getByRole("button", { name: "Create link" }).click();
    await page.getByText("https://desk.example/#/shared/tok-en_1").waitFor();
    await shot(page, "phone-light-share");
    expect(player.posted.at(-1)).toEqual({ path: "/api/v1/sessions/s2/share", body: { hours: 1 } });
    await page.getByRole("button", { name: "Revoke all links" }).click();
    await page.getByText("All links to this session are revoked").waitFor();
    const over = () => page.locator(".toasts").evaluate((toasts) => toasts.matches(":popover-open"));
    await until("it stands over the sheet", over);
  });

  test("whoever has the link reads it and is offered nothing else, and asks the daemon for nothing else", async () => {
    const { page, player, address } = await begin(scene);
    player.refuses = true;
    const asked = new Set<string>();
    page.on("request", (request) => {
      const { pathname } = new URL(request.url());
      if (pathname.startsWith("/api/")) asked.add(pathname);
    });
    page.on("websocket", () => asked.add("websocket"));
    await page.goto(`${address}/#/shared/tok-en_1`);
    await page.getByText("Two things to know").waitFor();
    await page.getByRole("button", { name: "Older messages" }).click();
    await page.getByText("The cart shows 7.07").waitFor();
    await shot(page, "phone-light-shared");
    expect(await page.getByRole("textbox").count()).toBe(0);
    expect([...asked]).toEqual(["/api/v1/shared"]);
  });

  test("whoever cannot copy from it is told so", async () => {
    const { page, address } = await begin(scene);
    await page.goto(`${address.replace("localhost", ELSEWHERE)}/#/shared/tok-en_1`);
    await page.getByRole("button", { name: /^Copy/ }).first().click();
    await page.getByText("This browser does not allow copying from this page").waitFor();
  });

  test("whoever leaves it for the app, and is let in there, has the app", async () => {
    const { page, address } = await begin(scene);
    await page.goto(`${address}/#/shared/tok-en_1`);
    await page.getByText("Two things to know").waitFor();
    await page.evaluate(() => {
      location.hash = "#/";
    });
    await page.getByText("Why is the nightly build slow?").first().waitFor();
  });

  test("a link that is over says so", async () => {
    const { page, address } = await begin(scene);
    await page.goto(`${address}/#/shared/another`);
    await page.getByRole("alert").waitFor();
  });
});
