// What a person chose on this device. Kept on this device.

import { Store } from "./store";

export type Settings = {
  theme: "auto" | "light" | "dark";
  text: "small" | "medium" | "large" | "huge";
  thinking: "line" | "open" | "hidden";
  wrap: boolean;
};

const KEY = "pollux.settings";
const FIRST: Settings = { theme: "auto", text: "medium", thinking: "line", wrap: true };

export const settings = new Store<Settings>({ ...FIRST, ...read<Partial<Settings>>(KEY, {}) });

export function choose(change: Partial<Settings>): void {
  settings.set({ ...settings.value, ...change });
  write(KEY, settings.value);
  dress();
}

/** What the system draws around the page, as `index.html` has it. */
const AROUND = { light: "#fbfbfc", dark: "#101216" };

/** Puts theme and text size where the style sheets look for them, and the theme where the system does. */
export function dress(): void {
  const { theme, text } = settings.value;
  const root = document.documentElement;
  root.dataset.theme = theme;
  root.dataset.text = text;
  for (const meta of document.querySelectorAll<HTMLMetaElement>('meta[name="theme-color"]')) {
    const own = meta.media.includes("dark") ? "dark" : "light";
    meta.content = AROUND[theme === "auto" ? own : theme];
  }
}

/** A value that this device kept, or another one where it kept none or cannot read it. */
export function read<T>(key: string, otherwise: T): T {
  try {
    const text = localStorage.getItem(key);
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

export function write(key: string, value: unknown): void {
  try {
    if (value === undefined || value === "") localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // A full or forbidden store: the app works without.
  }
}

/** What was chosen for new sessions is kept under this and the folder. */
export const NEW = "pollux.new.";

/** Keeps nothing any more of what is kept under keys that begin so. */
export function drop(beginning: string): void {
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(beginning)) localStorage.removeItem(key);
  } catch {
    // A forbidden store has kept nothing.
  }
}
