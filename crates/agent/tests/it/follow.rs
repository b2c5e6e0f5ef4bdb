//! Session files while they are written.

use crate::home::{Home, answer, document, header, log, user};
use pollux_agent::gemini::transcript::follow::{Follow, Watch, Watched};
use pollux_agent::model::{Event, EventKind};
use serde_json::{Value, json};
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Events as a person would tell them.
fn told(events: &[Event<'_>]) -> Vec<String> {
    let word = |event: &Event<'_>| match &event.kind {
        EventKind::SessionStarted { session_id, .. } => format!("started {session_id}"),
        EventKind::SessionChanged(change) => format!("about {}", change.title.as_ref().unwrap()),
        EventKind::MessageRecorded { changed: false, message } => {
            format!("{} {}", message.id, message.text())
        }
        EventKind::MessageRecorded { changed: true, message } => {
            format!("{} now {}", message.id, message.text())
        }
        EventKind::HistoryRewritten { epoch, reason, removed, .. } => {
            format!("#{epoch} {} gone {}", json!(reason), json!(removed))
        }
        EventKind::Notice { text, .. } => format!("notice {text}"),
        EventKind::Unread { line, reason, .. } => format!("unread {line:?} {reason}"),
        EventKind::SessionEnded { reason } => format!("ended {reason}"),
        other => format!("not of a session file: {other:?}"),
    };
    events.iter().map(word).collect()
}

fn append(path: &Path, text: &str) {
    let mut file = fs::File::options().append(true).create(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// A log that is followed and has been told of: a header, a prompt and an answer.
fn followed(home: &Home) -> (std::path::PathBuf, Follow) {
    let path =
        home.put("p/chats/s.jsonl", log(&[header("s"), user("1", "hello"), answer("2", "Hi.")]));
    let mut follow = Follow::new(&path);
    assert_eq!(told(&follow.poll()), ["started s", "1 hello", "2 Hi."]);
    (path, follow)
}

#[test]
fn a_log_that_grows_tells_what_is_new_and_what_has_changed() {
    let home = Home::new();
    let (path, mut follow) = followed(&home);
    assert!(follow.poll().is_empty());
    append(&path, &log(&[user("3", "more"), answer("2", "Hello.")]));
    assert_eq!(told(&follow.poll()), ["3 more", "2 now Hello."]);
    append(&path, &log(&[answer("2", "Hello."), json!({ "$set": { "summary": "greetings" } })]));
    assert_eq!(told(&follow.poll()), ["about greetings"], "the same again is nothing new");
    append(&path, &log(&[json!({ "$rewindTo": "3" })]));
    assert_eq!(told(&follow.poll()), [r#"#1 "rewind" gone ["3"]"#]);
    append(
        &path,
        &log(&[json!({ "$set": { "messages": [user("1", "hello"), user("9", "new")] } })]),
    );
    assert_eq!(told(&follow.poll()), [r#"#2 "checkpoint" gone ["2"]"#, "9 new"]);
}

#[test]
fn half_a_line_is_waited_for_and_a_broken_one_is_told_of() {
    let home = Home::new();
    let (path, mut follow) = followed(&home);
    let line = log(&[user("3", "more")]);
    let (first, second) = line.split_at(20);
    append(&path, first);
    assert!(follow.poll().is_empty());
    append(&path, second);
    assert_eq!(told(&follow.poll()), ["3 more"]);
    append(&path, "nonsense\n");
    assert_eq!(
        told(&follow.poll()),
        ["unread Some(5) skipped, not JSON: expected ident at line 1 column 2"]
    );
}

#[test]
fn what_is_read_in_part_is_told_and_also_told_of() {
    let home = Home::new();
    let (file, mut follow) = followed(&home);
    follow.poll();
    let odd = r#"{"id":"9","type":"gemini","content":"kept","thoughts":3,"toolCalls":3}"#;
    append(&file, &format!("{odd}\n"));
    let events = follow.poll();
    let kinds: Vec<Value> = events.iter().map(|event| json!(event)).collect();
    assert_eq!(kinds.len(), 2, "{kinds:#?}");
    let reason = "partly read a message: `thoughts` is not a list; \
        partly read a message: `toolCalls` is not a list";
    assert_eq!((&kinds[0]["reason"], &kinds[0]["text"]), (&json!(reason), &json!(odd)));
    assert_eq!(kinds[1]["message"]["id"], "9");
}

#[test]
fn a_log_whose_first_line_is_broken_is_followed_all_the_same() {
    let home = Home::new();
    let path = home.put("p/chats/s.jsonl", "{\"sessionId\" 1}\n{\"id\":\"1\",");
    let mut follow = Follow::new(&path);
    assert!(follow.poll().is_empty());
    append(&path, "\"type\":\"user\",\"content\":\"hello\"}\n");
    assert_eq!(
        told(&follow.poll()),
        ["unread Some(1) skipped, not JSON: expected `:` at line 1 column 14", "1 hello"]
    );
}

#[test]
fn a_log_that_is_cut_and_goes_on_tells_what_is_gone() {
    let home = Home::new();
    let (path, mut follow) = followed(&home);
    fs::write(&path, log(&[header("s"), user("1", "hello")])).unwrap();
    assert_eq!(told(&follow.poll()), [r#"#1 "replaced" gone ["2"]"#]);
    append(&path, &log(&[answer("4", "Again.")]));
    assert_eq!(told(&follow.poll()), ["4 Again."]);
}

#[test]
fn a_log_that_is_replaced_tells_only_what_is_other_than_before() {
    let home = Home::new();
    let (path, mut follow) = followed(&home);
    let rows = [
        header("s"),
        user("1", "hello"),
        answer("2", "first"),
        answer("2", "Hi."),
        user("3", "new"),
    ];
    let beside = home.put("p/chats/beside", log(&rows));
    fs::rename(&path, path.with_extension("old")).unwrap();
    fs::rename(beside, &path).unwrap();
    assert_eq!(told(&follow.poll()), ["3 new"]);
}

#[test]
fn a_log_that_is_deleted_ends_and_begins_again_when_it_is_back() {
    let home = Home::new();
    let (path, mut follow) = followed(&home);
    fs::remove_file(&path).unwrap();
    assert_eq!(told(&follow.poll()), ["ended the session file was deleted"]);
    assert!(follow.poll().is_empty(), "it ends once");
    fs::write(&path, log(&[header("s"), user("1", "hello"), user("5", "back")])).unwrap();
    assert_eq!(told(&follow.poll()), [r#"#1 "replaced" gone ["2"]"#, "5 back"]);
}

#[test]
fn a_log_that_is_written_anew_where_it_stands_is_known_by_what_stood_there() {
    let home = Home::new();
    let (path, mut follow) = followed(&home);
    // Larger than before, and in the same file: neither says that it is another log.
    fs::write(&path, log(&[header("s"), user("1", "hello"), user("7", &"new ".repeat(100))]))
        .unwrap();
    let events = told(&follow.poll());
    assert_eq!(events.first().unwrap(), r#"#1 "replaced" gone ["2"]"#, "{events:?}");
    assert!(events.len() == 2 && events[1].starts_with("7 new"), "{events:?}");
    append(&path, &log(&[answer("8", "Again.")]));
    assert_eq!(told(&follow.poll()), ["8 Again."]);
}

/// A log of which one look has told a part only.
fn half_told(home: &Home) -> (std::path::PathBuf, Follow) {
    let long = |at: u32| user(&at.to_string(), &"x".repeat(400 << 10));
    let path = home.put("p/chats/s.jsonl", log(&(0..8).map(long).collect::<Vec<_>>()));
    let mut follow = Follow::new(&path);
    assert!(!follow.poll().is_empty() && follow.is_behind());
    (path, follow)
}

#[test]
fn a_log_that_is_deleted_while_there_is_more_to_tell_has_nothing_more_to_tell() {
    let home = Home::new();
    let (path, mut follow) = half_told(&home);
    fs::remove_file(&path).unwrap();
    assert_eq!(told(&follow.poll()), ["ended the session file was deleted"]);
    assert!(!follow.is_behind(), "whoever waits for the rest waits for nothing");
}

#[test]
fn a_log_that_cannot_be_read_for_a_while_is_told_to_its_end_later() {
    let home = Home::new();
    let (path, mut follow) = half_told(&home);
    let aside = path.with_extension("aside");
    fs::rename(&path, &aside).unwrap();
    // A directory can be opened, and not read.
    fs::create_dir(&path).unwrap();
    assert!(follow.poll().is_empty() && !follow.is_behind());
    fs::remove_dir(&path).unwrap();
    fs::rename(&aside, &path).unwrap();
    let mut events = follow.poll();
    while follow.is_behind() {
        events.extend(follow.poll());
    }
    assert!(told(&events).last().unwrap().starts_with("7 "), "{}", events.len());
}

#[test]
fn a_log_that_took_the_place_of_another_tells_neither_its_title_nor_an_odd_line_again() {
    let home = Home::new();
    let about = json!({ "$set": { "summary": "greetings" } });
    let odd = "this is no record\n";
    let first = log(&[header("s"), user("1", "hello"), about.clone()]);
    let path = home.put("p/chats/s.jsonl", first + odd);
    let mut follow = Follow::new(&path);
    let heard = told(&follow.poll());
    assert_eq!(heard[..3], ["started s", "1 hello", "about greetings"]);
    assert_eq!(heard.len(), 4, "{heard:?}");
    let second = log(&[header("s"), user("1", "hello"), answer("2", "Hi."), about]);
    let other = home.put("p/other", second + odd);
    fs::rename(other, &path).unwrap();
    assert_eq!(told(&follow.poll()), ["2 Hi."]);
    let third = log(&[header("s"), user("1", "hello"), answer("2", "Hi.")]);
    let other = home.put("p/other", third + &log(&[json!({ "$set": { "summary": "more" } })]));
    fs::rename(other, &path).unwrap();
    assert_eq!(told(&follow.poll()), ["about more"]);
}

#[test]
fn what_is_there_can_be_skipped() {
    let home = Home::new();
    let path = home.put("p/chats/s.jsonl", log(&[header("s"), user("1", "hello")]));
    let mut follow = Follow::new(&path);
    follow.skip_existing();
    append(&path, &log(&[answer("2", "Hi.")]));
    assert_eq!(told(&follow.poll()), ["2 Hi."]);
}

#[test]
fn a_document_that_is_rewritten_tells_what_is_new_and_what_has_changed_in_place() {
    let home = Home::new();
    let write = |messages: &[Value]| home.put("p/chats/s.json", document("s", messages));
    let path = write(&[user("1", "hello"), answer("2", "Hi.")]);
    let mut follow = Follow::new(&path);
    assert_eq!(told(&follow.poll()), ["started s", "1 hello", "2 Hi."]);
    write(&[user("1", "hello"), answer("2", "Hi, again."), user("3", "more")]);
    assert_eq!(told(&follow.poll()), ["2 now Hi, again.", "3 more"]);
    write(&[user("1", "hello there"), answer("2", "Hi, again."), user("3", "more")]);
    assert_eq!(
        told(&follow.poll()),
        ["1 now hello there"],
        "though count and last id are the same"
    );
    write(&[user("1", "hello there")]);
    assert_eq!(told(&follow.poll()), [r#"#1 "replaced" gone ["2","3"]"#]);
}

#[test]
fn a_document_that_is_half_written_is_waited_for() {
    let home = Home::new();
    let whole = document("s", &[user("1", "hello"), answer("2", "Hi.")]);
    let path = home.path().join("tmp/p/chats/s.json");
    let mut follow = Follow::new(&path);
    for end in (0..whole.len()).step_by(7) {
        home.put("p/chats/s.json", whole.get(..end).unwrap());
        assert!(follow.poll().is_empty(), "{end} bytes are not the whole");
    }
    home.put("p/chats/s.json", &whole);
    assert_eq!(told(&follow.poll()), ["started s", "1 hello", "2 Hi."]);
    home.put("p/chats/s.json", whole.get(..whole.len() / 2).unwrap());
    assert!(follow.poll().is_empty(), "also while it is written anew");
    home.put(
        "p/chats/s.json",
        document("s", &[user("1", "hello"), answer("2", "Hi."), user("3", "x")]),
    );
    assert_eq!(told(&follow.poll()), ["3 x"]);
}

#[test]
fn a_large_document_is_told_of_once_as_a_warning() {
    let home = Home::new();
    let large = "x".repeat(3 << 20);
    let path = home.put("p/chats/s.json", document("s", &[answer("2", &large)]));
    let mut follow = Follow::new(&path);
    let events = told(&follow.poll());
    assert_eq!(
        events.first().unwrap(),
        "notice the session file has 3 MB and is read in full after every change"
    );
    home.put("p/chats/s.json", document("s", &[answer("2", &large), user("3", "more")]));
    assert_eq!(told(&follow.poll()), ["3 more"]);
}

#[test]
fn a_long_log_is_not_read_again_for_what_is_new() {
    let home = Home::new();
    let (path, mut follow) = followed(&home);
    let long: Vec<Value> =
        (0..50).map(|at| user(&format!("l{at}"), &"x".repeat(100 << 10))).collect();
    append(&path, &log(&long));
    let mut events = follow.poll();
    while follow.is_behind() {
        events.extend(follow.poll());
    }
    assert_eq!(events.len(), 50);
    // Were the old part read again, this would be told of.
    let mut file = fs::File::options().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.write_all("garbage!\n".repeat(500 << 10).as_bytes()).unwrap();
    append(&path, &log(&[user("3", "more")]));
    assert_eq!(told(&follow.poll()), ["3 more"]);
}

/// Waits until a watch has told of something that is wanted.
fn wait(watch: &mut Watch, wanted: &str) -> Vec<String> {
    let end = Instant::now() + Duration::from_secs(10);
    let mut heard = Vec::new();
    while !heard.iter().any(|event| event == wanted) {
        assert!(Instant::now() < end, "waited for {wanted:?} and heard {heard:?}");
        for (path, events) in watch.next(end) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            heard.extend(told(&events).into_iter().map(|event| format!("{name}: {event}")));
        }
    }
    heard
}

#[test]
fn a_watched_file_tells_of_itself_and_of_nothing_beside_it() {
    let home = Home::new();
    let path = home.put("p/chats/s.jsonl", log(&[header("s"), user("1", "hello")]));
    let mut watch = Watch::new(Watched::File(path.clone()), true);
    assert!(watch.poll_now().is_empty());
    home.put("p/chats/other.jsonl", log(&[header("other"), user("1", "not mine")]));
    append(&path, &log(&[answer("2", "Hi.")]));
    assert_eq!(wait(&mut watch, "s.jsonl: 2 Hi."), ["s.jsonl: 2 Hi."]);
}

#[test]
fn a_watched_document_tells_of_its_changes() {
    let home = Home::new();
    let path = home.put("p/chats/s.json", document("s", &[user("1", "hello")]));
    let mut watch = Watch::new(Watched::File(path), true);
    home.put("p/chats/s.json", document("s", &[user("1", "hello"), answer("2", "Hi.")]));
    assert_eq!(wait(&mut watch, "s.json: 2 Hi."), ["s.json: 2 Hi."]);
}

#[test]
fn a_watched_home_tells_of_sessions_that_begin_later() {
    let home = Home::new();
    let path = home.put("p/chats/a.jsonl", log(&[header("a"), user("1", "hello")]));
    let mut watch = Watch::new(Watched::All(home.path().to_path_buf()), true);
    append(&path, &log(&[answer("2", "Hi.")]));
    assert_eq!(wait(&mut watch, "a.jsonl: 2 Hi."), ["a.jsonl: 2 Hi."]);
    home.put("new-project/chats/b.jsonl", log(&[header("b"), user("1", "begun")]));
    assert_eq!(wait(&mut watch, "b.jsonl: 1 begun"), ["b.jsonl: started b", "b.jsonl: 1 begun"]);
}

#[cfg(unix)]
#[test]
fn a_link_out_of_a_watched_home_is_not_followed() {
    use std::os::unix::fs::symlink;
    let elsewhere = Home::new();
    let secret = elsewhere.put("q/chats/secret.jsonl", log(&[header("q"), user("1", "secret")]));
    let home = Home::new();
    let path = home.put("p/chats/a.jsonl", log(&[header("a"), user("1", "hello")]));
    let mut watch = Watch::new(Watched::All(home.path().to_path_buf()), true);
    symlink(&secret, path.with_file_name("leak.jsonl")).unwrap();
    append(&secret, &log(&[user("2", "more of it")]));
    append(&path, &log(&[answer("2", "Hi.")]));
    assert_eq!(wait(&mut watch, "a.jsonl: 2 Hi."), ["a.jsonl: 2 Hi."]);
    append(&path, &log(&[user("3", "and now?")]));
    assert_eq!(wait(&mut watch, "a.jsonl: 3 and now?"), ["a.jsonl: 3 and now?"]);
}
