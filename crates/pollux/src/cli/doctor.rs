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
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Check the installation and suggest fixes
///
/// Changes nothing without `--clean`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 no errors (warnings are allowed), 2 at least one error.")]
pub(crate) struct Doctor {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Remove leftovers of crashed Pollux processes
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

/// The room of the sign and of the gaps between the columns.
const SIGN: usize = 6;
/// No line of a text is narrower.
const LEAST: usize = 12;

/// A text in lines that have room, cut between its words, and within those that are longer than a line.
fn folded(text: &str, room: usize) -> Vec<String> {
    let room = room.max(LEAST);
    let mut lines = vec![String::new()];
    for word in text.split_whitespace().flat_map(|word| pieces(word, room)) {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(&word),
            Some(line) if line.width() + 1 + word.width() <= room => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// A word in pieces that have room.
fn pieces(word: &str, room: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for c in word.chars() {
        match pieces.last_mut() {
            Some(piece) if piece.width() + c.width().unwrap_or(0) <= room => piece.push(c),
            _ => pieces.push(c.to_string()),
        }
    }
    pieces
}

fn print(findings: &[Finding]) -> anyhow::Result<()> {
    let mut table =
        Table::new(&[("", Align::Left), ("check", Align::Left), ("result", Align::Flexible)]);
    let longest = findings.iter().map(|finding| finding.what.width()).max().unwrap_or(0);
    let room = report::width().map_or(usize::MAX, |width| width.saturating_sub(longest + SIGN));
    for finding in findings {
        let (sign, colour) = match finding.health {
            Health::Well => ("ok", AnsiColor::Green),
            Health::Warning => ("!", AnsiColor::Yellow),
            Health::Broken => ("✗", AnsiColor::Red),
        };
        let mut sign = Cell::styled(sign, colour.on_default());
        let mut what = Cell::from(finding.what);
        // What was found is told whole, in a narrow window too.
        for line in folded(&finding.found, room) {
            table.row(vec![std::mem::take(&mut sign), std::mem::take(&mut what), line.into()]);
        }
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

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn what_was_found_is_folded_between_its_words_and_within_long_ones() {
        assert_eq!(folded("", 20), [""]);
        assert_eq!(folded("does not run; it is started", usize::MAX).len(), 1);
        assert_eq!(folded("does not run; it is started", 13), ["does not run;", "it is started"]);
        assert_eq!(
            folded("at /a/path/that/is/longer x", 13),
            ["at", "/a/path/that/", "is/longer x"]
        );
    }
}
