//! What a dialog is about: by the tool that waits, by its own words, and by what can be answered.

use super::super::Choosable;
use super::shown::Head;
use crate::model::QuestionKind;

/// What was seen of a dialog.
pub(super) struct Seen<'a> {
    /// The line of the tool that waits.
    pub(super) head: Option<&'a Head>,
    /// True where the CLI says first that the model wants to know something.
    pub(super) asks: bool,
    /// True where the beginning has gone over the edge of the screen.
    pub(super) cut: bool,
    pub(super) paragraphs: &'a [String],
    pub(super) options: &'a [Choosable],
    /// What says which keys there are.
    pub(super) hint: &'a str,
}

/// The kind of a dialog. What a tool shows (a diff, a command) and what the model asks are not looked at: they may say
/// anything.
pub(super) fn of(seen: &Seen<'_>) -> QuestionKind {
    let label =
        |words: &str| seen.options.iter().any(|option| option.label.to_lowercase().contains(words));
    let tool = seen.head.and_then(|head| head.tool.as_deref());
    if seen.asks {
        return QuestionKind::Choice;
    }
    let plans = tool.is_some_and(|tool| tool.contains("Plan Mode"));
    if plans || label("automatically accept edits") || seen.hint.contains("edit plan") {
        return QuestionKind::Plan;
    }
    match tool {
        Some(tool) => of_a_tool(tool, seen),
        // Only the questions of the CLI itself say with which keys they are answered.
        None if seen.cut && seen.hint.is_empty() => match of_a_tool("", seen) {
            QuestionKind::Other => of_the_cli(seen.paragraphs, seen.options, seen.hint),
            kind => kind,
        },
        None => of_the_cli(seen.paragraphs, seen.options, seen.hint),
    }
}

/// A tool wants to do something: the last thing that is said is the CLI's question.
fn of_a_tool(tool: &str, seen: &Seen<'_>) -> QuestionKind {
    let question = seen.paragraphs.last().map(|text| text.to_lowercase()).unwrap_or_default();
    let edits = |option: &Choosable| option.label.to_lowercase().contains("external editor");
    if question.starts_with("allow execution of mcp tool") {
        QuestionKind::Mcp
    } else if question.starts_with("apply this change") || seen.options.iter().any(edits) {
        QuestionKind::Edit
    } else if question.starts_with("allow execution of") {
        QuestionKind::Command
    } else if tool.contains("Fetch") {
        QuestionKind::Fetch
    } else {
        QuestionKind::Other
    }
}

/// A dialog of the CLI itself, in which all words are its own.
fn of_the_cli(paragraphs: &[String], options: &[Choosable], hint: &str) -> QuestionKind {
    let label =
        |words: &str| options.iter().any(|option| option.label.to_lowercase().contains(words));
    let text = paragraphs.join("\n").to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if label("trust folder") || label("don't trust") {
        QuestionKind::Trust
    } else if label("loop detection") || says(&["loop was detected"]) {
        QuestionKind::Loop
    } else if label("keep trying")
        || label("upgrade for higher limits")
        || label("abort request")
        || label("switch to gemini")
    {
        QuestionKind::Quota
    } else if says(&["answer questions"])
        || label("enter a custom value")
        || hint.contains("to navigate")
    {
        QuestionKind::Choice
    } else if says(&["authenticate for this", "enter gemini api key", "verify your account"])
        || label("sign in")
        || label("change authentication")
    {
        QuestionKind::SignIn
    } else {
        QuestionKind::Other
    }
}
