// Teams: who works for whom, what they were given, what they wrote to you.

import { ChevronLeft, Ellipsis, Mail, Plus, Users } from "lucide";
import { useEffect, useState } from "preact/hooks";
import type { Member } from "../api/types";
import { state } from "../app";
import { hrefOf, type TeamPart } from "../route";
import { type Branch, firstLine, isOver, present, standingOf, type Team, treesOf } from "../state/team";
import { count, titleOf } from "../state/words";
import { useStore } from "../store";
import { watchWork } from "../team";
import { Badge, Icon } from "../ui/icon";
import { ToneChip } from "../ui/status";
import { JobList } from "./jobs";
import { LaunchSheet } from "./launch";
import { LetterList } from "./letters";
import { MemberSheet } from "./member";
import { NeedBar } from "./questions";

export function TeamScreen({ part }: { part: TeamPart }) {
  const team = useStore(state, (now) => now.team);
  const may = useStore(state, (now) => now.hello?.scopes.includes("prompt") ?? false);
  const [launching, setLaunching] = useState(false);
  useEffect(watchWork, []);
  return (
    <div class="page team">
      <header class="bar">
        <a class="plain round back" href={hrefOf({ at: "inbox" })} aria-label="All sessions">
          <Icon of={ChevronLeft} size={24} />
        </a>
        <h1>Team</h1>
        {may && (
          <button
            type="button"
            class="plain round primary"
            aria-label="Launch an agent"
            onClick={() => setLaunching(true)}
          >
            <Icon of={Plus} size={22} />
          </button>
        )}
      </header>
      <NeedBar />
      <Parts part={part} team={team} />
      <div class="page-scroll">
        {team === undefined ? (
          <p class="hint">Loading teams</p>
        ) : part === "tree" ? (
          <Tree team={team} onLaunch={may ? () => setLaunching(true) : undefined} />
        ) : part === "jobs" ? (
          <JobList team={team} />
        ) : (
          <LetterList team={team} />
        )}
      </div>
      {launching && <LaunchSheet onClose={() => setLaunching(false)} />}
    </div>
  );
}

const PARTS: Readonly<Record<TeamPart, string>> = { tree: "Agents", jobs: "Jobs", letters: "Inbox" };

function Parts({ part, team }: { part: TeamPart; team: Team | undefined }) {
  const numbers: Readonly<Record<TeamPart, number>> = {
    tree: team?.members.filter((member) => !member.gone).length ?? 0,
    jobs: team?.jobs?.filter((job) => !isOver(job)).length ?? 0,
    letters: team?.unread ?? 0,
  };
  return (
    <nav class="tabs" aria-label="Team views">
      {(Object.keys(PARTS) as TeamPart[]).map((name) => (
        <a key={name} href={hrefOf({ at: "team", part: name })} aria-current={part === name && "page"}>
          {PARTS[name]}
          {numbers[name] > 0 && <span class="number">{numbers[name]}</span>}
        </a>
      ))}
    </nav>
  );
}

function Tree({ team, onLaunch }: { team: Team; onLaunch: (() => void) | undefined }) {
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const here = present(team.members);
  const past = team.members.filter((member) => !here.includes(member));
  const member = team.members.find(({ session }) => session === chosen);
  return (
    <>
      {here.length === 0 && <NoTeam onLaunch={onLaunch} />}
      {treesOf(here).map((branch) => (
        <ul class="tree" key={branch.member.session}>
          <BranchItem branch={branch} team={team} onMore={setChosen} />
        </ul>
      ))}
      {past.length > 0 && (
        <details class="past">
          <summary>{past.length === 1 ? "1 ended agent" : `${past.length} ended agents`}</summary>
          {treesOf(past).map((branch) => (
            <ul class="tree" key={branch.member.session}>
              <BranchItem branch={branch} team={team} onMore={setChosen} />
            </ul>
          ))}
        </details>
      )}
      {member && <MemberSheet member={member} onClose={() => setChosen(undefined)} />}
    </>
  );
}

function NoTeam({ onLaunch }: { onLaunch: (() => void) | undefined }) {
  return (
    <div class="empty">
      <Icon of={Users} size={36} />
      <h2>No running agents</h2>
      <p>Agents in a team hand work to each other and get the results back. Start with a supervisor.</p>
      {onLaunch && (
        <button type="button" class="button primary" onClick={onLaunch}>
          Launch an agent
        </button>
      )}
    </div>
  );
}

type ItemProps = { branch: Branch; team: Team; onMore: (session: string) => void };

function BranchItem({ branch: { member, below }, team, onMore }: ItemProps) {
  return (
    <li>
      <MemberRow member={member} team={team} onMore={() => onMore(member.session)} />
      {below.length > 0 && (
        <ul>
          {below.map((branch) => (
            <BranchItem key={branch.member.session} branch={branch} team={team} onMore={onMore} />
          ))}
        </ul>
      )}
    </li>
  );
}

function MemberRow({ member, team, onMore }: { member: Member; team: Team; onMore: () => void }) {
  const session = useStore(state, (now) => now.sessions[member.session]);
  const { tone, word } = standingOf(member, session);
  const job = team.jobs?.find(({ id }) => id === member.job);
  const does = job ? firstLine(job.prompt) : (session?.activity ?? (session && titleOf(session)));
  return (
    <div class={member.gone ? "member gone" : "member"}>
      <a class="row" href={hrefOf({ at: "session", id: member.session })}>
        <Badge size={28} />
        <span class="row-text">
          <span class="row-top">
            <span class="title">{member.name}</span>
            <span class="tokens">{count(session?.tokens ?? member.tokens)} tokens</span>
          </span>
          {does && (
            <span class="does" dir="auto">
              {does}
            </span>
          )}
          <span class="row-end">
            <ToneChip tone={tone} word={word} />
            {(session?.mode ?? member.mode) === "yolo" && <span class="chip tone-yolo">Yolo</span>}
            {member.letters > 0 && (
              <span class="chip">
                <Icon of={Mail} size={14} /> {member.letters} unread
              </span>
            )}
          </span>
        </span>
      </a>
      <button type="button" class="plain round" aria-label={`More about ${member.name}`} onClick={onMore}>
        <Icon of={Ellipsis} size={20} />
      </button>
    </div>
  );
}
