// Unit and property tests; those in a browser are in e2e/ and run by themselves.
import { defineConfig } from "vitest/config";

export default defineConfig({
  cacheDir: process.env.POLLUX_WEB_CACHE ?? "node_modules/.vite",
  test: {
    include: ["test/**/*.test.ts"],
    setupFiles: ["test/seed.ts"],
    // On a machine that is busy with something else a test takes ten times as long; what hangs is seen all the same.
    testTimeout: 60_000,
  },
});
