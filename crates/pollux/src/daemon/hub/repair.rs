//! What was left by a daemon that ended, and what a session's file says and the log does not. Pure.

use crate::api::{Driver, Summary};
use crate::daemon::log::hash;
use pollux_agent::model::{Event, EventKind, Mode, Rewrite, SessionStatus, Source, Text};
use std::collections::{HashMap, HashSet};

/// True where the daemon ended in the middle of something.
pub(super) fn is_torn(summary: &Summary) -> bool {
    match summary.status {
        SessionStatus::Exited => false,
        // No process lives between two prompts.
        SessionStatus::Idle | SessionStatus::Error => summary.driver != Some(Driver::Headless),
        _ => true,
    }
}

/// The daemon that wrote this is gone, and with it what it held.
pub(super) fn left_behind(summary: &mut Summary) {
    summary.questions.clear();
    summary.stalled_since = None;
    summary.mode_until = None;
    summary.version += 1;
    if summary.mode == Mode::Yolo {
        summary.mode = Mode::Default;
    }
    if summary.driver != Some(Driver::Headless) {
        // Also one that is only read: the next hook says that it lives.
        summary.status = SessionStatus::Exited;
    } else if summary.status != SessionStatus::Exited {
        summary.status = SessionStatus::Idle;
    }
    // It may not have arrived: somebody decides whether it is sent once more.
    if let Some(mut sending) = summary.sending.take() {
        sending.doubt = true;
        summary.queue.insert(0, sending);
    }
    summary.held = !summary.queue.is_empty();
}

/// The events that bring a log up to date which has told of these messages (ids and hashes), where the whole file tells
/// `events`; all of them where it has never told of any. With `remove`, what the file no longer has is taken back.
pub(super) fn missing(
    told: Option<Vec<(String, u64)>>,
    events: Vec<Event<'static>>,
    remove: bool,
) -> Vec<Event<'static>> {
    let Some(told) = told else { return events };
    let standing = standing(&events);
    let told: HashMap<String, u64> = told.into_iter().collect();
    let mut out = Vec::new();
    let gone: Vec<Text<'static>> = told
        .keys()
        .filter(|id| remove && !standing.contains_key(*id))
        .map(|id| Text::from(id.clone()))
        .collect();
    if !gone.is_empty() {
        let kind = EventKind::HistoryRewritten {
            epoch: 0,
            reason: Rewrite::Replaced,
            removed: gone,
            superseded: None,
        };
        out.push(Event::new(Source::SessionFile, kind));
    }
    for (place, mut event) in events.into_iter().enumerate() {
        let EventKind::MessageRecorded { changed, message } = &mut event.kind else { continue };
        let id = message.id.to_string();
        if standing.get(&id) != Some(&place) {
            continue;
        }
        let json = serde_json::to_string(message).unwrap_or_default();
        match told.get(&id) {
            Some(known) if *known == hash(&json) => {}
            known => {
                *changed = known.is_some();
                out.push(event);
            }
        }
    }
    out
}

/// The messages that stand in the end: the id of each, and the event that told of it last.
fn standing(events: &[Event<'static>]) -> HashMap<String, usize> {
    let mut standing = HashMap::new();
    for (place, event) in events.iter().enumerate() {
        match &event.kind {
            EventKind::MessageRecorded { message, .. } => {
                standing.insert(message.id.to_string(), place);
            }
            EventKind::HistoryRewritten { removed, .. } => {
                let removed: HashSet<String> = removed.iter().map(ToString::to_string).collect();
                standing.retain(|id, _| !removed.contains(id));
            }
            _ => {}
        }
    }
    standing
}

#[cfg(test)]
mod tests {
    use super::{Driver, SessionStatus, Summary, left_behind, missing};
    use jiff::Timestamp;
    use pollux_agent::gemini::transcript::follow::Follow;

    #[test]
    fn what_was_told_and_taken_back_is_not_told_again() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("session-2026-11-15T17-55-1f9cc522.jsonl");
        let said =
            "{\"id\":\"m1\",\"type\":\"user\",\"content\":\"hello\"}\n{\"$rewindTo\":\"m1\"}\n";
        std::fs::write(&file, said).unwrap();
        let events = || Follow::new(file.clone()).poll();
        assert!(!events().is_empty());
        assert_eq!(missing(None, events(), true).len(), events().len(), "the first time");
        assert!(missing(Some(Vec::new()), events(), true).is_empty());
    }

    #[test]
    fn nobody_is_said_to_live_whom_the_next_daemon_does_not_know_to_live() {
        let left = |driver, status| {
            let mut summary = Summary { driver, status, ..Summary::empty(Timestamp::UNIX_EPOCH) };
            left_behind(&mut summary);
            summary.status
        };
        for driver in [None, Some(Driver::Acp), Some(Driver::Terminal)] {
            assert_eq!(left(driver, SessionStatus::Working), SessionStatus::Exited, "{driver:?}");
        }
        let headless = Some(Driver::Headless);
        assert_eq!(left(headless, SessionStatus::Working), SessionStatus::Idle);
        assert_eq!(left(headless, SessionStatus::Exited), SessionStatus::Exited);
    }
}
