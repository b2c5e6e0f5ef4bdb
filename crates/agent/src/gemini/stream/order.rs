//! The arguments of the CLI for a headless run, by version. Pure.

use super::super::cli::{self, Cli, Version};
use super::super::mention::mention;
use crate::model::{Failure, Mode, Phase};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A prompt that is longer is given on stdin: an argument may have 128 KiB.
const LONGEST_ARGUMENT: usize = 100 << 10;
/// Since this version an id can be given in advance.
const CHOOSES_ID: Version = Version::new(0, 41, 0);

/// All that shapes a run.
#[derive(Debug, Clone, Default)]
pub(super) struct Order {
    pub(super) prompt: String,
    pub(super) mode: Mode,
    pub(super) model: Option<String>,
    pub(super) include: Vec<PathBuf>,
    pub(super) attach: Vec<PathBuf>,
    pub(super) resume: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) allow: Vec<String>,
    pub(super) extra: Vec<OsString>,
}

impl Order {
    /// The arguments, and what goes on stdin.
    pub(super) fn arguments(
        &self,
        cli: &Cli,
        cwd: &Path,
    ) -> Result<(Vec<OsString>, Vec<u8>), Failure> {
        self.check(cli)?;
        let mut args: Vec<OsString> = vec!["--output-format=stream-json".into()];
        // Also the default one: settings, those of a repository among them, name another for those who say nothing.
        args.push(format!("--approval-mode={}", self.mode.upstream()).into());
        args.extend(self.model.iter().map(|model| format!("--model={model}").into()));
        args.extend(self.resume.iter().map(|id| format!("--resume={id}").into()));
        args.extend(self.session_id.iter().map(|id| format!("--session-id={id}").into()));
        args.extend(self.allow.iter().map(|tool| format!("--allowed-tools={tool}").into()));
        let directories = self.directories(cwd);
        cli::without_commas(directories.iter().map(PathBuf::as_path))?;
        for directory in directories {
            let mut arg = OsString::from("--include-directories=");
            arg.push(directory);
            args.push(arg);
        }
        args.extend(self.extra.iter().cloned());
        let prompt = self.whole_prompt();
        if prompt.len() > LONGEST_ARGUMENT {
            return Ok((args, prompt.into_bytes()));
        }
        args.push(format!("--prompt={prompt}").into());
        Ok((args, Vec::new()))
    }

    /// Turns down what this version of the CLI cannot do, before it is started.
    fn check(&self, cli: &Cli) -> Result<(), Failure> {
        if self.prompt.trim().is_empty() && self.attach.is_empty() {
            let failure = Failure::new(Phase::Start, "no_prompt", "the prompt is empty");
            return Err(failure.hint("pass it as an argument or on stdin"));
        }
        if self.session_id.is_some() && !cli.at_least(CHOOSES_ID) {
            let own = cli.version.map_or_else(String::new, |version| format!(" {version}"));
            let message = format!(
                "Gemini CLI{own} does not support --session-id: that needs {CHOOSES_ID} or newer"
            );
            let failure = Failure::new(Phase::Start, "not_in_this_version", message);
            return Err(failure.hint("update it, or omit the flag"));
        }
        Ok(())
    }

    /// The prompt, with the attached files as the CLI names files in a prompt.
    fn whole_prompt(&self) -> String {
        let mut prompt = self.prompt.clone();
        for file in &self.attach {
            prompt.push_str(&mention(file));
        }
        prompt
    }

    /// Directories besides the working one: what was asked for, and where attached files are.
    fn directories(&self, cwd: &Path) -> Vec<PathBuf> {
        let mut all = self.include.clone();
        for parent in self.attach.iter().filter_map(|file| file.parent()) {
            if !parent.starts_with(cwd) && !all.iter().any(|known| known == parent) {
                all.push(parent.to_path_buf());
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::{Mode, Order};
    use crate::gemini::cli::{Cli, Version};
    use std::path::Path;

    fn cli(minor: u32) -> Cli {
        Cli { path: "gemini".into(), version: Some(Version::new(0, minor, 0)) }
    }

    #[test]
    fn a_prompt_that_looks_like_a_flag_is_a_prompt_all_the_same() {
        let order = Order { prompt: "--help".into(), mode: Mode::Yolo, ..Order::default() };
        let (args, stdin) = order.arguments(&cli(61), Path::new("/w")).unwrap();
        assert_eq!(
            args,
            ["--output-format=stream-json", "--approval-mode=yolo", "--prompt=--help"]
        );
        assert!(stdin.is_empty());
    }

    #[test]
    fn a_long_prompt_goes_over_stdin() {
        let order = Order { prompt: "x".repeat(200_000), ..Order::default() };
        let (args, stdin) = order.arguments(&cli(61), Path::new("/w")).unwrap();
        assert_eq!(args, ["--output-format=stream-json", "--approval-mode=default"]);
        assert_eq!(stdin.len(), 200_000);
    }

    #[test]
    fn what_a_version_has_not_is_refused_before_it_is_started() {
        let order = Order { prompt: "x".into(), session_id: Some("a".into()), ..Order::default() };
        assert_eq!(
            order.arguments(&cli(34), Path::new("/w")).unwrap_err().code,
            "not_in_this_version"
        );
        assert!(order.arguments(&cli(61), Path::new("/w")).is_ok());
    }

    #[test]
    fn a_directory_that_the_cli_would_take_for_two_is_refused() {
        let order = Order { prompt: "x".into(), include: vec!["/a,b".into()], ..Order::default() };
        let refused = order.arguments(&cli(61), Path::new("/w")).unwrap_err();
        assert_eq!(refused.code, "bad_directory");
    }

    #[test]
    fn an_attached_file_is_named_in_the_prompt_and_its_directory_is_let_in() {
        let order = Order {
            prompt: "look".into(),
            attach: vec!["/pics/my cat.png".into()],
            ..Order::default()
        };
        let (args, _) = order.arguments(&cli(61), Path::new("/w")).unwrap();
        let args: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
        assert!(args.contains(&"--include-directories=/pics".into()));
        assert!(args.contains(&"--prompt=look @/pics/my\\ cat.png".into()), "{args:?}");
    }
}
