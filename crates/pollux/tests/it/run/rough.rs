//! What happens to `pollux run` where the world is rough: nobody on stdin, no room on the disk, a kill -9.

use super::{Place, lines, program, stderr, stdout};
use pollux_e2e::{in_ci, requires};
use serde_json::Value;
use std::fs;

/// A line of shell that runs a prompt, under a rehearsal.
fn run(place: &Place, words: &str) -> String {
    format!("{} run {words} --agent-path {}", program(), place.cli.program().display())
}

#[test]
fn a_run_with_its_stdin_closed_is_a_run_like_any_other() {
    requires!(npm);
    let place = Place::newest();
    let line = format!("exec {} <&-", run(&place, "hello -o json"));
    let ran = place.rehearse("greeting", "sh").args(["-c", &line]).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let object: Value = serde_json::from_str(&stdout(&ran)).unwrap();
    assert_eq!(object["text"], "Hello from the scripted model.");
}

#[test]
fn a_full_disk_in_the_session_directory_costs_the_session_file_and_nothing_else() {
    requires!(npm);
    let place = Place::newest();
    let run = run(&place, "'run the commands' --mode yolo -o events");
    // A small file system of its own, where that is allowed; files of no length at all where it is not.
    let small = "mount -t tmpfs -o size=4k none $GEMINI_CLI_HOME/.gemini/tmp || exit 77";
    let small = format!("mkdir -p $GEMINI_CLI_HOME/.gemini/tmp; {small}; exec {run}");
    let mut ran =
        place.rehearse("shell", "unshare").args(["-m", "sh", "-c", &small]).output().unwrap();
    if ran.stdout.is_empty() {
        // The commands of the script could write no file either, and so say something else.
        let limited = format!("ulimit -f 0; exec {run}");
        ran = place.rehearse("shell", "sh").args(["-c", &limited]).output().unwrap();
        assert!(!in_ci() || !ran.stdout.is_empty(), "no disk could be made small enough");
    }
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let events = lines(&ran);
    let said: String = events.iter().filter_map(|event| event["text"].as_str()).collect();
    assert!(said.contains("Running. "), "the answer is told: {said}");
    let notice = events.iter().find(|event| event["type"] == "notice").unwrap();
    let notice = notice["text"].as_str().unwrap();
    assert!(notice.contains("the session file has no records of this run"), "{notice}");
    assert_eq!(events.last().unwrap()["stop_reason"], "end_turn");
}

#[test]
fn output_that_cannot_be_written_is_an_error_and_no_panic() {
    requires!(npm);
    let place = Place::newest();
    let line = format!("{} > /dev/full", run(&place, "hello"));
    let ran = place.rehearse("greeting", "sh").args(["-c", &line]).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    assert!(stderr(&ran).contains("No space left on device"), "{}", stderr(&ran));
    let line = format!("{} > /dev/full 2>&1", run(&place, "hello"));
    let ran = place.rehearse("greeting", "sh").args(["-c", &line]).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
}

#[test]
fn what_a_killed_pollux_leaves_is_found_by_its_mark() {
    requires!(npm);
    let place = Place::newest();
    let script = r#"
[[rule]]
prompt = "wait"
reply = [{ call = "run_shell_command", args = { command = "sleep 4714.25" } }]

[[rule]]
tool = "run_shell_command"
reply = "Done."
"#;
    let line = format!(
        "{} > events & run=$!\n\
         left() {{ grep -lzs \"^POLLUX_CHILD=$run-\" /proc/[0-9]*/environ; }}\n\
         asleep() {{ for at in $(left); do tr '\\0' ' ' < ${{at%environ}}cmdline; echo; done; }}\n\
         until asleep 2> none | grep -q '^sleep 4714.25'; do sleep 0.05; done\n\
         kill -9 $run; wait $run\n\
         asleep > left\n\
         for at in $(left); do at=${{at#/proc/}}; kill -9 ${{at%/environ}}; done\n\
         while left > none; do sleep 0.05; done",
        run(&place, "wait --mode yolo -o events")
    );
    let ran = place.rehearse_own(script, "bash").args(["-c", &line]).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let left = fs::read_to_string(place.work().join("left")).unwrap();
    assert!(left.contains("sleep 4714.25"), "the shell is what nobody ends: {left}");
    let events = fs::read_to_string(place.work().join("events")).unwrap();
    assert!(events.contains("tool_started") && !events.contains("turn_ended"));
}
