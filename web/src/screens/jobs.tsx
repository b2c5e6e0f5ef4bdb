// Jobs: what was given to whom, where it is, and what came of it.

import { ArrowRight, ClipboardList, FilePen, MessageSquareText, Play, Undo2 } from "lucide";
import { useState } from "preact/hooks";
import { api, problemOf } from "../api/http";
import type { Job } from "../api/types";
import { say, state } from "../app";
import { go } from "../route";
import { costOf, firstLine, inOrder, isOver, nameOf, stageOf, type Team } from "../state/team";
import { age, sentence } from "../state/words";
import { useStore } from "../store";
import { useNow } from "../ui/clock";
import { CopyButton } from "../ui/copy";
import { Icon } from "../ui/icon";
import { Markdown } from "../ui/markdown";
import { Sheet } from "../ui/sheet";
import { ToneChip } from "../ui/status";

export function JobList({ team }: { team: Team }) {
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  if (team.jobs === undefined) return <p class="hint">Loading jobs</p>;
  if (team.jobs.length === 0)
    return (
      <div class="empty">
        <Icon of={ClipboardList} size={36} />
        <h2>No jobs yet</h2>
        <p>Work that one agent hands to another appears here, with its result.</p>
      </div>
    );
  const job = team.jobs.find(({ id }) => id === chosen);
  return (
    <>
      <ul class="jobs">
        {inOrder(team.jobs).map((one) => (
          <li key={one.id}>
            <JobRow job={one} team={team} onOpen={() => setChosen(one.id)} />
          </li>
        ))}
      </ul>
      {job && <JobSheet job={job} team={team} onClose={() => setChosen(undefined)} />}
    </>
  );
}

function JobRow({ job, team, onOpen }: { job: Job; team: Team; onOpen: () => void }) {
  const now = useNow(!isOver(job));
  const { tone, word } = stageOf(job);
  return (
    <button type="button" class="row job" onClick={onOpen}>
      <span class="row-text">
        <span class="row-top">
          <span class="title" dir="auto">
            {firstLine(job.prompt)}
          </span>
          <time dateTime={job.created_at}>{age(Date.now() - Date.parse(job.created_at))}</time>
        </span>
        <span class="row-sub">
          {nameOf(job.caller, team.members)} <Icon of={ArrowRight} size={13} /> {job.name}
        </span>
        <span class="row-end">
          <ToneChip tone={tone} word={word}>
            <span class="age">{costOf(job, now)}</span>
          </ToneChip>
        </span>
      </span>
    </button>
  );
}

function JobSheet({ job, team, onClose }: { job: Job; team: Team; onClose: () => void }) {
  const { tone, word } = stageOf(job);
  return (
    <Sheet title={`Job: ${job.name}`} onClose={onClose}>
      <p class="job-head">
        <ToneChip tone={tone} word={word} />
        <span class="hint">
          {job.kind === "handoff" ? "Handed off" : "Assigned"} by {nameOf(job.caller, team.members)} ·{" "}
          {costOf(job, Date.now())}
        </span>
      </p>
      {job.why && (
        <div class={tone === "fail" ? "notice error" : "notice"}>
          <p dir="auto">{sentence(job.why)}</p>
        </div>
      )}
      {job.question && (
        <div class="notice warning">
          <p dir="auto">Question: {job.question.about}</p>
        </div>
      )}
      <Part title="Prompt" text={job.prompt} />
      {job.result && job.result.text !== "" && <Part title="Result" text={job.result.text} />}
      {job.result && (job.result.changed.length > 0 || job.result.worktree) && (
        <section>
          <h3>Changed files</h3>
          <ul class="changed">
            {job.result.changed.map((path) => (
              <li key={path}>
                <Icon of={FilePen} size={14} /> <code>{path}</code>
              </li>
            ))}
          </ul>
          {job.result.worktree && <p class="hint">{job.result.worktree}</p>}
        </section>
      )}
      <JobActions job={job} onClose={onClose} />
    </Sheet>
  );
}

function Part({ title, text }: { title: string; text: string }) {
  return (
    <section>
      <div class="section-head">
        <h3>{title}</h3>
        <CopyButton text={text} label={`Copy: ${title}`} />
      </div>
      <Markdown text={text} />
    </section>
  );
}

function JobActions({ job, onClose }: { job: Job; onClose: () => void }) {
  const scopes = useStore(state, (now) => now.hello?.scopes ?? []);
  const tell = async (what: Promise<Job>, done: string) => {
    try {
      await what;
      say(done);
      onClose();
    } catch (error) {
      say(problemOf(error).message);
    }
  };
  const worker = job.worker;
  return (
    <ul class="choices">
      {worker && (
        <li>
          <button type="button" onClick={() => go({ at: "session", id: worker })}>
            <Icon of={MessageSquareText} /> Open the worker's session
          </button>
        </li>
      )}
      {job.state === "paused" && scopes.includes("approve") && (
        <li>
          <button type="button" onClick={() => tell(api.continueJob(job.id, {}), "Job continued")}>
            <Icon of={Play} /> Continue job
          </button>
        </li>
      )}
      {!isOver(job) && scopes.includes("prompt") && (
        <li>
          <button type="button" class="danger" onClick={() => tell(api.cancelJob(job.id), "Job cancelled")}>
            <Icon of={Undo2} /> Cancel job
          </button>
        </li>
      )}
    </ul>
  );
}
