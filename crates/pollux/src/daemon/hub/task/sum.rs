//! What is to be known of a session, kept up to date event by event. Pure.

use crate::api::{Context, OpenQuestion, Summary};
use jiff::Timestamp;
use pollux_agent::gemini::models::context_window;
use pollux_agent::model::{At, Event, EventKind, Level, Meaning, Role, SessionStatus};
use pollux_agent::session::Session;
use serde_json::value::to_raw_value;

const TITLE: usize = 80;

/// The first line of a text, cut to what a list shows.
pub(super) fn title(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default().trim();
    match line.char_indices().nth(TITLE) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or(line)),
        None => line.to_owned(),
    }
}

/// When it happened, where the agent says so and it is not yet to come.
pub(super) fn time(at: At, now: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(at.0).map_or(now, |at| at.min(now))
}

/// Takes one event in.
pub(super) fn fold(summary: &mut Summary, event: &Event<'_>) {
    match &event.kind {
        EventKind::SessionStarted { session_id, model, .. } => {
            summary.agent_id = Some(session_id.to_string());
            if let (None, Some(model)) = (&summary.model, model) {
                summary.model = Some(model.to_string());
            }
        }
        EventKind::SessionRekeyed { session_id, .. } => {
            summary.agent_id = Some(session_id.to_string());
        }
        EventKind::SessionChanged(change) => {
            if let Some(text) = &change.title {
                summary.title = Some(title(&text.to_str()));
            }
        }
        EventKind::TurnStarted { prompt } if summary.title.is_none() => {
            summary.title = Some(title(&prompt.to_str()));
        }
        EventKind::ToolStarted { name, meaning, .. } => {
            summary.activity = Some(activity(&name.to_str(), meaning.as_deref()));
        }
        EventKind::MessageRecorded { message, .. } => {
            let text = message.text();
            if let Some(usage) = message.usage.filter(|usage| usage.total_tokens > 0) {
                let model = message.model.as_ref().map(ToString::to_string);
                let limit = model.or_else(|| summary.model.clone());
                let limit = limit.and_then(|model| context_window(&model));
                summary.context = Some(Context { tokens: usage.total_tokens, limit });
            }
            if message.role == Role::Assistant && !text.trim().is_empty() {
                summary.activity = Some(title(&text));
            }
            if message.role == Role::User && !message.meta && summary.title.is_none() {
                summary.title = Some(title(&text));
            }
        }
        // Why it is gone says more than what it left behind.
        EventKind::Notice { level: Level::Warning, .. }
            if summary.status == SessionStatus::Exited && summary.activity.is_some() => {}
        EventKind::Notice { text, .. } => summary.activity = Some(title(text)),
        _ => {}
    }
}

fn activity(name: &str, meaning: Option<&Meaning>) -> String {
    let about = match meaning {
        Some(Meaning::Command { command, .. }) => command,
        Some(Meaning::Mutation { path, .. }) => path,
        Some(Meaning::Card { title, .. }) => title,
        _ => return name.to_owned(),
    };
    title(&format!("{name}: {about}"))
}

/// What the rules know. The version rises where something is different that a list or a screen shows.
pub(super) fn state(summary: &mut Summary, session: &Session, before: &Summary) {
    let state = session.state();
    summary.status = state.status;
    summary.mode = state.mode;
    summary.mode_until = state.mode_until;
    if let Some(model) = state.model {
        summary.model = Some(model.to_owned());
    }
    summary.stalled_since = state.stalled_since;
    summary.queue = state.queue.to_vec();
    summary.held = state.held;
    summary.sending = state.sending.cloned();
    summary.questions = state
        .open
        .iter()
        .filter_map(|open| {
            let question = to_raw_value(&open.question).ok()?;
            Some(OpenQuestion { question, shown: open.shown.clone(), sent: open.sent.clone() })
        })
        .collect();
    if differs(summary, before) {
        summary.version = before.version + 1;
    }
}

/// How many messages there are.
pub(super) fn count(summary: &mut Summary, messages: u64, tokens: u64) {
    if summary.messages != messages {
        summary.version += 1;
    }
    summary.messages = messages;
    summary.tokens = tokens;
}

fn differs(now: &Summary, before: &Summary) -> bool {
    let face = |summary: &Summary| {
        let mut face = summary.clone();
        (face.seq, face.tokens, face.version) = (0, 0, 0);
        face.updated_at = Timestamp::UNIX_EPOCH;
        serde_json::to_string(&face).unwrap_or_default()
    };
    face(now) != face(before)
}
