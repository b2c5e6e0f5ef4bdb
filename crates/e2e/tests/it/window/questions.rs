//! The questions that are asked rarely: pages, tools of servers, plans, quotas, circles, and the way out.

use super::dialogs::{asked, ended};
use super::{LIMIT, Show, Theatre, outline};
use pollux_agent::model::{EventKind, Mode, QuestionKind, SessionStatus, StopReason};
use pollux_e2e::{Cli, PINNED, repository, requires, wait_for};
use pollux_rehearsal::Home;
use serde_json::json;
use std::fs;

/// Sends a prompt, and answers what is asked back: the turn ends so.
async fn answered(
    show: &mut Show,
    prompt: &str,
    kind: QuestionKind,
    choice: &str,
    end: StopReason,
) {
    let from = show.heard.len();
    show.prompt(prompt).await;
    let (found, labels) = asked(show, from).await;
    assert_eq!(found, kind, "{labels:?}\n{}", show.screen().await);
    show.answer(choice).await;
    let ended = ended(show, from).await;
    if ended != end {
        let heard: Vec<String> = show.heard.iter().skip(from).map(outline).collect();
        panic!("{prompt}, {choice}: {ended:?}\n{heard:#?}\n{}", show.screen().await);
    }
}

/// Sends a prompt that is done without a question.
async fn unasked(show: &mut Show, prompt: &str) {
    let from = show.heard.len();
    show.prompt(prompt).await;
    assert_eq!(ended(show, from).await, StopReason::EndTurn);
    let asked = show.heard.iter().skip(from).any(|e| matches!(e.kind, EventKind::Asked(_)));
    assert!(!asked, "{}", show.screen().await);
}

/// A stage with a server of tools, and a plan in the workspace.
async fn theatre(cli: &Cli) -> Theatre {
    let theatre = Theatre::new(cli, "questions").await;
    let mut settings = Home::settings();
    let server = repository().join("crates/e2e/fixtures/mcp.js");
    settings["mcpServers"] = json!({ "echo": { "command": "node", "args": [server] } });
    settings["general"]["plan"] = json!({ "directory": "plans" });
    settings["experimental"] = json!({ "plan": true });
    let file = theatre.stage.home().gemini().join("settings.json");
    fs::write(file, settings.to_string()).unwrap();
    fs::write(theatre.stage.workspace().join("hello.txt"), "hello\n").unwrap();
    let plans = theatre.stage.workspace().join("plans");
    fs::create_dir(&plans).unwrap();
    fs::write(plans.join("plan.md"), "# Plan\n\n1. Read hello.txt\n2. Change it\n").unwrap();
    theatre
}

#[tokio::test]
async fn pages_servers_plans_quotas_and_circles_are_asked_about_and_answered() {
    requires!(npm, tmux);
    let runs = Cli::some().unwrap().into_iter().map(everything_is_asked);
    futures::future::join_all(runs).await;
}

async fn everything_is_asked(cli: Cli) {
    use QuestionKind::{Fetch, Loop, Mcp, Plan};
    let theatre = theatre(&cli).await;
    let mut show = theatre.play(theatre.start()).await;
    let show = &mut show;
    answered(show, "fetch it", Fetch, "deny", StopReason::Cancelled).await;
    answered(show, "fetch it", Fetch, "Allow once", StopReason::EndTurn).await;
    let always = "Allow tool for this session";
    answered(show, "echo it", Mcp, always, StopReason::EndTurn).await;
    unasked(show, "echo it").await;
    spend(show, &cli).await;
    answered(show, "in circles", Loop, "Keep", StopReason::EndTurn).await;
    answered(show, "make a plan", Plan, "Allow once", StopReason::EndTurn).await;
    // Old versions want the path of the plan, which the script does not know.
    if cli.like() != PINNED[0] {
        settle_the_plan(show).await;
    }
    leave(show).await;
    theatre.close().await;
}

/// The plan is right: the agent leaves the mode in which it only reads.
async fn settle_the_plan(show: &mut Show) {
    let (from, choice) = (show.heard.len(), "Yes, manually");
    answered(show, "show the plan", QuestionKind::Plan, choice, StopReason::EndTurn).await;
    show.hear("the mode of before", from, |event| match &event.kind {
        EventKind::SessionChanged(change) => change.mode == Some(Mode::Default),
        _ => false,
    })
    .await;
}

/// The quota is used up. Old versions say so, and ask nothing.
async fn spend(show: &mut Show, cli: &Cli) {
    if cli.like() == PINNED[0] {
        let from = show.heard.len();
        show.prompt("spend it").await;
        assert_eq!(ended(show, from).await, StopReason::Error);
        return;
    }
    answered(show, "spend it", QuestionKind::Quota, "Stop", StopReason::Cancelled).await;
    answered(show, "spend more", QuestionKind::Quota, "Keep trying", StopReason::EndTurn).await;
}

/// Waits until the screen says that one more Ctrl+C would end the agent, or does not say so any more.
async fn says_how_to_leave(show: &Show, wanted: bool) {
    wait_for("the way out", LIMIT, async || {
        let screen = show.screen().await;
        if screen.contains("again to exit") == wanted { Ok(()) } else { Err(screen) }
    })
    .await;
}

/// One Ctrl+C asks whether the agent shall end, which passes; a second one in time ends it.
async fn leave(show: &mut Show) {
    let pane = show.live.pane().clone();
    let from = show.heard.len();
    pane.press(&["C-c"]).await.unwrap();
    says_how_to_leave(show, true).await;
    says_how_to_leave(show, false).await;
    pane.press(&["C-c", "C-c"]).await.unwrap();
    show.becomes(SessionStatus::Exited, from).await;
}
