// What is being written at the caret: the beginning of a command, or of a file's path. Pure.

export type Begun = {
  kind: "command" | "file";
  /** What was written after the sign. */
  prefix: string;
  /** The part of the text that a choice takes the place of. */
  from: number;
  to: number;
};

/** A command stands at the beginning; a path anywhere, after a blank. */
export function begun(text: string, caret: number): Begun | undefined {
  const before = text.slice(0, caret);
  const command = /^\/([\w:.-]*)$/.exec(before);
  if (command) return { kind: "command", prefix: command[1] ?? "", from: 0, to: caret };
  const file = /(?:^|\s)@((?:\\.|[^\s@\\])*)$/.exec(before);
  if (!file) return undefined;
  const prefix = file[1] ?? "";
  return { kind: "file", prefix: prefix.replace(/\\(.)/g, "$1"), from: caret - prefix.length - 1, to: caret };
}

/** The text with a choice in it, and where the caret is then. A directory is gone on with. */
export function taken(
  text: string,
  { kind, from, to }: Begun,
  choice: string,
): { text: string; caret: number } {
  // The CLI takes a blank in a path with a backslash before it.
  const word = kind === "file" ? `@${choice.replace(/([\s\\])/g, "\\$1")}` : choice;
  const gap = word.endsWith("/") && kind === "file" ? "" : " ";
  const after = text.slice(to);
  const put = word + (gap === " " && after.startsWith(" ") ? "" : gap);
  return { text: text.slice(0, from) + put + after, caret: from + put.length };
}
