// The picture in the README: one session of the real CLI, in its terminal at the desk and on a phone.

import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { answerable, launch, open, PHONE, SHOTS, shot } from "./browser";
import { House } from "./house";

const PICTURE = process.env.POLLUX_PICTURE ?? join(SHOTS, "pollux.png");
const SCRIPT = new URL("./picture.toml", import.meta.url).pathname;
const CART = `import { round, type Cart, type Money } from "./money";

/** What a customer pays. */
export function total(cart: Cart): Money {
  const net = cart.items.reduce((sum, item) => sum + round(item.price * item.count), 0);
  return round(net * (1 + cart.taxRate));
}
`;

let browser: Browser;
let house: House;

beforeAll(async () => {
  browser = await launch();
  house = await House.open(SCRIPT);
  mkdirSync(join(house.project, "src"));
  writeFileSync(join(house.project, "src/cart.ts"), CART);
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await house?.close();
});

/** A device that is let in, and looks at the only session. */
async function device(options: object) {
  const context = await browser.newContext({ ...options, colorScheme: "dark", reducedMotion: "reduce" });
  const { page } = await open(context);
  context.setDefaultTimeout(90_000);
  await page.goto(await house.link());
  await page.getByRole("button", { name: "Pair this device" }).click();
  await page.getByRole("button", { name: "Go to sessions" }).click();
  return page;
}

const inline = (name: string) =>
  `data:image/png;base64,${readFileSync(join(SHOTS, `${name}.png`)).toString("base64")}`;

test("phone beside terminal", { timeout: 240_000 }, async () => {
  const phone = await device(PHONE);
  await phone.getByRole("button", { name: "New session" }).click();
  await phone.locator(".segment", { hasText: "terminal" }).click();
  await phone
    .getByRole("textbox", { name: "Prompt" })
    .fill("The cart shows 7.07 where the invoice says 7.04. Find out why and fix it.");
  await phone.getByRole("button", { name: "Start" }).click();
  const sheet = phone.getByRole("dialog", { name: "Make this change?" });
  await sheet.getByText("twice is once too often").first().waitFor();
  await sheet.getByRole("button", { name: "Allow once" }).waitFor();

  const desk = await device({ viewport: { width: 1500, height: 1200 }, deviceScaleFactor: 2 });
  await desk.getByRole("button", { name: "Close" }).click();
  await desk.locator(".row").first().click();
  await desk.getByRole("tab", { name: "Terminal" }).click();
  await desk.locator(".screen").getByText("twice is once too often").first().waitFor();
  // Colours and shapes come with the next frame.
  await desk.locator(".xterm-rows span", { hasText: "Apply this change?" }).first().waitFor();
  await desk.locator(".xterm-screen").screenshot({ path: join(SHOTS, "picture-terminal.png") });
  await answerable(phone).waitFor();
  await shot(phone, "picture-phone");

  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    deviceScaleFactor: 1.25,
  });
  const page = await context.newPage();
  await page.setContent(composed(inline("picture-terminal"), inline("picture-phone")));
  await page.waitForFunction(() => [...document.images].every((image) => image.complete));
  await page.screenshot({ path: PICTURE });
  expect(statSync(PICTURE).size).toBeLessThan(300_000);
});

function composed(terminal: string, phone: string): string {
  return `<!doctype html><style>
    * { box-sizing: border-box; margin: 0 }
    body { height: 800px; background: #dfe6f1; overflow: hidden; position: relative }
    .window, .phone { position: absolute; overflow: hidden; background: #0b0d11; box-shadow: 0 12px 40px #1b2b4a59 }
    .window { left: 36px; top: 28px; width: 900px; height: 742px; border-radius: 12px }
    .bar { height: 34px; display: flex; gap: 8px; align-items: center; padding: 0 14px; background: #1b1f27;
      font: 13px system-ui, sans-serif; color: #9aa3b2 }
    .bar i { width: 12px; height: 12px; border-radius: 50% }
    .bar b { flex: 1; text-align: center; font-weight: 500; margin-right: 52px }
    .window img { width: 100%; padding: 8px 10px; display: block }
    .phone { right: 40px; top: 48px; width: 324px; padding: 9px; border-radius: 44px; background: #05070b }
    .phone img { width: 100%; display: block; border-radius: 36px }
  </style>
  <div class="window"><div class="bar"><i style="background:#ff5f57"></i><i style="background:#febc2e"></i>
    <i style="background:#28c840"></i><b>gemini</b></div><img src="${terminal}"></div>
  <div class="phone"><img src="${phone}"></div>`;
}
