//! What the ACP client adds between an agent's write and our event, beside a plain reader of the same pipe; how many
//! updates it translates in a second; and what it keeps of a long turn.

use super::table::Figures;
use crate::release;
use crate::shell;
use anyhow::Context;
use serde_json::Value;

pub(crate) fn run() -> anyhow::Result<()> {
    let example = release::example("acp_speed")?;
    let told = shell::capture_words(&[example.display().to_string()], &[])?;
    let line = told.lines().find(|line| line.starts_with('{')).with_context(|| told.clone())?;
    let told: Value = serde_json::from_str(line)?;
    let number = |name: &str| told[name].as_f64().unwrap_or(f64::NAN);
    let mut figures = Figures::default();
    for part in ["p50", "p99"] {
        let (raw, own) = (number(&format!("raw_{part}")), number(&format!("own_{part}")));
        figures.tell(
            &format!("acp.chunk_to_reader.{part}"),
            &format!("a chunk, write to a plain reader, {part}"),
            &format!("{raw:.3} ms"),
        );
        figures.tell(
            &format!("acp.chunk_to_event.{part}"),
            &format!("a chunk, write to our event, {part}"),
            &format!("{own:.3} ms"),
        );
        let what = format!("a chunk, more than the plain reader, {part}");
        let id = format!("acp.chunk_overhead.{part}");
        if part == "p50" {
            figures.at_most(&id, &what, own - raw, 0.2, " ms");
        } else {
            figures.tell(&id, &what, &format!("{:.3} ms", own - raw));
        }
    }
    let thousands = |name: &str| number(name) / 1e3;
    let what = "updates translated, thousands a second";
    figures.at_least("acp.updates_per_second", what, thousands("rate"), 50.0, "k");
    let what = "updates of ten sessions in one process, thousands a second";
    figures.at_least(
        "acp.updates_per_second.ten_sessions",
        what,
        thousands("many_rate"),
        50.0,
        "k",
    );
    // What was said is kept until the turn is over; nothing else is.
    let what = "memory from update 10,000 to 100,000 of a turn";
    figures.at_most("acp.memory_of_long_turn", what, number("grown"), 10.0, " MB");
    figures.finish()
}
