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
        "words and thoughts as they come; a call's arguments at once, when it has ended",
    ),
    flag("replay-user-messages", Nothing, Same, "prompts are told back with `isReplay`"),
    flag("verbose", Nothing, No, "all lines are always told"),
    flag("model", One, Part, "Gemini's names; Claude's own names mean the CLI's default"),
    flag(
        "permission-mode",
        One,
        Part,
        "`default`, `acceptEdits`, `plan`, `bypassPermissions`, `dontAsk`; `auto` is refused",
    ),
    flag("dangerously-skip-permissions", Nothing, Same, "the mode `bypassPermissions`"),
    flag("allow-dangerously-skip-permissions", Nothing, No, "the mode may always be set"),
    flag("permission-prompt-tool", One, Part, "`stdio`; the tool of an MCP server is refused"),
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
        flag(
            "disallowedTools",
            Many,
            Part,
            "as above; what is named is taken from the CLI by a policy beside yours (0.30 and later, tools of servers 0.33)",
        ),
        "disallowed-tools",
    ),
    short(
        flag(
            "resume",
            Maybe,
            Part,
            "an id or the beginning of one; there is no picker without one. A session that the daemon drives now is refused: `--fork-session` copies it",
        ),
        'r',
    ),
    short(
        flag(
            "continue",
            Nothing,
            Same,
            "the latest session of this directory, unless the daemon drives it now",
        ),
        'c',
    ),
    flag("fork-session", Nothing, Same, "a copy of the session file under a new id"),
    flag(
        "session-id",
        One,
        Part,
        "what is told and what `--resume` takes; Gemini's own files bear the CLI's id",
    ),
    flag("max-turns", One, Same, "kept by Pollux"),
    flag("system-prompt", One, Same, "instead of the CLI's own; an empty one leaves the CLI's own"),
    flag("system-prompt-file", One, Same, "the same out of a file"),
    flag(
        "append-system-prompt",
        One,
        Part,
        "told to the model in front of the first prompt: the CLI has no other place for it",
    ),
    flag("append-system-prompt-file", One, Part, "the same out of a file"),
    flag("add-dir", Many, Same, "`--include-directories`"),
    flag(
        "mcp-config",
        Many,
        Part,
        "JSON or files; `stdio`, `http`, `sse`, and `sdk` over the control channel",
    ),
    flag(
        "settings",
        One,
        Part,
        "JSON or a file: `model`, `env`, `permissions.allow`, `.ask`, `.deny`, `.defaultMode`, `.disableBypassPermissionsMode`, `.additionalDirectories`; flags win; `hooks` and an enabled `sandbox` are refused; the rest is named on stderr",
    ),
    flag(
        "transcripts",
        One,
        Same,
        "Pollux's own: writes the session as Claude's transcript below this directory",
    ),
    flag("agent-path", One, Same, "Pollux's own: the Gemini CLI to run"),
    flag("strict-mcp-config", Nothing, No, "the servers of Gemini's own settings stay"),
    flag("setting-sources", One, No, "Gemini's settings are read as ever"),
    flag("project-config-root", One, No, "of Claude's own settings, which are not read"),
    flag("fallback-model", One, No, "the CLI has its own"),
    flag("betas", Many, No, "of Claude's API"),
    flag("max-thinking-tokens", One, No, "the CLI decides"),
    flag("thinking", One, No, "the CLI decides"),
    flag("thinking-display", One, No, "thoughts are told"),
    flag("effort", One, No, "the CLI decides"),
    flag("task-budget", One, No, "a hint to Claude's models"),
    flag("include-hook-events", Nothing, No, "there are none to include"),
    flag("session-mirror", Nothing, No, "the session file is followed anyway"),
    flag("await-initialize", Nothing, No, "it is always waited for"),
    short(flag("debug", Maybe, No, "what goes wrong is on stderr"), 'd'),
    flag("debug-file", One, No, "as above"),
    flag("debug-to-stderr", Nothing, No, "as above"),
    flag("disable-slash-commands", Nothing, No, "words that begin with `/` are the CLI's affair"),
    flag("exclude-dynamic-system-prompt-sections", Nothing, No, "of Claude's prompt"),
    flag("ide", Nothing, No, "the CLI finds its editor by itself"),
    short(flag("name", One, No, "the CLI names its sessions by itself"), 'n'),
    flag("json-schema", One, Refused, "the CLI cannot be held to a schema"),
    flag(
        "max-budget-usd",
        One,
        Refused,
        "nobody tells what a call costs, so the limit could not be kept",
    ),
    flag("no-session-persistence", Nothing, Refused, "the CLI always writes its session file"),
    flag("resume-session-at", One, Refused, "the CLI goes on at the end of a session only"),
    flag("resume-drops-turn", One, Refused, "the CLI goes on at the end of a session only"),
    flag("tools", Many, Refused, "use `--disallowedTools`"),
    flag("agents", One, Refused, "the CLI has subagents of its own"),
    flag("agent", One, Refused, "the CLI has subagents of its own"),
    flag("plugin-dir", Many, Refused, "Claude's plugins do not run in the CLI"),
    flag("plugin-dir-no-mcp", Many, Refused, "Claude's plugins do not run in the CLI"),
    flag("sdk-url", One, Refused, "stdin and stdout are the only way"),
    flag("managed-settings", One, Refused, "rules of an administrator could not all be kept"),
    flag("managed-settings-in-initialize", Nothing, Refused, "as above"),
    flag("permission-prompts", One, Refused, "use `--permission-prompt-tool stdio`"),
    flag("channels", Many, Refused, "of Claude's own servers"),
    flag("cloud", Maybe, Refused, "of Claude's own servers"),
    flag("file", Many, Refused, "of Claude's own servers"),
    flag("bg", Nothing, Refused, "`pollux new` opens a session that stays"),
    short(flag("worktree", Maybe, Refused, "make one with git, and start there"), 'w'),
    flag("chrome", Nothing, Refused, "of Claude's own browser"),
];

/// Requests over the control channel, and what becomes of them.
pub(super) const REQUESTS: &[(&str, Does, &str)] = &[
    (
        "initialize",
        Part,
        "models and commands are the CLI's; `agents`, `plugins`, `jsonSchema`, `toolAliases`, `planModeInstructions`, `managedSettings` are refused; `title`, `excludeDynamicSections`, `promptSuggestions`, `agentProgressSummaries`, `supportedDialogKinds`, `perTaskStopAffordance` have no effect; what is not known is named on stderr",
    ),
    ("interrupt", Same, "the turn ends as `error_during_execution`"),
    ("set_permission_mode", Part, "the modes of `--permission-mode`"),
    (
        "set_model",
        Part,
        "a name that the CLI takes, which does not look whether there is such a model; `default` is the one that it began with",
    ),
    (
        "can_use_tool",
        Part,
        "asked by Pollux, with Claude's names. Arguments are concluded from what the CLI shows. A changed input is refused: the call is turned down, and the model is told what was wanted",
    ),
    (
        "hook_callback",
        Part,
        "asked by Pollux: `PreToolUse` before every call (allow, ask, deny; a changed input is a no), `UserPromptSubmit` (block, more context), `PostToolUse`, `SessionStart`, `SessionEnd` (heard; their answers change nothing). Any other hook is refused when the session begins",
    ),
    (
        "mcp_message",
        Same,
        "sent by Pollux: the CLI's words to an MCP server in the caller's process, and back",
    ),
    ("mcp_status", Part, "the servers that were given, without their tools"),
    ("list_models", Same, "what the CLI offers"),
    ("get_binary_version", Same, ""),
    ("control_cancel_request", No, "a request is answered all the same"),
    ("keep_alive", No, "a sign of life"),
    ("update_environment_variables", No, "the agent runs already, with those that it began with"),
    ("anything else", Refused, "answered with an error that names it"),
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
