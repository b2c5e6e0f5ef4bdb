// Home: what needs you, what works, what was. And a search over everything.

import { Settings as Gear, Plus, RotateCw, Search as SearchIcon, Users, X } from "lucide";
import { useMemo, useState } from "preact/hooks";
import { api, problemOf } from "../api/http";
import type { Summary } from "../api/types";
import { connection, dispatch, say, state } from "../app";
import { go, hrefOf } from "../route";
import { LISTED } from "../state/model";
import { calm } from "../state/risk";
import { age, open, placeOf, titleOf } from "../state/words";
import { useStore } from "../store";
import { useNow } from "../ui/clock";
import { Badge, Icon } from "../ui/icon";
import { Pull } from "../ui/pull";
import { StatusChip } from "../ui/status";
import { Away } from "./away";
import { NeedBar } from "./questions";
import { Found } from "./search";
import { Trouble } from "./shell";

export function Inbox({ current }: { current: string | undefined }) {
  const sessions = useStore(state, (now) => now.sessions);
  const groups = useMemo(() => group(Object.values(sessions)), [sessions]);
  const older = useOlder(Object.keys(sessions).length);
  const [words, setWords] = useState("");
  const asked = words.trim();
  return (
    <nav class="inbox" aria-label="Sessions">
      <header class="bar">
        <h1>Pollux</h1>
        <InStep />
        <TeamLink />
        <a class="plain round" href={hrefOf({ at: "settings" })} aria-label="Settings">
          <Icon of={Gear} size={20} />
        </a>
        <a class="plain round primary" href={hrefOf({ at: "new" })} aria-label="New session">
          <Icon of={Plus} size={22} />
        </a>
      </header>
      <div class="only-home">
        <Trouble />
      </div>
      <NeedBar here={current} />
      <SearchBox words={words} onWords={setWords} />
      <Pull onPull={() => connection.refreshList()}>
        {asked.length > 1 ? (
          <Found words={asked} sessions={sessions} />
        ) : (
          <>
            <Away />
            <Groups groups={groups} current={current} older={older} />
          </>
        )}
      </Pull>
    </nav>
  );
}

/** The way to the team, with the number of letters that wait. */
function TeamLink() {
  const able = useStore(state, (now) => now.hello?.features.includes("teams") ?? false);
  const unread = useStore(state, (now) => now.team?.unread ?? 0);
  if (!able) return null;
  return (
    <a
      class="plain round counted"
      href={hrefOf({ at: "team", part: unread > 0 ? "letters" : "tree" })}
      aria-label={unread > 0 ? `Team, ${unread} unread` : "Team"}
    >
      <Icon of={Users} size={20} />
      {unread > 0 && <span class="unread">{unread > 99 ? "99+" : unread}</span>}
    </a>
  );
}

type Grouped = { groups: ReturnType<typeof group>; current: string | undefined; older: Older };

function Groups({ groups, current, older }: Grouped) {
  if (groups.needs.length + groups.working.length + groups.recent.length === 0) return <Empty />;
  return (
    <>
      <Group title="Needs you" sessions={groups.needs} current={current} />
      <Group title="Working" sessions={groups.working} current={current} />
      <Group title="Recent" sessions={groups.recent} current={current} older={older} />
    </>
  );
}

type Older = (() => Promise<void>) | undefined;

/** Asks for those that the daemon has not listed; undefined where it has listed all. */
function useOlder(known: number): Older {
  const [ended, setEnded] = useState(false);
  // Not how many are known: one of those that were not listed may be, because somebody has opened it.
  const [listed, setListed] = useState(LISTED);
  if (known < LISTED || ended) return undefined;
  return async () => {
    try {
      const { sessions } = await api.sessions(listed);
      dispatch({ type: "older_sessions", sessions });
      setListed(listed + sessions.length);
      setEnded(sessions.length < LISTED);
    } catch (error) {
      say(problemOf(error).message);
    }
  };
}

function group(all: readonly Summary[]) {
  const sorted = all.toSorted((a, b) => b.updated_at.localeCompare(a.updated_at));
  const needs = sorted.filter(
    (one) => open(one).length > 0 || one.status === "waiting" || one.stalled_since || one.unwritten_since,
  );
  const busy = (one: Summary) => one.status === "working" || one.status === "starting";
  const working = sorted.filter((one) => busy(one) && !needs.includes(one));
  const recent = sorted.filter((one) => !needs.includes(one) && !working.includes(one));
  return { needs, working, recent };
}

function Empty() {
  const loaded = useStore(state, (now) => now.inStepAt !== undefined);
  if (!loaded) return <p class="hint pad">Loading sessions</p>;
  return (
    <div class="empty">
      <Badge size={48} />
      <h2>No sessions yet</h2>
      <p>Start one here. Sessions from your own terminals appear automatically.</p>
      <button type="button" class="button primary" onClick={() => go({ at: "new" })}>
        New session
      </button>
    </div>
  );
}

function InStep() {
  const at = useStore(state, (now) => now.inStepAt);
  const live = useStore(connection.link, (link) => link.phase === "live");
  const now = useNow(!live);
  const text = at === undefined || live ? "" : `Updated ${age(now - at)} ago`.replace("now ago", "just now");
  return <span class="instep">{text}</span>;
}

function SearchBox({ words, onWords }: { words: string; onWords: (words: string) => void }) {
  return (
    <search class="search">
      <Icon of={SearchIcon} size={17} />
      <input
        type="search"
        enterkeyhint="search"
        placeholder="Search sessions"
        aria-label="Search sessions"
        value={words}
        onInput={(event) => onWords(event.currentTarget.value)}
      />
      {words !== "" && (
        <button type="button" class="plain" aria-label="Clear" onClick={() => onWords("")}>
          <Icon of={X} size={16} />
        </button>
      )}
      <button
        type="button"
        class="plain wide-only"
        aria-label="Refresh"
        onClick={() => connection.refreshList()}
      >
        <Icon of={RotateCw} size={16} />
      </button>
    </search>
  );
}

/** So many sessions of a group are drawn; more of them on demand. A machine may have thousands. */
const MOST = 100;

type GroupProps = {
  title: string;
  sessions: readonly Summary[];
  current: string | undefined;
  older?: Older;
};

function Group({ title, sessions, current, older }: GroupProps) {
  const [most, setMost] = useState(MOST);
  if (sessions.length === 0) return null;
  return (
    <section class="group">
      <h2>
        {title} <span class="number">{sessions.length}</span>
      </h2>
      <ul>
        {sessions.slice(0, most).map((session) => (
          <li key={session.id}>
            <SessionRow session={session} current={session.id === current} />
          </li>
        ))}
      </ul>
      {sessions.length > most && (
        <button type="button" class="button ghost big" onClick={() => setMost(most + MOST)}>
          Show {Math.min(MOST, sessions.length - most)} more
        </button>
      )}
      {sessions.length <= most && older && (
        <button
          type="button"
          class="button ghost big"
          onClick={() => older().then(() => setMost(most + MOST))}
        >
          Older sessions
        </button>
      )}
    </section>
  );
}

export function SessionRow({ session, current = false }: { session: Summary; current?: boolean }) {
  const seen = useStore(state, (now) => now.seen[session.id]);
  const turnSince = useStore(state, (now) => now.opened[session.id]?.turnSince);
  const name = useStore(state, (now) => now.team?.members.find((one) => one.session === session.id)?.name);
  const unread = seen !== undefined && session.seq > seen && !current ? session.seq - seen : 0;
  return (
    <a
      class={current ? "row current" : "row"}
      href={hrefOf({ at: "session", id: session.id })}
      aria-current={current}
    >
      <Badge />
      <span class="row-text">
        <span class="row-top">
          <span class="title" dir="auto">
            {titleOf(session)}
          </span>
          <time dateTime={session.updated_at}>{age(Date.now() - Date.parse(session.updated_at))}</time>
        </span>
        <span class="row-sub">
          <span class="project">{placeOf(session)}</span>
          {session.activity && (
            <span class="activity" dir="auto">
              {calm(session.activity)}
            </span>
          )}
        </span>
        <span class="row-end">
          <StatusChip session={session} turnSince={turnSince} />
          {name && (
            <span class="chip who">
              <Icon of={Users} size={13} /> <span>{name}</span>
            </span>
          )}
          {session.mode === "yolo" && <span class="chip tone-yolo">Yolo</span>}
          {session.queue.length > 0 && <span class="chip">{session.queue.length} queued</span>}
          {unread > 0 && (
            <span class="unread" role="img" aria-label={`${unread} unread`}>
              {unread > 99 ? "99+" : unread}
            </span>
          )}
        </span>
      </span>
    </a>
  );
}
