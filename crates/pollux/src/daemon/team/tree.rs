//! A git worktree for one worker: made, merged or kept, and never thrown away with something in it.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// Git that takes longer hangs.
const LONGEST: Duration = Duration::from_mins(2);
/// Who commits where nobody is known to git.
const OWN: [&str; 4] = ["-c", "user.name=pollux", "-c", "user.email=pollux@localhost"];
/// What a hook of git leaves to whoever it starts, and so to a daemon: git would work there, and not where it is told to.
const ELSEWHERE: [&str; 3] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"];

/// A worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// Where it is.
    pub path: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The repository that it belongs to.
    pub of: PathBuf,
    /// The commit that it began with.
    pub base: String,
}

/// Makes a worktree on a branch of its own.
pub(super) async fn make(of: &Path, path: PathBuf, name: &str) -> anyhow::Result<Tree> {
    let base = git(of, &["rev-parse", "HEAD"]).await?;
    let branch = format!("pollux/{name}");
    let at = path.display().to_string();
    git(of, &["worktree", "add", "-b", &branch, &at, &base]).await?;
    Ok(Tree { path, branch, of: of.to_owned(), base })
}

/// Puts away a tree whose worker is done, and says what became of it. What is in it is committed to its branch; only a
/// tree and a branch with nothing in them go.
pub(super) async fn put_away(tree: &Tree, name: &str, merge: bool) -> anyhow::Result<String> {
    let at = tree.path.display().to_string();
    if !git(&tree.path, &["status", "--porcelain"]).await?.is_empty() {
        git(&tree.path, &["add", "--all"]).await?;
        let message = format!("Work of {name}");
        let commit = ["commit", "--quiet", "--no-verify", "-m", &message];
        let plain = git(&tree.path, &commit).await;
        if plain.is_err() {
            git(&tree.path, &[&OWN[..], &commit[..]].concat()).await?;
        }
    }
    let head = git(&tree.path, &["rev-parse", "HEAD"]).await?;
    if head == tree.base {
        git(&tree.of, &["worktree", "remove", &at]).await?;
        git(&tree.of, &["branch", "-d", &tree.branch]).await?;
        return Ok("nothing was changed in its worktree, which is gone".into());
    }
    if !merge {
        return Ok(format!("its work is on the branch {}, in {at}", tree.branch));
    }
    if let Err(error) = merge_into(tree, name).await {
        return Ok(format!(
            "its work could not be merged and stays on the branch {}, in {at}: {error:#}",
            tree.branch
        ));
    }
    git(&tree.of, &["worktree", "remove", &at]).await?;
    git(&tree.of, &["branch", "-d", &tree.branch]).await?;
    Ok("its work was merged".into())
}

/// Merges the work into what the repository is at. Where that does not go, all is as it was.
async fn merge_into(tree: &Tree, name: &str) -> anyhow::Result<()> {
    if git(&tree.of, &["rev-parse", "--verify", "--quiet", "MERGE_HEAD"]).await.is_ok() {
        // Ours would be refused, and to abort it would throw away what somebody has settled in his own.
        anyhow::bail!("somebody is in the middle of another merge");
    }
    let message = format!("Merge the work of {name}");
    let merge = ["merge", "--no-ff", "--quiet", "-m", &message, &tree.branch];
    let merged = git(&tree.of, &[&OWN[..], &merge[..]].concat()).await;
    if merged.is_err() {
        // There may be nothing to abort: it was refused before it began.
        drop(git(&tree.of, &["merge", "--abort"]).await);
    }
    merged.map(drop)
}

#[expect(
    clippy::disallowed_methods,
    reason = "it has a directory and a group, and is killed on drop"
)]
async fn git(cwd: &Path, args: &[&str]) -> anyhow::Result<String> {
    let mut command = tokio::process::Command::new("git");
    command.args(args).current_dir(cwd).stdin(Stdio::null()).process_group(0).kill_on_drop(true);
    for name in ELSEWHERE {
        command.env_remove(name);
    }
    let ran = tokio::time::timeout(LONGEST, command.output()).await??;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if !ran.status.success() {
        anyhow::bail!("`git {}` failed: {}", args.join(" "), said(&ran.stderr));
    }
    Ok(said(&ran.stdout))
}

#[cfg(test)]
mod tests {
    use super::{OWN, git, make, put_away};
    use std::fs;
    use std::path::Path;

    async fn commit(at: &Path, text: &str) {
        fs::write(at.join("a.txt"), text).unwrap();
        git(at, &["add", "--all"]).await.unwrap();
        let commit = ["commit", "--quiet", "-m", text];
        git(at, &[&OWN[..], &commit[..]].concat()).await.unwrap();
    }

    #[tokio::test]
    async fn a_merge_that_somebody_is_in_the_middle_of_is_not_touched() {
        let directory = tempfile::tempdir().unwrap();
        let of = directory.path().join("of");
        fs::create_dir(&of).unwrap();
        git(&of, &["init", "--quiet", "-b", "main"]).await.unwrap();
        commit(&of, "first").await;
        let tree = make(&of, directory.path().join("tree"), "w-1").await.unwrap();
        fs::write(tree.path.join("made.txt"), "made").unwrap();
        git(&of, &["checkout", "--quiet", "-b", "other"]).await.unwrap();
        commit(&of, "other").await;
        git(&of, &["checkout", "--quiet", "main"]).await.unwrap();
        commit(&of, "main").await;
        let theirs = ["merge", "--quiet", "other"];
        assert!(git(&of, &[&OWN[..], &theirs[..]].concat()).await.is_err(), "a conflict");
        fs::write(of.join("a.txt"), "settled").unwrap();
        let became = put_away(&tree, "w-1", true).await.unwrap();
        assert!(became.contains("stays on the branch pollux/w-1"), "{became}");
        assert_eq!(fs::read_to_string(of.join("a.txt")).unwrap(), "settled");
        git(&of, &["rev-parse", "--verify", "MERGE_HEAD"]).await.unwrap();
    }
}
