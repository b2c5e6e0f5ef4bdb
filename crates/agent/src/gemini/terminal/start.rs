//! Starting the CLI in a window of its own.

use super::super::cli::{self, Cli, Search, Version};
use super::super::hooks::KEY;
use super::super::transcript::resume::Resume;
use super::files::Files;
use super::listens::Listens;
use super::live::Live;
use super::resumed::Resumed;
use super::words::Words;
use super::work::{Begun, Work};
use crate::model::{Failure, Mode, Phase};
use crate::terminal::{Pane, Server, Size, Socket, Window};
use std::path::{Path, PathBuf};

/// How large a window is while nobody looks at it.
const SIZE: Size = Size { columns: 120, rows: 40 };
/// Since this version an id can be given in advance.
const CHOOSES_ID: Version = Version::new(0, 41, 0);
/// The CLI wants to be started again (199): it has asked whether a folder is trusted, or was updated. And it could not read its
/// settings (52), before anything was said: another one may be writing them at this moment, so it is tried twice more.
const AGAIN: &str = r#"left=2; while :; do "$@"; code=$?; case $code in 199) ;; 52) [ $left -gt 0 ] || exit 52; left=$((left - 1)); sleep 0.5 ;; *) exit $code ;; esac; done"#;
/// Variables that are of the terminal or the shell that we were called in, and those that make the CLI think that
/// nobody is there.
const NOT_PASSED_ON: [&str; 16] = [
    "TMUX",
    "TMUX_PANE",
    "TERM",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "COLUMNS",
    "LINES",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "_",
    "STY",
    "CI",
    "GITHUB_ACTIONS",
    "NO_COLOR",
    "POLLUX_CHILD",
];

/// A CLI to be started in a terminal.
///
/// ```no_run
/// use pollux_agent::gemini::terminal::Start;
/// use pollux_agent::model::Mode;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), pollux_agent::model::Failure> {
/// let mut live = Start::new().mode(Mode::AutoEdit).cwd("/work/shop").start().await?;
/// live.orders().prompt("now the tests").await?;
/// while let Some(event) = live.next().await {
///     println!("{}", serde_json::to_string(&event).unwrap());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Start {
    socket: Socket,
    cli: Option<Cli>,
    home: Option<PathBuf>,
    cwd: PathBuf,
    env: Vec<(String, String)>,
    prompt: Option<String>,
    mode: Mode,
    model: Option<String>,
    include: Vec<PathBuf>,
    session_id: Option<String>,
    name: Option<String>,
    resume: Option<Resume>,
    extra: Vec<String>,
    size: Option<Size>,
    shell: Option<String>,
}

impl Start {
    /// A CLI in the working directory of this process.
    pub fn new() -> Self {
        Self { cwd: PathBuf::from("."), ..Self::default() }
    }

    /// The tmux server to run it on. Without this it is one of our own.
    #[must_use]
    pub fn socket(mut self, socket: Socket) -> Self {
        self.socket = socket;
        self
    }

    /// The CLI to run. Without this it is looked for.
    #[must_use]
    pub fn cli(mut self, cli: Cli) -> Self {
        self.cli = Some(cli);
        self
    }

    /// The home that holds the CLI's directory `.gemini`. Without this it is what `GEMINI_CLI_HOME` names, else the user's.
    #[must_use]
    pub fn home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// The directory that the agent works in.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = cwd.into();
        self
    }

    /// One more variable for the CLI, which has all of this process too.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// A prompt to begin with, or one of the CLI's own commands.
    #[must_use]
    pub fn prompt(mut self, prompt: impl Into<String>) -> Self {
        let words = Words::typed(&prompt.into());
        // What only begins like a command is not to be taken for one.
        let pasted = words.pasted();
        self.prompt =
            Some(if matches!(words, Words::Shell(_)) { format!("!{pasted}") } else { pasted });
        self
    }

    /// What the agent may do without asking.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The model, in the CLI's words.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// One more directory that the agent may work in.
    #[must_use]
    pub fn include(mut self, directory: impl Into<PathBuf>) -> Self {
        self.include.push(directory.into());
        self
    }

    /// The id that the new session shall have. Without this one is made, where the CLI takes one.
    #[must_use]
    pub fn session_id(mut self, id: impl Into<String>) -> Self {
        self.session_id = Some(id.into());
        self
    }

    /// What it is called by whoever starts it: its hooks say so too, and those who come later find it under this name, also
    /// before its id is known. Without this it is its id, or a name of ours.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Goes on with a session instead of beginning a new one. A copy of it is kept first, its minute is waited for, and
    /// nothing is sent before all of it is seen to be there.
    #[must_use]
    pub fn resume(mut self, resume: Resume) -> Self {
        self.resume = Some(resume);
        self
    }

    /// One more argument for the CLI, passed on as it is.
    #[must_use]
    pub fn extra_arg(mut self, arg: impl Into<String>) -> Self {
        self.extra.push(arg.into());
        self
    }

    /// How large the window is while nobody looks at it.
    #[must_use]
    pub fn size(mut self, size: Size) -> Self {
        self.size = Some(size);
        self
    }

    /// Starts a login shell first and types the command into it, for a CLI that needs what only such a shell sets.
    #[must_use]
    pub fn in_shell(mut self, shell: impl Into<String>) -> Self {
        self.shell = Some(shell.into());
        self
    }

    /// Starts the CLI. Done when its window is there; its first events say how it fares.
    pub async fn start(self) -> Result<Live, Failure> {
        let server = Server::open(&self.socket).await?;
        self.start_on(&server).await
    }

    /// Starts the CLI over a connection that is there: one of them is enough for all terminals.
    pub async fn start_on(mut self, server: &Server) -> Result<Live, Failure> {
        let search = Search::of_process();
        let cli = Cli::to_drive(self.cli.take(), &search).await?;
        let found = self.cwd.canonicalize();
        let cwd = found.map_err(|error| cli::no_directory(&self.cwd, &error))?;
        let home =
            self.home.clone().or_else(|| search.home_of(&self.env)).unwrap_or_else(|| cwd.clone());
        let gemini = home.join(".gemini");
        let id = self.id(&cli)?;
        cli::without_commas(self.include.iter().map(PathBuf::as_path))?;
        let key = id.clone().unwrap_or_else(|| format!("new-{}", short_name()));
        // Looked at before the CLI touches it.
        let mut files = Files::new(gemini.clone(), &cwd, id.clone());
        let mut resumed = None;
        if let Some(resume) = &self.resume {
            resumed = Some(Resumed::new(resume.prepare(&cli).await?));
            files.resume(&resume.file);
        }
        let command = again(self.command(&cli, id.as_deref()));
        let name = self.name.clone().unwrap_or_else(|| key.clone());
        let env = self.environment(&name);
        let pane = self.open(server, &cwd, &env, &command).await?;
        let version = cli.version.map(|version| version.to_string()).unwrap_or_default();
        for (name, value) in [
            ("key", key.as_str()),
            ("name", name.as_str()),
            ("cwd", &cwd.display().to_string()),
            ("gemini", &gemini.display().to_string()),
            ("version", &version),
        ] {
            pane.note(name, value).await?;
        }
        let begun = Begun {
            key,
            files,
            listens: Listens::not_yet(),
            typed: self.shell.as_ref().map(|_| shell_line(&command)),
            resumed,
            adopted: None,
        };
        Work::start(pane, begun, self.prompt).await
    }

    async fn open(
        &self,
        server: &Server,
        cwd: &Path,
        env: &[(String, String)],
        command: &[String],
    ) -> Result<Pane, Failure> {
        let name = cwd.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let shell = self.shell.as_ref().map(|shell| vec![shell.clone(), "-l".to_owned()]);
        let command = shell.unwrap_or_else(|| command.to_vec());
        let size = self.size.unwrap_or(SIZE);
        Pane::open(server, &Window { name: &name, cwd, env, command: &command, size }).await
    }

    /// The id of the session, where it is known before the start.
    fn id(&self, cli: &Cli) -> Result<Option<String>, Failure> {
        if let Some(resume) = &self.resume {
            return Ok(Some(resume.id.clone()));
        }
        if !cli.at_least(CHOOSES_ID) {
            if self.session_id.is_none() {
                return Ok(None);
            }
            let message = format!(
                "this version of Gemini CLI does not support --session-id: that needs {CHOOSES_ID} or newer"
            );
            let failure = Failure::new(Phase::Start, "not_in_this_version", message);
            return Err(failure.hint("update it, or omit the flag"));
        }
        let made = || uuid::Uuid::new_v4().to_string();
        Ok(Some(self.session_id.clone().unwrap_or_else(made)))
    }

    /// The program and its arguments.
    fn command(&self, cli: &Cli, id: Option<&str>) -> Vec<String> {
        let mut words = vec![cli.path.display().to_string()];
        // Also the default one: settings, those of a repository among them, name another for those who say nothing.
        words.push(format!("--approval-mode={}", self.mode.upstream()));
        words.extend(self.model.iter().map(|model| format!("--model={model}")));
        match &self.resume {
            Some(resume) => words.push(format!("--resume={}", resume.id)),
            None => words.extend(id.map(|id| format!("--session-id={id}"))),
        }
        for directory in &self.include {
            words.push(format!("--include-directories={}", directory.display()));
        }
        words.extend(self.extra.iter().cloned());
        words.extend(self.prompt.iter().map(|prompt| format!("--prompt-interactive={prompt}")));
        words
    }

    /// What the CLI finds in its environment: all that we have, and what makes it one process that a signal reaches.
    #[expect(clippy::disallowed_methods, reason = "what there is is passed on, and not looked at")]
    fn environment(&self, name: &str) -> Vec<(String, String)> {
        let own = std::env::vars_os().filter_map(|(name, value)| {
            let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
            (!NOT_PASSED_ON.contains(&name.as_str())).then_some((name, value))
        });
        let mut env: Vec<(String, String)> = own.collect();
        env.push(("GEMINI_CLI_NO_RELAUNCH".to_owned(), "true".to_owned()));
        env.push((KEY.to_owned(), name.to_owned()));
        env.extend(self.env.iter().cloned());
        env
    }
}

/// A name for what has no id yet.
pub(super) fn short_name() -> String {
    uuid::Uuid::new_v4().simple().to_string().chars().take(8).collect()
}

/// The same command, run again where the CLI wants to be.
fn again(command: Vec<String>) -> Vec<String> {
    let again = ["/bin/sh", "-c", AGAIN, "pollux"].map(str::to_owned);
    again.into_iter().chain(command).collect()
}

/// The command as a line that is typed into a shell.
fn shell_line(command: &[String]) -> String {
    let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    format!("exec {}", words.join(" "))
}

/// A word in quotes. What would be a key for the shell, such as a tab, is not typed but named.
fn quoted(word: &str) -> String {
    let quoted = word.chars().map(|c| match c {
        '\'' => r"'\''".to_owned(),
        c if c.is_ascii_control() && c != '\n' => {
            format!(r#"'"$(printf '\{:03o}')"'"#, u32::from(c))
        }
        c => c.to_string(),
    });
    format!("'{}'", quoted.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::{Cli, Start, again, shell_line};
    use std::path::Path;
    use std::process::{Command, Output};

    #[test]
    fn a_first_prompt_that_only_begins_like_a_command_is_no_command() {
        let cli = Cli { path: "gemini".into(), version: None };
        let said = |prompt: &str| Start::new().prompt(prompt).command(&cli, None).pop().unwrap();
        let veiled = "--prompt-interactive=\u{2060}/etc/hosts: what is it?";
        assert_eq!(said("/etc/hosts: what is it?"), veiled);
        assert_eq!(said("/compress"), "--prompt-interactive=/compress");
        assert_eq!(said("hello"), "--prompt-interactive=hello");
    }

    #[expect(clippy::disallowed_methods, reason = "it is waited for")]
    fn run(line: &str, cwd: &Path) -> Output {
        Command::new("/bin/bash").args(["-c", line]).current_dir(cwd).output().unwrap()
    }

    #[test]
    fn nothing_in_a_first_prompt_steers_the_shell_that_it_is_typed_into() {
        let cli = Cli { path: "gemini".into(), version: None };
        let said = |prompt: &str| Start::new().prompt(prompt).command(&cli, None).pop().unwrap();
        assert_eq!(said("/x \x03\rls"), "--prompt-interactive=/x  ls");
        assert_eq!(said("!ls\x1b"), "--prompt-interactive=!ls");
        let words = ["a\tb", "it's\x03", "$HOME `ls` !!", "two\nlines"].map(str::to_owned);
        let line = shell_line(&[&["printf".to_owned(), "%s|".to_owned()], &words[..]].concat());
        assert!(!line.contains(['\t', '\x03']), "{line:?}");
        let printed = run(&line, Path::new("/")).stdout;
        let words = words.map(|word| word + "|").concat();
        assert_eq!(String::from_utf8(printed).unwrap(), words);
    }

    #[test]
    fn what_is_typed_into_a_login_shell_is_started_again_as_the_cli_wants_to_be() {
        let place = tempfile::tempdir().unwrap();
        let script = "if [ -e been ]; then exit 7; fi; touch been; exit 199";
        let line = shell_line(&again(["/bin/sh", "-c", script].map(str::to_owned).to_vec()));
        assert_eq!(run(&line, place.path()).status.code(), Some(7), "{line}");
    }
}
