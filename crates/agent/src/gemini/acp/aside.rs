//! Files that are there for one process of the CLI only: a system prompt of the caller's own, and a policy.

use super::start::Gemini;
use crate::gemini::cli::Cli;
use crate::gemini::policies;
use crate::gemini::tools::TOOLS;
use crate::model::{Failure, Phase};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use tempfile::NamedTempFile;

/// The variable that names a system prompt instead of the CLI's own.
const SYSTEM: &str = "GEMINI_SYSTEM_MD";

/// Files that must live as long as the CLI does.
#[derive(Debug, Default)]
pub struct Aside {
    files: Vec<NamedTempFile>,
}

/// What the CLI shall do about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Never make it.
    Deny,
    /// Ask first, whatever the mode is.
    Ask,
}

/// What a rule of a policy is about, in Claude's words.
#[derive(Debug, Clone)]
pub struct Denied<'r> {
    /// Claude's name of a tool, `mcp__server`, `mcp__server__tool`, or `*`.
    pub tool: &'r str,
    /// How a command begins.
    pub command: Option<&'r str>,
    /// What to do about it.
    pub decision: Decision,
}

impl Aside {
    /// A system prompt instead of the CLI's own.
    pub fn system_prompt(&mut self, gemini: Gemini, text: &str) -> io::Result<Gemini> {
        let path = self.file(".md", text)?;
        Ok(gemini.env(SYSTEM, path))
    }

    /// A policy beside those of the user whose home this is.
    pub fn policy(
        &mut self,
        gemini: Gemini,
        cli: &Cli,
        home: &Path,
        rules: &[Denied<'_>],
    ) -> Result<Gemini, Failure> {
        if rules.is_empty() {
            return Ok(gemini);
        }
        let text: String = rules.iter().map(rule).collect();
        let path = self.file(".toml", &text).map_err(|error| {
            let message = format!("could not write the tool rules: {error}");
            Failure::new(Phase::Start, "no_policy", message).hint("check the free disk space")
        })?;
        let args = policies::arguments(&path, &policies::of_user(cli, home, gemini.variables()))?;
        Ok(args.into_iter().fold(gemini, Gemini::extra_arg))
    }

    fn file(&mut self, suffix: &str, text: &str) -> io::Result<std::path::PathBuf> {
        let mut file = tempfile::Builder::new().prefix("pollux-").suffix(suffix).tempfile()?;
        file.write_all(text.as_bytes())?;
        file.flush()?;
        let path = file.path().to_path_buf();
        self.files.push(file);
        Ok(path)
    }
}

fn rule(rule: &Denied<'_>) -> String {
    // One character that TOML does not know, and the CLI would take none of the rules.
    let quote = |text: &str| toml::Value::from(text).to_string();
    let names: Vec<String> = gemini_names(rule.tool).iter().map(|name| quote(name)).collect();
    let (decision, priority) = match rule.decision {
        Decision::Deny => ("deny", 999),
        Decision::Ask => ("ask_user", 998),
    };
    let mut text = format!("[[rule]]\ntoolName = [{}]\n", names.join(", "));
    if let Some(command) = rule.command {
        let _infallible = writeln!(text, "commandPrefix = {}", quote(command));
    }
    let _infallible = writeln!(text, "decision = \"{decision}\"\npriority = {priority}\n");
    text
}

/// Gemini's names for a tool of Claude's.
fn gemini_names(claude: &str) -> Vec<String> {
    if let Some(rest) = claude.strip_prefix("mcp__") {
        return match rest.split_once("__") {
            Some((server, tool)) => vec![format!("mcp_{server}_{tool}")],
            None => vec![format!("mcp_{rest}_*")],
        };
    }
    let named = TOOLS.iter().filter(|tool| tool.claude == Some(claude));
    let names: Vec<String> = named.map(|tool| tool.name.to_owned()).collect();
    if names.is_empty() { vec![claude.to_owned()] } else { names }
}

#[cfg(test)]
mod tests {
    use super::{Decision, Denied, rule};

    #[test]
    fn a_rule_names_the_tools_as_gemini_does() {
        let of = |tool, command| rule(&Denied { tool, command, decision: Decision::Deny });
        assert!(of("Bash", Some("rm -r")).starts_with(
            "[[rule]]\ntoolName = [\"run_shell_command\"]\ncommandPrefix = \"rm -r\"\n"
        ));
        for odd in ["rm \u{7f}\u{200b}'x'", "a\nb\t\\", "\"\"\"", "ü🦊"] {
            let read: toml::Table = of("Bash", Some(odd)).parse().unwrap();
            assert_eq!(read["rule"][0]["commandPrefix"].as_str(), Some(odd));
        }
        assert!(of("Grep", None).contains("\"grep_search\", \"search_file_content\""));
        assert!(of("mcp__calc", None).contains("[\"mcp_calc_*\"]"));
        assert!(of("mcp__calc__add", None).contains("[\"mcp_calc_add\"]"));
        assert!(of("list_background_processes", None).contains("list_background_processes"));
    }
}
