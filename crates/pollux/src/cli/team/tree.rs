//! `pollux team` and `pollux shutdown`.

use crate::api::team::{Member, Teams};
use crate::client::{Client, escaped};
use crate::config::Config;
use crate::report;
use crate::report::table::{Align, Cell, Table};
use crate::trouble::Trouble;
use anstyle::{AnsiColor, Style};
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

/// How wide the table is where no window says.
const PIPED_WIDTH: usize = 160;
/// How often `--watch` looks.
const LOOK: Duration = Duration::from_secs(1);

/// Who works for whom, and what they do
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Tree {
    /// Also those that are gone
    #[arg(long, short)]
    all: bool,
    /// Show it anew whenever it has changed, until Ctrl-C
    #[arg(long, short)]
    watch: bool,
    /// An array of objects
    #[arg(long)]
    json: bool,
}

impl Tree {
    pub(super) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let client = Client::connect(config).await?;
        let mut before = String::new();
        loop {
            let mut members = client.get::<Teams>("/api/v1/team").await?.members;
            if !self.all {
                members.retain(|member| !member.gone);
            }
            let is = serde_json::to_string(&members)?;
            if is != before {
                if self.json {
                    report::json(&members)?;
                } else {
                    table(&members)?;
                }
                before = is;
            }
            if !self.watch {
                return Ok(ExitCode::SUCCESS);
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

fn table(members: &[Member]) -> anyhow::Result<()> {
    let dim = Style::new().dimmed();
    let mut table = Table::new(&[
        ("agent", Align::Left),
        ("status", Align::Left),
        ("mode", Align::Left),
        ("tokens", Align::Right),
        ("letters", Align::Right),
        ("job", Align::Left),
        ("session", Align::Left),
    ])
    .less_needed(&["session", "mode", "letters", "job"]);
    for member in members {
        let status = serde_json::to_value(member.status)?;
        let depth = usize::try_from(member.depth).unwrap_or(0);
        let job = member.job.as_deref().and_then(|job| job.get(..8)).unwrap_or("-");
        table.row(vec![
            format!("{}{}", "  ".repeat(depth), member.name).into(),
            status.as_str().unwrap_or_default().into(),
            Cell::styled(member.mode.upstream(), dim),
            member.tokens.to_string().into(),
            member.letters.to_string().into(),
            Cell::styled(job, AnsiColor::Cyan.on_default()),
            Cell::styled(member.session.get(..8).unwrap_or(&member.session), dim),
        ]);
    }
    let mut out = report::out();
    table.write(&mut out, report::width().or(Some(PIPED_WIDTH)))?;
    out.flush()?;
    if members.is_empty() {
        report::note("there is no team: begin one with `pollux launch PROFILE`");
    }
    Ok(())
}

/// End agents of teams, and those who work for them
#[derive(Debug, clap::Args)]
pub(crate) struct Shutdown {
    /// The agent with which to begin
    #[arg(required_unless_present = "all")]
    agent: Option<String>,
    /// All teams
    #[arg(long, conflicts_with = "agent")]
    all: bool,
}

impl Shutdown {
    pub(super) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let Some(client) = Client::running(config).await? else {
            let trouble = Trouble::refused("no_daemon", "no daemon runs, and so no team");
            return Err(trouble.hint("there is nothing to end").into());
        };
        let first = if let Some(agent) = self.agent {
            vec![agent]
        } else {
            let members = client.get::<Teams>("/api/v1/team").await?.members;
            let top = members.into_iter().filter(|member| !member.gone && member.parent.is_none());
            top.map(|member| member.session).collect()
        };
        let mut failed = None;
        for agent in first {
            let path = format!("/api/v1/team/{}/stop", escaped(&agent));
            match client.post::<Vec<String>>(&path, &json!({})).await {
                Ok(stopped) => {
                    for name in stopped {
                        report::text(&format!("{name}\n"))?;
                    }
                }
                // The other teams are to end all the same.
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(ExitCode::SUCCESS), Err)
    }
}
