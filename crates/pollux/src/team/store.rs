//! Where profiles and skills are found: the user's own, then CAO's, then those that are built in.

use super::profile::{LONGEST, Profile, Wrong, is_name};
use crate::trouble::Trouble;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The profiles that come with the program.
pub const BUILT_IN: [(&str, &str); 3] = [
    ("supervisor", include_str!("../../profiles/supervisor.md")),
    ("developer", include_str!("../../profiles/developer.md")),
    ("reviewer", include_str!("../../profiles/reviewer.md")),
];

/// Where profiles are looked for.
#[derive(Debug, Clone, Default)]
pub struct Store {
    /// The user's own, where new ones go.
    pub own: PathBuf,
    /// Others, in this order.
    pub more: Vec<PathBuf>,
    /// Where skills are, in this order.
    pub skills: Vec<PathBuf>,
}

/// Where a profile comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A file.
    File(PathBuf),
    /// The program itself.
    BuiltIn,
}

/// A profile, or why there is none.
#[derive(Debug, Clone)]
pub struct Found {
    /// The name by which it is asked for.
    pub name: String,
    /// Where it is.
    pub from: Origin,
    /// What it says.
    pub profile: Result<Profile, Wrong>,
}

impl Store {
    /// All profiles, each name once: that which is found first.
    pub fn list(&self) -> Vec<Found> {
        let mut names: BTreeSet<String> =
            BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
        for directory in self.directories() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let path = entry.path();
                let is = path.extension().is_some_and(|extension| extension == "md");
                let stem = path.file_stem().and_then(|stem| stem.to_str());
                names.extend(stem.filter(|stem| is && is_name(stem)).map(str::to_owned));
            }
        }
        names.iter().filter_map(|name| self.look(name)).collect()
    }

    /// One profile.
    pub fn find(&self, name: &str) -> anyhow::Result<Profile> {
        let found = self.look(name).ok_or_else(|| unknown(name))?;
        found.profile.map_err(|wrong| {
            let trouble =
                Trouble::refused("wrong_profile", format!("profile `{name}` is invalid: {wrong}"));
            let hint = format!("check the file with `pollux profiles validate {name}`");
            trouble.hint(hint).into()
        })
    }

    /// Where a profile is, and what it says.
    pub fn look(&self, name: &str) -> Option<Found> {
        if !is_name(name) {
            return None;
        }
        for directory in self.directories() {
            let path = directory.join(format!("{name}.md"));
            let text = match read(&path) {
                Err(error) if is_absent(&error) => continue,
                text => text.map_err(|error| Wrong(error.to_string())),
            };
            // One that cannot be read is not passed over: it would be another that is used under its name.
            let profile = text.and_then(|text| self.parse(&text, name));
            let profile = profile.map(|profile| called(profile, name));
            return Some(Found { name: name.to_owned(), from: Origin::File(path), profile });
        }
        let (_, text) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name)?;
        let profile = self.parse(text, name);
        Some(Found { name: name.to_owned(), from: Origin::BuiltIn, profile })
    }

    /// Reads a profile with the variables of the user's file `.env`.
    pub fn parse(&self, text: &str, name: &str) -> Result<Profile, Wrong> {
        let variables = self.variables();
        Profile::read(text, name, &|name| variables.get(name).cloned())
    }

    /// What a skill says.
    pub fn skill(&self, name: &str) -> Option<String> {
        if !is_name(name) {
            return None;
        }
        let file = |directory: &PathBuf| read(&directory.join(name).join("SKILL.md")).ok();
        self.skills.iter().find_map(file)
    }

    /// The names of all skills.
    pub fn skill_names(&self) -> Vec<String> {
        let mut names = BTreeSet::new();
        for directory in &self.skills {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if is_name(&name) && entry.path().join("SKILL.md").is_file() {
                    names.insert(name);
                }
            }
        }
        names.into_iter().collect()
    }

    fn directories(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.own).chain(&self.more)
    }

    /// `NAME=VALUE`, one on each line.
    fn variables(&self) -> BTreeMap<String, String> {
        let text = fs::read_to_string(self.own.join(".env")).unwrap_or_default();
        let pair = |line: &str| {
            let (name, value) = line.split_once('=')?;
            Some((name.trim().to_owned(), value.trim().trim_matches('"').to_owned()))
        };
        text.lines().filter(|line| !line.trim_start().starts_with('#')).filter_map(pair).collect()
    }
}

/// The text of a profile, at most as long as one may be.
pub fn read(path: &Path) -> io::Result<String> {
    let about = fs::metadata(path)?;
    let long = about.len() > u64::try_from(LONGEST).unwrap_or(u64::MAX);
    if !about.is_file() || long {
        return Err(io::Error::other("not a regular file, or larger than 256 KB"));
    }
    fs::read_to_string(path)
}

/// A profile by the name by which it is asked for: that is what jobs write down and look for again, and it must not lead to
/// another profile.
fn called(profile: Profile, name: &str) -> Profile {
    if profile.name == name {
        return profile;
    }
    let note = format!("`name` is `{}`, but the file name counts: use `{name}`", profile.name);
    let notes = profile.notes.into_iter().chain([note]).collect();
    Profile { name: name.to_owned(), notes, ..profile }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn unknown(name: &str) -> Trouble {
    Trouble::refused("unknown_profile", format!("unknown profile `{name}`"))
        .hint("list profiles with `pollux profiles list`")
}

#[cfg(test)]
mod tests {
    use super::{BUILT_IN, Origin, Store};

    #[test]
    fn what_is_built_in_is_right_and_a_file_of_the_same_name_stands_before_it() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store { own: directory.path().to_owned(), ..Store::default() };
        assert_eq!(store.list().len(), BUILT_IN.len());
        for found in store.list() {
            let profile = found.profile.unwrap();
            assert!(profile.notes.is_empty() && !profile.description.is_empty(), "{profile:?}");
        }
        std::fs::write(directory.path().join("developer.md"), "---\nmodel: ${WHICH}\n---\nmine")
            .unwrap();
        std::fs::write(directory.path().join(".env"), "# mine\nWHICH = flash\n").unwrap();
        let found = store.look("developer").unwrap();
        assert!(matches!(found.from, Origin::File(_)));
        assert_eq!(found.profile.unwrap().model.as_deref(), Some("flash"));
        std::fs::write(directory.path().join("reviewer.md"), b"---\n\xff").unwrap();
        assert!(store.find("reviewer").is_err(), "what is built in does not take its place");
        assert!(store.look("../developer").is_none());
        assert!(store.find("nobody").is_err());
    }

    #[test]
    fn a_copy_that_still_has_the_name_of_another_is_what_its_file_is_called() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store { own: directory.path().to_owned(), ..Store::default() };
        let text = "---\nname: developer\ntools: [fs_read]\n---\nRead.\n";
        std::fs::write(directory.path().join("strict.md"), text).unwrap();
        let strict = store.find("strict").unwrap();
        assert_eq!(strict.name, "strict");
        assert!(strict.notes.iter().any(|note| note.contains("`developer`")), "{:?}", strict.notes);
        // What a job writes down is what is found again.
        assert_eq!(store.find(&strict.name).unwrap().tools, strict.tools);
    }
}
