// How the app is built: one page, one service worker, everything else in hashed files under assets/.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

// The program's build script says where to: nothing is written into the source tree then.
const out = process.env.POLLUX_WEB_OUT ?? "dist";

/** Files are packed once, here, and not for each phone that asks. */
function packed(): Plugin {
  return {
    name: "packed",
    apply: "build",
    writeBundle({ dir }, files) {
      for (const name of Object.keys(files)) {
        const path = join(dir ?? out, name);
        const bytes = readFileSync(path);
        if (/\.(js|css|html)$/.test(name) && bytes.length > 1000) {
          writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
        }
      }
    },
  };
}

export default defineConfig({
  plugins: [packed()],
  cacheDir: process.env.POLLUX_WEB_CACHE ?? "node_modules/.vite",
  resolve: {
    alias: {
      "react/jsx-runtime": "preact/jsx-runtime",
      react: "preact/compat",
      "react-dom": "preact/compat",
    },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  worker: { format: "es" },
  build: {
    outDir: out,
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    rollupOptions: {
      input: { index: "index.html", sw: "src/sw.ts" },
      output: {
        entryFileNames: (chunk) => (chunk.name === "sw" ? "sw.js" : "assets/[name]-[hash].js"),
      },
    },
  },
  server: {
    // POLLUX=http://127.0.0.1:PORT npm run dev
    // beside a daemon that lets this page in: pollux serve --behind-proxy http://localhost:5173
    proxy: process.env.POLLUX ? { "/api": { target: process.env.POLLUX, ws: true } } : {},
  },
});
