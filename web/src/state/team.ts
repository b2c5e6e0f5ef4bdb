// Who works for whom, what they were given, and what they wrote: in the shapes that the screen shows. Pure.

import type { Job, JobState, Letter, Member, Summary } from "../api/types";
import { count, span, standing, type Tone } from "./words";

/** What is known of all teams. Jobs and letters are asked for only where they are shown. */
export type Team = {
  members: readonly Member[];
  /** How many letters wait for a person. */
  unread: number;
  jobs: readonly Job[] | undefined;
  letters: readonly Letter[] | undefined;
};

export type Branch = { member: Member; below: readonly Branch[] };

/** The trees, each with those that work for it. Whoever works for nobody that is here stands at the top. */
export function treesOf(members: readonly Member[]): readonly Branch[] {
  const here = new Set(members.map(({ session }) => session));
  const branch = (member: Member): Branch => ({ member, below: below(member.session) });
  const below = (parent: string) => members.filter((one) => one.parent === parent).map(branch);
  return members.filter(({ parent }) => parent === undefined || !here.has(parent)).map(branch);
}

/** Those that are there, and those above them: a tree has no holes. */
export function present(members: readonly Member[]): readonly Member[] {
  const kept = new Set<string>();
  const parents = new Map(members.map(({ session, parent }) => [session, parent]));
  for (const member of members) {
    if (member.gone) continue;
    for (let at: string | undefined = member.session; at && !kept.has(at); at = parents.get(at)) kept.add(at);
  }
  return members.filter(({ session }) => kept.has(session));
}

/** The status of a member: its session's own where that is known, which is newer. */
export function standingOf(member: Member, session: Summary | undefined): { tone: Tone; word: string } {
  if (member.gone) return { tone: "gone", word: "Ended" };
  if (session) return standing(session);
  switch (member.status) {
    case "starting":
      return { tone: "work", word: "Starting" };
    case "working":
      return { tone: "work", word: "Working" };
    case "waiting":
      return { tone: "need", word: "Needs you" };
    case "error":
      return { tone: "fail", word: "Failed" };
    case "exited":
      return { tone: "gone", word: "Ended" };
    case "idle":
      return { tone: "done", word: "Ready" };
    default:
      return { tone: "idle", word: member.status };
  }
}

const JOBS: Readonly<Record<JobState, { tone: Tone; word: string }>> = {
  starting: { tone: "work", word: "Starting" },
  working: { tone: "work", word: "Working" },
  waiting: { tone: "need", word: "Needs you" },
  paused: { tone: "need", word: "Paused" },
  done: { tone: "done", word: "Done" },
  failed: { tone: "fail", word: "Failed" },
  timed_out: { tone: "stall", word: "Still running" },
  cancelled: { tone: "gone", word: "Cancelled" },
};

/** Where a job is. */
export function stageOf({ state }: Job): { tone: Tone; word: string } {
  return JOBS[state] ?? { tone: "idle", word: state };
}

export const isOver = ({ state }: Job): boolean =>
  state === "done" || state === "failed" || state === "cancelled";

/** Those that somebody must look at, then those that run, then those that are over; the newest first. */
export function inOrder(jobs: readonly Job[]): readonly Job[] {
  const rank = (job: Job) => (stageOf(job).tone === "need" ? 0 : isOver(job) ? 2 : 1);
  return jobs.toSorted((a, b) => rank(a) - rank(b) || b.created_at.localeCompare(a.created_at));
}

/** What somebody is called. */
export function nameOf(session: string | undefined, members: readonly Member[]): string {
  if (session === undefined) return "you";
  return members.find((member) => member.session === session)?.name ?? session.slice(0, 8);
}

/** How long it takes or took, and what it cost. */
export function costOf(job: Job, now: number): string {
  const end = job.ended_at === undefined ? now : Date.parse(job.ended_at);
  const time = span(end - Date.parse(job.created_at));
  const tokens = job.result?.tokens ?? 0;
  return tokens > 0 ? `${time} · ${count(tokens)} tokens` : time;
}

/** The first line with something in it. */
export function firstLine(text: string): string {
  return (
    text
      .split("\n")
      .find((line) => line.trim() !== "")
      ?.trim() ?? ""
  );
}

/** A letter to a person: what it is about is in brackets at its head where Pollux wrote it. */
export function headOf(letter: Letter): { head: string | undefined; text: string } {
  const found = /^\[([^\]\n]{1,200})\]\s*/.exec(letter.text);
  return letter.notice && found?.[1]
    ? { head: found[1], text: letter.text.slice(found[0].length) }
    : { head: undefined, text: letter.text };
}
