//! `pollux answer`.

use super::change::told;
use crate::cli::complete::ids;
use crate::client::Client;
use crate::config::Config;
use crate::render::clean;
use crate::report;
use crate::trouble::Trouble;
use clap_complete::ArgValueCompleter;
use pollux_agent::session::Command;
use serde::Deserialize;
use std::fmt::Write;
use std::process::ExitCode;

/// Answer a question
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without a choice the open question is shown with what can be answered. A choice is an id, the number \
    of an option, or `yes`, `no` and `always` where it is plain what they mean."
)]
pub(crate) struct Answer {
    /// The session: its id, the beginning of it, or `latest`
    #[arg(add = ArgValueCompleter::new(ids))]
    session: String,
    /// What to answer
    choice: Option<String>,
    /// The question, where there are several
    #[arg(long, value_name = "ID")]
    question: Option<String>,
    /// What to say with it
    #[arg(long)]
    reason: Option<String>,
    /// One object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Deserialize)]
struct Asked {
    id: String,
    text: String,
    options: Vec<Offered>,
}

#[derive(Debug, Deserialize)]
struct Offered {
    id: String,
    label: String,
    effect: String,
}

pub(super) async fn run(args: Answer, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config).await?;
    let summary = client.session(&args.session).await?;
    let mut open = Vec::new();
    for question in &summary.questions {
        let asked: Asked = serde_json::from_str(question.question.get())?;
        if args.question.as_ref().is_none_or(|id| asked.id == *id) {
            open.push((asked, question.shown.clone()));
        }
    }
    let [(asked, shown)] = open.as_slice() else { return Err(which(&open)) };
    let Some(choice) = &args.choice else {
        if args.json {
            report::json(&summary.questions)?;
        } else {
            report::text(&as_text(asked))?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let command = Command::Answer {
        question_id: asked.id.clone(),
        choice: chosen(asked, choice)?,
        reason: args.reason,
        shown: Some(shown.clone()),
    };
    told(&client.command(&summary.id, command).await?, args.json)?;
    Ok(ExitCode::SUCCESS)
}

fn which(open: &[(Asked, String)]) -> anyhow::Error {
    if open.is_empty() {
        return Trouble::refused("no_question", "there is no such question").into();
    }
    let mut hint = "say which, with `--question ID`:".to_owned();
    for (asked, _) in open {
        // Writing to a string does not fail.
        let _written = write!(hint, "\n  {}  {}", clean(&asked.id), clean(&asked.text));
    }
    let message = format!("{} questions are open", open.len());
    Trouble::refused("several_questions", message).hint(hint).into()
}

fn as_text(asked: &Asked) -> String {
    let mut text = format!("{}\n", clean(&asked.text));
    for (index, option) in asked.options.iter().enumerate() {
        let (label, id) = (clean(&option.label), clean(&option.id));
        let _written = writeln!(text, "  {}. {label}  ({id})", index + 1);
    }
    text
}

fn chosen(asked: &Asked, word: &str) -> anyhow::Result<String> {
    if let Some(option) = asked.options.iter().find(|option| option.id == word) {
        return Ok(option.id.clone());
    }
    let number = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    if let Some(option) = number.and_then(|number| asked.options.get(number)) {
        return Ok(option.id.clone());
    }
    let effect = match word {
        "yes" | "y" | "allow" => "allow_once",
        "no" | "n" | "deny" | "reject" => "reject_once",
        "always" => "allow_always",
        _ => "",
    };
    let mut fitting = asked.options.iter().filter(|option| option.effect == effect);
    if let (Some(option), None) = (fitting.next(), fitting.next()) {
        return Ok(option.id.clone());
    }
    let trouble = Trouble::refused("unknown_choice", format!("`{word}` was not offered"));
    Err(trouble.hint(as_text(asked)).into())
}
