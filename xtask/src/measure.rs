//! What one program costs: CPU time, wall time, peak memory.
//!
//! The kernel tells this only of children that have ended, all together. So each measurement is made by a process of its
//! own, `cargo xtask measure`, which has one child.
#![expect(clippy::disallowed_methods, reason = "this is what starts the measured program")]
#![expect(clippy::print_stdout, reason = "the figures go to the process that asked")]

use anyhow::{Context, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What one run cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// User and system time, in milliseconds.
    pub(crate) cpu: f64,
    /// In milliseconds.
    pub(crate) wall: f64,
    /// Peak memory, in megabytes.
    pub(crate) memory: f64,
}

/// A command and the variables that it is given.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(crate) words: Vec<String>,
    pub(crate) env: Vec<(&'static str, String)>,
}

/// The cheapest of some runs of each command, their output thrown away: noise only ever adds. They run in turns, because
/// the machine may be twice as fast a second later.
pub(crate) fn best<const N: usize>(
    runs: usize,
    commands: [&Measured; N],
) -> anyhow::Result<[Cost; N]> {
    let mut least = [Cost { cpu: f64::INFINITY, wall: f64::INFINITY, memory: f64::INFINITY }; N];
    for _ in 0..runs {
        for (least, command) in least.iter_mut().zip(commands) {
            let cost = once(command)?;
            least.cpu = least.cpu.min(cost.cpu);
            least.wall = least.wall.min(cost.wall);
            least.memory = least.memory.min(cost.memory);
        }
    }
    Ok(least)
}

fn once(Measured { words: command, env }: &Measured) -> anyhow::Result<Cost> {
    let output = Command::new(std::env::current_exe()?)
        .arg("measure")
        .args(command)
        .envs(env.iter().map(|(name, value)| (name, value)))
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("could not measure {command:?}"))?;
    ensure!(output.status.success(), "measuring {command:?} failed");
    let value: Value = serde_json::from_slice(&output.stdout)?;
    let field = |name: &str| value.get(name).and_then(Value::as_f64).unwrap_or(f64::NAN);
    Ok(Cost { cpu: field("cpu"), wall: field("wall"), memory: field("memory") })
}

/// Runs a command as the only child of this process and prints what it cost.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
pub(crate) fn run(command: &[String]) -> anyhow::Result<()> {
    let (program, arguments) = command.split_first().context("no command to measure")?;
    let started = Instant::now();
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    let wall = started.elapsed().as_secs_f64() * 1e3;
    ensure!(status.success(), "`{program}` failed: {status}");
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let cpu = (usage.user_time().num_microseconds() + usage.system_time().num_microseconds())
        as f64
        / 1e3;
    println!("{}", json!({ "cpu": cpu, "wall": wall, "memory": usage.max_rss() as f64 / 1024.0 }));
    Ok(())
}
