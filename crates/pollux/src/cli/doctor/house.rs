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
            let hint = failure.hint.as_deref().unwrap_or("install tmux");
            Finding::warning(
                WHAT,
                failure.message,
                format!("{hint}; only terminal sessions need it"),
            )
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
                Finding::well(WHAT, format!("running, API {} at {at}", health.api))
            }
            Err(error) => {
                let hint = "stop it with `pollux serve down`, then try again";
                Finding::broken(WHAT, format!("does not respond: {error:#}"), hint)
            }
        },
        _ if !place.is_free() => {
            let hint = format!("see {}", place.journal().display());
            Finding::broken(WHAT, "running, but cannot be reached", hint)
        }
        _ => Finding::well(WHAT, "not running; starts on demand"),
    }
}

/// Whether a daemon that is started now would be where phones and bookmarks look for it.
fn port(config: &Config) -> Finding {
    const WHAT: &str = "port";
    let told = match Told::in_file(&config.settings) {
        Ok(told) => told.or_rather(config.serve.clone()),
        Err(error) => {
            let hint = format!("fix or remove {}", config.settings.display());
            return Finding::broken(WHAT, format!("{error:#}"), hint);
        }
    };
    let wanted = told.address();
    let Err(error) = TcpListener::bind(wanted) else {
        return Finding::well(WHAT, format!("{wanted} is free"));
    };
    let found = format!("cannot listen on {wanted}: {error}");
    if told.port.is_some() {
        return Finding::broken(
            WHAT,
            found,
            "stop the program that uses it, or choose another port: `pollux serve --port N`",
        );
    }
    let hint = "the daemon will use another port, which paired phones do not know: choose one with `pollux serve --port N`";
    Finding::warning(WHAT, found, hint)
}

/// Browsers accept push notifications only from an origin that they trust.
fn notifications(config: &Config) -> Finding {
    const WHAT: &str = "browser notifications";
    let place = Place::new(&config.data);
    let Some(address) = place.announced().filter(|_| !place.is_free()) else {
        return Finding::well(WHAT, "unknown: the daemon is not running");
    };
    if address.fingerprint.is_some() {
        let found = "not available on phones, which do not trust the self-signed certificate";
        let hint = "start the daemon with a trusted certificate (`--certificate FILE --key FILE`), or behind a \
                    proxy that has one (`--behind-proxy ORIGIN`)";
        return Finding::warning(WHAT, found, hint);
    }
    let far: Vec<&str> =
        address.origins.iter().map(String::as_str).filter(|at| !Address::is_near(at)).collect();
    if far.is_empty() {
        let found = "available in browsers on this machine; phones cannot reach this address";
        return Finding::well(WHAT, found);
    }
    Finding::well(WHAT, format!("available at {}, if its certificate is trusted", far.join(", ")))
}

/// Checks that only the user can read the credentials.
fn rights(config: &Config) -> Finding {
    const WHAT: &str = "file permissions";
    let place = Place::new(&config.data);
    let Some(directory) = place.token().parent().map(Path::to_path_buf) else {
        return Finding::well(WHAT, "nothing to check");
    };
    let open: Vec<String> = [directory, place.token(), place.socket()]
        .into_iter()
        .filter(|path| is_open(path))
        .map(|path| path.display().to_string())
        .collect();
    if open.is_empty() {
        return Finding::well(WHAT, "only you can read the daemon's credentials");
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
        let found = format!("could not read the file system of {}", there.display());
        return Finding::warning(what, found, "check the file system");
    };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let found = format!("{} MB free at {}", free >> 20, there.display());
    if free < ROOM {
        return Finding::warning(
            what,
            found,
            "free some disk space: sessions and the log are stored there",
        );
    }
    Finding::well(what, found)
}
