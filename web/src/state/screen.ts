// The agent's own screen: rows of pieces that look alike. The daemon sends all rows once and then those that differ. Pure.

import type { Picture, Run } from "../api/types";

export type Screen = {
  columns: number;
  cursor: readonly [number, number] | undefined;
  title: string;
  rows: readonly (readonly Run[])[];
};

export function draw(before: Screen | undefined, picture: Picture): Screen {
  const known = picture.whole ? [] : (before?.rows ?? []);
  const rows = Array.from({ length: picture.rows }, (_, row) => known[row] ?? []);
  for (const { row, runs } of picture.lines) if (row < rows.length) rows[row] = runs;
  return { columns: picture.columns, cursor: picture.cursor, title: picture.title, rows };
}

/** A row with a mark where the cursor stands. */
export function withCursor(runs: readonly Run[], column: number): readonly (Run & { cursor?: true })[] {
  const made: (Run & { cursor?: true })[] = [];
  let at = 0;
  let put = false;
  for (const run of runs) {
    const letters = [...run.text];
    const inside = column - at;
    if (!put && inside < letters.length) {
      put = true;
      const part = (text: string) => (text === "" ? [] : [{ ...run, text }]);
      made.push(...part(letters.slice(0, inside).join("")));
      made.push({ ...run, text: letters[inside] ?? " ", cursor: true });
      made.push(...part(letters.slice(inside + 1).join("")));
    } else {
      made.push(run);
    }
    at += letters.length;
  }
  if (put) return made;
  const gap = column > at ? [{ text: " ".repeat(column - at) }] : [];
  return [...made, ...gap, { text: " ", cursor: true }];
}
