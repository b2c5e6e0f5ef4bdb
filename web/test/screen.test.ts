// The agent's own screen: what is drawn, what a terminal is told, which keys are pressed, what is in view.

import { Terminal } from "@xterm/headless";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Run } from "../src/api/types";
import { brought, draw, paint, presses, type Screen, seen, textOf } from "../src/state/screen";

const line = (row: number, text: string) => ({ row, runs: [{ text }] });
const first = {
  session_id: "s",
  whole: true,
  columns: 10,
  fitted: false,
  rows: 3,
  title: "t",
  lines: [line(0, "a"), line(2, "c")],
};

describe("a screen", () => {
  test("rows that differ take their places, the others stay", () => {
    const lines = [line(1, "b"), line(9, "no")];
    const drawn = draw(draw(undefined, first), { ...first, whole: false, lines });
    expect(textOf(drawn)).toBe("a\nb\nc");
  });

  test("a whole picture forgets the one before", () => {
    const drawn = draw(draw(undefined, first), { ...first, rows: 1, lines: [] });
    expect(drawn.rows).toEqual([[]]);
  });
});

/** A real terminal that was told all of this. */
async function shown(columns: number, rows: number, texts: readonly string[]): Promise<Terminal> {
  const terminal = new Terminal({ cols: columns, rows, scrollback: 0, allowProposedApi: true });
  for (const text of texts) await new Promise<void>((done) => terminal.write(text, done));
  return terminal;
}

function rowsOf(terminal: Terminal): string[] {
  return Array.from({ length: terminal.rows }, (_, row) =>
    (terminal.buffer.active.getLine(row)?.translateToString(true) ?? "").trimEnd(),
  );
}

const plain = (screen: Screen) =>
  screen.rows.map((runs) =>
    runs
      .map(({ text }) => text)
      .join("")
      .trimEnd(),
  );

describe("a terminal", () => {
  const text = fc.stringMatching(/^[ -~]{0,8}$/);
  const colour = fc.constantFrom("0", "7", "8", "15", "#4796e4");
  const run: fc.Arbitrary<Run> = fc
    .record(
      { text, fg: colour, bg: colour, bold: fc.boolean(), inverse: fc.boolean() },
      { requiredKeys: ["text"] },
    )
    .map((made) => made as Run);
  const row = fc.array(run, { maxLength: 3 });
  const screen = fc
    .record({ rows: fc.array(row, { minLength: 4, maxLength: 4 }), cursor: fc.option(fc.nat(23)) })
    .map(
      ({ rows, cursor }): Screen => ({
        columns: 24,
        fitted: false,
        rows,
        title: "",
        cursor: cursor === null ? undefined : [cursor % 4, cursor],
      }),
    );

  test("that is told what is new shows what is meant, wherever it began", async () => {
    await fc.assert(
      fc.asyncProperty(screen, screen, fc.nat(3), async (before, after, kept) => {
        // Rows that are the same are not told again.
        const now = { ...after, rows: after.rows.with(kept, before.rows[kept] ?? []) };
        const terminal = await shown(24, 4, [paint(undefined, before), paint(before, now)]);
        expect(rowsOf(terminal)).toEqual(plain(now));
        if (now.cursor)
          expect([terminal.buffer.active.cursorY, terminal.buffer.active.cursorX]).toEqual(now.cursor);
      }),
      { numRuns: 200 },
    );
  });

  test("has the colours and the weight that the agent gave", async () => {
    const runs: Run[] = [
      { text: "a", fg: "#4796e4" },
      { text: "b", fg: "2", bold: true },
      { text: "c", bg: "9" },
    ];
    const terminal = await shown(10, 1, [
      paint(undefined, { columns: 10, fitted: false, rows: [runs], title: "", cursor: undefined }),
    ]);
    const cell = (at: number) => terminal.buffer.active.getLine(0)?.getCell(at);
    expect(cell(0)?.getFgColor()).toBe(0x4796e4);
    expect([cell(1)?.getFgColor(), cell(1)?.isBold() !== 0]).toEqual([2, true]);
    expect([cell(2)?.getBgColor(), cell(2)?.isBold()]).toEqual([9, 0]);
  });

  test("is steered by nothing that stands in a text", () => {
    const evil = "\x1b]0;mine\x07\x1b[2J\u009b31m";
    const told = paint(undefined, {
      columns: 40,
      fitted: false,
      rows: [[{ text: evil }]],
      title: "",
      cursor: undefined,
    });
    expect(told).toContain(" ]0;mine  [2J 31m");
  });
});

describe("what is typed", () => {
  test.each([
    ["hello", [{ text: "hello" }]],
    ["a\r", [{ text: "a" }, { keys: ["Enter"] }]],
    ["\x1b[A\x1b[A\x1bOB", [{ keys: ["Up", "Up", "Down"] }]],
    ["\x03", [{ keys: ["C-c"] }]],
    ["\x1b", [{ keys: ["Escape"] }]],
    ["\x1b[Z\x7f", [{ keys: ["BTab", "BSpace"] }]],
    ["\x1by", [{ keys: ["M-y"] }]],
    ["日本語", [{ text: "日本語" }]],
    ["constructor", [{ text: "constructor" }]],
    ["\x1b[200;7R", []],
  ])("%j", (typed, pressed) => expect(presses(typed)).toEqual(pressed));

  test("whatever it is, no control character goes out as a text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary-ascii" }), (typed) => {
        const texts = presses(typed).flatMap((press) => ("text" in press ? [...press.text] : []));
        expect(texts.filter((letter) => letter < " " || letter === "\x7f")).toEqual([]);
      }),
      { numRuns: 1000 },
    );
  });
});

describe("a window over a screen", () => {
  const window = { left: 0, top: 100, width: 300, height: 200 };
  const spot = (left: number, top: number) => ({ left, top, width: 20, height: 30 });
  test.each([
    ["stands where it is while the spot is seen", spot(100, 150), { left: 0, top: 100 }],
    ["goes to the right no further than it must", spot(400, 150), { left: 120, top: 100 }],
    ["goes down no further than it must", spot(0, 400), { left: 0, top: 230 }],
    ["goes up to the spot", spot(0, 40), { left: 0, top: 40 }],
  ])("%s", (_, at, where) => expect(brought(window, at)).toEqual(where));

  test("shows a spot, or does not", () => {
    expect(seen(window, spot(10, 299))).toBe(true);
    expect(seen(window, spot(10, 300))).toBe(false);
    expect(seen(window, spot(300, 150))).toBe(false);
  });
});
