// Markdown of models and tools, which is hostile until shown otherwise: parsed into blocks, made into HTML, cleaned by
// an allowlist, and put on the page as nodes. Nothing of it loads anything or runs anything.

import DOMPurify from "dompurify";
import { marked, type Token, type Tokens } from "marked";
import { memo } from "preact/compat";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Code } from "./code";

/** A longer text is shown as it is: to lay it out would hold up the phone. */
const LONGEST = 64_000;
/** So is one with a list in so many others: to take it apart takes long. */
const DEEP_LIST = /^[ \t]{60,}(?:[-*+]|\d{1,9}[.)])[ \t]/m;
/** And a block with more parts than this, or with so many in one another. */
const MOST_PARTS = 4_000;
const DEEPEST = 60;

/** Tags that models use in good faith, without any attribute. */
const HARMLESS = /^<\/?(?:br|sub|sup|kbd|details|summary)\s*\/?>$/i;

const purify = DOMPurify(window);
const CLEAN = {
  ALLOWED_TAGS: [
    ...["p", "br", "hr", "blockquote", "pre", "code", "em", "strong", "del", "s", "sub", "sup", "kbd"],
    ...["h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "a"],
    ...["table", "thead", "tbody", "tr", "th", "td", "details", "summary"],
  ],
  ALLOWED_ATTR: ["href", "start", "align", "title"],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true as const,
};

purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.nodeName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
});

export function clean(html: string): DocumentFragment {
  return purify.sanitize(html, CLEAN);
}

/** A picture would tell its server that somebody reads this: its words and its address are shown instead. */
marked.use({
  gfm: true,
  renderer: {
    // Markup is shown as the text that it is. Even a cleaner that runs nothing would have the browser report it.
    html({ text }: Tokens.HTML | Tokens.Tag) {
      return HARMLESS.test(text.trim()) ? text : escaped(text);
    },
    image({ href, text }: Tokens.Image) {
      const label = `[picture] ${text || href}`;
      return /^https?:/i.test(href) ? `<a href="${escaped(href)}">${escaped(label)}</a>` : escaped(label);
    },
  },
});

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

export function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => (isHeavy(text) ? undefined : split(text)), [text]);
  if (!blocks) return <pre class="raw">{text}</pre>;
  return (
    <div class="prose" dir="auto">
      {blocks.map((block, index) => (
        <Block key={index} raw={block.raw} token={block} />
      ))}
    </div>
  );
}

function isHeavy(text: string): boolean {
  return text.length > LONGEST || DEEP_LIST.test(text);
}

function split(text: string): Token[] {
  try {
    return marked.lexer(text).filter((token) => token.type !== "space" && token.type !== "def");
  } catch {
    return [{ type: "paragraph", raw: text, text, tokens: [{ type: "text", raw: text, text }] }];
  }
}

const Block = memo(
  ({ token }: { raw: string; token: Token }) =>
    token.type === "code" ? (
      <Code text={String(token.text)} lang={String(token.lang ?? "")} />
    ) : (
      <Html token={token} />
    ),
  (before, after) => before.raw === after.raw,
);

/** How many parts are left to be drawn after these; below none it is too much. */
function left(tokens: readonly Token[], room: number, depth: number): number {
  if (depth > DEEPEST) return -1;
  let rest = room - tokens.length;
  for (const token of tokens) {
    if (rest < 0) return rest;
    rest = left(within(token), rest, depth + 1);
  }
  return rest;
}

function within(token: Token): readonly Token[] {
  if (token.type === "list") return (token as Tokens.List).items;
  if (token.type !== "table") return ("tokens" in token && token.tokens) || [];
  const { header, rows } = token as Tokens.Table;
  return [header, ...rows].flat().flatMap((cell) => cell.tokens);
}

/** What cannot be laid out, because it is nested without end or too much, is shown as the text that it is. */
function drawn(token: Token): DocumentFragment | string {
  try {
    return left([token], MOST_PARTS, 0) < 0 ? token.raw : clean(marked.parser([token]));
  } catch {
    return token.raw;
  }
}

function Html({ token }: { token: Token }) {
  const ref = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const made = drawn(token);
    ref.current?.classList.toggle("raw", typeof made === "string");
    ref.current?.replaceChildren(made);
  }, [token]);
  return <div ref={ref} class={token.type === "table" ? "block table" : "block"} dir="auto" />;
}
