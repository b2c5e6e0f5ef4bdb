//! The one place where xtask starts other programs.
#![expect(clippy::disallowed_methods, reason = "xtask is what starts programs")]
#![expect(clippy::print_stderr, reason = "xtask talks to a person")]

use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::env;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The root of the repository, wherever the command was called from.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Where cargo builds to, `CARGO_TARGET_DIR` honoured.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Where programs are looked for, with a directory before all others.
pub(crate) fn path_with(first: PathBuf) -> anyhow::Result<String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let all = env::join_paths([first].into_iter().chain(env::split_paths(&path)))?;
    Ok(all.display().to_string())
}

/// Where programs are looked for, with a tool of cargo's that is installed into `target/tools` where the machine has none.
pub(crate) fn path_with_tool(name: &str) -> anyhow::Result<String> {
    let tools = target().join("tools");
    if !present(name) && !tools.join("bin").join(name).exists() {
        say(&format!("installing {name} into target/tools (once, takes some minutes)"));
        let line = format!("cargo install {name} --locked --debug --root");
        run_words(&words_and(&line, &[tools.display()]), &[])
            .with_context(|| format!("could not install {name}"))?;
    }
    path_with(tools.join("bin"))
}

/// True where a program named `name` answers to `--version`.
pub(crate) fn present(name: &str) -> bool {
    answers(name, "--version")
}

/// True where a program is there and ends well when it is asked `question`.
pub(crate) fn answers(name: &str, question: &str) -> bool {
    let quiet = Command::new(name)
        .arg(question)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    quiet.is_ok_and(|status| status.success())
}

/// Runs a command line in the root of the repository and fails if it fails.
pub(crate) fn run(line: &str) -> anyhow::Result<()> {
    run_with(line, &[])
}

/// Like [`run`], with more environment.
pub(crate) fn run_with(line: &str, env: &[(&str, &str)]) -> anyhow::Result<()> {
    run_words(&words(line), env)
}

/// Like [`run_with`], where a word may have a blank in it: a path, what somebody has typed.
pub(crate) fn run_words(words: &[String], env: &[(&str, &str)]) -> anyhow::Result<()> {
    let status = command(words, env)?.status().with_context(|| could_not_start(words))?;
    ensure!(status.success(), "`{}` failed: {status}", words.join(" "));
    Ok(())
}

/// Like [`run_words`], and passes each line of stdout on while it is printed.
pub(crate) fn run_with_lines(
    words: &[String],
    env: &[(&str, &str)],
    each: &mut dyn FnMut(&str),
) -> anyhow::Result<()> {
    let mut child = command(words, env)?
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| could_not_start(words))?;
    let out = child.stdout.take().context("stdout is not piped")?;
    for line in BufReader::new(out).lines() {
        let line = line?;
        eprintln!("{line}");
        each(&line);
    }
    let status = child.wait()?;
    ensure!(status.success(), "`{}` failed: {status}", words.join(" "));
    Ok(())
}

/// The words of a line that has no blank within a word.
pub(crate) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// The words of a line, and paths or what somebody has typed after them.
pub(crate) fn words_and<W: ToString>(line: &str, more: &[W]) -> Vec<String> {
    words(line).into_iter().chain(more.iter().map(ToString::to_string)).collect()
}

/// Says what is run, and makes it ready to run in the root of the repository.
fn command(words: &[String], env: &[(&str, &str)]) -> anyhow::Result<Command> {
    eprintln!("$ {}", words.join(" "));
    let (program, args) = words.split_first().context("the command line is empty")?;
    let mut command = Command::new(program);
    // What `cargo run` says of xtask itself: build scripts that look at it (ring's) would have all above them built again.
    for (name, _) in env::vars_os().filter(|(name, _)| is_of_this_package(name)) {
        command.env_remove(name);
    }
    command.args(args).envs(env.iter().copied()).current_dir(root());
    Ok(command)
}

fn is_of_this_package(variable: &OsStr) -> bool {
    let name = variable.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

fn could_not_start(words: &[String]) -> String {
    format!("could not start `{}`", words.first().map_or("", String::as_str))
}

/// A line for the person who waits.
pub(crate) fn say(text: &str) {
    eprintln!("{text}");
}

/// Runs a command line in the root of the repository and gives all that it printed, whether or not it failed.
pub(crate) fn capture_with(line: &str, env: &[(&str, &str)]) -> anyhow::Result<String> {
    capture_words(&words(line), env)
}

/// Like [`capture_with`], where a word may have a blank in it.
pub(crate) fn capture_words(words: &[String], env: &[(&str, &str)]) -> anyhow::Result<String> {
    let ran = output(words, env)?;
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    Ok(format!("{out}{err}"))
}

/// Runs a command line in the root of the repository and gives what it printed on stdout; fails if it fails.
pub(crate) fn told(line: &str) -> anyhow::Result<String> {
    told_words(&words(line), &[])
}

/// Like [`told`], where a word may have a blank in it, with more environment.
pub(crate) fn told_words(words: &[String], env: &[(&str, &str)]) -> anyhow::Result<String> {
    let ran = output(words, env)?;
    let err = String::from_utf8_lossy(&ran.stderr);
    ensure!(ran.status.success(), "`{}` failed: {}\n{err}", words.join(" "), ran.status);
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}

fn output(words: &[String], env: &[(&str, &str)]) -> anyhow::Result<Output> {
    command(words, env)?.stdin(Stdio::null()).output().with_context(|| could_not_start(words))
}

/// Runs a program and tells when it printed a line with a sign in it, and how long all of it took.
pub(crate) fn timed(
    command: &[String],
    env: &[(String, String)],
    directory: &Path,
    sign: &str,
) -> anyhow::Result<(Option<Duration>, Duration)> {
    let (program, args) = command.split_first().context("the command line is empty")?;
    let since = Instant::now();
    let mut child = Command::new(program)
        .args(args)
        .envs(env.iter().map(|(name, value)| (name, value)))
        .env("GEMINI_CLI_NO_RELAUNCH", "true")
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("could not start `{program}`"))?;
    let out = child.stdout.take().context("stdout is not piped")?;
    let mut first = None;
    for line in BufReader::new(out).lines() {
        if line?.contains(sign) {
            first.get_or_insert_with(|| since.elapsed());
        }
    }
    let status = child.wait()?;
    ensure!(status.success(), "`{}` failed: {status}", command.join(" "));
    Ok((first, since.elapsed()))
}

/// A server that runs beside a measurement and ends with the value.
#[derive(Debug)]
pub(crate) struct Serving {
    child: Child,
}

impl Serving {
    pub(crate) fn start(program: &Path, args: &[&str]) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let child =
            command.spawn().with_context(|| format!("could not start {}", program.display()))?;
        Ok(Self { child })
    }

    /// The first JSON object that it prints.
    pub(crate) fn first_object(&mut self) -> anyhow::Result<serde_json::Value> {
        let out = self.child.stdout.as_mut().context("stdout is not piped")?;
        let mut objects =
            serde_json::Deserializer::from_reader(out).into_iter::<serde_json::Value>();
        objects
            .next()
            .context("the program printed nothing")?
            .context("the program did not print JSON")
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Asked, not killed, so that it takes its temporary files along. It may have ended by itself.
        let _ended = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _reaped = self.child.wait();
    }
}
