//! A git worktree for one worker: made, merged or kept, and never thrown away with something in it.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// Git that takes longer hangs.
const LONGEST: Duration = Duration::from_mins(2);

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
        let own = ["-c", "user.name=pollux", "-c", "user.email=pollux@localhost"];
        let commit = ["commit", "--quiet", "--no-verify", "-m", &message];
        let plain = git(&tree.path, &commit).await;
        if plain.is_err() {
            git(&tree.path, &[&own[..], &commit[..]].concat()).await?;
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
    let merged = git(
        &tree.of,
        &[
            "-c",
            "user.name=pollux",
            "-c",
            "user.email=pollux@localhost",
            "merge",
            "--no-ff",
            "--quiet",
            "-m",
            &format!("Merge the work of {name}"),
            &tree.branch,
        ],
    )
    .await;
    if let Err(error) = merged {
        // There may be nothing to abort: it was refused before it began.
        drop(git(&tree.of, &["merge", "--abort"]).await);
        return Ok(format!(
            "its work could not be merged and stays on the branch {}, in {at}: {error:#}",
            tree.branch
        ));
    }
    git(&tree.of, &["worktree", "remove", &at]).await?;
    git(&tree.of, &["branch", "-d", &tree.branch]).await?;
    Ok("its work was merged".into())
}

#[expect(
    clippy::disallowed_methods,
    reason = "it has a directory and a group, and is killed on drop"
)]
async fn git(cwd: &Path, args: &[&str]) -> anyhow::Result<String> {
    let mut command = tokio::process::Command::new("git");
    command.args(args).current_dir(cwd).stdin(Stdio::null()).process_group(0).kill_on_drop(true);
    let ran = tokio::time::timeout(LONGEST, command.output()).await??;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if !ran.status.success() {
        anyhow::bail!("`git {}` failed: {}", args.join(" "), said(&ran.stderr));
    }
    Ok(said(&ran.stdout))
}
