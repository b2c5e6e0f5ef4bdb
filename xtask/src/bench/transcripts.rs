//! Session files: load, list and follow, against Node's `JSON.parse` of the same files.

use super::data::{Session, Text};
use super::table::Figures;
use crate::measure::{Cost, best};
use crate::shell::{self, present, say, target};
use anyhow::ensure;
use pollux_agent::gemini::transcript::follow::Follow;
use pollux_e2e::package;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How often each thing is measured; the cheapest run counts.
const RUNS: usize = 5;
/// Counts the tokens of Gemini CLI's sessions too; it is written in Rust.
const CCUSAGE: &str = "20.0.24";
/// How many messages are added to a session that is followed.
const MORE: usize = 200;

/// Node reads and parses each file: what any reader in JavaScript costs at least.
const NODE: &str = "const fs=require('fs');for(const f of fs.readdirSync(process.argv[1])){\
    const t=fs.readFileSync(process.argv[1]+'/'+f,'utf8');\
    if(f.endsWith('.jsonl')){for(const l of t.split('\\n'))if(l)JSON.parse(l)}else JSON.parse(t)}";

pub(crate) fn run() -> anyhow::Result<()> {
    ensure!(
        present("node"),
        "this compares with Node, and there is no `node` here\n\nhint: install Node 20 or newer"
    );
    shell::run("cargo build --quiet --release --package pollux")?;
    let data = target().join("bench/transcripts");
    make(&data)?;
    let mut figures = Figures::default();
    for set in Set::all() {
        large(&data, set, &mut figures)?;
        many(&data, set, &mut figures)?;
    }
    following(&data, &mut figures)?;
    figures.finish()
}

/// The same sessions in one format, with one kind of text.
#[derive(Debug, Clone, Copy)]
struct Set {
    text: Text,
    format: &'static str,
}

impl Set {
    fn all() -> impl Iterator<Item = Self> {
        let formats = |text| ["json", "jsonl"].map(|format| Self { text, format });
        Text::ALL.into_iter().flat_map(formats)
    }

    fn home(self, data: &Path, size: &str) -> PathBuf {
        data.join(format!("{size}-{}-{}", self.text.name(), self.format))
    }

    fn chats(self, data: &Path, size: &str) -> PathBuf {
        self.home(data, size).join(".gemini/tmp/project/chats")
    }

    fn write(self, session: Session<'_>, directory: &Path) -> std::io::Result<()> {
        let Self { format, .. } = self;
        let name = format!("session-2026-11-15T00-00-{:08x}.{format}", session.number + 1);
        let path = directory.join(name);
        if format == "json" { session.write_json(&path) } else { session.write_jsonl(&path) }
    }
}

/// The data: one session of 50 MB, and 2,000 sessions of ten messages, in each set.
fn make(data: &Path) -> anyhow::Result<()> {
    let done = data.join("made-3");
    if done.exists() {
        return Ok(());
    }
    say("making the data (once)");
    if data.exists() {
        fs::remove_dir_all(data)?;
    }
    for set in Set::all() {
        let prose = set.text.prose()?;
        let large = set.chats(data, "large");
        fs::create_dir_all(&large)?;
        // An answer is written once in the old format and twice in the new, with its responses a third time.
        let messages = if set.format == "json" { 8_690 } else { 4_400 };
        set.write(Session { number: 0, messages, weight: 3_400, prose: &prose }, &large)?;
        let many = set.chats(data, "many");
        fs::create_dir_all(&many)?;
        for number in 0..2_000 {
            set.write(Session { number, messages: 10, weight: 1_800, prose: &prose }, &many)?;
        }
    }
    Ok(fs::write(done, "")?)
}

fn node(chats: &Path) -> anyhow::Result<Cost> {
    best(RUNS, &["node".into(), "-e".into(), NODE.into(), chats.display().to_string()], &[])
}

fn ccusage(home: &Path) -> anyhow::Result<Cost> {
    let place = package("ccusage", "ccusage", CCUSAGE)?.join("node_modules/.bin/ccusage");
    let words = ["gemini", "daily", "--json", "--offline"].map(str::to_owned);
    let command: Vec<String> = std::iter::once(place.display().to_string()).chain(words).collect();
    best(RUNS, &command, &[("HOME", &home.display().to_string())])
}

fn pollux(arguments: &str, home: &Path, cache: &Path) -> anyhow::Result<Cost> {
    let program = target().join("release/pollux").display().to_string();
    let command: Vec<String> =
        std::iter::once(program).chain(arguments.split(' ').map(Into::into)).collect();
    let (home, cache) = (home.display().to_string(), cache.display().to_string());
    best(RUNS, &command, &[("GEMINI_CLI_HOME", &home), ("XDG_CACHE_HOME", &cache)])
}

/// One session of 50 MB.
fn large(data: &Path, set: Set, figures: &mut Figures) -> anyhow::Result<()> {
    let (home, chats) = (set.home(data, "large"), set.chats(data, "large"));
    let file = fs::read_dir(&chats)?.next().ok_or_else(|| anyhow::anyhow!("no data"))??.path();
    let size = megabytes(fs::metadata(&file)?.len());
    let node = node(&chats)?;
    let cold = fresh(data)?;
    let show = pollux(&format!("sessions show {} --format json", file.display()), &home, &cold)?;
    let what = |what: &str| format!("{size:.0} MB .{} of {}: {what}", set.format, set.text.name());
    figures.tell(&what("Node, JSON.parse"), &format!("{:.0} ms CPU", node.cpu));
    figures.at_most(&what("load, normalise, print as JSON"), show.cpu / node.cpu, 0.6, "x");
    figures.at_most(&what("peak memory of show, by the file's size"), show.memory / size, 1.6, "x");
    let list = pollux("sessions list --json", &home, Path::new("/dev/null"))?;
    figures.at_most(&what("peak memory of list"), list.memory, 24.0, " MB");
    let stats = pollux("sessions stats --json", &home, Path::new("/dev/null"))?;
    figures.at_most(&what("peak memory of stats"), stats.memory, 24.0, " MB");
    Ok(())
}

/// 2,000 sessions of ten messages.
fn many(data: &Path, set: Set, figures: &mut Figures) -> anyhow::Result<()> {
    let (home, chats) = (set.home(data, "many"), set.chats(data, "many"));
    let node = node(&chats)?;
    // A cache that cannot be written is a cold start each time.
    let cold = pollux("sessions list --json", &home, Path::new("/dev/null"))?;
    let cache = fresh(data)?;
    pollux("sessions list --json", &home, &cache)?;
    let warm = pollux("sessions list --json", &home, &cache)?;
    let what = |what: &str| format!("2,000 .{} of {}: {what}", set.format, set.text.name());
    figures.tell(&what("Node, JSON.parse"), &format!("{:.0} ms CPU", node.cpu));
    figures.at_most(&what("list, cold"), cold.cpu / node.cpu, 0.4, "x");
    figures.at_most(&what("list again, with the index"), warm.wall, 20.0, " ms");
    let stats = pollux("sessions stats --json", &home, Path::new("/dev/null"))?;
    let counted = ccusage(&home)?;
    figures.tell(&what("ccusage, tokens by day"), &format!("{:.0} ms CPU", counted.cpu));
    figures.tell(&what("stats, cold, by ccusage"), &format!("{:.2}x", stats.cpu / counted.cpu));
    Ok(())
}

/// What one more message costs those who follow a session of 50 MB, beside one of 50 KB.
fn following(data: &Path, figures: &mut Figures) -> anyhow::Result<()> {
    let prose = Text::Source.prose()?;
    let mut costs = Vec::new();
    for messages in [4_400, 6] {
        let session = Session { number: 0, messages, weight: 3_400, prose: &prose };
        let path = data.join("followed.jsonl");
        session.write_jsonl(&path)?;
        let mut follow = Follow::new(&path);
        follow.skip_existing();
        costs.push(per_message(&mut follow, session)?);
        if messages > 6 {
            let followed = format!("sessions follow {} --skip-existing --for 1", path.display());
            let cost = pollux(&followed, data, &fresh(data)?)?;
            figures.at_most("50 MB .jsonl: peak memory of follow", cost.memory, 24.0, " MB");
        }
        fs::remove_file(&path)?;
    }
    let [large, small] = costs.as_slice() else { return Ok(()) };
    figures.tell("50 KB .jsonl: one more message, followed", &format!("{:.0} µs", small * 1e6));
    figures.at_most("50 MB .jsonl: one more message, by that of 50 KB", large / small, 1.25, "x");
    Ok(())
}

/// The median of the time from a message on disk to its event, in seconds.
fn per_message(follow: &mut Follow, session: Session<'_>) -> anyhow::Result<f64> {
    let mut times = Vec::new();
    let mut file = fs::OpenOptions::new().append(true).open(follow.path())?;
    for at in 0..MORE {
        // Answers only: a prompt is a tenth of one.
        for row in session.rows(session.messages + 1 + at * 2) {
            writeln!(file, "{row}")?;
        }
        let started = Instant::now();
        let events = follow.poll();
        times.push(started.elapsed().as_secs_f64());
        ensure!(!events.is_empty(), "a new message was not seen");
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// A cache directory with nothing in it.
fn fresh(data: &Path) -> anyhow::Result<PathBuf> {
    let cache = data.join("cache");
    if cache.exists() {
        fs::remove_dir_all(&cache)?;
    }
    fs::create_dir_all(&cache)?;
    Ok(cache)
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
