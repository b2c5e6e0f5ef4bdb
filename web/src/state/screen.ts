// The agent's own screen: rows of pieces that look alike. The daemon sends all rows once and then those that differ; a
// terminal is told what is new in its own language. Pure.

import type { Picture, Run } from "../api/types";

export type Screen = {
  columns: number;
  /** Somebody has asked for this size. */
  fitted: boolean;
  cursor: readonly [number, number] | undefined;
  title: string;
  rows: readonly (readonly Run[])[];
};

export function draw(before: Screen | undefined, picture: Picture): Screen {
  const known = picture.whole ? [] : (before?.rows ?? []);
  const rows = Array.from({ length: picture.rows }, (_, row) => known[row] ?? []);
  for (const { row, runs } of picture.lines) if (row < rows.length) rows[row] = runs;
  const { columns, fitted, cursor, title } = picture;
  return { columns, fitted, cursor, title, rows };
}

/** What stands on it, without the rows that are empty. */
export function textOf({ rows }: Screen): string {
  return rows
    .map((runs) => runs.map(({ text }) => text).join(""))
    .filter((row) => row.trim() !== "")
    .join("\n");
}

const ESC = "\x1b[";
/** Lines do not wrap: each row is put where it belongs. */
const FIRST = `${ESC}?7l${ESC}2J`;

/** What a terminal that shows `before` must be told to show `now`. */
export function paint(before: Screen | undefined, now: Screen): string {
  const fresh = before?.columns !== now.columns || before.rows.length !== now.rows.length;
  const rows = now.rows.flatMap((runs, row) =>
    fresh || before.rows[row] !== runs
      ? [`${ESC}${row + 1};1H${ESC}0m${ESC}2K${runs.map(coded).join("")}`]
      : [],
  );
  const [row, column] = now.cursor ?? [0, 0];
  const cursor = now.cursor ? `${ESC}${row + 1};${column + 1}H${ESC}?25h` : `${ESC}?25l`;
  return [fresh ? FIRST : "", ...rows, `${ESC}0m`, cursor].join("");
}

function coded(run: Run): string {
  const how = [
    "0",
    ...(run.bold ? ["1"] : []),
    ...(run.dim ? ["2"] : []),
    ...(run.italic ? ["3"] : []),
    ...(run.underline ? ["4"] : []),
    ...(run.inverse ? ["7"] : []),
    ...colour(run.fg, 30),
    ...colour(run.bg, 40),
  ];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a text steers nothing
  return `${ESC}${how.join(";")}m${run.text.replace(/[\x00-\x1f\x7f-\x9f]/g, " ")}`;
}

/** A colour of the terminal's own sixteen, or an exact one. */
function colour(of: string | undefined, from: 30 | 40): string[] {
  if (of === undefined) return [];
  const exact = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(of);
  if (exact)
    return [String(from + 8), "2", ...exact.slice(1).map((part) => String(Number.parseInt(part, 16)))];
  const named = /^(?:\d|1[0-5])$/.test(of) ? Number(of) : undefined;
  return named === undefined ? [] : [String(named < 8 ? from + named : from + 52 + named)];
}

/** A part of something that is larger, in pixels. */
export type Box = { left: number; top: number; width: number; height: number };

/** Where a window over a screen stands in which a spot of it is seen: as near to the beginning of the lines as can be, and
 * no further up or down than it must be. */
export function brought(window: Box, spot: Box): { left: number; top: number } {
  const lowest = spot.top + spot.height - window.height;
  return {
    left: Math.max(0, spot.left + spot.width - window.width),
    top: Math.max(0, Math.min(spot.top, Math.max(window.top, lowest))),
  };
}

/** Whether the first corner of a spot is seen in a window. */
export function seen(window: Box, { left, top }: Box): boolean {
  const across = left >= window.left && left < window.left + window.width;
  return across && top >= window.top && top < window.top + window.height;
}

/** What is sent for keys: a text that is typed, keys by their names, or a text and then keys. */
export type Press =
  | { text: string }
  | { keys: readonly string[] }
  | { text: string; keys: readonly string[] };

const KEYS: Readonly<Record<string, string>> = {
  "\r": "Enter",
  "\n": "Enter",
  "\t": "Tab",
  "\x7f": "BSpace",
  "\b": "BSpace",
  "\x1b": "Escape",
  "\x1b[A": "Up",
  "\x1b[B": "Down",
  "\x1b[C": "Right",
  "\x1b[D": "Left",
  "\x1b[H": "Home",
  "\x1b[F": "End",
  "\x1b[Z": "BTab",
  "\x1b[2~": "IC",
  "\x1b[3~": "DC",
  "\x1b[5~": "PageUp",
  "\x1b[6~": "PageDown",
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: what keys send
const PIECES = /\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Z]|[a-z0-9])?|[\x00-\x1f\x7f]|[^\x00-\x1f\x7f]+/g;

/** What a terminal says that was typed into it, as keys by their names. What has no name is nothing. */
export function presses(typed: string): readonly Press[] {
  const made: Press[] = [];
  for (const [piece] of typed.matchAll(PIECES)) {
    const press = pressOf(piece);
    const last = made.at(-1);
    if (press && "keys" in press && last && "keys" in last) {
      made[made.length - 1] = { keys: [...last.keys, ...press.keys] };
    } else if (press) made.push(press);
  }
  return made;
}

function pressOf(piece: string): Press | undefined {
  const name = /^.O[A-DHF]$/.test(piece) ? ESC + piece.charAt(2) : piece;
  const key = Object.hasOwn(KEYS, name) ? KEYS[name] : undefined;
  if (key) return { keys: [key] };
  const code = piece.charCodeAt(0);
  if (piece.length === 1 && code >= 1 && code <= 26) return { keys: [`C-${String.fromCharCode(code + 96)}`] };
  if (code === 27) return /^.[a-z0-9]$/.test(piece) ? { keys: [`M-${piece.charAt(1)}`] } : undefined;
  return code < 32 ? undefined : { text: piece };
}
