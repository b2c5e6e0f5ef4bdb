//! The session that an agent goes on with, where there is something in it to go on with.

use super::agent::{Gemini, Wanted};
use super::headless::looked_for;
use pollux_agent::gemini::transcript::resume::Resume;
use pollux_agent::model::{Failure, Phase};

/// What a process is to go on with; nothing where it begins anew.
pub(super) async fn resumed(wanted: &Wanted, gemini: &Gemini) -> Result<Option<Resume>, Failure> {
    let Some(id) = wanted.agent_id.clone() else { return Ok(None) };
    let file = match wanted.file.clone() {
        Some(file) => Some(file),
        None => looked_for(&gemini.home, &id).await,
    };
    let file = file.ok_or_else(|| no_file(&id))?;
    Ok(Resume { id, file, aside: gemini.aside.clone() }.unless_blank())
}

/// What is said where the file of a session is gone that was to be gone on with.
pub(super) fn no_file(id: &str) -> Failure {
    let message = format!("the file of session {id} is missing");
    let hint = format!("restore it with `pollux sessions restore {id}`");
    Failure::new(Phase::Start, "no_session_file", message).hint(hint)
}
