//! Session files: load, list and follow, against Node's `JSON.parse` of the same files.

use super::data::{Session, prose};
use super::table::Figures;
use crate::measure::{Cost, best};
use crate::shell::{self, present, say, target};
use anyhow::ensure;
use std::fs;
use std::path::{Path, PathBuf};

/// How often each thing is measured; the cheapest run counts.
const RUNS: usize = 5;

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
    for format in ["json", "jsonl"] {
        large(&data, format, &mut figures)?;
        many(&data, format, &mut figures)?;
    }
    figures.finish()
}

/// The data: one session of 50 MB, and 2,000 sessions of ten messages, in each format.
fn make(data: &Path) -> anyhow::Result<()> {
    let done = data.join("made-2");
    if done.exists() {
        return Ok(());
    }
    say("making the data (once)");
    let prose = prose()?;
    for format in ["json", "jsonl"] {
        let write = |session: Session<'_>, directory: &Path| {
            let path = directory
                .join(format!("session-2026-11-15T00-00-{:08x}.{format}", session.number + 1));
            if format == "json" { session.write_json(&path) } else { session.write_jsonl(&path) }
        };
        let large = chats(data, "large", format);
        fs::create_dir_all(&large)?;
        // An answer is written once in the old format and twice in the new, with its responses a third time.
        let messages = if format == "json" { 8_690 } else { 4_400 };
        write(Session { number: 0, messages, weight: 3_400, prose: &prose }, &large)?;
        let many = chats(data, "many", format);
        fs::create_dir_all(&many)?;
        for number in 0..2_000 {
            write(Session { number, messages: 10, weight: 1_800, prose: &prose }, &many)?;
        }
    }
    Ok(fs::write(done, "")?)
}

fn home(data: &Path, size: &str, format: &str) -> PathBuf {
    data.join(format!("{size}-{format}"))
}

fn chats(data: &Path, size: &str, format: &str) -> PathBuf {
    home(data, size, format).join(".gemini/tmp/project/chats")
}

fn node(chats: &Path) -> anyhow::Result<Cost> {
    best(RUNS, &["node".into(), "-e".into(), NODE.into(), chats.display().to_string()], &[])
}

fn pollux(arguments: &str, home: &Path, cache: &Path) -> anyhow::Result<Cost> {
    let program = target().join("release/pollux").display().to_string();
    let command: Vec<String> =
        std::iter::once(program).chain(arguments.split(' ').map(Into::into)).collect();
    let (home, cache) = (home.display().to_string(), cache.display().to_string());
    best(RUNS, &command, &[("GEMINI_CLI_HOME", &home), ("XDG_CACHE_HOME", &cache)])
}

/// One session of 50 MB.
fn large(data: &Path, format: &str, figures: &mut Figures) -> anyhow::Result<()> {
    let (home, chats) = (home(data, "large", format), chats(data, "large", format));
    let file = fs::read_dir(&chats)?.next().ok_or_else(|| anyhow::anyhow!("no data"))??.path();
    let size = megabytes(fs::metadata(&file)?.len());
    let node = node(&chats)?;
    let cold = fresh(data)?;
    let show = pollux(&format!("sessions show {} --format json", file.display()), &home, &cold)?;
    let what = |what: &str| format!("{size:.0} MB .{format}: {what}");
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
fn many(data: &Path, format: &str, figures: &mut Figures) -> anyhow::Result<()> {
    let (home, chats) = (home(data, "many", format), chats(data, "many", format));
    let node = node(&chats)?;
    // A cache that cannot be written is a cold start each time.
    let cold = pollux("sessions list --json", &home, Path::new("/dev/null"))?;
    let cache = fresh(data)?;
    pollux("sessions list --json", &home, &cache)?;
    let warm = pollux("sessions list --json", &home, &cache)?;
    let what = |what: &str| format!("2,000 .{format}: {what}");
    figures.tell(&what("Node, JSON.parse"), &format!("{:.0} ms CPU", node.cpu));
    figures.at_most(&what("list, cold"), cold.cpu / node.cpu, 0.4, "x");
    figures.at_most(&what("list again, with the index"), warm.wall, 20.0, " ms");
    Ok(())
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
