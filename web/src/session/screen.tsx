// The agent's own screen, as it stands at the desk: looked at from here, steered with a row of keys, never resized.

import { ArrowDown, ArrowLeft, ArrowRight, ArrowUp, CornerDownLeft } from "lucide";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Run, Summary } from "../api/types";
import { connection, send, state } from "../app";
import { type Screen, withCursor } from "../state/screen";
import { useStore } from "../store";
import { Icon } from "../ui/icon";
import { Waiting } from "./waiting";

/** Letters do not get smaller than this; the screen is scrolled then. */
const SMALLEST = 7;
const LARGEST = 15;

export function ScreenView({ session }: { session: Summary }) {
  const screen = useStore(state, (now) => now.screens[session.id]);
  const may = useStore(state, (now) => now.hello?.scopes.includes("admin") ?? false);
  useEffect(() => connection.watchScreen(session.id), [session.id]);
  return (
    <div class="screen">
      {screen ? <Rows screen={screen} /> : <p class="hint pad">Waiting for the screen</p>}
      <Waiting session={session} />
      {/* Whoever presses keys can answer, change the mode and run commands. */}
      {may ? <Keys session={session} /> : <p class="hint pad">Pressing keys here needs the scope admin.</p>}
    </div>
  );
}

function Rows({ screen }: { screen: Screen }) {
  const frame = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState(12);
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    // A letter of this type is six tenths as wide as it is high.
    const fit = () => setSize(clamp((element.clientWidth - 16) / (screen.columns * 0.6021)));
    const watcher = new ResizeObserver(fit);
    watcher.observe(element);
    return () => watcher.disconnect();
  }, [screen.columns]);
  const [row, column] = screen.cursor ?? [-1, 0];
  return (
    <div ref={frame} class="screen-frame" role="img" aria-label={`The agent's screen: ${textOf(screen)}`}>
      <pre style={{ fontSize: `${size}px` }} dir="ltr">
        {screen.rows.map((runs, index) => (
          <div key={index} class="screen-row">
            {(index === row ? withCursor(runs, column) : runs).map((run, at) => (
              <Piece key={at} run={run} />
            ))}
          </div>
        ))}
      </pre>
    </div>
  );
}

function clamp(size: number): number {
  return Math.max(SMALLEST, Math.min(LARGEST, Math.floor(size * 10) / 10));
}

function textOf({ rows }: Screen): string {
  return rows
    .map((runs) => runs.map(({ text }) => text).join(""))
    .filter((row) => row.trim() !== "")
    .join("\n");
}

function Piece({ run }: { run: Run & { cursor?: true } }) {
  const names = [
    run.bold && "b",
    run.dim && "d",
    run.italic && "i",
    run.underline && "u",
    run.inverse && "v",
    run.cursor && "cursor",
    named(run.fg) && `fg-${run.fg}`,
    named(run.bg) && `bg-${run.bg}`,
  ].filter(Boolean);
  const style = {
    ...(exact(run.fg) ? { color: run.fg } : {}),
    ...(exact(run.bg) ? { background: run.bg } : {}),
  };
  return (
    <span class={names.join(" ")} style={style}>
      {run.text}
    </span>
  );
}

const named = (colour: string | undefined) => colour !== undefined && /^(?:\d|1[0-5])$/.test(colour);
const exact = (colour: string | undefined) => colour !== undefined && /^#[0-9a-f]{6}$/i.test(colour);

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
