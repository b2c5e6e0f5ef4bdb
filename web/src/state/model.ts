// What the app knows. One value, changed only by `reduce`.

import type {
  Event,
  Hello,
  LivePart,
  Meaning,
  Problem,
  Recorded,
  Reply,
  Status,
  Summary,
} from "../api/types";

import type { Cut } from "./rows";
import type { Screen } from "./screen";
import type { Team } from "./team";

/** Facts about a tool call that only events carry: what it means, when it began and ended. */
export type ToolFacts = {
  name?: string;
  input?: unknown;
  meaning?: Meaning;
  status?: Status;
  /** True where somebody said no to it. */
  denied?: true;
  output?: string;
  /** The texts of its end that were cut. */
  cuts?: readonly Cut[];
  startedAt?: number;
  /** The place of the last message when it began. */
  after?: number;
  endedAt?: number;
};

/** Something that happened between messages. It stands after the message at `after`. */
export type Note = {
  key: string;
  after: number;
  at: number;
} & (
  | { kind: "notice"; level: "info" | "warning" | "error"; text: string; hint?: string }
  /** A call that no message tells of, such as one that was denied. */
  | { kind: "call"; call: Extract<LivePart, { type: "tool" }> }
  | { kind: "turn"; stop: string; ms?: number; tools?: number }
  | { kind: "unknown"; name: string; raw: unknown }
);

/** One session, opened: a window over its messages, and what has not become a message yet. */
export type Opened = {
  /** The number of the last event that was handled. */
  seq: number;
  epoch: number;
  /** Oldest first. */
  messages: readonly Recorded[];
  /** Ask for messages before this place; none where there are none. */
  before: number | undefined;
  live: readonly LivePart[];
  tools: Readonly<Record<string, ToolFacts>>;
  notes: readonly Note[];
  /** When the turn that runs began, by the daemon's clock. */
  turnSince: number | undefined;
  /** An event was missing, or more was taken back than is here: what is here cannot be trusted and is asked for anew. */
  torn: boolean;
  /** True where this came from the phone's own store, and the daemon has not confirmed it yet. */
  stored: boolean;
};

/** A command that was sent and not yet replied to, or was turned down. */
export type Sent = {
  sessionId: string;
  at: number;
  text?: string;
  questionId?: string;
  /** The hash of the question as it was shown. */
  shown?: string;
  reply?: Reply;
  problem?: Problem;
};

/** The daemon lists so many sessions, the newest; the others are asked for. */
export const LISTED = 100;

export type State = {
  hello: Hello | undefined;
  sessions: Readonly<Record<string, Summary>>;
  /** When the list was last known to be true, by this device's clock. */
  inStepAt: number | undefined;
  /** True once the daemon has listed sessions in the life of this page. */
  listed: boolean;
  opened: Readonly<Record<string, Opened>>;
  sent: Readonly<Record<string, Sent>>;
  /** Why a session, or its screen, is not followed, where the daemon said so. */
  troubles: Readonly<Record<string, Problem>>;
  /** The agents' own screens that are watched. */
  screens: Readonly<Record<string, Screen>>;
  /** Who works for whom, once it was asked for. */
  team: Team | undefined;
  /** Rises each time when something about teams is different. */
  teamNews: number;
  /** Up to which event each session was looked at. */
  seen: Readonly<Record<string, number>>;
};

export const EMPTY: State = {
  hello: undefined,
  sessions: {},
  inStepAt: undefined,
  listed: false,
  opened: {},
  sent: {},
  troubles: {},
  screens: {},
  team: undefined,
  teamNews: 0,
  seen: {},
};

/** An event's kind may be one that this app does not know: the daemon may be newer. */
export type AnyEvent = Event | { type: string; [field: string]: unknown };

/** A session of which nothing was told yet. */
export const EMPTY_SESSION: Opened = {
  seq: 0,
  epoch: 0,
  messages: [],
  before: undefined,
  live: [],
  tools: {},
  notes: [],
  turnSince: undefined,
  torn: false,
  stored: false,
};
