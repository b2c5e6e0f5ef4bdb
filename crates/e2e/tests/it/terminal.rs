//! The real CLI in a real terminal, in every version, against scripts of the library.

use pollux_e2e::{Cli, Stage, Terminal, wait_for};
use std::time::Duration;

const LIMIT: Duration = Duration::from_mins(1);

/// Waits until the screen shows a text.
async fn shows(terminal: &Terminal, label: &str, text: &str) {
    wait_for(label, LIMIT, async || {
        let screen = terminal.screen().map_err(|error| error.to_string())?;
        if screen.contains(text) { Ok(()) } else { Err(screen) }
    })
    .await;
}

/// Types a prompt and sends it once the CLI shows it: an Enter that comes too soon is taken for a new line.
async fn say(terminal: &Terminal, prompt: &str) {
    shows(terminal, "the input line", "Type your message").await;
    terminal.type_text(prompt).unwrap();
    shows(terminal, "the typed prompt", prompt).await;
    // The CLI takes an Enter within 30 ms of other input for a new line, and no screen says when that time is over.
    tokio::time::sleep(Duration::from_millis(150)).await;
    terminal.press("Enter").unwrap();
}

#[tokio::test]
async fn a_prompt_is_answered_on_the_screen() {
    for cli in Cli::all().unwrap() {
        let stage = Stage::with(&cli, "greeting").await.unwrap();
        let terminal = Terminal::start(&stage, &[]).unwrap();
        say(&terminal, "say hello").await;
        shows(&terminal, cli.version(), "Hello from the scripted model.").await;
        drop(terminal);
        stage.close().await;
    }
}

#[tokio::test]
async fn a_command_asks_for_approval_and_runs_when_it_has_it() {
    for cli in Cli::all().unwrap() {
        let stage = Stage::with(&cli, "approval").await.unwrap();
        let terminal = Terminal::start(&stage, &[]).unwrap();
        say(&terminal, "touch a file").await;
        shows(&terminal, cli.version(), "Allow execution").await;
        terminal.press("1").unwrap();
        let made = stage.workspace().join("approved.txt");
        wait_for(
            "the file",
            LIMIT,
            async || {
                if made.exists() { Ok(()) } else { Err(terminal.screen()) }
            },
        )
        .await;
        shows(&terminal, cli.version(), "Done, or not.").await;
        drop(terminal);
        stage.close().await;
    }
}
