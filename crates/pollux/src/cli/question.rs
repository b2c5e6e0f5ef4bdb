//! A question for a person, in lines: what would be done, and what can be answered. What the agent says of it stands
//! further to the right than what we say ourselves, so that no line of it can pass for one of ours.

use crate::render::clean;
use crate::report::table::printable;
use pollux_agent::model::{Meaning, Question};

/// So far to the right stand the further lines of what an agent says.
const INDENT: &str = "    ";

/// The question in the agent's words, what would be done, and what can be answered, by its number.
pub(super) fn lines(question: &Question<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    show(&mut lines, "? ", &question.text.to_str());
    if question.meaning.is_some() {
        about(&mut lines, question);
    }
    for (at, option) in question.options.iter().enumerate() {
        let (label, id) = (printable(&option.label.to_str()), printable(&option.id.to_str()));
        let id = if id == label { String::new() } else { format!("  ({id})") };
        lines.push(format!("  {}. {label}{id}", at + 1));
    }
    lines
}

/// Which tool wants to do what.
pub(super) fn wanted(question: &Question<'_>) -> Vec<String> {
    let tool = question.tool.as_ref().map(|tool| printable(&tool.to_str()));
    let mut lines = vec![format!("? {} wants to:", tool.as_deref().unwrap_or("the agent"))];
    about(&mut lines, question);
    lines
}

/// What would be done: the command, or the change.
fn about(lines: &mut Vec<String>, question: &Question<'_>) {
    match question.meaning.as_deref() {
        Some(Meaning::Command { command, .. }) => show(lines, "  $ ", command),
        Some(Meaning::Mutation { path, diff, .. }) => {
            show(lines, "  change ", path);
            show(lines, INDENT, diff.as_deref().unwrap_or_default());
        }
        Some(Meaning::Card { title, .. }) => show(lines, "  ", title),
        _ => show(lines, "  ", &question.text.to_str()),
    }
}

fn show(lines: &mut Vec<String>, first: &str, text: &str) {
    let begins = std::iter::once(first).chain(std::iter::repeat(INDENT));
    let text = clean(text);
    lines.extend(text.lines().zip(begins).map(|(line, begin)| format!("{begin}{line}")));
}

#[cfg(test)]
pub(super) mod tests {
    use super::{lines, wanted};
    use pollux_agent::model::{Choice, Derived, Effect, Meaning, Question, QuestionKind, Text};

    /// A question about a command that would pass for more than one.
    pub(in crate::cli) fn hostile() -> Question<'static> {
        let choice = |id: &str, effect| Choice {
            id: Text::from(id.to_owned()),
            label: Text::from(id.to_owned()),
            effect,
        };
        Question {
            id: Text::from("q1"),
            kind: QuestionKind::Mcp,
            tool_id: None,
            tool: Some(Text::from("run_shell_command")),
            text: Text::from("May I?\n  1. no"),
            meaning: Some(Box::new(Meaning::Command {
                command: "rm -rf \u{1b}[2J/\n[y] Allow  [n] Reject\n  1. Reject  (cancel)"
                    .to_owned(),
                output: None,
                exit_code: None,
                derived: Derived::default(),
            })),
            input: None,
            request: None,
            options: vec![
                choice("proceed_always_server", Effect::AllowAlways),
                choice("proceed_always_tool", Effect::AllowAlways),
                choice("proceed_once\n  5. cancel", Effect::AllowOnce),
                choice("cancel", Effect::RejectOnce),
            ],
        }
    }

    #[test]
    fn the_command_is_shown_and_cannot_steer_the_terminal() {
        let lines = wanted(&hostile()).join("\n");
        assert!(lines.contains("$ rm -rf"), "{lines}");
        assert!(!lines.contains('\u{1b}'), "{lines}");
        assert!(lines.contains("\n    [y] Allow"), "it cannot pass for what we say: {lines}");
    }

    #[test]
    fn only_what_can_be_answered_stands_where_options_stand() {
        let lines = lines(&hostile());
        let is_ours = |line: &&String| !line.starts_with("    ");
        let ours: Vec<&str> = lines.iter().filter(is_ours).map(String::as_str).collect();
        assert_eq!(
            ours,
            [
                "? May I?",
                "  $ rm -rf ␛[2J/",
                "  1. proceed_always_server",
                "  2. proceed_always_tool",
                "  3. proceed_once   5. cancel",
                "  4. cancel",
            ]
        );
    }

    #[test]
    fn a_change_cannot_pass_for_an_option_either() {
        let mut question = hostile();
        question.meaning = Some(Box::new(Meaning::Mutation {
            path: "a\n  1. Reject".to_owned(),
            diff: Some("+a\n  1. Reject".to_owned()),
            change: None,
            derived: Derived::default(),
        }));
        let lines = lines(&question);
        assert!(!lines.contains(&"  1. Reject".to_owned()), "{lines:#?}");
    }
}
