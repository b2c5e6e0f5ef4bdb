// Tests in a real Chromium. They take the built app: `npm run build` comes first.
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  cacheDir: process.env.POLLUX_WEB_CACHE ?? "node_modules/.vite",
  test: {
    include: ["e2e/**/*.e2e.ts"],
    // On a machine that is busy with something else a step takes ten times as long; what hangs is seen all the same.
    testTimeout: 180_000,
    hookTimeout: 120_000,
    // One of the three is the long story with the real CLI. Figures are measured alone (`npm run speed`).
    maxWorkers: 3,
  },
});
