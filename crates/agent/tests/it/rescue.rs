//! What is saved from the CLI, and that nothing is lost by saving it.

use crate::home::{Home, answer, context, header, log, user};
use pollux_agent::gemini::transcript::rescue::{Rescued, rescue};
use std::fs;

const LIVE: &str = "p/chats/session-2026-11-15T18-08-abcdabcd.jsonl";
const STUB: &str = "p/chats/session-2026-11-15T18-09-abcdabcd.jsonl";

fn endangered() -> Home {
    let home = Home::new();
    home.put(LIVE, log(&[header("abcdabcd-1"), user("1", "hello"), answer("2", "Hi.")]));
    home.put(STUB, log(&[header("abcdabcd-1"), context()]));
    home
}

#[test]
fn a_rescue_copies_the_session_and_moves_the_stub_away() {
    let home = endangered();
    let aside = home.path().join("aside");
    let session = home.only();
    let before = fs::read(&session.file.path).unwrap();
    let stub = home.path().join("tmp").join(STUB);
    let stub_before = fs::read(&stub).unwrap();
    let rescued = rescue(&session, &aside).unwrap();
    let copy = aside.join("p/session-2026-11-15T18-08-abcdabcd.jsonl");
    let kept = aside.join("p/session-2026-11-15T18-09-abcdabcd.jsonl");
    assert_eq!(rescued, Rescued { copy: copy.clone(), stub: Some((stub.clone(), kept.clone())) });
    assert_eq!(fs::read(&copy).unwrap(), before);
    assert_eq!(fs::read(&kept).unwrap(), stub_before);
    assert_eq!(fs::read(&session.file.path).unwrap(), before, "the session itself stays");
    assert!(!stub.exists());
    assert_eq!(home.only().risk, None);
}

#[test]
fn a_second_rescue_of_the_same_copies_nothing_again() {
    let home = endangered();
    let aside = home.path().join("aside");
    let first = rescue(&home.only(), &aside).unwrap();
    let second = rescue(&home.only(), &aside).unwrap();
    assert_eq!((&second.copy, &second.stub), (&first.copy, &None));
    assert_eq!(fs::read_dir(aside.join("p")).unwrap().count(), 2);
}

#[test]
fn a_rescue_never_writes_over_another_file() {
    let home = endangered();
    let aside = home.path().join("aside");
    fs::create_dir_all(aside.join("p")).unwrap();
    let taken = aside.join("p/session-2026-11-15T18-08-abcdabcd.jsonl");
    fs::write(&taken, "something else").unwrap();
    let rescued = rescue(&home.only(), &aside).unwrap();
    assert_eq!(rescued.copy, aside.join("p/session-2026-11-15T18-08-abcdabcd.jsonl.1"));
    assert_eq!(fs::read_to_string(&taken).unwrap(), "something else");
}

#[test]
fn a_rescue_that_cannot_copy_removes_nothing() {
    let home = endangered();
    let aside = home.path().join("a-file");
    fs::write(&aside, "").unwrap();
    rescue(&home.only(), &aside).unwrap_err();
    assert!(home.path().join("tmp").join(STUB).exists());
}
