//! A long conversation: what was heard is what the session file holds, and no status was wrong.

use super::{Show, Theatre, session_file};
use pollux_agent::gemini::transcript::{Transcript, text};
use pollux_agent::model::{EventKind, SessionStatus};
use pollux_e2e::{Cli, prompts, requires};
use serde_json::Value;

use SessionStatus::{Idle, Waiting, Working};

/// A prompt, what to answer to each question, and the statuses from its sending to the end.
const TURNS: [(&str, &[&str], &[SessionStatus]); 5] = [
    ("talk a little", &[], &[Working, Idle]),
    ("run a command", &["Allow once"], &[Working, Waiting, Working, Idle]),
    ("write some code", &[], &[Working, Idle]),
    ("write the notes", &["Allow once"], &[Working, Waiting, Working, Idle]),
    ("read the file", &[], &[Working, Idle]),
];

#[tokio::test]
async fn a_long_conversation_is_heard_exactly_as_its_file_holds_it() {
    requires!(npm, tmux);
    let runs = Cli::all().unwrap().into_iter().map(async |cli| {
        let theatre = Theatre::new(&cli, "terminal").await;
        std::fs::write(theatre.stage.workspace().join("hello.txt"), "hello\n").unwrap();
        let mut show = theatre.play(theatre.start()).await;
        show.becomes(Idle, 0).await;
        for number in 0..prompts() {
            turn(&mut show, number, cli.version()).await;
        }
        show.stop().await;
        compare(&show, &theatre, cli.version());
        theatre.close().await;
    });
    futures::future::join_all(runs).await;
}

async fn turn(show: &mut Show, number: usize, version: &str) {
    let (prompt, answers, expected) = TURNS[number % TURNS.len()];
    let from = show.heard.len();
    let prompt = format!("{prompt}, number {number}");
    show.prompt(&prompt).await;
    let mut asked = from;
    for answer in answers {
        show.hear("question", asked, |event| matches!(event.kind, EventKind::Asked(_))).await;
        asked = show.heard.len();
        show.answer(answer).await;
    }
    show.hear("end", from, |event| matches!(event.kind, EventKind::TurnEnded { .. })).await;
    show.becomes(Idle, from).await;
    assert_eq!(show.statuses(from), expected, "{version}, {prompt}: {}", show.screen().await);
    let started: Vec<String> = show.heard[from..]
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::TurnStarted { prompt } => Some(prompt.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(started, [prompt], "{version}");
}

/// What was heard, last word first, beside what stands in the file.
fn compare(show: &Show, theatre: &Theatre, version: &str) {
    let mut heard: Vec<(String, Value)> = Vec::new();
    for event in &show.heard {
        match &event.kind {
            EventKind::MessageRecorded { message, .. } => {
                let id = message.id.to_string();
                let value = serde_json::to_value(message).unwrap();
                match heard.iter_mut().find(|(known, _)| *known == id) {
                    Some((_, known)) => *known = value,
                    None => heard.push((id, value)),
                }
            }
            EventKind::HistoryRewritten { removed, .. } => {
                heard.retain(|(id, _)| !removed.iter().any(|gone| gone.to_str() == *id));
            }
            _ => {}
        }
    }
    let heard: Vec<Value> = heard.into_iter().map(|(_, value)| value).collect();
    let file = session_file(theatre);
    let bytes = std::fs::read(file).unwrap();
    let whole = text(&bytes);
    let transcript = Transcript::read(&whole);
    let held: Vec<Value> =
        transcript.messages().map(|message| serde_json::to_value(message).unwrap()).collect();
    assert!(held.len() >= 2 * prompts(), "{version}: {} messages", held.len());
    pretty(&heard, &held, version);
}

fn pretty(heard: &[Value], held: &[Value], version: &str) {
    for (one, other) in heard.iter().zip(held) {
        assert_eq!(one, other, "{version}");
    }
    assert_eq!(heard.len(), held.len(), "{version}");
}
