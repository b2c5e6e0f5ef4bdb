// A day in the life of a shop, for screenshots and for tests of the screen.

import type { Block, Job, Letter, Member, Message, Picture, Recorded, Run, Summary } from "../src/api/types";
import type { Player } from "./player";

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

export function summary(id: string, more: Partial<Summary>): Summary {
  return {
    id,
    version: 1,
    driver: "acp",
    cwd: "/home/ada/shop",
    status: "idle",
    mode: "default",
    model: "auto",
    questions: [],
    queue: [],
    held: false,
    seq: 40,
    epoch: 0,
    messages: 12,
    tokens: 184_220,
    created_at: ago(90),
    updated_at: ago(1),
    ...more,
  };
}

let serial = 0;
export function message(role: Message["role"], content: Block[], more: Partial<Message> = {}): Recorded {
  serial += 1;
  const message: Message = {
    id: `m${serial}`,
    role,
    content,
    timestamp: Date.now() - 600_000 + serial * 1000,
    tool: "gemini",
    ...more,
  };
  return { position: serial, seq: serial, message };
}

const said = (text: string): Block => ({ type: "text", text });
const call = (id: string, name: string, input: unknown): Block => ({ type: "tool_use", id, name, input });
const result = (
  id: string,
  content: string,
  status: "success" | "error" | "cancelled" = "success",
): Block => ({
  type: "tool_result",
  tool_use_id: id,
  content,
  is_error: status === "error",
  status,
});

export const DIFF = `--- src/cart.ts
+++ src/cart.ts
@@ -12,4 +12,5 @@
 export function total(cart: Cart): Money {
-  const net = cart.items.reduce((sum, item) => sum + round(item.price * item.count), 0);
-  return round(net * (1 + cart.taxRate));
+  // Rounding belongs to the end: twice is once too often.
+  const net = cart.items.reduce((sum, item) => sum + item.price * item.count, 0);
+  return round(net * (1 + cart.taxRate));
 }
`;

const ANSWER = `The total was rounded **twice**: once for each item, and once after tax. I moved the rounding to the end.

| case | before | now |
|---|---|---|
| 3 × 0.333 | 0.99 | 1.00 |
| 7 × 1.005 | 7.07 | 7.04 |

\`\`\`ts
export function total(cart: Cart): Money {
  const net = cart.items.reduce((sum, item) => sum + item.price * item.count, 0);
  return round(net * (1 + cart.taxRate)); // once
}
\`\`\`

Two things to know:

- \`Cart.taxRate\` may be missing for guests; I left that as it is.
- The tests in [cart.test.ts](https://example.org/cart) now pass.`;

export function conversation(): Recorded[] {
  return [
    message("user", [said("The cart shows 7.07 where the invoice says 7.04. Find out why and fix it.")]),
    message("assistant", [
      {
        type: "thinking",
        thinking: "**Looking for the rounding**\n\nThe cart and the invoice must round at different places.",
      },
      said("I will look at how both compute their totals."),
      call("t1", "Grep", { pattern: "round\\(", path: "src" }),
      result("t1", "Found 5 matches"),
      call("t2", "Read", { file_path: "/home/ada/shop/src/cart.ts" }),
      result("t2", "export function total…"),
      call("t3", "Read", { file_path: "/home/ada/shop/src/invoice.ts" }),
      result("t3", "export function sum…"),
    ]),
    message("assistant", [
      said("Both round, at different places."),
      call("t4", "Edit", {
        file_path: "/home/ada/shop/src/cart.ts",
        old_string:
          "  const net = cart.items.reduce((sum, item) => sum + round(item.price * item.count), 0);\n  return round(net * (1 + cart.taxRate));",
        new_string:
          "  // Rounding belongs to the end: twice is once too often.\n  const net = cart.items.reduce((sum, item) => sum + item.price * item.count, 0);\n  return round(net * (1 + cart.taxRate));",
      }),
      result("t4", "Successfully modified file"),
      call("t5", "Bash", { command: "npm test -- cart", description: "Runs the cart's tests" }),
      result(
        "t5",
        "Output: \n> shop@1.4.0 test\n> vitest run cart\n\n ✓ test/cart.test.ts (9 tests) 41ms\n\n Test Files  1 passed (1)\n      Tests  9 passed (9)\nProcess Group PGID: 4711",
      ),
    ]),
    message("assistant", [said(ANSWER)], {
      model: "gemini-3.1-pro-preview",
      usage: {
        input_tokens: 161_400,
        output_tokens: 1_820,
        total_tokens: 184_220,
        cached_tokens: 120_000,
        thoughts_tokens: 900,
        tool_tokens: 0,
      },
    }),
  ];
}

/** The agent's own screen, as the CLI draws it. */
export function screen(more: Partial<Picture> = {}): Picture {
  const blue = "#4796e4";
  const edge = (ends: string) => [{ text: `${ends[0]}${"─".repeat(78)}${ends[1]}`, fg: blue }];
  const rows: Run[][] = [
    [{ text: " ▝▜▄     Gemini CLI v0.61.0", fg: blue, bold: true }],
    [
      { text: "   ▝▜▄   ", fg: blue },
      { text: "Signed in with a key", dim: true },
    ],
    [],
    [{ text: " > Which scripts are still needed?" }],
    [],
    [
      { text: "✦ ", fg: "#847ace" },
      { text: "Three of five are. " },
      { text: "ci.sh", fg: "3" },
      { text: " calls two of them." },
    ],
    [],
    [{ text: " ✓  ", fg: "2" }, { text: "Shell ", bold: true }, { text: "npm run build" }],
    [],
    edge("╭╮"),
    [{ text: "│", fg: blue }, { text: " >   " }, { text: "Type your message or @path/to/file", dim: true }],
    edge("╰╯"),
    [{ text: " ~/atlas (main*)", fg: "6" }, { text: "       no sandbox       " }, { text: "auto", fg: "5" }],
  ];
  return {
    session_id: "s8",
    whole: true,
    columns: 80,
    fitted: false,
    rows: 24,
    cursor: [10, 4],
    title: "◇  Ready (atlas)",
    lines: rows.map((runs, row) => ({ row, runs })),
    ...more,
  };
}

const member = (session: string, name: string, more: Partial<Member>): Member => ({
  session,
  name,
  profile: name.split("-", 1)[0] ?? name,
  team: "s2",
  depth: 0,
  status: "working",
  mode: "default",
  cwd: "/home/ada/shop",
  tokens: 48_300,
  letters: 0,
  gone: false,
  ...more,
});

/** A supervisor with three who work for it, one of whom has somebody too. */
export function team(player: Player): void {
  const below = (session: string, name: string, more: Partial<Member> = {}) =>
    member(session, name, { parent: "s2", depth: 1, ...more });
  player.members = [
    member("s2", "supervisor-4f1c", { letters: 1 }),
    below("s1", "developer-9a02", { status: "waiting", job: "j1", tokens: 184_220 }),
    below("s9", "reviewer-77be", { parent: "s1", depth: 2, status: "idle", tokens: 12_040, mode: "plan" }),
    below("s3", "developer-c0de", { job: "j2", mode: "yolo", tokens: 902_114 }),
    below("s4", "tester-1d3f", { gone: true, status: "exited", tokens: 33_007 }),
  ];
  const job = (id: string, more: Partial<Job>): Job => ({
    id,
    kind: "handoff",
    caller: "s2",
    worker: "s1",
    name: "developer-9a02",
    profile: "developer",
    prompt: "Find out why the cart and the invoice disagree by three cents, and fix it.",
    state: "waiting",
    created_at: ago(6),
    ...more,
  });
  player.jobs = [
    job("j1", {
      question: { id: "q1", about: "git push --force origin main", options: [["once", "Allow"]] },
    }),
    job("j2", {
      kind: "assign",
      worker: "s3",
      name: "developer-c0de",
      prompt: "Upgrade to Node 24 and make all tests pass.",
      state: "paused",
      why: "It has used 900k of 900k tokens.",
      created_at: ago(41),
    }),
    job("j3", {
      worker: "s4",
      name: "tester-1d3f",
      prompt: "Measure the nightly build and say which step takes longest.",
      state: "done",
      created_at: ago(70),
      ended_at: ago(64),
      result: {
        text: "**`tsc`** takes 4 of 6 minutes. It runs *twice*: once for types, once for the bundle.\n\n- types: 1m 52s\n- bundle: 2m 08s",
        tokens: 33_007,
        changed: ["docs/build.md", "scripts/nightly.sh"],
      },
    }),
    job("j4", {
      worker: "s5",
      name: "developer-03aa",
      prompt: "Write release notes",
      state: "failed",
      why: "quota exhausted",
      created_at: ago(190),
      ended_at: ago(180),
    }),
  ];
  const letter = (id: number, text: string, more: Partial<Letter> = {}): Letter => ({
    id,
    from: "s2",
    text,
    notice: false,
    state: "delivered",
    attempt: 0,
    created_at: ago(90 - id * 20),
    ...more,
  });
  player.letters = [
    letter(1, "[Job j3 of tester-1d3f is done]\n\n`tsc` takes 4 of 6 minutes.", { notice: true, from: "s4" }),
    letter(2, "Shall the upgrade go into this release, or wait for the next one?", { state: "waiting" }),
    letter(3, "The rounding is found. I have asked for a review before it is pushed.", { state: "waiting" }),
  ];
}

export function scene(player: Player): void {
  team(player);
  player.add(
    summary("s1", {
      title: "Fix the rounding in the cart",
      status: "waiting",
      activity: "wants to run git push",
      updated_at: ago(1),
      questions: [
        {
          shown: "h1",
          question: {
            id: "q1",
            kind: "command",
            tool: "run_shell_command",
            tool_id: "t9",
            text: "git push --force origin main && rm -rf build/cache",
            meaning: {
              kind: "command",
              command: "git push --force origin main && rm -rf build/cache",
              derived: {},
            },
            options: [
              { id: "once", label: "Allow once", effect: "allow_once" },
              { id: "always", label: "Always allow git", effect: "allow_always" },
              { id: "no", label: "Deny", effect: "reject_once" },
            ],
          },
        },
      ],
    }),
    conversation(),
  );
  player.add(
    summary("s2", {
      title: "Explain the checkout flow",
      cwd: "/home/ada/atlas",
      status: "working",
      activity: "reading src/checkout.ts",
      updated_at: ago(0.3),
      mode: "plan",
      seq: 64,
    }),
    conversation(),
  );
  player.add(
    summary("s3", {
      title: "Upgrade to Node 24",
      status: "working",
      mode: "yolo",
      mode_until: new Date(Date.now() + 41 * 60_000).toISOString(),
      activity: "npm install",
      updated_at: ago(4),
      stalled_since: ago(2),
    }),
    conversation(),
  );
  player.add(
    summary("s4", {
      title: "Why is the nightly build slow?",
      cwd: "/home/ada/atlas",
      activity: "Done in 2m 14s",
      updated_at: ago(35),
    }),
    conversation(),
  );
  player.add(
    summary("s5", {
      title: "Write release notes",
      cwd: "/home/ada/notes",
      status: "error",
      activity: "quota exhausted",
      updated_at: ago(180),
    }),
    conversation(),
  );
  player.add(
    summary("s8", {
      title: "Tidy the build scripts",
      cwd: "/home/ada/atlas",
      driver: "terminal",
      activity: "Done in 48s",
      updated_at: ago(50),
    }),
    conversation(),
  );
  player.onScreen = () => player.show(screen());
  const { driver: _none, ...plain } = summary("s6", {
    title: "rename the config keys",
    cwd: "/home/ada/shop",
    activity: "All keys renamed",
    updated_at: ago(60 * 26),
  });
  player.add(plain, conversation());
  player.add(
    summary("s7", {
      title: "ترجمة صفحة الدفع",
      cwd: "/home/ada/shop",
      status: "exited",
      activity: "تمت الترجمة",
      updated_at: ago(60 * 50),
    }),
    conversation(),
  );
}

/** Nothing yet: what a newcomer sees. */
export function moments(player: Player): void {
  player.features = player.features.filter((feature) => feature !== "teams");
}

/** A session that wants to change a file. */
export function edits(player: Player): void {
  const question = {
    id: "q2",
    kind: "edit" as const,
    tool: "replace",
    tool_id: "t8",
    text: "src/cart.ts",
    meaning: { kind: "mutation" as const, path: "/home/ada/shop/src/cart.ts", diff: DIFF, derived: {} },
    options: [
      { id: "once", label: "Allow once", effect: "allow_once" as const },
      { id: "always", label: "Allow all edits", effect: "allow_always" as const },
      { id: "no", label: "Deny", effect: "reject_once" as const },
    ],
  };
  player.add(summary("s1", { title: "Fix the rounding in the cart", status: "waiting" }), conversation());
  player.change("s1", { questions: [{ shown: "h2", question }] });
}

/** The model wants to know something, and more than one answer will do. */
export function wonders(player: Player): void {
  const choices = ["[x] Tests", "[ ] Docs", "[ ] Code"];
  const options = choices.map((label) => ({ id: label, label, effect: "other" as const }));
  const words = { id: "own", label: "[ ] Enter a custom value", effect: "words" as const };
  const done = { id: "Done", label: "Done", effect: "other" as const };
  const question = {
    id: "q3",
    kind: "choice" as const,
    text: "Which parts? (Select all that apply)",
    options: [...options, words, done],
  };
  player.change("s1", { questions: [{ shown: "h3", question }] });
}

/** The same session in the middle of a turn, with a prompt that waits. */
export function streams(player: Player): void {
  player.change("s1", { queue: [{ id: "k1", text: "And write a test for guests.", by: "Ada's phone" }] });
  player.emit(
    "s1",
    { type: "turn_started", source: "acp", prompt: "Now the invoice." },
    { type: "text_grew", source: "acp", part: "thinking", text: "**Reading the invoice**\n\nIt sums nets." },
    {
      type: "tool_started",
      source: "acp",
      id: "x1",
      name: "run_shell_command",
      input: { command: "npm test" },
      meaning: { kind: "command", command: "npm test -- invoice", derived: {} },
    },
    { type: "text_grew", source: "acp", part: "text", text: "Half of it is there, and the rest is on its" },
  );
}
