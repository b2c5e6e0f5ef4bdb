// The connection to the daemon, as a pure machine: (state, input) → (state, effects). It owns every decision to
// connect, to distrust and to connect anew; nothing else in the app does. Time comes in with each input.

export type Phase = "offline" | "connect" | "replay" | "live" | "stale" | "refused";

export type Link = {
  phase: Phase;
  /** Since when there is trouble: not in step with the daemon. */
  troubledSince: number | undefined;
  /** How often connecting has failed in a row. */
  attempt: number;
  /** When the machine wants to be woken. */
  wakeAt: number | undefined;
  heartbeat: number;
  hiddenSince: number | undefined;
  /** What is still waited for: the list, and each session that is followed. */
  waiting: ReadonlySet<string>;
  /** Each connection has a number; news of an older one is not listened to. */
  generation: number;
  cause: string | undefined;
};

export type Input =
  | { type: "start" }
  | { type: "opened"; generation: number }
  | { type: "hello"; generation: number; heartbeatSeconds: number; waitFor: readonly string[] }
  | { type: "heard"; generation: number }
  | { type: "settled"; generation: number; what: string }
  | { type: "unsettled"; generation: number; what: string }
  | { type: "closed"; generation: number; cause: string }
  | { type: "refused" }
  | { type: "visible" }
  | { type: "hidden" }
  | { type: "online" }
  | { type: "lost_network" }
  | { type: "retry" }
  /** Somebody wants another connection than the one that there is, or was let in as another device. */
  | { type: "anew" }
  | { type: "wake" };

export type Effect =
  | { type: "open"; generation: number }
  | { type: "close"; generation: number }
  | { type: "ping" }
  /** Ask over HTTP whether this device is let in: a refused WebSocket does not say why. */
  | { type: "ask"; generation: number };

export type Settings = {
  /** How long connecting may take. */
  connectTimeout: number;
  /** How long an answer to a ping may take. */
  pingTimeout: number;
  /** Hidden for longer than this, a connection is not trusted: the phone may have slept. */
  distrustAfter: number;
  /** Between two tries. */
  delays: readonly number[];
  /** Between 0 and 1: spreads the tries of many devices. */
  random: () => number;
};

export const SETTINGS: Settings = {
  connectTimeout: 10_000,
  pingTimeout: 4_000,
  distrustAfter: 30_000,
  delays: [300, 1_000, 2_000, 4_000, 8_000, 15_000],
  random: Math.random,
};

/** No banner before this: most troubles are over by then. */
export const PATIENCE = 2_500;

export function begin(now: number): Link {
  return {
    phase: "offline",
    troubledSince: now,
    attempt: 0,
    wakeAt: undefined,
    heartbeat: 15_000,
    hiddenSince: undefined,
    waiting: new Set(),
    generation: 0,
    cause: undefined,
  };
}

type Step = readonly [Link, readonly Effect[]];

export function step(link: Link, input: Input, now: number, settings: Settings = SETTINGS): Step {
  if ("generation" in input && input.generation !== link.generation) return [link, []];
  switch (input.type) {
    case "start":
      return link.phase === "offline" ? connect(link, now, settings) : [link, []];
    case "opened":
      return [{ ...link, wakeAt: now + settings.connectTimeout }, []];
    case "hello":
      return onHello(link, input.heartbeatSeconds, input.waitFor, now);
    case "heard":
      return onHeard(link, now);
    case "settled":
      return onSettled(link, input.what, now);
    case "unsettled":
      return onUnsettled(link, input.what, now);
    case "closed":
      return lost(link, input.cause, now, settings);
    case "refused":
      return refuse(link);
    case "visible":
      return onVisible({ ...link, hiddenSince: undefined }, link.hiddenSince, now, settings);
    case "hidden":
      return [{ ...link, hiddenSince: link.hiddenSince ?? now }, []];
    case "online":
      return link.phase === "offline" ? connect(link, now, settings) : probe(link, now, settings);
    case "lost_network":
      return onLostNetwork(link, now, settings);
    case "retry":
      return link.phase === "live" || link.phase === "connect" ? [link, []] : again(link, now, settings);
    case "anew":
      return again(link, now, settings);
    case "wake":
      return link.wakeAt === undefined || now < link.wakeAt ? [link, []] : onWake(link, now, settings);
  }
}

function connect(link: Link, now: number, settings: Settings): Step {
  const generation = link.generation + 1;
  const next: Link = {
    ...link,
    phase: "connect",
    troubledSince: link.troubledSince ?? now,
    generation,
    waiting: new Set(),
    wakeAt: now + settings.connectTimeout,
  };
  return [next, [{ type: "open", generation }]];
}

/** Lets go of the connection that there is, and makes a new one at once. */
function again(link: Link, now: number, settings: Settings): Step {
  const [next, effects] = connect({ ...link, attempt: 0 }, now, settings);
  return [next, [{ type: "close", generation: link.generation }, ...effects]];
}

function onHello(link: Link, seconds: number, waitFor: readonly string[], now: number): Step {
  const heartbeat = Math.max(1, seconds) * 1000;
  const next: Link = { ...link, heartbeat, attempt: 0, cause: undefined };
  return [settle({ ...next, waiting: new Set(waitFor), wakeAt: now + 2 * heartbeat }, now), []];
}

/** Live when nothing is waited for any more, else in replay. */
function settle(link: Link, now: number): Link {
  const phase = link.waiting.size === 0 ? "live" : "replay";
  return { ...link, phase, troubledSince: phase === "live" ? undefined : (link.troubledSince ?? now) };
}

function onHeard(link: Link, now: number): Step {
  if (link.phase !== "live" && link.phase !== "stale" && link.phase !== "replay") return [link, []];
  const next = { ...link, wakeAt: now + 2 * link.heartbeat };
  return [link.phase === "stale" ? settle(next, now) : next, []];
}

function onSettled(link: Link, what: string, now: number): Step {
  if (!link.waiting.has(what)) return [link, []];
  const waiting = new Set(link.waiting);
  waiting.delete(what);
  const next = { ...link, waiting };
  return [link.phase === "replay" ? settle(next, now) : next, []];
}

function onUnsettled(link: Link, what: string, now: number): Step {
  const next = { ...link, waiting: new Set(link.waiting).add(what) };
  return [link.phase === "live" || link.phase === "replay" ? settle(next, now) : next, []];
}

function lost(link: Link, cause: string, now: number, settings: Settings): Step {
  if (link.phase === "refused" || link.phase === "offline") return [link, []];
  const index = Math.min(link.attempt, settings.delays.length - 1);
  const delay = (settings.delays[index] ?? 1_000) * (0.75 + settings.random() / 2);
  const next: Link = {
    ...link,
    phase: "offline",
    troubledSince: link.troubledSince ?? now,
    attempt: link.attempt + 1,
    wakeAt: now + delay,
    cause,
  };
  const effects: Effect[] = [{ type: "close", generation: link.generation }];
  // A connection that never said hello may have been turned away at the door.
  if (link.phase === "connect") effects.push({ type: "ask", generation: link.generation });
  return [next, effects];
}

/** What the browser thinks of the network says nothing of a daemon on this machine, or behind a tunnel: who is connected asks. */
function onLostNetwork(link: Link, now: number, settings: Settings): Step {
  const [asked, effects] = probe(link, now, settings);
  if (effects.length === 0) return [link, []];
  return [{ ...asked, troubledSince: link.troubledSince ?? now }, effects];
}

function refuse(link: Link): Step {
  const next: Link = { ...link, phase: "refused", wakeAt: undefined, cause: "access denied" };
  return [next, [{ type: "close", generation: link.generation }]];
}

function onVisible(link: Link, hiddenSince: number | undefined, now: number, settings: Settings): Step {
  if (link.phase === "refused") return [link, []];
  if (link.phase === "offline") return connect(link, now, settings);
  const hidden = hiddenSince === undefined ? 0 : now - hiddenSince;
  if (hidden > settings.distrustAfter) return again(link, now, settings);
  return hiddenSince === undefined ? [link, []] : probe(link, now, settings);
}

/** Asks whether anybody is there, and does not wait long. */
function probe(link: Link, now: number, settings: Settings): Step {
  if (link.phase !== "live" && link.phase !== "replay") return [link, []];
  return [{ ...link, wakeAt: now + settings.pingTimeout, phase: "stale" }, [{ type: "ping" }]];
}

function onWake(link: Link, now: number, settings: Settings): Step {
  switch (link.phase) {
    case "offline":
      return connect(link, now, settings);
    case "connect":
      return lost(link, "no answer", now, settings);
    case "live":
    case "replay":
      return probe({ ...link, troubledSince: link.troubledSince ?? now }, now, settings);
    case "stale":
      return again(
        { ...link, troubledSince: link.troubledSince ?? now, cause: "connection lost" },
        now,
        settings,
      );
    case "refused":
      return [{ ...link, wakeAt: undefined }, []];
  }
}
