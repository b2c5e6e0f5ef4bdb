//! The exit codes of the CLI, each with its name: of the real one where it can be brought to them, of a script where
//! not.

use super::{program, run, told};
use pollux_agent::gemini::stream::Run;
use pollux_agent::model::{Failure, Phase};
use pollux_e2e::{Cli, Stage, requires};
use serde_json::{Value, json};
use std::fs;

/// How a run on a stage of its own fails that was prepared in some way.
async fn fails(cli: &Cli, prepare: impl FnOnce(&Stage, Run) -> Run) -> Failure {
    let stage = Stage::with(cli, "read-file").await.unwrap();
    let order = prepare(&stage, run(&stage, "read hello.txt"));
    let (events, outcome) = told(order).await;
    stage.close().await;
    assert!(!events.is_empty(), "a failure is told like everything else");
    outcome.error.unwrap()
}

/// Changes the settings of a stage.
fn settings(stage: &Stage, change: impl FnOnce(&mut Value)) {
    let path = stage.home().path().join(".gemini/settings.json");
    let mut all: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut all);
    fs::write(path, all.to_string()).unwrap();
}

#[tokio::test]
async fn the_exit_codes_that_the_real_cli_can_be_brought_to_have_their_names() {
    requires!(npm);
    for cli in Cli::some().unwrap() {
        // 0.34 takes an id that it does not know for the wish for a new session.
        if cli.like() != "0.34.0" {
            let input = fails(&cli, |_, run| run.extra_arg("--resume=no-such-session")).await;
            assert_eq!((input.phase, input.code), (Phase::Start, "bad_input"), "{}", cli.version());
            assert_eq!(input.exit_code, Some(42));
        }

        let sandbox = |_: &Stage, run: Run| run.env("GEMINI_SANDBOX", "no-such-sandbox");
        let sandbox = fails(&cli, sandbox).await;
        assert_eq!((sandbox.phase, sandbox.code), (Phase::Start, "sandbox"), "{}", cli.version());
        assert_eq!(sandbox.exit_code, Some(44));

        let broken = |stage: &Stage, run| {
            fs::write(stage.home().path().join(".gemini/settings.json"), "{ broken").unwrap();
            run
        };
        let broken = fails(&cli, broken).await;
        assert_eq!(
            (broken.phase, broken.code),
            (Phase::Start, "bad_settings"),
            "{}",
            cli.version()
        );
        assert_eq!(broken.exit_code, Some(52));
        assert!(broken.message.contains("settings.json"), "it says where: {}", broken.message);

        let turns = |stage: &Stage, run| {
            settings(stage, |all| all["model"] = json!({ "maxSessionTurns": 1 }));
            run
        };
        let turns = fails(&cli, turns).await;
        assert_eq!((turns.phase, turns.code), (Phase::Budget, "max_turns"), "{}", cli.version());
        assert_eq!(turns.exit_code, Some(53));
    }
}

const INIT: &str = r#"echo '{"type":"init","session_id":"s","model":"m"}'"#;

#[tokio::test]
async fn every_exit_code_has_its_name_where_it_is_all_that_the_cli_says() {
    let names = [
        (1, Phase::Start, "failed"),
        (41, Phase::Start, "not_signed_in"),
        (42, Phase::Start, "bad_input"),
        (44, Phase::Start, "sandbox"),
        (52, Phase::Start, "bad_settings"),
        (53, Phase::Budget, "max_turns"),
        (54, Phase::Tool, "fatal_tool"),
        (55, Phase::Start, "untrusted_folder"),
        (130, Phase::Cancelled, "cancelled"),
        (199, Phase::Start, "restart"),
        (144, Phase::Request, "bad_request"),
        (173, Phase::Request, "rate_limited"),
        (247, Phase::Request, "server_error"),
    ];
    for (code, phase, name) in names {
        let directory = tempfile::tempdir().unwrap();
        // Before the CLI has begun, a code of this size is that of whatever started it.
        let begun = if phase == Phase::Request { INIT } else { "true" };
        let cli = program(directory.path(), &format!("{begun}; exit {code}"));
        let order = Run::new("hello").cli(cli).home(directory.path()).cwd(directory.path());
        let (_, outcome) = told(order).await;
        let error = outcome.error.unwrap();
        assert_eq!((error.phase, error.code, error.exit_code), (phase, name, Some(code)));
    }
}
