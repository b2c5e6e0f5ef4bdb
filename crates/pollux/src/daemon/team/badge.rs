//! What one agent's process is lent: a credential, and the files that name its role and its limits. All of it goes when
//! the process does; what a crash left is swept away when the next daemon starts.

use crate::daemon::door::{Secret, hash};
use crate::daemon::guard::lock;
use crate::daemon::own_file;
use crate::team::given::Given;
use crate::team::profile::Server;
use crate::team::tools::{OWN_SERVER, Tools};
use pollux_agent::acp::{McpServer, Transport, Variable};
use pollux_agent::gemini::{apart, policies};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use tokio_util::sync::CancellationToken;

/// Who holds which credential, and where what is lent lies.
#[derive(Debug, Default)]
pub struct Badges {
    holders: Mutex<HashMap<[u8; 32], Held>>,
    /// Sessions whose process was lent something by an earlier daemon, until it is known which of them live.
    earlier: Mutex<Vec<String>>,
    place: OnceLock<Lending>,
}

/// A credential that is good: whose it is.
#[derive(Debug)]
struct Held {
    session: String,
    /// Ends what was opened with it, when this is dropped.
    ends: CancellationToken,
}

impl Held {
    fn new(session: &str) -> Self {
        Self { session: session.to_owned(), ends: CancellationToken::new() }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.ends.cancel();
    }
}

/// How a process is to be lent what it is given.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'g> {
    /// What it is given.
    pub given: &'g Given,
    /// What our server is called.
    pub own: &'g str,
    /// The policies that it would read if it were given none.
    pub users: &'g [PathBuf],
}

/// Where what is lent lies, and how our server is reached.
#[derive(Debug, Clone)]
pub struct Lending {
    /// The directory, which is the user's alone.
    pub directory: PathBuf,
    /// The address of our server; none where an agent cannot be expected to reach it.
    pub url: Option<String>,
    /// The program that speaks for it over stdio.
    pub program: PathBuf,
    /// The daemon's own socket.
    pub socket: PathBuf,
}

/// What one process is lent. It goes back when this is dropped.
#[derive(Debug)]
pub struct Lent {
    badges: Arc<Badges>,
    badge: [u8; 32],
    directory: PathBuf,
    /// More arguments.
    pub args: Vec<OsString>,
    /// More variables.
    pub env: Vec<(OsString, OsString)>,
    /// MCP servers.
    pub servers: Vec<McpServer>,
    /// True where its process outlives the daemon, and keeps what it was lent.
    stays: bool,
}

/// What is written down of a credential whose process outlives the daemon.
#[derive(Debug, Serialize, Deserialize)]
struct Holder {
    session: String,
    hash: [u8; 32],
}

/// The file that says whose something is.
const HOLDER: &str = "holder.json";
/// The file with the rules for its tools.
const POLICY: &str = "policy.toml";
/// The variable that names the file with what the agent is told.
const SYSTEM: &str = "GEMINI_SYSTEM_MD";
/// The variables by which `pollux mcp` knows whose it is.
pub const BADGE: &str = "POLLUX_BADGE";
/// The variable that names the daemon's socket to `pollux mcp`.
pub const SOCKET: &str = "POLLUX_SOCKET";

impl Badges {
    /// Opens the counter, and sweeps away what an earlier daemon left; not yet what a process may still have that
    /// outlived it.
    pub fn open(&self, lending: Lending) -> io::Result<()> {
        for entry in fs::read_dir(&lending.directory).into_iter().flatten().flatten() {
            let text = fs::read_to_string(entry.path().join(HOLDER)).unwrap_or_default();
            match serde_json::from_str::<Holder>(&text) {
                Ok(holder) => {
                    lock(&self.earlier).push(holder.session.clone());
                    self.holders().insert(holder.hash, Held::new(&holder.session));
                }
                // What cannot be removed is nobody's credential, and no reason not to serve.
                Err(_) => drop(clear(&entry.path())),
            }
        }
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&lending.directory)?;
        // Only the first daemon of a process; tests have one each.
        let _first = self.place.set(lending);
        Ok(())
    }

    /// Sweeps away what was lent to processes that have not outlived the daemon after all.
    pub fn sweep(&self, lives: impl Fn(&str) -> bool) {
        let mut gone = std::mem::take(&mut *lock(&self.earlier));
        gone.retain(|session| !lives(session));
        self.holders().retain(|_, held| !gone.contains(&held.session));
        for session in gone {
            if let Some(place) = self.place.get() {
                // What cannot be removed now is swept away when the next daemon starts.
                let _gone = clear(&place.directory.join(session));
            }
        }
    }

    /// What a process has that has outlived the daemon which lent it.
    pub fn still(self: &Arc<Self>, session: &str) -> Option<Lent> {
        let holders = self.holders();
        let (hash, _) = holders.iter().find(|(_, held)| held.session == session)?;
        Some(Lent {
            badges: Arc::clone(self),
            badge: *hash,
            directory: self.place.get()?.directory.join(session),
            args: Vec::new(),
            env: Vec::new(),
            servers: Vec::new(),
            stays: true,
        })
    }

    /// The session whose credential this is, and what is cancelled when the credential is good for nothing any more.
    pub fn holder(&self, badge: &str) -> Option<(String, CancellationToken)> {
        let holders = self.holders();
        holders.get(&hash(badge)).map(|held| (held.session.clone(), held.ends.clone()))
    }

    /// Lends a session what it was given.
    pub fn lend(self: &Arc<Self>, session: &str, terms: Terms<'_>) -> io::Result<Lent> {
        let given = terms.given;
        let place = self
            .place
            .get()
            .ok_or_else(|| io::Error::other("the directory for agent files is not ready"))?;
        let directory = place.directory.join(session);
        if directory.exists() {
            clear(&directory)?;
        }
        fs::DirBuilder::new().mode(0o700).create(&directory)?;
        let badge = Secret::random();
        let mut lent = Lent {
            badges: Arc::clone(self),
            badge: hash(badge.expose()),
            args: Vec::new(),
            env: Vec::new(),
            servers: Vec::new(),
            stays: false,
            directory,
        };
        let system = lent.file("system.md", &system(given, terms.own))?;
        lent.env.push((SYSTEM.into(), system.into()));
        let named = |name: &str| if name == OWN_SERVER { terms.own } else { name }.to_owned();
        let policy = given.tools.policy_for(&named);
        if !policy.is_empty() {
            let users = lent.rules_of_user(terms)?;
            let args = policies::arguments(&lent.file(POLICY, &policy)?, &users);
            lent.args = args.map_err(io::Error::other)?;
        }
        if given.teams {
            self.holders().insert(lent.badge, Held::new(session));
            lent.servers.push(own(place, terms.own, badge.expose()));
        }
        let servers = given.servers.iter().filter(|(name, _)| given.tools.has(&format!("@{name}")));
        lent.servers.extend(servers.map(|(name, server)| of_profile(name, server)));
        Ok(lent)
    }

    fn holders(&self) -> MutexGuard<'_, HashMap<[u8; 32], Held>> {
        lock(&self.holders)
    }
}

impl Lent {
    /// The user's policies for it: as they are, or, where its tools are limited, what they say of these.
    fn rules_of_user(&self, terms: Terms<'_>) -> io::Result<Vec<PathBuf>> {
        let Tools::Only(only) = &terms.given.tools else { return Ok(terms.users.to_vec()) };
        let texts = policies::about(terms.users, only).into_iter().enumerate();
        texts.map(|(no, text)| self.file(&format!("users-{no}.toml"), &text)).collect()
    }

    fn file(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.directory.join(name);
        own_file::make(&path, text.as_bytes())?;
        Ok(path)
    }

    /// For a process that takes servers from its settings only: a private home, which links to
    /// the user's.
    pub fn at_home(&mut self, users: &Path) -> io::Result<()> {
        if !self.servers.is_empty() {
            let env = apart::home(users, &self.directory.join("home"), &self.servers)?;
            self.env.extend(env.into_iter().map(|(name, value)| (name.into(), value)));
        }
        Ok(())
    }

    /// For a process that outlives the daemon: the next one will know it again.
    pub fn stay(&mut self, session: &str) -> io::Result<()> {
        let holder = Holder { session: session.to_owned(), hash: self.badge };
        self.badges.holders().entry(self.badge).or_insert_with(|| Held::new(session));
        self.file(HOLDER, &serde_json::to_string(&holder)?)?;
        self.stays = true;
        Ok(())
    }

    /// The process is gone: all of it goes back.
    pub fn give_back(mut self) {
        self.stays = false;
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if self.stays {
            return;
        }
        self.badges.holders().remove(&self.badge);
        // What cannot be removed now is swept away when the next daemon starts.
        let _gone = clear(&self.directory);
    }
}

/// Removes what a process was lent. What its CLI has made in a home of its own is the user's.
fn clear(directory: &Path) -> io::Result<()> {
    apart::bring_back(&directory.join("home"))?;
    fs::remove_dir_all(directory)
}

/// What an agent is told, and what our server is called where that is not its name.
fn system(given: &Given, own: &str) -> String {
    if own == OWN_SERVER {
        return given.system.clone();
    }
    format!(
        "{}\n\nThe MCP server `{OWN_SERVER}` is called `{own}` here.\n",
        given.system.trim_end()
    )
}

fn own(place: &Lending, name: &str, badge: &str) -> McpServer {
    let variable = |name: &str, value: String| Variable { name: name.into(), value };
    match &place.url {
        Some(url) => McpServer::Remote {
            transport: Transport::Http,
            name: name.into(),
            url: url.clone(),
            headers: vec![variable("Authorization", format!("Bearer {badge}"))],
        },
        None => McpServer::Stdio {
            name: name.into(),
            command: place.program.clone(),
            args: vec!["mcp".into()],
            env: vec![
                variable(BADGE, badge.to_owned()),
                variable(SOCKET, place.socket.display().to_string()),
            ],
        },
    }
}

fn of_profile(name: &str, server: &Server) -> McpServer {
    let variables = |all: &std::collections::BTreeMap<String, String>| {
        let one = |(name, value): (&String, &String)| Variable {
            name: name.clone(),
            value: value.clone(),
        };
        all.iter().map(one).collect()
    };
    match server {
        Server::Remote { url, transport, headers } => McpServer::Remote {
            transport: match transport.as_deref() {
                Some("sse") => Transport::Sse,
                _ => Transport::Http,
            },
            name: name.to_owned(),
            url: url.clone(),
            headers: variables(headers),
        },
        Server::Program { command, args, env } => McpServer::Stdio {
            name: name.to_owned(),
            command: command.into(),
            args: args.clone(),
            env: variables(env),
        },
    }
}
