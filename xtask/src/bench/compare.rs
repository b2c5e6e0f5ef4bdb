//! `cargo xtask bench compare REV`: the figures of this tree against those of another commit.
//!
//! Each tree runs its own benchmarks, in turns, so that both meet the same machine in the same minutes. Figures are matched by id, and
//! the best of all rounds counts on both sides.

use super::table::{FILE, Figure};
use crate::shell::{self, root, say, target};
use anyhow::{Context, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How much worse a figure may be: in one step, or in total since the first baseline.
const MAX_WORSE_PERCENT: f64 = 5.0;
const MAX_WORSE_PERCENT_IN_TOTAL: f64 = 8.0;
/// The baseline for the total, whose figures have no ids.
const FIRST_BASELINE: &str = "a5343048";
const IDS_OF_FIRST_BASELINE: &str = include_str!("ids.tsv");
/// A figure that uses less of its limit than this is compared with this: smaller differences are below the noise of timers.
const NOISE_FLOOR: f64 = 0.1;

#[derive(Debug, clap::Args)]
pub(crate) struct CompareArgs {
    /// Commit to compare with
    revision: String,
    /// Run only these benchmarks
    only: Vec<String>,
    /// How often each tree runs each benchmark
    #[arg(long, default_value_t = 2)]
    rounds: usize,
    /// Highest increase in percent [default: 5, or 8 against the first baseline]
    #[arg(long)]
    max_worse: Option<f64>,
}

pub(crate) fn run(all: &[String], args: &CompareArgs) -> anyhow::Result<()> {
    let names: Vec<&String> =
        all.iter().filter(|name| args.only.is_empty() || args.only.contains(name)).collect();
    ensure!(!names.is_empty(), "unknown benchmark (expected: {})", all.join(", "));
    let revision = shell::told(&format!("git rev-parse --short=8 {}", args.revision))?;
    let revision = revision.trim();
    let other = Tree { root: worktree(revision)? };
    let own = Tree { root: root() };
    for tree in [&other, &own] {
        tree.build()?;
    }
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    for name in names {
        for _ in 0..args.rounds {
            other.measure(name, &mut before)?;
            own.measure(name, &mut after)?;
        }
    }
    let is_total = revision.starts_with(FIRST_BASELINE);
    let limit = if is_total { MAX_WORSE_PERCENT_IN_TOTAL } else { MAX_WORSE_PERCENT };
    let limit = args.max_worse.unwrap_or(limit);
    let worse = report(&before, &after, limit);
    say(&format!("\nprogram: {} MB, was {} MB", own.program_size()?, other.program_size()?));
    ensure!(worse == 0, "{worse} figures are more than {limit} % worse than at {revision}");
    Ok(())
}

/// Figures by id.
type FiguresById = BTreeMap<String, Figure>;

/// Prints both sides of each figure; gives how many are worse than they may be.
fn report(before: &FiguresById, after: &FiguresById, limit: f64) -> usize {
    let mut worse = 0;
    say(&format!("\n{:<46} {:>14} {:>14} {:>9}", "figure", "before", "after", "change"));
    for (id, figure) in after {
        let Some(old) = before.get(id) else {
            say(&format!("{id:<46} {:>14} {:>14}", "-", figure.shown));
            continue;
        };
        let change = change_percent(old, figure);
        let mark = if change > limit { "WORSE" } else { "" };
        worse += usize::from(change > limit);
        say(&format!("{id:<46} {:>14} {:>14} {change:>+8.1}% {mark}", old.shown, figure.shown));
    }
    worse
}

/// How much worse a figure is, in percent: how much more of its limit it uses.
fn change_percent(before: &Figure, after: &Figure) -> f64 {
    let used = |figure: &Figure| figure.used.unwrap_or_default();
    (used(after) - used(before)) / used(before).max(NOISE_FLOOR) * 100.0
}

/// A checkout with its own target directory.
struct Tree {
    root: PathBuf,
}

impl Tree {
    fn target(&self) -> PathBuf {
        if self.root == root() { target() } else { self.root.join("target") }
    }

    fn build(&self) -> anyhow::Result<()> {
        let since = Instant::now();
        let line =
            "cargo build --quiet --release --locked --workspace --bins --examples --manifest-path";
        let words = shell::words_and(line, &[self.root.join("Cargo.toml").display()]);
        shell::run_words(&words, &[("CARGO_TARGET_DIR", &self.target().display().to_string())])?;
        say(&format!("{}: built in {} s", self.root.display(), since.elapsed().as_secs()));
        Ok(())
    }

    /// Runs one benchmark and keeps the better of its figures and those that are there.
    fn measure(&self, name: &str, best: &mut FiguresById) -> anyhow::Result<()> {
        let file = target().join(format!("bench/compare-{name}.jsonl"));
        fs::create_dir_all(file.parent().unwrap_or(&file))?;
        if file.exists() {
            fs::remove_file(&file)?;
        }
        let program = self.target().join("release/xtask").display().to_string();
        let words = [program, "bench".to_owned(), name.to_owned()];
        let env = [
            (FILE, file.display().to_string()),
            ("CARGO_TARGET_DIR", self.target().display().to_string()),
        ];
        let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, &**value)).collect();
        // A figure over its own limit makes the benchmark fail; here only the comparison counts.
        let ran = shell::run_words(&words, &env);
        let text = fs::read_to_string(&file).with_context(|| {
            format!("`bench {name}` in {} printed no figures: {ran:?}", self.root.display())
        })?;
        for line in text.lines() {
            let figure: Figure = serde_json::from_str(line)?;
            let Some(id) = id_of(name, &figure).filter(|_| figure.used.is_some()) else { continue };
            let is_better = best.get(&id).is_none_or(|known: &Figure| figure.used < known.used);
            if is_better {
                best.insert(id, figure);
            }
        }
        Ok(())
    }

    fn program_size(&self) -> anyhow::Result<u64> {
        Ok(fs::metadata(self.target().join("release/pollux"))?.len() >> 20)
    }
}

/// The figure's own id, or that of its words at the first baseline.
fn id_of(bench: &str, figure: &Figure) -> Option<String> {
    if !figure.id.is_empty() {
        return Some(figure.id.clone());
    }
    let what = match figure.what.split_once(" MB .") {
        Some((size, rest)) if size.parse::<u32>().is_ok() && rest.contains(" of ") => {
            format!("N MB .{rest}")
        }
        _ => figure.what.clone(),
    };
    IDS_OF_FIRST_BASELINE.lines().find_map(|line| {
        let mut fields = line.split('\t');
        let is_it = fields.next() == Some(bench) && fields.next() == Some(&what);
        fields.next().filter(|_| is_it).map(str::to_owned)
    })
}

/// A worktree of the commit below the target directory, made if it is not there.
fn worktree(revision: &str) -> anyhow::Result<PathBuf> {
    let path = target().join("bench").join(revision);
    if !path.join("Cargo.toml").exists() {
        add_worktree(&path, revision)?;
    }
    Ok(path)
}

fn add_worktree(path: &Path, revision: &str) -> anyhow::Result<()> {
    shell::run("git worktree prune")?;
    let words = shell::words_and("git worktree add --detach --force", &[path.display()]);
    shell::run_words(&[words, vec![revision.to_owned()]].concat(), &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(id: &str, what: &str, used: f64) -> Figure {
        Figure {
            id: id.to_owned(),
            what: what.to_owned(),
            shown: String::new(),
            limit: Some("≤ 1".to_owned()),
            used: Some(used),
        }
    }

    #[test]
    fn figures_of_the_first_baseline_get_the_ids_of_today() {
        let id = |bench: &str, what: &str| id_of(bench, &figure("", what, 0.5));
        assert_eq!(id("daemon", "the same, p99").as_deref(), Some("daemon.event_to_frame.p99"));
        let large = "54 MB .jsonl of plain: peak memory of list";
        let expected = "transcripts.large.jsonl.plain.list.memory";
        assert_eq!(id("transcripts", large).as_deref(), Some(expected));
        assert_eq!(id("daemon", "no such figure"), None);
        assert_eq!(id_of("x", &figure("own", "words", 0.5)).as_deref(), Some("own"));
    }

    #[test]
    fn change_is_relative_and_noise_below_a_tenth_of_the_limit_is_damped() {
        let change =
            |before, after| change_percent(&figure("", "", before), &figure("", "", after));
        assert!((change(0.5, 0.55) - 10.0).abs() < 1e-6);
        assert!((change(0.01, 0.02) - 10.0).abs() < 1e-6);
        assert!(change(0.5, 0.4) < 0.0);
    }
}
