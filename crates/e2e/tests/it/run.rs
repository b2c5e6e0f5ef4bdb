//! Every script of the library through `Run`, each in one version, in turns (in every one by `cargo xtask matrix`): the events are
//! as they were read once, and so is the stream that they are made of.

mod codes;
mod outline;
mod processes;
mod trouble;

use crate::headless::Overheard;
use outline::outline;
use pollux_agent::gemini::cli::{Cli as Found, Version};
use pollux_agent::gemini::stream::{Outcome, Run};
use pollux_agent::model::{Event, Mode};
use pollux_e2e::{Cli, Stage, requires, script};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A run on a stage: the CLI, the home, the workspace and the environment of the stage.
fn run(stage: &Stage, prompt: &str) -> Run {
    let cli = stage.cli();
    let found = Found { path: cli.program().to_path_buf(), version: Version::read(cli.version()) };
    let run = Run::new(prompt).cli(found).home(stage.home().path()).cwd(stage.workspace());
    stage.env().into_iter().fold(run, |run, (name, value)| run.env(name, value))
}

/// A program in place of the CLI.
fn program(directory: &Path, script: &str) -> Found {
    let path = directory.join("gemini");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    Found { path, version: Some(Version::new(0, 61, 0)) }
}

/// The events of a run to its end.
async fn told(run: Run) -> (Vec<Event<'static>>, Outcome) {
    let mut running = run.start().await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = running.next().await {
        events.push(event);
    }
    (events, running.outcome().await)
}

/// Runs a script's trial and compares the outlines of the stream and of the events.
async fn told_as_scripted(name: &str) {
    for cli in Cli::in_turns(name).unwrap() {
        let script = script(name).unwrap();
        let trial = script.trial().unwrap().clone();
        let stage = Stage::new(&cli, script).await.unwrap();
        let overheard = Overheard::new(&stage);
        let order = run(&stage, &trial.prompt).cli(overheard.program(&cli));
        let order = trial.args.iter().fold(order, |run, arg| {
            if arg == "--yolo" { run.mode(Mode::Yolo) } else { run.extra_arg(arg) }
        });
        let (events, outcome) = told(order).await;
        overheard.compare(name, &stage);
        compare(name, &cli, &outline(&events, &outcome, &stage));
        stage.close().await;
    }
}

fn compare(name: &str, cli: &Cli, outline: &str) {
    let shown = Path::new("snapshots/run").join(cli.like());
    insta::with_settings!({
        snapshot_path => shown,
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, outline);
    });
}

macro_rules! scenarios {
    ($($test:ident = $script:literal,)*) => {
        const TESTED: &[&str] = &[$($script,)*];
        $(
            #[tokio::test]
            async fn $test() {
                requires!(npm);
                told_as_scripted($script).await;
            }
        )*
    };
}

scenarios! {
    the_thought_of_a_greeting_is_told = "greeting",
    markdown_is_told_as_it_was_written = "markdown",
    text_that_is_not_ascii_is_told_whole = "unicode",
    what_a_file_held_is_told = "read-file",
    a_new_file_has_its_diff = "write-file",
    an_edit_has_its_diff = "edit",
    a_command_has_its_output_and_its_exit_code = "shell",
    a_listing_is_told_whole = "list-directory",
    a_search_is_a_card = "grep",
    a_web_search_is_a_card = "web-search",
    a_sub_agent_is_told_of = "sub-agent",
    two_calls_at_once_are_kept_apart = "parallel",
    three_steps_are_three_messages = "chain",
    a_tool_that_fails_is_told = "tool-error",
    an_unknown_tool_is_told = "unknown-tool",
    a_tool_that_is_not_there_is_told = "approval",
    a_400_is_a_typed_error = "error-400",
    a_401_is_a_typed_error = "error-401",
    a_404_is_a_typed_error = "error-404",
    a_429_of_the_day_is_a_typed_error = "error-429-day",
    a_cut_stream_is_a_typed_error_and_its_text_is_superseded = "cut-off",
    garbage_is_a_typed_error = "garbage",
    an_empty_answer_is_a_typed_error_or_tried_again = "empty",
    the_limit_of_tokens_is_told = "max-tokens",
    safety_is_told = "safety",
    a_loop_is_told = "loop",
    a_file_that_is_overwritten_has_its_diff = "overwrite",
    an_edit_that_finds_nothing_is_told = "edit-no-match",
    a_glob_is_a_card = "glob",
    a_fetch_is_a_card = "web-fetch",
    a_file_outside_of_the_workspace_is_refused = "outside",
    wrong_arguments_are_told = "bad-arguments",
    a_question_to_the_user_is_told = "ask-user",
    a_fact_to_remember_is_told = "memory",
    a_plan_is_told = "plan",
    a_list_of_things_to_do_is_told = "todos",
    a_topic_is_told = "topic",
    a_citation_is_told = "citation",
    a_thought_alone_is_a_typed_error_or_tried_again = "thought-only",
    a_blocked_prompt_is_a_typed_error_or_silent = "blocked",
    a_malformed_call_is_a_typed_error_or_tried_again = "malformed-call",
    a_stream_without_a_finish_reason_is_told = "no-finish",
    a_lost_connection_is_a_typed_error = "lost",
    a_429_of_the_minute_is_tried_again = "error-429",
    a_500_is_tried_again = "error-500",
    a_text_that_repeats_itself_is_told = "text-loop",
    a_very_long_answer_is_told_whole = "very-long",
}

#[test]
fn every_script_with_a_trial_is_run() {
    let tried = pollux_e2e::scripts().unwrap().into_iter();
    let tried = tried.filter(|(_, script)| script.trial().is_some());
    let missing: Vec<String> =
        tried.map(|(name, _)| name).filter(|name| !TESTED.contains(&name.as_str())).collect();
    assert!(missing.is_empty(), "no test for {missing:?}");
}
