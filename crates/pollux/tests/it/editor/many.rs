//! Sessions that an editor lists, loads, goes on with and forks over and over: none is lost, and nothing in them changes but
//! what was said. A few times, or as often as `POLLUX_CYCLES` says (`cargo xtask soak editor`).

use super::{Heard, edit, text};
use crate::run::Place;
use pollux_agent::gemini::transcript::{Transcript, text as decoded};
use pollux_e2e::home::age;
use pollux_e2e::{cycles, requires};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

const SCRIPT: &str = "[[rule]]\nprompt = \"edit\"\nreply = [{ text = \"Editing. \" }, { call = \"replace\", args = { file_path = \"hello.txt\", old_string = \"hello world\", new_string = \"hello brave new world\" } }]\n\
    [[rule]]\ntool = \"replace\"\nreply = \"Done. The greeting is braver now.\"\n\
    [[rule]]\nprompt = \"hello\"\nusage = { prompt = 1234, answer = 45, thoughts = 7, cached = 20 }\nreply = [{ thought = \"**Greeting**\\n\\nShort.\\n\" }, { text = \"Hello, you.\" }]\n";

/// Where the CLI keeps the sessions of the workspace.
fn chats(place: &Place) -> PathBuf {
    place.home().join(".gemini/tmp/work/chats")
}

/// Sessions are kept by the CLI's own rules from now on, as on the machine of a user who has changed nothing.
fn keep_by_the_rules(place: &Place) {
    let file = place.home().join(".gemini/settings.json");
    let mut settings: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    settings["general"].as_object_mut().unwrap().remove("sessionRetention").unwrap();
    fs::write(&file, settings.to_string()).unwrap();
}

/// One moment: the hash of every session file in which somebody says something. A start of the CLI leaves one in which nobody does.
type Moment = BTreeMap<String, String>;

/// What was kept of the files.
struct Kept {
    moments: Vec<Moment>,
    place: PathBuf,
}

impl Kept {
    fn of(heard: &Heard, place: &Path) -> Self {
        let files = heard.at("kept").into_iter().map(|line| &line["files"]);
        let moments = files.map(|files| serde_json::from_value(files.clone()).unwrap()).collect();
        let mut kept = Self { moments, place: place.to_path_buf() };
        let mut stubs: HashMap<String, bool> = HashMap::new();
        for moment in 0..kept.moments.len() {
            let mut files = std::mem::take(&mut kept.moments[moment]);
            files.retain(|name, hash| {
                let is_stub = || kept.messages(name, moment).is_empty();
                !*stubs.entry(hash.clone()).or_insert_with(is_stub)
            });
            kept.moments[moment] = files;
        }
        kept
    }

    /// The files that are not as they were at the moment before.
    fn changed(&self, moment: usize) -> BTreeSet<&str> {
        let (before, now) = (&self.moments[moment - 1], &self.moments[moment]);
        for name in before.keys() {
            assert!(now.contains_key(name), "{name} is lost at moment {moment}");
        }
        let differs = now.iter().filter(|(name, hash)| before.get(*name) != Some(*hash));
        differs.map(|(name, _)| name.as_str()).collect()
    }

    /// A file as it was at a moment: the newest copy until then.
    fn bytes(&self, name: &str, moment: usize) -> Vec<u8> {
        let copy = |at: usize| fs::read(self.place.join(format!("{}-{name}", at + 1))).ok();
        (0..=moment).rev().find_map(copy).unwrap()
    }

    /// The messages of a file at a moment, whole but for what a resume of the CLI's writes anew: ids and the record itself.
    fn messages(&self, name: &str, moment: usize) -> Vec<Value> {
        let bytes = self.bytes(name, moment);
        let text = decoded(&bytes);
        let transcript = Transcript::read(&text);
        let whole = transcript.messages().filter(|message| !message.meta).map(|message| {
            let mut json = serde_json::to_value(&message).unwrap();
            let members = json.as_object_mut().unwrap();
            for fleeting in ["id", "_original", "restored", "copied"] {
                members.remove(fleeting);
            }
            json
        });
        whole.collect()
    }
}

/// The session file with an id.
fn file<'m>(moment: &'m Moment, id: &str) -> &'m str {
    let short = format!("-{}.", id.get(..8).unwrap());
    moment.keys().find(|name| name.contains(&short)).unwrap()
}

/// Two sessions, one with a call of a tool and one of words. Gives their ids.
fn begin(place: &Place) -> [String; 2] {
    let new = |words: &str, name: &str| {
        let name = format!("${name}");
        [
            json!(["new", { "cwd": place.work(), "mcpServers": [] }, name.get(1..)]),
            json!(["prompt", { "sessionId": name, "prompt": text(words) }]),
            json!(["close", { "sessionId": name }]),
        ]
    };
    let steps = [new("edit the greeting", "a"), new("hello", "b")].concat();
    let heard = edit(place, SCRIPT, &json!({ "steps": steps }), &[]);
    let opened = heard.at("answer").into_iter().filter(|line| line["step"] == "new");
    let ids: Vec<String> =
        opened.map(|line| line["answer"]["sessionId"].as_str().unwrap().to_owned()).collect();
    ids.try_into().unwrap()
}

#[test]
fn a_session_that_somebody_else_goes_on_with_is_not_loaded() {
    requires!(npm);
    let place = Place::newest();
    let [_, said] = begin(&place);
    age(&place.home()).unwrap();
    let is_it = |path: &PathBuf| path.to_string_lossy().contains(said.get(..8).unwrap());
    let file = fs::read_dir(chats(&place)).unwrap().flatten().map(|it| it.path()).find(is_it);
    // As `pollux run --resume` does.
    let kept = fs::File::open(file.unwrap()).unwrap();
    kept.lock().unwrap();
    let steps = json!([["load", { "sessionId": said, "cwd": place.work(), "mcpServers": [] }]]);
    let heard = edit(&place, SCRIPT, &json!({ "steps": steps }), &[]);
    let errors = heard.at("error");
    assert_eq!(errors.len(), 1, "{:#?}", heard.0);
    assert_eq!(errors[0]["data"]["code"], "still_there", "{errors:#?}");
}

#[test]
fn sessions_are_listed_loaded_resumed_forked_and_closed_and_none_is_lost() {
    requires!(npm);
    let place = Place::newest();
    let [edited, said] = begin(&place);
    age(&place.home()).unwrap();
    keep_by_the_rules(&place);
    let copies = place.root().join("kept");
    fs::create_dir(&copies).unwrap();
    let keep = json!(["keep", { "from": chats(&place), "to": copies }]);
    let cwd = place.work();
    let of = |id: &str| json!({ "sessionId": id, "cwd": cwd, "mcpServers": [] });
    let mut steps = vec![json!(["list", { "cwd": cwd }]), keep.clone()];
    // By turns one of them is gone on with and the other only loaded; that one is forked.
    for cycle in 0..cycles() {
        let (loaded, forked) = if cycle % 2 == 0 { (&said, &edited) } else { (&edited, &said) };
        steps.extend([
            json!(["list", { "cwd": cwd }]),
            keep.clone(),
            json!(["load", of(loaded), "l"]),
        ]);
        if cycle % 2 == 0 {
            let words = text(&format!("hello, this is cycle {cycle}"));
            steps.push(json!(["prompt", { "sessionId": "$l", "prompt": words }]));
        }
        steps.extend([json!(["close", { "sessionId": "$l" }]), keep.clone()]);
        let fork = [json!(["fork", of(forked), "f"]), json!(["close", { "sessionId": "$f" }])];
        steps.extend(fork.into_iter().chain([keep.clone()]));
    }
    steps.extend([
        json!(["prompt", { "sessionId": "$f", "prompt": text("hello") }]),
        json!(["resume", of(&said), "r"]),
        json!(["close", { "sessionId": "$r" }]),
        keep,
        json!(["list", { "cwd": cwd }]),
        json!(["load", of(&said), "l"]),
    ]);
    let begun = Instant::now();
    let heard = edit(&place, SCRIPT, &json!({ "steps": steps }), &[]);
    let took = begun.elapsed();
    let errors = heard.at("error");
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_eq!(errors[0]["step"], "prompt", "a session that was closed takes no prompt");
    let kept = Kept::of(&heard, &copies);
    let compared = look(&heard, &kept, &edited, &said);
    eprintln!("{} cycles in {took:.0?}: {compared}", cycles());
}

/// Looks at every moment of the files, and at every list. Says what was compared.
fn look(heard: &Heard, kept: &Kept, edited: &str, said: &str) -> String {
    let answers = |step: &str| -> Vec<&Value> {
        let all = heard.at("answer").into_iter().filter(|line| line["step"] == step);
        all.map(|line| &line["answer"]).collect()
    };
    let forks: Vec<&str> =
        answers("fork").iter().filter_map(|it| it["sessionId"].as_str()).collect();
    let first = &kept.moments[0];
    assert_eq!(first.len(), 2, "{first:#?}");
    let (edited, said) = (file(first, edited), file(first, said));
    let whole = json!(kept.messages(edited, 0)).to_string();
    assert!(whole.contains("tool_use") && whole.contains("tool_result"), "{whole}");
    let (mut files, mut messages) = (0, 0);
    for (cycle, fork) in forks.iter().enumerate() {
        let listed = 3 * cycle + 1;
        assert_eq!(kept.changed(listed), BTreeSet::new(), "cycle {cycle}: a list changes nothing");
        let (loaded, forked) = if cycle % 2 == 0 { (said, edited) } else { (edited, said) };
        // What was loaded has all that it had, and what was said now; no other file has changed by a byte.
        let after = listed + 1;
        let touched = kept.changed(after);
        assert!(touched.iter().all(|name| *name == loaded), "cycle {cycle}: {touched:?}");
        let (was, is) = (kept.messages(loaded, listed), kept.messages(loaded, after));
        assert_eq!(is[..was.len()], was, "cycle {cycle}");
        let more = if cycle % 2 == 0 { 2 } else { 0 };
        assert_eq!(is.len(), was.len() + more, "cycle {cycle}: {is:#?}");
        // A fork is one more file, which says the same; no other file has changed by a byte.
        let copy = file(&kept.moments[after + 1], fork);
        assert_eq!(kept.changed(after + 1), BTreeSet::from([copy]), "cycle {cycle}");
        assert_eq!(kept.messages(copy, after + 1), kept.messages(forked, after), "cycle {cycle}");
        files +=
            kept.moments[listed].len() + kept.moments[after].len() + kept.moments[after + 1].len();
        messages += was.len() + kept.messages(forked, after).len();
    }
    // One more in each cycle: the fork.
    for (at, listed) in answers("list").iter().enumerate() {
        let listed = listed["sessions"].as_array().unwrap();
        assert_eq!(listed.len(), 1 + at.max(1).min(forks.len() + 1), "{at}: {listed:#?}");
        assert!(listed.iter().all(|it| it["cwd"].is_string() && it["updatedAt"].is_string()));
    }
    // At the end, what was said in every second cycle, once, out of the session's own file.
    let last = heard.0.iter().rposition(|line| line["step"] == "resume").unwrap();
    let words = Heard(heard.0[last..].to_vec()).words("user_message_chunk");
    assert_eq!(words.matches("hello, this is cycle").count(), forks.len().div_ceil(2), "{words}");
    let resumed = kept.moments.len() - 1;
    assert_eq!(
        kept.messages(said, resumed),
        kept.messages(said, resumed - 1),
        "a resume adds nothing"
    );
    format!(
        "{} sessions at the end, {files} files and {messages} messages compared",
        kept.moments[resumed].len()
    )
}
