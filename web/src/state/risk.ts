// The parts of a command that deserve a second look. A help for the eye and no judgement: what is not marked may be as
// dangerous.

// What may stand between two words is bounded: a command of a hundred thousand words is looked through in a moment too.
const RISKY: readonly RegExp[] = [
  /\bsudo\b/,
  /\bdoas\b/,
  /\brm\s+(?:-\w+\s+)*-\w*[rf]\w*(?:\s+[^\s;&|]+)*/,
  /\bfind\b[^;&|]{0,1000}-delete\b/,
  /\bgit\s+(?:push\s+[^;&|]{0,1000}(?:--force\b|-f\b)|reset\s+--hard|clean\s+-\w*[fdx]\w*|checkout\s+--\s)[^;&|]*/,
  /\bchmod\s+(?:-R\s+)?[0-7]*7{2,3}\b/,
  /\bch(?:own|mod)\s+-R\b/,
  /\b(?:mkfs(?:\.\w+)?|dd|shred|fdisk|parted)\b/,
  /\b(?:curl|wget)\b[^;&|]{0,1000}\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b/,
  /\beval\b/,
  /\|\s*(?:ba|z|da)?sh\b/,
  />\s*\/(?:dev|etc|usr|boot)\/[^\s;&|]*/,
  /\b(?:kill|pkill|killall)\s+-(?:9|KILL)\b/,
  /\bnpm\s+publish\b|\bcargo\s+publish\b/,
  /\bdrop\s+(?:table|database)\b/i,
  /:\(\)\s*\{/,
  /\bbase64\s+(?:-d|--decode)\b/,
  /(?:~|\$HOME)?\/\.(?:ssh|aws|gnupg|netrc|npmrc)\b[^\s;&|]*/,
  /⟨U\+[0-9A-F]{4,6}⟩/,
];

/** Signs that turn the direction of what is read: with them a line reads as what it is not. */
const TURNING = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
/** Those, and all others that nobody sees. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

const named = (sign: string): string =>
  `⟨U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

/** A text in which no sign turns the others: each that would is named. */
export function unturned(text: string): string {
  return text.replace(TURNING, named);
}

/** A text in which everything is seen: what nobody would see is named. */
export function bare(text: string): string {
  return text.replace(UNSEEN, named);
}

/** Signs that turn the direction, or steer a terminal: nobody means them in a title. Those that only mark it stay. */
const STEERING = /[\s\u202a-\u202e\u2066-\u2069\p{Cc}]+/gu;

/** A text of one line that turns nothing around it: what would is left out. */
export function calm(text: string): string {
  return text.replace(STEERING, " ").trim();
}

export type Piece = { text: string; risky: boolean };

export function mark(command: string): readonly Piece[] {
  const spans = RISKY.flatMap((pattern) =>
    [...command.matchAll(new RegExp(pattern, `${pattern.flags}g`))].map((found) => ({
      from: found.index,
      to: found.index + found[0].length,
    })),
  ).sort((a, b) => a.from - b.from);
  const pieces: Piece[] = [];
  let at = 0;
  for (const { from, to } of spans) {
    if (to <= at) continue;
    const start = Math.max(from, at);
    if (start > at) pieces.push({ text: command.slice(at, start), risky: false });
    pieces.push({ text: command.slice(start, to), risky: true });
    at = to;
  }
  if (at < command.length) pieces.push({ text: command.slice(at), risky: false });
  return pieces;
}
