// A unified diff: the list of files with their counts first, then the lines. Loaded when the first diff is seen.

import { parsePatch, type StructuredPatch, structuredPatch } from "diff";
import { WrapText } from "lucide";
import { choose, settings } from "../settings";
import { recounted } from "../state/patch";
import { bare, unturned } from "../state/risk";
import { base } from "../state/words";
import { useStore } from "../store";
import { Icon } from "./icon";

/** More lines than this are not drawn. */
const MOST_LINES = 2_000;

export default function Diff({ text, numbered = true }: { text: string; numbered?: boolean }) {
  const known = parse(text) ?? parse(recounted(text));
  const files = known ?? parse(framed(text));
  const wrap = useStore(settings, (chosen) => chosen.wrap);
  if (!files) return <pre class="output">{unturned(text)}</pre>;
  return (
    <div class={`diff${wrap ? " wrap" : ""}${known && numbered ? "" : " no-numbers"}`}>
      <div class="diff-files">
        <ul>
          {files.map((file) => (
            <li key={nameOf(file)}>
              {nameOf(file) !== "" && <span class="path">{nameOf(file).split("/").slice(-2).join("/")}</span>}
              <Counts file={file} />
            </li>
          ))}
        </ul>
        <button type="button" class="plain small" aria-pressed={wrap} onClick={() => choose({ wrap: !wrap })}>
          <Icon of={WrapText} size={15} /> Wrap
        </button>
      </div>
      {files.map((file) => (
        <File key={nameOf(file)} file={file} titled={files.length > 1} />
      ))}
    </div>
  );
}

function parse(text: string): StructuredPatch[] | undefined {
  try {
    const files = parsePatch(text).filter((file) => file.hunks.length > 0);
    return files.length > 0 ? files : undefined;
  } catch {
    return undefined;
  }
}

/** A screen shows the lines of a change without what stands around them in a file: neither names nor numbers. */
function framed(text: string): string {
  const lines = text.replace(/\n$/, "").split("\n");
  const signed = lines.map((line) => (/^[-+ ]/.test(line) ? line : ` ${line}`));
  const count = (sign: string) => signed.filter((line) => line.startsWith(sign)).length;
  const same = count(" ");
  if (same === signed.length) return "";
  return ["---", "+++", `@@ -1,${same + count("-")} +1,${same + count("+")} @@`, ...signed, ""].join("\n");
}

function nameOf(file: StructuredPatch): string {
  const name = file.newFileName === "/dev/null" ? file.oldFileName : file.newFileName;
  return bare(name ?? file.index ?? "");
}

/** How many lines came and went. */
function counts(file: StructuredPatch): { added: number; removed: number } {
  const lines = file.hunks.flatMap((hunk) => hunk.lines);
  return {
    added: lines.filter((line) => line.startsWith("+")).length,
    removed: lines.filter((line) => line.startsWith("-")).length,
  };
}

function Counts({ file }: { file: StructuredPatch }) {
  const { added, removed } = counts(file);
  return (
    <span class="counts">
      <span class="plus">+{added}</span> <span class="minus">-{removed}</span>
    </span>
  );
}

type Numbered = { sign: string; text: string; old: number | undefined; new: number | undefined };

function File({ file, titled }: { file: StructuredPatch; titled: boolean }) {
  const hunks = file.hunks.map((hunk) => ({ hunk, lines: number(hunk.lines, hunk.oldStart, hunk.newStart) }));
  let left = MOST_LINES;
  return (
    <section class="diff-file" aria-label={`Changes to ${base(nameOf(file))}`}>
      {titled && <h3>{nameOf(file)}</h3>}
      {hunks.map(({ hunk, lines }) => {
        const shown = lines.slice(0, Math.max(0, left));
        left -= lines.length;
        return (
          <div class="hunk" key={`${hunk.oldStart}.${hunk.newStart}`}>
            <div class="hunk-head">{`@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`}</div>
            {shown.map((line) => (
              <DiffLine key={`${line.old}.${line.new}`} line={line} />
            ))}
            {shown.length < lines.length && (
              <div class="hunk-head">{lines.length - shown.length} more lines</div>
            )}
          </div>
        );
      })}
    </section>
  );
}

function DiffLine({ line }: { line: Numbered }) {
  const kind = line.sign === "+" ? "add" : line.sign === "-" ? "del" : "same";
  return (
    <div class={`line ${kind}`}>
      <span class="no">{line.new ?? line.old ?? ""}</span>
      <span class="sign">{line.sign}</span>
      <span class="said">{unturned(line.text) || " "}</span>
    </div>
  );
}

function number(lines: readonly string[], oldStart: number, newStart: number): Numbered[] {
  let before = oldStart;
  let after = newStart;
  return lines
    .filter((line) => !line.startsWith("\\"))
    .map((line) => {
      const sign = line[0] ?? " ";
      return {
        sign,
        text: line.slice(1),
        old: sign === "+" ? undefined : before++,
        new: sign === "-" ? undefined : after++,
      };
    });
}

/** Where the agent wrote no diff down: made of the call's own words. */
export function ofWords(path: string, before: string, after: string): string {
  const { hunks } = structuredPatch(path, path, before, after, "", "", { context: 3 });
  const body = hunks.flatMap((hunk) => [
    `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`,
    ...hunk.lines,
  ]);
  return [`--- ${path}`, `+++ ${path}`, ...body, ""].join("\n");
}
