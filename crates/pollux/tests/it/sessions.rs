//! The program on a home with every recorded session, and on homes where something is wrong.

use crate::user::User;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};

fn texts<'v>(list: &'v Value, field: &str) -> Vec<&'v str> {
    list.as_array().unwrap().iter().map(|entry| entry[field].as_str().unwrap()).collect()
}

fn kinds(list: &Value) -> BTreeMap<&str, usize> {
    let mut kinds = BTreeMap::new();
    for kind in texts(list, "kind") {
        *kinds.entry(kind).or_default() += 1;
    }
    kinds
}

#[test]
fn a_list_has_the_promised_fields_newest_first() {
    let user = User::of_recordings();
    let list = user.json("sessions list --json");
    let required = [
        "session_id",
        "project",
        "path",
        "title",
        "started_at",
        "updated_at",
        "messages",
        "model",
        "usage",
        "kind",
        "format",
    ];
    for entry in list.as_array().unwrap() {
        for field in required {
            assert!(entry.get(field).is_some(), "{field} is missing in {entry}");
        }
    }
    let updated = texts(&list, "updated_at");
    assert!(updated.is_sorted_by(|a, b| a >= b), "newest first");
    let ids: BTreeSet<&str> = texts(&list, "session_id").into_iter().collect();
    assert_eq!(ids.len(), updated.len(), "each session once");
    assert_eq!(
        texts(&list, "format").into_iter().collect::<BTreeSet<_>>(),
        ["json", "jsonl"].into()
    );
}

#[test]
fn subagents_and_stubs_are_listed_when_asked_for() {
    let user = User::of_recordings();
    let plain = user.json("sessions list --json");
    let with_subagents = user.json("sessions list --json --subagents");
    let all = user.json("sessions list --json --all");
    let (plain, with_subagents, all) = (kinds(&plain), kinds(&with_subagents), kinds(&all));
    assert_eq!(plain.keys().collect::<Vec<_>>(), [&"main"]);
    assert_eq!(with_subagents.keys().collect::<Vec<_>>(), [&"main", &"subagent"]);
    assert_eq!(with_subagents["main"], plain["main"]);
    assert!(all["main"] == plain["main"] && all["subagent"] == with_subagents["subagent"]);
    assert_eq!(with_subagents["subagent"], 2);
}

#[test]
fn a_list_can_be_narrowed_to_a_project_and_a_number() {
    let user = User::of_recordings();
    let all = user.json("sessions list --json");
    let of_project = user.json("sessions list --json --project /tmp/ws1");
    let projects: BTreeSet<&str> = texts(&of_project, "project").into_iter().collect();
    let hash = "c23e0882fbaf6e31f4671470f30520073e5d6496e793a40008c217b402659f91";
    assert!(
        projects.iter().all(|project| *project == "/tmp/ws1" || *project == hash),
        "{projects:?}"
    );
    let count = |list: &Value| list.as_array().unwrap().len();
    assert!(count(&of_project) > 50 && count(&of_project) < count(&all));
    let three = user.json("sessions list --json --limit 3");
    assert_eq!(texts(&three, "session_id"), texts(&all, "session_id")[..3]);
    assert_eq!(user.json("sessions list --json --project /nowhere"), json!([]));
}

#[test]
fn the_table_has_a_line_for_each_session_and_no_colour() {
    let user = User::of_recordings();
    let listed = user.json("sessions list --json").as_array().unwrap().len();
    let done = user.run("sessions list");
    assert_eq!((done.code, done.out.lines().count()), (0, listed + 1), "{}", done.err);
    assert!(done.out.starts_with("id "), "{}", done.out);
    assert!(!done.out.contains('\u{1b}') && !done.err.contains('\u{1b}'));
    assert!(done.out.lines().all(|line| line.chars().count() <= 160), "it fits");
}

#[test]
fn every_session_is_shown_in_every_format() {
    let user = User::of_recordings();
    let list = user.json("sessions list --json --limit 12");
    for entry in list.as_array().unwrap() {
        let id = entry["session_id"].as_str().unwrap();
        let messages = user.json(&format!("sessions show {id} --json"));
        assert_eq!(json!(messages.as_array().unwrap().len()), entry["messages"], "{id}");
        for format in ["text", "markdown", "claude"] {
            let done = user.run(&format!("sessions show {id} --format {format}"));
            assert_eq!(done.code, 0, "{id} {format}: {done:?}");
            assert!(!done.out.is_empty(), "{id} {format}");
            for line in done.out.lines().filter(|_| format == "claude") {
                let row: Value = serde_json::from_str(line).unwrap();
                assert!(row["type"].is_string(), "{row}");
            }
        }
    }
}

#[test]
fn a_session_is_found_by_id_prefix_file_and_latest() {
    let user = User::of_recordings();
    let first = user.json("sessions list --json --limit 1")[0].clone();
    let id = first["session_id"].as_str().unwrap();
    let path = first["path"].as_str().unwrap().to_owned();
    let whole = user.json(&format!("sessions show {id} --json"));
    let prefix = id.get(..8).unwrap();
    for name in [prefix, "latest", &path] {
        assert_eq!(user.json(&format!("sessions show {name} --json")), whole, "{name}");
    }
}

#[test]
fn an_unknown_or_ambiguous_id_is_refused_with_candidates() {
    let user = User::new();
    let row = |id: &str, text: &str| {
        let header = json!({ "sessionId": id, "lastUpdated": "2026-11-15T18:00:00Z" });
        let prompt = json!({ "id": "1", "type": "user", "content": text });
        user.put(&format!("{id}.jsonl"), &format!("{header}\n{prompt}\n"));
    };
    row("abc-1", "first");
    row("abc-2", "second");
    let unknown = user.run("sessions show nope");
    assert_eq!((unknown.code, unknown.out.as_str()), (1, ""));
    insta::assert_snapshot!(unknown.err, @r"
    error: no session matches `nope`

    hint: the newest sessions are:
      abc-1  first
      abc-2  second
    ");
    let ambiguous = user.run("sessions show abc");
    assert_eq!(ambiguous.code, 1);
    insta::assert_snapshot!(ambiguous.err, @r"
    error: `abc` matches 2 sessions

    hint: use a longer prefix:
      abc-1  first
      abc-2  second
    ");
    let file = user.run("sessions show no/such.jsonl");
    assert_eq!(file.code, 1);
    insta::assert_snapshot!(file.err, @r"
    error: no/such.jsonl does not exist

    hint: pass a session file or a session ID; `pollux sessions list` lists the IDs
    ");
}

#[test]
fn a_search_says_where_and_fails_where_there_is_nothing() {
    let user = User::of_recordings();
    let hits = user.json("sessions search greeting --json --limit 5");
    assert_eq!(hits.as_array().unwrap().len(), 5);
    for hit in hits.as_array().unwrap() {
        let excerpt: Vec<char> = hit["excerpt"].as_str().unwrap().chars().collect();
        let marks = hit["highlights"].as_array().unwrap();
        assert!(!marks.is_empty(), "{hit}");
        for mark in marks {
            let at = |end: usize| usize::try_from(mark[end].as_u64().unwrap()).unwrap();
            let marked: String = excerpt[at(0)..at(1)].iter().collect();
            assert_eq!(marked.to_lowercase(), "greeting");
        }
    }
    // Tools have Claude's names here, which no file of the CLI has.
    let hits = user.json("sessions search Bash --json --limit 500");
    assert!(hits.as_array().unwrap().iter().any(|hit| hit["block"] == "tool_use"), "{hits}");
    let nothing = user.run("sessions search zzzqqq-not-there");
    assert_eq!((nothing.code, nothing.out.as_str()), (0, ""), "it has looked");
    assert!(nothing.err.starts_with("no matches in "), "{}", nothing.err);
}

#[test]
fn sums_by_every_key_are_the_sums_of_all_messages_ever() {
    let user = User::of_recordings();
    let fields = [
        "input_tokens",
        "output_tokens",
        "total_tokens",
        "cached_tokens",
        "thoughts_tokens",
        "tool_tokens",
    ];
    let mut expected: BTreeMap<&str, u64> = fields.into_iter().map(|field| (field, 0)).collect();
    for entry in user.json("sessions list --json --subagents").as_array().unwrap() {
        let path = entry["path"].as_str().unwrap();
        for message in
            user.json(&format!("sessions show {path} --json --recover")).as_array().unwrap()
        {
            for field in fields {
                *expected.get_mut(field).unwrap() += message["usage"][field].as_u64().unwrap_or(0);
            }
        }
    }
    let expected = json!(expected);
    for key in ["model", "project", "day", "tool"] {
        let stats = user.json(&format!("sessions stats --by {key} --json"));
        assert_eq!(stats["total"]["usage"], expected, "{key}");
        let rows = stats["rows"].as_array().unwrap();
        let (field, total) = match key {
            "tool" => ("tool_calls", stats["total"]["tool_calls"].as_u64()),
            _ => ("total_tokens", expected["total_tokens"].as_u64()),
        };
        let of = |row: &Value| row.get(field).or(row["usage"].get(field)).and_then(Value::as_u64);
        assert_eq!(rows.iter().filter_map(of).sum::<u64>(), total.unwrap(), "{key}");
        assert_eq!(user.run(&format!("sessions stats --by {key}")).code, 0);
    }
}

#[test]
fn an_export_writes_a_file_for_each_session() {
    let user = User::of_recordings();
    let sessions = user.json("sessions list --json").as_array().unwrap().len();
    for (format, ending) in
        [("claude", "jsonl"), ("json", "json"), ("markdown", "md"), ("html", "html")]
    {
        let files =
            user.json(&format!("sessions export --all --to {format} --format {format} --json"));
        let files: BTreeSet<&str> =
            files.as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
        assert_eq!(files.len(), sessions, "{format}");
        for file in files {
            assert!(file.ends_with(ending), "{file}");
            assert!(fs::metadata(user.path().join(file)).unwrap().len() > 0, "{file}");
        }
    }
}

#[test]
fn a_session_that_claims_a_path_as_its_id_stays_in_the_directory() {
    let user = User::new();
    let header = json!({ "sessionId": "../../../escaped", "projectHash": "0" });
    let prompt = json!({ "id": "1", "type": "user", "content": "hello" });
    user.put("s.jsonl", &format!("{header}\n{prompt}\n"));
    for format in ["claude", "json", "markdown", "html"] {
        let files =
            user.json(&format!("sessions export --all --to out/{format} --format {format} --json"));
        let file = user.path().join(files[0].as_str().unwrap()).canonicalize().unwrap();
        assert!(
            file.starts_with(user.path().canonicalize().unwrap().join("out")),
            "{}",
            file.display()
        );
    }
}

#[test]
fn a_follow_tells_what_is_there_and_ends_when_its_time_is_up() {
    let user = User::of_recordings();
    let first = user.json("sessions list --json --limit 1")[0].clone();
    let done = user.run("sessions follow latest --for 1 --json");
    let events: Vec<Value> =
        done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((done.code, &events[0]["type"]), (0, &json!("session_started")));
    assert_eq!(events[0]["session_id"], first["session_id"]);
    assert!(events.iter().all(|event| event["path"].is_string()));
    let skipped = user.run("sessions follow latest --skip-existing --for 1 --json");
    assert_eq!((skipped.code, skipped.out.as_str()), (0, ""));
}

#[test]
fn a_rescue_needs_a_yes_and_then_nothing_is_at_risk() {
    let user = User::new();
    let header = json!({ "sessionId": "abcdabcd-1", "projectHash": "0" });
    let context =
        json!({ "id": "c", "type": "user", "content": "<session_context>x</session_context>" });
    let prompt = json!({ "id": "1", "type": "user", "content": "hello" });
    user.put("session-2026-11-15T18-08-abcdabcd.jsonl", &format!("{header}\n{prompt}\n"));
    let stub =
        user.put("session-2026-11-15T18-09-abcdabcd.jsonl", &format!("{header}\n{context}\n"));
    assert_eq!(user.json("sessions list --json")[0]["at_risk"], "stub");
    let unasked = user.run("sessions rescue --all");
    assert_eq!(unasked.code, 1);
    assert!(
        unasked.err.contains("error: cannot ask for confirmation: no terminal") && stub.exists(),
        "{}",
        unasked.err
    );
    let done = user.json("sessions rescue --all --yes --json");
    assert_eq!(done[0]["session_id"], "abcdabcd-1");
    assert!(!stub.exists() && fs::metadata(done[0]["copy"].as_str().unwrap()).is_ok());
    assert_eq!(user.json("sessions list --json")[0].get("at_risk"), None);
    assert_eq!(user.run("sessions rescue --all --yes").err, "no sessions at risk\n");
}

#[test]
fn a_session_file_is_translated_to_events() {
    let user = User::of_recordings();
    let path = user.json("sessions list --json --limit 1")[0]["path"].as_str().unwrap().to_owned();
    let done = user.run(&format!("translate --from session {path}"));
    let events: Vec<Value> =
        done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((done.code, done.err.as_str()), (0, ""));
    assert!(events.iter().all(|event| event["source"] == "session_file"));
    assert!(events.iter().any(|event| event["type"] == "message_recorded"));
    let missing = user.run("translate --from session nothing.jsonl");
    assert_eq!(missing.code, 2);
    insta::assert_snapshot!(missing.err, @r"
    error: could not read nothing.jsonl
      caused by: No such file or directory (os error 2)

    hint: pass a recorded file; see `pollux translate --help`
    ");
}

#[test]
fn capabilities_are_one_object() {
    let capabilities = User::new().json("capabilities --json");
    let gemini = &capabilities["agents"]["gemini"];
    assert_eq!(gemini["features"]["plan_mode"], true);
    assert_eq!(texts(&gemini["modes"], "id"), ["default", "auto_edit", "yolo", "plan"]);
    assert_eq!(texts(&gemini["tools"], "name")[0], "read_file");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let user = User::of_recordings();
    for line in ["sessions list --json --all", "sessions list --all", "sessions stats --json"] {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut child = user.command(line).stdout(writer).spawn().unwrap();
        let mut first = String::new();
        BufReader::with_capacity(16, reader).read_line(&mut first).unwrap();
        let status = child.wait().unwrap();
        assert!(status.success(), "{line}: {status}");
        assert!(!first.is_empty(), "{line}");
    }
    // One that is gone before the first word.
    for line in ["sessions list --json --all", "sessions list --all", "--help", "sessions --help"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = user.command(line).stdout(writer).status().unwrap();
        assert!(status.success(), "{line}: {status}");
    }
}

#[test]
fn a_home_without_sessions_is_said_to_be_one() {
    let user = User::new();
    assert_eq!(user.json("sessions list --json"), json!([]));
    let hint =
        "hint: Gemini CLI stores sessions in `$GEMINI_CLI_HOME/.gemini`, by default `~/.gemini`\n";
    for line in ["sessions list", "sessions stats"] {
        let done = user.run(line);
        assert_eq!((done.code, done.out.as_str()), (0, ""), "{line}");
        assert_eq!(done.err, format!("no sessions found in HOME/.gemini\n{hint}"), "{line}");
    }
    for line in ["sessions show latest", "sessions export --all --to x --format json"] {
        let done = user.run(line);
        assert_eq!((done.code, done.out.as_str()), (1, ""), "{line}");
        let said = format!("error: no sessions found in HOME/.gemini\n\n{hint}");
        assert_eq!(done.err, said, "{line}");
    }
}

#[test]
fn a_damaged_file_is_warned_of_and_the_rest_is_shown() {
    let user = User::new();
    let prompt = json!({ "id": "1", "type": "user", "content": "hello" });
    user.put("a.jsonl", &format!("{}\nnonsense\n{prompt}\n", json!({ "sessionId": "a" })));
    let warning = "warning: HOME/.gemini/tmp/p/chats/a.jsonl: line 2: skipped, not JSON: \
                   expected ident at line 1 column 2\n";
    for line in ["sessions list --json", "sessions stats --json"] {
        let done = user.run(line);
        assert_eq!((done.code, done.err.as_str()), (0, warning), "{line}");
    }
    let shown = user.run("sessions show a --json");
    assert_eq!(shown.code, 0);
    assert_eq!(serde_json::from_str::<Value>(&shown.out).unwrap()[0]["id"], "1");
}

#[test]
fn numbers_at_the_edge_do_not_stop_anything() {
    let user = User::new();
    let tokens =
        json!({ "input": u64::MAX, "output": u64::MAX, "cached": u64::MAX, "total": u64::MAX });
    let rows = [
        json!({ "sessionId": "edge", "startTime": i64::MIN, "lastUpdated": i64::MAX }),
        json!({ "id": "1", "type": "user", "timestamp": i64::MIN, "content": "hello" }),
        json!({ "id": "2", "type": "gemini", "timestamp": i64::MAX, "content": "Hi.", "tokens": tokens }),
        json!({ "id": "3", "type": "gemini", "timestamp": i64::MIN, "content": "Hi.", "tokens": tokens }),
    ];
    user.put("edge.jsonl", &rows.map(|row| format!("{row}\n")).concat());
    for line in [
        "sessions list",
        "sessions list --json",
        "sessions show edge",
        "sessions show edge --format claude",
        "sessions show edge --format markdown",
        "sessions stats",
        "sessions stats --by day",
        "sessions stats edge --json",
        "sessions search hello",
        "sessions follow edge --for 0",
        "sessions export edge --to out --format html",
    ] {
        let done = user.run(line);
        assert_eq!(done.code, 0, "{line}: {done:?}");
    }
}

/// Root may read everything, and CI is root: then the program runs as somebody who may not.
#[test]
fn a_directory_without_rights_is_skipped_with_a_word() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    let mode = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let user = User::new();
    user.put(
        "session-a.jsonl",
        "{\"sessionId\":\"a\"}\n{\"id\":\"1\",\"type\":\"user\",\"content\":\"hello\"}\n",
    );
    let locked = user.path().join(".gemini/tmp/q/chats");
    fs::create_dir_all(&locked).unwrap();
    mode(user.path(), 0o755);
    mode(&locked, 0o000);
    let program = user.path().join("pollux");
    fs::copy(env!("CARGO_BIN_EXE_pollux"), &program).unwrap();
    let mut command = user.command_of(&program, "sessions list --json");
    if fs::read_dir(&locked).is_ok() {
        command.uid(NOBODY);
    }
    let output = command.output().unwrap();
    mode(&locked, 0o700);
    let err = String::from_utf8(output.stderr).unwrap();
    let told =
        format!("{}: skipped the directory: Permission denied (os error 13)", locked.display());
    assert!(err.contains(&told), "{err}");
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(texts(&list, "session_id"), ["a"], "the rest is read");
}
