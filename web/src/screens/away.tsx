// "While you were away": a line for each session in which something happened, with a link to where it began.

import { Moon, X } from "lucide";
import { type Missed, missed } from "../away";
import { hrefOf } from "../route";
import { inWords } from "../state/digest";
import { age, base, titleOf } from "../state/words";
import { useStore } from "../store";
import { Icon } from "../ui/icon";

export function Away() {
  const now = useStore(missed, (value) => value);
  if (!now) return null;
  return (
    <section class="missed" aria-label="While you were away">
      <header>
        <Icon of={Moon} size={16} />
        <h2>While you were away</h2>
        <span class="hint">{age(Date.now() - now.since)}</span>
        <button type="button" class="plain" aria-label="Dismiss" onClick={() => missed.set(undefined)}>
          <Icon of={X} size={16} />
        </button>
      </header>
      <ul>
        {now.all.map((one) => (
          <Line key={one.session.id} missed={one} />
        ))}
      </ul>
    </section>
  );
}

function Line({ missed: { session, told } }: { missed: Missed }) {
  return (
    <li>
      <a href={hrefOf({ at: "session", id: session.id, seq: told.from })}>
        <b dir="auto">{titleOf(session, base(session.cwd ?? "Session"))}</b>
        <span class={told.failed ? "missed-words failed" : "missed-words"}>
          {told.failed ? `Failed: ${told.failed}` : inWords(told)}
        </span>
        {told.said && (
          <span class="missed-said" dir="auto">
            {told.said}
          </span>
        )}
      </a>
    </li>
  );
}
