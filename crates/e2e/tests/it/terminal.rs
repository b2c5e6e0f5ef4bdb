//! The real CLI in a real terminal, against scripts of the library. The newest version has to do each time, because `window` does
//! the same on older ones too; `cargo xtask matrix` has them all.

use pollux_e2e::{Cli, Stage, Terminal, requires, wait_for};
use std::cell::Cell;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_mins(1);

/// Waits until the screen shows a text.
async fn shows(terminal: &Terminal, label: &str, text: &str) {
    wait_for(label, LIMIT, async || {
        let screen = terminal.screen().map_err(|error| error.to_string())?;
        if screen.contains(text) { Ok(()) } else { Err(screen) }
    })
    .await;
}

/// How long a typed prompt may take to be seen before it is typed again.
const UNHEARD: Duration = Duration::from_secs(3);

/// Types a prompt and sends it once the CLI shows it: an Enter that comes too soon is taken for a new line.
///
/// The CLI paints its input line before it listens to the keys, and what is typed in between is lost. So a prompt that is not
/// seen after a while, with the line still empty, is typed again.
async fn say(terminal: &Terminal, prompt: &str) {
    shows(terminal, "the input line", "Type your message").await;
    let typed = Cell::new(None::<Instant>);
    wait_for("the typed prompt", LIMIT, async || {
        let screen = terminal.screen().map_err(|error| error.to_string())?;
        if screen.contains(prompt) {
            return Ok(());
        }
        let unheard = typed.get().is_none_or(|typed| typed.elapsed() > UNHEARD);
        if unheard && screen.contains("Type your message") {
            terminal.type_text(prompt).map_err(|error| error.to_string())?;
            typed.set(Some(Instant::now()));
        }
        Err(screen)
    })
    .await;
    // The CLI takes an Enter within 30 ms of other input for a new line, and no screen says when that time is over.
    tokio::time::sleep(Duration::from_millis(150)).await;
    terminal.press("Enter").unwrap();
}

#[tokio::test]
async fn a_prompt_is_answered_on_the_screen() {
    requires!(npm, tmux);
    for cli in Cli::newest().unwrap() {
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
    requires!(npm, tmux);
    for cli in Cli::newest().unwrap() {
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
