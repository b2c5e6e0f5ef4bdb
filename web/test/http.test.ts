// Requests to the daemon: how long they are waited for.

import { afterEach, expect, test, vi } from "vitest";
import { api } from "../src/api/http";

afterEach(() => {
  vi.unstubAllGlobals();
});

test("what is read is given up when the network has lost it; what starts something is waited for", async () => {
  const asked: RequestInit[] = [];
  vi.stubGlobal("fetch", (_path: string, init: RequestInit) => {
    asked.push(init);
    return Promise.resolve(new Response("{}"));
  });
  await api.messages("s1", 5);
  await api.shared("tok-en_1");
  await api.begin({ cwd: "/home/ada/shop", driver: "acp" });
  expect(asked.map(({ signal }) => signal instanceof AbortSignal)).toEqual([true, true, false]);
});
