// One session: its head, its transcript, its composer.

import { ChevronLeft, CircleStop, Copy, Ellipsis, Play } from "lucide";
import { useEffect, useState } from "preact/hooks";
import type { Summary } from "../api/types";
import { connection, dispatch, say, send, state } from "../app";
import { go, hrefOf } from "../route";
import { Composer } from "../session/composer";
import { Transcript } from "../session/transcript";
import { UsageButton } from "../session/usage";
import { base } from "../state/words";
import { useStore } from "../store";
import { Icon } from "../ui/icon";
import { Sheet } from "../ui/sheet";
import { StatusChip } from "../ui/status";
import { NeedBar } from "./questions";

export function Session({ id }: { id: string }) {
  const session = useStore(state, (now) => now.sessions[id]);
  const opened = useStore(state, (now) => now.opened[id]);
  const loaded = useStore(state, (now) => now.inStepAt !== undefined);
  useEffect(() => connection.subscribe(id), [id]);
  const seq = Math.max(session?.seq ?? 0, opened?.seq ?? 0);
  useEffect(() => {
    if (document.visibilityState === "visible") dispatch({ type: "seen", sessionId: id, seq });
  }, [id, seq]);
  if (!session) {
    return (
      <div class="nothing">
        <p>{loaded ? "This session is not here (any more)." : "Looking for the session"}</p>
        <a class="button" href={hrefOf({ at: "inbox" })}>
          All sessions
        </a>
      </div>
    );
  }
  return (
    <article class="session">
      <Head session={session} turnSince={opened?.turnSince} />
      <NeedBar here={id} />
      {opened ? <Transcript id={id} opened={opened} session={session} /> : <Skeleton />}
      <Composer session={session} />
    </article>
  );
}

function Head({ session, turnSince }: { session: Summary; turnSince: number | undefined }) {
  const [menu, setMenu] = useState(false);
  return (
    <header class="bar session-head">
      <a class="plain round back" href={hrefOf({ at: "inbox" })} aria-label="All sessions">
        <Icon of={ChevronLeft} size={24} />
      </a>
      <div class="headline">
        <h1 dir="auto">{session.title ?? "Untitled"}</h1>
        <div class="subline">
          <span class="project">{session.cwd ? base(session.cwd) : ""}</span>
          <StatusChip session={session} turnSince={turnSince} />
        </div>
      </div>
      <UsageButton session={session} />
      <button type="button" class="plain round" aria-label="More" onClick={() => setMenu(true)}>
        <Icon of={Ellipsis} size={22} />
      </button>
      {menu && <Menu session={session} onClose={() => setMenu(false)} />}
    </header>
  );
}

function Menu({ session, onClose }: { session: Summary; onClose: () => void }) {
  const ended = session.status === "exited" || !session.driver;
  const copy = async () => {
    await navigator.clipboard.writeText(session.agent_id ?? session.id).catch(() => undefined);
    say("Copied");
    onClose();
  };
  return (
    <Sheet title={session.title ?? "Session"} onClose={onClose}>
      <dl class="facts">
        <dt>Folder</dt>
        <dd class="mono">{session.cwd ?? "unknown"}</dd>
        <dt>Driver</dt>
        <dd>{session.driver ?? "read only: Pollux does not drive it"}</dd>
        <dt>Messages</dt>
        <dd>{session.messages}</dd>
        <dt>Began</dt>
        <dd>{new Date(session.created_at).toLocaleString()}</dd>
      </dl>
      <ul class="choices">
        <li>
          <button type="button" onClick={copy}>
            <Icon of={Copy} /> Copy the session's id
          </button>
        </li>
        {ended && (
          <li>
            <button type="button" onClick={() => go({ at: "new", resume: session.id })}>
              <Icon of={Play} /> Resume
            </button>
          </li>
        )}
        {!ended && (
          <li>
            <button
              type="button"
              class="danger"
              onClick={() => {
                send(session.id, { type: "stop" });
                onClose();
              }}
            >
              <Icon of={CircleStop} /> End this session
            </button>
          </li>
        )}
      </ul>
    </Sheet>
  );
}

function Skeleton() {
  return (
    <div class="skeleton" aria-hidden="true">
      <span />
      <span />
      <span />
      <span />
    </div>
  );
}
