//! `cargo xtask bench all`: every bench, one after the other, as one table and one picture in `docs/`.
//!
//! Each bench runs as a process of its own, so that none meets the memory of another; which there are says the list of
//! subcommands, so that one more bench is one more line there and nothing here.

use super::table::{FILE, Figure};
use crate::shell::{self, root, say, target};
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

/// What each bench is measured beside, in the same run; and what others have told of theirs, with who, where and when.
const PEERS: [(&str, &str); 8] = [
    ("acp", "run beside: a plain reader of the same pipe"),
    (
        "daemon",
        "run beside: CLI Agent Orchestrator from Python's registry. Cited: HAPI (its documents, August 2026): first load about 500 KB",
    ),
    ("dropin", "run beside: the bare `gemini --acp`, and a plain reader of the same agent"),
    ("headless", "run beside: the bare CLI, and serde_json alone"),
    ("hook", "run beside: a bridge of bash and curl"),
    ("rehearsal", "run beside: a bare socket"),
    (
        "teams",
        "run beside: the helper of CLI Agent Orchestrator from Python's registry. Cited, because it drives Gemini no more: version 2.4.1, measured on this kind of machine in November 2026: handoff of a 50 ms task 6.6 to 7.2 s, message to an idle receiver 1.0 to 1.2 s",
    ),
    ("transcripts", "run beside: Node's JSON.parse, ccusage"),
];

/// What one bench told.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Told {
    at: String,
    commit: String,
    figures: Vec<Figure>,
}

/// Runs the benches that are named, or all. What is not run stays as it was.
pub(crate) fn run(all: &[String], only: &[String]) -> anyhow::Result<()> {
    let unknown = only.iter().find(|name| !all.contains(name));
    anyhow::ensure!(unknown.is_none(), "unknown benchmark {unknown:?} (expected: {all:?})");
    let data = root().join("docs/figures.json");
    let kept = fs::read_to_string(&data).unwrap_or_else(|_| "{}".to_owned());
    let mut told: BTreeMap<String, Told> = serde_json::from_str(&kept)?;
    told.retain(|name, _| all.contains(name));
    let mut broken = Vec::new();
    for name in all.iter().filter(|name| only.is_empty() || only.contains(name)) {
        say(&format!("\n== {name}"));
        match one(name) {
            Ok((found, true)) => _ = told.insert(name.clone(), found),
            Ok((found, false)) => {
                broken.push(name.clone());
                told.insert(name.clone(), found);
            }
            Err(error) => {
                say(&format!("{name}: {error:#}"));
                broken.push(name.clone());
            }
        }
        // After each: what was measured is not lost when the next one fails.
        fs::write(&data, serde_json::to_string_pretty(&told)? + "\n")?;
    }
    fs::write(root().join("docs/figures.md"), page(&told)?)?;
    fs::write(root().join("docs/figures.svg"), picture(&told)?)?;
    say("\nwrote docs/figures.md, docs/figures.svg and docs/figures.json");
    anyhow::ensure!(broken.is_empty(), "some limits were exceeded: {}", broken.join(", "));
    Ok(())
}

/// Runs one bench. False where it did not keep what was promised.
fn one(name: &str) -> anyhow::Result<(Told, bool)> {
    let file = target().join(format!("bench/figures-{name}.jsonl"));
    fs::create_dir_all(file.parent().unwrap_or(&file))?;
    if file.exists() {
        fs::remove_file(&file)?;
    }
    let own = std::env::current_exe()?;
    let line = [own.display().to_string(), "bench".to_owned(), name.to_owned()];
    let kept = shell::run_words(&line, &[(FILE, &file.display().to_string())]).is_ok();
    let lines = fs::read_to_string(&file).context("the benchmark printed no JSON")?;
    let figures = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let said = |line: &str| shell::capture_with(line, &[]).map(|text| text.trim().to_owned());
    let at = said("date -u +%Y-%m-%d")?;
    let commit = said("git rev-parse --short HEAD")?;
    Ok((Told { at, commit, figures }, kept))
}

fn page(told: &BTreeMap<String, Told>) -> anyhow::Result<String> {
    let mut out = String::from(
        "# Figures\n\n<!-- Made by `cargo xtask bench all`. Do not edit. -->\n\nEvery figure beside what it is compared with, measured in the \
        same minute. `cargo xtask bench NAME` measures one table again, `cargo xtask bench all` all of them; the data are in [figures.json](figures.json).\n\n\
        ![How much of each promise is used](figures.svg)\n",
    );
    for (name, Told { at, commit, figures }) in told {
        writeln!(out, "\n## {name}\n\n`cargo xtask bench {name}`, {at}, commit {commit}.")?;
        if let Some((_, peer)) = PEERS.iter().find(|(of, _)| of == name) {
            writeln!(out, "Peers {peer}.")?;
        }
        out.push_str("\n| | measured | promised | |\n|---|---:|---:|---|\n");
        for figure in figures {
            let limit = figure.limit.as_deref().unwrap_or_default();
            writeln!(out, "| {} | {} | {limit} | {} |", figure.what, figure.shown, figure.mark())?;
        }
    }
    Ok(out)
}

/// One bar for each promise: how much of it is used.
fn picture(told: &BTreeMap<String, Told>) -> anyhow::Result<String> {
    let promised = |figure: &&Figure| figure.used.is_some();
    let rows: Vec<(&String, &Figure)> = told
        .iter()
        .flat_map(|(name, told)| told.figures.iter().filter(promised).map(move |it| (name, it)))
        .collect();
    let height = 40 + rows.len() * 20;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 {height}\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
        <rect width=\"960\" height=\"{height}\" fill=\"#fff\"/>\n<text x=\"8\" y=\"20\" font-size=\"14\" font-weight=\"600\">How much of each promise is used</text>\n\
        <line x1=\"860\" x2=\"860\" y1=\"28\" y2=\"{height}\" stroke=\"#999\" stroke-dasharray=\"3 3\"/>\n"
    );
    for (at, (name, figure)) in rows.iter().enumerate() {
        let used = figure.used.unwrap_or_default();
        let width = used.clamp(0.0, 1.1) * 300.0;
        let colour = if figure.kept() { "#4285f4" } else { "#d93025" };
        let y = 32 + at * 20;
        let words = format!("{name}: {}", figure.what);
        let words: String = words.chars().take(88).collect();
        writeln!(
            out,
            "<text x=\"8\" y=\"{}\">{}</text><rect x=\"560\" y=\"{y}\" width=\"{width:.1}\" height=\"14\" rx=\"2\" fill=\"{colour}\"/>\
            <text x=\"952\" y=\"{}\" text-anchor=\"end\">{}</text>",
            y + 12,
            escaped(&words),
            y + 12,
            escaped(&figure.shown),
        )?;
    }
    out.push_str("</svg>\n");
    Ok(out)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
