// One agent of a team: what it is, a letter to it, its end.

import { CircleStop, MessageSquareText, Send } from "lucide";
import { useState } from "preact/hooks";
import { api, problemOf } from "../api/http";
import type { Member } from "../api/types";
import { say, state } from "../app";
import { go } from "../route";
import { nameOf } from "../state/team";
import { count, modeOf } from "../state/words";
import { useStore } from "../store";
import { Icon } from "../ui/icon";
import { Sheet } from "../ui/sheet";

export function MemberSheet({ member, onClose }: { member: Member; onClose: () => void }) {
  const members = useStore(state, (now) => now.team?.members ?? []);
  const may = useStore(state, (now) => now.hello?.scopes.includes("prompt") ?? false);
  const session = useStore(state, (now) => now.sessions[member.session]);
  const stop = async () => {
    try {
      const stopped = await api.stopAgent(member.session);
      say(stopped.length > 1 ? `Ending ${stopped.length} agents` : `Ending ${member.name}`);
      onClose();
    } catch (error) {
      say(problemOf(error).message);
    }
  };
  return (
    <Sheet title={member.name} onClose={onClose}>
      <dl class="facts">
        <dt>Profile</dt>
        <dd>{member.profile}</dd>
        <dt>Works for</dt>
        <dd>{nameOf(member.parent, members)}</dd>
        <dt>Mode</dt>
        <dd>{modeOf(session?.mode ?? member.mode).name}</dd>
        <dt>Folder</dt>
        <dd class="mono">{member.cwd ?? "unknown"}</dd>
        <dt>Tokens</dt>
        <dd>{count(session?.tokens ?? member.tokens)}</dd>
      </dl>
      {may && !member.gone && <WriteTo member={member} onSent={onClose} />}
      <ul class="choices">
        <li>
          <button type="button" onClick={() => go({ at: "session", id: member.session })}>
            <Icon of={MessageSquareText} /> Open session
          </button>
        </li>
        {may && !member.gone && (
          <li>
            <button type="button" class="danger" onClick={stop}>
              <Icon of={CircleStop} /> End this agent and its workers
            </button>
          </li>
        )}
      </ul>
    </Sheet>
  );
}

/** A letter is handed over once, when the agent has time. */
function WriteTo({ member, onSent }: { member: Member; onSent: () => void }) {
  const [text, setText] = useState("");
  const write = async () => {
    try {
      await api.writeTo(member.session, text);
      say(`Message sent. ${member.name} gets it when idle.`);
      onSent();
    } catch (error) {
      say(problemOf(error).message);
    }
  };
  return (
    <form
      class="write-to"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "") void write();
      }}
    >
      <textarea
        class="why"
        rows={2}
        dir="auto"
        placeholder={`Message to ${member.name}`}
        aria-label={`Message to ${member.name}`}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="submit" class="send" aria-label="Send message" disabled={text.trim() === ""}>
        <Icon of={Send} size={18} />
      </button>
    </form>
  );
}
