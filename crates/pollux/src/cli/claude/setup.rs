//! What the flags and the settings ask for, checked before anything is started.

use super::flags::{Does, FLAGS};
use super::servers::{self, Servers};
use crate::trouble::Trouble;
use clap::ArgMatches;
use pollux_agent::claude::permission::Rule;
use pollux_agent::model::Mode;
use std::path::{Path, PathBuf};

/// Names of Claude's own models.
const CLAUDES: [&str; 6] = ["sonnet", "opus", "haiku", "fable", "best", "opusplan"];

/// How a program and Pollux talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Json,
    Stream,
}

/// Who answers when the agent asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// The caller, over the control channel.
    Caller,
    /// No one: what no rule allows is rejected.
    Nobody,
}

impl Asks {
    /// Who answers in a mode, by Claude's name of it.
    pub(super) fn in_mode(self, name: &str) -> Self {
        if name == DONT_ASK { Self::Nobody } else { self }
    }
}

/// What is asked for.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct Setup {
    pub(super) prompt: Option<String>,
    pub(super) output: Format,
    pub(super) input: Format,
    pub(super) partial: bool,
    pub(super) replay: bool,
    pub(super) mode: Mode,
    /// The mode as Claude calls it.
    pub(super) mode_name: &'static str,
    /// Who answers, except in the mode `dontAsk`.
    pub(super) asks: Asks,
    pub(super) model: Option<String>,
    pub(super) allow: Vec<Rule>,
    /// What is asked about whatever the mode is, and whatever a rule allows.
    pub(super) ask: Vec<Rule>,
    pub(super) deny: Vec<Rule>,
    /// True if the mode `bypassPermissions` is disabled.
    pub(super) no_bypass: bool,
    /// The session to go on with: its id, or `latest`.
    pub(super) resume: Option<String>,
    pub(super) fork: bool,
    pub(super) session_id: Option<String>,
    pub(super) max_turns: Option<u64>,
    pub(super) system: Option<String>,
    pub(super) append: Option<String>,
    pub(super) include: Vec<PathBuf>,
    pub(super) env: Vec<(String, String)>,
    pub(super) servers: Servers,
    pub(super) transcripts: Option<PathBuf>,
    pub(super) agent_path: Option<PathBuf>,
    /// What the caller should know.
    pub(super) notes: Vec<String>,
}

/// The flags that were given.
struct Given<'m>(&'m ArgMatches);

impl Given<'_> {
    fn is(&self, name: &str) -> bool {
        self.0.get_flag(name)
    }

    fn one(&self, name: &str) -> Option<String> {
        self.0.get_one::<String>(name).cloned()
    }

    fn many(&self, name: &str) -> Vec<String> {
        self.0.get_many::<String>(name).into_iter().flatten().cloned().collect()
    }

    /// A text, or what is in a file.
    fn text(&self, name: &str) -> anyhow::Result<Option<String>> {
        let said = |text: &String| !text.trim().is_empty();
        if let Some(file) = self.one(&format!("{name}-file")) {
            return Ok(Some(read(Path::new(&file))?).filter(said));
        }
        Ok(self.one(name).filter(said))
    }
}

impl Setup {
    pub(super) fn new(matches: &ArgMatches) -> anyhow::Result<Self> {
        check(matches)?;
        let given = Given(matches);
        let asks = match given.one("permission-prompt-tool").as_deref() {
            None => Asks::Nobody,
            Some("stdio") => Asks::Caller,
            Some(tool) => {
                let message = format!("the permission tool `{tool}` is not supported");
                return Err(refused(message, "use `--permission-prompt-tool stdio`"));
            }
        };
        let mut setup = Self {
            prompt: given.one("prompt"),
            output: format(given.one("output-format").as_deref(), "--output-format")?,
            input: format(given.one("input-format").as_deref(), "--input-format")?,
            partial: given.is("include-partial-messages"),
            replay: given.is("replay-user-messages"),
            mode: Mode::Default,
            mode_name: Mode::Default.claude(),
            asks,
            model: None,
            allow: rules(&given.many("allowedTools"))?,
            ask: Vec::new(),
            deny: rules(&given.many("disallowedTools"))?,
            no_bypass: false,
            resume: resume(&given)?,
            fork: given.is("fork-session"),
            session_id: given.one("session-id"),
            max_turns: given.one("max-turns").map(|turns| number(&turns)).transpose()?,
            system: given.text("system-prompt")?,
            append: given.text("append-system-prompt")?,
            include: given.many("add-dir").into_iter().map(PathBuf::from).collect(),
            env: Vec::new(),
            servers: servers::read_all(&given.many("mcp-config"))?,
            transcripts: given.one("transcripts").map(PathBuf::from),
            agent_path: given.one("agent-path").map(PathBuf::from),
            notes: Vec::new(),
        };
        if let Some(settings) = given.one("settings") {
            setup.settings(&settings)?;
        }
        if given.is("dangerously-skip-permissions") {
            setup.set_mode("bypassPermissions")?;
        }
        if let Some(mode) = given.one("permission-mode") {
            setup.set_mode(&mode)?;
        }
        if let Some(model) = given.one("model") {
            setup.set_model(&model);
        }
        if setup.no_bypass && setup.mode == Mode::Yolo {
            return Err(refused(NO_BYPASS.to_owned(), "use another mode, or change the settings"));
        }
        Ok(setup)
    }

    pub(super) fn set_mode(&mut self, name: &str) -> anyhow::Result<()> {
        let mode = mode(name).map_err(|why| refused(why, MODES))?;
        (self.mode, self.mode_name) = (mode, alone(name).unwrap_or(mode.claude()));
        Ok(())
    }

    pub(super) fn set_model(&mut self, name: &str) {
        self.model = gemini_model(name).map(str::to_owned);
        if self.model.is_none() {
            self.notes
                .push(format!("`{name}` is a Claude model: using Gemini CLI's default model"));
        }
    }
}

/// The mode that rejects instead of asking. The agent itself runs in its default mode.
const DONT_ASK: &str = "dontAsk";

/// The name of a mode that only Claude has.
pub(super) fn alone(name: &str) -> Option<&'static str> {
    (name == DONT_ASK).then_some(DONT_ASK)
}

const MODES: &str = "use default, acceptEdits, plan, bypassPermissions or dontAsk";

/// Why `bypassPermissions` cannot be set.
pub(super) const NO_BYPASS: &str =
    "the settings do not allow the mode `bypassPermissions` (`disableBypassPermissionsMode`)";

/// A mode by Claude's name, or why there is none.
pub(super) fn mode(name: &str) -> Result<Mode, String> {
    if name == DONT_ASK {
        return Ok(Mode::Default);
    }
    let claudes = ["default", "acceptEdits", "plan", "bypassPermissions"].contains(&name);
    let mode = Mode::named(name).filter(|_| claudes);
    mode.ok_or_else(|| format!("the permission mode `{name}` has no counterpart in Gemini CLI"))
}

/// A model by Gemini's name; none for a name of Claude's, which means the CLI's own default.
pub(super) fn gemini_model(name: &str) -> Option<&str> {
    let base = name.split('[').next().unwrap_or(name);
    let claudes = base == "default" || base.contains("claude-") || CLAUDES.contains(&base);
    (!claudes).then_some(name)
}

/// Refuses what has no counterpart.
fn check(matches: &ArgMatches) -> anyhow::Result<()> {
    let given =
        |name: &str| matches.value_source(name) == Some(clap::parser::ValueSource::CommandLine);
    match FLAGS.iter().find(|flag| flag.does == Does::Refused && given(flag.name)) {
        Some(flag) => {
            let message =
                format!("`--{}` has no counterpart in Gemini CLI: {}", flag.name, flag.note);
            Err(refused(message, "see docs/claude.md for the supported flags"))
        }
        None => Ok(()),
    }
}

fn resume(given: &Given<'_>) -> anyhow::Result<Option<String>> {
    if given.is("continue") {
        return Ok(Some("latest".to_owned()));
    }
    match given.one("resume") {
        Some(id) if id.is_empty() => {
            let message =
                "`--resume` needs a session ID: there is no interactive picker".to_owned();
            Err(refused(message, "list sessions with `pollux sessions list`"))
        }
        id => Ok(id),
    }
}

fn format(given: Option<&str>, flag: &str) -> anyhow::Result<Format> {
    match given {
        None | Some("text") => Ok(Format::Text),
        Some("json") => Ok(Format::Json),
        Some("stream-json") => Ok(Format::Stream),
        Some(other) => Err(refused(
            format!("unknown format `{other}` for `{flag}`"),
            "use text, json or stream-json",
        )),
    }
}

pub(super) fn rules(lists: &[String]) -> anyhow::Result<Vec<Rule>> {
    let mut rules = Vec::new();
    for list in lists {
        rules.extend(
            Rule::list(list)
                .map_err(|why| refused(why, "see docs/claude.md for the supported rules"))?,
        );
    }
    Ok(rules)
}

fn number(text: &str) -> anyhow::Result<u64> {
    let turns = text.parse().ok().filter(|turns| *turns > 0);
    turns.ok_or_else(|| {
        refused(format!("invalid value `{text}` for `--max-turns`"), "use a number of at least 1")
    })
}

/// JSON as it was given, or what is in the file that was.
pub(super) fn json_or_file(given: &str) -> anyhow::Result<String> {
    if given.trim_start().starts_with('{') { Ok(given.to_owned()) } else { read(Path::new(given)) }
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).map_err(|error| {
        let message = format!("could not read {}: {error}", path.display());
        let hint = "pass a readable file, or its content";
        Trouble::refused("unreadable_file", message).hint(hint).into()
    })
}

pub(super) fn refused(message: String, hint: &str) -> anyhow::Error {
    Trouble::refused("no_counterpart", message).hint(hint).into()
}

#[cfg(test)]
mod tests {
    use super::{Asks, Setup};
    use crate::cli::claude::Claude;
    use clap::Args;

    #[test]
    fn a_flag_wins_over_a_mode_of_the_settings_in_which_nobody_is_asked() {
        let command = Claude::augment_args(clap::Command::new("claude"));
        let settings = r#"{"permissions":{"defaultMode":"dontAsk"}}"#;
        let asks = ["claude", "-p", "--permission-prompt-tool", "stdio", "--settings", settings];
        let now = |more: &[&str]| {
            let words = asks.iter().chain(more);
            let setup = Setup::new(&command.clone().get_matches_from(words)).unwrap();
            (setup.mode_name, setup.asks.in_mode(setup.mode_name))
        };
        assert_eq!(now(&[]), ("dontAsk", Asks::Nobody));
        assert_eq!(now(&["--permission-mode", "default"]), ("default", Asks::Caller));
    }
}
