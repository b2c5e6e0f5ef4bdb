//! `pollux profiles`.

use crate::config::Config;
use crate::render::clean;
use crate::report;
use crate::report::table::{Align, Cell, Table};
use crate::team::profile::{Profile, Wrong, is_name};
use crate::team::store::{BUILT_IN, Found, Origin, Store, read};
use crate::trouble::Trouble;
use anstyle::Style;
use anyhow::Context;
use clap::Subcommand;
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub(crate) enum Profiles {
    /// List profiles: yours, those of CLI Agent Orchestrator (a separate tool), built-in
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a profile
    Show {
        /// Profile name
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Validate profiles and list ignored fields
    Validate {
        /// Files or profile names
        #[arg(required = true)]
        files: Vec<String>,
    },
    /// Copy profiles into your profile directory
    Install {
        /// File, directory or name of a built-in profile
        source: String,
        /// Overwrite existing profiles
        #[arg(long)]
        force: bool,
    },
    /// Remove one of your profiles
    Remove {
        /// Profile name
        name: String,
    },
    /// Create a profile from a commented template
    Create {
        /// Profile name
        name: String,
    },
}

pub(super) fn run(command: Profiles, config: &Config) -> anyhow::Result<ExitCode> {
    let store = config.profiles();
    match command {
        Profiles::List { json } => list(&store, json),
        Profiles::Show { name, json } => show(&store, &name, json),
        Profiles::Validate { files } => validate(&store, &files, config),
        Profiles::Install { source, force } => install(&store, &config.cwd, &source, force),
        Profiles::Remove { name } => remove(&store, &name),
        Profiles::Create { name } => create(&store, &name),
    }
}

fn origin(found: &Found) -> String {
    match &found.from {
        Origin::BuiltIn => "built in".to_owned(),
        Origin::File(path) => path.display().to_string(),
    }
}

fn list(store: &Store, as_json: bool) -> anyhow::Result<ExitCode> {
    let all = store.list();
    if as_json {
        let object = |found: &Found| match &found.profile {
            Ok(profile) => json!({ "name": found.name, "from": origin(found), "profile": profile }),
            Err(wrong) => json!({ "name": found.name, "from": origin(found), "wrong": wrong.0 }),
        };
        report::json(&all.iter().map(object).collect::<Vec<Value>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&[
        ("name", Align::Left),
        ("role", Align::Left),
        ("description", Align::Flexible),
        ("from", Align::Flexible),
    ])
    .less_needed(&["from", "role"]);
    for found in &all {
        let (role, description) = match &found.profile {
            Ok(profile) => {
                (profile.role.clone().unwrap_or_else(|| "-".into()), profile.description.clone())
            }
            Err(wrong) => ("-".into(), format!("invalid: {wrong}")),
        };
        let from = Cell::styled(origin(found), Style::new().dimmed());
        table.row(vec![found.name.as_str().into(), role.into(), description.into(), from]);
    }
    let mut out = report::out();
    table.write(&mut out, Some(report::table_width()))?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn unknown(name: &str) -> Trouble {
    Trouble::refused("unknown_profile", format!("unknown profile `{name}`"))
        .hint("list profiles with `pollux profiles list`")
}

fn text_of(found: &Found) -> anyhow::Result<String> {
    Ok(match &found.from {
        Origin::File(path) => read(path).with_context(|| unreadable(path))?,
        Origin::BuiltIn => {
            let built_in = BUILT_IN.iter().find(|(name, _)| *name == found.name);
            built_in.map(|(_, text)| (*text).to_owned()).unwrap_or_default()
        }
    })
}

fn show(store: &Store, name: &str, json: bool) -> anyhow::Result<ExitCode> {
    let found = store.look(name).ok_or_else(|| unknown(name))?;
    if json {
        let profile = found.profile.map_err(|wrong| {
            let trouble = Trouble::refused("wrong_profile", wrong.0);
            trouble.hint(format!("check the file with `pollux profiles validate {name}`"))
        })?;
        report::json(&profile)?;
    } else {
        report::text(&clean(&text_of(&found)?))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn validate(store: &Store, files: &[String], config: &Config) -> anyhow::Result<ExitCode> {
    let mut wrong = false;
    for file in files {
        match named(store, file, config)? {
            Ok(profile) => {
                report::text(&format!("{file}: profile `{}` is valid\n", profile.name))?;
                for note in &profile.notes {
                    report::note(&format!("{file}: {note}"));
                }
            }
            Err(error) => {
                wrong = true;
                report::text(&format!("{file}: {}\n", clean(&error.to_string())))?;
            }
        }
    }
    Ok(ExitCode::from(u8::from(wrong)))
}

/// The profile of a file or of a name. What is neither does not keep the others from being looked at.
fn named(store: &Store, file: &str, config: &Config) -> anyhow::Result<Result<Profile, Wrong>> {
    let path = config.cwd.join(file);
    if path.is_file() {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("profile");
        return Ok(store.parse(&read(&path).with_context(|| unreadable(&path))?, stem));
    }
    if path.is_dir() {
        return Ok(Err(Wrong("a directory: pass the files in it instead".to_owned())));
    }
    Ok(match store.look(file) {
        Some(found) => found.profile,
        None => Err(Wrong("no such file or profile".to_owned())),
    })
}

fn install(store: &Store, cwd: &Path, source: &str, force: bool) -> anyhow::Result<ExitCode> {
    let path = cwd.join(source);
    let mut all: Vec<(PathBuf, String)> = Vec::new();
    if path.is_dir() {
        for entry in fs::read_dir(&path).with_context(|| unreadable(&path))?.flatten() {
            let file = entry.path();
            if file.extension().is_some_and(|extension| extension == "md") {
                let text = read(&file).with_context(|| unreadable(&file))?;
                all.push((file, text));
            }
        }
        if all.is_empty() {
            let message = format!("no profiles in {}", path.display());
            return Err(Trouble::refused("unknown_profile", message)
                .hint("profiles are files that end in `.md`")
                .into());
        }
        all.sort();
    } else if path.is_file() {
        let text = read(&path).with_context(|| unreadable(&path))?;
        all.push((path, text));
    } else if let Some((name, text)) = BUILT_IN.iter().find(|(name, _)| *name == source) {
        all.push((PathBuf::from(name), (*text).to_owned()));
    } else {
        return Err(unknown(source)
            .hint("pass a file, a directory or the name of a built-in profile")
            .into());
    }
    let mut checked = Vec::new();
    for (file, text) in all {
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let profile = store.parse(&text, stem).map_err(|wrong| {
            let message = format!("invalid profile {}: {wrong}", file.display());
            Trouble::refused("wrong_profile", message)
                .hint("fix the file and try again: no profile was installed")
        })?;
        let target = store.own.join(format!("{}.md", profile.name));
        if target.exists() && !force {
            let message = format!("profile `{}` already exists", profile.name);
            return Err(Trouble::refused("profile_exists", message)
                .hint("replace it with `--force`")
                .into());
        }
        checked.push((profile.name, target, text));
    }
    for (name, target, text) in checked {
        put(&target, &text)?;
        report::text(&format!("{name}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// All of it or nothing.
fn put(target: &Path, text: &str) -> anyhow::Result<()> {
    let write = || -> io::Result<()> {
        let directory = target.parent().unwrap_or(target);
        fs::create_dir_all(directory)?;
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(text.as_bytes())?;
        file.persist(target)?;
        Ok(())
    };
    write().with_context(|| unwritable(target))
}

fn unreadable(path: &Path) -> Trouble {
    Trouble::failed("unreadable_file", format!("could not read {}", path.display()))
        .hint("check its permissions: a profile is a text file of at most 256 KB")
}

fn unwritable(path: &Path) -> Trouble {
    Trouble::failed("unwritable_file", format!("could not change {}", path.display()))
        .hint("check the permissions of its directory and the free disk space")
}

fn remove(store: &Store, name: &str) -> anyhow::Result<ExitCode> {
    let path = store.own.join(format!("{name}.md"));
    if !is_name(name) || !path.exists() {
        let message = format!("no profile `{name}` in your profile directory");
        return Err(Trouble::refused("unknown_profile", message)
            .hint("only your own profiles can be removed: list them with `pollux profiles list`")
            .into());
    }
    fs::remove_file(&path).with_context(|| unwritable(&path))?;
    let built_in = BUILT_IN.iter().any(|(known, _)| *known == name);
    let now = if built_in { "; the built-in profile is used again" } else { "" };
    report::note(&format!("removed {name}{now}"));
    Ok(ExitCode::SUCCESS)
}

fn create(store: &Store, name: &str) -> anyhow::Result<ExitCode> {
    if !is_name(name) {
        let message = format!("invalid profile name `{name}`");
        return Err(Trouble::refused("wrong_name", message)
            .hint("use letters, digits, `-` and `_`")
            .into());
    }
    let path = store.own.join(format!("{name}.md"));
    if path.exists() {
        let message = format!("profile `{name}` already exists: {}", path.display());
        let trouble = Trouble::refused("profile_exists", message);
        return Err(trouble.hint("edit it, or choose another name").into());
    }
    put(&path, &include_str!("../../../profiles/new.txt").replace("NAME", name))?;
    report::text(&format!("{}\n", path.display()))?;
    Ok(ExitCode::SUCCESS)
}
