// The agent's own screen, as it stands at the desk: looked at from here, typed into or steered with a row of keys, never
// resized.

import { ArrowDown, ArrowLeft, ArrowRight, ArrowUp, CornerDownLeft } from "lucide";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Summary } from "../api/types";
import { connection, send, state } from "../app";
import { presses, type Screen, textOf } from "../state/screen";
import { useStore } from "../store";
import { Icon } from "../ui/icon";
import { Typist } from "./typist";
import { Waiting } from "./waiting";
import type { View } from "./xterm";

/** Letters do not get smaller than this; the screen is scrolled then. */
const SMALLEST = 7;
const LARGEST = 15;

export function ScreenView({ session }: { session: Summary }) {
  const screen = useStore(state, (now) => now.screens[session.id]);
  const may = useStore(state, (now) => now.hello?.scopes.includes("admin") ?? false);
  useEffect(() => connection.watchScreen(session.id), [session.id]);
  return (
    <div class="screen">
      {screen ? (
        <TerminalView screen={screen} sessionId={session.id} may={may} />
      ) : (
        <p class="hint pad">Waiting for the screen</p>
      )}
      <Waiting session={session} />
      {/* Whoever presses keys can answer, change the mode and run commands. */}
      {may ? <Keys session={session} /> : <p class="hint pad">Pressing keys here needs the scope admin.</p>}
    </div>
  );
}

function TerminalView({ screen, sessionId, may }: { screen: Screen; sessionId: string; may: boolean }) {
  const frame = useRef<HTMLDivElement>(null);
  const place = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<View | undefined>(undefined);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    let made: View | undefined;
    let over = false;
    const typist = new Typist(sessionId);
    const typed = (text: string) => typist.press(presses(text));
    import("./xterm").then(
      ({ mount }) => {
        if (over || !place.current) return;
        made = mount(place.current, LARGEST, may ? typed : undefined);
        setView(made);
      },
      () => setFailed(true),
    );
    return () => {
      over = true;
      setView(undefined);
      made?.end();
    };
  }, [sessionId, may]);
  useEffect(() => view?.show(screen), [view, screen]);
  const { columns } = screen;
  useEffect(() => {
    const element = frame.current;
    if (!element || !view) return;
    // A letter of this type is six tenths as wide as it is high.
    const fit = () => view.size(clamp((element.clientWidth - 16) / (columns * 0.6021)));
    const watcher = new ResizeObserver(fit);
    watcher.observe(element);
    return () => watcher.disconnect();
  }, [view, columns]);
  return (
    <div ref={frame} class="screen-frame" dir="ltr">
      {failed && (
        <p class="hint">The terminal could not be loaded: reload the page where there is a connection.</p>
      )}
      <div ref={place} />
      <pre class="sr">{textOf(screen)}</pre>
    </div>
  );
}

function clamp(size: number): number {
  return Math.max(SMALLEST, Math.min(LARGEST, Math.floor(size * 10) / 10));
}

const ROW = [
  { key: "Escape", label: "Esc" },
  { key: "Tab", label: "Tab" },
  { key: "S-Tab", label: "⇧Tab" },
  { key: "C-c", label: "^C" },
  { key: "Left", label: "Left", icon: ArrowLeft },
  { key: "Up", label: "Up", icon: ArrowUp },
  { key: "Down", label: "Down", icon: ArrowDown },
  { key: "Right", label: "Right", icon: ArrowRight },
  { key: "Enter", label: "Enter", icon: CornerDownLeft },
];

function Keys({ session }: { session: Summary }) {
  const [text, setText] = useState("");
  const press = (keys: string[], typed?: string) =>
    send(session.id, { type: "keys", keys, ...(typed ? { text: typed } : {}) });
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
        {ROW.map(({ key, label, icon }) => (
          <button key={key} type="button" class="key" aria-label={label} onClick={() => press([key])}>
            {icon ? <Icon of={icon} size={16} /> : label}
          </button>
        ))}
      </div>
      <input
        dir="auto"
        autocapitalize="off"
        autocomplete="off"
        spellcheck={false}
        enterkeyhint="send"
        placeholder="Type into the terminal, Enter sends"
        aria-label="Type into the terminal"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </form>
  );
}
