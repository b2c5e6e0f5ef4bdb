// The connection machine: the way up, distrust, trouble; and what holds whatever happens.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { begin, type Effect, type Input, type Link, SETTINGS, step } from "../src/link/machine";

const settings = { ...SETTINGS, random: () => 0.5 };

/** A machine with a clock that the test turns. */
function rig() {
  let now = 0;
  let link = begin(now);
  const done: Effect[] = [];
  const tell = (input: Input) => {
    const [next, effects] = step(link, input, now, settings);
    link = next;
    done.push(...effects);
    return effects.map((effect) => effect.type);
  };
  const wait = (ms: number) => {
    const end = now + ms;
    while (link.wakeAt !== undefined && link.wakeAt <= end) {
      now = link.wakeAt;
      tell({ type: "wake" });
    }
    now = end;
  };
  const g = () => link.generation;
  const live = (waitFor: string[] = []) => {
    tell({ type: "start" });
    tell({ type: "opened", generation: g() });
    tell({ type: "hello", generation: g(), heartbeatSeconds: 15, waitFor });
  };
  return { tell, wait, live, g, done, link: () => link, now: () => now };
}

describe("the way up", () => {
  test("connect, replay, live", () => {
    const it = rig();
    expect(it.tell({ type: "start" })).toEqual(["open"]);
    expect(it.link().phase).toBe("connect");
    it.tell({ type: "hello", generation: it.g(), heartbeatSeconds: 15, waitFor: ["list", "s1"] });
    expect(it.link().phase).toBe("replay");
    it.tell({ type: "settled", generation: it.g(), what: "list" });
    expect(it.link().phase).toBe("replay");
    it.tell({ type: "settled", generation: it.g(), what: "s1" });
    expect(it.link()).toMatchObject({ phase: "live", troubledSince: undefined, attempt: 0 });
  });

  test("a door that does not open within ten seconds is tried again, more and more rarely", () => {
    const it = rig();
    it.tell({ type: "start" });
    it.wait(10_000);
    expect(it.link().phase).toBe("offline");
    it.wait(120_000);
    const opens = it.done.filter((effect) => effect.type === "open").length;
    expect(opens).toBeGreaterThan(5);
    expect(opens).toBeLessThan(15);
  });
});

describe("distrust", () => {
  test("silence for two heartbeats is asked about, and a silent answer ends the connection", () => {
    const it = rig();
    it.live();
    it.wait(30_000);
    expect(it.link().phase).toBe("stale");
    expect(it.done.at(-1)).toEqual({ type: "ping" });
    it.wait(4_000);
    expect(it.link().phase).toBe("connect");
    expect(it.link().troubledSince).toBe(30_000);
  });

  test("a heartbeat keeps it live, and an answer to a ping makes it live again", () => {
    const it = rig();
    it.live();
    for (let beat = 0; beat < 20; beat += 1) {
      it.wait(15_000);
      it.tell({ type: "heard", generation: it.g() });
      expect(it.link().phase).toBe("live");
    }
    it.wait(31_000);
    it.tell({ type: "heard", generation: it.g() });
    expect(it.link().phase).toBe("live");
  });

  test("a phone that slept does not trust its socket, whatever the socket says", () => {
    const it = rig();
    it.live();
    it.tell({ type: "hidden" });
    it.wait(29_000);
    it.tell({ type: "heard", generation: it.g() });
    it.wait(5_000);
    expect(it.tell({ type: "visible" })).toEqual(["close", "open"]);
    expect(it.link().phase).toBe("connect");
  });

  test("a short look away costs a ping only", () => {
    const it = rig();
    it.live();
    it.tell({ type: "hidden" });
    it.wait(2_000);
    expect(it.tell({ type: "visible" })).toEqual(["ping"]);
    it.tell({ type: "heard", generation: it.g() });
    expect(it.link().phase).toBe("live");
  });
});

describe("trouble", () => {
  test("a browser that says there is no network is not believed while the daemon answers", () => {
    const it = rig();
    it.live();
    const before = it.g();
    expect(it.tell({ type: "lost_network" })).toEqual(["ping"]);
    it.tell({ type: "heard", generation: it.g() });
    expect(it.link()).toMatchObject({ phase: "live", troubledSince: undefined, generation: before });
    expect(it.done.filter((effect) => effect.type === "close")).toEqual([]);
  });

  test("where nobody answers it is trouble since the network went, and connecting goes on", () => {
    const it = rig();
    it.live();
    it.wait(1_000);
    it.tell({ type: "lost_network" });
    it.wait(4_000);
    expect(it.link()).toMatchObject({ phase: "connect", troubledSince: 1_000 });
    expect(it.tell({ type: "closed", generation: it.g(), cause: "no network" })).toContain("close");
    expect(it.link()).toMatchObject({ phase: "offline", cause: "no network" });
    expect(it.tell({ type: "online" })).toEqual(["open"]);
  });

  test("a daemon on this machine is found again while the browser says that there is no network", () => {
    const it = rig();
    it.live();
    it.tell({ type: "closed", generation: it.g(), cause: "gone" });
    expect(it.tell({ type: "lost_network" })).toEqual([]);
    it.wait(400);
    expect(it.link().phase).toBe("connect");
  });

  test("a device that is not let in stops trying, until somebody asks it to", () => {
    const it = rig();
    it.tell({ type: "start" });
    expect(it.tell({ type: "closed", generation: it.g(), cause: "gone" })).toEqual(["close", "ask"]);
    it.tell({ type: "refused" });
    it.wait(600_000);
    expect(it.link().phase).toBe("refused");
    expect(it.tell({ type: "retry" })).toContain("open");
  });

  test("whoever asks for a new connection gets one, also where the old one is good", () => {
    const it = rig();
    it.live();
    const old = it.g();
    expect(it.tell({ type: "retry" })).toEqual([]);
    expect(it.tell({ type: "anew" })).toEqual(["close", "open"]);
    expect(it.g()).toBeGreaterThan(old);
  });

  test("news of an older connection is not listened to", () => {
    const it = rig();
    it.live();
    const old = it.g();
    it.tell({ type: "closed", generation: old, cause: "gone" });
    it.wait(400);
    expect(it.link().phase).toBe("connect");
    it.tell({ type: "closed", generation: old, cause: "gone" });
    expect(it.link().phase).toBe("connect");
  });
});

const inputs = (generation: number): fc.Arbitrary<Input> =>
  fc.oneof(
    fc.constantFrom<Input>(
      { type: "start" },
      { type: "visible" },
      { type: "hidden" },
      { type: "online" },
      { type: "lost_network" },
      { type: "retry" },
      { type: "anew" },
      { type: "wake" },
      { type: "refused" },
    ),
    fc.constantFrom<Input>(
      { type: "opened", generation },
      { type: "hello", generation, heartbeatSeconds: 15, waitFor: ["list"] },
      { type: "heard", generation },
      { type: "settled", generation, what: "list" },
      { type: "unsettled", generation, what: "s1" },
      { type: "settled", generation, what: "s1" },
      { type: "closed", generation, cause: "gone" },
    ),
  );

describe("whatever happens", () => {
  const history = fc.array(fc.tuple(fc.nat({ max: 60_000 }), fc.nat(), fc.nat({ max: 2 })), {
    maxLength: 60,
  });

  function run(
    moves: readonly (readonly [number, number, number])[],
    see: (link: Link, effects: readonly Effect[]) => void,
  ) {
    let now = 0;
    let link = begin(now);
    for (const [ms, seed, older] of moves) {
      now += ms;
      const [input] = fc.sample(inputs(Math.max(0, link.generation - older)), { seed, numRuns: 1 });
      if (!input) continue;
      const [next, effects] = step(link, input, now, settings);
      link = next;
      see(link, effects);
    }
    return { link, now };
  }

  test("at most one connection is open, and only the machine's own generation", () => {
    fc.assert(
      fc.property(history, (moves) => {
        let held: number | undefined;
        run(moves, (link, effects) => {
          for (const effect of effects) {
            if (effect.type === "close" && effect.generation === held) held = undefined;
            if (effect.type === "open") {
              expect(held).toBeUndefined();
              held = effect.generation;
              expect(held).toBe(link.generation);
            }
          }
        });
      }),
      { numRuns: 500 },
    );
  });

  test("it never hangs: it will wake by itself, or it waits for a person", () => {
    fc.assert(
      fc.property(history, (moves) => {
        run(moves, (link) => {
          const waits = link.phase === "refused" || link.generation === 0;
          expect(waits || link.wakeAt !== undefined).toBe(true);
        });
      }),
      { numRuns: 500 },
    );
  });

  test("once the network is good again it becomes live within half a minute, whatever came before", () => {
    fc.assert(
      fc.property(history, (moves) => {
        let { link, now } = run(moves, () => {});
        const tell = (input: Input) => {
          const [next, effects] = step(link, input, now, settings);
          link = next;
          for (const effect of effects) {
            if (effect.type === "ping") answer();
            if (effect.type === "open") {
              tell({ type: "opened", generation: effect.generation });
              tell({ type: "hello", generation: effect.generation, heartbeatSeconds: 15, waitFor: [] });
            }
          }
        };
        const answer = () => tell({ type: "heard", generation: link.generation });
        tell({ type: "start" });
        tell({ type: "online" });
        tell({ type: "visible" });
        // Whoever was not let in asks once more.
        if (link.phase === "refused") tell({ type: "retry" });
        const end = now + 30_000;
        while (now < end) {
          for (const what of link.waiting) tell({ type: "settled", generation: link.generation, what });
          now = Math.max(now + 1, link.wakeAt ?? end);
          if (now < end) tell({ type: "wake" });
        }
        expect(link.phase).toBe("live");
      }),
      { numRuns: 500 },
    );
  });
});
