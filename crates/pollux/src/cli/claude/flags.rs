//! The flags of `claude` and what becomes of each: the parser and the table in the docs are both made of this list.

use Does::{Nothing as No, Part, Refused, Same};
use Takes::{Many, Maybe, Nothing, One};
use clap::{Arg, ArgAction};

/// A flag of `claude`.
#[derive(Debug)]
pub(super) struct Flag {
    /// Its long name.
    pub(super) name: &'static str,
    short: Option<char>,
    alias: Option<&'static str>,
    takes: Takes,
    /// What becomes of it.
    pub(super) does: Does,
    /// How, or why not.
    pub(super) note: &'static str,
}

/// What stands behind a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    /// A value, which may be missing.
    Maybe,
    One,
    Many,
}

/// What becomes of a flag or a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    /// It does what it does for Claude.
    Same,
    /// It does as much of that as Gemini CLI can.
    Part,
    /// It is taken and changes nothing.
    Nothing,
    /// It is refused.
    Refused,
}

impl Does {
    fn word(self) -> &'static str {
        match self {
            Self::Same => "yes",
            Self::Part => "in part",
            Self::Nothing => "no effect",
            Self::Refused => "refused",
        }
    }
}

const fn flag(name: &'static str, takes: Takes, does: Does, note: &'static str) -> Flag {
    Flag { name, short: None, alias: None, takes, does, note }
}

const fn short(mut flag: Flag, short: char) -> Flag {
    flag.short = Some(short);
    flag
}

const fn alias(mut flag: Flag, alias: &'static str) -> Flag {
    flag.alias = Some(alias);
    flag
}

/// Every flag that `claude` has or its SDKs pass, and ours.
pub(super) const FLAGS: &[Flag] = &[
    short(flag("print", Nothing, Same, "one prompt, from the arguments or stdin"), 'p'),
    flag("output-format", One, Same, "`text`, `json`, `stream-json`"),
    flag("input-format", One, Same, "`text`, `stream-json` with the control protocol"),
    flag(
        "include-partial-messages",
        Nothing,
        Part,
        "text and thoughts are streamed; a tool call's arguments arrive together, after the call ends",
    ),
    flag("replay-user-messages", Nothing, Same, "prompts are echoed with `isReplay`"),
    flag("verbose", Nothing, No, "all lines are always printed"),
    flag("model", One, Part, "Gemini's model names; Claude's names select the CLI's default"),
    flag(
        "permission-mode",
        One,
        Part,
        "`default`, `acceptEdits`, `plan`, `bypassPermissions`, `dontAsk`; `auto` is refused",
    ),
    flag("dangerously-skip-permissions", Nothing, Same, "the mode `bypassPermissions`"),
    flag("allow-dangerously-skip-permissions", Nothing, No, "the mode can always be set"),
    flag("permission-prompt-tool", One, Part, "`stdio`; tools of MCP servers are refused"),
    alias(
        flag(
            "allowedTools",
            Many,
            Part,
            "tools, `mcp__server`, `Bash(git log:*)`; rules with paths are refused",
        ),
        "allowed-tools",
    ),
    alias(
        flag("disallowedTools", Many, Part, "as above; Pollux adds a policy file to yours"),
        "disallowed-tools",
    ),
    short(
        flag(
            "resume",
            Maybe,
            Part,
            "a session ID or prefix, which is required: there is no picker. A session that the daemon is running is refused; copy it with `--fork-session`",
        ),
        'r',
    ),
    short(
        flag(
            "continue",
            Nothing,
            Same,
            "resumes the latest session of this directory; fails if the daemon is running it",
        ),
        'c',
    ),
    flag("fork-session", Nothing, Same, "a copy of the session file under a new ID"),
    flag(
        "session-id",
        One,
        Part,
        "shown in the output and accepted by `--resume`; Gemini CLI's files contain a different ID",
    ),
    flag("max-turns", One, Same, "enforced by Pollux"),
    flag("system-prompt", One, Same, "replaces the CLI's own prompt; an empty one keeps it"),
    flag("system-prompt-file", One, Same, "the same, from a file"),
    flag(
        "append-system-prompt",
        One,
        Part,
        "added before the first prompt, because the CLI has no other place for it",
    ),
    flag("append-system-prompt-file", One, Part, "the same, from a file"),
    flag("add-dir", Many, Same, "`--include-directories`"),
    flag(
        "mcp-config",
        Many,
        Part,
        "JSON or files; servers may be `stdio`, `http`, `sse`, or `sdk` (through the control protocol)",
    ),
    flag(
        "settings",
        One,
        Part,
        "JSON or a file: `model`, `env`, `permissions.allow`, `.ask`, `.deny`, `.defaultMode`, `.disableBypassPermissionsMode`, `.additionalDirectories`. Flags override it. `hooks` or an enabled `sandbox` is an error; other unsupported settings are ignored and listed on stderr",
    ),
    flag(
        "transcripts",
        One,
        Same,
        "Pollux only: write the session as a Claude transcript below this directory",
    ),
    flag("agent-path", One, Same, "Pollux only: the Gemini CLI to run"),
    flag("strict-mcp-config", Nothing, No, "the servers in Gemini's own settings are still used"),
    flag("setting-sources", One, No, "Gemini's settings are always read"),
    flag("project-config-root", One, No, "belongs to Claude's settings, which are not read"),
    flag("fallback-model", One, No, "the CLI has its own fallback"),
    flag("betas", Many, No, "belongs to Claude's API"),
    flag("max-thinking-tokens", One, No, "the CLI decides"),
    flag("thinking", One, No, "the CLI decides"),
    flag("thinking-display", One, No, "thoughts are always printed"),
    flag("effort", One, No, "the CLI decides"),
    flag("task-budget", One, No, "a hint for Claude's models"),
    flag("include-hook-events", Nothing, No, "there are no hook events to include"),
    flag("session-mirror", Nothing, No, "the session file is always followed"),
    flag("await-initialize", Nothing, No, "Pollux always waits for it"),
    short(flag("debug", Maybe, No, "errors are always on stderr"), 'd'),
    flag("debug-file", One, No, "as above"),
    flag("debug-to-stderr", Nothing, No, "as above"),
    flag("disable-slash-commands", Nothing, No, "the CLI handles prompts that begin with `/`"),
    flag("exclude-dynamic-system-prompt-sections", Nothing, No, "belongs to Claude's prompt"),
    flag("ide", Nothing, No, "the CLI finds its editor automatically"),
    short(flag("name", One, No, "the CLI names its sessions automatically"), 'n'),
    flag("json-schema", One, Refused, "the CLI cannot enforce a schema"),
    flag(
        "max-budget-usd",
        One,
        Refused,
        "the CLI does not report costs, so the limit cannot be enforced",
    ),
    flag("no-session-persistence", Nothing, Refused, "the CLI always writes its session file"),
    flag("resume-session-at", One, Refused, "the CLI can only resume at the end of a session"),
    flag("resume-drops-turn", One, Refused, "the CLI can only resume at the end of a session"),
    flag("tools", Many, Refused, "use `--disallowedTools`"),
    flag("agents", One, Refused, "the CLI has its own subagents"),
    flag("agent", One, Refused, "the CLI has its own subagents"),
    flag("plugin-dir", Many, Refused, "Claude's plugins do not run in the CLI"),
    flag("plugin-dir-no-mcp", Many, Refused, "Claude's plugins do not run in the CLI"),
    flag("sdk-url", One, Refused, "only stdin and stdout are supported"),
    flag("managed-settings", One, Refused, "not all administrator rules can be enforced"),
    flag("managed-settings-in-initialize", Nothing, Refused, "as above"),
    flag("permission-prompts", One, Refused, "use `--permission-prompt-tool stdio`"),
    flag("channels", Many, Refused, "needs Claude's servers"),
    flag("cloud", Maybe, Refused, "needs Claude's servers"),
    flag("file", Many, Refused, "needs Claude's servers"),
    flag("bg", Nothing, Refused, "use `pollux new` for a background session"),
    short(flag("worktree", Maybe, Refused, "create a worktree with git and start there"), 'w'),
    flag("chrome", Nothing, Refused, "needs Claude's browser extension"),
];

/// Requests over the control channel, and what becomes of them.
pub(super) const REQUESTS: &[(&str, Does, &str)] = &[
    (
        "initialize",
        Part,
        "returns the CLI's models and commands. `agents`, `plugins`, `jsonSchema`, `toolAliases`, `planModeInstructions`, `managedSettings` are refused. `title`, `excludeDynamicSections`, `promptSuggestions`, `agentProgressSummaries`, `supportedDialogKinds`, `perTaskStopAffordance` have no effect. Unknown fields are listed on stderr",
    ),
    ("interrupt", Same, "the turn ends as `error_during_execution`"),
    ("set_permission_mode", Part, "the modes of `--permission-mode`"),
    (
        "set_model",
        Part,
        "any name that the CLI accepts; the CLI does not check that the model exists. `default` is the model that the session started with",
    ),
    (
        "can_use_tool",
        Part,
        "sent by Pollux, with Claude's tool names. Arguments are inferred from what the CLI shows. A changed input is not supported: Pollux rejects the call and tells the model which input was allowed",
    ),
    (
        "hook_callback",
        Part,
        "sent by Pollux: `PreToolUse` before every call (allow, ask, deny; a changed input counts as deny), `UserPromptSubmit` (block, add context), `PostToolUse`, `SessionStart`, `SessionEnd` (sent; their answers have no effect). Any other hook is refused when the session starts",
    ),
    (
        "mcp_message",
        Same,
        "sent by Pollux: carries messages between the CLI and an MCP server in the caller's process",
    ),
    ("mcp_status", Part, "the configured servers, without their tools"),
    ("list_models", Same, "the CLI's models"),
    ("get_binary_version", Same, ""),
    ("control_cancel_request", No, "the request is still answered"),
    ("keep_alive", No, "accepted and ignored"),
    ("update_environment_variables", No, "the agent keeps the variables that it started with"),
    ("anything else", Refused, "answered with an error that names the request"),
];

impl Flag {
    /// How the arguments are read.
    pub(super) fn arg(&self) -> Arg {
        let arg = Arg::new(self.name).long(self.name).help(self.note);
        let arg = match self.short {
            Some(short) => arg.short(short),
            None => arg,
        };
        let arg = match self.alias {
            Some(alias) => arg.alias(alias),
            None => arg,
        };
        let arg = arg.hide(!matches!(self.does, Same | Part));
        match self.takes {
            Nothing => arg.action(ArgAction::SetTrue),
            Maybe => arg.num_args(0..=1).default_missing_value("").action(ArgAction::Set),
            One => arg.action(ArgAction::Set).allow_hyphen_values(true),
            Many => arg.num_args(1..).action(ArgAction::Append),
        }
    }
}

/// One line of a table.
fn row(what: &str, does: &str, note: &str) -> String {
    format!("| {what} | {does} | {note} |\n")
}

/// The tables of the docs.
pub(super) fn tables() -> String {
    let mut out = String::from("| flag | | |\n|---|---|---|\n");
    for Flag { name, short, alias, does, note, .. } in FLAGS {
        let short = short.map(|short| format!("`-{short}`, ")).unwrap_or_default();
        let alias = alias.map(|alias| format!(", `--{alias}`")).unwrap_or_default();
        out.push_str(&row(&format!("{short}`--{name}`{alias}"), does.word(), note));
    }
    out += "\n| request | | |\n|---|---|---|\n";
    for (name, does, note) in REQUESTS {
        out.push_str(&row(&format!("`{name}`"), does.word(), note));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::tables;

    #[test]
    fn the_docs_have_the_tables_that_the_code_makes() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/claude.md");
        let docs = std::fs::read_to_string(path).unwrap();
        let (_, rest) = docs.split_once("<!-- tables -->\n").unwrap();
        let (shown, _) = rest.split_once("<!-- /tables -->").unwrap();
        assert_eq!(shown, tables(), "docs/claude.md: put the right side between the two marks");
    }
}
