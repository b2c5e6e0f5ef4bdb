// What a daemon may tell beyond the generated types.

import type { ClientFrame, Command, Recorded, ServerFrame, Summary } from "./types";

export type Context = { tokens: number; limit?: number };
export type Told = Summary & { branch?: string; context?: Context };
export type Files = { files: string[] };
export type Browsed = { path: string; directories: string[] };
export type Slash = { name: string; description: string };
export type SlashCommands = { commands: Slash[] };
export type Model = { id: string; label: string; context?: number };
export type Models = { models: Model[] };
export type Kept = { name: string };
export type Run = {
  text: string;
  fg?: string;
  bg?: string;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  inverse?: boolean;
};
export type Line = { row: number; runs: Run[] };
export type Picture = {
  session_id: string;
  whole: boolean;
  columns: number;
  rows: number;
  cursor?: [number, number];
  title: string;
  lines: Line[];
};
export type AnyServerFrame = ServerFrame | ({ type: "screen" } & Picture);
export type AnyCommand =
  | Command
  | { type: "prompt"; text: string; images?: string[] }
  | { type: "keys"; text?: string; keys?: string[] };
export type AnyClientFrame =
  | Exclude<ClientFrame, { type: "command" }>
  | { type: "command"; id: string; session_id: string; command: AnyCommand }
  | { type: "screen"; session_id: string; on: boolean }
  | { type: "visible"; visible: boolean };
export type ShareLink = { urls: string[]; expires_at: string };
export type Shared = { title?: string; messages: Recorded[]; before?: number; expires_at: string };
export type PushKey = { key: string };
export type Called = { called: number };
export type Call = {
  kind: "question" | "done" | "failed" | "stalled" | "test";
  title: string;
  body: string;
  session_id?: string;
};
