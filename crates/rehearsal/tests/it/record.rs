//! Recorded, then replayed: the same stream.

use crate::http::{after_tool, client, post, rehearse, turn};
use pollux_rehearsal::{Options, Rehearsal, Script};
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
