// What a search found: titles on this device at once, words in everything from the daemon.

import { useEffect, useState } from "preact/hooks";
import { api, problemOf } from "../api/http";
import type { Found as Place, Summary } from "../api/types";
import { hrefOf } from "../route";
import { age, base, titleOf } from "../state/words";
import { SessionRow } from "./inbox";

type Answer = { words: string; found: readonly Place[]; problem?: string };

export function Found({ words, sessions }: { words: string; sessions: Readonly<Record<string, Summary>> }) {
  const [answer, setAnswer] = useState<Answer | undefined>(undefined);
  useEffect(() => {
    let wanted = true;
    const timer = setTimeout(async () => {
      try {
        const { found } = await api.search(words);
        if (wanted) setAnswer({ words, found });
      } catch (error) {
        if (wanted) setAnswer({ words, found: [], problem: problemOf(error).message });
      }
    }, 200);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [words]);
  const lower = words.toLowerCase();
  const titled = Object.values(sessions).filter((session) =>
    `${session.title ?? ""} ${session.cwd ?? ""}`.toLowerCase().includes(lower),
  );
  const places = answer?.words === words ? answer.found : undefined;
  return (
    <>
      {titled.length > 0 && (
        <section class="group">
          <h2>Sessions</h2>
          <ul>
            {titled.slice(0, 8).map((session) => (
              <li key={session.id}>
                <SessionRow session={session} />
              </li>
            ))}
          </ul>
        </section>
      )}
      <section class="group" aria-busy={!places}>
        <h2>
          Messages <span class="number">{places?.length ?? ""}</span>
        </h2>
        {answer?.problem && <p class="hint pad">{answer.problem}</p>}
        {places?.length === 0 && !answer?.problem && <p class="hint pad">No matches</p>}
        <ul>
          {places?.map((place) => (
            <li key={`${place.session_id}.${place.seq}`}>
              <a class="row found" href={hrefOf({ at: "session", id: place.session_id, seq: place.seq })}>
                <span class="row-text">
                  <span class="row-top">
                    <span class="title" dir="auto">
                      {placeNamed(sessions[place.session_id])}
                    </span>
                    <time dateTime={place.recorded_at}>
                      {age(Date.now() - Date.parse(place.recorded_at))}
                    </time>
                  </span>
                  <span class="snippet" dir="auto">
                    {place.snippet}
                  </span>
                </span>
              </a>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

function placeNamed(session: Summary | undefined): string {
  return titleOf(session, session?.cwd ? base(session.cwd) : "Untitled session");
}
