//! `pollux send`: words for an agent in a terminal.

use super::tell::{Format, Rest, Teller};
use super::{join, order};
use crate::cli::run::prompt;
use crate::config::Config;
use crate::report;
use clap::ValueEnum;
use pollux_agent::gemini::terminal::{Busy, Live, Words};
use pollux_agent::model::StopReason;
use std::path::PathBuf;
use std::process::ExitCode;

/// Send a prompt, or one of the CLI's own commands, to an agent in a terminal
///
/// Done when the agent has taken it. What begins like a command of the CLI (`/compress`) is one, and what begins with `!` is
/// for the shell; `--literal` sends anything to the model as it is.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 sent (with --wait: done), 1 refused, 2 failed, 3 the agent asks something (--wait)."
)]
pub(crate) struct Send {
    /// The session's id, or the beginning of it
    id: String,
    /// What to send; `-`, or nothing, stands for stdin
    text: Option<String>,
    /// To the model as it is, whatever it begins with
    #[arg(long)]
    literal: bool,
    /// A file that belongs to the prompt, such as a picture
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    /// What becomes of it while the agent works
    #[arg(long, value_enum, default_value_t = While::Wait, hide_default_value = true)]
    busy: While,
    /// Wait until the agent is done or asks something, and print what it said
    #[arg(long, short)]
    wait: bool,
    /// What to print while waiting
    #[arg(long, short, value_enum, default_value_t = Format::Text, hide_default_value = true)]
    output: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum While {
    /// It is sent when the agent is done
    Wait,
    /// The CLI takes it now, and gives it to the model when the turn is over
    Queue,
    /// It is not sent
    Refuse,
}

impl Send {
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let text = prompt::read(self.text.as_deref())?;
        let words = if self.literal { Words::Prompt(text) } else { Words::typed(&text) };
        let files = self.attach.iter().map(|file| prompt::attached(&config.cwd.join(file)));
        let files = files.collect::<anyhow::Result<Vec<_>>>()?;
        let busy = match self.busy {
            While::Wait => Busy::Wait,
            While::Queue => Busy::Queue,
            While::Refuse => Busy::Refuse,
        };
        let mut live = join(&self.id, config).await?;
        let orders = live.orders();
        let is_prompt = matches!(words, Words::Prompt(_));
        let mut early = Vec::new();
        let sent = orders.send(words, files, busy);
        order(&mut live, sent, |event| early.push(event)).await?;
        if !self.wait || !is_prompt {
            return Ok(ExitCode::SUCCESS);
        }
        let mut teller = Teller::new(self.output);
        let mut rest = None;
        for event in early {
            rest = teller.event(&event)?.or(rest);
        }
        let rest = match rest {
            Some(rest) => rest,
            None => come_to_rest(&mut live, &mut teller).await?,
        };
        Ok(exit(rest))
    }
}

/// Tells what happens until the agent is done, asks something, or is gone.
pub(super) async fn come_to_rest(live: &mut Live, teller: &mut Teller) -> anyhow::Result<Rest> {
    while let Some(event) = live.next().await {
        if let Some(rest) = teller.event(&event)? {
            return Ok(rest);
        }
    }
    Ok(Rest::Exited)
}

/// What a program that waits wants to know.
pub(super) fn exit(rest: Rest) -> ExitCode {
    match rest {
        Rest::Done(StopReason::EndTurn) => ExitCode::SUCCESS,
        Rest::Done(StopReason::Cancelled) => ExitCode::from(130),
        Rest::Done(_) => ExitCode::from(2),
        Rest::Asked => {
            report::quiet("it waits for an answer: `pollux answer`");
            ExitCode::from(3)
        }
        Rest::Exited => {
            report::quiet("the agent has ended");
            ExitCode::from(2)
        }
    }
}
