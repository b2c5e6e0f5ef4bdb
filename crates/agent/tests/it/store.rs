//! The sessions of a directory: every layout, and everything that can be wrong with a file.

use crate::home::{Home, answer, context, document, header, log, user};
use pollux_agent::gemini::transcript::Transcript;
use pollux_agent::gemini::transcript::digest::digest;
use pollux_agent::gemini::transcript::store::{self, Kind, Risk, project_hash};
use pollux_agent::model::{Block, Message, ResultContent};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

fn talk(id: &str) -> String {
    log(&[header(id), user("1", "hello"), answer("2", "Hi there.")])
}

#[test]
fn the_three_layouts_are_found_with_their_projects() {
    let home = Home::new();
    let hash = project_hash("/srv/hashed".as_ref());
    let messages = [user("1", "hello"), answer("2", "Hi.")];
    home.put(
        &format!("{hash}/chats/session-2025-10-27T19-55-aaaaaaaa.json"),
        document("a", &messages),
    );
    home.put("listed/chats/session-2026-02-01T00-00-bbbbbbbb.json", document("b", &messages));
    home.put("owned/chats/session-2026-11-15T18-00-cccccccc.jsonl", talk("c"));
    home.put("owned/.project_root", "/srv/owned\n");
    home.put("nobodys/chats/session-2026-11-15T18-00-dddddddd.jsonl", talk("d"));
    let registry = json!({ "projects": { "/srv/listed": "listed", "/srv/other": "owned" } });
    fs::write(home.path().join("projects.json"), registry.to_string()).unwrap();
    let near = Path::new("/srv/hashed/src");
    let listing = store::list(home.path(), &[near], None, &|_, _| {});
    let mut found: Vec<(&str, Option<PathBuf>, String)> = listing
        .sessions
        .iter()
        .map(|session| (session.id.as_str(), session.project.clone(), session.project_name()))
        .collect();
    found.sort();
    let path = |path: &str| Some(PathBuf::from(path));
    assert_eq!(
        found,
        [
            ("a", path("/srv/hashed"), "/srv/hashed".to_owned()),
            ("b", path("/srv/listed"), "/srv/listed".to_owned()),
            ("c", path("/srv/owned"), "/srv/owned".to_owned()),
            ("d", None, "nobodys".to_owned()),
        ]
    );
    assert!(listing.problems.is_empty());
}

#[test]
fn a_session_that_does_not_say_its_project_hides_it_from_no_other_beside_it() {
    let home = Home::new();
    let near = Path::new("/srv/near");
    let mut own = header("own");
    own["projectHash"] = project_hash(near).into();
    home.put("slug/chats/own.jsonl", log(&[own, user("1", "hello")]));
    for id in ["a", "b", "c", "d", "e", "f"] {
        let silent = log(&[json!({ "sessionId": id }), user("1", "hello")]);
        home.put(&format!("slug/chats/{id}.jsonl"), silent);
    }
    let listing = store::list(home.path(), &[near], None, &|_, _| {});
    let own = listing.sessions.iter().find(|session| session.id == "own").unwrap();
    assert_eq!(own.project.as_deref(), Some(near));
}

#[test]
fn one_session_in_several_files_is_listed_once_with_the_file_that_goes_on() {
    let home = Home::new();
    let messages = [user("1", "hello"), answer("2", "Hi.")];
    home.put("p/chats/session-2026-01-01T00-00-abcdabcd.json", document("abcdabcd-1", &messages));
    let live = home.put(
        "p/chats/session-2026-01-01T00-00-abcdabcd.jsonl",
        log(&[header("abcdabcd-1"), user("1", "hello"), answer("2", "Hi."), user("3", "more")]),
    );
    let stub = home.put(
        "p/chats/session-2026-11-15T18-09-abcdabcd.jsonl",
        log(&[header("abcdabcd-1"), json!({ "$set": { "messages": [context()] } })]),
    );
    let session = home.only();
    assert_eq!(
        (session.file.path, session.digest.messages, session.kind, session.others.len()),
        (live, 3, Kind::Main, 2)
    );
    assert_eq!(session.risk, Some(Risk::Stub(stub)));
}

#[test]
fn a_session_is_at_risk_also_where_the_stub_beside_it_does_not_say_whose_it_is() {
    let home = Home::new();
    home.put("p/chats/session-2026-11-15T18-00-abcdabcd.jsonl", talk("abcdabcd-1"));
    home.put("q/chats/session-2026-11-15T18-00-abcdabcd.jsonl", talk("abcdabcd-2"));
    let moved = log(&[json!({ "$set": { "lastUpdated": "2026-11-15T18:09:00Z" } })]);
    let stub = home.put("p/chats/session-2026-11-15T18-09-abcdabcd.jsonl", moved);
    let listing = home.list();
    let risk = |id: &str| {
        let session = listing.sessions.iter().find(|session| session.id == id);
        session.unwrap().risk.clone()
    };
    assert_eq!(risk("abcdabcd-1"), Some(Risk::Stub(stub)));
    assert_eq!(risk("abcdabcd-2"), None, "the CLI looks into one directory");
}

#[test]
fn a_session_of_the_old_format_is_not_endangered_by_a_stub() {
    let home = Home::new();
    let messages = [user("1", "hello"), answer("2", "Hi.")];
    home.put("p/chats/session-2026-01-01T00-00-abcdabcd.json", document("abcdabcd-1", &messages));
    home.put(
        "p/chats/session-2026-11-15T18-09-abcdabcd.jsonl",
        log(&[header("abcdabcd-1"), context()]),
    );
    assert_eq!(home.only().risk, None);
}

#[test]
fn subagents_and_stubs_have_their_kind() {
    let home = Home::new();
    home.put("p/chats/session-2026-11-15T18-00-aaaaaaaa.jsonl", talk("parent"));
    home.put("p/chats/parent/child.jsonl", talk("child"));
    home.put("p/chats/session-2026-11-15T18-00-bbbbbbbb.jsonl", log(&[header("stub"), context()]));
    let mut kinds: Vec<(String, Kind, Option<String>)> = home
        .list()
        .sessions
        .into_iter()
        .map(|session| (session.id, session.kind, session.file.parent))
        .collect();
    kinds.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(
        kinds,
        [
            ("child".to_owned(), Kind::Subagent, Some("parent".to_owned())),
            ("parent".to_owned(), Kind::Main, None),
            ("stub".to_owned(), Kind::Stub, None),
        ]
    );
}

#[test]
fn a_prompt_that_was_taken_back_is_a_session_and_an_overwritten_one_is_at_risk() {
    let home = Home::new();
    let empty = json!({ "$set": { "messages": [context()] } });
    let failed = [header("failed"), user("1", "hello"), empty.clone()];
    home.put("p/chats/session-2026-11-15T18-00-aaaaaaaa.jsonl", log(&failed));
    let lost = [header("lost"), user("1", "hello"), answer("2", "Hi."), header("lost"), empty];
    home.put("p/chats/session-2026-11-15T18-00-bbbbbbbb.jsonl", log(&lost));
    let mut told: Vec<_> = home
        .list()
        .sessions
        .into_iter()
        .map(|session| {
            let title = session.digest.title().map(str::to_owned);
            (session.id, session.kind, session.risk, title)
        })
        .collect();
    told.sort_by(|a, b| a.0.cmp(&b.0));
    let title = Some("hello".to_owned());
    assert_eq!(
        told,
        [
            ("failed".to_owned(), Kind::Main, None, title.clone()),
            ("lost".to_owned(), Kind::Main, Some(Risk::Overwritten), title),
        ]
    );
}

#[test]
fn what_is_wrong_with_a_log_is_said_and_the_rest_is_read() {
    let rest = log(&[user("1", "hello"), answer("2", "Hi.")]);
    let cases: &[(&str, Vec<u8>, u64, &[&str])] = &[
        (
            "cut",
            format!("{rest}{{\"id\":\"3\",\"ty").into(),
            2,
            &["line 3: skipped: the last line is incomplete"],
        ),
        (
            "corrupt",
            format!("{}\nnonsense\n{rest}", header("s")).into(),
            2,
            &["line 2: skipped, not JSON: expected ident at line 1 column 2"],
        ),
        (
            "unknown",
            format!("{rest}{{\"$merge\":1}}\n[1]\n").into(),
            2,
            &["line 3: skipped: unknown kind of record", "line 4: skipped: it is not an object"],
        ),
        (
            "types",
            format!(
                "{rest}{}\n",
                json!({ "id": "3", "type": "gemini", "timestamp": [],
            "content": "still there", "thoughts": 1, "toolCalls": "x", "tokens": [] })
            )
            .into(),
            3,
            &[
                "line 3: partly read a message: `timestamp` is not a time",
                "line 3: partly read a message: `thoughts` is not a list",
                "line 3: partly read a message: `toolCalls` is not a list",
                "line 3: partly read a message: `tokens` is not an object",
            ],
        ),
        ("empty", Vec::new(), 0, &[]),
        ("marked", format!("\u{feff}{rest}").into(), 2, &[]),
        ("crlf", rest.replace('\n', "\r\n").into(), 2, &[]),
        ("u2028", rest.replace("hello", "a\u{2028}b").into(), 2, &[]),
        ("surrogate", rest.replace("hello", "a\\ud83d").into(), 2, &[]),
    ];
    for (name, content, messages, problems) in cases {
        let home = Home::new();
        home.put(&format!("p/chats/{name}.jsonl"), content);
        let problems: Vec<String> =
            problems.iter().map(|problem| format!("{name}.jsonl: {problem}")).collect();
        assert_eq!((home.only().digest.messages, home.problems()), (*messages, problems), "{name}");
    }
}

#[test]
fn what_is_wrong_with_a_document_is_said_and_the_rest_is_read() {
    let whole = document("s", &[user("1", "hello"), answer("2", "Hi."), user("3", "more")]);
    let cut = whole.find("\"more\"").unwrap();
    let end = whole.get(..cut).unwrap();
    let line = end.lines().count();
    let column = end.lines().last().unwrap().len();
    let cut_off = format!(
        "line {line}: skipped the rest: EOF while parsing a value at line {line} column {column}"
    );
    let cases: &[(&str, String, u64, Vec<String>)] = &[
        ("cut", end.to_owned(), 2, vec![cut_off]),
        ("marked", format!("\u{feff}{whole}"), 3, vec![]),
        ("crlf", whole.replace('\n', "\r\n"), 3, vec![]),
        (
            "types",
            document("s", &[json!(7), user("1", "hello")]),
            1,
            vec!["line 1: partly read a message: it is not an object".to_owned()],
        ),
    ];
    for (name, content, messages, problems) in cases {
        let home = Home::new();
        home.put(&format!("p/chats/{name}.json"), content);
        let problems: Vec<String> =
            problems.iter().map(|problem| format!("{name}.json: {problem}")).collect();
        assert_eq!((home.only().digest.messages, home.problems()), (*messages, problems), "{name}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_replaced() {
    let home = Home::new();
    let mut bytes = log(&[header("s"), user("1", "h~llo")]).into_bytes();
    let at = bytes.iter().position(|byte| *byte == b'~').unwrap();
    bytes[at] = 0xff;
    home.put("p/chats/s.jsonl", bytes);
    assert_eq!(home.only().digest.first_words.as_deref(), Some("h\u{fffd}llo"));
}

#[test]
fn a_file_that_the_cli_gave_up_on_is_read() {
    let home = Home::new();
    home.put("p/chats/session-2026-11-15T18-00-aaaaaaaa.jsonl.unreadable-1763229600000", talk("a"));
    assert_eq!((home.only().id.as_str(), home.only().digest.messages), ("a", 2));
}

#[test]
fn files_that_are_no_sessions_are_left_alone() {
    let home = Home::new();
    home.put("p/chats/notes.txt", "hello");
    home.put("p/logs.json", "[]");
    home.put("p/chats/parent/deeper/too-deep.jsonl", talk("deep"));
    let listing = home.list();
    assert!(listing.sessions.is_empty() && listing.problems.is_empty(), "{listing:?}");
}

#[test]
fn a_home_that_is_not_there_has_no_sessions() {
    let listing = store::list("/nonexistent/.gemini".as_ref(), &[], None, &|_, _| {});
    assert!(listing.sessions.is_empty() && listing.problems.is_empty());
}

#[test]
fn a_message_of_five_megabytes_is_counted_in_both_formats() {
    let large = "x".repeat(5 << 20);
    let home = Home::new();
    let messages = [user("1", "hello"), answer("2", &large), user("3", "more")];
    home.put("p/chats/old.json", document("old", &messages));
    home.put("p/chats/new.jsonl", log(&[&[header("new")], &messages[..]].concat()));
    home.put(
        "p/chats/first.jsonl",
        log(&[answer("2", &large), header("first"), user("3", "more")]),
    );
    let mut counted: Vec<(String, u64, u64)> = home
        .list()
        .sessions
        .into_iter()
        .map(|session| (session.id, session.digest.messages, session.digest.usage().total_tokens))
        .collect();
    counted.sort();
    let counts = |id: &str, messages| (id.to_owned(), messages, 5);
    assert_eq!(counted, [counts("first", 2), counts("new", 3), counts("old", 3)]);
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_directory_is_not_followed_and_one_within_is() {
    use std::os::unix::fs::symlink;
    let elsewhere = Home::new();
    let target = elsewhere.put("q/chats/outside.jsonl", talk("outside"));
    let home = Home::new();
    let inside = home.put("p/chats/inside.jsonl", talk("inside"));
    let chats = inside.parent().unwrap();
    symlink(&target, chats.join("leak.jsonl")).unwrap();
    symlink("/nonexistent", chats.join("nowhere.jsonl")).unwrap();
    symlink(elsewhere.path().join("tmp/q"), home.path().join("tmp/q")).unwrap();
    symlink(home.path().join("tmp/p"), home.path().join("tmp/again")).unwrap();
    let listing = home.list();
    let ids: Vec<&str> = listing.sessions.iter().map(|session| session.id.as_str()).collect();
    assert_eq!(ids, ["inside"]);
    let real = |path: &Path| path.canonicalize().unwrap().display().to_string();
    let mut expected = vec![
        format!(
            "leak.jsonl: skipped: the symlink leads outside the directory, to {}",
            real(&target)
        ),
        "nowhere.jsonl: skipped: the symlink leads outside the directory, to nowhere".to_owned(),
        format!(
            "q: skipped: the symlink leads outside the directory, to {}",
            real(&elsewhere.path().join("tmp/q"))
        ),
    ];
    // Through the link within, the same two links are seen again.
    expected.extend_from_within(..2);
    expected.sort();
    let mut problems = home.problems();
    problems.sort();
    assert_eq!(problems, expected);
}

#[test]
fn with_an_index_only_what_has_changed_is_read_again() {
    let home = Home::new();
    let first = home.put("p/chats/a.jsonl", talk("a"));
    home.put("p/chats/b.jsonl", talk("b"));
    let index = home.path().join("cache/index.json");
    let list = || {
        let read = AtomicUsize::new(0);
        let progress = |_, open| read.store(open, Ordering::Relaxed);
        let listing = store::list(home.path(), &[], Some(&index), &progress);
        let sum: u64 = listing.sessions.iter().map(|session| session.digest.messages).sum();
        (read.into_inner(), sum)
    };
    assert_eq!(list(), (2, 4), "at first all is read");
    assert_eq!(list(), (0, 4), "then nothing");
    let more = [talk("a"), log(&[user("3", "more")])].concat();
    fs::write(&first, more).unwrap();
    assert_eq!(list(), (1, 5), "then what has changed");
    home.put("p/chats/0.jsonl", talk("new"));
    assert_eq!(list(), (1, 7), "and what is new");
    fs::write(&index, "garbage").unwrap();
    assert_eq!(list(), (3, 7), "an index that cannot be read is made anew");
    assert_eq!(list(), (0, 7));
    fs::write(&index, r#"{"version":1,"entries":[]}"#).unwrap();
    assert_eq!(list(), (3, 7), "so is one of another version");
    fs::remove_file(&first).unwrap();
    assert_eq!(list(), (0, 4), "what is gone is gone");
}

/// The results of the calls in a log, as text.
fn results(text: &str) -> Vec<String> {
    let transcript = Transcript::read(text);
    let result = |block: &Block<'_>| match block {
        Block::ToolResult { content: ResultContent::Text(text), .. } => Some(text.to_string()),
        Block::ToolResult { content, .. } => Some(serde_json::to_string(content).unwrap()),
        _ => None,
    };
    let of = |message: Message<'_>| message.blocks().iter().filter_map(result).collect::<Vec<_>>();
    transcript.messages().flat_map(of).collect()
}

#[test]
fn a_result_that_is_a_text_or_has_texts_among_its_parts_is_read() {
    let call = |id: &str, result: &str| {
        format!(r#"{{"id":"{id}","name":"x","args":{{}},"status":"success","result":{result}}}"#)
    };
    let calls = [
        call("a", r#""all of \"it\"""#),
        call("b", r#"["first",{"text":"second"}]"#),
        call("c", r#""half \ud83d""#),
        call("d", "17"),
    ];
    let text = format!(
        "{{\"sessionId\":\"s\"}}\n{{\"id\":\"1\",\"type\":\"gemini\",\"content\":\"\",\"toolCalls\":[{}]}}\n",
        calls.join(",")
    );
    let results = results(&text);
    assert_eq!(results[0], "all of \"it\"");
    assert!(results[1].contains("first") && results[1].contains("second"), "{results:?}");
    assert!(results[2].starts_with("half "), "{results:?}");
    let skipped: Vec<String> =
        Transcript::read(&text).diagnostics().iter().map(ToString::to_string).collect();
    assert_eq!(skipped, ["line 2: partly read a message: a `result` is not a list"]);
}

#[test]
fn half_a_letter_where_no_text_belongs_costs_that_field_and_nothing_else() {
    let records = [
        r#"{"id":"1","type":"gemini","content":"one","tokens":"\ud83d"}"#,
        r#"{"id":"2","type":"gemini","content":"two","tool\ud83d":1}"#,
        r#"{"id":"3","type":"gemini","content":"three","tokens":{"total":7,"input":"\ud83d"}}"#,
        r#"{"id":"4","type":"gemini","content":"four","toolCalls":[{"id":"c","name":"n","status":"success","result":[{"functionResponse":{"id":"c","response":{"a\ud83d":"v"}}}]}]}"#,
        r#"{"id":"5","type":"gemini","content":["five",{"text":"more","functionCall":"\ud83d"}]}"#,
    ];
    let text = format!("{{\"sessionId\":\"s\"}}\n{}\n", records.join("\n"));
    let transcript = Transcript::read(&text);
    let said: Vec<String> = transcript.messages().map(|message| message.text()).collect();
    assert_eq!(said, ["one", "two", "three", "four", "five\n\nmore"]);
    assert!(results(&text)[0].contains("\"v\""), "{:?}", results(&text));
    let sums = digest(&text);
    assert_eq!((sums.messages, sums.usage().total_tokens), (5, 7));
    // In the old format one such message hides none that come after it.
    let document = format!("{{\n\"sessionId\":\"s\",\n\"messages\":[\n{}]}}", records.join(",\n"));
    let sums = digest(&document);
    assert_eq!((sums.messages, sums.usage().total_tokens), (5, 7), "{:?}", sums.diagnostics);
}

#[test]
fn a_time_that_is_a_number_is_no_fault_and_what_is_skipped_is_not_told_without_end() {
    let numbered =
        json!({ "id": "1", "timestamp": 1_794_766_000_000_i64, "type": "user", "content": "x" });
    assert_eq!(digest(&log(&[header("s"), numbered])).diagnostics, []);
    let odd = r#"{"id":"1","type":"gemini","content":"x","thoughts":3,"toolCalls":3}"#;
    let text = format!("{odd}\n").repeat(1000);
    let skipped = digest(&text).diagnostics;
    assert_eq!(skipped.len(), 21);
    assert_eq!(skipped[20].to_string(), "1980 more problems");
    assert_eq!(Transcript::read(&text).diagnostics(), skipped);
}

#[test]
fn messages_that_are_no_list_hide_nothing_that_stands_after_them() {
    let document = |messages: &str| {
        format!(
            "{{\n  \"sessionId\": \"s\",\n  \"messages\": {messages},\n  \"summary\": \"after\"\n}}"
        )
    };
    let map = document(&json!({ "a": user("1", "by a key") }).to_string());
    for (text, messages) in [(map, 1), (document("17"), 0)] {
        let sums = digest(&text);
        assert_eq!((sums.summary.as_deref(), sums.messages), (Some("after"), messages), "{text}");
        assert_eq!(Transcript::read(&text).messages().count() as u64, messages);
    }
}

#[test]
fn tokens_of_answers_that_only_another_file_of_a_session_has_are_counted() {
    let name = "p/chats/session-2026-11-15T18-00-abcdabcd.jsonl";
    let live = [header("abcdabcd-1"), user("5", "anew"), answer("6", "Hi.")];
    let spent = |other: &[serde_json::Value]| {
        let home = Home::new();
        home.put(name, log(&live));
        home.put(&format!("{name}.unreadable-1794766000000"), log(other));
        let session = home.only();
        let answers: u64 = session.digest.spent.iter().map(|spent| spent.answers).sum();
        (answers, session.digest.usage().total_tokens)
    };
    let first = [header("abcdabcd-1"), user("1", "hello"), answer("2", "Hi.")];
    assert_eq!(spent(&first), (2, 10));
    let mut earlier = answer("2", "Hi.");
    earlier["timestamp"] = "2026-11-14T18:00:02Z".into();
    assert_eq!(spent(&[header("abcdabcd-1"), earlier]), (2, 10));
    assert_eq!(spent(&live), (1, 5), "what both have is counted once");
    let more = [&live[..], &[answer("7", "More.")]].concat();
    assert_eq!(spent(&more), (2, 10));
}

#[test]
fn subagents_that_bear_one_id_are_two() {
    let home = Home::new();
    home.put("p/chats/parent/one.jsonl", talk("parent"));
    home.put("p/chats/parent/two.jsonl", talk("parent"));
    home.put("p/chats/session-2026-11-15T18-00-aaaaaaaa.jsonl", talk("parent"));
    let kinds: Vec<Kind> = home.list().sessions.iter().map(|session| session.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == Kind::Subagent).count(), 2);
    assert_eq!(kinds.len(), 3);
}
