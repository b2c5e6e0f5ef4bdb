//! Recorded, then replayed: the same stream.

use crate::http::{after_tool, client, post, rehearse, turn};
use pollux_rehearsal::{Ended, Entry, Event, Options, Rehearsal, Script, StartError};
use serde_json::Value;

const UPSTREAM: &str = "
[[rule]]
prompt = 'hello'
time = 1
reply = [{ thought = 'Hm.' }, { text = ['Hel', 'lo \"you\" \\\\ €.'] }]
[[rule]]
prompt = 'hello'
reply = 'Hello again.'
[[rule]]
prompt = 'read'
reply = [{ call = 'read_file', args = { file_path = 'a.txt' } }]
[[rule]]
tool = 'read_file'
reply = 'I have read {{result}}'
[[rule]]
prompt = 'fail'
error = { status = 429, message = 'later', retry = '2s', headers = { retry-after = '2' } }
[[rule]]
prompt = 'lost'
reply = ['a', { cut = 'lost' }]
[[rule]]
prompt = 'half'
reply = ['a', { cut = 'half' }]
[[rule]]
prompt = 'nothing'
empty = true
finish = 'none'
";

/// What a client sees: the status and the bytes, up to where they break.
async fn seen(rehearsal: &Rehearsal, body: &Value) -> (u16, String, bool) {
    let mut answer = post(rehearsal, "streamGenerateContent?alt=sse", body).await;
    let (status, mut text) = (answer.status().as_u16(), String::new());
    loop {
        match answer.chunk().await {
            Ok(Some(bytes)) => text.push_str(&String::from_utf8_lossy(&bytes)),
            Ok(None) => return (status, text, true),
            Err(_) => return (status, text, false),
        }
    }
}

#[tokio::test]
async fn what_was_recorded_is_replayed_byte_for_byte() {
    let upstream = rehearse(UPSTREAM).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("recorded.toml");
    let recording = Rehearsal::record(&upstream.url(), &file, Options::default()).await.unwrap();
    let mut bodies: Vec<Value> =
        ["hello", "hello", "read", "fail", "lost", "half", "nothing"].map(turn).to_vec();
    bodies.push(after_tool("read", "read_file", "well well"));
    let mut first = Vec::new();
    for body in &bodies {
        first.push(seen(&recording, body).await);
    }
    recording.stop().await;
    let text = std::fs::read_to_string(&file).unwrap();
    let script: Script = text.parse().unwrap_or_else(|wrongs| panic!("{wrongs}\n{text}"));
    let replay = Rehearsal::start(script).await.unwrap();
    for (body, first) in bodies.iter().zip(&first) {
        assert_eq!(&seen(&replay, body).await, first, "{text}");
    }
    assert!(!first[4].2, "the lost connection was passed on");
}

#[tokio::test]
async fn an_answer_that_had_not_begun_when_the_recording_was_stopped_is_not_in_the_script() {
    let upstream = rehearse("[[rule]]\nreply = [{ stall = true }]").await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("recorded.toml");
    let recording = Rehearsal::record(&upstream.url(), &file, Options::default()).await.unwrap();
    let answer = post(&recording, "streamGenerateContent?alt=sse", &turn("hello")).await;
    recording.stop().await;
    drop(answer);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("[[rule]]"), "{text}");
}

#[tokio::test]
async fn an_upstream_that_is_not_there_is_told_to_the_client() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("recorded.toml");
    let recording =
        Rehearsal::record("http://127.0.0.1:9", &file, Options::default()).await.unwrap();
    let url = format!("{}/v1beta/models?key=secret", recording.url());
    let answer = client().get(url).send().await.unwrap();
    assert_eq!(answer.status(), 502);
    let said = answer.text().await.unwrap();
    assert!(said.starts_with("upstream: ") && !said.contains("secret"), "{said}");
    let none = Rehearsal::record("no address", &file, Options::default()).await;
    assert!(none.is_err());
}

#[tokio::test]
async fn a_script_that_is_there_is_not_written_over_and_a_port_that_is_taken_leaves_none() {
    let upstream = rehearse(UPSTREAM).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine.toml");
    let port = upstream.url().rsplit(':').next().unwrap().parse().unwrap();
    let taken = Options { port, ..Options::default() };
    let refused = Rehearsal::record(&upstream.url(), &file, taken).await.unwrap_err();
    assert!(matches!(refused, StartError::Listen { .. }), "{refused:?}");
    assert!(!file.exists(), "nothing was recorded");
    std::fs::write(&file, "about = 'mine'").unwrap();
    let refused = Rehearsal::record(&upstream.url(), &file, Options::default()).await;
    assert!(matches!(refused.unwrap_err(), StartError::Exists { .. }));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "about = 'mine'");
}

#[tokio::test]
async fn an_answer_that_was_broken_off_is_recorded_as_one_that_does_not_go_on() {
    let upstream = rehearse("[[rule]]\nreply = ['Half of', { stall = true }]").await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("recorded.toml");
    let recording = Rehearsal::record(&upstream.url(), &file, Options::default()).await.unwrap();
    let mut answer = post(&recording, "streamGenerateContent?alt=sse", &turn("hello")).await;
    let first = answer.chunk().await.unwrap().unwrap();
    drop(answer);
    recording.stop().await;
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("stall = true"), "{text}");
    let replay = rehearse(&text).await;
    let mut again = post(&replay, "streamGenerateContent?alt=sse", &turn("hello")).await;
    assert_eq!(again.chunk().await.unwrap().unwrap(), first);
}

#[tokio::test]
async fn the_journal_of_a_recording_has_what_the_real_model_said() {
    let upstream = rehearse(UPSTREAM).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("recorded.toml");
    let recording = Rehearsal::record(&upstream.url(), &file, Options::default()).await.unwrap();
    for prompt in ["hello", "fail", "lost"] {
        seen(&recording, &turn(prompt)).await;
    }
    let replies = |entry: Entry| match entry.event {
        Event::Reply { rule, status, said, ended, .. } => {
            Some((entry.n, rule, status, said, ended))
        }
        Event::Request { .. } => None,
    };
    let told: Vec<_> = recording.journal().entries().into_iter().filter_map(replies).collect();
    let heads: Vec<_> = told.iter().map(|(n, rule, status, _, _)| (*n, &**rule, *status)).collect();
    assert_eq!(heads, [(1, "recorded", 200), (2, "recorded", 429), (3, "recorded", 200)]);
    assert_eq!(told[0].3[1]["text"], "Hello \"you\" \\\\ €.", "{told:#?}");
    assert_eq!(told[1].3[0]["error"]["message"], "later", "{told:#?}");
    let ends: Vec<Ended> = told.iter().map(|told| told.4).collect();
    assert_eq!(ends, [Ended::Done, Ended::Done, Ended::Cut]);
}
