//! Every script of the library through the real CLI, headless: the stream is as it was read once. The newest version has
//! to do each time, because `run` goes through the same scripts on every one; `cargo xtask matrix` has them all.

use pollux_e2e::{Cli, Stage, outline, script, scripts};
use std::path::Path;

/// Runs a script's trial and compares the outline of the stream.
async fn streams_as_scripted(name: &str) {
    for cli in Cli::newest().unwrap() {
        let script = script(name).unwrap();
        let trial = script.trial().unwrap().clone();
        let stage = Stage::new(&cli, script).await.unwrap();
        let args: Vec<&str> = trial.args.iter().map(String::as_str).collect();
        let ran = stage.headless(&trial.prompt, &args).await.unwrap();
        compare(name, &cli, &outline(&ran, &stage));
        stage.close().await;
    }
}

fn compare(name: &str, cli: &Cli, outline: &str) {
    let shown = Path::new("snapshots/headless").join(cli.like());
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
        const TESTED: &[&str] = &[$($script),*];
        $(
            #[tokio::test]
            async fn $test() {
                streams_as_scripted($script).await;
            }
        )*
    };
}

scenarios! {
    a_greeting_is_said_and_its_thought_is_not_shown = "greeting",
    markdown_arrives_as_it_was_written = "markdown",
    text_that_is_not_ascii_arrives_whole = "unicode",
    a_very_long_answer_arrives_whole = "very-long",
    a_file_is_read = "read-file",
    a_file_is_written = "write-file",
    a_file_is_edited = "edit",
    commands_are_run_and_a_failure_is_still_a_success = "shell",
    a_directory_is_listed = "list-directory",
    files_are_found_by_name = "glob",
    words_are_found_in_files = "grep",
    a_web_search_is_answered_by_the_rehearsal = "web-search",
    a_web_fetch_without_a_network_ends = "web-fetch",
    todos_are_kept_with_older_models = "todos",
    memory_was_a_tool_until_it_was_removed = "memory",
    a_topic_is_set_where_the_tool_exists = "topic",
    plan_mode_is_entered_where_the_tool_exists = "plan",
    a_question_to_the_user_is_no_tool_headless = "ask-user",
    a_sub_agent_works_and_reports = "sub-agent",
    two_calls_are_made_at_once = "parallel",
    three_steps_follow_each_other = "chain",
    a_tool_that_fails_is_told_to_the_model = "tool-error",
    an_unknown_tool_is_told_to_the_model = "unknown-tool",
    wrong_arguments_are_told_to_the_model = "bad-arguments",
    a_tool_that_wants_approval_is_not_there = "approval",
    a_400_ends_the_run = "error-400",
    a_401_ends_the_run = "error-401",
    a_404_ends_the_run = "error-404",
    a_429_of_the_minute_is_tried_again = "error-429",
    a_429_of_the_day_ends_the_run = "error-429-day",
    a_500_is_tried_again = "error-500",
    a_stream_that_breaks_off_ends_in_an_error = "cut-off",
    a_lost_connection_ends_the_run = "lost",
    garbage_in_the_stream_ends_the_run = "garbage",
    an_empty_answer_is_told_or_tried_again = "empty",
    the_limit_of_tokens_ends_the_answer = "max-tokens",
    safety_ends_the_answer = "safety",
    a_loop_is_ended = "loop",
    a_text_that_repeats_itself_is_ended = "text-loop",
    a_thought_alone_is_no_answer = "thought-only",
    a_stream_without_a_finish_reason_is_tried_again_or_taken = "no-finish",
    a_blocked_prompt_has_no_answer = "blocked",
    a_malformed_call_is_told_or_tried_again = "malformed-call",
    a_citation_is_shown_with_its_answer = "citation",
    an_edit_that_finds_nothing_is_told_to_the_model = "edit-no-match",
    a_file_is_overwritten = "overwrite",
    a_file_outside_of_the_workspace_is_refused = "outside",
}

#[test]
fn every_script_of_the_library_with_a_trial_has_its_test() {
    let tried = scripts().unwrap().into_iter().filter(|(_, script)| script.trial().is_some());
    let missing: Vec<String> =
        tried.map(|(name, _)| name).filter(|name| !TESTED.contains(&name.as_str())).collect();
    assert!(missing.is_empty(), "no test for {missing:?}");
}
