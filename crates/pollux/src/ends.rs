//! Being told to end: by a signal, or by a terminal that is closed. Neither may leave an agent behind.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Hears that this process shall end.
#[derive(Debug)]
pub struct Ends {
    terminated: Signal,
    /// None where whoever started us wants us to outlive the terminal.
    hung_up: Option<Signal>,
}

impl Ends {
    /// Listens from now on.
    pub fn new() -> io::Result<Self> {
        // Whoever listens to a signal is no longer deaf to it: so this is asked first.
        let deaf = is_deaf();
        let hung_up = if deaf { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self { terminated: signal(SignalKind::terminate())?, hung_up })
    }

    /// Comes back when it was told.
    pub async fn told(&mut self) {
        let Some(hung_up) = &mut self.hung_up else {
            self.terminated.recv().await;
            return;
        };
        tokio::select! {
            _ = self.terminated.recv() => {}
            _ = hung_up.recv() => {}
        }
    }
}

/// The same, and Ctrl-C.
#[derive(Debug)]
pub struct Stop {
    /// Ctrl-C.
    pub interrupted: Signal,
    /// Being told to end.
    pub ends: Ends,
}

impl Stop {
    /// Listens from now on.
    pub fn new() -> io::Result<Self> {
        Ok(Self { interrupted: signal(SignalKind::interrupt())?, ends: Ends::new()? })
    }

    /// Comes back when one of them was heard.
    pub async fn told(&mut self) {
        tokio::select! {
            _ = self.interrupted.recv() => {}
            () = self.ends.told() => {}
        }
    }
}

/// Whether we were started with `nohup`. Where the system does not say, we were not.
fn is_deaf() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let hangup = u64::try_from(SignalKind::hangup().as_raw_value()).unwrap_or(1);
    ignored.is_some_and(|mask| mask & (1 << (hangup - 1)) != 0)
}
