//! The end of a job, which comes once, and what becomes of the worktree of its worker.

use super::follow::{is_at_work, pollux};
use super::give::client_id;
use super::{Teams, Tree, lock, tree};
use crate::api::team::{Job, Worktree};
use crate::daemon::log::begun;
use crate::team::job::State;
use pollux_agent::session::Command;

/// The end of a job, which one brings about.
pub(super) struct Ending(Teams, String);

impl Ending {
    /// Nothing where another is at it, or where it has ended.
    pub(super) fn of(teams: &Teams, job: &str) -> Option<Self> {
        let open = lock(&teams.inner.jobs).contains_key(job);
        let first = open && lock(&teams.inner.ending).insert(job.to_owned());
        first.then(|| Self(teams.clone(), job.to_owned()))
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        lock(&self.0.inner.ending).remove(&self.1);
    }
}

impl Teams {
    /// What becomes of what is in the worktree of a job that has ended. The tree itself is its worker's as long as that lives.
    pub(super) async fn settle_tree(&self, job: &mut Job) {
        let Some(worker) = job.worker.as_deref() else { return };
        let Some(tree) = self.kept(worker).and_then(|kept| kept.worktree) else { return };
        let at = tree.path.display();
        let done = job.state == State::Done;
        let became = if !done && self.summary(worker).is_some_and(|it| is_at_work(&it)) {
            // It writes until it is stopped.
            format!("the work so far is on branch {}, in {at}", tree.branch)
        } else {
            let merge = done && job.inner.worktree == Some(Worktree::Merge);
            tree::settle(&tree, &job.name, merge)
                .await
                .unwrap_or_else(|error| format!("the worktree {at} was left in place: {error:#}"))
        };
        job.result.get_or_insert_default().worktree = Some(became);
    }

    /// The worker of a job could not be started: what there is of it already ends, and its tree goes.
    pub(super) async fn take_back(&self, job: &Job, tree: Option<&Tree>) {
        let client = client_id(job);
        let begun = self.hub().log().read(move |connection| begun(connection, &client)).await;
        if let Ok(Some(session)) = begun {
            let id = format!("stop-{}", job.id);
            // It may never have been there.
            drop(self.command(&session, id, pollux(), Command::Stop).await);
        }
        let Some(tree) = tree else { return };
        if let Err(error) = tree::put_away(tree, &job.name).await {
            tracing::warn!(job = %job.id, "could not remove the worktree: {error:#}");
        }
    }

    /// The worktree of an agent that has ended goes, where nothing is in it that is nowhere else.
    pub(super) async fn put_away(&self, session: &str) {
        let Some(kept) = self.kept(session) else { return };
        let Some(tree) = kept.worktree.filter(|tree| tree.path.exists()) else { return };
        match tree::put_away(&tree, &kept.name).await {
            Ok(gone) => tracing::info!(session, gone, "removed the worktree"),
            Err(error) => {
                let at = tree.path.display();
                tracing::warn!(session, "could not remove the worktree {at}: {error:#}");
            }
        }
    }
}
