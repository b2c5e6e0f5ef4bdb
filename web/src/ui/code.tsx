// A block of code: its language, a copy button, and colours that come when the highlighter has been loaded.

import { useEffect, useState } from "preact/hooks";
import { colours } from "./colours";
import { CopyButton } from "./copy";
import type { Line } from "./highlight";

/** More than this is not coloured: to read it is enough. */
const LONGEST = 30_000;

export function Code({ text, lang }: { text: string; lang: string }) {
  const name = lang.split(/\s/, 1)[0]?.toLowerCase() ?? "";
  return (
    <figure class="code">
      <figcaption>
        <span>{name || "text"}</span>
        <CopyButton text={text} label="Copy code" />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys */}
      <pre tabIndex={0}>
        <Coloured text={text} lang={name} />
      </pre>
    </figure>
  );
}

export function Coloured({ text, lang }: { text: string; lang: string }) {
  const lines = useColours(text, lang);
  if (!lines) return <code>{text}</code>;
  return (
    <code>
      {lines.map((line, index) => (
        <span key={index}>
          {line.map(({ text: piece, kind }) => (kind ? <span class={`tk-${kind}`}>{piece}</span> : piece))}
          {"\n"}
        </span>
      ))}
    </code>
  );
}

function useColours(text: string, lang: string): readonly Line[] | undefined {
  const [made, setMade] = useState<{ text: string; lines: readonly Line[] } | undefined>(undefined);
  useEffect(() => {
    if (lang === "" || text.length > LONGEST) return;
    let wanted = true;
    // While code grows it is coloured a few times a second at most.
    const timer = setTimeout(() => {
      colours(text, lang).then((lines) => wanted && lines && setMade({ text, lines }));
    }, 120);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [text, lang]);
  return made?.text === text ? made.lines : undefined;
}
