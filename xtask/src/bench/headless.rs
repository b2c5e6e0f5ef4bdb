//! What `pollux run` costs over the bare CLI on the same rehearsal, and how fast a stream is translated beside
//! `serde_json` merely parsing it.

use super::spread::middle;
use super::table::Figures;
use crate::release;
use crate::shell::{self, Serving, say, target};
use anyhow::{Context, ensure};
use pollux_e2e::{Cli, PINNED};
use serde_json::Value;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

/// How often each of the two is run, in turns.
const ROUNDS: usize = 40;
/// The size of the recorded stream.
const SIZE: usize = 200 << 20;

pub(crate) fn run() -> anyhow::Result<()> {
    let mut figures = Figures::default();
    overhead(&mut figures)?;
    translation(&mut figures)?;
    figures.finish()
}

/// When the first text came, and when it was over.
type Times = (f64, f64);

fn overhead(figures: &mut Figures) -> anyhow::Result<()> {
    let newest = PINNED.last().context("there is a version")?;
    let gemini = Cli::install(newest)?.program().display().to_string();
    let pollux = release::program()?;
    let script = shell::root().join("scripts/greeting.toml").display().to_string();
    let mut server = Serving::start(&pollux, &["rehearse", "--json", &script])?;
    let object = server.first_object()?;
    let env: Vec<(String, String)> = object
        .as_object()
        .context("the server tells its environment")?
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect();
    let work = target().join("bench/headless");
    fs::create_dir_all(&work)?;
    let bare = [gemini.clone(), "--prompt=hello".into(), "--output-format=stream-json".into()];
    let pollux = pollux.display().to_string();
    let ours = [
        pollux,
        "run".into(),
        "hello".into(),
        "--via".into(),
        "headless".into(),
        "-o".into(),
        "events".into(),
        "--agent-path".into(),
        gemini,
    ];
    let measure = |command: &[String], sign: &str| -> anyhow::Result<Times> {
        let (first, total) = shell::timed(command, &env, &work, sign)?;
        Ok((milliseconds(first.context("the CLI printed no text")?), milliseconds(total)))
    };
    let (bare_sign, our_sign) = (r#""role":"assistant""#, r#""type":"text_grew""#);
    // Once each, so that files are in memory and the version is known.
    measure(&bare, bare_sign)?;
    measure(&ours, our_sign)?;
    let (mut theirs, mut own) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        say(&format!("round {} of {ROUNDS}", round + 1));
        // In turns first, so that a machine that becomes busier or calmer is fair to both.
        if round % 2 == 0 {
            theirs.push(measure(&bare, bare_sign)?);
        }
        own.push(measure(&ours, our_sign)?);
        if round % 2 == 1 {
            theirs.push(measure(&bare, bare_sign)?);
        }
    }
    let timed =
        [("first_text", "first text", (|t| t.0) as fn(&Times) -> f64), ("total", "total", |t| t.1)];
    for (id, what, which) in timed {
        let bare = middle(theirs.iter().map(which));
        let pairs = || theirs.iter().zip(&own).map(|(bare, ours)| which(ours) - which(bare));
        let more = middle(pairs());
        let away = middle(pairs().map(|difference| (difference - more).abs()));
        figures.tell(
            &format!("headless.{id}.bare"),
            &format!("{what}: bare CLI {newest}, median of {ROUNDS}"),
            &format!("{bare:.0} ms"),
        );
        figures.tell(
            &format!("headless.{id}.noise"),
            &format!("{what}: how far a pair is from the median"),
            &format!("{away:.1} ms"),
        );
        let ratio = (bare + more) / bare;
        let by = format!("{what}: pollux run, by the bare CLI");
        figures.at_most(&format!("headless.{id}.ratio"), &by, ratio, 1.02, "x");
        let over = format!("{what}: pollux run, more than the bare CLI");
        figures.at_most(&format!("headless.{id}.overhead"), &over, more, 20.0, " ms");
    }
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn translation(figures: &mut Figures) -> anyhow::Result<()> {
    let file = target().join("bench/stream.jsonl");
    make(&file)?;
    let example = release::example("speed")?;
    let told =
        shell::capture_words(&shell::words_and("", &[example.display(), file.display()]), &[])?;
    let told: Value = serde_json::from_str(told.trim()).with_context(|| told.clone())?;
    let number = |name: &str| told[name].as_f64().unwrap_or(f64::NAN);
    let size = number("bytes") / 1e6;
    let rate = |name: &str| format!("{:.0} MB/s", size / number(name));
    for (id, what, name) in [
        ("headless.stream.values", "serde_json into values", "parsed"),
        ("headless.stream.typed", "serde_json into typed lines", "typed"),
        ("headless.stream.skipped", "serde_json, nothing kept", "skipped"),
        ("headless.stream.translated", "translated", "translated"),
    ] {
        figures.tell(id, &format!("{size:.0} MB stream: {what}"), &rate(name));
    }
    figures.at_least(
        "headless.translate_by_values",
        "translating, by the speed of serde_json into values",
        number("parsed") / number("translated"),
        0.5,
        "x",
    );
    figures.at_least(
        "headless.translate_by_typed",
        "translating, by the speed of serde_json into typed lines",
        number("typed") / number("translated"),
        0.5,
        "x",
    );
    let strict = number("skipped") / number("translated");
    figures.tell(
        "headless.translate_by_skipped",
        "translating, by the speed of serde_json keeping nothing",
        &format!("{strict:.2}x"),
    );
    Ok(())
}

/// The recorded streams of all versions, over and over.
fn make(file: &Path) -> anyhow::Result<()> {
    if file.exists() {
        return Ok(());
    }
    say("creating a stream of 200 MB (once)");
    let mut recorded = String::new();
    for version in fs::read_dir(shell::root().join("recordings"))? {
        let Ok(files) = fs::read_dir(version?.path().join("headless")) else { continue };
        for file in files {
            let path = file?.path();
            if path.to_string_lossy().ends_with(".stream.jsonl") {
                recorded.push_str(&fs::read_to_string(path)?);
            }
        }
    }
    ensure!(!recorded.is_empty(), "no recordings found");
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory)?;
    }
    // Renamed when it is whole: half a stream would be measured for ever after.
    let half = file.with_extension("half");
    let mut out = BufWriter::new(fs::File::create(&half)?);
    for _ in 0..=SIZE / recorded.len() {
        out.write_all(recorded.as_bytes())?;
    }
    out.flush()?;
    Ok(fs::rename(half, file)?)
}
