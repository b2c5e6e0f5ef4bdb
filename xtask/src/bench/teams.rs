//! Teams: what a handoff, a letter and an agent's helper cost, and fifty workers at once. Beside them, what a public orchestrator
//! takes for the same: CAO 2.4.1 with an agent that answers at once, measured on a busy machine with two cores on 2026-11-15.

use super::table::Figures;
use crate::shell;
use anyhow::Context;
use serde_json::Value;

pub(crate) fn run(workers: usize) -> anyhow::Result<()> {
    shell::run("cargo build --release --locked --package pollux --bins --example teams")?;
    let release = shell::target().join("release");
    let (example, program) = (release.join("examples/teams"), release.join("pollux"));
    let line = [example.display().to_string(), program.display().to_string(), workers.to_string()];
    let printed = shell::capture_words(&line, &[("POLLUX_LOG", "off")])?;
    let json = printed.lines().find(|line| line.starts_with('{'));
    let figures: Value = serde_json::from_str(json.with_context(|| printed.clone())?)?;
    let figure = |name: &str| figures[name].as_f64().unwrap_or(f64::NAN);
    let mut table = Figures::default();
    table.at_most("handoff of 50 ms of work, without these", figure("handoff_ms"), 300.0, " ms");
    table.tell("  the same in CAO", "6600 ms");
    table.at_most("a letter to an agent that does nothing", figure("letter_ms"), 100.0, " ms");
    table.tell("  the same in CAO, its server blocked", "970 ms");
    table.at_most("`pollux mcp`, start to first answer", figure("mcp_ms"), 30.0, " ms");
    table.tell("  `cao-mcp-server`", "4000 ms");
    table.at_most("`pollux mcp`, memory", figure("mcp_mb"), 10.0, " MB");
    table.tell("  `cao-mcp-server`", "116 MB");
    let what = format!("{workers} workers at once, real CLI: answers lost or doubled");
    table.at_most(&what, figure("wrong"), 0.0, "");
    table.tell("  all of them took", &format!("{:.0} s", figure("seconds")));
    table.finish()
}
