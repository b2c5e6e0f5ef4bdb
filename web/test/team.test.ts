// Teams: the tree, jobs and letters in words, news.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Job, JobState, Letter, Member } from "../src/api/types";
import { EMPTY } from "../src/state/model";
import { reduce } from "../src/state/reduce";
import {
  type Branch,
  costOf,
  headOf,
  inOrder,
  nameOf,
  present,
  standingOf,
  treesOf,
} from "../src/state/team";
import { summary } from "./recorded";

const member = (session: string, parent?: string, more: Partial<Member> = {}): Member => ({
  session,
  name: `${session}-name`,
  profile: "developer",
  team: "a",
  depth: 0,
  status: "idle",
  mode: "default",
  tokens: 10,
  letters: 0,
  gone: false,
  ...(parent === undefined ? {} : { parent }),
  ...more,
});

const outline = (branches: readonly Branch[]): string =>
  branches.map(({ member: { session }, below }) => `${session}(${outline(below)})`).join("");

describe("a tree", () => {
  test("has each below the one that it works for", () => {
    const members = [member("a"), member("b", "a"), member("c", "b"), member("d", "a"), member("e")];
    expect(outline(treesOf(members))).toBe("a(b(c())d())e()");
  });

  test("whoever is gone stays where somebody works for him, and nowhere else", () => {
    const members = [
      member("a", undefined, { gone: true }),
      member("b", "a"),
      member("c", "a", { gone: true }),
    ];
    expect(outline(treesOf(present(members)))).toBe("a(b())");
  });

  test("shows everybody once, also where a caller is not known", () => {
    const names = fc.uniqueArray(fc.nat(30), { maxLength: 15 });
    fc.assert(
      fc.property(names, fc.array(fc.nat(40), { minLength: 15, maxLength: 15 }), (all, parents) => {
        // Nobody works for somebody who came after him.
        const members = all.map((n, at) => {
          const parent = parents[at] ?? 0;
          return member(`m${n}`, parent < at ? `m${all[parent]}` : parent > 30 ? "x" : undefined);
        });
        const seen = outline(treesOf(members)).match(/m\d+/g) ?? [];
        expect(seen.toSorted()).toEqual(all.map((n) => `m${n}`).toSorted());
      }),
    );
  });

  test("what a session says of itself is newer than what the list says of it", () => {
    expect(standingOf(member("a"), undefined).word).toBe("Ready");
    expect(standingOf(member("a"), summary({ status: "working" })).word).toBe("Working");
    expect(standingOf(member("a", undefined, { gone: true }), summary({ status: "working" })).word).toBe(
      "Ended",
    );
  });
});

const job = (id: string, state: JobState, more: Partial<Job> = {}): Job => ({
  id,
  kind: "handoff",
  name: `${id}-worker`,
  profile: "developer",
  prompt: "do it",
  state,
  created_at: "2026-11-16T08:00:00Z",
  ...more,
});

describe("jobs and letters", () => {
  test("what waits for a person comes first, what is over last", () => {
    const jobs = [job("a", "done"), job("b", "working"), job("c", "paused"), job("d", "waiting")];
    expect(inOrder(jobs).map(({ id }) => id)).toEqual(["c", "d", "b", "a"]);
  });

  test("a job says how long it took and what it cost", () => {
    const done = job("a", "done", {
      ended_at: "2026-11-16T08:01:05Z",
      result: { text: "ok", tokens: 12_000, changed: [] },
    });
    expect(costOf(done, 0)).toBe("1m 5s · 12k tokens");
    expect(costOf(job("b", "working"), Date.parse("2026-11-16T08:00:09Z"))).toBe("9s");
  });

  test("a person is called you, an agent by its name", () => {
    expect(nameOf(undefined, [])).toBe("you");
    expect(nameOf("a", [member("a")])).toBe("a-name");
    expect(nameOf("0123456789", [])).toBe("01234567");
  });

  test("a notice has a head, and what an agent wrote has none, whatever it begins with", () => {
    const letter = (text: string, notice: boolean): Letter => ({
      id: 1,
      text,
      notice,
      state: "waiting",
      attempt: 0,
      created_at: "2026-11-16T08:00:00Z",
    });
    const told = "[Job 1234 of reviewer-ab12 is done]\n\nAll good.";
    expect(headOf(letter(told, true))).toEqual({
      head: "Job 1234 of reviewer-ab12 is done",
      text: "All good.",
    });
    expect(headOf(letter(told, false)).head).toBeUndefined();
  });
});

test("news of teams are counted, and what was asked for is kept until the device is put out", () => {
  const rung = reduce(EMPTY, { type: "frame", frame: { type: "team" }, at: 1 });
  expect(rung.teamNews).toBe(1);
  const team = { members: [member("a")], unread: 2, jobs: undefined, letters: undefined };
  const known = reduce(rung, { type: "team", team });
  expect(known.team).toBe(team);
  expect(reduce(known, { type: "signed_out" }).team).toBeUndefined();
});
