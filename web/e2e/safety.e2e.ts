import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { answerable, DESK, launch, PHONE, shot } from "./browser";
import type { Player } from "./player";
import { message, scene, summary } from "./scene";
import { type Stage, stage } from "./stage";

let browser: Browser;
let it: Stage | undefined;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser?.close());
afterEach(async () => {
  const faults = it?.faults ?? [];
  await it?.end();
  it = undefined;
  expect(faults).toEqual([]);
});

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

/** Everything that the transcript ever draws, from its end to its beginning. */
async function readAll(page: Page): Promise<string[]> {
  const seen = new Set<string>();
  const rows = page.locator(".rows");
  for (;;) {
    await page.waitForTimeout(60);
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
    it = await stage(browser, hostile);
    const { page, address } = it;
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
    const left = await page.evaluate(() => ({
      host: location.host,
      frames: document.querySelectorAll(
        "iframe, object, embed, form:not(.composer), .prose script, .prose style, .prose svg, .prose img, .prose button:not(.copy)",
      ).length,
      links: [...document.querySelectorAll(".prose a")].filter(
        (a) => !/^(https?|mailto):/.test(a.getAttribute("href") ?? "https:"),
      ).length,
    }));
    expect(left).toEqual({ host: new URL(address).host, frames: 0, links: 0 });
    await page
      .getByRole("button", { name: "All sessions" })
      .or(page.getByRole("link", { name: "All sessions" }))
      .click();
    await page.getByText("<img src=x onerror=window.bad=1>").first().waitFor();
  }, 120_000);

  test("an address that names no session shows none, and the app goes on", async () => {
    it = await stage(browser, scene);
    const { page, address } = it;
    for (const id of ["constructor", "__proto__", "toString"]) {
      await page.goto(`${address}/#/s/${id}`);
      await page.getByText("This session is not here").waitFor();
    }
    await page.goto(`${address}/#/`);
    await page.getByText("Why is the nightly build slow?").first().waitFor();
  });

  test("no address chooses the server", async () => {
    it = await stage(browser, scene);
    const { page, address } = it;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).host));
    page.on("websocket", (socket) => asked.push(new URL(socket.url()).host));
    for (const path of [
      "/?server=evil.example",
      "/#//evil.example/s/1",
      "/#/s/..%2f..%2fevil",
      "/#/pair/x@evil.example",
    ]) {
      await page.goto(address + path);
      await page.waitForTimeout(300);
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
  ["/#/new", "May do without asking"],
  ["/#/settings", "Old tablet"],
  ["/#/pair", "Let this device in"],
] as const;

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
    ["desk light", { ...DESK, colorScheme: "light" as const }],
    ["desk dark", { ...DESK, colorScheme: "dark" as const }],
  ])("axe finds no serious fault: %s", async (_name, options) => {
    it = await stage(browser, scene, { ...options, bypassCSP: true });
    const { page, address } = it;
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
    await page.goto("about:blank");
    await page.goto(`${address}/#/shared/tok-en_1`);
    await page.getByText("Two things to know").waitFor();
    expect(await faultsOf(page), "shared").toEqual([]);
  });

  test("by keys alone: a question is answered", async () => {
    it = await stage(browser, scene, DESK);
    const { page, player, address } = it;
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

  test("whoever wants no motion sees none", async () => {
    it = await stage(browser, scene, { ...PHONE, reducedMotion: "reduce" });
    const { page, address } = it;
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
    it = await stage(browser, (player) => {
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
    it = await stage(browser, scene, DESK);
    const { page, address } = it;
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
    it = await stage(browser, scene, { ...PHONE, viewport: { width: 320, height: 640 } });
    const { page, address } = it;
    await page.goto(address);
    await page.getByRole("button", { name: "Close" }).click();
    for (const [path, text] of [...SCREENS, ["/#/shared/tok-en_1", "Two things to know"] as const]) {
      await at(page, address, path, text);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(wide, path).toBeLessThanOrEqual(320);
    }
  });
});
