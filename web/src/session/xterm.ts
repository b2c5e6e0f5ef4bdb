// xterm.js, loaded only where a terminal is looked at. It shows what the daemon says that stands on the agent's screen, in
// the size of the window at the desk, and is never asked what that size should be.

import "@xterm/xterm/css/xterm.css";
import { Terminal } from "@xterm/xterm";
import { type Box, paint, type Screen } from "../state/screen";

/** Around the cursor so many columns and rows belong to what is looked at: what was just typed, and the foot of its box. */
const COLUMNS = 3;
const ROWS = 4;

/** A key that means nothing to the agent. */
const WAY_OUT = "F6";

const THEME = {
  background: "#0b0d11",
  // So light that half of it can still be read.
  foreground: "#eceff4",
  cursor: "#82b1ff",
  cursorAccent: "#0b0d11",
  selectionBackground: "#2f4a78",
  black: "#3b4252",
  red: "#f7768e",
  green: "#8bd49c",
  yellow: "#e6c07b",
  blue: "#7aa2f7",
  magenta: "#c99bff",
  cyan: "#6fd3e0",
  white: "#d7dbe2",
  brightBlack: "#6b7486",
  brightRed: "#ff9aa8",
  brightGreen: "#a9e5b5",
  brightYellow: "#ffd894",
  brightBlue: "#a3c0ff",
  brightMagenta: "#dcbcff",
  brightCyan: "#9be7f0",
  brightWhite: "#ffffff",
};

export type View = {
  show: (screen: Screen) => void;
  /** Letters of this many pixels. */
  size: (pixels: number) => void;
  /** Where a row and a column are drawn, in an element that can be scrolled. */
  spot: (at: readonly [number, number], within: Element) => Box | undefined;
  end: () => void;
};

/** A terminal in this place. What is typed into it is told, where somebody wants to hear it. */
export function mount(place: HTMLElement, onTyped: ((typed: string) => void) | undefined): View {
  const undress = dress();
  const terminal = new Terminal({
    allowProposedApi: false,
    cursorInactiveStyle: "block",
    disableStdin: onTyped === undefined,
    fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono"),
    lineHeight: 1.2,
    scrollback: 0,
    theme: THEME,
  });
  // Tab and Escape are the agent's: whoever has no mouse needs another way out.
  terminal.attachCustomKeyEventHandler((event) => {
    if (event.key !== WAY_OUT) return true;
    event.preventDefault();
    terminal.blur();
    return false;
  });
  terminal.open(place);
  terminal.textarea?.setAttribute("aria-description", `Press ${WAY_OUT} to leave the terminal`);
  if (onTyped) terminal.onData(onTyped);
  let shown: Screen | undefined;
  return {
    show: (screen) => {
      if (terminal.cols !== screen.columns || terminal.rows !== screen.rows.length)
        terminal.resize(Math.max(2, screen.columns), Math.max(1, screen.rows.length));
      terminal.write(paint(shown, screen));
      shown = screen;
    },
    size: (pixels) => {
      terminal.options.fontSize = pixels;
    },
    spot: ([row, column], within) => {
      const drawn = place.querySelector(".xterm-screen")?.getBoundingClientRect();
      if (!drawn) return undefined;
      const from = within.getBoundingClientRect();
      const [width, height] = [drawn.width / terminal.cols, drawn.height / terminal.rows];
      return {
        left: drawn.left - from.left + within.scrollLeft + column * width,
        top: drawn.top - from.top + within.scrollTop + row * height,
        width: COLUMNS * width,
        height: ROWS * height,
      };
    },
    end: () => {
      terminal.dispose();
      undress();
    },
  };
}

// xterm.js writes styles into the page as text, which the page's policy forbids, and rightly. Style sheets that are made by
// a script, and styles that are set on an element, are allowed: while a terminal is shown, the one becomes the other. It
// takes the page's own document whatever it is told, so that is where it is done.

function dress(): () => void {
  const sheets = new Set<CSSStyleSheet>();
  const createElement = (name: string): HTMLElement => {
    if (name === "style") return sheetElement(sheets);
    const element: HTMLElement = Document.prototype.createElement.call(document, name);
    element.setAttribute = setAttribute;
    return element;
  };
  Object.defineProperty(document, "createElement", { value: createElement, configurable: true });
  return () => {
    Reflect.deleteProperty(document, "createElement");
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !sheets.has(sheet));
  };
}

/** Stands where a style element would stand, and is a style sheet. */
function sheetElement(sheets: Set<CSSStyleSheet>): HTMLElement {
  const sheet = new CSSStyleSheet();
  sheets.add(sheet);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  const element = Document.prototype.createElement.call(document, "template");
  Object.defineProperty(element, "textContent", { set: (text: string) => sheet.replaceSync(text) });
  return element;
}

function setAttribute(this: HTMLElement, name: string, value: string): void {
  if (name === "style") this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
}
