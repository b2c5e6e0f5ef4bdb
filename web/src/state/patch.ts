// Unified diffs as agents write them. Pure.

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/;

/** The same diff with the numbers that its lines have: of one that was cut, or written by a model, they may not be true. */
export function recounted(text: string): string {
  const lines = text.replace(/\n$/, "").split("\n");
  const heads = lines.flatMap((line, index) => (HUNK.test(line) ? [index] : []));
  const out = lines.slice(0, heads[0] ?? lines.length);
  for (const [nth, head] of heads.entries()) {
    const end = heads[nth + 1] ?? lines.length;
    const named = nextFile(lines, head + 1, end);
    out.push(...hunk(lines[head] ?? "", lines.slice(head + 1, named)), ...lines.slice(named, end));
  }
  return `${out.join("\n")}\n`;
}

/** Where the names of the next file begin, which stand right before its first hunk. */
function nextFile(lines: readonly string[], from: number, end: number): number {
  const two = end - 2;
  const names = lines[two]?.startsWith("--- ") && lines[two + 1]?.startsWith("+++ ");
  return two >= from && end < lines.length && names ? two : end;
}

function hunk(head: string, body: readonly string[]): string[] {
  const [, old = "1", now = "1", rest = ""] = HUNK.exec(head) ?? [];
  const signed = body.map((line) => (/^[-+ \\]/.test(line) ? line : ` ${line}`));
  const count = (other: string) => signed.filter((line) => line[0] !== other && line[0] !== "\\").length;
  return [`@@ -${old},${count("+")} +${now},${count("-")} @@${rest}`, ...signed];
}
