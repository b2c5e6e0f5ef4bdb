//! Keys and lines of the person at the terminal, for as long as somebody wants them.
//!
//! A read cannot be taken back: it would hold up the end of the program, and leave the terminal as nobody wants it. So one is
//! begun only when there is something to read, and the terminal is as it was whenever nobody asks.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use rustix::termios::{tcgetattr, tcsetattr};
use std::io::{self, BufRead, IsTerminal, Stdin, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How often it is looked at whether somebody still waits.
const BEAT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Whether somebody still waits for what the person says.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    no_more: Arc<AtomicBool>,
}

impl Wanted {
    /// Nobody waits any more.
    pub fn end(&self) {
        self.no_more.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.no_more.load(Ordering::Relaxed)
    }
}

/// A terminal that gives each key as it is pressed, and shows none. Ctrl-C is Ctrl-C here too.
#[derive(Debug)]
pub struct Keys {
    stdin: Stdin,
    before: Termios,
}

impl Keys {
    /// From now on. What was typed before was not meant as an answer.
    pub fn open() -> io::Result<Self> {
        let stdin = io::stdin();
        let before = tcgetattr(&stdin)?;
        let mut keys = before.clone();
        keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        keys.special_codes[SpecialCodeIndex::VMIN] = 1;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&stdin, OptionalActions::Flush, &keys)?;
        Ok(Self { stdin, before })
    }

    /// The next key that is a letter or a sign; none when nobody waits for it any more.
    pub fn next(&self, wanted: &Wanted) -> io::Result<Option<char>> {
        let mut bytes = [0; 64];
        while is_there(&self.stdin, wanted)? {
            let read = rustix::io::read(&self.stdin, &mut bytes)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let typed = String::from_utf8_lossy(bytes.get(..read).unwrap_or_default());
            // An arrow comes as several signs, of which the first is none that can be seen.
            if let Some(key) = typed.chars().next().filter(|key| !key.is_control()) {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _gone = tcsetattr(&self.stdin, OptionalActions::Drain, &self.before);
    }
}

/// One line, behind some words where a person is asked; none at the end of stdin, and when nobody waits for it any more.
pub fn line(before: &str, wanted: &Wanted) -> io::Result<Option<String>> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        let mut out = io::stderr().lock();
        out.write_all(before.as_bytes())?;
        out.flush()?;
        // Here a line is there as a whole, or not at all. Of a pipe something may have been read already.
        if !is_there(&stdin, wanted)? {
            return Ok(None);
        }
    }
    let mut line = Vec::new();
    let read = stdin.lock().read_until(b'\n', &mut line)?;
    let text = String::from_utf8_lossy(&line);
    Ok((read > 0).then(|| text.trim_end_matches(['\r', '\n']).to_owned()))
}

/// Waits until there is something to read. False when nobody waits for it any more.
fn is_there(stdin: &Stdin, wanted: &Wanted) -> io::Result<bool> {
    while !wanted.is_over() {
        match poll(&mut [PollFd::new(stdin, PollFlags::IN)], Some(&BEAT)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(false)
}
