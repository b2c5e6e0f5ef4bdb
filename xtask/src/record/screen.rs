//! The terminal side of a recording: the screen before the prompt, at each question and after the answer, plain and with
//! colours, and all bytes that the CLI sent to its terminal.

use pollux_agent::gemini::screen::{Reading, read};
use pollux_agent::model::SessionStatus;
use pollux_agent::terminal::{Screen, Size};
use pollux_e2e::{Cli, Stage, Terminal};
use pollux_rehearsal::Script;
use serde_json::json;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A state that does not come within this is recorded as it is, and marked.
const LIMIT: Duration = Duration::from_secs(40);

/// How long a prompt that was typed may take to be seen before it is typed again.
const UNHEARD: Duration = Duration::from_secs(3);

/// More questions than this are a loop.
const MOST_QUESTIONS: usize = 4;

/// One terminal while it is recorded.
struct Recorder<'a> {
    terminal: Terminal,
    size: Size,
    name: &'a str,
    part: PathBuf,
}

pub(super) async fn record(
    cli: &Cli,
    name: &str,
    script: &Script,
    home: &Path,
    size: Size,
) -> anyhow::Result<()> {
    let Some(trial) = script.trial() else { return Ok(()) };
    let stage = Stage::new(cli, script.clone()).await?;
    // Without the flag that lets everything pass: it is the questions that are wanted.
    let args = trial.args.iter().map(String::as_str).filter(|flag| *flag != "--yolo");
    let args: Vec<&str> = args.collect();
    let terminal = Terminal::start_with(&stage, &args, &[], (size.columns, size.rows))?;
    let recorder = Recorder { terminal, size, name, part: home.join("tui") };
    recorder.terminal.keep_bytes(&recorder.file("stream", "raw"))?;
    recorder.conversation(&trial.prompt).await?;
    drop(recorder);
    stage.close().await;
    Ok(())
}

impl Recorder<'_> {
    async fn conversation(&self, prompt: &str) -> anyhow::Result<()> {
        let is = |wanted| move |reading: &Reading| reading.status == Some(wanted);
        let ready = self.reached(is(SessionStatus::Idle)).await;
        self.capture("idle", ready)?;
        let typed = self.type_in(prompt).await?;
        self.capture("typed", typed)?;
        // An Enter within 30 ms of other input is taken for a new line, and no screen says when that time is over.
        tokio::time::sleep(Duration::from_millis(150)).await;
        self.terminal.press("Enter")?;
        self.reached(|reading| reading.draft.as_deref() != Some(prompt)).await;
        for n in 1..=MOST_QUESTIONS {
            let over = |reading: &Reading| {
                let answered = reading.answer.is_some() || reading.error.is_some();
                (reading.status == Some(SessionStatus::Idle) && answered)
                    || reading.dialog.is_some()
            };
            let settled = self.reached(over).await;
            let Some(dialog) = self.reading().and_then(|reading| reading.dialog) else {
                return self.end(settled).await;
            };
            self.capture(&format!("asked-{n}"), settled)?;
            self.terminal.press("1")?;
            self.reached(|reading| reading.dialog.as_ref() != Some(&dialog)).await;
        }
        self.end(false).await
    }

    async fn end(&self, settled: bool) -> anyhow::Result<()> {
        self.capture("answered", settled)?;
        self.terminal.press("C-d")?;
        let once = self.reached(|reading| reading.dialog.is_some()).await;
        self.capture("leaving", once)?;
        self.terminal.press("C-d")?;
        Ok(())
    }

    /// The CLI paints its input line before it listens to the keys, and what is typed in between is lost.
    async fn type_in(&self, prompt: &str) -> anyhow::Result<bool> {
        let since = Instant::now();
        while since.elapsed() < LIMIT {
            self.terminal.type_text(prompt)?;
            let typed = Instant::now();
            while typed.elapsed() < UNHEARD {
                let words = |text: &str| text.split_whitespace().collect::<String>();
                let draft = self.reading().and_then(|reading| reading.draft).unwrap_or_default();
                if words(&draft) == words(prompt) {
                    return Ok(true);
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(false)
    }

    fn reading(&self) -> Option<Reading> {
        let text = self.terminal.rows().ok()?;
        Some(read(&Screen::from_capture(&text, self.size).titled(self.terminal.title().ok()?)))
    }

    async fn reached(&self, condition: impl Fn(&Reading) -> bool) -> bool {
        let since = Instant::now();
        while since.elapsed() < LIMIT {
            if self.reading().is_some_and(|reading| condition(&reading)) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        false
    }

    fn file(&self, state: &str, kind: &str) -> PathBuf {
        let Size { columns, rows } = self.size;
        self.part.join(format!("{}-{state}.{columns}x{rows}.{kind}", self.name))
    }

    fn capture(&self, state: &str, reached: bool) -> anyhow::Result<()> {
        // A terminal that ended has no screen any more; that is a finding, not a failure.
        let plain = self.terminal.rows().unwrap_or_default();
        let coloured = self.terminal.colours().unwrap_or_default();
        let title = self.terminal.title().unwrap_or_default();
        fs::write(self.file(state, "txt"), plain)?;
        fs::write(self.file(state, "ansi"), coloured)?;
        let Size { columns, rows } = self.size;
        let states = self.part.join(format!("_states.{columns}x{rows}.jsonl"));
        let mut file = File::options().create(true).append(true).open(states)?;
        let state = format!("{}-{state}", self.name);
        Ok(writeln!(file, "{}", json!({ "state": state, "title": title, "wait_ok": reached }))?)
    }
}
