//! What Pollux itself needs: tmux, the daemon and its port, its files and their rights, room on the disk.

use super::Finding;
use crate::api::Health;
use crate::client::Client;
use crate::config::Config;
use crate::daemon::instance::{Address, Place, Told};
use pollux_agent::terminal::Socket;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// With less room than this, sessions and the log soon cannot be written.
const ROOM: u64 = 256 << 20;

pub(super) async fn look(config: &Config) -> Vec<Finding> {
    let mut findings = vec![tmux().await, daemon(config).await];
    if Place::new(&config.data).is_free() {
        findings.push(port(config));
    }
    findings.extend([notifications(config), rights(config)]);
    findings.push(room("disk, Pollux", &config.data));
    findings.push(room("disk, Gemini", &config.gemini));
    findings
}

async fn tmux() -> Finding {
    const WHAT: &str = "tmux";
    match Socket::version().await {
        Ok(version) => Finding::well(WHAT, version),
        Err(failure) => {
            let hint = failure.hint.as_deref().unwrap_or("install it");
            Finding::warning(WHAT, failure.message, format!("{hint}; only terminals need it"))
        }
    }
}

async fn daemon(config: &Config) -> Finding {
    const WHAT: &str = "daemon";
    let place = Place::new(&config.data);
    match Client::running(config).await {
        Ok(Some(client)) => match client.get::<Health>("/api/v1/health").await {
            Ok(health) => {
                let at = place.announced().map(|at| at.origins.join(", ")).unwrap_or_default();
                Finding::well(WHAT, format!("API {} at {at}", health.api))
            }
            Err(error) => {
                let hint = "`pollux serve down`, and again";
                Finding::broken(WHAT, format!("does not answer: {error:#}"), hint)
            }
        },
        _ if !place.is_free() => {
            let hint = format!("{} says why", place.journal().display());
            Finding::broken(WHAT, "runs, but cannot be reached", hint)
        }
        _ => Finding::well(WHAT, "does not run; it is started when it is needed"),
    }
}

/// Whether a daemon that is started now would be where phones and bookmarks look for it.
fn port(config: &Config) -> Finding {
    const WHAT: &str = "port";
    let told = match Told::in_file(&config.settings) {
        Ok(told) => told.or_rather(config.serve.clone()),
        Err(error) => {
            return Finding::broken(WHAT, format!("{error:#}"), "mend it, or move it away");
        }
    };
    let wanted = told.address();
    let Err(error) = TcpListener::bind(wanted) else {
        return Finding::well(WHAT, format!("{wanted} is free"));
    };
    let found = format!("{wanted} cannot be had: {error}");
    if told.port.is_some() {
        return Finding::broken(
            WHAT,
            found,
            "end what listens there, or choose another: `--port N`",
        );
    }
    let hint = "the daemon takes another one, which phones do not know; `pollux serve --port N` keeps to one";
    Finding::warning(WHAT, found, hint)
}

/// Browsers let nobody call them from an address that they do not trust.
fn notifications(config: &Config) -> Finding {
    const WHAT: &str = "browser notifications";
    let place = Place::new(&config.data);
    let Some(address) = place.announced().filter(|_| !place.is_free()) else {
        return Finding::well(WHAT, "depend on the daemon's address, and it does not run");
    };
    if address.fingerprint.is_some() {
        let found = "no phone can be called: it does not trust our own certificate";
        let hint = "start the daemon with a certificate that it trusts (`--certificate FILE --key FILE`), or behind a \
                    proxy that has one (`--behind-proxy ORIGIN`)";
        return Finding::warning(WHAT, found, hint);
    }
    let far: Vec<&str> =
        address.origins.iter().map(String::as_str).filter(|at| !Address::is_near(at)).collect();
    if far.is_empty() {
        let found = "in browsers on this machine; a phone does not reach this address";
        return Finding::well(WHAT, found);
    }
    Finding::well(WHAT, format!("at {}, where its certificate is trusted", far.join(", ")))
}

/// What lets somebody in is nobody else's to read.
fn rights(config: &Config) -> Finding {
    const WHAT: &str = "file rights";
    let place = Place::new(&config.data);
    let Some(directory) = place.token().parent().map(Path::to_path_buf) else {
        return Finding::well(WHAT, "nothing to look at");
    };
    let open: Vec<String> = [directory, place.token(), place.socket()]
        .into_iter()
        .filter(|path| is_open(path))
        .map(|path| path.display().to_string())
        .collect();
    if open.is_empty() {
        return Finding::well(WHAT, "only you can read what lets somebody in");
    }
    let hint = format!("chmod go-rwx {}", open.join(" "));
    Finding::broken(WHAT, format!("others can read {}", open.join(", ")), hint)
}

fn is_open(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

fn room(what: &'static str, path: &Path) -> Finding {
    // What is not made yet will be made on the disk of what is above it.
    let there = path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let Ok(disk) = rustix::fs::statvfs(there) else {
        let found = format!("{} cannot be looked at", there.display());
        return Finding::warning(what, found, "check the file system");
    };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let found = format!("{} MB free at {}", free >> 20, there.display());
    if free < ROOM {
        return Finding::warning(what, found, "make room: sessions and the log are written there");
    }
    Finding::well(what, found)
}
