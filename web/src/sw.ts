/// <reference lib="webworker" />
// The service worker: the app opens without a connection. It keeps the page and its files, and never an answer of the API.

import type { Call, Effect, Summary } from "./api/types";

const worker = globalThis as unknown as ServiceWorkerGlobalScope;
const SHELL = "pollux-shell-1";
/** A page that takes longer than this is shown from the store. */
const PATIENCE = 2_500;

worker.addEventListener("install", (event) => {
  // What could not be kept now is kept with the next page.
  event.waitUntil(
    keepShell()
      .catch(() => undefined)
      .then(() => worker.skipWaiting()),
  );
});

worker.addEventListener("activate", (event) => {
  event.waitUntil(worker.clients.claim());
});

worker.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== worker.location.origin) return;
  if (url.pathname.startsWith("/api/")) return;
  if (event.request.mode === "navigate") event.respondWith(page(event));
  else event.respondWith(file(event.request));
});

async function keepShell(): Promise<void> {
  const answer = await fetch("/", { cache: "no-cache" });
  if (answer.ok) await keepPage(answer);
}

/** The page and the files that it names. Those of the page before go: each version has names of its own. */
async function keepPage(answer: Response): Promise<void> {
  const cache = await caches.open(SHELL);
  const before = await cache.keys();
  const text = await answer.clone().text();
  const named = [...text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, name]) => name ?? "/");
  const names = [...new Set(named)];
  // Another page at this address is not ours to keep: that of a proxy, which wants to know who is there.
  if (!names.some((name) => name.startsWith("/assets/"))) return;
  // All files or none, and the page last: a page without its files opens nothing.
  await cache.addAll(names);
  await cache.put("/", answer);
  const now = new Set(["/", ...names]);
  const gone = before.filter(({ url }) => !now.has(new URL(url).pathname));
  await Promise.all(gone.map((request) => cache.delete(request)));
}

/** Keeps a page that is another one than the one that is kept. A file that somebody looks at is no page. */
async function renew(answer: Response, kept: Response | undefined): Promise<void> {
  if (!answer.ok || !answer.headers.get("content-type")?.startsWith("text/html")) return;
  if ((await kept?.text()) !== (await answer.clone().text())) await keepPage(answer);
}

async function page(event: FetchEvent): Promise<Response> {
  const kept = await (await caches.open(SHELL)).match("/");
  const fresh = fetch(event.request);
  // Whether or not somebody still waits for it by then.
  const renewed = fresh.then((answer) => renew(answer.clone(), kept?.clone()));
  event.waitUntil(renewed.catch(() => undefined));
  if (!kept) return fresh;
  const late = new Promise<Response>((resolve) => setTimeout(() => resolve(kept.clone()), PATIENCE));
  // A proxy that has lost the daemon answers too.
  const here = fresh.then((answer) => (answer.status < 500 ? answer : kept.clone()));
  return Promise.race([here.catch(() => kept.clone()), late]);
}

/** Names of files change with what is in them: what is kept is right. */
async function file(request: Request): Promise<Response> {
  const cache = await caches.open(SHELL);
  const kept = await cache.match(request);
  if (kept) return kept;
  const answer = await fetch(request);
  if (answer.ok && new URL(request.url).pathname.startsWith("/assets/"))
    await cache.put(request, answer.clone());
  return answer;
}

/** What a notification remembers, so that a button on it can answer. */
type Kept = { session_id?: string; question?: { id: string; shown: string; allow?: string; deny?: string } };
type Options = NotificationOptions & { actions?: { action: string; title: string }[]; renotify?: boolean };

/** A text that is longer is not seen whole on a notification: then there is no button that allows it. */
const LONGEST_SHOWN = 120;
/** Nor is one with these: ends of lines, signs that nobody sees, signs that turn what is read. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

worker.addEventListener("push", (event) => {
  event.waitUntil(called(event.data?.json() as Call));
});

/** So long the daemon is asked for the question itself. Then the words that came with the call are shown: better than nothing. */
const ASKED_FOR = 4_000;
/** How long it is to be seen that a question was answered elsewhere. */
const ANSWERED_FOR = 5_000;

async function called(call: Call): Promise<void> {
  if (call.kind === "answered") return withdrawn(call);
  const asked = call.kind === "question" && call.session_id ? await askedIn(call.session_id) : undefined;
  const data: Kept = {
    ...(call.session_id ? { session_id: call.session_id } : {}),
    ...(asked ? { question: asked.question } : {}),
  };
  const actions = [
    ...(asked?.question.allow ? [{ action: "allow", title: "Allow once" }] : []),
    ...(asked?.question.deny ? [{ action: "deny", title: "Deny" }] : []),
  ];
  const options: Options = {
    body: asked?.text ?? call.body,
    tag: call.session_id ?? call.kind,
    renotify: true,
    icon: "/icon-192.png",
    badge: "/icon-192.png",
    requireInteraction: call.kind === "question",
    data,
    actions,
  };
  await worker.registration.showNotification(call.title || "Pollux", options);
}

/** A browser wants to see something for each call: what was asked gives way to a line that goes by itself. */
async function withdrawn(call: Call): Promise<void> {
  const tag = call.session_id ?? call.kind;
  const data: Kept = call.session_id ? { session_id: call.session_id } : {};
  await worker.registration.showNotification(call.title, { body: call.body, tag, silent: true, data });
  // Waited for: a browser may end a worker that has nothing to do.
  await new Promise((resolve) => setTimeout(resolve, ANSWERED_FOR));
  for (const one of await worker.registration.getNotifications({ tag })) {
    if (one.body === call.body) one.close();
  }
}

/** The one question of a session, where it is one that can be answered without seeing more. */
async function askedIn(
  sessionId: string,
): Promise<{ text: string; question: NonNullable<Kept["question"]> } | undefined> {
  const session = await summaryOf(sessionId).catch(() => undefined);
  const [one, ...others] = session?.questions.filter(({ sent }) => sent === undefined) ?? [];
  if (!one || others.length > 0) return undefined;
  const { question, shown } = one;
  const text = question.meaning?.kind === "command" ? question.meaning.command : question.text;
  const choice = (effect: Effect) => question.options.find((option) => option.effect === effect)?.id;
  const seen = question.kind === "command" && text.length <= LONGEST_SHOWN && !UNSEEN.test(text);
  const allow = seen ? choice("allow_once") : undefined;
  const deny = choice("reject_once");
  return {
    text,
    question: { id: question.id, shown, ...(allow ? { allow } : {}), ...(deny ? { deny } : {}) },
  };
}

async function summaryOf(sessionId: string): Promise<Summary | undefined> {
  const signal = AbortSignal.timeout(ASKED_FOR);
  const answer = await fetch(`/api/v1/sessions/${encodeURIComponent(sessionId)}`, { signal });
  return answer.ok ? ((await answer.json()) as Summary) : undefined;
}

worker.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const kept = event.notification.data as Kept;
  const choice =
    event.action === "allow"
      ? kept.question?.allow
      : event.action === "deny"
        ? kept.question?.deny
        : undefined;
  event.waitUntil(choice === undefined ? show(kept.session_id) : answer(kept, choice));
});

/** The app, at the session. */
async function show(sessionId: string | undefined): Promise<void> {
  const [client] = await worker.clients.matchAll({ type: "window" });
  if (!client) {
    await worker.clients.openWindow(sessionId ? `/#/s/${encodeURIComponent(sessionId)}` : "/");
    return;
  }
  await client.focus();
  if (sessionId) client.postMessage({ go: sessionId });
}

/** Sends the answer with the hash of what was shown: another question than that is not released by it. */
async function answer({ session_id, question }: Kept, choice: string): Promise<void> {
  const command = { type: "answer", question_id: question?.id, choice, shown: question?.shown };
  const sent = await fetch(`/api/v1/sessions/${encodeURIComponent(session_id ?? "")}/commands`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id: crypto.randomUUID(), command }),
  }).catch(() => undefined);
  const told = (await sent?.json().catch(() => undefined)) as
    | { message?: string; reply?: { refused?: { message: string } } }
    | undefined;
  const problem = sent?.ok ? told?.reply?.refused?.message : (told?.message ?? "Cannot reach Pollux");
  if (problem === undefined) return;
  await worker.registration.showNotification("The answer was not accepted", {
    body: problem.charAt(0).toUpperCase() + problem.slice(1),
    tag: session_id ?? "problem",
    data: { session_id },
  });
}
