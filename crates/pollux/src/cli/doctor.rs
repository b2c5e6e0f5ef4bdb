//! `pollux doctor`: what is there, what is not, and what to do about it.

mod agent;
mod house;
mod strays;

use crate::config::Config;
use crate::render::clean;
use crate::report;
use crate::report::table::{Align, Cell, Table};
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

/// Look whether all is well, and say what to do where it is not
///
/// Nothing is changed, unless you ask for it with `--clean`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 nothing is broken (warnings included), 2 something is.")]
pub(crate) struct Doctor {
    /// An array of objects
    #[arg(long)]
    json: bool,
    /// End processes and remove files that a Pollux which is gone has left
    #[arg(long)]
    clean: bool,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Health {
    Well,
    /// It works, but not all of it, or not for long.
    Warning,
    Broken,
}

/// One line.
#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    health: Health,
    found: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Finding {
    fn well(what: &'static str, found: impl Into<String>) -> Self {
        Self { what, health: Health::Well, found: found.into(), hint: None }
    }

    fn warning(what: &'static str, found: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what, health: Health::Warning, found: found.into(), hint: Some(hint.into()) }
    }

    fn broken(what: &'static str, found: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { health: Health::Broken, ..Self::warning(what, found, hint) }
    }
}

pub(super) async fn run(args: Doctor, config: &Config) -> anyhow::Result<ExitCode> {
    let mut findings = agent::look(config).await;
    findings.extend(house::look(config).await);
    findings.extend(strays::look(config, args.clean).await);
    if args.json {
        report::json(&findings)?;
    } else {
        print(&findings)?;
    }
    let broken = findings.iter().any(|finding| finding.health == Health::Broken);
    Ok(if broken { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

fn print(findings: &[Finding]) -> anyhow::Result<()> {
    let mut table =
        Table::new(&[("", Align::Left), ("what", Align::Left), ("found", Align::Flexible)]);
    for finding in findings {
        let (sign, colour) = match finding.health {
            Health::Well => ("ok", AnsiColor::Green),
            Health::Warning => ("!", AnsiColor::Yellow),
            Health::Broken => ("✗", AnsiColor::Red),
        };
        let sign = Cell::styled(sign, colour.on_default());
        table.row(vec![sign, finding.what.into(), finding.found.as_str().into()]);
    }
    let mut out = report::out();
    table.write(&mut out, report::width())?;
    let hint = Style::new().bold();
    for finding in findings {
        if let Some(text) = &finding.hint {
            writeln!(out, "\n{hint}{}{hint:#}: {}", finding.what, clean(text))?;
        }
    }
    Ok(out.flush()?)
}
