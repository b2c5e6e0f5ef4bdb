// A new session: where, how, with what. Or an old one, resumed.

import { ChevronLeft, Folder, FolderSearch } from "lucide";
import { useEffect, useMemo, useState } from "preact/hooks";
import { api, problemOf } from "../api/http";
import type { Driver, Mode, Problem, Summary } from "../api/types";
import { state } from "../app";
import { useModels } from "../offers";
import { go, hrefOf } from "../route";
import { MODE_ICONS } from "../session/chips";
import { NEW, read, write } from "../settings";
import { base, driverOf, MODES, modeOf, span, titleOf } from "../state/words";
import { useStore } from "../store";
import { useNow } from "../ui/clock";
import { Icon } from "../ui/icon";
import { ProblemNotice } from "../ui/problem";
import { BrowseSheet } from "./browse";
import { NeedBar } from "./questions";

type Choice = { driver: Driver; model: string; mode: Mode };
const FIRST: Choice = { driver: "acp", model: "auto", mode: "default" };
const DRIVERS: Readonly<Record<Driver, string>> = {
  acp: "Runs without a terminal. You can answer questions and change the mode and model.",
  terminal: "Runs in tmux, so that you can also attach to it from your desk.",
  headless: "Starts one process for each prompt. It cannot ask for approval.",
};

const remembered = (cwd: string): Choice => ({ ...FIRST, ...read<Partial<Choice>>(NEW + cwd, {}) });

export function NewSession({ resume }: { resume: string | undefined }) {
  const sessions = useStore(state, (now) => now.sessions);
  const old = resume ? sessions[resume] : undefined;
  const { projects, drivers } = useOffers();
  const models = useModels();
  const recents = useMemo(() => recentProjects(Object.values(sessions)), [sessions]);
  const [picked, setPicked] = useState<string | undefined>(undefined);
  const first = old?.cwd ?? recents[0] ?? projects[0];
  const cwd = picked ?? first ?? "";
  const places = [...new Set([...(cwd ? [cwd] : []), ...recents, ...projects])];
  // What was offered first stays: which project is the most recent one changes while somebody writes.
  useEffect(() => {
    if (picked === undefined && first !== undefined && (!resume || old)) setPicked(first);
  }, [picked, first, resume, old]);
  const [choice, setChoice] = useState<Choice>(() => remembered(cwd));
  useEffect(() => setChoice(remembered(cwd)), [cwd]);
  const driver = drivers.includes(choice.driver) ? choice.driver : (drivers[0] ?? choice.driver);
  const [text, setText] = useState("");
  const [since, setSince] = useState<number | undefined>(undefined);
  const [problem, setProblem] = useState<Problem | undefined>(undefined);
  const [clientId] = useState(() => `new-${Date.now()}-${Math.random().toString(36).slice(2)}`);
  const begin = async () => {
    setSince(Date.now());
    setProblem(undefined);
    write(NEW + cwd, { ...choice, mode: choice.mode === "yolo" ? "default" : choice.mode });
    try {
      const session = await api.begin({
        client_id: clientId,
        cwd,
        driver,
        mode: choice.mode,
        ...(choice.model === "auto" ? {} : { model: choice.model }),
        ...(resume ? { resume } : {}),
        ...(text.trim() ? { prompt: text } : {}),
      });
      go({ at: "session", id: session.id }, true);
    } catch (error) {
      setProblem(problemOf(error));
      setSince(undefined);
    }
  };
  return (
    <form
      class="page new"
      onSubmit={(event) => {
        event.preventDefault();
        void begin();
      }}
    >
      <header class="bar">
        <a class="plain round back" href={hrefOf({ at: "inbox" })} aria-label="All sessions">
          <Icon of={ChevronLeft} size={24} />
        </a>
        <h1>{resume ? "Resume" : "New session"}</h1>
      </header>
      <NeedBar />
      <div class="page-scroll">
        {old && (
          <p class="lead">
            Continues <b>{titleOf(old, "this session")}</b>, {old.messages} messages.
          </p>
        )}
        <Places places={places} roots={projects} cwd={cwd} onPick={setPicked} />
        <fieldset>
          <legend>Prompt</legend>
          <textarea
            rows={4}
            dir="auto"
            placeholder={resume ? "Next prompt (optional)" : "What should Gemini do?"}
            aria-label="Prompt"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </fieldset>
        <fieldset>
          <legend>Permissions</legend>
          <div class="segments">
            {(Object.keys(MODES) as Mode[]).map((mode) => (
              <label key={mode} class={`segment mode-${mode}`}>
                <input
                  type="radio"
                  name="mode"
                  checked={choice.mode === mode}
                  onChange={() => setChoice({ ...choice, mode })}
                />
                <Icon of={MODE_ICONS[mode]} size={18} />
                <span>{MODES[mode].name}</span>
              </label>
            ))}
          </div>
          <p class="hint">{modeOf(choice.mode).says}</p>
        </fieldset>
        <fieldset>
          <legend>Model</legend>
          <select
            class="select"
            aria-label="Model"
            value={choice.model}
            onChange={(event) => setChoice({ ...choice, model: event.currentTarget.value })}
          >
            {models.map(({ id, label }) => (
              <option key={id} value={id}>
                {id}: {label}
              </option>
            ))}
          </select>
        </fieldset>
        <fieldset>
          <legend>Advanced</legend>
          <div class="segments">
            {drivers.map((name) => (
              <label key={name} class="segment">
                <input
                  type="radio"
                  name="driver"
                  checked={driver === name}
                  onChange={() => setChoice({ ...choice, driver: name })}
                />
                <span>{driverOf(name)}</span>
              </label>
            ))}
          </div>
          <p class="hint">{DRIVERS[driver]}</p>
        </fieldset>
        {problem && <ProblemNotice problem={problem} />}
      </div>
      <footer class="page-foot">
        {since === undefined ? (
          <button type="submit" class="button primary big" disabled={cwd === ""}>
            {resume ? "Resume" : "Start"}
          </button>
        ) : (
          <Starting since={since} />
        )}
      </footer>
    </form>
  );
}

/** How long it takes is said, and nothing is promised. */
function Starting({ since }: { since: number }) {
  const now = useNow();
  return (
    <p class="sent-line" role="status">
      Starting Gemini CLI ({span(now - since)}). A cold start takes up to 15 s.
    </p>
  );
}

type PlacesProps = {
  places: readonly string[];
  roots: readonly string[];
  cwd: string;
  onPick: (cwd: string) => void;
};

function Places(props: PlacesProps) {
  const able = useStore(state, (now) => now.hello?.features.includes("files") ?? false);
  const [browsing, setBrowsing] = useState(false);
  return (
    <fieldset>
      <legend>Project</legend>
      {props.places.length === 0 && (
        <p class="hint">
          No folders are allowed yet. On your machine, run <code>pollux serve allow PATH</code>
        </p>
      )}
      <div class="places">
        {props.places.map((path) => (
          <label key={path} class="place">
            <input type="radio" name="cwd" checked={props.cwd === path} onChange={() => props.onPick(path)} />
            <Icon of={Folder} size={18} />
            <span class="choice-text">
              <b>{base(path)}</b>
              <span class="hint mono">{path}</span>
            </span>
          </label>
        ))}
      </div>
      {able && props.roots.length > 0 && (
        <button type="button" class="button" onClick={() => setBrowsing(true)}>
          <Icon of={FolderSearch} size={16} /> Browse
        </button>
      )}
      {browsing && (
        <BrowseSheet roots={props.roots} onPick={props.onPick} onClose={() => setBrowsing(false)} />
      )}
    </fieldset>
  );
}

function recentProjects(sessions: readonly Summary[]): string[] {
  const sorted = sessions.toSorted((a, b) => b.updated_at.localeCompare(a.updated_at));
  const recent = sorted.flatMap(({ cwd, driver }) => (cwd && driver ? [cwd] : []));
  return [...new Set(recent)].slice(0, 5);
}

function useOffers(): { projects: readonly string[]; drivers: readonly Driver[] } {
  const [projects, setProjects] = useState<readonly string[]>([]);
  const [drivers, setDrivers] = useState<readonly Driver[]>(["acp"]);
  useEffect(() => {
    // Offline the page still shows what is known; starting says what is wrong.
    api.projects().then(
      (answer) => setProjects(answer.projects),
      () => undefined,
    );
    api.capabilities().then(
      (answer) => setDrivers(answer.drivers),
      () => undefined,
    );
  }, []);
  return { projects, drivers };
}
