//! All bytes that real sessions sent to their terminal, drawn by the emulator in pieces of any size: the states and the
//! questions are the same each time, and none comes that a person would not have seen.

use crate::test_data::recordings;
use pollux_agent::gemini::screen::{Watch, read};
use pollux_agent::model::EventKind;
use pollux_agent::terminal::{Emulator, Screen, Size};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

/// Small enough that no two changes come in one piece.
const FINE: usize = 48;

fn size(path: &Path) -> Size {
    let name = path.file_name().unwrap().to_str().unwrap();
    name.split('.').find_map(Size::parse).unwrap()
}

/// What is told while the pieces are drawn: states and questions, each where it changed.
fn told<'a>(size: Size, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    let mut emulator = Emulator::new(size);
    let mut watch = Watch::default();
    let mut told = Vec::new();
    for piece in pieces {
        emulator.feed(piece);
        for event in watch.see(&read(&emulator.screen())) {
            match event.kind {
                EventKind::SessionChanged(change) => {
                    told.extend(change.status.map(|status| format!("{status:?}").to_lowercase()));
                }
                EventKind::Asked(question) => {
                    let options: Vec<_> =
                        question.options.iter().map(|option| option.label.to_str()).collect();
                    told.push(format!(
                        "asked {:?} {:?} {options:?}",
                        question.kind,
                        question.text.to_str()
                    ));
                }
                EventKind::Answered { .. } => told.push("answered".to_owned()),
                _ => {}
            }
        }
    }
    told
}

#[test]
fn a_session_is_seen_from_its_bytes_as_it_went() {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true, snapshot_path => "snapshots/raw" }, {
        insta::glob!(recordings(), "*/tui/*.raw", |path| {
            let bytes = fs::read(path).unwrap();
            insta::assert_snapshot!(told(size(path), bytes.chunks(FINE)).join("\n"));
        });
    });
}

#[test]
fn the_emulator_draws_what_tmux_draws() {
    let mut compared = 0;
    for raw in raws() {
        let mut emulator = Emulator::new(size(&raw));
        emulator.feed(&fs::read(&raw).unwrap());
        let name = raw
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .replace("-stream.", "-leaving.")
            .replace(".raw", ".txt");
        let Ok(text) = fs::read_to_string(raw.with_file_name(name)) else { continue };
        let tmux = Screen::from_capture(&text, size(&raw));
        // The bytes go on after the last capture; what stood above the input box then is there still.
        let shown = |screen: &Screen| -> Vec<String> {
            let said = screen.rows.iter().filter(|row| row.contains('✦') || row.contains("Done"));
            said.cloned().collect()
        };
        let all = emulator.screen().below(emulator.history(500));
        let rows: Vec<&String> = all.history.iter().chain(&all.rows).collect();
        for row in shown(&tmux) {
            assert!(rows.contains(&&row), "{}: `{row}` was not drawn", raw.display());
            compared += 1;
        }
    }
    assert!(compared > 0, "nothing was compared");
}

fn raws() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for version in fs::read_dir(recordings()).unwrap() {
        let Ok(files) = fs::read_dir(version.unwrap().path().join("tui")) else { continue };
        let files = files.map(|file| file.unwrap().path());
        found.extend(files.filter(|path| path.extension().is_some_and(|kind| kind == "raw")));
    }
    found.sort();
    assert!(!found.is_empty(), "there are no streams");
    found
}

/// True where `part` comes of `whole` by leaving things out.
fn is_part(part: &[String], whole: &[String]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|one| rest.any(|other| other == one))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, max_shrink_iters: 8, ..ProptestConfig::default() })]

    #[test]
    fn where_the_bytes_are_cut_does_not_matter(cuts in prop::collection::vec(1usize..6000, 20..200), which in any::<prop::sample::Index>()) {
        let all = raws();
        let path = which.get(&all);
        let bytes = fs::read(path).unwrap();
        let finest = told(size(path), bytes.chunks(FINE));
        let mut at = 0;
        let mut pieces = Vec::new();
        for cut in cuts.iter().cycle() {
            if at >= bytes.len() {
                break;
            }
            let end = (at + cut).min(bytes.len());
            pieces.push(&bytes[at..end]);
            at = end;
        }
        let seen = told(size(path), pieces.into_iter());
        // A piece may hold more than one change; what comes is never another order, nor anything else.
        prop_assert!(is_part(&seen, &finest), "{}\n{seen:#?}\n{finest:#?}", path.display());
        prop_assert_eq!(seen.last(), finest.last());
    }
}
