//! Agents that run already: those that Pollux has started, and those that somebody else has.

use super::super::cli::{Cli, Version};
use super::super::screen::read;
use super::super::transcript::follow::Follow;
use super::adopted::Process;
use super::files::{Files, in_which};
use super::listens::Listens;
use super::live::Live;
use super::start::short_name;
use super::work::{Begun, Work};
use crate::model::{Failure, Phase};
use crate::regular;
use crate::terminal::{Emulator, Pane, Server, Socket};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What is asked of every pane.
const FACTS: &str = "#{pane_id}\t#{pane_dead}\t#{pane_pid}\t#{@pollux_key}\t#{@pollux_name}\t\
    #{@pollux_gemini}\t#{@pollux_cwd}\t#{@pollux_process}\t#{pane_current_path}\t#{pane_title}";

/// An agent in a terminal.
#[derive(Debug, Clone)]
pub struct Found {
    /// The tmux server that it is on.
    pub socket: Socket,
    /// tmux's name of its pane.
    pub pane: String,
    /// The session's id, or a name of ours until it has one; none where it was not started by us, nor adopted.
    pub key: Option<String>,
    /// What it was first called, where it was started or adopted before its id was known.
    pub name: Option<String>,
    /// The CLI's directory, `.gemini`.
    pub gemini: Option<PathBuf>,
    /// Where it works.
    pub cwd: PathBuf,
    /// The title of its window.
    pub title: String,
    /// True where it has ended, and its last screen is still there.
    pub dead: bool,
    /// The process that the pane was started with.
    pub process: Option<u32>,
    /// The CLI's own process, where the pane is somebody else's and the agent in it was adopted.
    pub adopted: Option<u32>,
    /// The same, with what tells it from another one that has its number later.
    agent: Option<Process>,
}

/// All agents on a tmux server that have a name. None where there is no such server.
pub async fn all(socket: &Socket) -> Result<Vec<Found>, Failure> {
    Ok(panes(socket).await?.into_iter().filter(|found| found.key.is_some()).collect())
}

/// All agents on a tmux server that somebody runs, and that have no name yet: by the processes in their panes.
pub async fn adoptable(socket: &Socket) -> Result<Vec<Found>, Failure> {
    let processes = Socket::processes().await;
    let runs = |found: &Found| {
        let family = found.process.map(|process| descendants(process, &processes));
        family.unwrap_or_default().iter().any(|(_, line)| is_gemini(line))
    };
    let panes = panes(socket).await?.into_iter();
    Ok(panes.filter(|found| found.key.is_none() && !found.dead && runs(found)).collect())
}

async fn panes(socket: &Socket) -> Result<Vec<Found>, Failure> {
    let lines = socket.panes(FACTS).await?;
    Ok(lines.iter().filter_map(|line| found(socket, line)).collect())
}

fn found(socket: &Socket, line: &str) -> Option<Found> {
    let fields: Vec<&str> = line.splitn(10, '\t').collect();
    let [pane, dead, process, key, name, gemini, cwd, adopted, current, title] = fields.as_slice()
    else {
        return None;
    };
    let adopted = Process::read(adopted);
    // An agent that was adopted and has gone has left its name on the pane: what is in there now is another program.
    let is_left = adopted.is_some_and(|process| !process.lives());
    let some = |field: &str| (!field.is_empty() && !is_left).then(|| field.to_owned());
    Some(Found {
        socket: socket.clone(),
        pane: (*pane).to_owned(),
        key: some(key),
        name: some(name),
        gemini: some(gemini).map(PathBuf::from),
        cwd: PathBuf::from(if cwd.is_empty() || is_left { current } else { cwd }),
        title: title.trim().to_owned(),
        dead: *dead == "1",
        process: process.parse().ok(),
        adopted: adopted.filter(|_| !is_left).map(Process::number),
        agent: adopted.filter(|_| !is_left),
    })
}

impl Found {
    /// Takes it under watch. What was said until now is taken for known.
    pub async fn watch(&self, home: &Path) -> Result<Live, Failure> {
        let server = Server::join(&self.socket, &self.pane).await?;
        self.watch_on(&server, home).await
    }

    /// The same over a connection that is there.
    pub async fn watch_on(&self, server: &Server, home: &Path) -> Result<Live, Failure> {
        let (mut files, key) = self.files(home)?;
        files.resume_known();
        self.work(server, files, key).await
    }

    /// The same for somebody who has read its session file already, and gives the place where they are: from there on
    /// all is told. Without a place all that its file has is told.
    pub async fn watch_from(
        &self,
        server: &Server,
        home: &Path,
        place: Option<Follow>,
    ) -> Result<Live, Failure> {
        let (mut files, key) = self.files(home)?;
        if let Some(place) = place {
            files.go_on(place);
        }
        self.work(server, files, key).await
    }

    fn files(&self, home: &Path) -> Result<(Files, String), Failure> {
        let gemini = self.gemini.clone().unwrap_or_else(|| home.join(".gemini"));
        let key = self.key.clone().ok_or_else(|| {
            Failure::new(Phase::Find, "not_adopted", "this agent has not been adopted")
                .hint("adopt it with `pollux adopt`")
        })?;
        let id = Some(key.clone()).filter(|key| !key.starts_with("new-"));
        Ok((Files::new(gemini, &self.cwd, id), key))
    }

    async fn work(&self, server: &Server, files: Files, key: String) -> Result<Live, Failure> {
        let pane = Pane::find(server, &self.pane).await?;
        let listens = Listens::default();
        let adopted = self.agent;
        let begun = Begun { key, files, listens, typed: None, resumed: None, adopted };
        Work::start(pane, begun, None).await
    }

    /// Whether it is called so: by the beginning of its id, or of the name that it had before.
    pub fn is_called(&self, name: &str) -> bool {
        let mut names = self.key.iter().chain(&self.name);
        !name.is_empty() && names.any(|own| own.starts_with(name))
    }

    /// Gives it a name, so that others find it, without touching it: the id of the session in whose file stands what stands on
    /// its screen, or the one that its command line tells, which may have been put away since. Where nothing was said yet, a
    /// name of ours.
    pub async fn adopt(&mut self, home: &Path) -> Result<(), Failure> {
        let server = Server::join(&self.socket, &self.pane).await?;
        let pane = Pane::find(&server, &self.pane).await?;
        let processes = Socket::processes().await;
        let family = self.process.map(|process| descendants(process, &processes));
        let cli = family.unwrap_or_default().into_iter().find(|(_, line)| is_gemini(line));
        let (number, line) = cli.ok_or_else(no_agent)?;
        installed(line).map_or(Ok(()), |cli| cli.check())?;
        let process = Process::numbered(number).ok_or_else(no_agent)?;
        let gemini = home_of(number).unwrap_or_else(|| home.to_path_buf()).join(".gemini");
        let captured = pane.capture().await?;
        let mut emulator = Emulator::new(captured.size);
        emulator.feed(captured.text.as_bytes());
        let query = read(&emulator.screen()).query;
        let told = id_in(line);
        let key =
            query.and_then(|query| in_which(&gemini, &self.cwd, &query, told.as_deref())).or(told);
        let key = key.unwrap_or_else(|| format!("new-{}", short_name()));
        for (name, value) in [
            ("process", process.to_string()),
            ("cwd", self.cwd.display().to_string()),
            ("gemini", gemini.display().to_string()),
            ("name", key.clone()),
            ("key", key.clone()),
        ] {
            pane.note(name, &value).await?;
        }
        (self.name, self.key, self.gemini) = (Some(key.clone()), Some(key), Some(gemini));
        (self.adopted, self.agent) = (Some(number), Some(process));
        Ok(())
    }
}

fn no_agent() -> Failure {
    Failure::new(Phase::Find, "no_agent", "no Gemini CLI is running in this pane")
        .hint("run `pollux adopt` without a pane to find one")
}

/// The id that a command line names, unless it may be another by now.
fn id_in(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| {
        ["--session-id", "--resume", "-r"].iter().any(|flag| word.split('=').next() == Some(flag))
    })?;
    let word = words.get(at)?;
    let value = word.split_once('=').map(|(_, value)| value);
    let value = value.or_else(|| words.get(at + 1).copied())?;
    uuid::Uuid::parse_str(value).ok().map(|_| value.to_owned())
}

/// The home that a process was given for the CLI, where the system tells.
fn home_of(process: u32) -> Option<PathBuf> {
    let environment = std::fs::read(format!("/proc/{process}/environ")).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    let value = variables.find_map(|variable| variable.strip_prefix(b"GEMINI_CLI_HOME="))?;
    Some(PathBuf::from(String::from_utf8_lossy(value).into_owned()))
        .filter(|home| home.is_absolute())
}

/// The command lines of a process and of all that it has started.
pub(super) fn descendants(process: u32, all: &[(u32, u32, String)]) -> Vec<(u32, &str)> {
    let mut family = vec![process];
    let mut at = 0;
    while let Some(parent) = family.get(at).copied() {
        family.extend(all.iter().filter(|(_, of, _)| *of == parent).map(|(own, ..)| *own));
        at += 1;
        if at > all.len() {
            break;
        }
    }
    let own = all.iter().filter(|(own, ..)| family.contains(own));
    own.map(|(own, _, line)| (*own, line.as_str())).collect()
}

/// Whether a command line is that of Gemini CLI: its program, or Node with its script.
pub(super) fn is_gemini(line: &str) -> bool {
    program_of(line).is_some()
}

/// The program of Gemini CLI in its command line, or its script after Node.
fn program_of(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let program = words.next()?;
    let first = name(program);
    if first == "gemini" {
        return Some(program);
    }
    let runs_script = matches!(first.as_str(), "node" | "bun" | "deno");
    let script = words.find(|word| !word.starts_with('-')).filter(|_| runs_script)?;
    let is_script = name(script) == "gemini"
        || script.contains("@google/gemini-cli")
        || script.contains("/gemini.js");
    is_script.then_some(script)
}

/// The installation that a command line runs, with the version of its npm package.
fn installed(line: &str) -> Option<Cli> {
    let path = Path::new(program_of(line)?);
    // A relative path is relative to a directory that is unknown here.
    let path = path.is_absolute().then(|| path.canonicalize().ok())??;
    let version = path.ancestors().skip(1).find_map(|directory| {
        let text = regular::text(&directory.join("package.json")).ok()?;
        let package: Value = serde_json::from_str(&text).ok()?;
        let version = package.get("version").filter(|_| package["name"] == "@google/gemini-cli");
        Version::read(version?.as_str()?)
    });
    Some(Cli { path, version })
}

#[cfg(test)]
mod tests {
    use super::{Version, descendants, id_in, installed, is_gemini};
    use std::fs;

    #[test]
    fn the_cli_is_known_by_its_command_line() {
        assert!(is_gemini("node --no-warnings=DEP0040 /usr/local/bin/gemini --yolo"));
        assert!(is_gemini("/usr/bin/node /x/node_modules/@google/gemini-cli/dist/index.js"));
        assert!(is_gemini("gemini -i hello"));
        assert!(!is_gemini("vim gemini.md") && !is_gemini("node server.js gemini"));
    }

    #[test]
    fn the_version_of_a_running_cli_is_that_of_its_package() {
        let directory = tempfile::tempdir().unwrap();
        let package = directory.path().join("node_modules/@google/gemini-cli");
        fs::create_dir_all(package.join("dist")).unwrap();
        let text = r#"{"name":"@google/gemini-cli","version":"0.33.2"}"#;
        fs::write(package.join("package.json"), text).unwrap();
        fs::write(package.join("dist/package.json"), r#"{"type":"module"}"#).unwrap();
        fs::write(package.join("dist/index.js"), "").unwrap();
        let bin = directory.path().join("gemini");
        std::os::unix::fs::symlink(package.join("dist/index.js"), &bin).unwrap();
        let cli = installed(&format!("node --no-warnings {} --yolo", bin.display())).unwrap();
        assert_eq!(cli.version, Some(Version::new(0, 33, 2)));
        assert_eq!(cli.check().unwrap_err().code, "too_old");
        assert_eq!(installed("node gemini"), None);
    }

    #[test]
    fn an_id_is_taken_from_a_command_line_only_where_it_is_one() {
        let id = "6c4f3a52-6f3b-4a8e-9b53-0d6f3d0f1f0a";
        assert_eq!(id_in(&format!("gemini --session-id={id} -y")).as_deref(), Some(id));
        assert_eq!(id_in(&format!("gemini --resume {id}")).as_deref(), Some(id));
        assert_eq!(id_in("gemini --resume latest"), None);
    }

    #[test]
    fn a_process_has_all_that_it_started() {
        let all = [(1, 0, "init"), (5, 1, "sh"), (6, 5, "node a"), (7, 6, "node b"), (8, 1, "cat")];
        let all = all.map(|(own, parent, line)| (own, parent, line.to_owned()));
        assert_eq!(descendants(5, &all), [(5, "sh"), (6, "node a"), (7, "node b")]);
    }
}
