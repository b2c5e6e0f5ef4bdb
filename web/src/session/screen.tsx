// The agent's own screen, as it stands at the desk: looked at from here, typed into or steered with a row of keys. The window
// at the desk keeps its size: here its letters are as large as they fit, or as they can be read. Whoever asks for it gets the
// window as wide as this screen, until they leave or give it back.

import {
  ArrowDown,
  ArrowLeft,
  ArrowRight,
  ArrowUp,
  CornerDownLeft,
  Monitor,
  Smartphone,
  ZoomIn,
  ZoomOut,
} from "lucide";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Summary } from "../api/types";
import { connection, state } from "../app";
import { presses, type Screen, textOf } from "../state/screen";
import { useStore } from "../store";
import { Icon } from "../ui/icon";
import { ProblemNotice } from "../ui/problem";
import { useFit } from "./fit";
import { useLetters } from "./letters";
import { Typist } from "./typist";
import { Waiting } from "./waiting";
import type { View } from "./xterm";

export function ScreenView({ session }: { session: Summary }) {
  const screen = useStore(state, (now) => now.screens[session.id]);
  const trouble = useStore(state, (now) => now.troubles[session.id]);
  const may = useStore(state, (now) => now.hello?.scopes.includes("admin") ?? false);
  // One for the terminal and for the row of keys: what both press keeps its order.
  const typist = useMemo(() => new Typist(session.id), [session.id]);
  useEffect(() => connection.watchScreen(session.id), [session.id]);
  return (
    <div class="screen">
      {trouble && <ProblemNotice problem={trouble} />}
      {screen ? (
        <TerminalView sessionId={session.id} screen={screen} typist={may ? typist : undefined} />
      ) : (
        !trouble && <p class="hint pad">Waiting for the terminal</p>
      )}
      <Waiting session={session} />
      {/* Whoever presses keys can answer, change the mode and run commands. */}
      {may ? <Keys typist={typist} /> : <p class="hint pad">Typing here needs the admin scope.</p>}
    </div>
  );
}

interface Shown {
  sessionId: string;
  screen: Screen;
  typist: Typist | undefined;
}

function TerminalView({ sessionId, screen, typist }: Shown) {
  const may = useStore(state, (now) => now.hello?.scopes.includes("prompt") ?? false);
  const frame = useRef<HTMLDivElement>(null);
  const place = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<View | undefined>(undefined);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    let made: View | undefined;
    let over = false;
    import("./xterm").then(
      ({ mount }) => {
        if (over || !place.current) return;
        made = mount(place.current, typist && ((text: string) => typist.press(presses(text))));
        setView(made);
      },
      () => setFailed(true),
    );
    return () => {
      over = true;
      setView(undefined);
      made?.end();
    };
  }, [typist]);
  useEffect(() => view?.show(screen), [view, screen]);
  const letters = useLetters(frame, view, screen);
  const fit = useFit(frame, sessionId, screen.fitted);
  return (
    <div class="screen-place">
      <div ref={frame} class="screen-frame" dir="ltr">
        {failed && <p class="hint">Cannot load the terminal. Reload the page when you are online.</p>}
        <div ref={place} class="screen-drawn" />
        <pre class="sr">{textOf(screen)}</pre>
      </div>
      <div class="letters">
        {letters.small && (
          <button
            type="button"
            aria-label={letters.large ? "Fit width" : "Show larger text"}
            onClick={letters.toggle}
          >
            <Icon of={letters.large ? ZoomOut : ZoomIn} size={20} />
          </button>
        )}
        {may && (letters.small || screen.fitted) && (
          <button
            type="button"
            aria-label={screen.fitted ? "Restore window size" : "Resize window to fit this screen"}
            onClick={fit}
          >
            <Icon of={screen.fitted ? Monitor : Smartphone} size={20} />
          </button>
        )}
      </div>
    </div>
  );
}

const ROW = [
  { key: "Escape", label: "Esc" },
  { key: "Tab", label: "Tab" },
  { key: "S-Tab", label: "Shift Tab", short: "⇧Tab" },
  { key: "C-c", label: "Control C", short: "^C" },
  { key: "Left", label: "Left", icon: ArrowLeft },
  { key: "Up", label: "Up", icon: ArrowUp },
  { key: "Down", label: "Down", icon: ArrowDown },
  { key: "Right", label: "Right", icon: ArrowRight },
  { key: "Enter", label: "Enter", icon: CornerDownLeft },
];

function Keys({ typist }: { typist: Typist }) {
  const [text, setText] = useState("");
  const press = (keys: string[], typed?: string) =>
    typist.press([{ keys, ...(typed ? { text: typed } : {}) }]);
  return (
    <form
      class="keys"
      onSubmit={(event) => {
        event.preventDefault();
        press(["Enter"], text);
        setText("");
      }}
    >
      <div class="key-row" role="toolbar" aria-label="Keys">
        {ROW.map(({ key, label, short, icon }) => (
          <button key={key} type="button" class="key" aria-label={label} onClick={() => press([key])}>
            {icon ? <Icon of={icon} size={16} /> : (short ?? label)}
          </button>
        ))}
      </div>
      <input
        dir="auto"
        autocapitalize="off"
        autocomplete="off"
        spellcheck={false}
        enterkeyhint="send"
        placeholder="Type, then press Enter to send"
        aria-label="Type into the terminal"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </form>
  );
}
