// What is shown of words that others wrote: diffs, titles, paths; and what is said of calls.

import { parsePatch } from "diff";
import { describe, expect, test } from "vitest";
import { whyNot } from "../src/state/calls";
import { recounted } from "../src/state/patch";
import { objectOf, verbOf } from "../src/state/tools";
import { placeOf, titleOf } from "../src/state/words";

describe("a diff whose numbers are not true", () => {
  const body = [" same", "-old", "+new", "+more", " end"];
  const wrong = ["--- a.ts", "+++ a.ts", "@@ -12,9 +12,10 @@ total()", ...body, ""].join("\n");

  test("is counted anew, and keeps where it begins and what stands behind it", () => {
    expect(recounted(wrong)).toBe(wrong.replace("-12,9 +12,10", "-12,3 +12,4"));
    expect(parsePatch(recounted(wrong))[0]?.hunks[0]?.lines).toEqual(body);
  });

  test("ends where the next file begins, and not at a line that looks like a name", () => {
    const two = `${wrong}--- b.ts\n+++ b.ts\n@@ -1,7 +1 @@\n--- not a name\n+++ nor this\n`;
    const files = parsePatch(recounted(two));
    expect(files.map(({ newFileName }) => newFileName)).toEqual(["a.ts", "b.ts"]);
    expect(files[1]?.hunks[0]?.lines).toEqual(["--- not a name", "+++ nor this"]);
  });

  test("a right one stays as it is", () => {
    const right = recounted(wrong);
    expect(recounted(right)).toBe(right);
  });
});

describe("signs that nobody sees", () => {
  test("are left out of titles and named in paths, names of tools and branches", () => {
    expect(titleOf({ title: "invoice\u202egnp.exe\u0007\n done" })).toBe("invoice gnp.exe done");
    expect(titleOf({ title: "\u202e" })).toBe("Untitled");
    expect(titleOf({ title: "👩\u200d💻 می\u200cخواهم" })).toBe("👩\u200d💻 می\u200cخواهم");
    expect(objectOf({ file_path: "cart\u202ets.exe" }, undefined)).toBe("cart⟨U+202E⟩ts.exe");
    expect(verbOf("mcp__x__do\u2066_it", "success")).toBe("do⟨U+2066⟩ it");
    const place = { cwd: "/home/ada/sh\u202eop", branch: "ma\u0000in" } as Parameters<typeof placeOf>[0];
    expect(placeOf(place)).toBe("sh⟨U+202E⟩op @ ma⟨U+0000⟩in");
  });

  test("what is very long is cut before it is drawn", () => {
    expect(titleOf({ title: "x".repeat(1_000_000) }).length).toBeLessThan(400);
    expect(objectOf({ command: "x".repeat(1_000_000) }, undefined).length).toBeLessThan(600);
  });
});

describe("whether a device can be called", () => {
  const all = { secure: true, worker: true, push: true, apple: false };
  test.each([
    ["without TLS", { secure: false, worker: false }, "without TLS"],
    ["with a certificate that nobody trusts", { worker: false }, "does not trust the certificate"],
    ["on an iPhone that has not installed it", { push: false, apple: true }, "home screen"],
    ["in a browser without it", { push: false }, "does not support Web Push"],
  ])("%s it is said why not", (_when, less, why) => {
    expect(whyNot({ ...all, ...less })).toContain(why);
  });

  test("otherwise it can", () => {
    expect(whyNot(all)).toBeUndefined();
  });
});
