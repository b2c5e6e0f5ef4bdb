// The frame of every screen: one pane on a phone, two on a desk; the line that says when we are not in step; the sheet
// of questions; a few words for a moment.

import { MessageSquareText } from "lucide";
import { useEffect, useRef } from "preact/hooks";
import { connection, toast } from "../app";
import { PATIENCE } from "../link/machine";
import { route } from "../route";
import { useStore } from "../store";
import { useNow } from "../ui/clock";
import { Guard } from "../ui/guard";
import { Icon } from "../ui/icon";
import { Inbox } from "./inbox";
import { NewSession } from "./new";
import { PairScreen } from "./pair";
import { Questions } from "./questions";
import { Session } from "./session";
import { SettingsScreen } from "./settings";
import { SharedScreen } from "./shared";
import { TeamScreen } from "./team";

export function Shell() {
  const where = useStore(route, (now) => now);
  const refused = useStore(connection.link, (link) => link.phase === "refused");
  if (where.at === "shared") {
    return (
      <>
        <SharedScreen key={where.token} token={where.token} />
        <Toast />
      </>
    );
  }
  if (refused || where.at === "pair") return <PairScreen code={where.at === "pair" ? where.code : ""} />;
  const home = where.at === "inbox";
  return (
    <div class={home ? "shell home" : "shell away"}>
      <div class="pane side">
        <Inbox current={where.at === "session" ? where.id : undefined} />
      </div>
      <main class="pane main">
        <Trouble />
        <Guard key={where.at === "session" ? where.id : where.at}>
          {where.at === "session" && <Session key={where.id} id={where.id} seq={where.seq} />}
          {where.at === "new" && <NewSession key={where.resume ?? ""} resume={where.resume} />}
          {where.at === "settings" && <SettingsScreen />}
          {where.at === "team" && <TeamScreen part={where.part} />}
          {home && <Nothing />}
        </Guard>
      </main>
      <Questions here={where.at === "session" ? where.id : undefined} />
      <Toast />
    </div>
  );
}

function Nothing() {
  return (
    <div class="nothing">
      <Icon of={MessageSquareText} size={28} />
      <p>Select a session, or start a new one.</p>
    </div>
  );
}

/** A thin line, and only when the trouble is not over in a moment. */
export function Trouble() {
  const link = useStore(connection.link, (now) => now);
  const now = useNow(link.troubledSince !== undefined);
  if (link.troubledSince === undefined || now - link.troubledSince < PATIENCE) return null;
  const offline = link.phase === "offline";
  const waits =
    offline && link.wakeAt !== undefined ? Math.max(0, Math.ceil((link.wakeAt - now) / 1000)) : undefined;
  return (
    <div class="trouble" role="status">
      <span>
        {offline
          ? `Offline: ${link.cause ?? "not connected"}`
          : link.phase === "replay"
            ? "Syncing"
            : "Reconnecting"}
        {/* It is said once that there is trouble, and not each second how long it takes. */}
        {waits !== undefined && waits > 1 && <span aria-hidden="true">{`, retrying in ${waits}s`}</span>}
      </span>
      {offline && (
        <button type="button" class="plain small" onClick={() => connection.tell({ type: "retry" })}>
          Retry
        </button>
      )}
    </div>
  );
}

function Toast() {
  const said = useStore(toast, (now) => now);
  const ref = useRef<HTMLDivElement>(null);
  // A sheet stands over the whole page. What was shown after it stands over the sheet, and what is said of it too.
  useEffect(() => {
    if (!said) return;
    ref.current?.showPopover();
    return () => ref.current?.hidePopover();
  }, [said]);
  return (
    <div ref={ref} popover="manual" class="toasts" role="status" aria-live="polite">
      {said && (
        <div class="toast" key={said.key}>
          {said.text}
        </div>
      )}
    </div>
  );
}
