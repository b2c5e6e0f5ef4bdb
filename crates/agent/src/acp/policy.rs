//! Who answers the agent's questions, and what. Pure but for the paths, which are looked up where they lead.

use crate::model::{Choice, Effect, Meaning, Question, QuestionKind};
use crate::shell;
use serde::Deserialize;
use std::path::{Component, Path, PathBuf};

/// Who answers the agent's questions.
#[derive(Debug, Clone, Default)]
pub enum Policy {
    /// Whoever holds the session.
    #[default]
    Ask,
    /// Yes, this once. Never "always": that would be more than was asked.
    Auto,
    /// No.
    Deny,
    /// What rules say.
    Rules(Rules),
}

/// What a policy says to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Yes, this once.
    Allow,
    /// No.
    #[default]
    Deny,
    /// Somebody has to be asked.
    Ask,
}

/// Rules, tried in order. The first that fits answers.
///
/// ```
/// use pollux_agent::acp::{Rules, Verdict};
///
/// let rules: Rules = serde_json::from_str(r#"{
///     "otherwise": "ask",
///     "rule": [
///         { "verdict": "allow", "category": "command", "command": "git status" },
///         { "verdict": "deny", "category": "edit", "path": "secrets" }
///     ]
/// }"#).unwrap();
/// assert_eq!(rules.otherwise, Verdict::Ask);
/// assert_eq!(rules.rules.len(), 2);
/// ```
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// What is said where no rule fits: `deny` if not given.
    #[serde(default)]
    pub otherwise: Verdict,
    /// The rules.
    #[serde(default, rename = "rule")]
    pub rules: Vec<Rule>,
}

/// One rule: every condition that is given must hold.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What it says.
    pub verdict: Verdict,
    /// What the question is about: `command`, `edit`, `fetch`, `mcp`, `plan`, `other`.
    pub category: Option<String>,
    /// The agent's own name of the tool.
    pub tool: Option<String>,
    /// How the command begins, whole words. A line that holds more than one (`;`, `|`, `&&`, `$(…)`, a redirection) is never
    /// allowed by its beginning; it is denied where any of them begins so.
    pub command: Option<String>,
    /// The file that is changed is this one, or in this directory; relative to where the agent works. A change of several files
    /// is allowed where all of them are, and denied where any of them is.
    pub path: Option<PathBuf>,
}

impl Policy {
    /// What it says to a question of an agent that works in `cwd`.
    pub fn verdict(&self, question: &Question<'_>, cwd: &Path) -> Verdict {
        match self {
            Self::Ask => Verdict::Ask,
            Self::Auto => Verdict::Allow,
            Self::Deny => Verdict::Deny,
            Self::Rules(rules) => rules.verdict(question, cwd),
        }
    }
}

impl Rules {
    /// What they say to a question of an agent that works in `cwd`.
    pub fn verdict(&self, question: &Question<'_>, cwd: &Path) -> Verdict {
        let fits = self.rules.iter().find(|rule| rule.fits(question, cwd));
        fits.map_or(self.otherwise, |rule| rule.verdict)
    }
}

impl Rule {
    fn fits(&self, question: &Question<'_>, cwd: &Path) -> bool {
        let category = self.category.as_deref().is_none_or(|it| it == category(question.kind));
        let is_tool = |name: &str| question.tool.as_ref().is_some_and(|tool| *tool == *name);
        let tool = self.tool.as_deref().is_none_or(is_tool);
        let meaning = question.meaning.as_deref();
        let command = self.command.as_deref().is_none_or(|prefix| match meaning {
            Some(Meaning::Command { command, .. }) => self.begins(command, prefix),
            _ => false,
        });
        let path = self.path.as_deref().is_none_or(|below| self.is_about(question, below, cwd));
        category && tool && command && path
    }

    /// A yes is for a change of files which are all there, a no for one of which any is.
    fn is_about(&self, question: &Question<'_>, below: &Path, cwd: &Path) -> bool {
        let below = real(&cwd.join(below));
        let mut paths = changed(question).map(|path| is_below(&real(&cwd.join(path)), &below));
        match self.verdict {
            Verdict::Allow => paths.next() == Some(true) && paths.all(|is_there| is_there),
            Verdict::Deny | Verdict::Ask => paths.any(|is_there| is_there),
        }
    }

    fn begins(&self, command: &str, prefix: &str) -> bool {
        match self.verdict {
            Verdict::Allow => shell::is_only(command, prefix),
            Verdict::Deny | Verdict::Ask => shell::has_some(command, prefix),
        }
    }
}

/// The files that would be changed: what a question means names one, and the request may show diffs of more.
fn changed<'q>(question: &'q Question<'_>) -> impl Iterator<Item = &'q str> {
    let meant = match question.meaning.as_deref() {
        Some(Meaning::Mutation { path, .. }) => Some(path.as_str()),
        _ => None,
    };
    let request = question.request.as_deref();
    let shown = request.and_then(|request| request["toolCall"]["content"].as_array());
    let diffs = shown.into_iter().flatten().filter(|shown| shown["type"] == "diff");
    meant.into_iter().chain(diffs.map(|diff| diff["path"].as_str().unwrap_or_default()))
}

fn category(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Command => "command",
        QuestionKind::Edit => "edit",
        QuestionKind::Fetch => "fetch",
        QuestionKind::Mcp => "mcp",
        QuestionKind::Plan => "plan",
        _ => "other",
    }
}

/// The option that says yes this once, or no: by what it does, never by its place or its label.
pub(super) fn option<'q>(question: &'q Question<'_>, allow: bool) -> Option<&'q Choice<'q>> {
    let wanted = if allow { Effect::AllowOnce } else { Effect::RejectOnce };
    question.options.iter().find(|choice| choice.effect == wanted)
}

/// A path from the root, with its links followed, as far as it is there, and without `..` beyond.
pub(super) fn real(path: &Path) -> PathBuf {
    let whole = std::path::absolute(Path::new(".").join(path));
    whole.map(|whole| follow(&whole, 0)).unwrap_or_default()
}

/// True for a directory, and for all that is in it. One that does not lead to the root, such as a circle of links, has nothing
/// in it: every path begins with an empty one.
pub(super) fn is_below(path: &Path, directory: &Path) -> bool {
    directory.is_absolute() && path.starts_with(directory)
}

/// A chain of links is short; a circle of them leads nowhere.
const LINKS: u32 = 16;

fn follow(path: &Path, links: u32) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => continue,
            Component::ParentDir => {
                out.pop();
                continue;
            }
            part => out.push(part),
        }
        if let Ok(led) = out.canonicalize() {
            out = led;
        } else if let Ok(link) = out.read_link() {
            // A link to what is not there yet: to write to it would make it there.
            if links == LINKS {
                return PathBuf::new();
            }
            let from = out.parent().unwrap_or(Path::new("/")).join(link);
            out = follow(&from, links + 1);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Rule, Rules, Verdict, real};
    use crate::model::{Derived, Meaning, Question, QuestionKind, Text};
    use std::path::Path;

    fn command(command: &str) -> Question<'static> {
        about(Meaning::Command {
            command: command.to_owned(),
            output: None,
            exit_code: None,
            derived: Derived::default(),
        })
    }

    fn about(meaning: Meaning) -> Question<'static> {
        let kind = match meaning {
            Meaning::Command { .. } => QuestionKind::Command,
            _ => QuestionKind::Edit,
        };
        Question {
            id: Text::from("q"),
            kind,
            tool_id: None,
            tool: None,
            text: Text::from(""),
            meaning: Some(Box::new(meaning)),
            input: None,
            request: None,
            options: Vec::new(),
        }
    }

    fn rule(verdict: Verdict, command: Option<&str>, path: Option<&Path>) -> Rules {
        let rule = Rule {
            verdict,
            category: None,
            tool: None,
            command: command.map(str::to_owned),
            path: path.map(Path::to_path_buf),
        };
        Rules { otherwise: Verdict::Ask, rules: vec![rule] }
    }

    #[test]
    fn a_command_is_allowed_by_its_beginning_only_where_it_is_one_command() {
        let rules = rule(Verdict::Allow, Some("git status"), None);
        let said = |text: &str| rules.verdict(&command(text), Path::new("/"));
        assert_eq!(said("git status -s"), Verdict::Allow);
        for more in [
            "git statusx",
            "git status; rm -rf /",
            "git status && rm x",
            "git status $(rm x)",
            "git status > /etc/passwd",
            "git status\nrm x",
            "sudo git status",
        ] {
            assert_eq!(said(more), Verdict::Ask, "{more}");
        }
        let denied = rule(Verdict::Deny, Some("rm"), None);
        for line in ["rm x && ls", "ls && rm x", "echo $(rm x)"] {
            assert_eq!(denied.verdict(&command(line), Path::new("/")), Verdict::Deny, "{line}");
        }
    }

    #[test]
    fn a_path_is_where_it_leads() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("open")).unwrap();
        std::fs::create_dir_all(root.join("closed")).unwrap();
        std::os::unix::fs::symlink(root.join("closed"), root.join("open/way")).unwrap();
        let rules = rule(Verdict::Allow, None, Some(Path::new("open")));
        let change = |path: &str| {
            about(Meaning::Mutation {
                path: path.to_owned(),
                change: None,
                diff: None,
                derived: Derived::default(),
            })
        };
        assert_eq!(rules.verdict(&change("open/new.txt"), &root), Verdict::Allow);
        for out in ["open/way/x", "open/../closed/x", "closed/x", "opened/x", "/etc/passwd"] {
            assert_eq!(rules.verdict(&change(out), &root), Verdict::Ask, "{out}");
        }
        assert_eq!(real(&root.join("open/way/x")), root.join("closed/x"));
        let here = rule(Verdict::Allow, None, Some(Path::new(".")));
        assert_eq!(here.verdict(&change("Cargo.toml"), Path::new(".")), Verdict::Allow);
        assert_eq!(here.verdict(&change("/etc/passwd"), Path::new(".")), Verdict::Ask);
        std::os::unix::fs::symlink(root.join("round"), root.join("round")).unwrap();
        let round = rule(Verdict::Allow, None, Some(Path::new("round")));
        assert_eq!(round.verdict(&change("/etc/passwd"), &root), Verdict::Ask);
    }

    #[test]
    fn a_change_of_several_files_is_denied_for_one_of_them_and_allowed_for_all() {
        let change = |paths: &[&str]| {
            let diff = |path: &&str| serde_json::json!({ "type": "diff", "path": path });
            let content: Vec<_> = paths.iter().map(diff).collect();
            let request = serde_json::json!({ "toolCall": { "content": content } });
            let first = Meaning::Mutation {
                path: paths[0].to_owned(),
                change: None,
                diff: None,
                derived: Derived::default(),
            };
            Question { request: Some(Box::new(request)), ..about(first) }
        };
        let root = Path::new("/nowhere");
        let denied = rule(Verdict::Deny, None, Some(Path::new("secrets")));
        let allowed = rule(Verdict::Allow, None, Some(Path::new("docs")));
        for (paths, deny, allow) in [
            (["docs/a", "docs/b"], Verdict::Ask, Verdict::Allow),
            (["docs/a", "secrets/b"], Verdict::Deny, Verdict::Ask),
            (["secrets/a", "docs/b"], Verdict::Deny, Verdict::Ask),
        ] {
            assert_eq!(denied.verdict(&change(&paths), root), deny, "{paths:?}");
            assert_eq!(allowed.verdict(&change(&paths), root), allow, "{paths:?}");
        }
    }
}
