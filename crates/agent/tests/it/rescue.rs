//! What is saved from the CLI, and that nothing is lost by saving it.

use crate::home::{Home, answer, context, document, header, log, user};
use pollux_agent::gemini::transcript::rescue::{Rescued, rescue};
use pollux_agent::gemini::transcript::resume::{Guard, is_stub};
use pollux_agent::gemini::transcript::store::Kind;
use serde_json::json;
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
fn a_session_that_has_only_grown_since_has_one_copy() {
    let home = endangered();
    let aside = home.path().join("aside");
    let first = rescue(&home.only(), &aside).unwrap();
    let more = log(&[user("3", "more")]);
    let session = home.only();
    let whole = fs::read_to_string(&session.file.path).unwrap() + &more;
    fs::write(&session.file.path, &whole).unwrap();
    let second = rescue(&home.only(), &aside).unwrap();
    assert_eq!(second.copy, first.copy);
    assert_eq!(fs::read_to_string(&second.copy).unwrap(), whole);
    // One that was written anew is another.
    fs::write(&session.file.path, log(&[header("abcdabcd-1"), user("9", "anew")])).unwrap();
    let third = rescue(&home.only(), &aside).unwrap();
    assert_ne!(third.copy, first.copy);
    assert_eq!(fs::read_to_string(&first.copy).unwrap(), whole);
}

#[test]
fn a_stub_in_which_somebody_has_spoken_since_is_left_where_it_is() {
    let home = endangered();
    let session = home.only();
    let stub = home.path().join("tmp").join(STUB);
    let spoken = log(&[header("abcdabcd-1"), context(), user("7", "here I am")]);
    fs::write(&stub, &spoken).unwrap();
    let rescued = rescue(&session, &home.path().join("aside")).unwrap();
    assert_eq!(rescued.stub, None);
    assert_eq!(fs::read_to_string(&stub).unwrap(), spoken);
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

#[test]
fn a_session_of_the_old_format_is_put_back_without_the_log_that_was_made_of_it() {
    let home = Home::new();
    let said = [user("1", "hello"), answer("2", "Hi.")];
    let name = "p/chats/session-2025-10-01T10-00-abcdabcd.json";
    let file = home.put(name, document("abcdabcd-1", &said));
    let aside = home.path().join("aside");
    let guard = Guard::new(&file, &aside).unwrap();
    let made = home.put(&format!("{name}l"), log(&[header("abcdabcd-1"), user("1", "hello")]));
    assert!(guard.check().unwrap_err().contains("message 2 of 2"));
    guard.put_back().unwrap();
    assert_eq!(guard.check(), Ok(()));
    assert!(!made.exists() && aside.join("p").join(made.file_name().unwrap()).exists());
}

#[test]
fn an_answer_in_which_nothing_is_said_is_no_loss() {
    let home = Home::new();
    let file = home.put(
        "p/chats/session-2026-11-15T18-08-abcdabcd.jsonl",
        log(&[header("abcdabcd-1"), user("1", "hello"), answer("2", "")]),
    );
    let guard = Guard::new(&file, &home.path().join("aside")).unwrap();
    fs::write(&file, log(&[header("abcdabcd-1"), user("1", "hello")])).unwrap();
    assert_eq!(guard.check(), Ok(()));
    fs::write(&file, log(&[header("abcdabcd-1")])).unwrap();
    assert!(guard.check().is_err(), "what was said is");
}

#[test]
fn a_session_of_the_old_format_that_is_gone_on_with_again_and_again_leaves_one_copy() {
    let home = Home::new();
    let name = "p/chats/session-2025-10-01T10-00-abcdabcd.json";
    let aside = home.path().join("aside");
    let copies = || fs::read_dir(aside.join("p")).unwrap().count();
    let mut said = vec![user("1", "hello"), answer("2", "Hi.")];
    for turn in 0..3 {
        let file = home.put(name, document("abcdabcd-1", &said));
        let guard = Guard::new(&file, &aside).unwrap();
        assert_eq!((guard.messages(), copies()), (said.len(), 1));
        said.extend([user(&format!("u{turn}"), "more"), answer(&format!("a{turn}"), "More.")]);
    }
    // What only an older copy has is kept.
    let file = home.put(name, document("abcdabcd-1", &said[..2]));
    Guard::new(&file, &aside).unwrap();
    assert_eq!(copies(), 2);
}

#[test]
fn what_cannot_be_read_is_no_stub_and_stays_where_it_is() {
    let human = json!({ "id": "7", "type": "human", "content": "here I am" });
    let object =
        json!({ "id": "7", "type": "user", "content": { "parts": [{ "text": "here I am" }] } });
    let row =
        json!({ "sessionId": "abcdabcd-1", "type": "user", "message": { "content": "here I am" } });
    let taken = json!({ "$set": { "messages": [context()] } });
    let files = [
        log(&[header("abcdabcd-1"), human.clone()]),
        log(&[header("abcdabcd-1"), object]),
        log(&[header("abcdabcd-1"), row]),
        log(&[header("abcdabcd-1"), human, taken]),
        log(&[header("abcdabcd-1"), json!({ "turn": "here I am" })]),
        log(&[header("abcdabcd-1"), json!({ "$set": "here I am" })]),
        format!("{}{{\"id\":\"7\",\"type\":\"us", log(&[header("abcdabcd-1")])),
    ];
    for unread in files {
        let home = Home::new();
        let live = [header("abcdabcd-1"), user("1", "hello"), answer("2", "Hi.")];
        let file = home.put(LIVE, log(&live));
        let other = home.put(STUB, &unread);
        assert!(!is_stub(&other), "{unread}");
        let guard = Guard::new(&file, &home.path().join("aside")).unwrap();
        assert!(guard.move_stubs().unwrap().is_empty(), "{unread}");
        assert!(home.list().sessions.iter().all(|session| session.risk.is_none()), "{unread}");
        assert_eq!(fs::read_to_string(&other).unwrap(), unread);
    }
}

#[test]
fn a_stub_that_was_moved_and_is_written_to_again_is_one_without_its_header() {
    let home = Home::new();
    home.put(LIVE, log(&[header("abcdabcd-1"), user("1", "hello"), answer("2", "Hi.")]));
    for more in [context(), json!({ "$set": { "lastUpdated": "2026-11-15T18:05:00Z" } })] {
        assert!(is_stub(&home.put(STUB, log(&[more]))));
    }
}

#[test]
fn what_the_cli_has_put_away_as_unreadable_is_no_stub() {
    let home = Home::new();
    let live = [header("abcdabcd-1"), user("1", "hello"), answer("2", "Hi.")];
    let file = home.put(LIVE, log(&live));
    let name = format!("{STUB}.unreadable-1794766000000");
    let away = home.put(&name, log(&[header("abcdabcd-1"), context()]));
    assert!(!is_stub(&away));
    assert_eq!(home.only().risk, None);
    let guard = Guard::new(&file, &home.path().join("aside")).unwrap();
    assert!(guard.move_stubs().unwrap().is_empty());
    assert!(away.exists());
}

#[test]
fn a_session_of_types_that_are_not_known_is_listed() {
    let home = Home::new();
    let human = json!({ "id": "1", "type": "human", "content": "hello" });
    home.put(LIVE, log(&[header("abcdabcd-1"), human]));
    assert_eq!(home.only().kind, Kind::Main);
}

#[test]
fn a_copy_that_alone_has_what_a_tool_gave_back_is_kept() {
    let home = Home::new();
    let name = "p/chats/session-2025-10-01T10-00-abcdabcd.json";
    let aside = home.path().join("aside");
    let copies = || fs::read_dir(aside.join("p")).unwrap().count();
    let called = |result: &str| {
        let result =
            json!([{ "functionResponse": { "id": "c", "response": { "output": result } } }]);
        json!({ "id": "2", "type": "gemini", "content": "Hi.", "toolCalls":
            [{ "id": "c", "name": "read_file", "args": {}, "status": "success", "result": result }] })
    };
    let file = home.put(name, document("abcdabcd-1", &[user("1", "hello"), called("all of it")]));
    Guard::new(&file, &aside).unwrap();
    home.put(name, document("abcdabcd-1", &[user("1", "hello"), called("")]));
    Guard::new(&file, &aside).unwrap();
    assert_eq!(copies(), 2);
}
