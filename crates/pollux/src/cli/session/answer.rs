//! `pollux answer` for sessions of the daemon.

use super::change::{Tell, order};
use crate::api::Summary;
use crate::cli::question;
use crate::client::Client;
use crate::report;
use crate::report::table::printable;
use crate::trouble::Trouble;
use pollux_agent::gemini::screen::unticked;
use pollux_agent::model::Question;
use pollux_agent::session::{Chosen, Command, Offered, Unclear, choose};
use std::borrow::Cow;
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
    let missing = || which(&summary.id, args.question.as_deref(), &open);
    let [(asked, shown)] = open.as_slice() else { return Err(missing()) };
    let Some(choice) = &args.choice else {
        if args.tell.json {
            report::json(&summary.questions)?;
        } else {
            report::text(&as_text(asked))?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let Chosen { at, words } = chosen(asked, choice, args.reason.is_some())?;
    let reason = words.map(str::to_owned).or(args.reason);
    let Some(option) = asked.options.get(at) else { return Err(missing()) };
    let choice = option.id.to_string();
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
    report::quiet(&format!("waiting for your answer: `pollux answer {}`", summary.id));
    Ok(())
}

fn which(session: &str, wanted: Option<&str>, open: &[(Question<'_>, String)]) -> anyhow::Error {
    if open.is_empty() {
        let message = match wanted {
            Some(id) => format!("question `{id}` is not pending in session {session}"),
            None => format!("no question is pending in session {session}"),
        };
        let trouble = Trouble::refused("no_question", message);
        return trouble.hint(format!("`pollux show {session}` shows the session's state")).into();
    }
    let mut hint = "choose one with `--question ID`:".to_owned();
    for (asked, _) in open {
        // Writing to a string does not fail.
        let _written = write!(
            hint,
            "\n  {}  {}",
            printable(&asked.id.to_str()),
            printable(&asked.text.to_str())
        );
    }
    let message = format!("{} questions are pending in session {session}", open.len());
    Trouble::refused("several_questions", message).hint(hint).into()
}

fn as_text(question: &Question<'_>) -> String {
    question::lines(question).join("\n") + "\n"
}

fn chosen<'w>(asked: &Question<'_>, word: &'w str, reason: bool) -> anyhow::Result<Chosen<'w>> {
    let texts = asked.options.iter().map(|option| (option.id.to_str(), option.label.to_str()));
    let texts: Vec<(Cow<'_, str>, Cow<'_, str>)> = texts.collect();
    let all: Vec<Offered<'_>> = asked
        .options
        .iter()
        .zip(&texts)
        .map(|(option, (id, label))| Offered {
            id,
            label: unticked(label),
            number: None,
            effect: option.effect,
        })
        .collect();
    choose(&all, word, reason).map_err(|unclear| {
        let why = match unclear {
            Unclear::None => format!("`{word}` is not one of the choices"),
            Unclear::Several => format!("`{word}` matches more than one choice"),
        };
        Trouble::refused("unknown_choice", why).hint(as_text(asked)).into()
    })
}
