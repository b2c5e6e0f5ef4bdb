// A real Chromium, and pages that fail the test when they break the content security policy or throw.

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from "playwright-core";

export const OUT = process.env.POLLUX_WEB_OUT ?? new URL("../dist", import.meta.url).pathname;
export const SHOTS =
  process.env.POLLUX_WEB_SHOTS ?? new URL("../../target/web/screenshots", import.meta.url).pathname;
mkdirSync(SHOTS, { recursive: true });

export const PHONE = {
  viewport: { width: 390, height: 844 },
  deviceScaleFactor: 2,
  hasTouch: true,
  isMobile: true,
};
export const DESK = { viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1 };

/** A name that leads here, and that no browser trusts without TLS as it trusts `localhost`. */
export const ELSEWHERE = "desk.example";

/** The whole browser, and the same without windows of its own: half the work for each page. */
const WHOLE = process.env.CHROMIUM ?? "/usr/bin/chromium";
const WINDOWLESS = process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell";

/** A browser; a whole one for what shows notifications, and for figures. */
export function launch(kind: "windowless" | "whole" = "windowless"): Promise<Browser> {
  const executablePath = kind === "windowless" && existsSync(WINDOWLESS) ? WINDOWLESS : WHOLE;
  const names = `--host-resolver-rules=MAP ${ELSEWHERE} 127.0.0.1`;
  return chromium.launch({ executablePath, args: ["--no-sandbox", names] });
}

/** What a page did that it must not do. */
export type Faults = string[];

export async function open(context: BrowserContext): Promise<{ page: Page; faults: Faults }> {
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const faults: Faults = [];
  page.on("pageerror", (error) => faults.push(`threw: ${error.message}`));
  page.on("console", (line) => {
    if (line.type() === "error" && /Content Security Policy|Refused to/i.test(line.text()))
      faults.push(line.text());
  });
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      throw new Error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
    });
  });
  return { page, faults };
}

/** The answer to a question, once a tap counts: nothing can be tapped in the first half second. */
export function answerable(page: Page): Locator {
  return page.locator("button:enabled", { hasText: "Allow once" });
}

export async function shot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(SHOTS, `${name}.png`) });
}
