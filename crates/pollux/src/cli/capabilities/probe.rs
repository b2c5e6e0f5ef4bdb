//! `pollux capabilities --probe`: what an agent really answers.

use super::Capabilities;
use crate::cli::session::runtime;
use crate::config::Config;
use crate::ends::Stop;
use crate::report;
use crate::report::table::{Align, Table};
use pollux_agent::acp::{About, Agent, Config as AgentConfig, Named, Open, Opened};
use pollux_agent::gemini::acp::Gemini;
use pollux_agent::model::{Failure, Phase};
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;

/// What an agent said about itself, and about a new session where it opened one.
struct Probed {
    about: About,
    session: Result<Opened, Failure>,
}

pub(super) fn run(args: &Capabilities, config: &Config) -> anyhow::Result<ExitCode> {
    let probed = runtime()?.block_on(async {
        let mut stop = Stop::new()?;
        tokio::select! {
            probed = probe(args, config) => anyhow::Ok(probed),
            () = stop.told() => Ok(Err(cancelled())),
        }
    });
    let probed = match probed? {
        Ok(probed) => probed,
        Err(failure) => {
            report::failure(&failure);
            let code = if failure.phase == Phase::Cancelled { 130 } else { 2 };
            return Ok(ExitCode::from(code));
        }
    };
    if args.json {
        let session = match &probed.session {
            Ok(opened) => json!({ "opened": opened }),
            Err(failure) => json!({ "error": failure }),
        };
        report::json(&json!({ "agent": probed.about, "session": session }))?;
    } else {
        print(&probed)?;
    }
    if let Err(failure) = &probed.session {
        report::failure(failure);
        return Ok(ExitCode::from(2));
    }
    Ok(ExitCode::SUCCESS)
}

fn cancelled() -> Failure {
    Failure::new(Phase::Cancelled, "cancelled", "the probe was cancelled")
}

async fn start(args: &Capabilities, config: &Config) -> Result<Agent, Failure> {
    if let Some(command) = &args.agent_command {
        let mut words = command.split_whitespace();
        let program = words.next().unwrap_or_default();
        return Agent::spawn(AgentConfig::new(program).args(words).cwd(&config.cwd)).await;
    }
    let cli = config.cli(args.agent_path.as_ref()).await?;
    Gemini::new().cli(cli).cwd(&config.cwd).spawn().await
}

async fn probe(args: &Capabilities, config: &Config) -> Result<Probed, Failure> {
    let agent = start(args, config).await?;
    let about = agent.about().clone();
    let session = agent.open(Open::new(&config.cwd)).await;
    let session = session.map(|session| session.opened().clone());
    agent.close().await;
    Ok(Probed { about, session })
}

fn print(probed: &Probed) -> anyhow::Result<()> {
    let mut out = report::out();
    let about = &probed.about;
    let name = about.name.as_deref().unwrap_or("unnamed agent");
    let version = about.version.as_deref().unwrap_or("?");
    let name = crate::render::clean(name);
    writeln!(out, "{name} {}, ACP version {}\n", crate::render::clean(version), about.protocol)?;
    let can = about.can;
    let mut table = Table::new(&[("capability", Align::Left), ("", Align::Flexible)]);
    for (what, yes) in [
        ("load sessions", can.load),
        ("images in prompts", can.image),
        ("audio in prompts", can.audio),
        ("embedded files in prompts", can.embedded),
        ("MCP servers over HTTP", can.mcp_http),
        ("MCP servers over SSE", can.mcp_sse),
    ] {
        table.row(vec![what.into(), if yes { "yes" } else { "no" }.into()]);
    }
    table.write(&mut out, report::width())?;
    writeln!(out)?;
    let (modes, models) = match &probed.session {
        Ok(opened) => (opened.modes.as_slice(), opened.models.as_slice()),
        Err(_) => Default::default(),
    };
    for (title, list) in
        [("sign-in method", about.auth.as_slice()), ("mode", modes), ("model", models)]
    {
        named(&mut out, title, list)?;
    }
    Ok(out.flush()?)
}

fn named(out: &mut dyn Write, title: &'static str, list: &[Named]) -> anyhow::Result<()> {
    let mut table = Table::new(&[(title, Align::Left), ("description", Align::Flexible)]);
    for it in list {
        let clean = |text: &str| crate::render::clean(text).into_owned();
        table.row(vec![clean(&it.id).into(), clean(&it.name).into()]);
    }
    table.write(out, report::width())?;
    Ok(writeln!(out)?)
}
