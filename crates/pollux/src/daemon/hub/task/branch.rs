//! The git branch that a session works on, out of git's own files.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Files that name a branch or a directory are shorter.
const LONGEST: u64 = 16 << 10;

/// The branch of a directory: what `HEAD` names in it, or in the one above.
pub(super) fn branch(cwd: &Path) -> Option<String> {
    let git = cwd.ancestors().map(|at| at.join(".git")).find(|git| git.exists())?;
    // In a worktree it is a file that says where.
    let place = if git.is_dir() {
        git
    } else {
        git.parent()?.join(text(&git)?.strip_prefix("gitdir:")?.trim())
    };
    Some(text(&place.join("HEAD"))?.trim().strip_prefix("ref: refs/heads/")?.to_owned())
}

/// The text of a short file. In somebody's directory a pipe may stand there, which nobody ever writes to.
fn text(path: &Path) -> Option<String> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut text = String::new();
    File::open(path).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::branch;
    use pollux_agent::process::Program;
    use std::fs;

    #[test]
    fn the_branch_is_found_from_below_and_in_a_worktree() {
        let directory = tempfile::tempdir().unwrap();
        let (main, tree) = (directory.path().join("main"), directory.path().join("tree"));
        fs::create_dir_all(main.join(".git/worktrees/tree")).unwrap();
        fs::create_dir_all(main.join("src/deep")).unwrap();
        fs::create_dir(&tree).unwrap();
        fs::write(main.join(".git/HEAD"), "ref: refs/heads/feature/one\n").unwrap();
        fs::write(main.join(".git/worktrees/tree/HEAD"), "ref: refs/heads/two\n").unwrap();
        fs::write(tree.join(".git"), "gitdir: ../main/.git/worktrees/tree\n").unwrap();
        assert_eq!(branch(&main.join("src/deep")).as_deref(), Some("feature/one"));
        assert_eq!(branch(&tree).as_deref(), Some("two"));
    }

    #[tokio::test]
    async fn a_pipe_in_the_place_of_a_file_is_no_branch() {
        let directory = tempfile::tempdir().unwrap();
        let mut mkfifo = Program::new("mkfifo", directory.path()).args([".git"]).spawn().unwrap();
        assert!(mkfifo.wait().await.unwrap().success());
        assert_eq!(branch(directory.path()), None);
    }
}
