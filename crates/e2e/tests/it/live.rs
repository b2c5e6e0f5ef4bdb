//! Gemini CLI over ACP through the client, in every version: what a person can do with a session, and what must not happen
//! to it.

mod other;
pub(crate) mod resume;
mod tools;
mod trouble;

use pollux_agent::acp::{Control, Policy, Prompt};
use pollux_agent::gemini::acp::{Gemini, Live};
use pollux_agent::gemini::cli::{Cli as Found, Version};
use pollux_agent::model::{
    Effect, Event, EventKind, Mode, Outcome, Part, Question, SessionChange, Status, StopReason,
};
use pollux_e2e::{Cli, Stage, requires};
use pollux_rehearsal::Script;

/// The CLI of a stage as an ACP agent: the home, the workspace and the environment of the stage.
fn gemini(stage: &Stage) -> Gemini {
    let cli = stage.cli();
    let found = Found { path: cli.program().to_path_buf(), version: Version::read(cli.version()) };
    let gemini = Gemini::new().cli(found).home(stage.home().path()).cwd(stage.workspace());
    stage.env().into_iter().fold(gemini, |gemini, (name, value)| gemini.env(name, value))
}

/// What a turn told, and what came of it.
struct Told {
    events: Vec<Event<'static>>,
    outcome: Outcome,
}

impl Told {
    fn thoughts(&self) -> String {
        let thoughts = self.events.iter().filter_map(|event| match &event.kind {
            EventKind::TextGrew { part: Part::Thinking, text, .. } => Some(text.to_string()),
            _ => None,
        });
        thoughts.collect()
    }

    fn questions(&self) -> Vec<&Question<'static>> {
        let asked = self.events.iter().filter_map(|event| match &event.kind {
            EventKind::Asked(question) => Some(question.as_ref()),
            _ => None,
        });
        asked.collect()
    }

    /// The last thing that was told of each call: its name and how it ended.
    fn calls(&self) -> Vec<(String, Option<Status>)> {
        let mut calls: Vec<(String, String, Option<Status>)> = Vec::new();
        for event in &self.events {
            match &event.kind {
                EventKind::ToolStarted { id, name, .. } => {
                    calls.push((id.to_string(), name.to_string(), None));
                }
                EventKind::ToolEnded { id, status, .. } => {
                    let id = id.to_string();
                    let call = calls.iter_mut().find(|call| call.0 == id);
                    call.expect("what ended has begun").2 = Some(*status);
                }
                _ => {}
            }
        }
        calls.into_iter().map(|(_, name, status)| (name, status)).collect()
    }

    fn modes(&self) -> Vec<Mode> {
        let changes = self.events.iter().filter_map(|event| match &event.kind {
            EventKind::SessionChanged(SessionChange { mode, .. }) => *mode,
            _ => None,
        });
        changes.collect()
    }
}

/// Gives a prompt and hears the turn to its end; `on` may answer and cancel.
async fn turn(
    live: &mut Live,
    prompt: &str,
    mut on: impl AsyncFnMut(&Event<'static>, &Control),
) -> Told {
    let control = live.control();
    control.prompt(Prompt::text(prompt)).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = live.next().await {
        on(&event, &control).await;
        let ended = matches!(event.kind, EventKind::TurnEnded { .. });
        events.push(event);
        if ended {
            break;
        }
    }
    Told { events, outcome: live.outcome().unwrap_or_default() }
}

/// The same where nothing is to be answered; with a closure it could not be spawned.
async fn quietly(live: &mut Live, prompt: &str) -> Told {
    live.control().prompt(Prompt::text(prompt)).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = live.next().await {
        let ended = matches!(event.kind, EventKind::TurnEnded { .. });
        events.push(event);
        if ended {
            break;
        }
    }
    Told { events, outcome: live.outcome().unwrap_or_default() }
}

/// Answers each question with the option that has an effect.
async fn answer(event: &Event<'static>, control: &Control, effect: Effect) {
    if let EventKind::Asked(question) = &event.kind {
        let option = question.options.iter().find(|option| option.effect == effect);
        let option = option.unwrap_or_else(|| panic!("{question:#?}")).id.to_string();
        control.answer(question.id.to_string(), option, None).await.unwrap();
    }
}

/// One process in which most of what a session can do is tried, one thing after the other: starting the CLI is what takes
/// the time.
const SCRIPT: &str = r#"
[[rule]]
prompt = "hello"
usage = { prompt = 1234, answer = 45, thoughts = 7, cached = 20 }
reply = [
  { thought = "**Thinking about the greeting**\n\nThe user says hello, so I will be short.\n" },
  { text = ["Hello ", "from the ", "scripted model."], pause = "10ms" },
]

[[rule]]
prompt-regex = "touch (?<file>[a-z]+)"
reply = [
  { text = "Running. " },
  { call = "run_shell_command", args = { command = "touch {{file}}.txt && echo made {{file}}", description = "Makes a file" } },
]

[[rule]]
prompt-regex = "write (?<file>[a-z]+)"
reply = [{ call = "write_file", args = { file_path = "{{file}}.txt", content = "one\ntwo\n" } }]

[[rule]]
prompt = "slow"
reply = [{ text = "word ", repeat = 400, pause = "50ms" }]

[[rule]]
prompt = "sleep"
reply = [{ call = "run_shell_command", args = { command = "sleep 4721.25", description = "Sleeps" } }]

[[rule]]
tool = "run_shell_command"
reply = "Done, or not."

[[rule]]
tool = "write_file"
reply = "Written, or not."

[[rule]]
prompt = "use a better tool"
reply = "I will use another one."
"#;

#[tokio::test]
async fn a_session_does_what_a_person_says_and_survives_every_cancel() {
    requires!(npm);
    for cli in Cli::all().unwrap() {
        let version = cli.version().to_owned();
        let script: Script = SCRIPT.parse().unwrap();
        let stage = Stage::new(&cli, script).await.unwrap();
        let mut live = gemini(&stage).start().await.unwrap();
        assert!(live.opened().modes.len() >= 3, "{version}: modes are offered");
        assert!(!live.opened().models.is_empty(), "{version}: models are offered");
        greets(&mut live, &version).await;
        allows_and_rejects(&mut live, &stage, &version).await;
        cancels(&mut live, &version).await;
        changes(&mut live, &stage, &version).await;
        live.close().await.unwrap();
        stage.close().await;
    }
}

async fn greets(live: &mut Live, version: &str) {
    let told = quietly(live, "hello").await;
    assert_eq!(told.outcome.text, "Hello from the scripted model.", "{version}");
    assert_eq!(told.outcome.stop_reason, Some(StopReason::EndTurn));
    assert!(told.thoughts().contains("Thinking about the greeting"), "{version}");
    let thoughts = told.thoughts().matches("Thinking about").count();
    assert_eq!(thoughts, 1, "{version}: a thought is told once, not again out of the file");
    // Tokens as the file has them: thoughts and the cache, which ACP leaves out.
    assert_eq!((told.outcome.usage.thoughts_tokens, told.outcome.usage.cached_tokens), (7, 20));
    assert!(told.outcome.session_file.as_ref().unwrap().exists());
}

async fn allows_and_rejects(live: &mut Live, stage: &Stage, version: &str) {
    // Once.
    let told = turn(live, "touch one", async |event, control| {
        answer(event, control, Effect::AllowOnce).await;
    })
    .await;
    assert_eq!(told.questions().len(), 1, "{version}");
    let meaning = serde_json::to_value(told.questions()[0].meaning.as_ref().unwrap()).unwrap();
    assert_eq!(meaning["command"], "touch one.txt && echo made one", "{version}");
    assert_eq!(
        told.calls(),
        [("run_shell_command".to_owned(), Some(Status::Success))],
        "{version}"
    );
    assert!(stage.workspace().join("one.txt").exists());
    let output = told.events.iter().rev().find_map(|event| match &event.kind {
        EventKind::ToolEnded { meaning, .. } => {
            meaning.as_ref().map(|m| serde_json::to_value(m).unwrap())
        }
        _ => None,
    });
    let output = output.unwrap();
    assert_eq!(
        (&output["output"], &output["exit_code"]),
        (&"made one".into(), &0.into()),
        "{version}"
    );

    // No, and why.
    let told = turn(live, "touch two", async |event, control| {
        if let EventKind::Asked(question) = &event.kind {
            let no = question.options.iter().find(|option| option.effect == Effect::RejectOnce);
            let (question, no) = (question.id.to_string(), no.unwrap().id.to_string());
            control.answer(question, no, Some("use a better tool".to_owned())).await.unwrap();
        }
    })
    .await;
    assert_eq!(
        told.calls(),
        [("run_shell_command".to_owned(), Some(Status::Cancelled))],
        "{version}"
    );
    assert!(!stage.workspace().join("two.txt").exists());
    assert!(
        told.outcome.text.ends_with("I will use another one."),
        "{version}: {}",
        told.outcome.text
    );

    // Always: a change of mode where the version has it, and no question the next time.
    let told = turn(live, "write one", async |event, control| {
        answer(event, control, Effect::AllowAlways).await;
    })
    .await;
    let meaning = serde_json::to_value(told.questions()[0].meaning.as_ref().unwrap()).unwrap();
    assert!(meaning["diff"].as_str().unwrap().contains("+two"), "{version}: {meaning}");
    let written = std::fs::read_to_string(stage.workspace().join("one.txt")).unwrap();
    assert_eq!(written, "one\ntwo\n", "{version}");
    if version != "0.34.0" {
        assert_eq!(told.modes(), [Mode::AutoEdit], "{version}");
        assert!(!told.outcome.text.contains("MODE_UPDATE"), "{version}");
        let told = quietly(live, "write two").await;
        assert_eq!(told.questions().len(), 0, "{version}");
        assert!(stage.workspace().join("two.txt").exists());
    }
}

async fn cancels(live: &mut Live, version: &str) {
    // While it speaks.
    let told = turn(live, "slow", async |event, control| {
        if matches!(event.kind, EventKind::TextGrew { .. }) {
            control.cancel().await.unwrap();
        }
    })
    .await;
    assert_eq!(told.outcome.stop_reason, Some(StopReason::Cancelled), "{version}");
    // While it waits for an answer.
    let told = turn(live, "touch three", async |event, control| {
        if matches!(event.kind, EventKind::Asked(_)) {
            control.cancel().await.unwrap();
        }
    })
    .await;
    assert_eq!(told.outcome.stop_reason, Some(StopReason::Cancelled), "{version}");
    assert_eq!(
        told.calls(),
        [("run_shell_command".to_owned(), Some(Status::Cancelled))],
        "{version}"
    );
    // While a tool runs.
    let told = turn(live, "sleep", async |event, control| {
        answer(event, control, Effect::AllowOnce).await;
        if matches!(event.kind, EventKind::Answered { .. }) {
            let runs = || !processes_with("sleep 4721.25").is_empty();
            pollux_e2e::wait_until("the command runs", SOON, runs).await;
            control.cancel().await.unwrap();
        }
    })
    .await;
    assert_eq!(told.outcome.stop_reason, Some(StopReason::Cancelled), "{version}");
    assert!(
        told.calls().iter().all(|(_, status)| status.is_some()),
        "{version}: {:?}",
        told.calls()
    );
    // And it still talks.
    assert_eq!(quietly(live, "hello").await.outcome.text, "Hello from the scripted model.");
}

async fn changes(live: &mut Live, stage: &Stage, version: &str) {
    let control = live.control();
    control.set_mode(Mode::Yolo).await.unwrap();
    let told = quietly(live, "touch four").await;
    assert!(told.modes().contains(&Mode::Yolo), "{version}: {:?}", told.modes());
    assert_eq!(told.questions().len(), 0, "{version}");
    assert!(stage.workspace().join("four.txt").exists());
    control.set_mode(Mode::Default).await.unwrap();
    let offered = live.opened().models.iter().any(|model| model.id == "gemini-2.5-pro");
    assert!(offered, "{version}: {:?}", live.opened().models);
    control.set_model("gemini-2.5-pro").await.unwrap();
    let told = quietly(live, "hello").await;
    assert_eq!(told.outcome.model.unwrap().to_string(), "gemini-2.5-pro", "{version}");
}

/// What is waited for comes within this time, or not at all.
const SOON: std::time::Duration = std::time::Duration::from_secs(20);

/// The processes whose command line holds a text.
fn processes_with(sign: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(sign)).collect()
}

#[tokio::test]
async fn two_sessions_in_one_process_do_not_hear_each_other() {
    requires!(npm);
    for cli in Cli::some().unwrap() {
        let script: Script = SCRIPT.parse().unwrap();
        let stage = Stage::new(&cli, script).await.unwrap();
        let agent = gemini(&stage).policy(Policy::Deny).spawn().await.unwrap();
        let open = || pollux_agent::acp::Open::new(stage.workspace());
        let mut one = agent.open(open()).await.unwrap();
        let mut other = agent.open(open()).await.unwrap();
        one.control().prompt(Prompt::text("slow")).await.unwrap();
        other.control().prompt(Prompt::text("hello")).await.unwrap();
        let heard = loop {
            let event = other.next().await.unwrap();
            if matches!(event.kind, EventKind::TurnEnded { .. }) {
                break other.outcome().unwrap().text;
            }
        };
        assert_eq!(heard, "Hello from the scripted model.", "{}", cli.version());
        one.control().cancel().await.unwrap();
        let stopped = loop {
            let event = one.next().await.unwrap();
            if let EventKind::TurnEnded { stop_reason, .. } = event.kind {
                break stop_reason;
            }
        };
        assert_eq!(stopped, StopReason::Cancelled, "{}", cli.version());
        agent.close().await;
        stage.close().await;
    }
}
