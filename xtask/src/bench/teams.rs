//! Teams: what a handoff, a letter and an agent's helper cost, and fifty workers at once. The helper of a public orchestrator is run
//! beside ours; it can hand nothing to Gemini any more, so that its handoff and its letter are those of CAO 2.4.1 with an agent that
//! answers at once, measured on a busy machine with two cores on 2026-11-15.

use super::cao;
use super::table::Figures;
use crate::release;
use crate::shell;
use anyhow::Context;
use pollux_e2e::pinned::CAO;
use serde_json::Value;

pub(crate) fn run(workers: usize) -> anyhow::Result<()> {
    let (example, program) = (release::example("teams")?, release::program()?);
    let line = [example.display().to_string(), program.display().to_string(), workers.to_string()];
    let printed = shell::capture_words(&line, &[("POLLUX_LOG", "off")])?;
    let json = printed.lines().find(|line| line.starts_with('{'));
    let figures: Value = serde_json::from_str(json.with_context(|| printed.clone())?)?;
    let figure = |name: &str| figures[name].as_f64().unwrap_or(f64::NAN);
    let peer = cao::helper()?;
    let mut table = Figures::default();
    table.at_most(
        "teams.handoff",
        "handoff of 50 ms of work, without these",
        figure("handoff_ms"),
        300.0,
        " ms",
    );
    table.tell("teams.handoff.peer", "  the same in CAO", "6600 ms");
    table.at_most(
        "teams.message",
        "a letter to an agent that does nothing",
        figure("letter_ms"),
        100.0,
        " ms",
    );
    table.tell("teams.message.peer", "  the same in CAO, its server blocked", "970 ms");
    table.at_most(
        "teams.mcp.start",
        "`pollux mcp`, start to first answer",
        figure("mcp_ms"),
        30.0,
        " ms",
    );
    beside(&mut table, peer.map(|peer| (peer.start, figure("mcp_ms"))), "ms");
    table.at_most("teams.mcp.memory", "`pollux mcp`, memory", figure("mcp_mb"), 10.0, " MB");
    beside(&mut table, peer.map(|peer| (peer.memory, figure("mcp_mb"))), "MB");
    let what = format!("{workers} workers at once, real CLI: answers lost or doubled");
    table.at_most("teams.workers.wrong", &what, figure("wrong"), 0.0, "");
    table.tell("teams.workers.time", "  all of them took", &format!("{:.0} s", figure("seconds")));
    table.finish()
}

/// The peer's helper, and ours by it.
fn beside(table: &mut Figures, both: Option<(f64, f64)>, unit: &str) {
    let Some((theirs, ours)) = both else { return };
    let what = format!("  `cao-mcp-server` {}, run beside; ours by it", CAO.version);
    table.tell("teams.mcp.peer", &what, &format!("{theirs:.0} {unit}; {:.4}x", ours / theirs));
}
