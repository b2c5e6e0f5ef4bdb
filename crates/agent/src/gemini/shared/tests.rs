//! Files that are lent, given back, and put back after a crash.

use super::{How, Shared, Wants, context, settings};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const SETTINGS: &str =
    "{ // mine\n  \"mcpServers\": {\n    \"pollux\": { \"command\": \"$MINE\" }\n  }\n}\n";

struct Place {
    root: TempDir,
    shared: Shared,
    wants: Wants,
}

impl Place {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        let (home, cwd) = (root.path().join("home"), root.path().join("shop"));
        fs::create_dir_all(home.join(".gemini")).unwrap();
        fs::create_dir_all(&cwd).unwrap();
        let role = "You are the tester.".to_owned();
        let servers = vec![("pollux".to_owned(), json!({ "command": "pollux", "args": ["mcp"] }))];
        let shared = Shared::new(root.path().join("state"));
        Self { root, shared, wants: Wants { home, cwd, role, servers } }
    }

    fn with_files() -> Self {
        let place = Self::new();
        fs::write(place.context(), "# Mine\n").unwrap();
        fs::set_permissions(place.context(), fs::Permissions::from_mode(0o640)).unwrap();
        fs::write(place.settings(), SETTINGS).unwrap();
        place
    }

    fn context(&self) -> PathBuf {
        self.wants.cwd.join("GEMINI.md")
    }

    fn settings(&self) -> PathBuf {
        settings(&self.wants.home)
    }

    /// All files, but for the lock.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut open = vec![self.root.path().to_owned()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    open.push(path);
                } else if !path.ends_with("lock") {
                    files.insert(path.clone(), fs::read(path).unwrap());
                }
            }
        }
        files
    }

    /// What there is while an agent is being started, and then its Pollux is killed.
    fn crash(&self) {
        let loan = self.shared.lend(&self.wants).unwrap();
        let lent = self.files();
        drop(loan);
        for (path, bytes) in lent {
            fs::write(path, bytes).unwrap();
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn what_was_lent_comes_back_to_the_byte() {
    for place in [Place::new(), Place::with_files()] {
        let before = place.files();
        let loan = place.shared.lend(&place.wants).unwrap();
        assert!(read(&place.context()).contains("You are the tester."));
        assert!(read(&place.settings()).contains("mcpServers"));
        let returned = loan.give_back().unwrap();
        assert!(returned.iter().all(|file| file.how == How::Whole), "{returned:?}");
        assert_eq!(place.files(), before);
    }
    let place = Place::with_files();
    drop(place.shared.lend(&place.wants).unwrap());
    let mode = fs::metadata(place.context()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640, "rights too");
}

#[test]
fn a_server_of_the_users_own_is_there_all_the_time() {
    let place = Place::with_files();
    let loan = place.shared.lend(&place.wants).unwrap();
    assert_eq!(loan.called("pollux"), "pollux-2");
    let text = read(&place.settings());
    let lent: Value = serde_json::from_str(&text.replace("// mine", "")).unwrap();
    assert_eq!(lent["mcpServers"]["pollux"]["command"], "$MINE");
    assert_eq!(lent["mcpServers"]["pollux-2"]["command"], "pollux");
    assert!(read(&place.context()).contains("`pollux` is called `pollux-2` here"));
    // A project's own is stronger than the user's, and so its name is taken too.
    drop(loan);
    fs::create_dir_all(place.wants.cwd.join(".gemini")).unwrap();
    let theirs = r#"{ "mcpServers": { "pollux-2": {} } }"#;
    fs::write(settings(&place.wants.cwd), theirs).unwrap();
    let loan = place.shared.lend(&place.wants).unwrap();
    assert_eq!(loan.called("pollux"), "pollux-3");
}

#[test]
fn what_a_crash_left_is_put_back_and_is_never_taken_for_the_users() {
    for place in [Place::new(), Place::with_files()] {
        let before = place.files();
        place.crash();
        assert_eq!(place.shared.left().unwrap().len(), 2);
        let returned = place.shared.recover().unwrap();
        assert!(returned.iter().all(|file| file.how == How::Whole), "{returned:?}");
        assert_eq!(place.files(), before);
        assert!(
            place.shared.recover().unwrap().is_empty() && place.shared.left().unwrap().is_empty()
        );
        // The next agent may be faster than whoever looks for leftovers.
        place.crash();
        drop(place.shared.lend(&place.wants).unwrap());
        assert_eq!(place.files(), before);
        // Also where it is not known any more what was lent.
        place.crash();
        fs::remove_dir_all(place.root.path().join("state")).unwrap();
        fs::write(place.settings(), "{}").unwrap();
        drop(place.shared.lend(&place.wants).unwrap());
        assert!(!read(&place.context()).contains("tester"), "{}", read(&place.context()));
    }
}

#[test]
fn what_somebody_writes_meanwhile_is_not_lost() {
    let place = Place::with_files();
    place.crash();
    let mine = read(&place.context()).replace("# Mine", "# Mine, and more");
    fs::write(place.context(), mine).unwrap();
    fs::write(place.settings(), read(&place.settings()).replace("// mine", "// ours")).unwrap();
    let returned = place.shared.recover().unwrap();
    assert!(returned.iter().all(|file| file.how == How::Changed), "{returned:?}");
    assert_eq!(read(&place.context()), "# Mine, and more\n");
    assert_eq!(read(&place.settings()).trim(), SETTINGS.replace("// mine", "// ours").trim());
}

#[test]
fn what_cannot_be_told_from_ours_stays_and_what_it_was_is_kept() {
    let place = Place::with_files();
    place.crash();
    let mixed = read(&place.context()).replace("the tester", "a poet");
    fs::write(place.context(), &mixed).unwrap();
    let returned = place.shared.recover().unwrap();
    let How::Left(kept) = &returned[0].how else { panic!("{returned:?}") };
    assert_eq!((read(&place.context()), read(kept)), (mixed, "# Mine\n".to_owned()));
    assert_eq!(place.shared.kept(), std::slice::from_ref(kept));
    assert_eq!(read(&place.settings()), SETTINGS);
}

#[test]
fn while_one_agent_is_being_started_another_one_waits() {
    let place = Place::with_files();
    let loan = place.shared.lend(&place.wants).unwrap();
    assert!(place.shared.recover().unwrap().is_empty(), "it is in use");
    assert!(place.shared.left().unwrap().is_empty());
    let (shared, wants) = (place.shared.clone(), place.wants.clone());
    let other = std::thread::spawn(move || {
        let wants = Wants { role: "You are the poet.".to_owned(), ..wants };
        let loan = shared.lend(&wants).unwrap();
        let text = read(&wants.cwd.join("GEMINI.md"));
        drop(loan);
        text
    });
    assert!(read(&place.context()).contains("tester"));
    drop(loan);
    let text = other.join().unwrap();
    assert!(text.starts_with("# Mine\n") && text.contains("poet"), "{text}");
    assert!(!text.contains("tester"), "{text}");
    assert_eq!(read(&place.context()), "# Mine\n");
}

#[test]
fn settings_that_cannot_be_read_stop_it_before_anything_is_touched() {
    let place = Place::with_files();
    fs::write(place.settings(), "{ no").unwrap();
    let before = place.files();
    let error = place.shared.lend(&place.wants).unwrap_err().to_string();
    assert!(error.contains("settings.json"), "{error}");
    assert_eq!(place.files(), before);
}

#[test]
fn the_file_is_the_one_that_the_cli_will_read() {
    let mut place = Place::new();
    fs::write(place.settings(), r#"{ "context": { "fileName": "AGENTS.md" } }"#).unwrap();
    assert_eq!(context(&place.wants), place.wants.cwd.join("AGENTS.md"));
    fs::write(place.settings(), r#"{ "context": { "fileName": "../x" } }"#).unwrap();
    assert_eq!(context(&place.wants), place.wants.cwd.join("GEMINI.md"));
    place.wants.cwd = place.wants.home.clone();
    assert_eq!(context(&place.wants), place.wants.home.join(".gemini/GEMINI.md"));
    let real = place.root.path().join("real.md");
    fs::write(&real, "# Mine\n").unwrap();
    std::os::unix::fs::symlink(&real, context(&place.wants)).unwrap();
    let loan = place.shared.lend(&place.wants).unwrap();
    assert!(read(&real).contains("tester"));
    drop(loan);
    assert_eq!(read(&real), "# Mine\n");
    assert!(fs::symlink_metadata(context(&place.wants)).unwrap().is_symlink(), "still a link");
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for() {
    for at in [Place::context, Place::settings] {
        let place = Place::new();
        mknodat(CWD, at(&place), FileType::Fifo, Mode::RUSR, 0).unwrap();
        let refused = place.shared.lend(&place.wants).unwrap_err();
        assert!(refused.to_string().contains("not a regular file"), "{refused}");
    }
}
