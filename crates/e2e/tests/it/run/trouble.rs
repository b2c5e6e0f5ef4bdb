//! What must not happen to a run, and what must be left when it does: nothing.

use super::{processes, program, run, told};
use pollux_agent::gemini::cli::Version;
use pollux_agent::gemini::stream::Run;
use pollux_agent::model::{EventKind, Mode, Phase, Status, StopReason};
use pollux_e2e::{Cli, Stage, requires, wait_until};
use pollux_rehearsal::Script;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// What is waited for comes within this time, or not at all.
const SOON: Duration = Duration::from_secs(20);

/// A script whose command runs long, and leaves a sign of itself in the process table.
fn long_command(sign: &str) -> Script {
    let text = format!(
        "[[rule]]\nprompt = \"run\"\nreply = [{{ call = \"run_shell_command\", args = {{ command = \"sleep {sign}\" }} }}]\n\
         [[rule]]\ntool = \"run_shell_command\"\nreply = \"Done.\"\n"
    );
    text.parse().unwrap()
}

#[tokio::test]
async fn a_cancelled_run_says_what_was_cancelled_and_leaves_no_shell_behind() {
    requires!(npm);
    let cli = Cli::last().unwrap();
    let stage = Stage::new(&cli, long_command("4711.25")).await.unwrap();
    let mut running = run(&stage, "run it").mode(Mode::Yolo).start().await.unwrap();
    let stop = running.stop();
    let mut events = Vec::new();
    while let Some(event) = running.next().await {
        if matches!(event.kind, EventKind::ToolStarted { .. }) {
            wait_until("the command runs", SOON, || processes::runs(&stage, "sleep 4711.25")).await;
            stop.cancel();
        }
        events.push(event);
    }
    let outcome = running.outcome().await;
    assert_eq!(outcome.stop_reason, Some(StopReason::Cancelled));
    assert_eq!(outcome.error.unwrap().phase, Phase::Cancelled);
    let cancelled = |kind: &EventKind<'_>| {
        matches!(kind, EventKind::ToolEnded { status: Status::Cancelled, .. })
    };
    assert!(events.iter().any(|event| cancelled(&event.kind)));
    assert_eq!(processes::of(&stage), [0; 0]);
    stage.close().await;
}

#[tokio::test]
async fn a_run_that_is_dropped_leaves_no_process_behind() {
    requires!(npm);
    let cli = Cli::last().unwrap();
    let stage = Stage::new(&cli, long_command("4712.25")).await.unwrap();
    let mut running = run(&stage, "run it").mode(Mode::Yolo).start().await.unwrap();
    while let Some(event) = running.next().await {
        if matches!(event.kind, EventKind::ToolStarted { .. }) {
            wait_until("the command runs", SOON, || processes::runs(&stage, "sleep 4712.25")).await;
            break;
        }
    }
    drop(running);
    wait_until("all are gone", SOON, || processes::of(&stage).is_empty()).await;
    stage.close().await;
}

#[tokio::test]
async fn run_over_its_time_limit_ends_with_timeout_and_leaves_no_process() {
    requires!(npm);
    let cli = Cli::last().unwrap();
    let stage = Stage::new(&cli, long_command("4713.25")).await.unwrap();
    let order = run(&stage, "run it").mode(Mode::Yolo).timeout(Duration::from_secs(6));
    let (_, outcome) = told(order).await;
    let error = outcome.error.unwrap();
    assert_eq!((error.phase, error.code), (Phase::Budget, "timeout"));
    assert_eq!(processes::of(&stage), [0; 0]);
    stage.close().await;
}

#[tokio::test]
async fn no_more_turns_than_allowed_do_any_work() {
    requires!(npm);
    let runs = Cli::some().unwrap().into_iter().map(async |cli| {
        for turns in [1, 2] {
            at_most(turns, &cli).await;
        }
    });
    futures::future::join_all(runs).await;
}

/// The script has three turns with a tool and a last word. What the model is told says which tools have run. A CLI that
/// takes settings of ours (before 0.60) counts before it asks. One that does not is asked to stop: a request that was on
/// its way by then may still reach the model, and nothing comes of it.
async fn at_most(turns: usize, cli: &Cli) {
    let stage = Stage::with(cli, "chain").await.unwrap();
    let prompt = pollux_e2e::script("chain").unwrap().trial().unwrap().prompt.clone();
    let order = run(&stage, &prompt).mode(Mode::Yolo).max_turns(turns as u64);
    let (events, outcome) = told(order).await;
    assert_eq!(outcome.error.as_ref().unwrap().code, "max_turns", "{}", cli.version());
    let ended = events.iter().filter(|event| match &event.kind {
        EventKind::ToolEnded { status, changed: false, .. } => *status == Status::Success,
        _ => false,
    });
    assert_eq!(ended.count(), turns, "{}: each turn has one tool", cli.version());
    let asked = stage.rehearsal().journal().turns().len();
    let counts = Version::read(cli.version()).unwrap() < Version::new(0, 60, 0);
    let most = if counts { turns } else { turns + 1 };
    assert!((turns..=most).contains(&asked), "{}: asked {asked} times", cli.version());
    assert_eq!(processes::of(&stage), [0; 0]);
    stage.close().await;
}

/// Where a run is killed: from the first moment, in which there is no process to speak of, until it has said something.
const LATEST: u64 = 4500;

#[tokio::test]
async fn a_cli_that_is_killed_at_any_moment_is_a_typed_error() {
    requires!(npm);
    let cli = Cli::last().unwrap();
    let stage = Stage::with(&cli, "slow").await.unwrap();
    for number in 0..pollux_e2e::kills() {
        // Spread over the time without a pattern, and the same in every run of the test.
        let moment = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % LATEST;
        let running = run(&stage, "tell me a slow story").start().await.unwrap();
        tokio::time::sleep(Duration::from_millis(moment)).await;
        wait_until("a process to kill", SOON, || processes::kill(&stage)).await;
        let outcome = running.outcome().await;
        let error = outcome.error.expect("a killed run is no success");
        assert_eq!((error.code, error.signal), ("killed", Some(9)), "after {moment} ms");
        assert!(error.retryable);
        assert_eq!(processes::of(&stage), [0; 0], "after {moment} ms");
    }
    stage.close().await;
}

#[tokio::test]
async fn runs_side_by_side_leave_no_process_and_no_file_behind() {
    requires!(npm);
    let cli = Cli::last().unwrap();
    let stage = Stage::with(&cli, "shell").await.unwrap();
    // The first start in a new home rewrites the settings, and another that begins in that moment reads half of them.
    told(run(&stage, "run the commands").mode(Mode::Yolo)).await;
    // Temporary files of Pollux, of the CLI and of its shells all go here.
    let temporary = tempfile::tempdir().unwrap();
    let mut runs = tokio::task::JoinSet::new();
    for _ in 0..pollux_e2e::side_by_side() {
        let order = run(&stage, "run the commands").mode(Mode::Yolo);
        runs.spawn(told(order.env("TMPDIR", temporary.path())));
    }
    wait_until("they run", SOON, || processes::of(&stage).len() > 1).await;
    let mut sessions = Vec::new();
    while let Some(ended) = runs.join_next().await {
        let (_, outcome) = ended.unwrap();
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        let exits = serde_json::to_string(&outcome.messages).unwrap();
        assert!(exits.contains("Exit Code: 3"));
        sessions.push(outcome.session_id.unwrap());
    }
    sessions.sort();
    sessions.dedup();
    assert_eq!(sessions.len(), pollux_e2e::side_by_side(), "each had a session of its own");
    assert_eq!(processes::of(&stage), [0; 0], "no process bears the mark and the home");
    assert_eq!(names(temporary.path()), [""; 0], "no temporary file is left");
    assert_eq!(names(stage.workspace()), ["out.txt"], "only what the command has written");
    stage.close().await;
}

/// The names in a directory.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[tokio::test]
async fn noise_cut_lines_and_unknown_lines_are_told_and_harm_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let cli = program(
        directory.path(),
        r#"cat <<'END'
Debug: something
{"type":"init","session_id":"s","model":"auto","colour":"blue"}
{"type":"weather","sky":"grey"}
{"type":"message","role":"assistant","content":" \n","delta":true}
{"type":"message","role":"assistant","content":"Hi","delta":true}
{"type":"result","status":"success"}
END
printf '{"type":"mess'"#,
    );
    let order = Run::new("hello").cli(cli).home(directory.path()).cwd(directory.path());
    let (events, outcome) = told(order).await;
    assert!(outcome.error.is_none());
    assert_eq!(outcome.text, " \nHi");
    let unread = events.iter().filter(|event| matches!(event.kind, EventKind::Unread { .. }));
    assert_eq!(unread.count(), 5, "noise, two fields, a type, and a cut line");
    let said = serde_json::to_string(&events).unwrap();
    assert!(said.contains("no session file found"), "what is missing is said");
}

#[tokio::test]
async fn a_line_of_sixty_megabytes_is_read_and_a_longer_one_is_cut() {
    let directory = tempfile::tempdir().unwrap();
    let line = |megabytes: usize| {
        format!(
            r#"printf '{{"type":"message","role":"assistant","content":"'; head -c {} /dev/zero | tr '\0' x; echo '","delta":true}}'"#,
            megabytes << 20
        )
    };
    let script = format!(
        "{}\n{}\necho '{{\"type\":\"result\",\"status\":\"success\"}}'",
        line(60),
        line(70)
    );
    let cli = program(directory.path(), &script);
    let order = Run::new("hello").cli(cli).home(directory.path()).cwd(directory.path());
    let (events, outcome) = told(order).await;
    assert!(outcome.error.is_none());
    assert_eq!(outcome.text.len(), 60 << 20);
    assert!(events.iter().any(|event| matches!(event.kind, EventKind::Unread { .. })));
}

#[tokio::test]
async fn a_cli_that_ends_with_zero_and_no_result_has_failed() {
    let directory = tempfile::tempdir().unwrap();
    let cli =
        program(directory.path(), r#"echo '{"type":"init","session_id":"s","model":"auto"}'"#);
    let order = Run::new("hello").cli(cli).home(directory.path()).cwd(directory.path());
    let (_, outcome) = told(order).await;
    assert_eq!(outcome.error.unwrap().code, "no_result");
}
