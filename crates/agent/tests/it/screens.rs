//! Every recorded screen: what is read from it, compared with what somebody has read on it. Adding a screen adds a case.

use crate::test_data::recordings;
use pollux_agent::gemini::screen::{Dialog, Reading, read};
use pollux_agent::terminal::{Screen, Size};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// One recorded screen: the name of its state, and the screen with its title.
pub(crate) struct Recorded {
    pub(crate) state: String,
    pub(crate) screen: Screen,
}

/// The screens that a list of states names.
pub(crate) fn recorded(states: &Path) -> Vec<Recorded> {
    let name = states.file_name().unwrap().to_str().unwrap();
    let variant = name.trim_start_matches("_states.").trim_end_matches(".jsonl");
    let size = Size::parse(variant.split('.').next().unwrap()).unwrap();
    let list = fs::read_to_string(states).unwrap();
    let mut found = Vec::new();
    for line in list.lines() {
        let facts: Value = serde_json::from_str(line).unwrap();
        let state = facts["state"].as_str().unwrap().to_owned();
        let file = states.with_file_name(format!("{state}.{variant}.txt"));
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let title = facts["title"].as_str().unwrap();
        found.push(Recorded { state, screen: Screen::from_capture(&text, size).titled(title) });
    }
    assert!(!found.is_empty(), "{} names no screen", states.display());
    found
}

#[test]
fn every_recorded_screen_reads_as_a_person_reads_it() {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true, snapshot_path => "snapshots/screens" }, {
        insta::glob!(recordings(), "*/tui/_states.*.jsonl", |states| {
            let mut out = String::new();
            for Recorded { state, screen } in recorded(states) {
                let title = screen.title.as_deref().unwrap_or("").trim();
                writeln!(out, "== {state}  [{title}]").unwrap();
                shown(&read(&screen), &mut out);
            }
            insta::assert_snapshot!(out);
        });
    });
}

/// A reading as a reviewer wants it beside the screen.
pub(crate) fn shown(reading: &Reading, out: &mut String) {
    let status =
        reading.status.map_or("?".to_owned(), |status| format!("{status:?}").to_lowercase());
    let mut line = format!("{status} by {:?}", reading.evidence).to_lowercase();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            write!(line, " · {name} {value}").unwrap();
        }
    };
    add("mode", reading.mode.map(|mode| mode.upstream().to_owned()));
    add("model", reading.model.clone());
    add("draft", reading.draft.as_ref().map(|draft| format!("{draft:?}")));
    add("shell", reading.shell.then(String::new));
    add("turn", reading.cancelled.then(|| "cancelled".to_owned()));
    add("queued", (!reading.queued.is_empty()).then(|| format!("{:?}", reading.queued)));
    add("doing", reading.activity.as_ref().map(|doing| format!("{doing:?}")));
    writeln!(out, "{line}").unwrap();
    for (name, text) in
        [("query", &reading.query), ("answer", &reading.answer), ("error", &reading.error)]
    {
        if let Some(text) = text {
            writeln!(out, "   {name}: {:?}", short(text)).unwrap();
        }
    }
    for row in &reading.menu {
        writeln!(out, "   offers {:?}", short(row)).unwrap();
    }
    if let Some(dialog) = &reading.dialog {
        dialog_shown(dialog, out);
    }
}

fn dialog_shown(dialog: &Dialog, out: &mut String) {
    let question = dialog.question("1");
    let value = serde_json::to_value(&question).unwrap();
    let place = dialog.place.map_or(String::new(), |(one, all)| format!(" ({one} of {all})"));
    let typed = if dialog.typed { " typed" } else { "" };
    writeln!(
        out,
        "   asks {:?}{place}{typed} {}: {:?}",
        dialog.kind,
        dialog.tool.as_deref().unwrap_or("-"),
        dialog.text
    )
    .unwrap();
    if !value["meaning"].is_null() {
        writeln!(out, "     would {}", value["meaning"]).unwrap();
    }
    for option in &dialog.options {
        let sign = if option.selected { '●' } else { ' ' };
        let number = option.number.map_or("-".to_owned(), |number| number.to_string());
        let note = option.note.as_ref().map_or(String::new(), |note| format!(" // {note}"));
        writeln!(out, "     {sign} {number} {:?} {:?}{note}", option.label, option.effect).unwrap();
    }
}

fn short(text: &str) -> String {
    let count = text.chars().count();
    if count <= 160 {
        return text.to_owned();
    }
    let head: String = text.chars().take(80).collect();
    let tail: String = text.chars().skip(count - 60).collect();
    format!("{head}…{tail} ({count} characters)")
}

/// A screen as a version might draw it that nobody has seen: other corners, another sign before what is chosen and before the
/// input, another sign in the title.
fn drawn_otherwise(screen: &Screen) -> Screen {
    let mut other = screen.clone();
    for row in other.rows.iter_mut().chain(&mut other.history) {
        let corners = [('╭', "┏"), ('╮', "┓"), ('╰', "┗"), ('╯', "┛"), ('│', "┃"), ('─', "━")];
        for (from, to) in corners {
            *row = row.replace(from, to);
        }
        *row = row.replace("● ", "▸ ").replacen(" >   Type your", " ❯   Type your", 1);
    }
    other.title = other.title.map(|title| title.replace(['◇', '✦', '✋'], "☼"));
    other
}

#[test]
fn a_screen_that_is_drawn_with_other_signs_reads_the_same() {
    for variant in ["120x40", "80x24", "40x30"] {
        let states = recordings().join(format!("0.61.0/tui/_states.{variant}.jsonl"));
        for Recorded { state, screen } in recorded(&states) {
            // A form is nothing but its signs, and these were never numbers.
            let (is, other) = (read(&screen), read(&drawn_otherwise(&screen)));
            let form = is.dialog.as_ref().is_some_and(|dialog| dialog.options.is_empty());
            if form || state.contains("markdown") {
                continue;
            }
            let facts = |reading: &Reading| {
                let dialog = reading.dialog.clone();
                (reading.status, dialog, reading.draft.clone(), reading.mode)
            };
            assert_eq!(facts(&other), facts(&is), "{state} in {variant}");
        }
    }
}

/// A screen on which the edges of backgrounds are painted with the other half of a row, as another Node has the CLI paint them.
fn with_other_edges(screen: &Screen) -> Screen {
    let mut other = screen.clone();
    let is = |row: &str, half: char| !row.is_empty() && row.chars().all(|char| char == half);
    for row in other.rows.iter_mut().chain(&mut other.history) {
        if is(row.trim(), '▀') {
            *row = row.replace('▀', "▄");
        } else if is(row.trim(), '▄') {
            *row = row.replace('▄', "▀");
        }
    }
    other
}

#[test]
fn every_screen_reads_the_same_whichever_half_of_its_edges_is_painted() {
    let mut painted = 0;
    for version in fs::read_dir(recordings()).unwrap() {
        let Ok(files) = fs::read_dir(version.unwrap().path().join("tui")) else { continue };
        let lists = files.map(|file| file.unwrap().path()).filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with("_states.")
        });
        for Recorded { state, screen } in lists.flat_map(|list| recorded(&list)) {
            let other = with_other_edges(&screen);
            painted += usize::from(other.rows != screen.rows);
            assert_eq!(format!("{:?}", read(&other)), format!("{:?}", read(&screen)), "{state}");
        }
    }
    assert!(painted > 100, "{painted}");
}
