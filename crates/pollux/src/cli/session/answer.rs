//! `pollux answer` for sessions of the daemon.

use super::change::{Tell, order};
use crate::api::Summary;
use crate::cli::question;
use crate::client::Client;
use crate::report;
use crate::report::table::printable;
use crate::trouble::Trouble;
use pollux_agent::gemini::screen::unticked;
use pollux_agent::model::{Choice, Effect, Question};
use pollux_agent::session::Command;
use std::fmt::Write;
use std::process::ExitCode;

/// What somebody answers; without a choice the question is shown.
#[derive(Debug)]
pub(crate) struct Given {
    /// The session: its id, the beginning of it, or `latest`
    pub session: String,
    /// An id, the number of an option, `yes`, `no` or `always`.
    pub choice: Option<String>,
    /// The question, where there are several.
    pub question: Option<String>,
    /// What to say with it.
    pub reason: Option<String>,
    /// When it is done, and how it says so.
    pub tell: Tell,
}

pub(crate) async fn run(client: &Client, args: Given) -> anyhow::Result<ExitCode> {
    let summary = client.session(&args.session).await?;
    let mut open = Vec::new();
    for question in &summary.questions {
        let asked: Question<'_> = serde_json::from_str(question.question.get())?;
        if args.question.as_ref().is_none_or(|id| asked.id == **id) {
            open.push((asked, question.shown.clone()));
        }
    }
    let [(asked, shown)] = open.as_slice() else { return Err(which(&open)) };
    let Some(choice) = &args.choice else {
        if args.tell.json {
            report::json(&summary.questions)?;
        } else {
            report::text(&as_text(asked))?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let (choice, reason) = match (asked.options.as_slice(), args.reason) {
        // There is nothing to choose: whatever is answered are the words.
        ([only], None) if only.effect == Effect::Words && only.label != **choice => {
            (only.id.to_string(), Some(choice.clone()))
        }
        (_, reason) => (chosen(asked, choice)?, reason),
    };
    let command = Command::Answer {
        question_id: asked.id.to_string(),
        choice,
        reason,
        shown: Some(shown.clone()),
    };
    order(client, &summary.id, command, args.tell).await
}

/// Shows one question.
pub(crate) fn shown(question: &Question<'_>, json: bool) -> anyhow::Result<()> {
    if json {
        return report::json(&[serde_json::json!({ "question": question })]);
    }
    report::text(&as_text(question))
}

/// Says beside everything else what is asked.
pub(super) fn note(summary: &Summary) -> anyhow::Result<()> {
    for open in &summary.questions {
        let asked: Question<'_> = serde_json::from_str(open.question.get())?;
        report::note(as_text(&asked).trim_end());
    }
    report::quiet("it waits for an answer: `pollux answer`");
    Ok(())
}

fn which(open: &[(Question<'_>, String)]) -> anyhow::Error {
    if open.is_empty() {
        let trouble = Trouble::refused("no_question", "there is no such question");
        return trouble.hint("`pollux show ID` shows what a session asks").into();
    }
    let mut hint = "say which, with `--question ID`:".to_owned();
    for (asked, _) in open {
        // Writing to a string does not fail.
        let _written = write!(
            hint,
            "\n  {}  {}",
            printable(&asked.id.to_str()),
            printable(&asked.text.to_str())
        );
    }
    let message = format!("{} questions are open", open.len());
    Trouble::refused("several_questions", message).hint(hint).into()
}

fn as_text(question: &Question<'_>) -> String {
    question::lines(question).join("\n") + "\n"
}

fn chosen(asked: &Question<'_>, word: &str) -> anyhow::Result<String> {
    let is_it =
        |option: &&Choice<'_>| option.id == *word || unticked(&option.label.to_str()) == word;
    if let Some(option) = asked.options.iter().find(is_it) {
        return Ok(option.id.to_string());
    }
    let number = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    if let Some(option) = number.and_then(|number| asked.options.get(number)) {
        return Ok(option.id.to_string());
    }
    let effect = match word {
        "yes" | "y" | "allow" => Some(Effect::AllowOnce),
        "no" | "n" | "deny" | "reject" => Some(Effect::RejectOnce),
        "always" => Some(Effect::AllowAlways),
        _ => None,
    };
    let mut fitting = asked.options.iter().filter(|option| Some(option.effect) == effect);
    if let (Some(option), None) = (fitting.next(), fitting.next()) {
        return Ok(option.id.to_string());
    }
    let begins = |option: &&Choice<'_>| {
        unticked(&option.label.to_str()).to_lowercase().starts_with(&word.to_lowercase())
    };
    let mut fitting = asked.options.iter().filter(begins);
    if let (Some(option), None) = (fitting.next(), fitting.next()) {
        return Ok(option.id.to_string());
    }
    let trouble = Trouble::refused("unknown_choice", format!("`{word}` was not offered"));
    Err(trouble.hint(as_text(asked)).into())
}
