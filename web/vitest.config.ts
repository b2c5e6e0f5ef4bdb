// Unit and property tests; those in a browser are in e2e/ and run by themselves.
import { defineConfig } from "vitest/config";

export default defineConfig({
  cacheDir: process.env.POLLUX_WEB_CACHE ?? "node_modules/.vite",
  test: { include: ["test/**/*.test.ts", "test/**/*.test.tsx"] },
});
