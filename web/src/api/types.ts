// Made from the Rust types by `cargo xtask types`. Do not edit.

/**
 * What came of a command.
 */
export type Accepted = { 
/**
 * The id of the command.
 */
id: string, 
/**
 * What came of it.
 */
reply: Reply, };

/**
 * An agent that somebody runs already, in tmux.
 */
export type Adopt = { 
/**
 * tmux's name of its pane, such as `%3`; needed where there are several.
 */
pane?: string, 
/**
 * The tmux server: a name or a path. Without this the one that the user's own `tmux` talks to. Only the user of this
 * machine may name one.
 */
socket?: string, };

/**
 * The program that is driven.
 */
export type Agent = "gemini" | "other";

/**
 * Who did what.
 */
export type AuditEntry = { 
/**
 * Rises.
 */
id: number, 
/**
 * When.
 */
at: string, 
/**
 * Who: the name of the device.
 */
device: string, 
/**
 * What, in one word, such as `answer`.
 */
action: string, 
/**
 * To which session.
 */
session_id?: string, 
/**
 * The rest: the choice, the hash of what was shown, what came of it.
 */
detail: Record<string, unknown>, };

/**
 * A session to begin.
 */
export type Begin = { 
/**
 * Chosen by the client. The same id once more gives the same session once more.
 */
client_id?: string, 
/**
 * Where the agent shall work.
 */
cwd: string, 
/**
 * How it is driven.
 */
driver?: Driver, 
/**
 * What it may do without asking.
 */
mode?: Mode, 
/**
 * The model.
 */
model?: string, 
/**
 * Go on with a session: its id, of Pollux or of the agent.
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
 * Claude's name where there is one, else the agent's own.
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
 * True where the tool failed. A cancelled call has not failed.
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
 * The real path of the directory.
 */
path: string, 
/**
 * The names of the directories in it.
 */
directories: Array<string>, };

/**
 * What a device is told that is called.
 */
export type Call = { 
/**
 * What it is about.
 */
kind: CallKind, 
/**
 * What the session is about.
 */
title: string, 
/**
 * What is asked, or what was said last.
 */
body: string, 
/**
 * The session.
 */
session_id?: string, };

/**
 * Why a device is called.
 */
export type CallKind = "question" | "answered" | "done" | "failed" | "stalled" | "test";

/**
 * How many browsers of this device were called.
 */
export type Called = { 
/**
 * How many.
 */
called: number, };

/**
 * What the daemon can do.
 */
export type Capabilities = { 
/**
 * The version of Pollux.
 */
pollux: string, 
/**
 * The version of the API.
 */
api: number, 
/**
 * What it can do beyond that.
 */
features: Array<string>, 
/**
 * How agents can be driven.
 */
drivers: Array<Driver>, };

/**
 * What was done to a file.
 */
export type Change = "created" | "edited";

/**
 * One thing that can be answered.
 */
export type Choice = { 
/**
 * Its id, in the agent's words where it has one.
 */
id: string, 
/**
 * What a person reads.
 */
label: string, 
/**
 * What it does.
 */
effect: Effect, };

/**
 * What a client says.
 */
export type ClientFrame = { "type": "subscribe", 
/**
 * Which session.
 */
session_id: string, 
/**
 * The number of the last event that was handled.
 */
after?: number, 
/**
 * Its epoch.
 */
epoch?: number, } | { "type": "unsubscribe", 
/**
 * Which session.
 */
session_id: string, } | { "type": "watch" } | { "type": "command", 
/**
 * Chosen by the client. The same id once more is not run once more.
 */
id: string, 
/**
 * Which session.
 */
session_id: string, 
/**
 * What to do.
 */
command: Command, } | { "type": "screen", 
/**
 * Which session.
 */
session_id: string, 
/**
 * True to begin, false to end.
 */
on: boolean, } | { "type": "visible", 
/**
 * True where it is on a screen.
 */
visible: boolean, } | { "type": "ping" };

/**
 * What a person or a program asks of a session.
 */
export type Command = { "type": "prompt", 
/**
 * The text.
 */
text: string, 
/**
 * Pictures that belong to it, by the names that they were given when they were sent.
 */
images?: Array<string>, } | { "type": "answer", 
/**
 * Which question.
 */
question_id: string, 
/**
 * The id of the choice.
 */
choice: string, 
/**
 * What is said with it.
 */
reason?: string, 
/**
 * The hash of the question as it was shown. Without it nothing is checked but the id.
 */
shown?: string, } | { "type": "interrupt" } | { "type": "mode", 
/**
 * Which one.
 */
mode: Mode, 
/**
 * For how many seconds; then the mode before comes back.
 */
seconds?: number, } | { "type": "model", 
/**
 * Which one, in the agent's words.
 */
model: string, } | { "type": "edit", 
/**
 * The id of the command that brought it.
 */
queued: string, 
/**
 * The new text.
 */
text: string, } | { "type": "cancel", 
/**
 * The id of the command that brought it.
 */
queued: string, } | { "type": "keys", 
/**
 * A text to type first.
 */
text?: string, 
/**
 * Then these keys: `Enter`, `Escape`, `Up`, `C-c` and so on.
 */
keys?: Array<string>, } | { "type": "fit", 
/**
 * How wide.
 */
columns: number, 
/**
 * How high.
 */
rows: number, } | { "type": "give_back" } | { "type": "continue" } | { "type": "stop" };

/**
 * A command for a session.
 */
export type CommandBody = { 
/**
 * Chosen by the client. The same id once more is not run once more.
 */
id: string, 
/**
 * What to do.
 */
command: Command, };

/**
 * What a message holds: blocks, or the upstream string where there is none.
 */
export type Content = Array<Block> | string;

/**
 * How much a model has in mind.
 */
export type Context = { 
/**
 * The tokens of the last answer, with all that was said before it.
 */
tokens: number, 
/**
 * How many the model can hold, where that is known.
 */
limit?: number, };

/**
 * The tokens of one model.
 */
export type Counted = { 
/**
 * The model.
 */
model: string, 
/**
 * In how many messages.
 */
messages: number, 
/**
 * All tokens.
 */
tokens: number, };

/**
 * A device that was let in.
 */
export type Device = { 
/**
 * Its id.
 */
id: string, 
/**
 * What it is called.
 */
name: string, 
/**
 * What it may do.
 */
scopes: Array<Scope>, 
/**
 * When it was let in.
 */
created_at: string, 
/**
 * When it was here last.
 */
seen_at?: string, };

/**
 * All devices.
 */
export type Devices = { 
/**
 * The newest first.
 */
devices: Array<Device>, };

/**
 * What was done.
 */
export type Done = { "done": "sent" } | { "done": "queued", 
/**
 * The id by which it can be edited and taken back.
 */
id: string, 
/**
 * How many wait before it.
 */
before: number, } | { "done": "answered", 
/**
 * True where it is the answer of this command; false where somebody was faster.
 */
yours: boolean, } & ({ "outcome": "chosen", 
/**
 * The id of the choice.
 */
choice: string, 
/**
 * Who chose it, where that is known.
 */
by?: string, } | { "outcome": "cancelled" } | { "outcome": "elsewhere" }) | { "done": "edited" } | { "done": "cancelled" };

/**
 * How the agent is driven.
 */
export type Driver = "headless" | "acp" | "terminal";

/**
 * What a choice does.
 */
export type Effect = "allow_once" | "allow_always" | "reject_once" | "reject_always" | "words" | "other";

/**
 * A fact about a session.
 */
export type Event = { 
/**
 * The boundary that said so.
 */
source: Source, 
/**
 * Set where the fact was concluded and not read: from what.
 */
derived?: string, 
/**
 * When, where the source says so.
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
 * When it began.
 */
started_at?: string, 
/**
 * `main` or `subagent`.
 */
kind?: string, 
/**
 * The model that was asked for, in the agent's words; which one answered is in the messages.
 */
model?: string, } | { "type": "session_changed" } & SessionChange | { "type": "session_rekeyed", 
/**
 * What it was called until now.
 */
from: string, 
/**
 * Its id.
 */
session_id: string, } | { "type": "asked" } & Question | { "type": "answered", 
/**
 * Which one.
 */
question_id: string, } & ({ "outcome": "chosen", 
/**
 * The id of the choice.
 */
choice: string, 
/**
 * What was said with it.
 */
reason?: string, } | { "outcome": "cancelled" } | { "outcome": "elsewhere" }) | { "type": "turn_started", 
/**
 * The prompt, as the agent understood it.
 */
prompt: string, } | { "type": "text_grew", 
/**
 * What is growing.
 */
part: Part, 
/**
 * What it grew by. Blank text is text.
 */
text: string, 
/**
 * The message that it is part of, where the source knows.
 */
message_id?: string, } | { "type": "tool_started", 
/**
 * The id of the call, the same in every source.
 */
id: string, 
/**
 * The agent's own name of the tool.
 */
name: string, 
/**
 * The arguments, as the model wrote them.
 */
input: unknown, 
/**
 * What the call is about.
 */
meaning?: Meaning, } | { "type": "tool_ended", 
/**
 * The id of the call.
 */
id: string, 
/**
 * The agent's own name of the tool, where the call was seen.
 */
name?: string, 
/**
 * How it ended.
 */
status: Status, 
/**
 * True where another source told of this end before: this one knows more.
 */
changed: boolean, 
/**
 * What the tool gave back.
 */
output?: string, 
/**
 * What went wrong.
 */
error?: string, 
/**
 * What came of it.
 */
meaning?: Meaning, } | { "type": "usage_changed", 
/**
 * What they were counted over.
 */
scope: UsageScope, 
/**
 * The tokens.
 */
usage: Usage, 
/**
 * The model that took them.
 */
model?: string, 
/**
 * The message that they were taken for.
 */
message_id?: string, } | { "type": "turn_ended", 
/**
 * Why.
 */
stop_reason: StopReason, 
/**
 * How long it took, as the agent counts.
 */
duration_ms?: number, 
/**
 * How many calls there were, as the agent counts.
 */
tool_calls?: number, 
/**
 * What went wrong.
 */
error?: Failure, } | { "type": "message_recorded", 
/**
 * True where a message with this id was recorded before, and this one takes its place.
 */
changed: boolean, 
/**
 * The message.
 */
message: Message, } | { "type": "history_rewritten", 
/**
 * How often that has happened to this session.
 */
epoch: number, 
/**
 * Why.
 */
reason: Rewrite, 
/**
 * The ids that are gone.
 */
removed: Array<string>, 
/**
 * Text that was seen growing and is part of no message: an attempt that failed and was made again.
 */
superseded?: string, } | { "type": "notice", 
/**
 * How bad it is.
 */
level: Level, 
/**
 * What it is.
 */
text: string, } | { "type": "unread", 
/**
 * Where, counted from one; nothing where the source has no lines.
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
 * The number of the last event that there is.
 */
seq: number, 
/**
 * Events up to this one are no longer kept.
 */
floor: number, 
/**
 * The epoch.
 */
epoch: number, };

/**
 * Why a run did not do what was asked.
 */
export type Failure = { 
/**
 * How far it came.
 */
phase: Phase, 
/**
 * One word for programs, such as `not_signed_in`.
 */
code: string, 
/**
 * What failed, for people.
 */
message: string, 
/**
 * What to do about it. Every failure is made with one; those of old logs may have none.
 */
hint?: string, 
/**
 * True where the same run may succeed when it is tried again.
 */
retryable: boolean, 
/**
 * The agent's exit code; none where it was not started, or where a signal ended it.
 */
exit_code?: number, 
/**
 * The signal that ended the agent.
 */
signal?: number, 
/**
 * The answer of the model's server, where there was one.
 */
http_status?: number, 
/**
 * The last that the agent wrote to stderr.
 */
stderr?: string, 
/**
 * The code of the JSON-RPC error, where the agent answered with one.
 */
rpc_code?: number, 
/**
 * What the agent said about it, as it said it.
 */
upstream?: JsonValue, };

/**
 * Files of a project that fit what somebody has begun to write.
 */
export type Files = { 
/**
 * Their paths from the project's directory; directories end with `/`.
 */
files: Array<string>, };

/**
 * A place in a session.
 */
export type Found = { 
/**
 * The session.
 */
session_id: string, 
/**
 * The event.
 */
seq: number, 
/**
 * Its kind.
 */
kind: string, 
/**
 * The words around it.
 */
snippet: string, 
/**
 * When it was recorded.
 */
recorded_at: string, };

/**
 * A job to give.
 */
export type Give = { 
/**
 * Chosen by the client. The same id once more gives the same job once more.
 */
client_id?: string, 
/**
 * How.
 */
kind: JobKind, 
/**
 * To an agent of this profile.
 */
profile: string, 
/**
 * What is to be done.
 */
message: string, 
/**
 * Where; without it, where the caller works.
 */
cwd?: string, 
/**
 * How long the caller waits, in seconds.
 */
timeout?: number, 
/**
 * What it may take.
 */
budget?: JobBudget, 
/**
 * In a worktree of its own.
 */
worktree?: Worktree, 
/**
 * The worker stays when it is done.
 */
keep?: boolean, 
/**
 * Another driver than the profile's.
 */
driver?: Driver, };

/**
 * The daemon is there. The one thing that is told to those who are not let in.
 */
export type Health = { 
/**
 * Always true.
 */
ok: boolean, 
/**
 * The version of the API.
 */
api: number, };

/**
 * Who is there, and what it can do.
 */
export type Hello = { 
/**
 * The version of Pollux.
 */
pollux: string, 
/**
 * The version of the API.
 */
api: number, 
/**
 * What it can do beyond that.
 */
features: Array<string>, 
/**
 * How often a heartbeat comes, in seconds.
 */
heartbeat_seconds: number, 
/**
 * The name of this device.
 */
device: string, 
/**
 * What this device may do.
 */
scopes: Array<Scope>, };

/**
 * A picture that will belong to a prompt.
 */
export type Image = { 
/**
 * Its kind, such as `image/png`.
 */
media_type: string, 
/**
 * Its bytes, in Base64.
 */
data: string, };

/**
 * The data of a picture.
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
 * A piece of work that somebody gave to an agent.
 */
export type Job = { 
/**
 * Its id.
 */
id: string, 
/**
 * How it was given.
 */
kind: JobKind, 
/**
 * Who gave it: a session; none for a person.
 */
caller?: string, 
/**
 * Who works on it, once there is one.
 */
worker?: string, 
/**
 * What its worker is called.
 */
name: string, 
/**
 * Its worker's profile.
 */
profile: string, 
/**
 * What is to be done.
 */
prompt: string, 
/**
 * Where it is.
 */
state: JobState, 
/**
 * Why it is there.
 */
why?: string, 
/**
 * What its worker waits for.
 */
question?: JobQuestion, 
/**
 * What came of it.
 */
result?: JobResult, 
/**
 * What it may take.
 */
budget?: JobBudget, 
/**
 * When it was given.
 */
created_at: string, 
/**
 * When it ended.
 */
ended_at?: string, };

/**
 * What one job may take, as clients see it.
 */
export type JobBudget = { tokens?: number, seconds?: number, };

/**
 * How a job was given.
 */
export type JobKind = "handoff" | "assign";

/**
 * A question of a worker.
 */
export type JobQuestion = { 
/**
 * Its id.
 */
id: string, 
/**
 * What is asked, in one line.
 */
about: string, 
/**
 * The choices: id and words.
 */
options: Array<[string, string]>, };

/**
 * What came of a job.
 */
export type JobResult = { 
/**
 * The worker's last answer, to the letter.
 */
text: string, 
/**
 * Where the answer was read instead, without its letters being sure: `screen`, where the session file never had it.
 */
derived?: string, 
/**
 * The tokens that it took.
 */
tokens: number, 
/**
 * The files that it changed.
 */
changed: Array<string>, 
/**
 * What became of its worktree.
 */
worktree?: string, };

/**
 * Where a job is.
 */
export type JobState = "starting" | "working" | "waiting" | "paused" | "done" | "failed" | "timed_out" | "cancelled";

/**
 * All jobs.
 */
export type Jobs = { 
/**
 * The newest first.
 */
jobs: Array<Job>, };

export type JsonValue = number | string | boolean | Array<JsonValue> | { [key in string]: JsonValue } | null;

/**
 * A picture that is kept.
 */
export type Kept = { 
/**
 * The name by which a prompt names it.
 */
name: string, };

/**
 * An agent to launch.
 */
export type Launch = { 
/**
 * Chosen by the client. The same id once more gives the same agent once more.
 */
client_id?: string, 
/**
 * Its profile.
 */
profile: string, 
/**
 * A first prompt.
 */
prompt?: string, 
/**
 * Where it works.
 */
cwd: string, 
/**
 * Another mode than the profile's.
 */
mode?: Mode, 
/**
 * Another model than the profile's.
 */
model?: string, 
/**
 * Another driver than the profile's.
 */
driver?: Driver, };

/**
 * A letter.
 */
export type Letter = { 
/**
 * Rises with each letter.
 */
id: number, 
/**
 * Who wrote it: a session; none for a person.
 */
from?: string, 
/**
 * Whose it is: a session; none for a person.
 */
to?: string, 
/**
 * What it says.
 */
text: string, 
/**
 * The job that it is about.
 */
job?: string, 
/**
 * True where Pollux wrote it: what became of a job, or of a letter.
 */
notice: boolean, 
/**
 * Where it is.
 */
state: LetterState, 
/**
 * Why it is dead.
 */
reason?: string, 
/**
 * How often it was handed over. Each time has a name of its own, so that none is taken for one before.
 */
attempt: number, 
/**
 * When it was written.
 */
created_at: string, 
/**
 * When it was delivered, or died.
 */
ended_at?: string, };

/**
 * Where a letter is.
 */
export type LetterState = "waiting" | "claimed" | "delivered" | "dead";

/**
 * Letters.
 */
export type Letters = { 
/**
 * The oldest first.
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
 * Its number, from 0 at the top.
 */
row: number, 
/**
 * Its pieces, each of which looks alike.
 */
runs: Array<Run>, };

/**
 * What has not become a message yet.
 */
export type Live = { 
/**
 * In the order in which it came.
 */
parts: Array<LivePart>, };

/**
 * A part of a message that is being made.
 */
export type LivePart = { "type": "prompt", 
/**
 * The prompt.
 */
text: string, } | { "type": "text", 
/**
 * So far.
 */
text: string, } | { "type": "thinking", 
/**
 * So far.
 */
text: string, } | { "type": "tool", 
/**
 * Its id.
 */
id: string, 
/**
 * The agent's own name of the tool.
 */
name: string, 
/**
 * The arguments.
 */
input: unknown, 
/**
 * What it is about.
 */
meaning?: Meaning, 
/**
 * How it ended, if it has.
 */
status?: Status, 
/**
 * What it gave back, at most the end of it.
 */
output?: string, };

/**
 * Who I am.
 */
export type Me = { 
/**
 * The name of this device.
 */
device: string, 
/**
 * What it may do.
 */
scopes: Array<Scope>, };

/**
 * What a call is about, concluded from the tool's name, its arguments and its result.
 */
export type Meaning = { "kind": "command", 
/**
 * The command line.
 */
command: string, 
/**
 * What it printed, without what the agent wraps around it.
 */
output?: string, 
/**
 * Its exit code.
 */
exit_code?: number, 
/**
 * From what each fact was concluded.
 */
derived: Record<string, string>, } | { "kind": "mutation", 
/**
 * Which file.
 */
path: string, 
/**
 * What was done to it; nothing where that cannot be known yet.
 */
change?: Change, 
/**
 * The change, as a unified diff.
 */
diff?: string, 
/**
 * From what each fact was concluded.
 */
derived: Record<string, string>, } | { "kind": "card", 
/**
 * What was asked for: a query, a pattern, an address.
 */
title: string, 
/**
 * From what each fact was concluded.
 */
derived: Record<string, string>, } | { "kind": "diff", 
/**
 * The diff.
 */
diff: string, 
/**
 * From what it was concluded.
 */
derived: Record<string, string>, };

/**
 * An agent of a team.
 */
export type Member = { 
/**
 * Its session.
 */
session: string, 
/**
 * What it is called.
 */
name: string, 
/**
 * Its profile.
 */
profile: string, 
/**
 * The team: the session that began it.
 */
team: string, 
/**
 * For whom it works: a session; none for a person.
 */
parent?: string, 
/**
 * How many are above it.
 */
depth: number, 
/**
 * What it does.
 */
status: SessionStatus, 
/**
 * What it may do without asking.
 */
mode: Mode, 
/**
 * Where it works.
 */
cwd?: string, 
/**
 * The tokens that it took.
 */
tokens: number, 
/**
 * The job that it works on.
 */
job?: string, 
/**
 * How many letters wait for it.
 */
letters: number, 
/**
 * True where it has ended for good.
 */
gone: boolean, };

/**
 * One finished record of a conversation.
 *
 * It borrows from the bytes that it was read from; [`Message::into_owned`] lets go of them.
 */
export type Message = { 
/**
 * The id that the agent gave it; `#n` where it gave none.
 */
id: string, 
/**
 * Who speaks.
 */
role: Role, 
/**
 * What is said and done.
 */
content: Content, 
/**
 * When, in milliseconds since 1970.
 */
timestamp: number | null, 
/**
 * Which agent wrote it.
 */
tool: Agent, 
/**
 * The model that answered.
 */
model?: string, 
/**
 * What the answer cost.
 */
usage?: Usage, 
/**
 * True on a record that no person wrote although it stands under the role `user`.
 */
meta?: boolean, 
/**
 * Set on warnings and errors.
 */
level?: Level, 
/**
 * The fields that an earlier version of this record had and the newest one has lost: they are taken from the
 * earlier one.
 */
restored?: Array<string>, 
/**
 * True on an answer that was said before: the agent has written its history down once more, perhaps under new ids.
 */
copied?: boolean, 
/**
 * True on a record that is no longer part of the conversation and was asked for all the same.
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
 * Ask for those before this place; none where there are none.
 */
before?: number, 
/**
 * What happened between them that is no message: calls, ends of turns, notices. The oldest of it may be missing.
 */
facts?: Array<Numbered>, 
/**
 * The epoch: with another one the places mean something else.
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
 * What it is asked for by.
 */
id: string, 
/**
 * What it is, for people.
 */
label: string, 
/**
 * How many tokens it can hold, where that is known.
 */
context?: number, };

/**
 * Models that can be asked for.
 */
export type Models = { 
/**
 * The models.
 */
models: Array<Model>, };

/**
 * More for a job that has paused.
 */
export type More = { 
/**
 * So many tokens more.
 */
tokens?: number, 
/**
 * So many seconds more.
 */
seconds?: number, };

/**
 * An event with its number.
 */
export type Numbered = { 
/**
 * Its number: one more than that of the event before it.
 */
seq: number, 
/**
 * How often history has been rewritten, counted from where the session began.
 */
epoch: number, 
/**
 * When Pollux wrote it down.
 */
recorded_at: string, 
/**
 * The event. A client shows a kind that it does not know as what it is.
 */
event: Event, 
/**
 * The texts in it that were cut: the place of each as a JSON pointer, and how many bytes the whole has.
 */
cut?: Array<[string, number]>, };

/**
 * A profile, in short.
 */
export type OfferedProfile = { 
/**
 * Its name.
 */
name: string, 
/**
 * What it is for.
 */
description: string, 
/**
 * What its agents may do without asking, where it says so.
 */
mode?: Mode, };

/**
 * A question that is open.
 */
export type OpenQuestion = { 
/**
 * The question, whole.
 */
question: Question, 
/**
 * The hash of it. An answer that names it can release nothing else.
 */
shown: string, 
/**
 * The answer that is on its way, where one is: the agent has not confirmed it yet.
 */
sent?: Outcome, };

/**
 * What became of a question.
 */
export type Outcome = { "outcome": "chosen", 
/**
 * The id of the choice.
 */
choice: string, 
/**
 * Who chose it, where that is known.
 */
by?: string, } | { "outcome": "cancelled" } | { "outcome": "elsewhere" };

/**
 * A code that lets one device in, once, for two minutes or as long as was asked for.
 */
export type Pair = { 
/**
 * The code.
 */
code: string, 
/**
 * Where the device goes. The code is behind the `#`, which no server sees.
 */
urls: Array<string>, 
/**
 * The fingerprint of the certificate, where it is our own.
 */
fingerprint?: string, 
/**
 * When the code ends.
 */
expires_at: string, };

/**
 * A code, from the device that wants in.
 */
export type Paired = { 
/**
 * The code.
 */
code: string, 
/**
 * What the device calls itself, where it knows better than whoever made the code.
 */
name?: string, };

/**
 * Asks for a code that lets a new device in.
 */
export type Pairing = { 
/**
 * What the device will be called.
 */
name: string, 
/**
 * What it may do.
 */
scopes: Array<Scope>, 
/**
 * How long the code is good for, at most 60; 2 where nothing is said.
 */
minutes?: number, };

/**
 * A part of a message that grows.
 */
export type Part = "text" | "thinking";

/**
 * How far a run came before it failed.
 */
export type Phase = "find" | "start" | "handshake" | "auth" | "request" | "response" | "tool" | "budget" | "cancelled";

/**
 * What stands on the agent's own screen. The first one has all rows; those that follow have the rows that differ.
 */
export type Picture = { 
/**
 * Which session.
 */
session_id: string, 
/**
 * True where all rows are in it: forget those of before.
 */
whole: boolean, 
/**
 * How wide the screen is. It is the size of the window at the desk, and stays that until somebody asks for another.
 */
columns: number, 
/**
 * How high the screen is.
 */
rows: number, 
/**
 * True where somebody has asked for this size, and nobody has given the window back yet.
 */
fitted: boolean, 
/**
 * Where the cursor is, where it is to be seen: row and column, from 0.
 */
cursor?: [number, number], 
/**
 * The title of the window.
 */
title: string, 
/**
 * The rows, each with its number from 0.
 */
lines: Array<Line>, };

/**
 * What is wrong, in the shape of every border.
 */
export type Problem = { 
/**
 * One word for programs, such as `unknown_session`.
 */
code: string, 
/**
 * What failed, and why.
 */
message: string, 
/**
 * What to do about it.
 */
hint?: string, };

/**
 * What agents can be launched as.
 */
export type Profiles = { 
/**
 * Those that can be used, by name.
 */
profiles: Array<OfferedProfile>, };

/**
 * Directories in which sessions may be started.
 */
export type Projects = { 
/**
 * Their real paths.
 */
projects: string[], };

/**
 * The key that a browser wants to know before it can be called.
 */
export type PushKey = { 
/**
 * `applicationServerKey`, in Base64 for addresses.
 */
key: string, };

/**
 * The agent waits for somebody.
 */
export type Question = { 
/**
 * Its id, which an answer names. Made by the driver, never the same twice while one process of the agent lives.
 */
id: string, 
/**
 * What it is about.
 */
kind: QuestionKind, 
/**
 * The call that waits for the answer, where there is one.
 */
tool_id?: string, 
/**
 * The agent's own name of the tool.
 */
tool?: string, 
/**
 * The question, in the agent's words.
 */
text: string, 
/**
 * What would be done: the command, or the change as a diff.
 */
meaning?: Meaning, 
/**
 * What can be answered, in the order in which it was offered.
 */
options: Array<Choice>, };

/**
 * What a question is about.
 */
export type QuestionKind = "command" | "edit" | "fetch" | "mcp" | "plan" | "choice" | "trust" | "sign_in" | "quota" | "loop" | "quit" | "other";

/**
 * A prompt that waits.
 */
export type Queued = { 
/**
 * The id of the command that brought it.
 */
id: string, 
/**
 * The text.
 */
text: string, 
/**
 * Who sent it.
 */
by: string, 
/**
 * Pictures that belong to it.
 */
images?: Array<string>, 
/**
 * True where it may have reached the agent: Pollux was ended while it handed it over.
 */
doubt?: boolean, };

/**
 * A message in its place.
 */
export type Recorded = { 
/**
 * Its place among the messages of the session. It rises, with gaps where messages were taken back.
 */
position: number, 
/**
 * The event that recorded it.
 */
seq: number, 
/**
 * The message, without `_original`.
 */
message: Message, 
/**
 * The texts in it that were cut: the place of each as a JSON pointer, and how many bytes the whole has.
 */
cut?: Array<[string, number]>, };

/**
 * A command that the rules turn down.
 */
export type Refusal = { 
/**
 * One word for programs, such as `unknown_choice`.
 */
code: string, 
/**
 * Why, for people.
 */
message: string, 
/**
 * What to do instead.
 */
hint?: string, };

/**
 * What the sender of a command is told.
 */
export type Reply = { "done": Done } | { "refused": Refusal };

/**
 * What a tool gave back: one text, or blocks where there is more than one text.
 */
export type ResultContent = string | Array<Block>;

/**
 * Why a history was rewritten.
 */
export type Rewrite = "rewind" | "checkpoint" | "replaced" | "retried";

/**
 * Who speaks.
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
 * What a device may do.
 */
export type Scope = "view" | "prompt" | "approve" | "admin";

/**
 * What was found.
 */
export type Search = { 
/**
 * The newest first.
 */
found: Array<Found>, };

/**
 * What the daemon says. A client passes over kinds that it does not know.
 */
export type ServerFrame = { "type": "hello" } & Hello | { "type": "sessions", 
/**
 * The newest first.
 */
sessions: Array<Summary>, } | { "type": "session", 
/**
 * What it is now. It counts only where its `version` is greater than what the client has.
 */
session: Summary, } | { "type": "resumed", 
/**
 * Which session.
 */
session_id: string, 
/**
 * The number after which events follow.
 */
after: number, 
/**
 * The epoch.
 */
epoch: number, } | { "type": "snapshot" } & Snapshot | { "type": "events", 
/**
 * Which session.
 */
session_id: string, 
/**
 * The events.
 */
events: Array<Numbered>, 
/**
 * False where more are on their way at once.
 */
caught_up: boolean, } | { "type": "team" } | { "type": "screen" } & Picture | { "type": "heartbeat", 
/**
 * Its time.
 */
at: string, } | { "type": "result", 
/**
 * Its id.
 */
id: string, 
/**
 * What came of it.
 */
reply: Reply, } | { "type": "error", 
/**
 * The id of the command, or of the session that was subscribed to.
 */
id?: string, 
/**
 * What is wrong.
 */
error: Problem, };

/**
 * What changed about a session as a whole.
 */
export type SessionChange = { 
/**
 * What it is about, in the agent's words.
 */
title?: string, 
/**
 * What the agent does.
 */
status?: SessionStatus, 
/**
 * What the agent may do without asking.
 */
mode?: Mode, 
/**
 * The same in the agent's words, where it is a mode that we have no word for.
 */
mode_id?: string, 
/**
 * The model that will be asked, in the agent's words.
 */
model?: string, };

/**
 * What an agent that lives does.
 */
export type SessionStatus = "starting" | "idle" | "working" | "waiting" | "error" | "exited";

/**
 * All sessions.
 */
export type Sessions = { 
/**
 * The newest first.
 */
sessions: Array<Summary>, };

/**
 * How long a link shall show a session.
 */
export type Share = { 
/**
 * For so many hours: a day unless told otherwise, a month at most.
 */
hours?: number, };

/**
 * A link that shows a session.
 */
export type ShareLink = { 
/**
 * Where it is to be seen. The token is behind the `#`, which no server sees.
 */
urls: Array<string>, 
/**
 * Until when.
 */
expires_at: string, };

/**
 * A session that is shown, without its secrets.
 */
export type Shared = { 
/**
 * What it is about.
 */
title?: string, 
/**
 * A page of messages, oldest first.
 */
messages: Array<Recorded>, 
/**
 * Ask for those before this place; none where there are none.
 */
before?: number, 
/**
 * Until when it is shown.
 */
expires_at: string, };

/**
 * A command of the agent itself.
 */
export type Slash = { 
/**
 * Its name, with the slash.
 */
name: string, 
/**
 * What it does.
 */
description: string, };

/**
 * Commands of the agent itself, which a prompt may begin with.
 */
export type SlashCommands = { 
/**
 * In the order of their names.
 */
commands: Array<Slash>, };

/**
 * All that a client needs to show a session that it knows nothing of.
 */
export type Snapshot = { 
/**
 * Which session.
 */
session_id: string, 
/**
 * Why it is not the tail.
 */
why: Why, 
/**
 * The number of the last event that is in it.
 */
seq: number, 
/**
 * Its epoch.
 */
epoch: number, 
/**
 * The session.
 */
session: Summary, 
/**
 * The last page of messages, oldest first.
 */
messages: Array<Recorded>, 
/**
 * Ask for messages before this place; none where there are none.
 */
before?: number, 
/**
 * What happened between them that is no message: calls, ends of turns, notices. The oldest of it may be missing.
 */
facts?: Array<Numbered>, 
/**
 * What has not become a message yet.
 */
live: Live, };

/**
 * The boundary that an event came from.
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
 * A browser's subscription, as it gives it.
 */
export type Subscribe = { 
/**
 * Where calls go.
 */
endpoint: string, 
/**
 * Its keys.
 */
keys: SubscribeKeys, };

/**
 * The keys of a browser's subscription.
 */
export type SubscribeKeys = { 
/**
 * Its public key.
 */
p256dh: string, 
/**
 * Its secret.
 */
auth: string, };

/**
 * What is to be known of a session without reading it.
 */
export type Summary = { 
/**
 * Its id in Pollux, which never changes.
 */
id: string, 
/**
 * Rises with each change of this summary: an older one never replaces a newer one.
 */
version: number, 
/**
 * The agent's own id of it, once it is known.
 */
agent_id?: string, 
/**
 * How it is driven; none where Pollux only reads what the agent writes.
 */
driver?: Driver, 
/**
 * Where the agent works.
 */
cwd?: string, 
/**
 * The git branch there, as it was when something was said last.
 */
branch?: string, 
/**
 * What it is about.
 */
title?: string, 
/**
 * What the agent does.
 */
status: SessionStatus, 
/**
 * What the agent may do without asking.
 */
mode: Mode, 
/**
 * When that ends by itself.
 */
mode_until?: string, 
/**
 * The model.
 */
model?: string, 
/**
 * Since when nothing was heard of an agent that works, where that is too long.
 */
stalled_since?: string, 
/**
 * Since when nothing of it can be written down, because the disk is full.
 */
unwritten_since?: string, 
/**
 * The questions that are open.
 */
questions: Array<OpenQuestion>, 
/**
 * The prompts that wait.
 */
queue: Array<Queued>, 
/**
 * True where they wait until somebody says `continue`.
 */
held: boolean, 
/**
 * The prompt that was handed to the agent, until the agent says that it works on it.
 */
sending?: Queued, 
/**
 * The number of its last event.
 */
seq: number, 
/**
 * How often its history was rewritten, counted from where it began.
 */
epoch: number, 
/**
 * How many messages it has.
 */
messages: number, 
/**
 * All tokens that were counted.
 */
tokens: number, 
/**
 * How much the model has in mind, where that was told.
 */
context?: Context, 
/**
 * What happened last, in one line.
 */
activity?: string, 
/**
 * When it began.
 */
created_at: string, 
/**
 * When something happened last.
 */
updated_at: string, };

/**
 * All agents of teams.
 */
export type Teams = { 
/**
 * Each after the one that it works for.
 */
members: Array<Member>, 
/**
 * How many letters wait for a person.
 */
unread: number, };

/**
 * A directory to allow.
 */
export type Trust = { 
/**
 * Its path.
 */
path: string, };

/**
 * A browser that is called no more.
 */
export type Unsubscribe = { 
/**
 * Where calls went.
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
 * All of it.
 */
total_tokens: number, 
/**
 * The part of the prompt that was cached.
 */
cached_tokens: number, 
/**
 * What was thought.
 */
thoughts_tokens: number, 
/**
 * What tools added to the prompt.
 */
tool_tokens: number, };

/**
 * Tokens by model.
 */
export type UsageBody = { 
/**
 * The most first.
 */
models: Array<Counted>, };

/**
 * What tokens were counted over.
 */
export type UsageScope = "message" | "model" | "run";

/**
 * Asks for a session that is shown.
 */
export type Watched = { 
/**
 * The token of the link.
 */
token: string, 
/**
 * Messages before this place.
 */
before?: number, };

/**
 * Why a client gets a snapshot and not the tail.
 */
export type Why = "fresh" | "epoch" | "gone" | "far";

/**
 * A tree of its own for a worker, and what becomes of it.
 */
export type Worktree = "keep" | "merge";

/**
 * A letter to write.
 */
export type Write = { 
/**
 * To whom: a name or a session.
 */
to: string, 
/**
 * What it says.
 */
text: string, };
