/// <reference lib="webworker" />
// The service worker: the app opens without a connection. It keeps the page and its files, and never an answer of the API.

const worker = globalThis as unknown as ServiceWorkerGlobalScope;
const SHELL = "pollux-shell-1";
/** A page that takes longer than this is shown from the store. */
const PATIENCE = 2_500;

worker.addEventListener("install", (event) => {
  event.waitUntil(keepShell().then(() => worker.skipWaiting()));
});

worker.addEventListener("activate", (event) => {
  event.waitUntil(worker.clients.claim());
});

worker.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== worker.location.origin) return;
  if (url.pathname.startsWith("/api/")) return;
  if (event.request.mode === "navigate") event.respondWith(page(event.request));
  else event.respondWith(file(event.request));
});

/** The page and the files that it names. */
async function keepShell(): Promise<void> {
  const cache = await caches.open(SHELL);
  const answer = await fetch("/", { cache: "no-cache" });
  if (!answer.ok) return;
  const names = [...(await answer.clone().text()).matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(
    ([, name]) => name ?? "/",
  );
  await cache.put("/", answer);
  await Promise.all(names.map((name) => cache.add(name).catch(() => undefined)));
}

async function page(request: Request): Promise<Response> {
  const cache = await caches.open(SHELL);
  const kept = await cache.match("/");
  const fresh = fetch(request).then(async (answer) => {
    if (answer.ok) await cache.put("/", answer.clone());
    return answer;
  });
  if (!kept) return fresh;
  const late = new Promise<Response>((resolve) => setTimeout(() => resolve(kept.clone()), PATIENCE));
  return Promise.race([fresh.catch(() => kept.clone()), late]);
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

export {};
