// Text that means no good, and an app that everybody can use: by keys, by ear, on narrow screens, in every direction.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { Question, QuestionKind } from "../src/api/types";
import { answerable, DESK, PHONE, shot } from "./browser";
import type { Player } from "./player";
import { message, scene, summary } from "./scene";
import { stages, still, until } from "./stage";

const begin = stages();

/** Each tries to run, to load or to change something. `bad()` tells of it. */
const HOSTILE: readonly string[] = [
  "<script>window.bad = 1</script>",
  '<img src=x onerror="window.bad = 1">',
  "<svg onload=\"window.bad = 1\"><animate onbegin='window.bad=1' attributeName=x dur=1s></svg>",
  "<svg><script>window.bad = 1</script></svg>",
  "<math><mtext><table><mglyph><style><img src=x onerror=window.bad=1></style></mglyph></table></mtext></math>",
  "[click](javascript:window.bad=1)",
  "[click](data:text/html;base64,PHNjcmlwdD5wYXJlbnQuYmFkPTE8L3NjcmlwdD4=)",
  '<a href="vbscript:bad">x</a><a href=" javascript:window.bad=1">y</a>',
  '<iframe src="javascript:parent.bad=1"></iframe><iframe srcdoc="<script>parent.bad=1</script>"></iframe>',
  '<object data="data:text/html,<script>parent.bad=1</script>"></object><embed src="data:text/html,x">',
  '<form action="https://evil.example"><input name=a><button>go</button></form>',
  '<style>body{display:none}</style><link rel=stylesheet href="https://evil.example/x.css">',
  '<div style="position:fixed;inset:0;background:red">over everything</div>',
  '<base href="https://evil.example/"><meta http-equiv="refresh" content="0;url=https://evil.example">',
  "![tracker](https://evil.example/pixel.png) ![inline](data:image/svg+xml;base64,PHN2Zy8+)",
  '<details open ontoggle="window.bad=1"><summary>x</summary></details>',
  '<div id="app">clobber</div><form id="location"><input name="host"></form>',
  '<button class="primary" onclick="window.bad=1">Allow once</button>',
  '```"><img src=x onerror=window.bad=1>\ncode</code></pre><img src=x onerror=window.bad=1>\n```',
  "`<img src=x onerror=window.bad=1>`",
  '<noscript><p title="</noscript><img src=x onerror=window.bad=1>"></noscript>',
  `| ${Array.from({ length: 300 }, (_, n) => `c${n}`).join(" | ")} |\n|${"---|".repeat(300)}\n${`|${" x |".repeat(300)}\n`.repeat(40)}`,
  `${"> ".repeat(3000)}deep`,
  `${"*a_".repeat(5000)}`,
  `${"[".repeat(20000)}`,
];

function hostile(player: Player): void {
  const said = HOSTILE.map((text, n) =>
    message("assistant", [{ type: "text", text: `case ${n}\n\n${text}` }]),
  );
  const tool = message("assistant", [
    {
      type: "tool_use",
      id: "x",
      name: "<img src=x onerror=window.bad=1>",
      input: { path: '"><script>window.bad=1</script>' },
    },
    {
      type: "tool_result",
      tool_use_id: "x",
      content: "<script>window.bad=1</script>\u001b[31mred\u001b]0;title\u0007",
      is_error: false,
      status: "success",
    },
  ]);
  player.add(
    summary("s1", { title: "<img src=x onerror=window.bad=1>", activity: "<svg onload=window.bad=1>" }),
    [message("user", [{ type: "text", text: "<script>window.bad=1</script>" }]), ...said, tool],
  );
}

const MEGABYTE = 1 << 20;
const row = (cells: number) => `|${" cell |".repeat(cells)}\n`;

const points = (count: number) => Array.from({ length: count }, (_, n) => `${n}. point **${n}**`).join("\n");
const levels = (count: number) =>
  Array.from({ length: count }, (_, n) => `${"  ".repeat(n)}- level ${n}`).join("\n");

/** Each would take long to lay out, to highlight or to walk through; some are as large as what is laid out may be. */
const LARGE: readonly string[] = [
  `${row(4)}|${"---|".repeat(4)}\n${row(4).repeat(900)}`,
  points(900),
  levels(29),
  "[x](https://example.org) ".repeat(1_900),
  `${row(8)}|${"---|".repeat(8)}\n${row(8).repeat(3_000)}`,
  `${row(900)}|${"---|".repeat(900)}\n${row(900).repeat(25)}`,
  levels(300),
  points(4_000),
  "x".repeat(190_000),
  "word ".repeat(51_000),
  `\`\`\`ts\n${"const price = cart.items[0]?.price ?? (tax + 1) * 3; // round\n".repeat(3_000)}\`\`\``,
  `\`\`\`json\n[${'{"price":1.05,"name":"x"},'.repeat(7_000)}0]\n\`\`\``,
  "**_`".repeat(15_000),
];

function large(player: Player): void {
  const line = "x".repeat(MEGABYTE);
  const call = message("assistant", [
    { type: "tool_use", id: "x1", name: "Bash", input: { command: "cat one-line.json" } },
    {
      type: "tool_result",
      tool_use_id: "x1",
      content: line.slice(0, 4096),
      is_error: false,
      status: "success",
    },
    {
      type: "tool_use",
      id: "x2",
      name: "Write",
      input: { file_path: "/home/ada/shop/cart\u202ets.exe", content: "x" },
    },
    { type: "tool_result", tool_use_id: "x2", content: line, is_error: false, status: "success" },
  ]);
  player.whole.set(`tools ${call.seq} /message/content/1/content`, line);
  player.add(summary("tools", { title: "invoice\u202egnp.exe\u0007", branch: "ma\u202ein" }), [
    { ...call, cut: [["/content/1/content", MEGABYTE]] },
  ]);
  for (const [n, text] of LARGE.entries())
    player.add(summary(`s${n}`, { title: `Large ${n}` }), [
      message("assistant", [{ type: "text", text: `case ${n}\n\n${text}` }]),
    ]);
}

/** What is drawn of a text at this time, and must not be. */
function badIn(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const made = document.querySelectorAll(
      "iframe, object, embed, form:not(.composer), .prose script, .prose style, .prose svg:not(.copy svg), .prose img, .prose button:not(.copy)",
    );
    const links = [...document.querySelectorAll(".prose a")].filter(
      (a) => !/^(https?|mailto):/.test(a.getAttribute("href") ?? "https:"),
    );
    return [...made, ...links].map(({ outerHTML }) => outerHTML.slice(0, 200));
  });
}

/** Everything that the transcript ever draws, from its end to its beginning. Only what is near is drawn at one time. */
async function readAll(page: Page): Promise<string[]> {
  const seen = new Set<string>();
  const rows = page.locator(".rows");
  for (;;) {
    await still(page);
    expect(await badIn(page)).toEqual([]);
    for (const text of await page.locator(".said").allInnerTexts())
      seen.add(/^case \d+/.exec(text)?.[0] ?? "");
    const ended = await rows.evaluate((element) => {
      const before = element.scrollTop;
      element.scrollBy(0, -element.clientHeight * 0.8);
      return before <= 0;
    });
    if (ended) return [...seen];
  }
}

describe("text that means no good", () => {
  test("runs nothing, loads nothing, sends nothing and covers nothing", async () => {
    const { page, address } = await begin(hostile);
    const asked: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(address) && !request.url().startsWith("data:")) asked.push(request.url());
    });
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("case 24").waitFor({ timeout: 30_000 });
    const seen = await readAll(page);
    for (const n of HOSTILE.keys()) expect(seen).toContain(`case ${n}`);
    expect(await page.evaluate(() => (window as { bad?: number }).bad)).toBeUndefined();
    expect(asked).toEqual([]);
    expect(new URL(page.url()).host).toBe(new URL(address).host);
    await page
      .getByRole("button", { name: "All sessions" })
      .or(page.getByRole("link", { name: "All sessions" }))
      .click();
    await page.getByText("<img src=x onerror=window.bad=1>").first().waitFor();
  }, 120_000);

  test("what is very large or very deep holds up nothing for a second", async () => {
    const { page, context, address } = await begin(large);
    const cdp = await context.newCDPSession(page);
    // What the page itself works, and not what others on this machine do meanwhile.
    await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
    const worked = async () => {
      const { metrics } = await cdp.send("Performance.getMetrics");
      return Math.round((metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0) * 1000);
    };
    await page.goto(address);
    await page.getByText("invoice gnp.exe").first().waitFor();
    const held: Record<string, number> = {};
    let before = await worked();
    const note = async (what: string) => {
      const now = await worked();
      held[what] = now - before;
      before = now;
    };
    for (const n of LARGE.keys()) {
      await page.goto(`${address}/#/s/s${n}`);
      await page
        .getByText(`case ${n}`, { exact: true })
        .or(page.getByText(`case ${n}\n`))
        .first()
        .waitFor();
      await note(`case ${n}`);
    }
    await page.goto(`${address}/#/s/tools`);
    await page.locator(".card", { hasText: "cart⟨U+202E⟩ts.exe" }).waitFor();
    await page.locator(".card", { hasText: "cat one-line.json" }).click();
    const shown = page.locator(".tool-output .output");
    await shown.waitFor();
    await note("a long output's end");
    await page.getByRole("button", { name: /Show all/ }).click();
    const length = () => shown.evaluate((output) => output.textContent?.length);
    await until("all of it is there", async () => (await length()) === MEGABYTE);
    await note("all of a long output");
    await page.getByRole("button", { name: "Close" }).click();
    expect(Math.max(...Object.values(held)), JSON.stringify(held)).toBeLessThan(1000);
  }, 120_000);

  const asked = (kind: QuestionKind, text: string, more: Partial<Question> = {}) => ({
    shown: `h-${kind}`,
    question: {
      id: `q-${kind}`,
      kind,
      text,
      options: [
        { id: "ok", label: "Allow", effect: "allow_once" as const },
        { id: "all", label: "Always\u202e", effect: "allow_always" as const },
      ],
      ...more,
    },
  });

  test("a question that is no prose is shown sign by sign: no link hides where it leads, nothing is left out", async () => {
    const { page, player, address } = await begin(scene);
    const text = "[https://good.example](https://evil.example/\u200b)\n\n[//]: # (and delete all)\n*now*";
    player.change("s1", { questions: [asked("fetch", text)] });
    await page.goto(address);
    const sheet = page.getByRole("dialog", { name: "Fetch this URL?" });
    await sheet.waitFor();
    expect(await sheet.locator(".question-text").innerText()).toBe(text.replace("\u200b", "⟨U+200B⟩"));
    expect(await sheet.getByRole("link").count()).toBe(0);
    await sheet.getByRole("button", { name: "More ways to allow" }).click();
    await sheet.getByRole("button", { name: "Always⟨U+202E⟩" }).waitFor();
  });

  test("a plan is laid out, and nothing in it turns what is read", async () => {
    const { page, player, address } = await begin(scene);
    player.change("s1", { questions: [asked("plan", "## Steps\n\nfirst \u202eno")] });
    await page.goto(address);
    const sheet = page.getByRole("dialog", { name: "Go ahead with this plan?" });
    await sheet.getByRole("heading", { name: "Steps" }).waitFor();
    await sheet.getByText("first ⟨U+202E⟩no").waitFor();
  });

  test("the sheet of a call has every sign in it that nobody would see, in its command and in its input", async () => {
    const call = (id: string, name: string, input: object) =>
      ({ type: "tool_use", id, name, input: input as never }) as const;
    const { page, address } = await begin((player) =>
      player.add(summary("s1", { title: "Calls" }), [
        message("assistant", [
          call("c1", "Bash", { command: "ls \u202e/ fr- mr #" }),
          call("c2", "mcp__desk__post", { title: "A note", note: "first \u202eno" }),
        ]),
      ]),
    );
    await page.goto(`${address}/#/s/s1`);
    for (const [card, shown] of [
      ["ls", "ls ⟨U+202E⟩/ fr- mr #"],
      ["A note", "first ⟨U+202E⟩no"],
    ] as const) {
      await page.locator(".card", { hasText: card }).click();
      await page.getByRole("dialog").locator("pre", { hasText: shown }).waitFor();
      await page.getByRole("button", { name: "Close" }).click();
    }
  });

  test("the name of a file in a diff has every sign in it that nobody would see", async () => {
    const { page, player, address } = await begin(scene);
    const diff = "--- cart\u202ets.exe\n+++ cart\u202ets.exe\n@@ -1 +1 @@\n-a\n+b\n";
    const meaning = { kind: "mutation" as const, path: "cart.ts", diff, derived: {} };
    player.change("s1", { questions: [asked("edit", "cart.ts", { meaning })] });
    await page.goto(address);
    await page.getByText("cart⟨U+202E⟩ts.exe").waitFor();
  });

  test("an address that names no session shows none, and the app goes on", async () => {
    const { page, address } = await begin(scene);
    for (const id of ["constructor", "__proto__", "toString"]) {
      await page.goto(`${address}/#/s/${id}`);
      await page.getByText("This session is not available").waitFor();
    }
    await page.goto(`${address}/#/`);
    await page.getByText("Why is the nightly build slow?").first().waitFor();
  });

  test("no address chooses the server", async () => {
    const { page, address } = await begin(scene);
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).host));
    page.on("websocket", (socket) => asked.push(new URL(socket.url()).host));
    for (const [path, words] of [
      ["/?server=evil.example", "Why is the nightly build slow?"],
      ["/#//evil.example/s/1", "Why is the nightly build slow?"],
      ["/#/s/..%2f..%2fevil", "This session is not available"],
      ["/#/pair/x@evil.example", "Pair this device with Pollux"],
    ] as const) {
      // Each from its beginning: what an address asks for is asked for while the app starts, or never.
      await page.goto("about:blank");
      await page.goto(address + path);
      await page.getByText(words).first().waitFor();
    }
    expect([...new Set(asked)]).toEqual([new URL(address).host]);
  });
});

/** Every screen, and words that stand there when all is drawn. The page is not loaded anew: a question that was put off stays so. */
const SCREENS = [
  ["/#/", "Why is the nightly build slow?"],
  ["/#/s/s1", "Two things to know"],
  ["/#/s/s3", "Two things to know"],
  ["/#/s/s7", "Two things to know"],
  ["/#/s/s8", "Two things to know"],
  ["/#/team", "reviewer-77be"],
  ["/#/team/jobs", "Measure the nightly build"],
  ["/#/team/letters", "Shall the upgrade go"],
  ["/#/new", "Permissions"],
  ["/#/settings", "Old tablet"],
  ["/#/pair", "Pair this device with Pollux"],
] as const;

/** What comes up over them: where, by which buttons, and words that stand there. */
const SHEETS: readonly (readonly [string, readonly RegExp[], string])[] = [
  ["/#/s/s2", [/^Mode /], "Does everything without asking"],
  ["/#/s/s2", [/^Model /], "For hard thinking"],
  ["/#/s/s2", [/^More$/], "Copy session ID"],
  ["/#/s/s2", [/^More$/, /^Share read-only link/], "Link expires after"],
  ["/#/s/s2", [/^Ran npm test/], "9 passed"],
  ["/#/team", [/^Launch an agent$/], "Splits work"],
  ["/#/team/jobs", [/Measure the nightly build/], "docs/build.md"],
  ["/#/team/letters", [/The rounding is found/], "asked for a review"],
  ["/#/new", [/^Browse$/], "shop"],
];

async function at(page: Page, address: string, path: string, text: string): Promise<void> {
  await page.goto(address + path);
  await page.locator(".main, .home, .door, .shared").getByText(text).last().waitFor();
  if (path !== "/#/s/s8") return;
  await page.getByRole("tab", { name: "Terminal" }).click();
  await page.locator(".xterm-rows span", { hasText: "Three of five are." }).waitFor();
}

describe("for everybody", () => {
  const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

  async function faultsOf(page: Page): Promise<string[]> {
    return page.evaluate(async () => {
      const { axe: engine } = window as unknown as {
        axe: {
          run: (options: object) => Promise<{
            violations: {
              id: string;
              impact: string;
              nodes: { target: string[]; failureSummary: string }[];
            }[];
          }>;
        };
      };
      const { violations } = await engine.run({ resultTypes: ["violations"] });
      return violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .flatMap(({ id, nodes }) =>
          nodes
            .slice(0, 3)
            .map(({ target, failureSummary }) => `${id}: ${target.join(" ")} ${failureSummary}`),
        );
    });
  }

  test.each([
    ["phone light", { ...PHONE, colorScheme: "light" as const }],
    ["phone dark", { ...PHONE, colorScheme: "dark" as const }],
    ["narrow light", { ...PHONE, viewport: { width: 320, height: 640 }, colorScheme: "light" as const }],
    ["narrow dark", { ...PHONE, viewport: { width: 320, height: 640 }, colorScheme: "dark" as const }],
    ["desk light", { ...DESK, colorScheme: "light" as const }],
    ["desk dark", { ...DESK, colorScheme: "dark" as const }],
  ])("axe finds no serious fault: %s", async (_name, options) => {
    const { page, address } = await begin(scene, { ...options, bypassCSP: true });
    await page.addInitScript(axe);
    await page.emulateMedia({ reducedMotion: "reduce" });
    await page.goto(address);
    await answerable(page).waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.getByRole("button", { name: "Close" }).click();
    for (const [path, text] of SCREENS) {
      await at(page, address, path, text);
      if (path === "/#/s/s1") await page.getByRole("textbox", { name: "Prompt" }).fill("@ca");
      if (path === "/#/s/s1") await page.getByRole("option").first().waitFor();
      expect.soft(await faultsOf(page), path).toEqual([]);
    }
    // From the door one comes to a page that has put off no question yet.
    await page.goto(`${address}/#/s/s2`);
    await answerable(page).waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    for (const [path, ways, text] of SHEETS) {
      await page.goto(`${address}${path}`);
      for (const way of ways) await page.getByRole("button", { name: way }).first().click();
      await page.getByRole("dialog").getByText(text).first().waitFor();
      expect.soft(await faultsOf(page), `${path} ${ways}`).toEqual([]);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
    await page.goto("about:blank");
    await page.goto(`${address}/#/shared/tok-en_1`);
    await page.getByText("Two things to know").waitFor();
    expect(await faultsOf(page), "shared").toEqual([]);
  });

  test("by keys alone: a question is answered", async () => {
    const { page, player, address } = await begin(scene, DESK);
    await page.goto(address);
    await answerable(page).waitFor();
    for (let n = 0; n < 10; n += 1) {
      await page.keyboard.press("Tab");
      if ((await page.evaluate(() => document.activeElement?.textContent)) === "Deny") break;
    }
    await page.keyboard.press("Enter");
    await page.getByText("Sent. Waiting for the agent.").waitFor();
    expect(player.heard.at(-1)).toMatchObject({ type: "command", command: { choice: "no" } });
  });

  test("by keys alone: a session is found, written to, and left again", async () => {
    const { page, player, address } = await begin(scene, { ...DESK, reducedMotion: "reduce" });
    await page.goto(address);
    await answerable(page).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const here = () =>
      page.evaluate(() => {
        const at = document.activeElement;
        return `${at?.getAttribute("aria-label") ?? ""} ${at?.textContent ?? ""}`.trim();
      });
    const tabTo = async (words: RegExp) => {
      for (let n = 0; n < 60; n += 1) {
        await page.keyboard.press("Tab");
        if (words.test(await here())) return;
      }
      throw new Error(`no key leads to ${words}: it ends at ${await here()}`);
    };
    await tabTo(/^Search sessions/);
    await tabTo(/Explain the checkout flow/);
    await page.keyboard.press("Enter");
    await page.getByText("Two things to know").waitFor();
    await tabTo(/^Prompt/);
    await page.keyboard.type("Go on");
    await page.keyboard.press("Enter");
    await until("it was sent", () => player.heard.some((frame) => frame.type === "command"));
    // A sheet takes the focus, keeps it, and gives it back to what opened it.
    await tabTo(/^Mode /);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Permissions" }).waitFor();
    const inside = () =>
      page.evaluate(
        () => document.activeElement === document.body || document.activeElement?.closest("dialog") !== null,
      );
    for (let n = 0; n < 12; n += 1) {
      await page.keyboard.press("Tab");
      expect(await inside()).toBe(true);
    }
    // After the last stop the focus is the browser's own for one key: the sheet is left with the focus in it.
    await tabTo(/^Close/);
    await page.evaluate(() => {
      const seen = window as { given?: Promise<string> };
      seen.given = new Promise((done) => {
        const look = new MutationObserver(() => {
          if (document.querySelector("dialog")) return;
          look.disconnect();
          done(document.activeElement?.textContent ?? "");
        });
        look.observe(document.body, { childList: true, subtree: true });
      });
    });
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    // At once: a key that is pressed in the moment in which the sheet goes is not lost.
    expect(await page.evaluate(() => (window as { given?: Promise<string> }).given)).toMatch(/^Mode /);
  });

  test("whoever wants no motion sees none", async () => {
    const { page, address } = await begin(scene, { ...PHONE, reducedMotion: "reduce" });
    const moving = () =>
      page.evaluate(() => document.getAnimations().filter(({ playState }) => playState === "running").length);
    await page.goto(address);
    await page.getByRole("dialog").waitFor();
    expect(await moving()).toBe(0);
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByText("Working", { exact: true }).last().waitFor();
    expect(await moving()).toBe(0);
  });

  test("text from right to left runs from right to left, in a page that does not", async () => {
    const it = await begin((player) => {
      player.add(summary("s1", { title: "ترجمة صفحة الدفع" }), [
        message("user", [{ type: "text", text: "ترجم هذه الصفحة" }]),
        message("assistant", [{ type: "text", text: "تمت الترجمة.\n\n- واحد\n\nAnd one line in English." }]),
      ]);
    });
    const { page, address } = it;
    await page.goto(`${address}/#/s/s1`);
    await page.getByText("تمت الترجمة.").waitFor();
    const way = (text: string) =>
      page
        .getByText(text)
        .first()
        .evaluate((element) => getComputedStyle(element).direction);
    expect(await way("ترجم هذه الصفحة")).toBe("rtl");
    expect(await way("تمت الترجمة.")).toBe("rtl");
    expect(await way("And one line in English.")).toBe("ltr");
    await shot(page, "phone-light-rtl");
  });

  test("a desk has two panes, a phone one", async () => {
    const { page, address } = await begin(scene, DESK);
    await page.goto(`${address}/#/s/s2`);
    await page.getByRole("button", { name: "Close" }).click();
    const panes = async () => [
      await page.locator(".pane.side").isVisible(),
      await page.locator(".session").isVisible(),
    ];
    expect(await panes()).toEqual([true, true]);
    await page.setViewportSize({ width: 600, height: 800 });
    expect(await panes()).toEqual([false, true]);
  });

  test("nothing is wider than the narrowest phone", async () => {
    const { page, address } = await begin(scene, { ...PHONE, viewport: { width: 320, height: 640 } });
    await page.goto(address);
    await page.getByRole("button", { name: "Close" }).click();
    for (const [path, text] of [...SCREENS, ["/#/shared/tok-en_1", "Two things to know"] as const]) {
      await at(page, address, path, text);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(wide, path).toBeLessThanOrEqual(320);
    }
  });

  test("at the largest letters on the narrowest phone every button is whole, and no words are over others", async () => {
    const { page, address } = await begin(scene, { ...PHONE, viewport: { width: 320, height: 640 } });
    await page.addInitScript(() => localStorage.setItem("pollux.settings", '{"text":"huge"}'));
    const outside = () =>
      page.locator("button:visible, a.round:visible").evaluateAll((all) =>
        all.flatMap((one) => {
          const { left, right } = one.getBoundingClientRect();
          return left < 0 || right > 320 ? [one.getAttribute("aria-label") ?? one.textContent] : [];
        }),
      );
    await page.goto(address);
    await answerable(page).waitFor();
    await shot(page, "narrow-huge-question");
    expect(await outside()).toEqual([]);
    await page.getByRole("button", { name: "Close" }).click();
    await shot(page, "narrow-huge-inbox");
    const gap = await page.locator(".inbox > .bar").evaluate((bar) => {
      const words = document.createRange();
      words.selectNodeContents(bar.querySelector("h1") ?? bar);
      const next = bar.querySelector(".instep") ?? bar;
      return next.getBoundingClientRect().left - words.getBoundingClientRect().right;
    });
    expect(gap).toBeGreaterThanOrEqual(0);
    await page.goto(`${address}/#/s/s1`);
    await page.getByRole("textbox", { name: "Prompt" }).fill("One more thing");
    await page.getByRole("button", { name: "Stop and send" }).waitFor();
    await shot(page, "narrow-huge-composer");
    expect(await outside()).toEqual([]);
  });

  test("on a phone that lies on its side, whoever allows something has come past all of it", async () => {
    const { page, address } = await begin(scene, { ...PHONE, viewport: { width: 667, height: 320 } });
    await page.goto(address);
    await answerable(page).waitFor();
    await shot(page, "side-question");
    const place = await page.getByRole("dialog").evaluate((dialog) => {
      const command = dialog.querySelector(".will-run");
      const allow = dialog.querySelector(".answers .primary");
      if (!command || !allow) throw new Error("not there");
      const { top, bottom, height } = command.getBoundingClientRect();
      return { top, bottom, height, inside: command.scrollHeight, allow: allow.getBoundingClientRect().top };
    });
    expect(place.top).toBeLessThan(320);
    expect(place.height).toBeGreaterThanOrEqual(place.inside);
    expect(place.allow).toBeGreaterThanOrEqual(place.bottom);
    await answerable(page).tap();
    await page.getByText("Sent. Waiting for the agent.").waitFor();
  });

  test("a list that is longer than the screen is scrolled, and none of it is cut", async () => {
    const { page, player, address } = await begin(scene);
    const [job] = player.jobs;
    if (!job) throw new Error("the scene has no job");
    player.jobs = Array.from({ length: 40 }, (_, n) => ({
      ...job,
      id: `j${n}`,
      prompt: `Piece of work ${n}`,
    }));
    await page.goto(`${address}/#/team/jobs`);
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByText("Piece of work 39").waitFor({ state: "attached" });
    const list = await page
      .locator("ul.jobs")
      .evaluate((ul) => ({ is: ul.clientHeight, whole: ul.scrollHeight }));
    expect(list.is).toBe(list.whole);
    await page.getByText("Piece of work 0", { exact: true }).scrollIntoViewIfNeeded();
    await page.getByText("Piece of work 0", { exact: true }).click();
    await page.getByRole("dialog").waitFor();
  });
});
