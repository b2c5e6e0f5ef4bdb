// A day in the life of a shop, for screenshots and for tests of the screen.

import type { Block, Message, Recorded, Summary } from "../src/api/types";
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
@@ -12,9 +12,10 @@
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

export function scene(player: Player): void {
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
