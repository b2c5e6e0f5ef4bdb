/// <reference lib="webworker" />
// Colours for code, in a thread of its own that begins when the first code is seen. The highlighter gives names of colours and no
// styles: the page allows no inline style.

import { createCssVariablesTheme, createHighlighterCore, type HighlighterCore } from "shiki/core";
import { createJavaScriptRegexEngine } from "shiki/engine/javascript";

export type Line = readonly { text: string; kind: string | undefined }[];
/** A piece of code, and the number under which its colours are told. */
export type Ask = { id: number; text: string; lang: string };
/** The colours of a piece of code; none where its language is unknown. */
export type Told = { id: number; lines: readonly Line[] | undefined };

const worker = globalThis as unknown as DedicatedWorkerGlobalScope;

const LANGS: Readonly<Record<string, () => Promise<unknown>>> = {
  bash: () => import("shiki/langs/bash.mjs"),
  c: () => import("shiki/langs/c.mjs"),
  css: () => import("shiki/langs/css.mjs"),
  diff: () => import("shiki/langs/diff.mjs"),
  go: () => import("shiki/langs/go.mjs"),
  html: () => import("shiki/langs/html.mjs"),
  java: () => import("shiki/langs/java.mjs"),
  javascript: () => import("shiki/langs/javascript.mjs"),
  json: () => import("shiki/langs/json.mjs"),
  markdown: () => import("shiki/langs/markdown.mjs"),
  python: () => import("shiki/langs/python.mjs"),
  rust: () => import("shiki/langs/rust.mjs"),
  sql: () => import("shiki/langs/sql.mjs"),
  toml: () => import("shiki/langs/toml.mjs"),
  tsx: () => import("shiki/langs/tsx.mjs"),
  typescript: () => import("shiki/langs/typescript.mjs"),
  yaml: () => import("shiki/langs/yaml.mjs"),
};

const SHORT: Readonly<Record<string, string>> = {
  sh: "bash",
  shell: "bash",
  console: "bash",
  zsh: "bash",
  js: "javascript",
  jsx: "tsx",
  ts: "typescript",
  py: "python",
  rs: "rust",
  yml: "yaml",
  md: "markdown",
  h: "c",
  patch: "diff",
};

let loading: Promise<HighlighterCore> | undefined;

async function load(): Promise<HighlighterCore> {
  loading ??= createHighlighterCore({
    themes: [createCssVariablesTheme({ name: "pollux", variablePrefix: "--tk-" })],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
  return loading;
}

async function highlight(text: string, lang: string): Promise<readonly Line[] | undefined> {
  const name = (Object.hasOwn(SHORT, lang) ? SHORT[lang] : undefined) ?? lang;
  const grammar = Object.hasOwn(LANGS, name) ? LANGS[name] : undefined;
  if (!grammar) return undefined;
  const highlighter = await load();
  await highlighter.loadLanguage(grammar() as never);
  const { tokens } = highlighter.codeToTokens(text, { lang: name, theme: "pollux" });
  return tokens.map((line) => line.map(({ content, color }) => ({ text: content, kind: kindOf(color) })));
}

/** `var(--tk-token-keyword)` is `keyword`. */
function kindOf(colour: string | undefined): string | undefined {
  return /--tk-token-([a-z-]+)/.exec(colour ?? "")?.[1];
}

worker.addEventListener("message", async ({ data }: MessageEvent<Ask>) => {
  // A grammar that cannot be loaded without a connection is asked for again with the next code.
  const lines = await highlight(data.text, data.lang).catch(() => undefined);
  worker.postMessage({ id: data.id, lines } satisfies Told);
});
