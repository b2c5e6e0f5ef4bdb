// Generated from the Rust types by `cargo xtask types`. Do not edit.

/**
 * The result of a command.
 */
export type Accepted = { 
/**
 * ID of the command.
 */
id: string, 
/**
 * The result.
 */
reply: Reply, };

/**
 * Adopts an agent that is already running in tmux.
 */
export type Adopt = { 
/**
 * tmux pane ID, such as `%3`; required if there are several candidates.
 */
pane?: string, 
/**
 * Name or socket path of the tmux server; the user's default server if absent. Only clients on this machine may set
 * it.
 */
socket?: string, };

/**
 * The agent program.
 */
export type Agent = "gemini" | "other";

/**
 * An entry of the audit log.
 */
export type AuditEntry = { 
/**
 * Increases with each entry.
 */
id: number, 
/**
 * When the action happened.
 */
at: string, 
/**
 * Name of the device.
 */
device: string, 
/**
 * Name of the action, such as `answer`.
 */
action: string, 
/**
 * ID of the session.
 */
session_id?: string, 
/**
 * Details: the choice, the hash of the question as displayed, the result.
 */
detail: Record<string, unknown>, };

/**
 * Starts a session.
 */
export type Begin = { 
/**
 * Chosen by the client. A repeated request with the same ID returns the same session.
 */
client_id?: string, 
/**
 * Working directory of the agent.
 */
cwd: string, 
/**
 * How Pollux drives the agent.
 */
driver?: Driver, 
/**
 * Permission mode.
 */
mode?: Mode, 
/**
 * The model.
 */
model?: string, 
/**
 * Resume this session: its Pollux ID or the agent's ID.
 */
resume?: string, 
/**
 * The first prompt.
 */
prompt?: string, };

/**
 * A part of a message.
 */
export type Block = { "type": "text", 
/**
 * The text.
 */
text: string, } | { "type": "thinking", 
/**
 * The thought.
 */
thinking: string, } | { "type": "tool_use", 
/**
 * The id of the call, the same in every source.
 */
id: string, 
/**
 * Claude's name of the tool, or the agent's if Claude has none.
 */
name: string, 
/**
 * The arguments.
 */
input: unknown, } | { "type": "tool_result", 
/**
 * The id of the call.
 */
tool_use_id: string, 
/**
 * All parts of the result.
 */
content: ResultContent, 
/**
 * True if the tool failed. A cancelled call is not a failure.
 */
is_error: boolean, 
/**
 * How the call ended.
 */
status: Status, } | { "type": "image", 
/**
 * Its data.
 */
source: ImageSource, };

/**
 * Directories in a directory.
 */
export type Browsed = { 
/**
 * Absolute path with symlinks resolved.
 */
path: string, 
/**
 * Names of the subdirectories.
 */
directories: Array<string>, };

/**
 * The content of a push notification.
 */
export type Call = { 
/**
 * Why the notification was sent.
 */
kind: CallKind, 
/**
 * Title of the session.
 */
title: string, 
/**
 * The question, or the end of the last answer.
 */
body: string, 
/**
 * ID of the session.
 */
session_id?: string, };

/**
 * The reason for a push notification.
 */
export type CallKind = "question" | "answered" | "done" | "failed" | "stalled" | "test";

/**
 * Result of a test notification.
 */
export type Called = { 
/**
 * Number of browsers that were notified.
 */
called: number, };

/**
 * Capabilities of the daemon.
 */
export type Capabilities = { 
/**
 * Version of Pollux.
 */
pollux: string, 
/**
 * Version of the API.
 */
api: number, 
/**
 * Optional features of the daemon.
 */
features: Array<string>, 
/**
 * Supported drivers.
 */
drivers: Array<Driver>, };

/**
 * The kind of a file change.
 */
export type Change = "created" | "edited";

/**
 * A choice of a question.
 */
export type Choice = { 
/**
 * The id of the choice, from the agent if it has one.
 */
id: string, 
/**
 * The label to display.
 */
label: string, 
/**
 * The effect of the choice.
 */
effect: Effect, };

/**
 * A frame from the client to the daemon.
 */
export type ClientFrame = { "type": "subscribe", 
/**
 * ID of the session.
 */
session_id: string, 
/**
 * Sequence number of the last event that the client has handled.
 */
after?: number, 
/**
 * Epoch of that event.
 */
epoch?: number, } | { "type": "unsubscribe", 
/**
 * ID of the session.
 */
session_id: string, } | { "type": "watch" } | { "type": "command", 
/**
 * Chosen by the client. A command with a known ID is not run again.
 */
id: string, 
/**
 * ID of the session.
 */
session_id: string, 
/**
 * The command.
 */
command: Command, } | { "type": "screen", 
/**
 * ID of the session.
 */
session_id: string, 
/**
 * True to start, false to stop.
 */
on: boolean, } | { "type": "visible", 
/**
 * True while the client is visible on a screen.
 */
visible: boolean, } | { "type": "ping" };

/**
 * A command that a client sends to a session.
 */
export type Command = { "type": "prompt", 
/**
 * The text.
 */
text: string, 
/**
 * Images of the prompt, by the names that the upload returned.
 */
images?: Array<string>, } | { "type": "answer", 
/**
 * The id of the question.
 */
question_id: string, 
/**
 * The id of the choice.
 */
choice: string, 
/**
 * The reason that is sent with the answer.
 */
reason?: string, 
/**
 * The hash of the question as displayed. If absent, only the id is checked.
 */
shown?: string, } | { "type": "interrupt" } | { "type": "mode", 
/**
 * The new mode.
 */
mode: Mode, 
/**
 * After this many seconds the previous mode is restored.
 */
seconds?: number, } | { "type": "model", 
/**
 * The model's name, as the agent calls it.
 */
model: string, } | { "type": "edit", 
/**
 * The id of the command that sent the prompt.
 */
queued: string, 
/**
 * The new text.
 */
text: string, } | { "type": "cancel", 
/**
 * The id of the command that sent the prompt.
 */
queued: string, } | { "type": "keys", 
/**
 * Text to type first.
 */
text?: string, 
/**
 * Keys to press afterwards: `Enter`, `Escape`, `Up`, `C-c` and so on.
 */
keys?: Array<string>, } | { "type": "fit", 
/**
 * Width in columns.
 */
columns: number, 
/**
 * Height in rows.
 */
rows: number, } | { "type": "give_back" } | { "type": "continue" } | { "type": "stop" };

/**
 * A command for a session.
 */
export type CommandBody = { 
/**
 * Chosen by the client. A command with a known ID is not run again.
 */
id: string, 
/**
 * The command.
 */
command: Command, };

/**
 * The content of a message: blocks, or the upstream string if it has no blocks.
 */
export type Content = Array<Block> | string;

/**
 * Context window usage of a model.
 */
export type Context = { 
/**
 * Tokens of the last answer and everything before it.
 */
tokens: number, 
/**
 * Size of the context window in tokens, if known.
 */
limit?: number, };

/**
 * Token usage of one model.
 */
export type Counted = { 
/**
 * Name of the model.
 */
model: string, 
/**
 * Number of messages.
 */
messages: number, 
/**
 * Total number of tokens.
 */
tokens: number, };

/**
 * A paired device.
 */
export type Device = { 
/**
 * ID of the device.
 */
id: string, 
/**
 * Name of the device.
 */
name: string, 
/**
 * Scopes of the device.
 */
scopes: Array<Scope>, 
/**
 * When the device was paired.
 */
created_at: string, 
/**
 * When the device last sent a request.
 */
seen_at?: string, };

/**
 * All devices.
 */
export type Devices = { 
/**
 * Newest first.
 */
devices: Array<Device>, };

/**
 * What an accepted command did.
 */
export type Done = { "done": "sent" } | { "done": "queued", 
/**
 * The id for editing or cancelling it.
 */
id: string, 
/**
 * The number of prompts queued before it.
 */
before: number, } | { "done": "answered", 
/**
 * True if this command gave the answer; false if another client was faster.
 */
yours: boolean, } & ({ "outcome": "chosen", 
/**
 * The id of the choice.
 */
choice: string, 
/**
 * The name of the client that chose it, if known.
 */
by?: string, } | { "outcome": "cancelled" } | { "outcome": "elsewhere" }) | { "done": "edited" } | { "done": "cancelled" };

/**
 * How Pollux drives the agent.
 */
export type Driver = "headless" | "acp" | "terminal";

/**
 * The effect of a choice.
 */
export type Effect = "allow_once" | "allow_always" | "reject_once" | "reject_always" | "words" | "other";

/**
 * A fact about a session.
 */
export type Event = { 
/**
 * The source of the event.
 */
source: Source, 
/**
 * If the event was inferred, what it was inferred from.
 */
derived?: string, 
/**
 * The time of the event, if the source has one.
 */
at?: string, } & ({ "type": "session_started", 
/**
 * Its id.
 */
session_id: string, 
/**
 * SHA-256 of the project's path, as the agent wrote it.
 */
project_hash?: string, 
/**
 * When the session started.
 */
started_at?: string, 
/**
 * `main` or `subagent`.
 */
kind?: string, 
/**
 * The requested model, as the agent calls it. Messages name the model that answered.
 */
model?: string, } | { "type": "session_changed" } & SessionChange | { "type": "session_rekeyed", 
/**
 * The temporary id.
 */
from: string, 
/**
 * Its id.
 */
session_id: string, } | { "type": "asked" } & Question | { "type": "answered", 
/**
 * The id of the question.
 */
question_id: string, } & ({ "outcome": "chosen", 
/**
 * The id of the choice.
 */
choice: string, 
/**
 * The reason that was sent with the answer.
 */
reason?: string, } | { "outcome": "cancelled" } | { "outcome": "elsewhere" }) | { "type": "turn_started", 
/**
 * The prompt, as the agent understood it.
 */
prompt: string, } | { "type": "text_grew", 
/**
 * The kind of text.
 */
part: Part, 
/**
 * The appended text, which may be blank.
 */
text: string, 
/**
 * The id of the message, if the source has one.
 */
message_id?: string, } | { "type": "tool_started", 
/**
 * The id of the call, the same in every source.
 */
id: string, 
/**
 * The agent's name of the tool.
 */
name: string, 
/**
 * The arguments, as the model wrote them.
 */
input: unknown, 
/**
 * What the call does.
 */
meaning?: Meaning, } | { "type": "tool_ended", 
/**
 * The id of the call.
 */
id: string, 
/**
 * The agent's name of the tool, if the start of the call was seen.
 */
name?: string, 
/**
 * How it ended.
 */
status: Status, 
/**
 * True if another source reported this end before and this one has more details.
 */
changed: boolean, 
/**
 * The output of the tool.
 */
output?: string, 
/**
 * What went wrong.
 */
error?: string, 
/**
 * What the call did.
 */
meaning?: Meaning, } | { "type": "usage_changed", 
/**
 * The scope of the count.
 */
scope: UsageScope, 
/**
 * The tokens.
 */
usage: Usage, 
/**
 * The model that used them.
 */
model?: string, 
/**
 * The id of the message that used them.
 */
message_id?: string, } | { "type": "turn_ended", 
/**
 * Why.
 */
stop_reason: StopReason, 
/**
 * The duration, as reported by the agent.
 */
duration_ms?: number, 
/**
 * The number of tool calls, as reported by the agent.
 */
tool_calls?: number, 
/**
 * What went wrong.
 */
error?: Failure, } | { "type": "message_recorded", 
/**
 * True if it replaces a recorded message with the same id.
 */
changed: boolean, 
/**
 * The message.
 */
message: Message, } | { "type": "history_rewritten", 
/**
 * The number of rewrites of this session so far.
 */
epoch: number, 
/**
 * Why.
 */
reason: Rewrite, 
/**
 * The ids of the removed messages.
 */
removed: Array<string>, 
/**
 * Streamed text that is in no message, because the attempt failed and was retried.
 */
superseded?: string, } | { "type": "notice", 
/**
 * The severity.
 */
level: Level, 
/**
 * The text of the notice.
 */
text: string, } | { "type": "unread", 
/**
 * The line number, starting at 1, if the source has lines.
 */
line?: number, 
/**
 * Why.
 */
reason: string, 
/**
 * The text.
 */
text: string, } | { "type": "session_ended", 
/**
 * Why.
 */
reason: string, });

/**
 * A page of events, oldest first.
 */
export type Events = { 
/**
 * The events.
 */
events: Array<Numbered>, 
/**
 * Sequence number of the last event of the session.
 */
seq: number, 
/**
 * Events up to this sequence number are no longer stored.
 */
floor: number, 
/**
 * Current epoch of the session.
 */
epoch: number, };

/**
 * Why a run failed.
 */
export type Failure = { 
/**
 * The phase that failed.
 */
phase: Phase, 
/**
 * A machine-readable code, such as `not_signed_in`.
 */
code: string, 
/**
 * A human-readable description of the failure.
 */
message: string, 
/**
 * A suggested fix. May be missing in old logs.
 */
hint?: string, 
/**
 * True if a retry may succeed.
 */
retryable: boolean, 
/**
 * The agent's exit code; absent if it did not start or was killed by a signal.
 */
exit_code?: number, 
/**
 * The signal that killed the agent.
 */
signal?: number, 
/**
 * The HTTP status of the model's server, if it answered.
 */
http_status?: number, 
/**
 * The last output of the agent on stderr.
 */
stderr?: string, 
/**
 * The code of the JSON-RPC error, if the agent returned one.
 */
rpc_code?: number, 
/**
 * The agent's original error.
 */
upstream?: JsonValue, };

/**
 * Files of a project that match a prefix.
 */
export type Files = { 
/**
 * Paths relative to the project directory; directories end with `/`.
 */
files: Array<string>, };

/**
 * A match in a session.
 */
export type Found = { 
/**
 * ID of the session.
 */
session_id: string, 
/**
 * Sequence number of the event.
 */
seq: number, 
/**
 * Type of the event.
 */
kind: string, 
/**
 * The text around the match.
 */
snippet: string, 
/**
 * When the event was recorded.
 */
recorded_at: string, };

/**
 * Starts a job.
 */
export type Give = { 
/**
 * Chosen by the client. A repeated request with the same ID returns the same job.
 */
client_id?: string, 
/**
 * Whether the caller waits for the job.
 */
kind: JobKind, 
/**
 * Profile of the new agent.
 */
profile: string, 
/**
 * The task.
 */
message: string, 
/**
 * Working directory; the caller's if absent.
 */
cwd?: string, 
/**
 * How long the caller waits, in seconds.
 */
timeout?: number, 
/**
 * Budget of the job.
 */
budget?: JobBudget, 
/**
 * Work in a new git worktree.
 */
worktree?: Worktree, 
/**
 * Keep the worker running when it is done.
 */
keep?: boolean, 
/**
 * Overrides the profile's driver.
 */
driver?: Driver, };

/**
 * A sign that the daemon is running. This is the only answer that needs no authentication.
 */
export type Health = { 
/**
 * Always true.
 */
ok: boolean, 
/**
 * Version of the API.
 */
api: number, };

/**
 * What the daemon tells a client when it connects.
 */
export type Hello = { 
/**
 * Version of Pollux.
 */
pollux: string, 
/**
 * Version of the API.
 */
api: number, 
/**
 * Optional features of the daemon.
 */
features: Array<string>, 
/**
 * Seconds between heartbeats.
 */
heartbeat_seconds: number, 
/**
 * Name of this device.
 */
device: string, 
/**
 * Scopes of this device.
 */
scopes: Array<Scope>, };

/**
 * Uploads an image for a prompt.
 */
export type Image = { 
/**
 * Media type, such as `image/png`.
 */
media_type: string, 
/**
 * Image data in Base64.
 */
data: string, };

/**
 * The data of an image.
 */
export type ImageSource = { "type": "base64", 
/**
 * Such as `image/png`.
 */
media_type: string, 
/**
 * The bytes, in base64.
 */
data: string, } | { "type": "url", 
/**
 * Its address.
 */
url: string, };

/**
 * A task that was handed to an agent.
 */
export type Job = { 
/**
 * ID of the job.
 */
id: string, 
/**
 * Whether the caller waits for the job.
 */
kind: JobKind, 
/**
 * Session ID of the caller; absent for a person.
 */
caller?: string, 
/**
 * Session ID of the worker, once it exists.
 */
worker?: string, 
/**
 * Name of the worker.
 */
name: string, 
/**
 * Profile of the worker.
 */
profile: string, 
/**
 * The task.
 */
prompt: string, 
/**
 * State of the job.
 */
state: JobState, 
/**
 * Reason for the state.
 */
why?: string, 
/**
 * Question that the worker waits for.
 */
question?: JobQuestion, 
/**
 * Result of the job.
 */
result?: JobResult, 
/**
 * Budget of the job.
 */
budget?: JobBudget, 
/**
 * When the job was created.
 */
created_at: string, 
/**
 * When the job ended.
 */
ended_at?: string, };

/**
 * The budget of a job.
 */
export type JobBudget = { tokens?: number, seconds?: number, };

/**
 * Whether the caller waits for a job.
 */
export type JobKind = "handoff" | "assign";

/**
 * A question from a worker.
 */
export type JobQuestion = { 
/**
 * ID of the question.
 */
id: string, 
/**
 * The question, in one line.
 */
about: string, 
/**
 * Choices: ID and label.
 */
options: Array<[string, string]>, };

/**
 * The result of a job.
 */
export type JobResult = { 
/**
 * The worker's last answer, verbatim.
 */
text: string, 
/**
 * Set if the text may not be verbatim: `screen` if it was read from the screen because the session file does not contain it.
 */
derived?: string, 
/**
 * Tokens used by the job.
 */
tokens: number, 
/**
 * Files changed by the job.
 */
changed: Array<string>, 
/**
 * What happened to the worktree.
 */
worktree?: string, };

/**
 * The state of a job.
 */
export type JobState = "starting" | "working" | "waiting" | "paused" | "done" | "failed" | "timed_out" | "cancelled";

/**
 * All jobs.
 */
export type Jobs = { 
/**
 * Newest first.
 */
jobs: Array<Job>, };

export type JsonValue = number | string | boolean | Array<JsonValue> | { [key in string]: JsonValue } | null;

/**
 * An uploaded image.
 */
export type Kept = { 
/**
 * Name to refer to the image in a prompt.
 */
name: string, };

/**
 * Starts a team agent.
 */
export type Launch = { 
/**
 * Chosen by the client. A repeated request with the same ID returns the same agent.
 */
client_id?: string, 
/**
 * Profile of the agent.
 */
profile: string, 
/**
 * First prompt.
 */
prompt?: string, 
/**
 * Working directory.
 */
cwd: string, 
/**
 * Overrides the profile's mode.
 */
mode?: Mode, 
/**
 * Overrides the profile's model.
 */
model?: string, 
/**
 * Overrides the profile's driver.
 */
driver?: Driver, };

/**
 * A message between agents and people.
 */
export type Letter = { 
/**
 * Increases with each message.
 */
id: number, 
/**
 * Session ID of the sender; absent for a person.
 */
from?: string, 
/**
 * Session ID of the receiver; absent for a person.
 */
to?: string, 
/**
 * Text of the message.
 */
text: string, 
/**
 * ID of the job that the message is about.
 */
job?: string, 
/**
 * True if Pollux wrote it, to report the result of a job or a message.
 */
notice: boolean, 
/**
 * State of the message.
 */
state: LetterState, 
/**
 * Why the message cannot be delivered.
 */
reason?: string, 
/**
 * Number of delivery attempts.
 */
attempt: number, 
/**
 * When the message was written.
 */
created_at: string, 
/**
 * When the message was delivered or became undeliverable.
 */
ended_at?: string, };

/**
 * The state of a message.
 */
export type LetterState = "waiting" | "claimed" | "delivered" | "dead";

/**
 * Messages between agents and people.
 */
export type Letters = { 
/**
 * Oldest first.
 */
letters: Array<Letter>, };

/**
 * How bad it is.
 */
export type Level = "warning" | "error";

/**
 * One row of a screen.
 */
export type Line = { 
/**
 * Row number, from 0 at the top.
 */
row: number, 
/**
 * Runs of text, each with one style.
 */
runs: Array<Run>, };

/**
 * Output that is not part of a message yet.
 */
export type Live = { 
/**
 * Parts in order of arrival.
 */
parts: Array<LivePart>, };

/**
 * A part of a message in progress.
 */
export type LivePart = { "type": "prompt", 
/**
 * Text of the prompt.
 */
text: string, } | { "type": "text", 
/**
 * The text so far.
 */
text: string, } | { "type": "thinking", 
/**
 * The text so far.
 */
text: string, } | { "type": "tool", 
/**
 * ID of the call.
 */
id: string, 
/**
 * The agent's name of the tool.
 */
name: string, 
/**
 * The arguments.
 */
input: unknown, 
/**
 * What the call does.
 */
meaning?: Meaning, 
/**
 * Final status, once the call has ended.
 */
status?: Status, 
/**
 * Output of the call; only the end of long output.
 */
output?: string, };

/**
 * The device that sent the request.
 */
export type Me = { 
/**
 * Name of this device.
 */
device: string, 
/**
 * Scopes of the device.
 */
scopes: Array<Scope>, };

/**
 * What a tool call does, inferred from the tool's name, arguments and result.
 */
export type Meaning = { "kind": "command", 
/**
 * The command line.
 */
command: string, 
/**
 * The output of the command, without the text that the agent adds.
 */
output?: string, 
/**
 * Its exit code.
 */
exit_code?: number, 
/**
 * The source of each inferred field.
 */
derived: Record<string, string>, } | { "kind": "mutation", 
/**
 * The path of the file.
 */
path: string, 
/**
 * The kind of change, if known.
 */
change?: Change, 
/**
 * The change, as a unified diff.
 */
diff?: string, 
/**
 * The source of each inferred field.
 */
derived: Record<string, string>, } | { "kind": "card", 
/**
 * The query, pattern or URL.
 */
title: string, 
/**
 * The source of each inferred field.
 */
derived: Record<string, string>, } | { "kind": "diff", 
/**
 * The diff.
 */
diff: string, 
/**
 * The source of the diff.
 */
derived: Record<string, string>, };

/**
 * A team agent.
 */
export type Member = { 
/**
 * Session ID.
 */
session: string, 
/**
 * Name of the agent.
 */
name: string, 
/**
 * Profile of the agent.
 */
profile: string, 
/**
 * Team: ID of the session that started it.
 */
team: string, 
/**
 * Session ID of the agent that it works for; absent for a person.
 */
parent?: string, 
/**
 * Level in the team: 0 for the first agent.
 */
depth: number, 
/**
 * Status of the agent.
 */
status: SessionStatus, 
/**
 * Permission mode.
 */
mode: Mode, 
/**
 * Working directory.
 */
cwd?: string, 
/**
 * Tokens used by the agent.
 */
tokens: number, 
/**
 * ID of the job that it is working on.
 */
job?: string, 
/**
 * Number of messages that wait for delivery to the agent.
 */
letters: number, 
/**
 * True if the agent has ended and will not be restarted.
 */
gone: boolean, };

/**
 * One finished record of a conversation.
 *
 * It borrows from the bytes that it was read from; [`Message::into_owned`] lets go of them.
 */
export type Message = { 
/**
 * The id from the agent, or `#n` if it has none.
 */
id: string, 
/**
 * The role of the author.
 */
role: Role, 
/**
 * The content of the message.
 */
content: Content, 
/**
 * The time in milliseconds since 1970.
 */
timestamp: number | null, 
/**
 * The agent that wrote it.
 */
tool: Agent, 
/**
 * The model that answered.
 */
model?: string, 
/**
 * The tokens that the answer used.
 */
usage?: Usage, 
/**
 * True if the record has the role `user` but was written by the CLI.
 */
meta?: boolean, 
/**
 * Set on warnings and errors.
 */
level?: Level, 
/**
 * Fields that the newest version of this record has lost, restored from an earlier version.
 */
restored?: Array<string>, 
/**
 * True if the answer is a copy: the agent wrote its history again, perhaps with new ids.
 */
copied?: boolean, 
/**
 * True if the record is no longer part of the conversation and was requested anyway.
 */
recovered?: boolean, 
/**
 * The upstream object, byte for byte: `_original` in JSON.
 */
_original?: JsonValue, };

/**
 * A page of messages, oldest first.
 */
export type Messages = { 
/**
 * The messages.
 */
messages: Array<Recorded>, 
/**
 * Position to request older messages with; absent if there are none.
 */
before?: number, 
/**
 * Events between these messages that are not messages: tool calls, ends of turns, notices. The oldest may be missing.
 */
facts?: Array<Numbered>, 
/**
 * Epoch of the positions. Positions from another epoch are not valid.
 */
epoch: number, };

/**
 * What the agent may do without asking.
 */
export type Mode = "default" | "auto_edit" | "yolo" | "plan";

/**
 * A model.
 */
export type Model = { 
/**
 * ID to request the model with.
 */
id: string, 
/**
 * Display name.
 */
label: string, 
/**
 * Size of the context window in tokens, if known.
 */
context?: number, };

/**
 * Available models.
 */
export type Models = { 
/**
 * The models.
 */
models: Array<Model>, };

/**
 * Resumes a paused job with a larger budget.
 */
export type More = { 
/**
 * Additional tokens.
 */
tokens?: number, 
/**
 * Additional seconds.
 */
seconds?: number, };

/**
 * An event with its sequence number.
 */
export type Numbered = { 
/**
 * Sequence number: one more than that of the previous event.
 */
seq: number, 
/**
 * Number of times that the history has been rewritten since the session started.
 */
epoch: number, 
/**
 * When Pollux recorded the event.
 */
recorded_at: string, 
/**
 * The event. Clients should show events of unknown types in raw form.
 */
event: Event, 
/**
 * Truncated texts: the JSON pointer of each, and its full length in bytes.
 */
cut?: Array<[string, number]>, };

/**
 * A summary of a profile.
 */
export type OfferedProfile = { 
/**
 * Name of the profile.
 */
name: string, 
/**
 * Description of the profile.
 */
description: string, 
/**
 * Permission mode, if the profile sets one.
 */
mode?: Mode, };

/**
 * A pending question.
 */
export type OpenQuestion = { 
/**
 * The complete question.
 */
question: Question, 
/**
 * Hash of the question as displayed. An answer with this hash is valid for this question only.
 */
shown: string, 
/**
 * The answer that was sent but that the agent has not confirmed yet.
 */
sent?: Outcome, };

/**
 * The outcome of a question.
 */
export type Outcome = { "outcome": "chosen", 
/**
 * The id of the choice.
 */
choice: string, 
/**
 * The name of the client that chose it, if known.
 */
by?: string, } | { "outcome": "cancelled" } | { "outcome": "elsewhere" };

/**
 * A pairing code, valid for one device and one use.
 */
export type Pair = { 
/**
 * The pairing code.
 */
code: string, 
/**
 * Pairing URLs. The code follows the `#`, so browsers do not send it to a server.
 */
urls: Array<string>, 
/**
 * Fingerprint of the certificate, if it is self-signed.
 */
fingerprint?: string, 
/**
 * When the code expires.
 */
expires_at: string, };

/**
 * Pairs a device with a code.
 */
export type Paired = { 
/**
 * The pairing code.
 */
code: string, 
/**
 * Name that the device chose; replaces the name from the pairing request.
 */
name?: string, };

/**
 * Requests a pairing code for a new device.
 */
export type Pairing = { 
/**
 * Name of the device.
 */
name: string, 
/**
 * Scopes of the device.
 */
scopes: Array<Scope>, 
/**
 * Lifetime of the code in minutes, at most 60 (default: 2).
 */
minutes?: number, };

/**
 * A part of a message that grows.
 */
export type Part = "text" | "thinking";

/**
 * The phase in which a run failed.
 */
export type Phase = "find" | "start" | "handshake" | "auth" | "request" | "response" | "tool" | "budget" | "cancelled";

/**
 * The agent's screen. The first frame has all rows; later frames have only the changed rows.
 */
export type Picture = { 
/**
 * ID of the session.
 */
session_id: string, 
/**
 * True if the frame has all rows and replaces the previous screen.
 */
whole: boolean, 
/**
 * Width in columns. This is the size of the desktop window until a client requests another size.
 */
columns: number, 
/**
 * Height in rows.
 */
rows: number, 
/**
 * True while a client has resized the window and not restored it.
 */
fitted: boolean, 
/**
 * Row and column of the cursor, from 0; absent if it is hidden.
 */
cursor?: [number, number], 
/**
 * Window title.
 */
title: string, 
/**
 * The rows.
 */
lines: Array<Line>, };

/**
 * An error, in the format that all interfaces use.
 */
export type Problem = { 
/**
 * Error code for programs, such as `unknown_session`.
 */
code: string, 
/**
 * What failed, and why.
 */
message: string, 
/**
 * How to fix it.
 */
hint?: string, };

/**
 * Available profiles.
 */
export type Profiles = { 
/**
 * Valid profiles, sorted by name.
 */
profiles: Array<OfferedProfile>, };

/**
 * Directories in which devices may start sessions.
 */
export type Projects = { 
/**
 * Absolute paths with symlinks resolved.
 */
projects: string[], };

/**
 * The server key that a browser needs to subscribe to push notifications.
 */
export type PushKey = { 
/**
 * `applicationServerKey`, in URL-safe Base64.
 */
key: string, };

/**
 * The agent asks a question and waits for the answer.
 */
export type Question = { 
/**
 * The id, used to answer it. Unique within one process of the agent.
 */
id: string, 
/**
 * The kind of question.
 */
kind: QuestionKind, 
/**
 * The id of the tool call that waits for the answer, if any.
 */
tool_id?: string, 
/**
 * The agent's name of the tool.
 */
tool?: string, 
/**
 * The text of the question.
 */
text: string, 
/**
 * What the tool call would do: the command, or the change as a diff.
 */
meaning?: Meaning, 
/**
 * The choices, in the agent's order.
 */
options: Array<Choice>, };

/**
 * The kind of a question.
 */
export type QuestionKind = "command" | "edit" | "fetch" | "mcp" | "plan" | "choice" | "trust" | "sign_in" | "quota" | "loop" | "quit" | "other";

/**
 * A queued prompt.
 */
export type Queued = { 
/**
 * The id of the command that sent it.
 */
id: string, 
/**
 * The text.
 */
text: string, 
/**
 * The name of the sender.
 */
by: string, 
/**
 * Images of the prompt.
 */
images?: Array<string>, 
/**
 * True if it may have reached the agent, because Pollux stopped during the delivery.
 */
doubt?: boolean, };

/**
 * A message and its position in the session.
 */
export type Recorded = { 
/**
 * Position among the messages of the session. It increases, with gaps where messages were removed.
 */
position: number, 
/**
 * Sequence number of the event that recorded it.
 */
seq: number, 
/**
 * The message, without `_original`.
 */
message: Message, 
/**
 * Truncated texts: the JSON pointer of each, and its full length in bytes.
 */
cut?: Array<[string, number]>, };

/**
 * A command that Pollux's rules rejected.
 */
export type Refusal = { 
/**
 * A machine-readable code, such as `unknown_choice`.
 */
code: string, 
/**
 * A human-readable reason.
 */
message: string, 
/**
 * A suggested fix.
 */
hint?: string, };

/**
 * The reply to a command.
 */
export type Reply = { "done": Done } | { "refused": Refusal };

/**
 * The output of a tool: one text, or blocks if it has several parts.
 */
export type ResultContent = string | Array<Block>;

/**
 * Why a history was rewritten.
 */
export type Rewrite = "rewind" | "checkpoint" | "replaced" | "retried";

/**
 * The role of the author.
 */
export type Role = "user" | "assistant" | "system";

/**
 * A piece of a row that looks alike.
 *
 * ```
 * use pollux_agent::terminal::{Emulator, Size};
 *
 * let mut terminal = Emulator::new(Size { columns: 20, rows: 1 });
 * terminal.feed(b"one \x1b[1;31mtwo\x1b[0m");
 * let row = &terminal.runs()[0];
 * assert_eq!((row[0].text.as_str(), row[1].text.as_str()), ("one ", "two"));
 * assert_eq!((row[1].fg.as_deref(), row[1].bold), (Some("1"), true));
 * ```
 */
export type Run = { 
/**
 * The text.
 */
text: string, 
/**
 * The colour of the text: `0` to `15` for those that the terminal chooses, else `#rrggbb`; none for its own.
 */
fg?: string, 
/**
 * The colour behind the text.
 */
bg?: string, 
/**
 * Bold.
 */
bold?: boolean, 
/**
 * Dim.
 */
dim?: boolean, 
/**
 * Italic.
 */
italic?: boolean, 
/**
 * Underlined.
 */
underline?: boolean, 
/**
 * With the colours exchanged.
 */
inverse?: boolean, };

/**
 * A permission of a device.
 */
export type Scope = "view" | "prompt" | "approve" | "admin";

/**
 * Search results.
 */
export type Search = { 
/**
 * Newest first.
 */
found: Array<Found>, };

/**
 * A frame from the daemon to the client. Clients must ignore unknown frame types.
 */
export type ServerFrame = { "type": "hello" } & Hello | { "type": "sessions", 
/**
 * Newest first.
 */
sessions: Array<Summary>, } | { "type": "session", 
/**
 * The new summary. Ignore it unless its `version` is greater than the client's.
 */
session: Summary, } | { "type": "resumed", 
/**
 * ID of the session.
 */
session_id: string, 
/**
 * Events after this sequence number follow.
 */
after: number, 
/**
 * Epoch of the events.
 */
epoch: number, } | { "type": "snapshot" } & Snapshot | { "type": "events", 
/**
 * ID of the session.
 */
session_id: string, 
/**
 * The events.
 */
events: Array<Numbered>, 
/**
 * False if more events follow immediately.
 */
caught_up: boolean, } | { "type": "team" } | { "type": "screen" } & Picture | { "type": "heartbeat", 
/**
 * Time of the daemon.
 */
at: string, } | { "type": "result", 
/**
 * ID of the command.
 */
id: string, 
/**
 * The result.
 */
reply: Reply, } | { "type": "error", 
/**
 * ID of the command, or of the session that the client subscribed to.
 */
id?: string, 
/**
 * The error.
 */
error: Problem, };

/**
 * The changed properties of a session.
 */
export type SessionChange = { 
/**
 * The title, as given by the agent.
 */
title?: string, 
/**
 * The status of the agent.
 */
status?: SessionStatus, 
/**
 * What the agent may do without asking.
 */
mode?: Mode, 
/**
 * The agent's own name of the mode, if Pollux does not know the mode.
 */
mode_id?: string, 
/**
 * The current model, as the agent calls it.
 */
model?: string, };

/**
 * The status of an agent.
 */
export type SessionStatus = "starting" | "idle" | "working" | "waiting" | "error" | "exited";

/**
 * All sessions.
 */
export type Sessions = { 
/**
 * Newest first.
 */
sessions: Array<Summary>, };

/**
 * Creates a share link for a session.
 */
export type Share = { 
/**
 * Lifetime in hours: 24 by default, at most one month.
 */
hours?: number, };

/**
 * A read-only link to a session.
 */
export type ShareLink = { 
/**
 * URLs of the link. The token follows the `#`, so browsers do not send it to a server.
 */
urls: Array<string>, 
/**
 * When the link expires.
 */
expires_at: string, };

/**
 * A shared session, with secrets removed.
 */
export type Shared = { 
/**
 * Title of the session.
 */
title?: string, 
/**
 * A page of messages, oldest first.
 */
messages: Array<Recorded>, 
/**
 * Position to request older messages with; absent if there are none.
 */
before?: number, 
/**
 * When the link expires.
 */
expires_at: string, };

/**
 * A slash command of the agent.
 */
export type Slash = { 
/**
 * Name, including the slash.
 */
name: string, 
/**
 * What it does.
 */
description: string, };

/**
 * Slash commands of the agent.
 */
export type SlashCommands = { 
/**
 * Sorted by name.
 */
commands: Array<Slash>, };

/**
 * The complete state of a session, for a client that has no events of it.
 */
export type Snapshot = { 
/**
 * ID of the session.
 */
session_id: string, 
/**
 * Why the daemon sent a snapshot instead of the missing events.
 */
why: Why, 
/**
 * Sequence number of the last event in the snapshot.
 */
seq: number, 
/**
 * Epoch of that event.
 */
epoch: number, 
/**
 * Summary of the session.
 */
session: Summary, 
/**
 * The last page of messages, oldest first.
 */
messages: Array<Recorded>, 
/**
 * Position to request older messages with; absent if there are none.
 */
before?: number, 
/**
 * Events between these messages that are not messages: tool calls, ends of turns, notices. The oldest may be missing.
 */
facts?: Array<Numbered>, 
/**
 * Output that is not part of a message yet.
 */
live: Live, };

/**
 * The source of an event.
 */
export type Source = "stream" | "pollux" | "session_file" | "acp" | "screen" | "hook";

/**
 * How a call ended.
 */
export type Status = "success" | "error" | "cancelled";

/**
 * Why a turn ended.
 */
export type StopReason = "end_turn" | "cancelled" | "max_turns" | "timeout" | "error";

/**
 * A browser's push subscription, as the Push API returns it.
 */
export type Subscribe = { 
/**
 * URL of the push service for this browser.
 */
endpoint: string, 
/**
 * Keys of the subscription.
 */
keys: SubscribeKeys, };

/**
 * The keys of a push subscription.
 */
export type SubscribeKeys = { 
/**
 * Public key of the browser.
 */
p256dh: string, 
/**
 * Authentication secret of the browser.
 */
auth: string, };

/**
 * A summary of a session.
 */
export type Summary = { 
/**
 * ID in Pollux, which never changes.
 */
id: string, 
/**
 * Increases with each change of this summary. Ignore a summary with a lower version than the one you have.
 */
version: number, 
/**
 * The agent's ID of the session, once known.
 */
agent_id?: string, 
/**
 * How Pollux drives the agent; absent if the session runs outside Pollux and is read-only.
 */
driver?: Driver, 
/**
 * Working directory of the agent.
 */
cwd?: string, 
/**
 * Git branch at the time of the last message.
 */
branch?: string, 
/**
 * Title of the session.
 */
title?: string, 
/**
 * Status of the agent.
 */
status: SessionStatus, 
/**
 * Permission mode.
 */
mode: Mode, 
/**
 * When the mode expires.
 */
mode_until?: string, 
/**
 * Name of the model.
 */
model?: string, 
/**
 * Time of the last output, if a working agent has been silent for too long.
 */
stalled_since?: string, 
/**
 * Since when the session cannot be recorded because the disk is full.
 */
unwritten_since?: string, 
/**
 * Pending questions.
 */
questions: Array<OpenQuestion>, 
/**
 * Queued prompts.
 */
queue: Array<Queued>, 
/**
 * True if the queue is paused until a client sends `continue`.
 */
held: boolean, 
/**
 * The prompt that was sent to the agent, until the agent confirms it.
 */
sending?: Queued, 
/**
 * Sequence number of the last event.
 */
seq: number, 
/**
 * Number of times that the history has been rewritten since the session started.
 */
epoch: number, 
/**
 * Number of messages.
 */
messages: number, 
/**
 * Total number of tokens.
 */
tokens: number, 
/**
 * Context window usage, if known.
 */
context?: Context, 
/**
 * The latest activity, in one line.
 */
activity?: string, 
/**
 * When the session started.
 */
created_at: string, 
/**
 * When the session last changed.
 */
updated_at: string, };

/**
 * All team agents.
 */
export type Teams = { 
/**
 * Each agent follows the one that it works for.
 */
members: Array<Member>, 
/**
 * Number of unread messages for the user.
 */
unread: number, };

/**
 * Allows a directory.
 */
export type Trust = { 
/**
 * Path of the directory.
 */
path: string, };

/**
 * Ends a push subscription.
 */
export type Unsubscribe = { 
/**
 * URL of the push service for this browser.
 */
endpoint: string, };

/**
 * Tokens, exactly as Gemini counts them: `input` holds `cached`, and `total` is the sum of input, output, thoughts
 * and tool.
 */
export type Usage = { 
/**
 * The prompt, its cached part included.
 */
input_tokens: number, 
/**
 * The answer, without thoughts.
 */
output_tokens: number, 
/**
 * The sum.
 */
total_tokens: number, 
/**
 * The part of the prompt that was cached.
 */
cached_tokens: number, 
/**
 * Thoughts.
 */
thoughts_tokens: number, 
/**
 * What tools added to the prompt.
 */
tool_tokens: number, };

/**
 * Token usage by model.
 */
export type UsageBody = { 
/**
 * Highest usage first.
 */
models: Array<Counted>, };

/**
 * The scope of a token count.
 */
export type UsageScope = "message" | "model" | "run";

/**
 * Reads a shared session.
 */
export type Watched = { 
/**
 * Token from the link.
 */
token: string, 
/**
 * Return messages before this position.
 */
before?: number, };

/**
 * Why a client receives a snapshot instead of the missing events.
 */
export type Why = "fresh" | "epoch" | "gone" | "far";

/**
 * What to do with a worker's git worktree.
 */
export type Worktree = "keep" | "merge";

/**
 * Sends a message to an agent.
 */
export type Write = { 
/**
 * Receiver: an agent name or a session ID.
 */
to: string, 
/**
 * Text of the message.
 */
text: string, };
