import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Browser, CDPSession, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Event } from "../src/api/types";
import { launch, OUT } from "./browser";
import { message, scene, summary } from "./scene";
import { type Stage, stage, until } from "./stage";

let browser: Browser;
let it: Stage | undefined;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser?.close());
afterEach(async () => {
  await it?.end();
  it = undefined;
});

const told: string[] = [];
afterAll(() => process.stdout.write(`\n${told.join("\n")}\n`));

function firstLoad(): number {
  const page = readFileSync(join(OUT, "index.html"), "utf8");
  const names = [...page.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map(([, name]) => name ?? "");
  expect(names.length).toBeGreaterThan(1);
  return names.reduce(
    (sum, name) => sum + statSync(join(OUT, `${name}.gz`)).size,
    statSync(join(OUT, "index.html")).size,
  );
}

async function metric(cdp: CDPSession, name: string): Promise<number> {
  const { metrics } = await cdp.send("Performance.getMetrics");
  return metrics.find((one) => one.name === name)?.value ?? 0;
}

/** The times between frames while something runs, in ms, by the browser's own clock. */
async function frames(page: Page, during: () => Promise<void>): Promise<number[]> {
  await page.evaluate(() => {
    const times: number[] = [];
    Object.assign(window, { times, stopFrames: false });
    const tick = (now: number) => {
      times.push(now);
      if (!(window as unknown as { stopFrames: boolean }).stopFrames) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  await during();
  const times = await page.evaluate(() => {
    Object.assign(window, { stopFrames: true });
    return (window as unknown as { times: number[] }).times;
  });
  return times.slice(1).map((time, index) => time - (times[index] ?? time));
}

function tenThousand(player: Parameters<typeof scene>[0]): void {
  const messages = Array.from({ length: 10_000 }, (_, n) =>
    message(n % 2 ? "assistant" : "user", [
      {
        type: "text",
        text:
          n % 2
            ? `Answer **${n}** with \`code\`.\n\n- one\n- two\n\n\`\`\`ts\nconst n = ${n};\n\`\`\``
            : `Question ${n}?`,
      },
    ]),
  );
  player.add(summary("s1", { title: "Ten thousand", messages: 10_000 }), messages);
}

describe("speed", () => {
  test("the first load is under 200 KB compressed", () => {
    const bytes = firstLoad();
    const all = readdirSync(join(OUT, "assets")).filter((name) => name.endsWith(".gz"));
    told.push(`first load: ${(bytes / 1024).toFixed(1)} KB compressed (${all.length} packed files in all)`);
    expect(bytes).toBeLessThan(200 * 1024);
  });

  test("the first paint on a slow network and a slow phone is under a second", async () => {
    it = await stage(browser, scene);
    const { page, context, address } = it;
    const cdp = await context.newCDPSession(page);
    await cdp.send("Network.enable");
    // Fast 4G with a quarter of this machine.
    await cdp.send("Network.emulateNetworkConditions", {
      offline: false,
      latency: 60,
      downloadThroughput: 1_100_000,
      uploadThroughput: 190_000,
    });
    await cdp.send("Emulation.setCPUThrottlingRate", { rate: 4 });
    await page.goto(address);
    const paint = () =>
      page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0);
    await until("something is painted", async () => (await paint()) > 0);
    const ms = await paint();
    told.push(`first contentful paint, 4x slower CPU, 9 Mbit/s, 60 ms: ${ms.toFixed(0)} ms`);
    expect(ms).toBeLessThan(1000);
  });

  test("ten thousand messages open in under a second, and 50 chunks a second stream without a dropped second", async () => {
    it = await stage(browser, tenThousand);
    const { page, player, context, address } = it;
    const cdp = await context.newCDPSession(page);
    await cdp.send("Performance.enable");
    await page.goto(address);
    await page.getByText("Ten thousand").waitFor();
    const before = Date.now();
    await page.getByText("Ten thousand").click();
    await page.getByText("Answer 9999").waitFor();
    const opened = Date.now() - before;
    told.push(`10,000 messages: open in ${opened} ms`);
    expect(opened).toBeLessThan(1000);

    player.change("s1", { status: "working" });
    player.emit("s1", { type: "turn_started", source: "acp", prompt: "go" });
    const grew = (text: string): Event => ({ type: "text_grew", source: "acp", part: "text", text });
    const gaps = await frames(page, async () => {
      for (let n = 0; n < 250; n += 1) {
        player.emit("s1", grew(n % 12 === 11 ? `word ${n}\n\n` : `word ${n} `));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    });
    const sorted = gaps.toSorted((a, b) => a - b);
    const p50 = sorted[Math.floor(sorted.length / 2)] ?? 0;
    const p95 = sorted[Math.floor(sorted.length * 0.95)] ?? 0;
    told.push(
      `streaming 50 chunks/s: ${gaps.length} frames, p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms between frames`,
    );
    await page.getByText("word 249").waitFor();
    expect(p50).toBeLessThan(20);

    player.emit("s1", { type: "turn_started", source: "acp", prompt: "flood" });
    // An hour of finished messages in a moment: what is held stays bounded.
    const heap = async () => {
      await cdp.send("HeapProfiler.collectGarbage");
      return metric(cdp, "JSHeapUsedSize");
    };
    const flood = async (count: number) => {
      for (let n = 0; n < count; n += 1) {
        const { message: recorded } = message("assistant", [
          { type: "text", text: `flood ${"x".repeat(400)} ${n}` },
        ]);
        player.emit("s1", { type: "message_recorded", source: "acp", changed: false, message: recorded });
        if (n % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 10));
      }
      await until(
        "all is drawn",
        async () => (await page.locator(".said").last().innerText()).trim().endsWith(` ${count - 1}`),
        30_000,
      );
    };
    await flood(2_000);
    const first = await heap();
    await flood(2_001);
    await flood(2_002);
    const last = await heap();
    told.push(
      `heap after 2,000 and after 6,000 more messages: ${(first / 1e6).toFixed(1)} MB, ${(last / 1e6).toFixed(1)} MB`,
    );
    expect(last).toBeLessThan(first * 1.3);
  }, 120_000);
});
