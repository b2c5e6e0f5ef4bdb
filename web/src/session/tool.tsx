// The sheet of a tool call: what went in, what came out (its end first), and the diff.

import type { FunctionComponent } from "preact";
import { lazy, Suspense } from "preact/compat";
import { useState } from "preact/hooks";
import type { Summary } from "../api/types";
import { bare, unturned } from "../state/risk";
import type { Tool } from "../state/rows";
import { objectOf, record, standOf, verbOf } from "../state/tools";
import { bytes, took, within } from "../state/words";
import { Code } from "../ui/code";
import { CopyButton } from "../ui/copy";
import { Sheet } from "../ui/sheet";
import { diffSource, exitCode, outputOf, printed } from "./card";
import { useTail, useWhole } from "./whole";

type View = FunctionComponent<{ text: string; numbered?: boolean }>;

/** A diff as the text that it is: its view may not be there to be loaded, offline or after an update of the daemon. */
const Plain: View = ({ text }) => <pre class="output">{unturned(text)}</pre>;
const load = () => import("../ui/diff").catch(() => undefined);

const Diff = lazy(async (): Promise<{ default: View }> => ({ default: (await load())?.default ?? Plain }));
const Made = lazy(async () => {
  const loaded = await load();
  const Shown: View = loaded?.default ?? Plain;
  const made = loaded?.ofWords ?? apart;
  return {
    default: ({ path, before, after }: { path: string; before: string; after: string }) => (
      // Where in the file it is, the call does not say.
      <Shown text={made(path, before, after)} numbered={false} />
    ),
  };
});

/** What goes and what comes, one after the other. */
function apart(path: string, before: string, after: string): string {
  const signed = (sign: string, text: string) => (text === "" ? "" : text.replace(/^/gm, sign));
  return [path, signed("-", before), signed("+", after)].filter(Boolean).join("\n");
}

/** So many of the last lines are shown first. */
const TAIL = 40;
/** The end of a cut output: so many bytes of it come first. */
const TAIL_BYTES = 8 << 10;

export function DiffOf({ source }: { source: NonNullable<ReturnType<typeof diffSource>> }) {
  return (
    <Suspense fallback={<p class="hint">Loading diff</p>}>
      {"diff" in source ? <Diff text={source.diff} /> : <Made {...source} />}
    </Suspense>
  );
}

export function ToolSheet({ tool, session, onClose }: { tool: Tool; session: Summary; onClose: () => void }) {
  const diff = useWhole(session.id, "", tool.cutDiff, true);
  const source = tool.cutDiff && diff.text !== "" ? { diff: diff.text } : diffSource(tool);
  const command = tool.meaning?.kind === "command" ? tool.meaning.command : record(tool.input).command;
  const code = exitCode(tool);
  return (
    <Sheet title={verbOf(tool.name, tool.status, tool.denied)} onClose={onClose}>
      {typeof command !== "string" && (
        <p class="object-line mono" dir="auto">
          {within(objectOf(tool.input, tool.meaning), session.cwd)}
        </p>
      )}
      <p class="hint">
        {[
          standOf(tool),
          tool.ms === undefined ? "" : took(tool.ms),
          code > 0 ? `exit code ${code}` : "",
          bare(tool.name),
        ]
          .filter(Boolean)
          .join(" · ")}
      </p>
      {source && <DiffOf source={source} />}
      {typeof command === "string" ? (
        <Code text={bare(command)} lang="bash" />
      ) : (
        !source && <Input input={tool.input} />
      )}
      <Output tool={tool} sessionId={session.id} />
    </Sheet>
  );
}

function Input({ input }: { input: unknown }) {
  const text = bare(JSON.stringify(input, null, 2) ?? "");
  return text === "{}" || text === "" ? null : <Code text={text} lang="json" />;
}

function Output({ tool, sessionId }: { tool: Tool; sessionId: string }) {
  const [open, setOpen] = useState(false);
  const end = useTail(sessionId, "", tool.cut, TAIL_BYTES);
  const whole = useWhole(sessionId, "", tool.cut, false);
  const cut = tool.cut !== undefined && whole.text === "";
  const fetched = whole.text || end;
  const text = fetched === "" ? outputOf(tool) : printed(tool, fetched);
  if (text.trim() === "") return null;
  const lines = text.replace(/^\n+/, "").trimEnd().split("\n");
  const hidden = open ? 0 : Math.max(0, lines.length - TAIL);
  return (
    <section class="tool-output">
      <div class="section-head">
        <h3>Output</h3>
        <CopyButton text={text} label="Copy output" />
      </div>
      {tool.cut && cut && (
        <button
          type="button"
          class="plain small"
          disabled={whole.busy}
          onClick={() => {
            setOpen(true);
            whole.more();
          }}
        >
          {whole.busy ? "Loading output" : `Show all (${bytes(tool.cut.bytes)})`}
        </button>
      )}
      {whole.problem && <p class="hint">{whole.problem}</p>}
      {hidden > 0 && !cut && (
        <button type="button" class="plain small" onClick={() => setOpen(true)}>
          Show {hidden} earlier lines
        </button>
      )}
      <pre class="output">{lines.slice(hidden).join("\n")}</pre>
    </section>
  );
}
