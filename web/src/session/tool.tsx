// The sheet of a tool call: what went in, what came out (its end first), and the diff.

import { lazy, Suspense } from "preact/compat";
import { useState } from "preact/hooks";
import type { Summary } from "../api/types";
import type { Tool } from "../state/rows";
import { objectOf, record, verbOf } from "../state/tools";
import { bytes, took, within } from "../state/words";
import { Code } from "../ui/code";
import { CopyButton } from "../ui/copy";
import { Sheet } from "../ui/sheet";
import { diffSource, exitCode, outputOf } from "./card";

const Diff = lazy(() => import("../ui/diff"));
const Made = lazy(async () => {
  const { default: View, ofWords } = await import("../ui/diff");
  return {
    default: ({ path, before, after }: { path: string; before: string; after: string }) => (
      // Where in the file it is, the call does not say.
      <View text={ofWords(path, before, after)} numbered={false} />
    ),
  };
});

/** So many of the last lines are shown first. */
const TAIL = 40;

export function DiffOf({ source }: { source: NonNullable<ReturnType<typeof diffSource>> }) {
  return (
    <Suspense fallback={<p class="hint">Loading the diff</p>}>
      {"diff" in source ? <Diff text={source.diff} /> : <Made {...source} />}
    </Suspense>
  );
}

export function ToolSheet({ tool, session, onClose }: { tool: Tool; session: Summary; onClose: () => void }) {
  const source = diffSource(tool);
  const output = outputOf(tool);
  const command = tool.meaning?.kind === "command" ? tool.meaning.command : record(tool.input).command;
  const code = exitCode(tool);
  const running = tool.status === undefined;
  return (
    <Sheet title={verbOf(tool.name, running)} onClose={onClose} tall>
      <p class="object-line mono" dir="auto">
        {within(objectOf(tool.input, tool.meaning), session.cwd)}
      </p>
      <p class="hint">
        {[
          running ? "running" : tool.status,
          tool.ms === undefined ? "" : took(tool.ms),
          code > 0 ? `exit code ${code}` : "",
          tool.name,
        ]
          .filter(Boolean)
          .join(" · ")}
      </p>
      {source && <DiffOf source={source} />}
      {typeof command === "string" ? (
        <Code text={command} lang="bash" />
      ) : (
        !source && <Input input={tool.input} />
      )}
      {output !== "" && <Output text={output} cut={tool.cut?.bytes} />}
    </Sheet>
  );
}

function Input({ input }: { input: unknown }) {
  const text = JSON.stringify(input, null, 2) ?? "";
  return text === "{}" || text === "" ? null : <Code text={text} lang="json" />;
}

function Output({ text, cut }: { text: string; cut: number | undefined }) {
  const [whole, setWhole] = useState(false);
  const lines = text.trimEnd().split("\n");
  const hidden = whole ? 0 : Math.max(0, lines.length - TAIL);
  return (
    <section class="tool-output">
      <div class="section-head">
        <h3>Output</h3>
        <CopyButton text={text} label="Copy output" />
      </div>
      {cut !== undefined && <p class="hint">Cut by Pollux: the whole has {bytes(cut)}</p>}
      {hidden > 0 && (
        <button type="button" class="plain small" onClick={() => setWhole(true)}>
          Show {hidden} earlier lines
        </button>
      )}
      <pre class="output">{lines.slice(hidden).join("\n")}</pre>
    </section>
  );
}
