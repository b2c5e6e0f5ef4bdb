//! Session files: load, list and follow, against Node's `JSON.parse` of the same files.

use super::data::{Session, Text};
use super::table::Figures;
use crate::measure::{Measured, best};
use crate::release;
use crate::shell::{self, present, say, target};
use anyhow::ensure;
use pollux_agent::gemini::transcript::follow::Follow;
use pollux_e2e::pinned::CCUSAGE;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How often each thing is measured; the cheapest run counts.
const RUNS: usize = 7;
/// The same for what takes a few milliseconds.
const AGAIN: usize = 25;
/// How many messages are added to a session that is followed.
const MORE: usize = 200;

/// Node reads and parses each file: what any reader in JavaScript costs at least.
const NODE: &str = "const fs=require('fs');for(const f of fs.readdirSync(process.argv[1])){\
    const t=fs.readFileSync(process.argv[1]+'/'+f,'utf8');\
    if(f.endsWith('.jsonl')){for(const l of t.split('\\n'))if(l)JSON.parse(l)}else JSON.parse(t)}";

pub(crate) fn run() -> anyhow::Result<()> {
    ensure!(present("node"), "this benchmark needs Node.js\n\nhint: install Node.js 20 or newer");
    release::program()?;
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
    say("creating test data (once)");
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

fn node(chats: &Path) -> Measured {
    let words = ["node", "-e", NODE, &chats.display().to_string()].map(str::to_owned);
    Measured { words: words.into(), env: Vec::new() }
}

fn ccusage(home: &Path) -> anyhow::Result<Measured> {
    let place = CCUSAGE.npm()?.join("node_modules/.bin/ccusage");
    let words =
        shell::words_and(&place.display().to_string(), &["gemini", "daily", "--json", "--offline"]);
    Ok(Measured { words, env: vec![("HOME", home.display().to_string())] })
}

fn pollux(arguments: &str, home: &Path, cache: &Path) -> Measured {
    let program = target().join("release/pollux").display().to_string();
    let words = shell::words_and(&program, &shell::words(arguments));
    let (home, cache) = (home.display().to_string(), cache.display().to_string());
    Measured { words, env: vec![("GEMINI_CLI_HOME", home), ("XDG_CACHE_HOME", cache)] }
}

/// One session of 50 MB.
fn large(data: &Path, set: Set, figures: &mut Figures) -> anyhow::Result<()> {
    let (home, chats) = (set.home(data, "large"), set.chats(data, "large"));
    let file = fs::read_dir(&chats)?.next().ok_or_else(|| anyhow::anyhow!("no test data"))??.path();
    let size = megabytes(fs::metadata(&file)?.len());
    let cold = fresh(data)?;
    let show = pollux(&format!("sessions show {} --format json", file.display()), &home, &cold);
    let [node, show] = best(RUNS, [&node(&chats), &show])?;
    let what = |what: &str| format!("{size:.0} MB .{} of {}: {what}", set.format, set.text.name());
    let id = |name: &str| format!("transcripts.large.{}.{}.{name}", set.format, set.text.name());
    figures.tell(&id("node"), &what("Node, JSON.parse"), &format!("{:.0} ms CPU", node.cpu));
    figures.at_most(
        &id("show"),
        &what("load, normalise, print as JSON"),
        show.cpu / node.cpu,
        0.6,
        "x",
    );
    let by_size = what("peak memory of show, by the file's size");
    figures.at_most(&id("show.memory"), &by_size, show.memory / size, 1.6, "x");
    let never = Path::new("/dev/null");
    let list = pollux("sessions list --json", &home, never);
    let [list, stats] = best(RUNS, [&list, &pollux("sessions stats --json", &home, never)])?;
    figures.at_most(&id("list.memory"), &what("peak memory of list"), list.memory, 24.0, " MB");
    figures.at_most(&id("stats.memory"), &what("peak memory of stats"), stats.memory, 24.0, " MB");
    Ok(())
}

/// 2,000 sessions of ten messages.
fn many(data: &Path, set: Set, figures: &mut Figures) -> anyhow::Result<()> {
    let (home, chats) = (set.home(data, "many"), set.chats(data, "many"));
    // A cache that cannot be written is a cold start each time.
    let never = Path::new("/dev/null");
    let list = |cache: &Path| pollux("sessions list --json", &home, cache);
    let [node, cold] = best(RUNS, [&node(&chats), &list(never)])?;
    let cache = fresh(data)?;
    let [warm] = best(AGAIN, [&list(&cache)])?;
    let what = |what: &str| format!("2,000 .{} of {}: {what}", set.format, set.text.name());
    let id = |name: &str| format!("transcripts.many.{}.{}.{name}", set.format, set.text.name());
    figures.tell(&id("node"), &what("Node, JSON.parse"), &format!("{:.0} ms CPU", node.cpu));
    figures.at_most(&id("list.cold"), &what("list, cold"), cold.cpu / node.cpu, 0.4, "x");
    figures.at_most(&id("list.warm"), &what("list again, with the index"), warm.wall, 20.0, " ms");
    let stats = pollux("sessions stats --json", &home, never);
    let [stats, counted] = best(RUNS, [&stats, &ccusage(&home)?])?;
    figures.tell(
        &id("ccusage"),
        &what("ccusage, tokens by day"),
        &format!("{:.0} ms CPU", counted.cpu),
    );
    figures.tell(
        &id("stats.cold"),
        &what("stats, cold, by ccusage"),
        &format!("{:.2}x", stats.cpu / counted.cpu),
    );
    Ok(())
}

/// What one more message costs those who follow a session of 50 MB, beside one of 50 KB.
fn following(data: &Path, figures: &mut Figures) -> anyhow::Result<()> {
    let prose = Text::Source.prose()?;
    let mut large = Followed::new(
        data,
        "large",
        Session { number: 0, messages: 4_400, weight: 3_400, prose: &prose },
    )?;
    let mut small = Followed::new(
        data,
        "small",
        Session { number: 0, messages: 6, weight: 3_400, prose: &prose },
    )?;
    let words =
        format!("sessions follow {} --skip-existing --for 1", large.follow.path().display());
    let [followed] = best(RUNS, [&pollux(&words, data, &fresh(data)?)])?;
    figures.at_most(
        "transcripts.follow.memory",
        "50 MB .jsonl: peak memory of follow",
        followed.memory,
        24.0,
        " MB",
    );
    // In turns, so that both meet the same machine.
    for at in 0..MORE {
        large.more(at)?;
        small.more(at)?;
    }
    let (large, small) = (large.end()?, small.end()?);
    figures.tell(
        "transcripts.follow.small",
        "50 KB .jsonl: one more message, followed",
        &format!("{:.0} µs", small * 1e6),
    );
    figures.at_most(
        "transcripts.follow.large_by_small",
        "50 MB .jsonl: one more message, by that of 50 KB",
        large / small,
        1.25,
        "x",
    );
    Ok(())
}

/// A session that is followed while it grows.
struct Followed<'p> {
    session: Session<'p>,
    follow: Follow,
    times: Vec<f64>,
}

impl<'p> Followed<'p> {
    fn new(data: &Path, name: &str, session: Session<'p>) -> anyhow::Result<Self> {
        let path = data.join(format!("followed-{name}.jsonl"));
        session.write_jsonl(&path)?;
        let mut follow = Follow::new(&path);
        follow.skip_existing();
        Ok(Self { session, follow, times: Vec::new() })
    }

    /// One more message: the time from the disk to its event.
    fn more(&mut self, at: usize) -> anyhow::Result<()> {
        let mut file = fs::OpenOptions::new().append(true).open(self.follow.path())?;
        // Answers only: a prompt is a tenth of one.
        for row in self.session.rows(self.session.messages + 1 + at * 2) {
            writeln!(file, "{row}")?;
        }
        let started = Instant::now();
        let events = self.follow.poll();
        self.times.push(started.elapsed().as_secs_f64());
        ensure!(!events.is_empty(), "did not see the new message");
        Ok(())
    }

    /// The median of the times, in seconds.
    fn end(mut self) -> anyhow::Result<f64> {
        fs::remove_file(self.follow.path())?;
        self.times.sort_by(f64::total_cmp);
        Ok(self.times[self.times.len() / 2])
    }
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
