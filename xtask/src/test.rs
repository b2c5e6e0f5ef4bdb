//! All tests: the same command for a newcomer and for CI.

use crate::node;
use crate::shell::{self, answers, present, run_words, say, words_and};
use crate::web;
use anyhow::anyhow;
use pollux_e2e::package::{NPM, PYTHON};
use pollux_e2e::{Cli, NEEDED, in_ci};
use std::thread;

pub(crate) fn run(rest: &[String]) -> anyhow::Result<()> {
    neighbours();
    let nextest = present("cargo-nextest");
    let build = if nextest {
        "cargo nextest run --workspace --locked --no-run"
    } else {
        say("cargo-nextest is not here; `cargo test` runs the same tests more slowly");
        "cargo test --workspace --locked --all-targets --no-run"
    };
    // What comes from elsewhere is waited for while the machine builds.
    thread::scope(|scope| {
        let fetched = scope.spawn(|| fetch(rest.is_empty()));
        shell::run(build)?;
        fetched.join().unwrap_or_else(|_| Err(anyhow!("it panicked")))
    })?;
    let env = node::env();
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
    if nextest {
        // One more at once than there are cores: a good part of their time they wait for other programs.
        let at_once = thread::available_parallelism().map_or(1, usize::from) + 1;
        let line = format!("cargo nextest run --workspace --locked --test-threads {at_once}");
        run_words(&words_and(&line, rest), &env)?;
    } else {
        run_words(&words_and("cargo test --workspace --locked --all-targets", rest), &env)?;
    }
    if rest.is_empty() {
        // The examples in the documentation are tests as well; nextest does not run them.
        shell::run("cargo test --workspace --locked --doc")?;
        web::test()?;
    }
    Ok(())
}

/// All that the tests need and that is not in the clone. What only some of them need is fetched by those where it is not had
/// here, and what they say about it then is to the point.
pub(crate) fn fetch(all: bool) -> anyhow::Result<()> {
    tmux()?;
    install()?;
    node::env();
    if all {
        for package in NPM {
            drop(package.npm());
        }
        for package in PYTHON {
            drop(package.python());
        }
        web::browser()?;
    }
    Ok(())
}

/// Some tests read what other projects have written, which lies beside the repository on some machines. Where it does not,
/// they pass without having looked, and nobody sees what a test that passes prints.
fn neighbours() {
    let shared = shell::root().join("../shared");
    if in_ci() && !shared.exists() {
        let text = "NOT TESTED with what other projects have written";
        say(&format!("\n*** {text} ***\n*** there is no {} ***\n", shared.display()));
    }
}

/// tmux is Debian's own: it is installed where we may, and asked for where we may not.
fn tmux() -> anyhow::Result<()> {
    if answers("tmux", "-V") {
        return Ok(());
    }
    let may = rustix::process::geteuid().is_root() && present("apt-get");
    anyhow::ensure!(
        may,
        "tmux not found: the terminal tests need it\n\nhint: install tmux 3.3 or newer"
    );
    shell::run("apt-get update --quiet=2")?;
    shell::run("apt-get install --quiet=2 --yes tmux")
}

/// The versions of the CLI that the tests run, once, into the target directory.
fn install() -> anyhow::Result<()> {
    let missing: Vec<&str> = ["node", "npm"].into_iter().filter(|name| !present(name)).collect();
    if !missing.is_empty() {
        let text = format!("{} not found: {NEEDED}", missing.join(" and "));
        anyhow::ensure!(!in_ci(), "{text}");
        say(&format!("\n*** NOT TESTED with the real Gemini CLI ***\n*** {text} ***\n"));
        return Ok(());
    }
    for cli in Cli::all()? {
        say(&format!("Gemini CLI {} is at {}", cli.version(), cli.program().display()));
    }
    Ok(())
}
