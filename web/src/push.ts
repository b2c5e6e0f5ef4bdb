// Calls to this device while the app is closed: Web Push, carried by the browser's own service. The daemon has its own keys.

import { api } from "./api/http";
import { state } from "./app";
import { go } from "./route";
import { whyNot } from "./state/calls";
import { open } from "./state/words";
import { worker as registration } from "./worker";

export type Calls = "blocked" | "off" | "on" | { unable: string };

/** Why this device cannot be called at this address; undefined where it can. */
export async function whyUnable(): Promise<string | undefined> {
  return whyNot({
    secure: window.isSecureContext,
    worker: (await registration) !== undefined,
    push: "PushManager" in window && "Notification" in window,
    apple: /iPhone|iPad/.test(navigator.userAgent),
  });
}

export async function callsNow(): Promise<Calls> {
  const [worker, unable] = [await registration, await whyUnable()];
  if (!worker || unable !== undefined) return { unable: unable ?? "This browser does not support Web Push." };
  if (Notification.permission === "denied") return "blocked";
  return (await worker.pushManager.getSubscription()) ? "on" : "off";
}

/** Asks the person, then the browser, then tells the daemon. */
export async function turnOn(): Promise<Calls> {
  const worker = await registration;
  if (!worker) return callsNow();
  if ((await Notification.requestPermission()) !== "granted") return callsNow();
  const { key } = await api.pushKey();
  const subscription = await worker.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: key,
  });
  await api.subscribe(subscription.toJSON());
  return "on";
}

/** A browser that is called is called as the device that it is now: the daemon has forgotten the one before. */
export async function renewCalls(): Promise<void> {
  const before = await (await registration)?.pushManager.getSubscription();
  if (!before) return;
  // A new one, because the daemon may have new keys too.
  await before.unsubscribe();
  await turnOn();
}

export async function turnOff(): Promise<Calls> {
  const subscription = await (await registration)?.pushManager.getSubscription();
  if (subscription) {
    await api.unsubscribe(subscription.endpoint);
    await subscription.unsubscribe();
  }
  return callsNow();
}

/** What a notification of ours remembers. */
type Kept = { session_id?: string; question?: { id: string } } | null;

/** Takes back what was answered elsewhere, and goes where a notification leads. */
export function watchCalls(): void {
  if (!("serviceWorker" in navigator)) return;
  navigator.serviceWorker.addEventListener("message", ({ data }: MessageEvent<{ go?: string }>) => {
    if (typeof data?.go === "string") go({ at: "session", id: data.go });
  });
  let waiting = false;
  state.watch(() => {
    if (waiting) return;
    waiting = true;
    setTimeout(() => {
      waiting = false;
      void withdraw();
    }, 1000);
  });
}

async function withdraw(): Promise<void> {
  if (state.value.inStepAt === undefined) return;
  const shown = (await (await registration)?.getNotifications().catch(() => [])) ?? [];
  for (const notification of shown) {
    const kept = notification.data as Kept;
    const session = kept?.session_id ? state.value.sessions[kept.session_id] : undefined;
    const asked = session && open(session).some(({ question }) => question.id === kept?.question?.id);
    if (kept?.question && session && !asked) notification.close();
  }
}
