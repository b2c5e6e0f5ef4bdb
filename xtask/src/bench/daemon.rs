//! The daemon: start, memory, latency, load, a long session, and ten thousand reconnects, in one run.

use super::cao;
use super::table::Figures;
use crate::release;
use crate::shell;
use anyhow::Context;
use pollux_e2e::pinned::CAO;
use serde_json::Value;

pub(crate) fn run() -> anyhow::Result<()> {
    let (example, program) = (release::example("daemon")?, release::program()?);
    let line = shell::words_and("", &[example.display(), program.display()]);
    let printed = shell::capture_words(&line, &[("POLLUX_LOG", "off")])?;
    let json = printed.lines().find(|line| line.starts_with('{'));
    let figures: Value = serde_json::from_str(json.with_context(|| printed.clone())?)?;
    let figure = |name: &str| figures[name].as_f64().unwrap_or(f64::NAN);
    let peer = cao::server()?;
    let mut table = Figures::default();
    table.at_most("daemon.start", "start to first answer", figure("start_ms"), 50.0, " ms");
    table.at_most("daemon.memory.idle", "memory when idle", figure("idle_mb"), 25.0, " MB");
    if let Some(cao::Cost { start, memory }) = peer {
        let what = format!("  `cao-server` {}, run beside: start, memory", CAO.version);
        table.tell("daemon.peer", &what, &format!("{start:.0} ms, {memory:.0} MB"));
    }
    table.at_most(
        "daemon.memory.session",
        "memory for each idle session",
        figure("session_mb"),
        1.0,
        " MB",
    );
    table.at_most(
        "daemon.event_to_frame.p50",
        "what the agent says to the frame, p50",
        figure("p50_ms"),
        2.0,
        " ms",
    );
    table.at_most("daemon.event_to_frame.p99", "the same, p99", figure("p99_ms"), 20.0, " ms");
    table.at_most(
        "daemon.load.lost",
        "lost: 5,000 events/s, 20 sessions, 100 clients",
        figure("lost"),
        0.0,
        "",
    );
    table.at_most(
        "daemon.load.time",
        "the same, 25,000 events in",
        figure("load_seconds"),
        6.0,
        " s",
    );
    table.at_most(
        "daemon.first_page.time",
        "first page of 50,000 events",
        figure("page_ms"),
        50.0,
        " ms",
    );
    table.at_most("daemon.first_page.bytes", "the same, bytes", figure("page_kb"), 300.0, " KB");
    table.at_least(
        "daemon.reconnects",
        "joined, left and came back",
        figure("joined"),
        10_000.0,
        " times",
    );
    table.at_most(
        "daemon.reconnects.wrong",
        "lost or repeated meanwhile",
        figure("wrong"),
        0.0,
        "",
    );
    table.finish()
}
