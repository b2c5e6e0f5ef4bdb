//! A git worktree for one worker: made, merged or kept, and never thrown away with something in it.

use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// Git that takes longer hangs.
const LONGEST: Duration = Duration::from_mins(2);
/// Who commits where nobody is known to git.
const OWN: [&str; 4] = ["-c", "user.name=pollux", "-c", "user.email=pollux@localhost"];
/// Programs that git would run besides, and that a worker could have written: its worktree may hold the user's hooks. Nor does
/// anybody sit there who would be asked for the words that open a key: what a worker has done is not signed.
const ALONE: [&str; 6] =
    ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgsign=false"];
/// What git writes into a worktree that it is not done with.
const HALF_MADE: &str = "locked initializing";
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
    /// Where git keeps what it knows of it. The tree names a place too, but that is for its worker to write.
    #[serde(default)]
    pub git_dir: Option<PathBuf>,
}

impl Tree {
    /// Runs git in the tree. Whatever the worker has made of it, git believes its own directory.
    async fn git(&self, args: &[&str]) -> anyhow::Result<String> {
        let git_dir = match &self.git_dir {
            Some(git_dir) => git_dir.clone(),
            None => git_dir_of(&self.of, &self.path).await?,
        };
        let own = [("GIT_DIR", git_dir.as_path()), ("GIT_WORK_TREE", self.path.as_path())];
        git_with(&self.path, args, &own).await
    }

    /// What differs from the last commit. Nobody looks into a repository that lies in it: that has settings of its own.
    async fn status(&self, more: &[&str]) -> anyhow::Result<String> {
        let status = ["status", "--porcelain", "--ignore-submodules=dirty"];
        self.git(&[&status[..], more].concat()).await
    }
}

/// Makes a worktree on a branch of its own. Again, where a daemon before has begun with it: what it has made is taken.
pub(super) async fn make(
    of: &Path,
    path: PathBuf,
    name: &str,
    again: bool,
) -> anyhow::Result<Tree> {
    let branch = format!("pollux/{name}");
    let at = path.display().to_string();
    let head = git(of, &["rev-parse", "HEAD"]).await?;
    let made = if again { made(of, &path, &branch).await? } else { Made::Not };
    let base = match made {
        Made::Not => {
            git(of, &["worktree", "add", "-b", &branch, &at, &head]).await?;
            head
        }
        Made::Branch => {
            git(of, &["worktree", "add", &at, &branch]).await?;
            git(of, &["merge-base", &head, &branch]).await?
        }
        Made::Whole => git(of, &["merge-base", &head, &branch]).await?,
    };
    let git_dir = Some(git_dir_of(of, &path).await?);
    Ok(Tree { path, branch, of: of.to_owned(), base, git_dir })
}

/// How far a daemon before has come with a tree.
enum Made {
    Not,
    Branch,
    Whole,
}

async fn made(of: &Path, path: &Path, branch: &str) -> anyhow::Result<Made> {
    let at = path.display().to_string();
    let all = git(of, &["worktree", "list", "--porcelain"]).await?;
    let own = format!("worktree {at}");
    let known = all.split("\n\n").find(|one| one.lines().any(|line| line == own));
    if known.is_some_and(|one| path.is_dir() && !one.lines().any(|line| line == HALF_MADE)) {
        return Ok(Made::Whole);
    }
    if known.is_some() {
        // Files are missing in it, and nobody has worked there yet.
        git(of, &["worktree", "remove", "--force", "--force", &at]).await?;
    }
    let name = format!("refs/heads/{branch}");
    let there = git(of, &["rev-parse", "--verify", "--quiet", &name]).await;
    Ok(if there.is_ok() { Made::Branch } else { Made::Not })
}

/// Where git keeps what it knows of a worktree, as the repository says that it belongs to: each of its worktrees has a
/// directory there that names it.
async fn git_dir_of(of: &Path, path: &Path) -> anyhow::Result<PathBuf> {
    let common = git(of, &["rev-parse", "--git-common-dir"]).await?;
    let all = std::fs::read_dir(of.join(common).join("worktrees"))?;
    let real = path.canonicalize()?;
    let is_it = |entry: &PathBuf| {
        let named = std::fs::read_to_string(entry.join("gitdir")).unwrap_or_default();
        let named = Path::new(named.trim_end_matches('\n')).parent().map(Path::to_path_buf);
        named.and_then(|named| named.canonicalize().ok()).is_some_and(|named| named == real)
    };
    let mut all = all.flatten().map(|entry| entry.path());
    let found = all.find(is_it);
    found.ok_or_else(|| anyhow::anyhow!("git has no worktree {}", path.display()))
}

/// Commits and merges what is in a tree whose worker rests, and says what became of it. Nothing goes.
pub(super) async fn settle(tree: &Tree, name: &str, merge: bool) -> anyhow::Result<String> {
    let at = tree.path.display().to_string();
    commit(tree, name).await?;
    let head = tree.git(&["rev-parse", "HEAD"]).await?;
    let ignored = !tree.status(&["--ignored"]).await?.is_empty();
    let stays = if ignored { format!("; ignored files are in {at}") } else { String::new() };
    if head == tree.base {
        return Ok(format!("no changes in the worktree{stays}"));
    }
    if !merge {
        return Ok(format!("the work is on branch {}, in {at}", tree.branch));
    }
    if let Err(error) = merge_into(tree, name).await {
        return Ok(format!(
            "the work could not be merged and is on branch {}, in {at}: {error:#}",
            tree.branch
        ));
    }
    Ok(format!("the work was merged{stays}"))
}

/// Puts away a tree whose worker has ended. What is in it is committed to its branch; only a tree in which nothing is that
/// the repository has not goes, with its branch. True where it is gone.
pub(super) async fn put_away(tree: &Tree, name: &str) -> anyhow::Result<bool> {
    commit(tree, name).await?;
    let head = tree.git(&["rev-parse", "HEAD"]).await?;
    let has = git(&tree.of, &["merge-base", "--is-ancestor", &head, "HEAD"]).await.is_ok();
    if !has || !tree.status(&["--ignored"]).await?.is_empty() {
        return Ok(false);
    }
    git(&tree.of, &["worktree", "remove", &tree.path.display().to_string()]).await?;
    git(&tree.of, &["branch", "-d", &tree.branch]).await?;
    Ok(true)
}

async fn commit(tree: &Tree, name: &str) -> anyhow::Result<()> {
    if tree.status(&[]).await?.is_empty() {
        return Ok(());
    }
    tree.git(&["add", "--all"]).await?;
    let message = format!("Work of {name}");
    let commit = ["commit", "--quiet", "--no-verify", "-m", &message];
    let plain = tree.git(&commit).await;
    if plain.is_err() {
        tree.git(&[&OWN[..], &commit[..]].concat()).await?;
    }
    Ok(())
}

/// Merges the work into what the repository is at. Where that does not go, all is as it was.
async fn merge_into(tree: &Tree, name: &str) -> anyhow::Result<()> {
    if git(&tree.of, &["rev-parse", "--verify", "--quiet", "MERGE_HEAD"]).await.is_ok() {
        // Ours would be refused, and to abort it would throw away what somebody has settled in his own.
        anyhow::bail!("another merge is in progress in the repository");
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

async fn git(cwd: &Path, args: &[&str]) -> anyhow::Result<String> {
    git_with(cwd, args, &[]).await
}

#[expect(
    clippy::disallowed_methods,
    reason = "it has a directory and a group, and is killed on drop"
)]
async fn git_with(cwd: &Path, args: &[&str], env: &[(&str, &Path)]) -> anyhow::Result<String> {
    let mut command = tokio::process::Command::new("git");
    command.args(ALONE).args(args).current_dir(cwd);
    command.stdin(Stdio::null()).process_group(0).kill_on_drop(true);
    for name in ELSEWHERE {
        command.env_remove(name);
    }
    command.envs(env.iter().copied());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn()?;
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let mut output = std::pin::pin!(child.wait_with_output());
    let Ok(ran) = tokio::time::timeout(LONGEST, &mut output).await else {
        // With all that it has started: one that waits for somebody would wait on.
        let _gone = group.map(|group| kill_process_group(group, Signal::KILL));
        anyhow::bail!("`git {}` timed out", args.join(" "));
    };
    let ran = ran?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if !ran.status.success() {
        anyhow::bail!("`git {}` failed: {}", args.join(" "), said(&ran.stderr));
    }
    Ok(said(&ran.stdout))
}

#[cfg(test)]
mod tests {
    use super::{OWN, Tree, git, make, put_away, settle};
    use pollux_e2e::requires;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    async fn commit(at: &Path, text: &str) {
        fs::write(at.join("a.txt"), text).unwrap();
        git(at, &["add", "--all"]).await.unwrap();
        let commit = ["commit", "--quiet", "-m", text];
        git(at, &[&OWN[..], &commit[..]].concat()).await.unwrap();
    }

    /// A repository with one commit, and a worktree of it.
    async fn trees() -> (tempfile::TempDir, PathBuf, Tree) {
        let directory = tempfile::tempdir().unwrap();
        let of = directory.path().join("of");
        fs::create_dir(&of).unwrap();
        git(&of, &["init", "--quiet", "-b", "main"]).await.unwrap();
        commit(&of, "first").await;
        let tree = make(&of, directory.path().join("tree"), "w-1", false).await.unwrap();
        (directory, of, tree)
    }

    #[tokio::test]
    async fn a_merge_that_somebody_is_in_the_middle_of_is_not_touched() {
        requires!(git);
        let (_directory, of, tree) = trees().await;
        fs::write(tree.path.join("made.txt"), "made").unwrap();
        git(&of, &["checkout", "--quiet", "-b", "other"]).await.unwrap();
        commit(&of, "other").await;
        git(&of, &["checkout", "--quiet", "main"]).await.unwrap();
        commit(&of, "main").await;
        let theirs = ["merge", "--quiet", "other"];
        assert!(git(&of, &[&OWN[..], &theirs[..]].concat()).await.is_err(), "a conflict");
        fs::write(of.join("a.txt"), "settled").unwrap();
        let became = settle(&tree, "w-1", true).await.unwrap();
        assert!(became.contains("is on branch pollux/w-1"), "{became}");
        assert_eq!(fs::read_to_string(of.join("a.txt")).unwrap(), "settled");
        git(&of, &["rev-parse", "--verify", "MERGE_HEAD"]).await.unwrap();
    }

    /// A program that a worker wrote and git would run; and the sign that it was.
    fn program(at: &Path) -> (PathBuf, PathBuf) {
        let (program, ran) = (at.join("run-me"), at.join("ran"));
        fs::write(&program, format!("#!/bin/sh\ntouch {}\ncat\n", ran.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        (program, ran)
    }

    #[tokio::test]
    async fn nothing_that_a_worker_writes_makes_git_run_a_program() {
        requires!(git);
        let (directory, of, tree) = trees().await;
        let (program, ran) = program(directory.path());
        let settings = format!(
            "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {0}\n[filter \"x\"]\n\tclean = {0}\n",
            program.display()
        );
        // A repository of its own, which the tree is said to belong to.
        let evil = tree.path.join("evil");
        git(&tree.path, &["init", "--quiet", "--bare", "evil"]).await.unwrap();
        fs::write(evil.join("config"), &settings).unwrap();
        fs::write(tree.path.join(".git"), "gitdir: evil\n").unwrap();
        // And one that lies in it, as a part of it.
        let part = tree.path.join("part");
        fs::create_dir(&part).unwrap();
        git(&part, &["init", "--quiet"]).await.unwrap();
        commit(&part, "part").await;
        fs::write(part.join(".git/config"), &settings).unwrap();
        fs::write(part.join(".gitattributes"), "* filter=x\n").unwrap();
        fs::write(tree.path.join("made.txt"), "made").unwrap();
        // Hooks of the user's that the worker has changed.
        git(&of, &["config", "core.hooksPath", "hooks"]).await.unwrap();
        fs::create_dir(tree.path.join("hooks")).unwrap();
        for hook in ["post-merge", "post-commit", "post-checkout"] {
            fs::copy(&program, tree.path.join("hooks").join(hook)).unwrap();
        }
        let became = settle(&tree, "w-1", true).await.unwrap();
        fs::write(part.join("a.txt"), "other").unwrap();
        let again = settle(&tree, "w-1", true).await.unwrap();
        drop(put_away(&tree, "w-1").await);
        assert!(!ran.exists(), "{became}; {again}");
        assert_eq!(fs::read_to_string(of.join("made.txt")).unwrap(), "made", "{became}");
    }

    #[tokio::test]
    async fn nobody_is_asked_to_sign_what_a_worker_has_done() {
        requires!(git);
        let (directory, of, tree) = trees().await;
        let (program, ran) = program(directory.path());
        git(&of, &["config", "commit.gpgsign", "true"]).await.unwrap();
        git(&of, &["config", "gpg.program", &program.display().to_string()]).await.unwrap();
        fs::write(tree.path.join("made.txt"), "made").unwrap();
        let became = settle(&tree, "w-1", true).await.unwrap();
        assert_eq!(became, "the work was merged");
        assert!(!ran.exists());
    }

    #[tokio::test]
    async fn a_tree_that_an_earlier_daemon_made_is_taken_and_half_of_one_is_made_anew() {
        requires!(git);
        let (directory, of, tree) = trees().await;
        let path = directory.path().join("tree");
        assert!(make(&of, path.clone(), "w-1", false).await.is_err(), "a name that is taken");
        assert_eq!(make(&of, path.clone(), "w-1", true).await.unwrap(), tree);
        // Killed before all of its files were there.
        fs::write(tree.git_dir.as_ref().unwrap().join("locked"), "initializing").unwrap();
        fs::remove_file(path.join("a.txt")).unwrap();
        assert_eq!(make(&of, path.clone(), "w-1", true).await.unwrap().base, tree.base);
        assert!(path.join("a.txt").exists());
        // Killed when there was a branch and no more.
        git(&of, &["worktree", "remove", &path.display().to_string()]).await.unwrap();
        make(&of, path.clone(), "w-1", true).await.unwrap();
        assert!(path.join("a.txt").exists());
    }

    #[tokio::test]
    async fn a_tree_goes_only_where_all_that_is_in_it_is_elsewhere() {
        requires!(git);
        let (_directory, of, tree) = trees().await;
        fs::write(tree.path.join(".gitignore"), "secret\n").unwrap();
        fs::write(tree.path.join("secret"), "not in git").unwrap();
        let became = settle(&tree, "w-1", true).await.unwrap();
        assert!(became.starts_with("the work was merged; ignored files are in"), "{became}");
        assert!(!put_away(&tree, "w-1").await.unwrap());
        assert_eq!(fs::read_to_string(tree.path.join("secret")).unwrap(), "not in git");
        fs::remove_file(tree.path.join("secret")).unwrap();
        fs::write(tree.path.join("late.txt"), "late").unwrap();
        assert!(!put_away(&tree, "w-1").await.unwrap(), "what came late is on its branch");
        git(&of, &["show", "pollux/w-1:late.txt"]).await.unwrap();
        settle(&tree, "w-1", true).await.unwrap();
        assert!(put_away(&tree, "w-1").await.unwrap());
        assert!(!tree.path.exists());
        assert!(git(&of, &["branch", "--list", "pollux/*"]).await.unwrap().is_empty());
    }
}
