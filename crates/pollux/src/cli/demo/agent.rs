//! The agent of a demo: the one that is there, or one that is fetched into the private directory.

use super::Demo;
use crate::config::Config;
use crate::report;
use crate::report::human::short;
use crate::trouble::Trouble;
use dialoguer::Confirm;
use pollux_agent::gemini::cli::{Cli, OLDEST};
use pollux_agent::process::Program;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::AsyncReadExt;

/// What is fetched.
const PACKAGE: &str = "@google/gemini-cli@0.61.0";
/// What that is on the disk, about.
const SIZE: &str = "150 MB";

pub(super) async fn find(args: &Demo, config: &Config, place: &Path) -> anyhow::Result<PathBuf> {
    let search = config.search_for(args.agent_path.as_ref());
    match Cli::to_drive(None, &search).await {
        Ok(cli) => return Ok(cli.path),
        Err(failure) if args.agent_path.is_some() || args.live => {
            let trouble = Trouble::failed(failure.code, failure.message);
            return Err(trouble.hint_of(failure.hint).into());
        }
        _ => {}
    }
    consent(args)?;
    fetch(place).await
}

fn consent(args: &Demo) -> anyhow::Result<()> {
    if args.yes {
        return Ok(());
    }
    let what = format!(
        "Gemini CLI {OLDEST} or newer is not installed. Download {PACKAGE} from npm (about {SIZE}, deleted at the end)?"
    );
    // Ctrl-C is a no as well.
    let asked = || Confirm::new().with_prompt(what).default(true).interact();
    if report::can_ask() && matches!(asked(), Ok(true)) {
        return Ok(());
    }
    let trouble =
        Trouble::refused("no_agent", "Gemini CLI is not installed, or too old for the demo");
    Err(trouble.hint("download it from npm for this demo only with `--yes`").into())
}

async fn fetch(place: &Path) -> anyhow::Result<PathBuf> {
    let directory = place.join("agent");
    std::fs::create_dir_all(&directory)?;
    let mut npm = Program::new("npm", place)
        .args(["install", "--no-audit", "--no-fund", "--omit=dev", "--loglevel=error", "--prefix"])
        .args([directory.as_os_str(), PACKAGE.as_ref()])
        // What npm keeps for the next time goes as well.
        .env("npm_config_cache", place.join("npm"))
        .env("npm_config_devdir", place.join("npm"))
        .env("npm_config_update_notifier", "false")
        .spawn()
        .map_err(|error| {
            let trouble = Trouble::failed("no_npm", "could not start npm");
            anyhow::Error::new(error).context(trouble.hint("install Node.js 20 or newer"))
        })?;
    let bar = indicatif::ProgressBar::new_spinner();
    bar.enable_steady_tick(Duration::from_millis(100));
    let mut out = npm.stdout();
    let ended = loop {
        tokio::select! {
            ended = npm.wait() => break ended?,
            () = tokio::time::sleep(Duration::from_millis(500)) => {
                let there = directory.clone();
                let size = tokio::task::spawn_blocking(move || size(&there)).await?;
                bar.set_message(format!("downloading {PACKAGE}: {}B of about {SIZE}", short(size)));
            }
        }
    };
    bar.finish_and_clear();
    if let Some(out) = &mut out {
        // What npm says when all is well is of no interest.
        let _read = out.read_to_end(&mut Vec::new()).await;
    }
    let said = npm.close().await;
    if !ended.success() {
        let trouble = Trouble::failed("not_fetched", format!("could not download {PACKAGE}"));
        return Err(anyhow::anyhow!("{}", said.trim().to_owned())
            .context(trouble.hint("check that the npm registry is reachable: `npm ping`")));
    }
    report::note(&format!("downloaded {PACKAGE}, {}B", short(size(&directory))));
    Ok(directory.join("node_modules/.bin/gemini"))
}

/// The bytes below a directory.
fn size(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let one = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.map(one).sum()
}
