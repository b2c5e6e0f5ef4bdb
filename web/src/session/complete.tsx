// Suggestions over the composer: the agent's commands after `/`, the project's files after `@`.

import { File, Folder } from "lucide";
import { useEffect, useState } from "preact/hooks";
import { api } from "../api/http";
import type { Slash, Summary } from "../api/types";
import { state } from "../app";
import { type Begun, begun } from "../state/complete";
import { useStore } from "../store";
import { Icon } from "../ui/icon";

/** So many are shown. */
const MOST = 8;
/** A person who types on does not want an answer to each letter. */
const PAUSE = 120;

export type Offer = { value: string; says: string };
export type Completion = { begun: Begun; offers: readonly Offer[] };

/** What fits what is being written; nothing where nothing fits, or where the daemon does not know. */
export function useCompletion(session: Summary, text: string, caret: number): Completion | undefined {
  const able = useStore(state, (now) => now.hello?.features.includes("files") ?? false);
  const commands = useCommands(session.id, able && text.startsWith("/"));
  const now = able ? begun(text, caret) : undefined;
  const files = useFiles(session.cwd, now?.kind === "file" ? now.prefix : undefined);
  if (!now) return undefined;
  const offers = now.kind === "command" ? fitting(commands, now.prefix) : files;
  return offers.length > 0 ? { begun: now, offers: offers.slice(0, MOST) } : undefined;
}

function fitting(commands: readonly Slash[], prefix: string): Offer[] {
  const wanted = `/${prefix.toLowerCase()}`;
  return commands
    .filter(({ name }) => name.toLowerCase().startsWith(wanted))
    .map(({ name, description }) => ({ value: name, says: description }));
}

function useCommands(sessionId: string, wanted: boolean): readonly Slash[] {
  const [commands, setCommands] = useState<readonly Slash[]>([]);
  useEffect(() => {
    if (!wanted || commands.length > 0) return;
    // Without them one writes them out.
    api.slash(sessionId).then(
      (answer) => setCommands(answer.commands),
      () => undefined,
    );
  }, [sessionId, wanted]);
  return commands;
}

function useFiles(cwd: string | undefined, prefix: string | undefined): readonly Offer[] {
  const [found, setFound] = useState<readonly Offer[]>([]);
  useEffect(() => {
    if (cwd === undefined || prefix === undefined) {
      setFound([]);
      return;
    }
    let wanted = true;
    const show = (files: readonly string[]) => {
      if (wanted) setFound(files.map((value) => ({ value, says: "" })));
    };
    const timer = setTimeout(() => {
      api.files(cwd, prefix).then(
        ({ files }) => show(files),
        () => show([]),
      );
    }, PAUSE);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [cwd, prefix]);
  return found;
}

type Props = { completion: Completion; at: number; onTake: (value: string) => void };

export function Suggestions({ completion, at, onTake }: Props) {
  return (
    <div class="suggestions" id="suggestions" role="listbox" aria-label="Suggestions">
      {completion.offers.map(({ value, says }, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the keys that take it are the field's, which has the focus
        <div
          key={value}
          id={`suggestion-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === at}
          class={index === at ? "suggestion at" : "suggestion"}
          // The field keeps the focus, and the keyboard stays up. A finger that scrolls the list takes nothing.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onTake(value)}
        >
          {completion.begun.kind === "file" && <Icon of={value.endsWith("/") ? Folder : File} size={15} />}
          <span class="mono">{value}</span>
          {says && <span class="hint">{says}</span>}
        </div>
      ))}
    </div>
  );
}
