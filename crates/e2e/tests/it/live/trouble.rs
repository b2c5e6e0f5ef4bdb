//! What goes wrong over ACP: each is one typed error with its phase, and nothing is left behind.

use super::{SOON, Told, gemini, processes_with, quietly, turn};
use pollux_agent::acp::{Budgets, McpServer, Policy, Prompt, Variable};
use pollux_agent::model::{EventKind, Mode, Phase, StopReason};
use pollux_e2e::{Cli, Stage, requires, wait_until};
use pollux_rehearsal::Script;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

/// Errors of the model, one after the other in one process: a session survives each of them.
const SCRIPT: &str = r#"
[[rule]]
model = "no-such-model"
error = { status = 404, message = "models/no-such-model is not found for API version v1beta, or is not supported for generateContent." }

[[rule]]
prompt = "refuse"
error = { status = 400, message = "The scripted model refuses this request." }

[[rule]]
prompt = "quota"

[rule.error]
status = 429
message = "You exceeded your current quota."
quota = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
retry = "39000s"

[[rule]]
prompt = "hurry"
time = 1
error = { status = 429, message = "Too many requests.", retry = "500ms" }

[[rule]]
prompt = "break"
time = 1
error = { status = 500, message = "The scripted model has broken down." }

[[rule]]
prompt = "cut"
reply = [{ text = "I was about to " }, { cut = "half" }]

[[rule]]
prompt-regex = "hello|hurry|break"
reply = "Here I am."

[[rule]]
prompt = "big"
reply = [{ call = "run_shell_command", args = { command = "head -c 10000000 /dev/zero | tr '\\0' 'x'", description = "Much" } }]

[[rule]]
tool = "run_shell_command"
reply = "That was much."
"#;

fn error(told: &Told) -> (Phase, &'static str) {
    let error = told.outcome.error.as_ref().expect("an error");
    (error.phase, error.code)
}

#[tokio::test]
async fn every_error_of_the_model_is_typed_and_the_session_goes_on() {
    requires!(npm);
    // Side by side: most of the time each of them only waits until it tries again.
    futures::future::join_all(Cli::some().unwrap().into_iter().map(errors_are_typed)).await;
}

async fn errors_are_typed(cli: Cli) {
    let version = cli.version().to_owned();
    let script: Script = SCRIPT.parse().unwrap();
    let stage = Stage::new(&cli, script).await.unwrap();
    let mut live = gemini(&stage).policy(Policy::Auto).start().await.unwrap();
    let told = quietly(&mut live, "refuse").await;
    assert_eq!(error(&told), (Phase::Request, "bad_request"), "{version}");
    assert_eq!(told.outcome.error.as_ref().unwrap().http_status, Some(400), "{version}");
    let told = quietly(&mut live, "quota").await;
    assert_eq!(error(&told), (Phase::Request, "quota_exhausted"), "{version}");
    for again in ["hurry", "break"] {
        let told = quietly(&mut live, again).await;
        assert_eq!(told.outcome.text, "Here I am.", "{version}: {again} is tried again");
    }
    let told = quietly(&mut live, "cut").await;
    assert_eq!(error(&told), (Phase::Response, "connection_lost"), "{version}");
    live.control().set_model("no-such-model").await.unwrap();
    let told = quietly(&mut live, "hello").await;
    assert_eq!(error(&told), (Phase::Request, "unknown_model"), "{version}");
    live.control().set_model("gemini-2.5-flash").await.unwrap();
    assert_eq!(quietly(&mut live, "hello").await.outcome.text, "Here I am.", "{version}");
    live.close().await.unwrap();
    stage.close().await;
}

#[tokio::test]
async fn ten_megabytes_out_of_a_command_are_told_and_the_turn_ends() {
    requires!(npm);
    let cli = Cli::last().unwrap();
    let stage = Stage::new(&cli, SCRIPT.parse().unwrap()).await.unwrap();
    let mut live = gemini(&stage).policy(Policy::Auto).start().await.unwrap();
    let told = quietly(&mut live, "big").await;
    // So much is more than the model can hold: the agent may stop there, which is no error.
    assert_eq!(told.outcome.stop_reason, Some(StopReason::EndTurn), "{:?}", told.outcome.error);
    assert_eq!(told.calls().len(), 1);
    let longest = told.events.iter().filter_map(|event| match &event.kind {
        EventKind::ToolEnded { output, .. } => output.as_ref().map(|text| text.to_str().len()),
        _ => None,
    });
    assert!(longest.max().unwrap() > 1_000_000);
    live.close().await.unwrap();
    stage.close().await;
}

#[tokio::test]
async fn nobody_signed_in_is_an_error_of_its_own_phase() {
    requires!(npm);
    for cli in Cli::some().unwrap() {
        let stage = Stage::with(&cli, "greeting").await.unwrap();
        let order = gemini(&stage).env("GEMINI_API_KEY", "");
        let failure = order.start().await.map(drop).unwrap_err();
        assert_eq!(
            (failure.phase, failure.code),
            (Phase::Auth, "not_signed_in"),
            "{} {failure:?}",
            cli.version()
        );
        assert!(failure.hint.unwrap().contains("GEMINI_API_KEY"));
        stage.close().await;
    }
}

#[tokio::test]
async fn an_agent_that_is_killed_is_a_typed_error_and_leaves_nothing() {
    requires!(npm);
    let cli = Cli::last().unwrap();
    let stage = Stage::with(&cli, "slow").await.unwrap();
    let mut live = gemini(&stage).start().await.unwrap();
    let process = live.agent().about().process.unwrap();
    let told = turn(&mut live, "tell me a slow story", async |event, _| {
        if matches!(event.kind, EventKind::TextGrew { .. }) {
            let pid = rustix::process::Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
            let _gone = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    })
    .await;
    let failure = told.outcome.error.unwrap();
    assert_eq!((failure.code, failure.signal), ("killed", Some(9)));
    assert!(failure.retryable);
    drop(live);
    let home = stage.home().path().display().to_string();
    assert_eq!(processes_with(&home), Vec::<String>::new());
    stage.close().await;
}

#[tokio::test]
async fn a_session_that_is_dropped_in_a_command_leaves_no_process_behind() {
    requires!(npm);
    let cli = Cli::last().unwrap();
    let text = "[[rule]]\nprompt = \"run\"\nreply = [{ call = \"run_shell_command\", args = { command = \"sleep 4731.25\" } }]\n";
    let stage = Stage::new(&cli, text.parse().unwrap()).await.unwrap();
    let mut live = gemini(&stage).mode(Mode::Yolo).start().await.unwrap();
    live.control().prompt(Prompt::text("run it")).await.unwrap();
    while !matches!(live.next().await.unwrap().kind, EventKind::ToolStarted { .. }) {}
    wait_until("the command runs", SOON, || !processes_with("sleep 4731.25").is_empty()).await;
    drop(live);
    wait_until("all are gone", SOON, || processes_with("sleep 4731.25").is_empty()).await;
    stage.close().await;
}

#[tokio::test]
async fn an_agent_that_never_says_hello_spends_the_start_budget() {
    requires!(npm);
    let cli = Cli::last().unwrap();
    let stage = Stage::with(&cli, "greeting").await.unwrap();
    let silent = stage.workspace().join("silent");
    fs::write(&silent, "#!/bin/sh\necho starting >&2\nexec sleep 4741.25\n").unwrap();
    fs::set_permissions(&silent, fs::Permissions::from_mode(0o755)).unwrap();
    let version = pollux_agent::gemini::cli::Version::read(cli.version());
    let found = pollux_agent::gemini::cli::Cli { path: silent, version };
    let budgets = Budgets { start: Duration::from_millis(500), ..Budgets::default() };
    let failure = gemini(&stage).cli(found).budgets(budgets).start().await.map(drop).unwrap_err();
    assert_eq!((failure.phase, failure.code), (Phase::Budget, "start_timeout"));
    assert!(failure.stderr.contains("starting"), "{failure:?}");
    wait_until("it is gone", SOON, || processes_with("sleep 4741.25").is_empty()).await;
    stage.close().await;
}

#[tokio::test]
async fn the_sandbox_is_refused_with_the_reason() {
    requires!(npm);
    let cli = Cli::last().unwrap();
    let stage = Stage::with(&cli, "greeting").await.unwrap();
    let failure = gemini(&stage).sandbox(None, false).start().await.map(drop).unwrap_err();
    assert_eq!((failure.phase, failure.code), (Phase::Start, "sandbox"));
    let failure = gemini(&stage).extra_arg("--sandbox").start().await.map(drop).unwrap_err();
    assert_eq!(failure.code, "sandbox");
    stage.close().await;
}

#[tokio::test]
async fn a_server_that_never_answers_does_not_outlive_the_session() {
    requires!(npm);
    let cli = Cli::last().unwrap();
    let stage = Stage::with(&cli, "greeting").await.unwrap();
    let server = McpServer::Stdio {
        name: "sleeper".to_owned(),
        command: "sleep".into(),
        args: vec!["4751.25".to_owned()],
        env: vec![Variable { name: "WHO".to_owned(), value: "pollux".to_owned() }],
    };
    let budgets = Budgets { control: Duration::from_secs(5), ..Budgets::default() };
    // Some versions wait for the server, some do not; either way nothing is left.
    let started = gemini(&stage).mcp(server).budgets(budgets).start().await;
    match started {
        Ok(live) => live.close().await.unwrap(),
        Err(failure) => assert_eq!(failure.code, "control_timeout", "{failure:?}"),
    }
    wait_until("it is gone", SOON, || processes_with("sleep 4751.25").is_empty()).await;
    stage.close().await;
}
