//! What a dialog is about: by the tool that waits, by its own words, and by what can be answered.

use super::super::Choosable;
use super::shown::Head;
use crate::model::QuestionKind;

/// The kind of a dialog. What a tool shows (a diff, a command) is not looked at: it may say anything.
pub(super) fn of(
    head: Option<&Head>,
    paragraphs: &[String],
    options: &[Choosable],
    hint: &str,
) -> QuestionKind {
    let label =
        |words: &str| options.iter().any(|option| option.label.to_lowercase().contains(words));
    let question = paragraphs.last().map(|text| text.to_lowercase()).unwrap_or_default();
    let tool = head.and_then(|head| head.tool.as_deref()).unwrap_or_default();
    if question.contains("mcp tool") || tool.contains("MCP Server)") {
        QuestionKind::Mcp
    } else if question.contains("apply this change") || label("external editor") {
        QuestionKind::Edit
    } else if question.contains("allow execution of") {
        QuestionKind::Command
    } else if tool.contains("Plan Mode")
        || label("automatically accept edits")
        || hint.contains("edit plan")
    {
        QuestionKind::Plan
    } else if tool.contains("Fetch")
        || paragraphs.iter().any(|text| text.starts_with("URLs to fetch:"))
    {
        QuestionKind::Fetch
    } else {
        of_the_cli(paragraphs, options, hint)
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
