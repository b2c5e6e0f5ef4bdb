//! `cargo xtask matrix`: the suite over all versions of the CLI, as a table of version by boundary.

use crate::shell::{self, say};
use pollux_e2e::Cli;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

/// The modules of the suite, which are the columns: what the CLI does by itself, and what our drivers make of it.
const BOUNDARIES: [&str; 6] = ["run", "acp", "live", "terminal", "window", "rehearsal"];

pub(crate) fn run(versions: &[String], write: bool) -> anyhow::Result<()> {
    let ours = versions.is_empty();
    let versions = if ours { Cli::versions() } else { versions.to_vec() };
    let path = shell::path_with_tool("cargo-nextest")?;
    let mut rows = Vec::new();
    for version in &versions {
        Cli::install(version)?;
        let only = ("POLLUX_GEMINI_ONLY", version.as_str());
        let env = [only, ("NO_COLOR", "1"), ("INSTA_UPDATE", "no"), ("PATH", &path)];
        // Of the whole workspace, as all tests are built: for one package alone, cargo would build everything once more.
        let line = "cargo nextest run --locked --workspace -E package(pollux-e2e) --no-fail-fast --color never --ignore-default-filter";
        let printed = shell::capture_with(line, &env)?;
        let cells = cells(&printed);
        anyhow::ensure!(!cells.is_empty(), "no tests ran with Gemini CLI {version}:\n{printed}");
        rows.push((version.clone(), cells));
    }
    print(&rows);
    if ours {
        // Teams and the demo choose their versions themselves, and some of their tests are in no other run.
        let rest = ["-E", "not default()", "--ignore-default-filter"];
        let line = shell::words_and("cargo nextest run --locked --workspace", &rest);
        shell::run_words(&line, &[("PATH", &path)])?;
    }
    if write {
        fs::write(shell::root().join("docs/compatibility.md"), page(&rows)?)?;
        say("wrote docs/compatibility.md");
    }
    let failed = rows.iter().any(|(_, cells)| cells.values().any(|cell| !cell.failed.is_empty()));
    anyhow::ensure!(!failed, "some tests failed");
    Ok(())
}

/// One boundary of one version.
#[derive(Debug, Default)]
struct Cell {
    passed: usize,
    /// The tests that failed, each with the first difference that it showed.
    failed: Vec<(String, String)>,
}

/// Reads what nextest printed: a line for each try of each test, and the output of those that failed.
fn cells(printed: &str) -> BTreeMap<&'static str, Cell> {
    // The last try counts.
    let verdicts: BTreeMap<&str, bool> = printed.lines().filter_map(verdict).collect();
    let mut cells: BTreeMap<&'static str, Cell> = BTreeMap::new();
    for (test, passed) in verdicts {
        let Some(module) = test.split("::").next() else { continue };
        let Some(boundary) = BOUNDARIES.into_iter().find(|name| *name == module) else { continue };
        let cell = cells.entry(boundary).or_default();
        if passed {
            cell.passed += 1;
        } else {
            cell.failed.push((test.to_owned(), first_difference(printed, test)));
        }
    }
    cells
}

/// A test and whether it passed: `PASS [0.1s] … name`, or `TRY 2 FAIL [0.1s] … name` where it is tried again.
fn verdict(line: &str) -> Option<(&str, bool)> {
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let word = if first == "TRY" { words.nth(1)? } else { first };
    let passed = match word {
        "PASS" | "LEAK" => true,
        "FAIL" | "TIMEOUT" | "TMT" | "ABORT" => false,
        signal if signal.starts_with("SIG") => false,
        _ => return None,
    };
    words.next().filter(|time| time.starts_with('['))?;
    words.last().map(|test| (test, passed))
}

/// The first line of a failed test's output that shows what differs, else what it said when it gave up. Its output stands between its
/// verdict and the next one.
fn first_difference(printed: &str, test: &str) -> String {
    let is_of =
        |line: &str, wanted| verdict(line).is_some_and(|(name, _)| (name == test) == wanted);
    let after = printed.lines().skip_while(|line| !is_of(line, true));
    let own: Vec<&str> = after.take_while(|line| !is_of(line, false)).collect();
    let differs =
        |line: &&&str| ["│-", "│+", "waited ", "left: "].iter().any(|sign| line.contains(sign));
    let gave_up = || own.iter().skip_while(|line| !line.contains(" panicked at ")).nth(1);
    let told = own.iter().find(differs).or_else(gave_up);
    told.unwrap_or(&"see the test's output").trim().to_owned()
}

/// What `docs/compatibility.md` says.
fn page(rows: &[(String, BTreeMap<&'static str, Cell>)]) -> anyhow::Result<String> {
    let day = shell::capture_with("date -u +%Y-%m-%d", &[])?;
    let mut out = format!(
        "# Versions of Gemini CLI\n\n<!-- Made by `cargo xtask matrix --write`. Do not edit. -->\n\nThe suite with the real CLI against the scripted model, \
        each version by each boundary, on {}: how many tests passed. Every change is tested with these versions, each scenario with one of them in turns; `cargo xtask matrix` runs all of it on all of them, `cargo xtask matrix VERSION …` on others. \
        Session files are read of all versions since 0.16.\n\nPollux drives 0.34.0 and newer. Versions 0.29 to 0.33 can be used as a plain ACP agent: `pollux run --agent-command \"gemini --experimental-acp\"`.\n\n| version |",
        day.trim()
    );
    out.push_str(&BOUNDARIES.map(|name| format!(" {name} |")).concat());
    write!(out, "\n|---|{}\n", "---|".repeat(BOUNDARIES.len()))?;
    for (version, cells) in rows {
        let shown = BOUNDARIES.map(|name| match cells.get(name) {
            None => " – |".to_owned(),
            Some(cell) if cell.failed.is_empty() => format!(" {} |", cell.passed),
            Some(cell) => format!(" {} of {} |", cell.passed, cell.passed + cell.failed.len()),
        });
        writeln!(out, "| {version} |{}", shown.concat())?;
    }
    for (version, cells) in rows {
        for (test, difference) in cells.values().flat_map(|cell| &cell.failed) {
            writeln!(out, "\n- {version}: `{test}` fails: {difference}")?;
        }
    }
    Ok(out)
}

fn print(rows: &[(String, BTreeMap<&'static str, Cell>)]) {
    say(&format!("\n{:<10}{}", "version", BOUNDARIES.map(|name| format!("{name:<14}")).concat()));
    for (version, cells) in rows {
        let cell = |name: &str| match cells.get(name) {
            None => "-".to_owned(),
            Some(cell) if cell.failed.is_empty() => format!("pass {}", cell.passed),
            Some(cell) => format!("FAIL {}/{}", cell.failed.len(), cell.failed.len() + cell.passed),
        };
        say(&format!(
            "{version:<10}{}",
            BOUNDARIES.map(|name| format!("{:<14}", cell(name))).concat()
        ));
    }
    for (version, cells) in rows {
        for (test, difference) in cells.values().flat_map(|cell| &cell.failed) {
            say(&format!("{version} {test}: {difference}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_failed_every_time_has_failed_and_one_that_passed_in_the_end_has_not() {
        let printed = "
        PASS [   0.020s] (1/5) pollux-e2e::it acp::one
  TRY 1 FAIL [  67.007s] (───────) pollux-e2e::it window::more::two
      left: 2
  TRY 2 PASS [  14.733s] (2/5) pollux-e2e::it window::more::two
  TRY 1 FAIL [   1.000s] (───────) pollux-e2e::it run::three
    thread 'run::three' (7) panicked at crates/e2e/tests/it/run.rs:98:13:
    no answer in [
  TRY 2 TMT [   1.000s] (───────) pollux-e2e::it run::three
  TRY 3 FAIL [   1.000s] (3/5) pollux-e2e::it run::three
        SLOW [> 60.000s] (───────) pollux-e2e::it run::four
        PASS [   0.020s] (5/5) pollux-e2e::it tidy::five
     Summary [1542.439s] 5 tests run: 4 passed (1 flaky), 1 failed, 0 skipped
   FLAKY 2/3 [  14.733s] (2/5) pollux-e2e::it window::more::two
  TRY 3 FAIL [   1.000s] (3/5) pollux-e2e::it run::three
";
        let cells = cells(printed);
        let told = |name: &str| cells.get(name).map(|cell| (cell.passed, cell.failed.len()));
        assert_eq!((told("acp"), told("window")), (Some((1, 0)), Some((1, 0))));
        assert_eq!(told("run"), Some((0, 1)));
        assert_eq!(cells.len(), 3);
        assert_eq!(first_difference(printed, "run::three"), "no answer in [");
        assert_eq!(first_difference(printed, "window::more::two"), "left: 2");
    }
}
