// Letters of agents to you. What was opened is read.

import { Mail, MailOpen } from "lucide";
import { useState } from "preact/hooks";
import { api, problemOf } from "../api/http";
import type { Letter } from "../api/types";
import { say } from "../app";
import { firstLine, headOf, nameOf, type Team } from "../state/team";
import { age, moment } from "../state/words";
import { Icon } from "../ui/icon";
import { Markdown } from "../ui/markdown";
import { Sheet } from "../ui/sheet";

const read = (ids: readonly number[]) =>
  api.readLetters(ids).catch((error: unknown) => say(problemOf(error).message));

export function LetterList({ team }: { team: Team }) {
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  if (team.letters === undefined) return <p class="hint">Loading messages</p>;
  if (team.letters.length === 0)
    return (
      <div class="empty">
        <Icon of={MailOpen} size={36} />
        <h2>No messages</h2>
        <p>Messages from agents and the results of your jobs appear here.</p>
      </div>
    );
  const unread = team.letters.filter(({ state }) => state === "waiting").map(({ id }) => id);
  const letter = team.letters.find(({ id }) => id === chosen);
  const open = (one: Letter) => {
    setChosen(one.id);
    if (one.state === "waiting") void read([one.id]);
  };
  return (
    <>
      {unread.length > 1 && (
        <button type="button" class="button small" onClick={() => void read(unread)}>
          <Icon of={MailOpen} size={16} /> Mark all {unread.length} as read
        </button>
      )}
      <ul class="jobs">
        {team.letters.toReversed().map((one) => (
          <li key={one.id}>
            <LetterRow letter={one} team={team} onOpen={() => open(one)} />
          </li>
        ))}
      </ul>
      {letter && <LetterSheet letter={letter} team={team} onClose={() => setChosen(undefined)} />}
    </>
  );
}

function LetterRow({ letter, team, onOpen }: { letter: Letter; team: Team; onOpen: () => void }) {
  const { head, text } = headOf(letter);
  const unread = letter.state === "waiting";
  return (
    <button type="button" class={unread ? "row job fresh" : "row job"} onClick={onOpen}>
      <Icon of={unread ? Mail : MailOpen} size={18} />
      <span class="row-text">
        <span class="row-top">
          <span class="title">{head ?? nameOf(letter.from, team.members)}</span>
          <time dateTime={letter.created_at}>{age(Date.now() - Date.parse(letter.created_at))}</time>
        </span>
        <span class="does" dir="auto">
          {firstLine(text)}
        </span>
        {unread && <span class="sr">Unread</span>}
      </span>
    </button>
  );
}

function LetterSheet({ letter, team, onClose }: { letter: Letter; team: Team; onClose: () => void }) {
  const { head, text } = headOf(letter);
  return (
    <Sheet title={head ?? `From ${nameOf(letter.from, team.members)}`} onClose={onClose}>
      <p class="hint">{moment(letter.created_at)}</p>
      <Markdown text={text} />
    </Sheet>
  );
}
