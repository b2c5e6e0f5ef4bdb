//! The environment, read once and passed on. Nothing else in the program looks at a variable.
#![expect(clippy::disallowed_methods, reason = "this is the module that reads the environment")]

use crate::daemon::hub::servers::Servers;
use crate::daemon::instance::Told;
use crate::daemon::team::badge;
use crate::team::store::Store;
use crate::trouble::Trouble;
use etcetera::BaseStrategy;
use pollux_agent::gemini::cli::{Cli, Search};
use pollux_agent::gemini::hooks::deliver::Place;
use pollux_agent::gemini::hooks::{KEY, SOCKET};
use pollux_agent::model::Failure;
use pollux_agent::terminal::Socket;
use std::env;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What the environment says.
#[derive(Debug, Clone)]
pub struct Config {
    /// Gemini's own directory: `$GEMINI_CLI_HOME/.gemini`, else `~/.gemini`.
    pub gemini: PathBuf,
    /// Where things go that can be made again, such as the index of sessions.
    pub cache: PathBuf,
    /// Where things go that must not be lost, such as rescued sessions.
    pub data: PathBuf,
    /// The settings of the user, in a file that need not be there.
    pub settings: PathBuf,
    /// What the environment says about the daemon.
    pub serve: Told,
    /// How much the daemon says of itself: `$POLLUX_LOG`.
    pub log: Option<String>,
    /// Where the command was called.
    pub cwd: PathBuf,
    /// The tmux server for terminals of ours: `$POLLUX_TMUX`, a name or a path, else `pollux`.
    pub tmux: Socket,
    /// The user's shell.
    pub shell: String,
    /// Where the agent is looked for.
    pub search: Search,
    /// Where hooks hand their payloads to.
    pub hooks: Place,
    /// The names of all variables that are set. Their values are nobody's business.
    pub variables: Vec<String>,
}

impl Config {
    /// Reads the environment of this process.
    pub fn read() -> anyhow::Result<Self> {
        let base = etcetera::choose_base_strategy().map_err(|error| {
            let trouble = Trouble::failed("no_home", "could not find your home directory");
            anyhow::Error::new(error).context(trouble.hint("set `HOME`"))
        })?;
        let home = env::var_os("GEMINI_CLI_HOME").filter(|home| !home.is_empty());
        let home = home.map_or_else(|| base.home_dir().to_path_buf(), PathBuf::from);
        let some = |name| env::var(name).ok().filter(|value| !value.is_empty());
        let cwd = env::current_dir().map_err(|error| {
            let message = "the current directory is not accessible";
            let trouble = Trouble::failed("no_directory", message);
            anyhow::Error::new(error).context(trouble.hint("change to an existing directory"))
        })?;
        Ok(Self {
            gemini: home.join(".gemini"),
            cache: base.cache_dir().join("pollux"),
            data: base.data_dir().join("pollux"),
            settings: base.config_dir().join("pollux").join("config.toml"),
            serve: serve()?,
            log: some("POLLUX_LOG"),
            cwd,
            tmux: some("POLLUX_TMUX").map_or_else(Socket::default, |name| Socket::named(&name)),
            shell: some("SHELL").unwrap_or_else(|| "/bin/sh".to_owned()),
            hooks: place(&base),
            search: Search { home: Some(base.home_dir().to_path_buf()), ..Search::of_process() },
            variables: env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect(),
        })
    }

    /// Where the agent is looked for; what a flag names comes first.
    pub fn search_for(&self, named: Option<&PathBuf>) -> Search {
        let mut search = self.search.clone();
        search.named = named.map(|path| self.cwd.join(path)).or(search.named);
        search
    }

    /// The agent's program, if it is recent enough to be driven; a flag overrides the search.
    pub async fn cli(&self, named: Option<&PathBuf>) -> Result<Cli, Failure> {
        let cli = self.installed(named).await?;
        cli.check()?;
        Ok(cli)
    }

    /// The agent's program, of any version; a flag overrides the search. Caches the version.
    pub async fn installed(&self, named: Option<&PathBuf>) -> Result<Cli, Failure> {
        Cli::find(&self.search_for(named), Some(&self.cache.join("agents.json"))).await
    }

    /// The home of an agent is where its sessions are: of what it is given, the last counts, as for the agent. One that is empty
    /// is the user's.
    pub fn at_home_of(&mut self, env: &[(String, String)]) {
        let named = env.iter().rfind(|(name, _)| name == "GEMINI_CLI_HOME");
        let home = named.and_then(|(_, home)| match home.as_str() {
            "" => self.search.home.clone(),
            home => Some(PathBuf::from(home)),
        });
        if let Some(home) = home {
            self.gemini = home.join(".gemini");
        }
    }

    /// The tmux servers on which agents are looked for.
    pub fn servers(&self) -> Servers {
        Servers::new(self.tmux.clone(), &self.data)
    }

    /// Where profiles and skills are: the user's own, then CAO's.
    pub fn profiles(&self) -> Store {
        let own = self.settings.parent().map(Path::to_path_buf).unwrap_or_default();
        let home = self.search.home.clone().unwrap_or_default();
        let cao = home.join(".aws/cli-agent-orchestrator");
        Store {
            own: own.join("profiles"),
            more: vec![cao.join("agent-store")],
            skills: vec![own.join("skills"), self.gemini.join("skills"), cao.join("skills")],
        }
    }
}

/// `POLLUX_PORT`, `POLLUX_BIND` and `POLLUX_BEHIND_PROXY`.
fn serve() -> anyhow::Result<Told> {
    Ok(Told {
        port: parsed("POLLUX_PORT")?,
        bind: parsed("POLLUX_BIND")?,
        behind_proxy: parsed("POLLUX_BEHIND_PROXY")?,
        ..Told::default()
    })
}

fn parsed<T: FromStr>(name: &'static str) -> anyhow::Result<Option<T>> {
    let text = env::var(name).unwrap_or_default();
    if text.is_empty() {
        return Ok(None);
    }
    let Ok(value) = text.parse() else {
        let message = format!("invalid value `{text}` for {name}");
        let trouble = Trouble::refused("wrong_variable", message);
        return Err(trouble.hint("correct or unset it").into());
    };
    Ok(Some(value))
}

/// The little that a hook needs to know.
#[derive(Debug, Clone)]
pub struct HookConfig {
    /// Where it hands its payload to.
    pub place: Place,
    /// What a driver calls the session before it has its id.
    pub key: Option<String>,
}

impl HookConfig {
    /// Reads the environment of this process; none where there is no home.
    #[inline]
    pub fn read() -> Option<Self> {
        let base = etcetera::choose_base_strategy().ok()?;
        Some(Self { place: place(&base), key: env::var(KEY).ok().filter(|key| !key.is_empty()) })
    }
}

/// The little that `pollux mcp` needs to know.
#[derive(Debug, Clone)]
pub struct McpConfig {
    /// The daemon's socket.
    pub socket: PathBuf,
    /// The credential of the session that it speaks for; none where it speaks for the user.
    pub badge: Option<String>,
}

impl McpConfig {
    /// Reads the environment of this process; none where there is no home.
    pub fn read() -> Option<Self> {
        let base = etcetera::choose_base_strategy().ok()?;
        let some = |name| env::var_os(name).filter(|value| !value.is_empty());
        let usual =
            || crate::daemon::instance::Place::new(&base.data_dir().join("pollux")).socket();
        let socket = some(badge::SOCKET).map_or_else(usual, PathBuf::from);
        Some(Self { socket, badge: some(badge::BADGE).and_then(|badge| badge.into_string().ok()) })
    }
}

/// The socket is in the directory of this login, if there is one, else in our own; the spool is in our own.
#[inline]
fn place(base: &impl BaseStrategy) -> Place {
    let own = base.data_dir().join("pollux");
    let named = env::var_os(SOCKET).filter(|path| !path.is_empty()).map(PathBuf::from);
    let runtime = base.runtime_dir().map(|runtime| runtime.join("pollux"));
    let socket =
        named.unwrap_or_else(|| runtime.unwrap_or_else(|| own.join("run")).join("hooks.sock"));
    Place { socket, spool: own.join("spool/hooks.jsonl") }
}

#[cfg(test)]
mod tests {
    use super::Config;
    use std::path::Path;

    #[test]
    fn of_two_homes_the_last_one_counts() {
        let mut config = Config::read().unwrap();
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        config.at_home_of(&[set("GEMINI_CLI_HOME", "/a"), set("GEMINI_CLI_HOME", "/b")]);
        assert_eq!(config.gemini, Path::new("/b/.gemini"));
        config.at_home_of(&[set("OTHER", "/c")]);
        assert_eq!(config.gemini, Path::new("/b/.gemini"));
        config.at_home_of(&[set("GEMINI_CLI_HOME", "")]);
        assert_eq!(config.gemini, config.search.home.clone().unwrap().join(".gemini"));
    }
}
