//! `pollux demo`: a session from its beginning to its end, in a browser, with no key and nothing installed for good.

mod agent;
mod stage;

use crate::api::team::{Give, Job};
use crate::api::{Begin, Driver, Pair, Pairing, Scope};
use crate::cli::live::tell::{Format, Rest, Teller};
use crate::cli::session::ended;
use crate::cli::session::people::door;
use crate::cli::team::jobs;
use crate::client::{Client, Until, Waited, wait};
use crate::config::Config;
use crate::ends::Stop;
use crate::render::clean;
use crate::report;
use crate::team::job::Kind;
use crate::team::limits::Budget;
use crate::trouble::Trouble;
use pollux_agent::model::Event;
use pollux_agent::session::Command;
use serde_json::Value;
use stage::Stage;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What the agent is asked to do, in the script and without it.
const PROMPT: &str =
    "The greeting in hello.txt is dull. Make it friendlier, then show me the file.";

/// What the reviewer is asked at the end.
const REVIEW: &str = "Review what was done to hello.txt: it was to become friendlier.";

/// What to do where it does not.
const DOCTOR: &str = "find out what is missing with `pollux doctor`";

/// Try Pollux in your browser, with a scripted model (no API key needed)
///
/// The demo runs the real Gemini CLI in a temporary directory with its own project, sessions and daemon. If Gemini CLI is not
/// installed, the demo downloads it there. The directory is deleted at the end.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(
    after_help = "Examples:\n  pollux demo\n  pollux demo --yes --unattended\n  pollux demo --live"
)]
pub(crate) struct Demo {
    /// Use your own script for the model (see docs/rehearsal.md)
    #[arg(long, value_name = "FILE", conflicts_with = "live")]
    script: Option<PathBuf>,
    /// First prompt, for your own script
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Use your own Gemini CLI and the real model; the session stays in ~/.gemini
    #[arg(long)]
    live: bool,
    /// Download the agent from npm without asking if it is not installed
    #[arg(long)]
    yes: bool,
    /// Approve the agent's questions and exit when the session is done
    #[arg(long)]
    unattended: bool,
    /// Gemini CLI executable
    #[arg(long, value_name = "FILE")]
    agent_path: Option<PathBuf>,
}

pub(super) async fn run(args: Demo, config: &Config) -> anyhow::Result<ExitCode> {
    let place = tempfile::Builder::new().prefix("pollux-demo-").tempdir()?;
    let mut stop = Stop::new()?;
    let stage = tokio::select! {
        stage = set(&args, config, place.path()) => Some(stage?),
        // What was begun, such as a fetch, ends with what is dropped here.
        () = stop.told() => None,
    };
    let code = match stage {
        Some(stage) => {
            let shown = show(&args, &stage, &mut stop).await;
            stage.strike().await;
            shown?
        }
        None => ExitCode::from(130),
    };
    place.close()?;
    report::note(if args.live {
        "demo files removed; the session stays in ~/.gemini"
    } else {
        "demo files removed"
    });
    Ok(code)
}

async fn set(args: &Demo, config: &Config, place: &Path) -> anyhow::Result<Stage> {
    let cli = agent::find(args, config, place).await?;
    Stage::set(args, cli, place, config).await
}

/// Plays the session: here as words, and in every browser that is let in.
async fn show(args: &Demo, stage: &Stage, stop: &mut Stop) -> anyhow::Result<ExitCode> {
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
        told = story(args, client, &session, &stage.project) => told.map(|()| ExitCode::SUCCESS),
        () = stop.told() => Ok(ExitCode::SUCCESS),
    }
}

/// How to get in, and the picture of it.
async fn invite(client: &Client, session: &str, unattended: bool) -> anyhow::Result<()> {
    let scopes = vec![Scope::View, Scope::Prompt, Scope::Approve];
    // Whoever has started a build of ten minutes may have gone for a coffee.
    let pairing = Pairing { name: "demo".to_owned(), scopes, minutes: Some(60) };
    let pair: Pair = client.post("/api/v1/pairings", &pairing).await?;
    door(&pair)?;
    report::note(&format!("session {session}"));
    if unattended {
        return Ok(());
    }
    report::note("open the address and answer the agent's questions; stop the demo with Ctrl-C");
    if let Some(url) = pair.urls.first() {
        stage::open_browser(url);
    }
    Ok(())
}

/// The first turn, the review by a second agent and, unless unattended, all later turns.
async fn story(args: &Demo, client: &Client, session: &str, project: &Path) -> anyhow::Result<()> {
    tell(client, session, true).await?;
    if args.script.is_none() {
        review(client, project).await?;
    }
    if args.unattended { Ok(()) } else { tell(client, session, false).await }
}

/// Hands the change to a reviewer, and waits for what it says.
async fn review(client: &Client, project: &Path) -> anyhow::Result<()> {
    let give = Give {
        client_id: None,
        kind: Kind::Handoff,
        profile: "reviewer".to_owned(),
        message: REVIEW.to_owned(),
        cwd: Some(project.to_path_buf()),
        timeout: None,
        budget: Budget::default(),
        worktree: None,
        keep: Some(true),
        driver: None,
    };
    let job: Job = client.post("/api/v1/jobs", &give).await?;
    report::note(&format!("  ⇢ handed the review to a second agent, {}", job.name));
    let job = jobs::wait(client, job).await?;
    let said = job.result.map(|result| result.text).or(job.why).unwrap_or_default();
    report::note(&format!("  ⇠ {}: {}", job.name, clean(said.trim())));
    Ok(())
}

/// Tells what happens, until the daemon ends, or until the turn does.
async fn tell(client: &Client, session: &str, one_turn: bool) -> anyhow::Result<()> {
    let mut teller = Teller::new(Format::Story);
    crate::client::follow(client, session, None, |frame: &Value| {
        for numbered in frame["events"].as_array().into_iter().flatten() {
            let Ok(event) = Event::from_json(&numbered["event"].to_string()) else { continue };
            let rest = teller.event(&event)?;
            if one_turn && matches!(rest, Some(Rest::Done(_))) {
                return Ok(false);
            }
        }
        Ok(true)
    })
    .await
}

/// Answers the agent's questions if unattended. Returns only if the agent fails.
async fn play(client: &Client, session: &str, unattended: bool) -> anyhow::Result<ExitCode> {
    if !unattended {
        wait(client, session, &[Until::Exit]).await?;
        return match why(client, session).await? {
            Some(why) => Err(too_early(why).into()),
            // Somebody has ended it, and may begin another one.
            None => std::future::pending().await,
        };
    }
    loop {
        match wait(client, session, &[Until::Question]).await? {
            Waited::Came(Until::Question) => answer(client, session).await?,
            Waited::Came(Until::Idle) => {}
            Waited::Came(Until::Exit) | Waited::Gone => {
                let why = why(client, session).await?;
                let why = why.unwrap_or_else(|| "the session ended too early".to_owned());
                return Err(too_early(why).into());
            }
        }
    }
}

/// Why the agent is gone, where that was told.
async fn why(client: &Client, session: &str) -> anyhow::Result<Option<String>> {
    ended::why(client, &client.session(session).await?).await
}

/// The agent is gone before it was done.
fn too_early(why: String) -> Trouble {
    Trouble::failed("demo_ended", why).hint(DOCTOR)
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
