//! The only code that prints: data to stdout, everything else to stderr, and the exit code.

pub mod human;
pub mod keys;
pub mod status;
pub mod table;

use crate::render::clean;
use crate::trouble::{Kind, Trouble};
use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use pollux_agent::model::Failure;
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::{stdin, stdout};
use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufRead, BufWriter, IsTerminal, StdoutLock, Write};
use std::process::ExitCode;

/// How wide a table is where no window says.
const PIPED_WIDTH: usize = 160;

/// Labels of errors.
const ERROR: Style = AnsiColor::Red.on_default().bold();
/// Labels of warnings.
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// Labels of hints.
const HINT: Style = AnsiColor::Cyan.on_default();

/// Standard output for data: buffered, colour taken out where it is not wanted.
pub type Out = BufWriter<AutoStream<StdoutLock<'static>>>;

/// Standard output for text that may be coloured.
pub fn out() -> Out {
    BufWriter::with_capacity(64 * 1024, AutoStream::auto(io::stdout().lock()))
}

/// Standard output for data that has no colour in it: JSON, which must not pay for looking.
pub fn raw() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(256 * 1024, io::stdout().lock())
}

/// The width of the window, if stdout is one.
pub fn width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}

/// How wide a table may be: as the window, or as one that nobody sees.
pub fn table_width() -> usize {
    width().unwrap_or(PIPED_WIDTH)
}

/// True where a person can be asked: both ends are a terminal.
pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// A line to stderr. Where that cannot take it, on a full disk perhaps, there is nobody left to tell. What stands in it may be
/// of a file, a model or an agent: whoever calls this has taken out what a terminal would obey.
fn aside(line: fmt::Arguments<'_>) {
    let _unheard = writeln!(anstream::stderr(), "{line}");
}

/// Something that did not stop the command, but that the user should know.
pub fn warn(text: &str) {
    aside(format_args!("{WARNING}warning:{WARNING:#} {}", clean(text)));
}

/// True where stdin is a terminal, so that there is nobody to read from but a person.
pub fn stdin_is_a_person() -> bool {
    io::stdin().is_terminal()
}

/// True where stdin has something to read, or is at its end. Waits half a second for it, as Gemini CLI does: whoever
/// started us may have left it open with nothing to come.
pub fn stdin_has_something() -> bool {
    let stdin = io::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    let patience = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };
    poll(&mut polled, Some(&patience)).is_ok_and(|ready| ready > 0)
}

/// The lines of stdin, until nobody writes any more. Bytes that are no text are replaced: one bad line is one bad line.
pub fn lines() -> impl Iterator<Item = String> {
    let text = |line: Vec<u8>| {
        String::from_utf8(line)
            .unwrap_or_else(|wrong| String::from_utf8_lossy(wrong.as_bytes()).into_owned())
    };
    io::stdin().lock().split(b'\n').map_while(Result::ok).map(text)
}

/// True where data and remarks go to the same screen.
pub fn both_are_terminals() -> bool {
    io::stdout().is_terminal() && io::stderr().is_terminal()
}

/// A remark beside the data, which nobody needs to read.
pub fn quiet(text: &str) {
    let dim = Style::new().dimmed();
    aside(format_args!("{dim}{}{dim:#}", clean(text)));
}

/// Why a run failed.
pub fn failure(failure: &Failure) {
    aside(format_args!("{ERROR}error:{ERROR:#} {}", clean(&failure.message)));
    let mut facts = vec![format!("code: {}", failure.code)];
    facts.extend(failure.exit_code.map(|code| format!("exit code {code}")));
    facts.extend(failure.signal.map(|signal| format!("signal {signal}")));
    facts.extend(failure.http_status.map(|status| format!("HTTP {status}")));
    facts.extend(failure.retryable.then(|| "may succeed if retried".to_owned()));
    aside(format_args!("  {}", facts.join(", ")));
    if let Some(hint) = &failure.hint {
        aside(format_args!("\n{HINT}hint:{HINT:#} {}", clean(hint)));
    }
}

/// What an agent said: to the letter for a program that reads it, and without what a terminal would obey for a person.
pub fn answer(text: &str) -> anyhow::Result<()> {
    say(&as_seen(text))
}

/// What an agent has said, for stdout: a terminal obeys nothing of it, and a file or a pipe gets it as it is.
pub fn as_seen(text: &str) -> Cow<'_, str> {
    if io::stdout().is_terminal() { clean(text) } else { Cow::Borrowed(text) }
}

/// A line of data.
pub fn say(text: &str) -> anyhow::Result<()> {
    let mut out = raw();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

/// A line for the person who waits.
pub fn note(text: &str) {
    aside(format_args!("{}", clean(text)));
}

/// Somebody looked for what there is, and there is nothing: that is an answer, and not an error. Who names something that is not
/// there is refused instead.
pub fn nothing(why: &Trouble) -> ExitCode {
    note(&why.message);
    if let Some(hint) = &why.hint {
        aside(format_args!("{HINT}hint:{HINT:#} {}", clean(hint)));
    }
    ExitCode::SUCCESS
}

/// The answer of a hook that does not interfere. Whether the CLI hears it is the CLI's affair.
#[inline]
pub fn nothing_to_say() {
    let out = stdout();
    let mut polled = [PollFd::new(&out, PollFlags::OUT)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let _asked = poll(&mut polled, Some(&at_once));
    let [asked] = polled;
    // Where nobody listens, to say it all the same would be the end of a process that has no `main` yet.
    if !asked.revents().contains(PollFlags::ERR) {
        let _heard = rustix::io::write(out, b"{}");
    }
}

/// What a hook is told on stdin, up to so many bytes; none where a person sits there. Without the buffers that Rust keeps for
/// longer conversations.
#[inline]
pub fn told(most: usize) -> Option<Vec<u8>> {
    const USUAL: usize = 2048;
    let stdin = stdin();
    if stdin.is_terminal() {
        return None;
    }
    let mut told = Vec::with_capacity(USUAL);
    while told.len() < most {
        if told.len() == told.capacity() {
            told.reserve(USUAL);
        }
        match rustix::io::read(stdin, spare_capacity(&mut told)) {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    Some(told)
}

/// What clap says about the arguments: help and version are no errors, the rest is refused.
pub fn usage(error: &clap::Error) -> ExitCode {
    let printed = error.print();
    // Who has read enough of the help went away.
    let heard = printed.map_or_else(|error| error.kind() == io::ErrorKind::BrokenPipe, |()| true);
    if error.use_stderr() || !heard { ExitCode::from(1) } else { ExitCode::SUCCESS }
}

/// The end of the program: prints the error, if there is one, and gives the exit code.
///
/// A reader that went away (`pollux … | head`) has had enough, which is success. A pipe of ours that broke is a trouble.
pub fn ended(outcome: anyhow::Result<ExitCode>) -> ExitCode {
    match outcome {
        Ok(code) => code,
        Err(error) if find(&error).is_none() && is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprint_error(&error);
            let refused = find(&error).is_some_and(|trouble| trouble.kind == Kind::Refused);
            ExitCode::from(if refused { 1 } else { 2 })
        }
    }
}

fn eprint_error(error: &anyhow::Error) {
    aside(format_args!("{ERROR}error:{ERROR:#} {}", clean(&error.to_string())));
    for cause in error.chain().skip(1) {
        aside(format_args!("  caused by: {}", clean(&cause.to_string())));
    }
    if let Some(hint) = find(error).and_then(|trouble| trouble.hint.as_deref()) {
        aside(format_args!("\n{HINT}hint:{HINT:#} {}", clean(hint)));
    }
}

fn find(error: &anyhow::Error) -> Option<&Trouble> {
    // A trouble that was given as context is not an error of the chain by itself; only anyhow can look inside.
    error.downcast_ref().or_else(|| error.chain().find_map(|cause| cause.downcast_ref()))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(broken)
            || cause
                .downcast_ref::<serde_json::Error>()
                .is_some_and(|error| error.io_error_kind() == Some(io::ErrorKind::BrokenPipe))
    })
}

/// Writes a text to stdout.
pub fn text(text: &str) -> anyhow::Result<()> {
    let mut out = out();
    out.write_all(text.as_bytes())?;
    if !text.is_empty() && !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

/// Whether nobody reads what is printed any more: `pollux logs -f | head`.
pub fn is_unread() -> bool {
    let mut asked = [PollFd::from_borrowed_fd(stdout(), PollFlags::empty())];
    let told = poll(&mut asked, Some(&Timespec::default()));
    told.is_ok() && asked[0].revents().contains(PollFlags::ERR)
}

/// What the daemon says of itself goes to stderr: for people, or in the background as JSON into its file.
pub fn journal(background: bool, wanted: Option<&str>) {
    use tracing_subscriber::EnvFilter;
    let filter = wanted.and_then(|wanted| EnvFilter::try_new(wanted).ok());
    let filter = filter.unwrap_or_else(|| EnvFilter::new("info"));
    let mut journal = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    if !io::stderr().is_terminal() {
        journal = journal.with_ansi(false);
    }
    // Where there is one already it goes on; that is so in tests only.
    let _set = if background { journal.json().try_init() } else { journal.compact().try_init() };
}

/// Writes a value as one JSON document with a line end, for `--json`.
pub fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut out = raw();
    serde_json::to_writer_pretty(&mut out, value)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// Writes a value as one line of JSON. What was taken over byte for byte may have line breaks in it; JSON has them only
/// between its tokens, where they mean nothing.
pub fn line(out: &mut dyn Write, value: &impl serde::Serialize) -> anyhow::Result<()> {
    let json = serde_json::to_string(value)?;
    for part in json.split(['\n', '\r']) {
        out.write_all(part.trim_start_matches([' ', '\t']).as_bytes())?;
    }
    Ok(out.write_all(b"\n")?)
}

#[cfg(test)]
mod tests {
    use super::{Trouble, ended};
    use std::io;
    use std::process::ExitCode;

    #[test]
    fn a_reader_that_went_away_has_had_enough_and_a_daemon_that_did_is_an_error() {
        let broken = || anyhow::Error::new(io::Error::from(io::ErrorKind::BrokenPipe));
        let code = |error: anyhow::Error| format!("{:?}", ended(Err(error)));
        assert_eq!(code(broken()), format!("{:?}", ExitCode::SUCCESS));
        let gone = broken().context(Trouble::failed("gone", "the daemon is gone"));
        assert_eq!(code(gone), format!("{:?}", ExitCode::from(2)));
    }
}
