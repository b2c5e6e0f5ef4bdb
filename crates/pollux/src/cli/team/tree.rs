//! `pollux team` and `pollux shutdown`.

use crate::api::team::{Member, Teams};
use crate::client::{Client, Until, Waited, escaped, wait};
use crate::config::Config;
use crate::report;
use crate::report::table::{Align, Cell, Table};
use crate::trouble::Trouble;
use anstyle::{AnsiColor, Style};
use futures::future::join_all;
use pollux_agent::gemini::terminal::all;
use serde_json::json;
use std::collections::{BTreeSet, HashSet};
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Puts the next table in the place of the one before.
const CLEAR: &str = "\x1b[H\x1b[2J";
/// How long agents may take to end.
const PATIENCE: Duration = Duration::from_secs(25);
/// How often `--watch` looks.
const LOOK: Duration = Duration::from_secs(1);

/// Show team agents, their status and which agent started them
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Tree {
    /// Include ended agents
    #[arg(long, short)]
    all: bool,
    /// Refresh on change, until Ctrl-C
    #[arg(long, short)]
    watch: bool,
    /// Print JSON
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
                members = with_those_above(&members);
            }
            let is = serde_json::to_string(&members)?;
            if is != before {
                self.tell(&members)?;
                before = is;
            }
            if !self.watch {
                return Ok(ExitCode::SUCCESS);
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Tree {
    fn tell(&self, members: &[Member]) -> anyhow::Result<()> {
        if self.json {
            return report::json(&members);
        }
        if self.watch && report::width().is_some() {
            report::text(CLEAR)?;
        }
        table(members)
    }
}

/// Those who live, and those above them who do not: each stands below the one that it works for.
fn with_those_above(members: &[Member]) -> Vec<Member> {
    let mut shown: HashSet<&str> = HashSet::new();
    // Each stands after the one that it works for.
    for member in members.iter().rev() {
        if !member.gone || shown.contains(&*member.session) {
            shown.insert(&member.session);
            shown.extend(member.parent.as_deref());
        }
    }
    members.iter().filter(|member| shown.contains(&*member.session)).cloned().collect()
}

fn table(members: &[Member]) -> anyhow::Result<()> {
    let dim = Style::new().dimmed();
    let mut table = Table::new(&[
        ("agent", Align::Left),
        ("status", Align::Left),
        ("mode", Align::Left),
        ("tokens", Align::Right),
        ("messages", Align::Right),
        ("job", Align::Left),
        ("session", Align::Left),
    ])
    .less_needed(&["session", "mode", "messages", "job"]);
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
    table.write(&mut out, Some(report::table_width()))?;
    out.flush()?;
    if members.is_empty() {
        report::note("no team agents: start one with `pollux launch PROFILE`");
    }
    Ok(())
}

/// Stop team agents and any agents they started (the daemon keeps running)
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Shutdown {
    /// Agent to stop, with any agents it started
    agent: Option<String>,
    /// Stop all teams
    #[arg(long)]
    all: bool,
}

impl Shutdown {
    pub(super) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let client = match Client::running(config).await? {
            Some(client) => client,
            // Agents in terminals outlive the daemon, which alone knows their teams.
            None if lives(config).await => Client::connect(config).await?,
            None => {
                let trouble = Trouble::refused(
                    "no_daemon",
                    "no daemon is running, so there are no team agents",
                );
                let trouble = trouble.hint("start an agent with `pollux launch PROFILE`");
                return if self.all { Ok(report::nothing(&trouble)) } else { Err(trouble.into()) };
            }
        };
        let first: Vec<(String, String)> = if let Some(agent) = self.agent {
            vec![(agent.clone(), agent)]
        } else {
            let members = client.get::<Teams>("/api/v1/team").await?.members;
            let living = members.into_iter().filter(|member| !member.gone);
            living.map(|member| (member.session, member.name)).collect()
        };
        let (mut ended, mut failed) = (BTreeSet::new(), None);
        for (agent, name) in first {
            // Those who work for others end with them.
            if ended.contains(&name) {
                continue;
            }
            let path = format!("/api/v1/team/{}/stop", escaped(&agent));
            match client.post::<Vec<String>>(&path, &json!({})).await {
                Ok(stopped) => ended.extend(stopped),
                // The other teams are to end all the same.
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let late = who_goes_on(&client, &ended).await?;
        for name in ended.iter().filter(|name| !late.contains(name)) {
            report::text(&format!("{name}\n"))?;
        }
        if ended.is_empty() && failed.is_none() {
            report::note("no running team agents");
        }
        let failed = failed.or_else(|| not_stopped(&late));
        failed.map_or(Ok(ExitCode::SUCCESS), Err)
    }
}

/// Who was told to end and goes on.
fn not_stopped(late: &[String]) -> Option<anyhow::Error> {
    if late.is_empty() {
        return None;
    }
    let message = format!("did not stop within 25 s: {}", late.join(", "));
    let trouble = Trouble::failed("not_stopped", message);
    Some(trouble.hint("look at it with `pollux ls`, then `pollux screen ID`").into())
}

/// Waits for the stopped agents to end and returns the names of those that have not: the user may switch off the machine
/// next.
async fn who_goes_on(client: &Client, ended: &BTreeSet<String>) -> anyhow::Result<Vec<String>> {
    let members = client.get::<Teams>("/api/v1/team").await?.members;
    let late = Instant::now() + PATIENCE;
    let ends = members.iter().filter(|member| ended.contains(&member.name));
    let waits = ends.map(async |member| {
        let gone = timeout_at(late, wait(client, &member.session, &[Until::Exit])).await;
        (&member.name, gone)
    });
    let mut goes_on = Vec::new();
    for (name, gone) in join_all(waits).await {
        match gone {
            Ok(Ok(Waited::Came(_))) => {}
            Ok(Ok(Waited::Gone)) => return Err(client.gone().into()),
            Ok(Err(error)) => return Err(error),
            Err(_late) => goes_on.push(name.clone()),
        }
    }
    Ok(goes_on)
}

/// True where an agent is in a terminal.
async fn lives(config: &Config) -> bool {
    // Without tmux there is none.
    all(&config.tmux).await.is_ok_and(|found| found.iter().any(|found| !found.dead))
}

#[cfg(test)]
mod tests {
    use super::{Member, not_stopped, with_those_above};
    use crate::trouble::{Kind, Trouble};
    use serde_json::json;

    fn member(name: &str, parent: Option<&str>, gone: bool) -> Member {
        let member = json!({
            "session": name, "name": name, "profile": "p", "team": "t", "parent": parent, "depth": 0, "status": "idle",
            "mode": "default", "tokens": 0, "letters": 0, "gone": gone,
        });
        serde_json::from_value(member).unwrap()
    }

    #[test]
    fn agents_that_go_on_are_a_failure() {
        assert!(not_stopped(&[]).is_none());
        let error = not_stopped(&["a".to_owned(), "b".to_owned()]).unwrap();
        let trouble: &Trouble = error.downcast_ref().unwrap();
        assert_eq!((trouble.code, trouble.kind), ("not_stopped", Kind::Failed));
        assert!(trouble.message.contains("a, b"), "{trouble}");
    }

    #[test]
    fn who_lives_stands_below_the_one_that_it_worked_for_also_where_that_one_is_gone() {
        let all = [
            member("lead", None, true),
            member("boss", Some("lead"), true),
            member("worker", Some("boss"), false),
            member("other", None, false),
            member("ended", Some("other"), true),
        ];
        let shown: Vec<String> = with_those_above(&all).into_iter().map(|one| one.name).collect();
        assert_eq!(shown, ["lead", "boss", "worker", "other"]);
    }
}
