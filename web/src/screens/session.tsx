// One session: its head, its transcript, its composer.

import { ChevronLeft, CircleStop, Copy, Ellipsis, Play, Share2 } from "lucide";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Problem, Summary } from "../api/types";
import { connection, dispatch, say, send, state } from "../app";
import { go, hrefOf } from "../route";
import { Composer } from "../session/composer";
import { ScreenView } from "../session/screen";
import { Transcript } from "../session/transcript";
import { UsageButton } from "../session/usage";
import { driverOf, moment, placeOf, sentence, titleOf } from "../state/words";
import { useStore } from "../store";
import { copied } from "../ui/copy";
import { Icon } from "../ui/icon";
import { ProblemNotice } from "../ui/problem";
import { Sheet } from "../ui/sheet";
import { StatusChip } from "../ui/status";
import { NeedBar } from "./questions";
import { ShareSheet } from "./share";

export function Session({ id, seq: place }: { id: string; seq?: number | undefined }) {
  const session = useStore(state, (now) => (Object.hasOwn(now.sessions, id) ? now.sessions[id] : undefined));
  const opened = useStore(state, (now) => (Object.hasOwn(now.opened, id) ? now.opened[id] : undefined));
  const trouble = useStore(state, (now) => (Object.hasOwn(now.troubles, id) ? now.troubles[id] : undefined));
  const [shown, setShown] = useState<Shown>("talk");
  const able = useStore(state, (now) => now.hello?.features.includes("screen") ?? false);
  const hasScreen = able && session?.driver === "terminal" && session.status !== "exited";
  useEffect(() => connection.subscribe(id), [id]);
  const seq = Math.max(session?.seq ?? 0, opened?.seq ?? 0);
  useEffect(() => {
    const look = () => {
      if (document.visibilityState === "visible") dispatch({ type: "seen", sessionId: id, seq });
    };
    look();
    // What came while nobody looked is seen when somebody looks again.
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [id, seq]);
  if (!session) {
    return (
      <div class="nothing">
        <p>{trouble ? "This session is not available." : "Loading session"}</p>
        {trouble && <p class="hint">{sentence(trouble.message)}</p>}
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
      {hasScreen && <Tabs shown={shown} onShow={setShown} />}
      {hasScreen && shown === "screen" ? (
        <ScreenView session={session} />
      ) : (
        <>
          {/* Of one that is followed, it is the screen that is not. */}
          {trouble && opened?.stored !== false && <Unfollowed id={id} trouble={trouble} />}
          {opened ? (
            <Transcript id={id} opened={opened} session={session} place={place} />
          ) : (
            <Skeleton still={trouble !== undefined} />
          )}
          <Composer session={session} />
        </>
      )}
    </article>
  );
}

/** What is here, if anything, is not in step, and why. */
function Unfollowed({ id, trouble }: { id: string; trouble: Problem }) {
  return (
    <ProblemNotice problem={trouble}>
      <button type="button" class="plain small" onClick={() => connection.refresh(id)}>
        Try again
      </button>
    </ProblemNotice>
  );
}

type Shown = "talk" | "screen";
const SHOWN: Readonly<Record<Shown, string>> = { talk: "Chat", screen: "Terminal" };

const NAMES = Object.keys(SHOWN) as Shown[];

/** Which tab a key leads to, from the one that is shown. The last one comes before the first. */
function led(key: string, from: number): Shown | undefined {
  if (key === "ArrowRight") return NAMES[(from + 1) % NAMES.length];
  if (key === "ArrowLeft") return NAMES.at(from - 1);
  return key === "Home" ? NAMES[0] : key === "End" ? NAMES.at(-1) : undefined;
}

/** A session in a terminal is a talk, and a screen at the desk. */
function Tabs({ shown, onShow }: { shown: Shown; onShow: (shown: Shown) => void }) {
  const list = useRef<HTMLDivElement>(null);
  const steer = (event: KeyboardEvent) => {
    const to = led(event.key, NAMES.indexOf(shown));
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    onShow(to);
    list.current?.querySelectorAll("button")[NAMES.indexOf(to)]?.focus();
  };
  return (
    <div ref={list} class="tabs" role="tablist" aria-label="Session views">
      {NAMES.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          aria-selected={shown === name}
          // The keyboard comes to the one that is shown; arrows lead to the others.
          tabIndex={shown === name ? 0 : -1}
          onClick={() => onShow(name)}
          onKeyDown={steer}
        >
          {SHOWN[name]}
        </button>
      ))}
    </div>
  );
}

function Head({ session, turnSince }: { session: Summary; turnSince: number | undefined }) {
  const [menu, setMenu] = useState(false);
  const [sharing, setSharing] = useState(false);
  return (
    <header class="bar session-head">
      <a class="plain round back" href={hrefOf({ at: "inbox" })} aria-label="All sessions">
        <Icon of={ChevronLeft} size={24} />
      </a>
      <div class="headline">
        <h1 dir="auto">{titleOf(session)}</h1>
        <div class="subline">
          <span class="project">{placeOf(session)}</span>
          <StatusChip session={session} turnSince={turnSince} />
        </div>
      </div>
      <UsageButton session={session} />
      <button type="button" class="plain round" aria-label="More" onClick={() => setMenu(true)}>
        <Icon of={Ellipsis} size={22} />
      </button>
      {menu && (
        <Menu
          session={session}
          onShare={() => {
            setMenu(false);
            setSharing(true);
          }}
          onClose={() => setMenu(false)}
        />
      )}
      {sharing && <ShareSheet session={session} onClose={() => setSharing(false)} />}
    </header>
  );
}

type MenuProps = { session: Summary; onShare: () => void; onClose: () => void };

function Menu({ session, onShare, onClose }: MenuProps) {
  const shares = useStore(
    state,
    ({ hello }) => hello?.features.includes("share") === true && hello.scopes.includes("admin"),
  );
  const ended = session.status === "exited" || !session.driver;
  const copy = async () => {
    if (await copied(session.agent_id ?? session.id)) say("Copied");
    onClose();
  };
  return (
    <Sheet title={titleOf(session, "Session")} onClose={onClose}>
      <dl class="facts">
        <dt>Folder</dt>
        <dd class="mono">{session.cwd ?? "unknown"}</dd>
        <dt>Driver</dt>
        <dd>{session.driver ? driverOf(session.driver) : "None (read-only)"}</dd>
        <dt>Messages</dt>
        <dd>{session.messages}</dd>
        <dt>Started</dt>
        <dd>{moment(session.created_at)}</dd>
      </dl>
      <ul class="choices">
        <li>
          <button type="button" onClick={copy}>
            <Icon of={Copy} /> Copy session ID
          </button>
        </li>
        {shares && (
          <li>
            <button type="button" onClick={onShare}>
              <Icon of={Share2} /> Share read-only link
            </button>
          </li>
        )}
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

/** The place of a transcript; `still` where none is on its way. */
function Skeleton({ still }: { still: boolean }) {
  return (
    <div class="skeleton" aria-hidden="true">
      {!still && (
        <>
          <span />
          <span />
          <span />
          <span />
        </>
      )}
    </div>
  );
}
