// An agent of a team: as what, where, with what to begin.

import { useEffect, useState } from "preact/hooks";
import { api, problemOf } from "../api/http";
import type { OfferedProfile, Problem } from "../api/types";
import { go } from "../route";
import { base, modeOf } from "../state/words";
import { ProblemNotice } from "../ui/problem";
import { Sheet } from "../ui/sheet";

export function LaunchSheet({ onClose }: { onClose: () => void }) {
  const [profiles, setProfiles] = useState<readonly OfferedProfile[]>([]);
  const [projects, setProjects] = useState<readonly string[] | undefined>(undefined);
  const [profile, setProfile] = useState("supervisor");
  const [cwd, setCwd] = useState("");
  const [text, setText] = useState("");
  const [starting, setStarting] = useState(false);
  const [problem, setProblem] = useState<Problem | undefined>(undefined);
  const [clientId] = useState(() => `launch-${Date.now()}-${Math.random().toString(36).slice(2)}`);
  useEffect(() => {
    Promise.all([api.profiles(), api.projects()]).then(
      ([offered, places]) => {
        setProfiles(offered.profiles);
        setProjects(places.projects);
        setCwd((now) => now || (places.projects[0] ?? ""));
      },
      (error: unknown) => setProblem(problemOf(error)),
    );
  }, []);
  const launch = async () => {
    setStarting(true);
    setProblem(undefined);
    try {
      const prompt = text.trim() ? { prompt: text } : {};
      const session = await api.launch({ client_id: clientId, profile, cwd, ...prompt });
      go({ at: "session", id: session.id });
    } catch (error) {
      setProblem(problemOf(error));
      setStarting(false);
    }
  };
  const footer = (
    <button
      type="button"
      class="button primary big"
      disabled={starting || cwd === "" || profiles.length === 0}
      onClick={() => void launch()}
    >
      {starting ? "Starting Gemini CLI" : "Launch"}
    </button>
  );
  return (
    <Sheet title="Launch an agent" onClose={onClose} footer={footer}>
      <fieldset>
        <legend>Profile</legend>
        <div class="places">
          {profiles.map(({ name, description, mode }) => (
            <label key={name} class="place">
              <input
                type="radio"
                name="profile"
                checked={profile === name}
                onChange={() => setProfile(name)}
              />
              <span class="choice-text">
                <b>{name}</b>
                <span class="hint two-lines">{description}</span>
              </span>
              {mode && mode !== "default" && (
                <span class={`chip tone-${mode === "yolo" ? "yolo" : "work"}`}>{modeOf(mode).name}</span>
              )}
            </label>
          ))}
        </div>
      </fieldset>
      <fieldset>
        <legend>Project</legend>
        {projects?.length === 0 ? (
          <p class="hint">
            No folders are allowed yet. On your machine, run <code>pollux serve allow PATH</code>
          </p>
        ) : (
          <select
            class="select"
            aria-label="Project"
            value={cwd}
            onChange={(event) => setCwd(event.currentTarget.value)}
          >
            {projects?.map((path) => (
              <option key={path} value={path}>
                {base(path)}: {path}
              </option>
            ))}
          </select>
        )}
      </fieldset>
      <fieldset>
        <legend>Prompt</legend>
        <textarea
          class="why"
          rows={3}
          dir="auto"
          placeholder="What should the team do?"
          aria-label="Prompt"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </fieldset>
      {problem && <ProblemNotice problem={problem} />}
    </Sheet>
  );
}
