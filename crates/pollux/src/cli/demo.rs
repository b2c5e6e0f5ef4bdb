//! `pollux demo`: a session from its beginning to its end, in a browser, with no key and nothing installed for good.

mod agent;
mod stage;
mod tell;

use crate::api::{Begin, Driver, Pair, Pairing, Scope};
use crate::cli::session::people::door;
use crate::client::{Client, Until, Waited, wait};
use crate::config::Config;
use crate::report;
use crate::trouble::Trouble;
use pollux_agent::session::Command;
use serde_json::Value;
use stage::Stage;
use std::path::PathBuf;
use std::process::ExitCode;
use tell::Teller;

/// What the agent is asked to do, in the script and without it.
const PROMPT: &str =
    "The greeting in hello.txt is dull. Make it friendlier, then show me the file.";

/// See it work: the real agent against a scripted model, with no key, in your browser
///
/// Everything is in a private directory, which goes at the end: the project, the sessions, the daemon, and the agent where
/// it had to be fetched.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(
    after_help = "Examples:\n  pollux demo\n  pollux demo --yes --unattended\n  pollux demo --live"
)]
pub(crate) struct Demo {
    /// A script of your own for the model: see docs/rehearsal.md
    #[arg(long, value_name = "FILE", conflicts_with = "live")]
    script: Option<PathBuf>,
    /// The first prompt, for a script of your own
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// With your own Gemini and the real model; the session stays in your ~/.gemini
    #[arg(long)]
    live: bool,
    /// Fetch the agent from npm without asking, where there is none
    #[arg(long)]
    yes: bool,
    /// Answer the agent's questions here, and end when the session is done
    #[arg(long)]
    unattended: bool,
    /// The agent's program
    #[arg(long, value_name = "FILE")]
    agent_path: Option<PathBuf>,
}

pub(super) async fn run(args: Demo, config: &Config) -> anyhow::Result<ExitCode> {
    let place = tempfile::Builder::new().prefix("pollux-demo-").tempdir()?;
    let cli = agent::find(&args, config, place.path()).await?;
    let stage = Stage::set(&args, cli, place.path(), config).await?;
    let shown = show(&args, &stage).await;
    let ended = stage.strike().await;
    let code = shown?;
    ended?;
    place.close()?;
    report::note("all of it is gone again");
    Ok(code)
}

/// Plays the session: here as words, and in every browser that is let in.
async fn show(args: &Demo, stage: &Stage) -> anyhow::Result<ExitCode> {
    let client = &stage.client;
    let begin = Begin {
        client_id: None,
        cwd: stage.project.clone(),
        driver: Some(Driver::Acp),
        mode: None,
        model: None,
        resume: None,
        prompt: Some(args.prompt.clone().unwrap_or_else(|| PROMPT.to_owned())),
    };
    let session = client.begin(&begin).await?.id;
    invite(client, &session, args.unattended).await?;
    tokio::select! {
        played = play(client, &session, args.unattended) => played,
        told = tell(client, &session, args.unattended) => told.map(|()| ExitCode::SUCCESS),
        signal = tokio::signal::ctrl_c() => signal.map(|()| ExitCode::SUCCESS).map_err(Into::into),
    }
}

/// How to get in, and the picture of it.
async fn invite(client: &Client, session: &str, unattended: bool) -> anyhow::Result<()> {
    let scopes = vec![Scope::View, Scope::Prompt, Scope::Approve];
    let pairing = Pairing { name: "demo".to_owned(), scopes };
    let pair: Pair = client.post("/api/v1/pairings", &pairing).await?;
    door(&pair)?;
    report::note(&format!("session {session}"));
    if unattended {
        return Ok(());
    }
    report::note("open the address, and answer what the agent asks. Ctrl-C ends the demo.");
    if let Some(url) = pair.urls.first() {
        stage::open_browser(url);
    }
    Ok(())
}

/// Tells what happens, until the daemon ends, or where nobody attends the first turn.
async fn tell(client: &Client, session: &str, unattended: bool) -> anyhow::Result<()> {
    let mut teller = Teller::default();
    crate::client::follow(client, session, None, |frame: &Value| {
        for event in frame["events"].as_array().into_iter().flatten() {
            teller.event(&event["event"]);
            if unattended && event["event"]["type"] == "turn_ended" {
                return Ok(false);
            }
        }
        Ok(true)
    })
    .await
}

/// Answers what the agent asks where nobody attends, and never ends unless the agent does.
async fn play(client: &Client, session: &str, unattended: bool) -> anyhow::Result<ExitCode> {
    if !unattended {
        return std::future::pending().await;
    }
    loop {
        match wait(client, session, &[Until::Question]).await? {
            Waited::Came(Until::Question) => answer(client, session).await?,
            Waited::Came(Until::Idle) => {}
            Waited::Came(Until::Exit) | Waited::Gone => {
                let trouble = Trouble::failed("demo_ended", "the session has ended too early");
                return Err(trouble.hint("`pollux doctor` says what is missing").into());
            }
        }
    }
}

/// Says yes, once.
async fn answer(client: &Client, session: &str) -> anyhow::Result<()> {
    let summary = client.session(session).await?;
    let Some(open) = summary.questions.first() else { return Ok(()) };
    let asked: Value = serde_json::from_str(open.question.get())?;
    let options = asked["options"].as_array();
    let once = options.into_iter().flatten().find(|option| option["effect"] == "allow_once");
    let command = Command::Answer {
        question_id: asked["id"].as_str().unwrap_or_default().to_owned(),
        choice: once.and_then(|once| once["id"].as_str()).unwrap_or_default().to_owned(),
        reason: None,
        shown: Some(open.shown.clone()),
    };
    client.command(session, command).await?;
    Ok(())
}
