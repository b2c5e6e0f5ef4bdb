//! The settings of a daemon: a file, then the environment, then flags, each stronger than the one before.

use crate::team::limits::Limits;
use crate::trouble::Trouble;
use anyhow::Context;
use pollux_agent::regular;
use serde::Deserialize;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};

/// The port, unless told otherwise.
pub(super) const PORT: u16 = 7465;

/// What somebody says about a daemon: each may be left out.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Told {
    /// The port.
    pub port: Option<u16>,
    /// The address to listen on.
    pub bind: Option<IpAddr>,
    /// More names by which it is reached.
    pub names: Vec<String>,
    /// A certificate.
    pub certificate: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
    /// The origin of a proxy in front that speaks TLS.
    pub behind_proxy: Option<String>,
    /// How long `yolo` lasts that was given from a device.
    pub yolo_minutes: Option<u32>,
    /// How long a working agent may be silent before that is said.
    pub stall_seconds: Option<u32>,
    /// How long events are kept.
    pub keep_days: Option<u32>,
    /// How large the log may be.
    pub keep_megabytes: Option<u32>,
    /// How many agents of one team may live at once.
    pub team_workers: Option<usize>,
    /// How many levels a team may have below its first agent.
    pub team_depth: Option<u32>,
    /// How many tokens one job may take before it pauses.
    pub job_tokens: Option<u64>,
    /// How long one job may work before it pauses.
    pub job_minutes: Option<u32>,
}

/// What a daemon does.
#[derive(Debug, Clone)]
pub struct Serve {
    /// The port; none where any will do.
    pub port: Option<u16>,
    /// The address to listen on.
    pub bind: IpAddr,
    /// More names by which it is reached.
    pub more_names: Vec<String>,
    /// A certificate and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The origin of a proxy in front.
    pub behind_proxy: Option<String>,
    /// How long `yolo` lasts that was given from a device.
    pub yolo_minutes: u32,
    /// How long a working agent may be silent before that is said.
    pub stall_seconds: u32,
    /// How long events are kept.
    pub keep_days: u32,
    /// How large the log may be.
    pub keep_megabytes: u32,
    /// What a team may.
    pub team: Limits,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct File {
    serve: Told,
}

impl Told {
    /// What a file says; nothing where there is none.
    pub fn in_file(path: &Path) -> anyhow::Result<Self> {
        let unreadable = || {
            let message = format!("could not read {}", path.display());
            Trouble::refused("wrong_settings", message).hint("fix the file, or move it away")
        };
        let text = match regular::text(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            read => read.with_context(unreadable)?,
        };
        let file: File = toml::from_str(&text).with_context(unreadable)?;
        Ok(file.serve)
    }

    /// The same, but with what somebody stronger says.
    #[must_use]
    pub fn or_rather(mut self, stronger: Self) -> Self {
        self.names.extend(stronger.names);
        Self {
            port: stronger.port.or(self.port),
            bind: stronger.bind.or(self.bind),
            names: self.names,
            certificate: stronger.certificate.or(self.certificate),
            key: stronger.key.or(self.key),
            behind_proxy: stronger.behind_proxy.or(self.behind_proxy),
            yolo_minutes: stronger.yolo_minutes.or(self.yolo_minutes),
            stall_seconds: stronger.stall_seconds.or(self.stall_seconds),
            keep_days: stronger.keep_days.or(self.keep_days),
            keep_megabytes: stronger.keep_megabytes.or(self.keep_megabytes),
            team_workers: stronger.team_workers.or(self.team_workers),
            team_depth: stronger.team_depth.or(self.team_depth),
            job_tokens: stronger.job_tokens.or(self.job_tokens),
            job_minutes: stronger.job_minutes.or(self.job_minutes),
        }
    }

    /// Where the daemon listens, unless nobody asked for a port and this one is taken.
    pub fn address(&self) -> SocketAddr {
        let bind = self.bind.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        SocketAddr::new(bind, self.port.unwrap_or(PORT))
    }

    /// The same as arguments of `pollux serve`.
    pub fn arguments(&self) -> Vec<OsString> {
        let mut all: Vec<OsString> = Vec::new();
        let mut add = |flag: &str, value: Option<OsString>| {
            if let Some(value) = value {
                all.extend([flag.into(), value]);
            }
        };
        add("--port", self.port.map(|port| port.to_string().into()));
        add("--bind", self.bind.map(|bind| bind.to_string().into()));
        for name in &self.names {
            add("--name", Some(name.into()));
        }
        add("--certificate", self.certificate.clone().map(Into::into));
        add("--key", self.key.clone().map(Into::into));
        add("--behind-proxy", self.behind_proxy.clone().map(Into::into));
        all
    }

    /// What the daemon does then.
    pub fn settle(self) -> anyhow::Result<Serve> {
        let bind = self.address().ip();
        let certificate = match (self.certificate, self.key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => {
                let trouble = Trouble::refused(
                    "half_a_certificate",
                    "`--certificate` and `--key` must be used together",
                );
                return Err(trouble.hint("pass both: `--certificate FILE --key FILE`").into());
            }
        };
        let here = |origin: &str| {
            let rest = origin.strip_prefix("http://localhost");
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
        };
        if let Some(origin) = &self.behind_proxy
            && !origin.starts_with("https://")
            && !here(origin)
        {
            let trouble =
                Trouble::refused("no_tls", "the origin of a reverse proxy must use https");
            return Err(trouble.hint("for example: https://pollux.example.com").into());
        }
        let own = Limits::default();
        Ok(Serve {
            port: self.port,
            bind,
            more_names: self.names,
            certificate,
            behind_proxy: self.behind_proxy,
            yolo_minutes: self.yolo_minutes.unwrap_or(60),
            stall_seconds: self.stall_seconds.unwrap_or(90),
            keep_days: self.keep_days.unwrap_or(90),
            keep_megabytes: self.keep_megabytes.unwrap_or(4096),
            team: Limits {
                workers: self.team_workers.unwrap_or(own.workers),
                depth: self.team_depth.unwrap_or(own.depth),
                tokens: self.job_tokens.or(own.tokens),
                time: self.job_minutes.map_or(own.time, |minutes| {
                    Some(jiff::SignedDuration::from_mins(i64::from(minutes)))
                }),
            },
        })
    }
}

impl Serve {
    /// True where a proxy in front speaks TLS, and the daemon need not.
    pub(super) fn is_proxied(&self) -> bool {
        let https = |origin: &str| origin.starts_with("https://");
        self.certificate.is_none() && self.behind_proxy.as_deref().is_some_and(https)
    }

    /// The names by which a daemon is reached that is bound to an address.
    pub(super) fn names(&self, bound: IpAddr, others: Others) -> Vec<String> {
        let local = || vec!["127.0.0.1".to_owned(), "localhost".to_owned(), "[::1]".to_owned()];
        let mut names = match (bound, others) {
            // Only what is ours: a browser would show its cookie to whoever has the other address.
            (address, Others::Elsewhere) if address.is_loopback() => vec![written(address)],
            (address, Others::Nobody) if address.is_loopback() => {
                vec![written(address), "localhost".to_owned()]
            }
            (address, Others::Ours) if address.is_loopback() => local(),
            // In the clear, for the proxy alone: nobody else is sent there.
            _ if self.is_proxied() => local(),
            (address, _) if address.is_unspecified() => {
                let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
                names.extend(outward().map(written));
                let host = rustix::system::uname().nodename().to_string_lossy().to_lowercase();
                names.push(format!("{host}.local"));
                names.push(host);
                names
            }
            (address, _) => vec![written(address)],
        };
        names.extend(self.more_names.iter().cloned());
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Who has the other address of this machine, that of the other kind, on the same port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    /// We do.
    Ours,
    /// Nobody can: there is no such address here.
    Nobody,
    /// Somebody else, or there is no other address to ask for.
    Elsewhere,
}

/// The other address of this machine, where this is one of the two that `localhost` is.
pub(super) fn twin(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(Ipv4Addr::LOCALHOST) => Some(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V6(Ipv6Addr::LOCALHOST) => Some(Ipv4Addr::LOCALHOST.into()),
        _ => None,
    }
}

/// An address as part of another one.
pub(super) fn written(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// The address by which others reach this machine: that of the way out. Nothing is sent.
fn outward() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|address| !address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::{IpAddr, Others, Told, Trouble};

    #[test]
    fn a_daemon_is_called_only_by_what_it_has_bound() {
        let serve = Told::default().settle().unwrap();
        let one: IpAddr = "127.0.0.1".parse().unwrap();
        assert_eq!(serve.names(one, Others::Elsewhere), ["127.0.0.1"]);
        assert_eq!(serve.names(one, Others::Nobody), ["127.0.0.1", "localhost"]);
        assert_eq!(serve.names(one, Others::Ours), ["127.0.0.1", "[::1]", "localhost"]);
        let five = "127.0.0.5".parse().unwrap();
        assert_eq!(serve.names(five, Others::Elsewhere), ["127.0.0.5"]);
    }

    #[test]
    fn settings_that_cannot_be_read_say_which_file_they_are_in() {
        let directory = tempfile::tempdir().unwrap();
        let (unread, wrong) =
            (directory.path().to_path_buf(), directory.path().join("config.toml"));
        std::fs::write(&wrong, "[serve]\nprot = 1\n").unwrap();
        for file in [unread, wrong] {
            let error = Told::in_file(&file).unwrap_err();
            let trouble: &Trouble = error.downcast_ref().unwrap();
            assert!(trouble.message.contains(&file.display().to_string()), "{error:#}");
            assert!(trouble.hint.is_some());
        }
        assert!(Told::in_file(&directory.path().join("none")).unwrap().port.is_none());
    }
}
