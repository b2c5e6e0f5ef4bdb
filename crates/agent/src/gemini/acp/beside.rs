//! The session file beside the protocol: tool results, exit codes and tokens that ACP leaves out.

use crate::acp::{Beside, Done};
use crate::gemini::stream::place::Place;
use crate::gemini::stream::{Done as FileDone, Fusion};
use crate::gemini::transcript::{self, Transcript};
use crate::model::{Block, Event, EventKind, Input, Message, Source, Text};
use std::collections::{HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The CLI writes what came of a call before it has told of it. So often the file is looked at again until it has, which takes
/// about a second; of some calls it never tells.
const LOOKS: u32 = 20;

/// The session file of one session.
#[derive(Debug)]
pub(super) struct SessionFile {
    place: Option<Place>,
    fusion: Fusion,
    /// The calls that were told to have begun.
    begun: HashSet<String>,
    /// Those that the file told of before the agent did: what it tells then is known, and less than was told.
    early: HashSet<String>,
    /// What the file has said since a call that the agent is yet to tell of, and how often it was looked at since.
    held: VecDeque<Event<'static>>,
    looks: u32,
    /// When the turn began, in milliseconds since 1970.
    since: i64,
}

impl SessionFile {
    pub(super) fn new(gemini: Option<&Path>, resumed: Option<&Path>, id: &str) -> Self {
        let place = gemini.map(|gemini| {
            let mut place = match resumed {
                Some(file) => Place::at(gemini.to_path_buf(), file),
                None => Place::new(gemini.to_path_buf()),
            };
            place.is(id);
            place
        });
        let fusion = Fusion::thinking().knowing(resumed.map(calls).unwrap_or_default());
        let (begun, early, held) = (HashSet::new(), HashSet::new(), VecDeque::new());
        Self { place, fusion, begun, early, held, looks: 0, since: 0 }
    }

    /// Tells what was fused. A call of which only the file knows, such as one of a tool that is not there, begins with its
    /// end.
    fn tell(&mut self, events: Vec<Event<'static>>, out: &mut Vec<Event<'static>>) {
        for event in events {
            match &event.kind {
                EventKind::ToolStarted { id, .. } | EventKind::ToolEnded { id, .. }
                    if event.source != Source::SessionFile
                        && self.early.contains(id.to_str().as_ref()) =>
                {
                    continue;
                }
                EventKind::ToolStarted { id, .. } => drop(self.begun.insert(id.to_string())),
                EventKind::ToolEnded { id, name, meaning, .. }
                    if self.begun.insert(id.to_string()) =>
                {
                    self.early.insert(id.to_string());
                    let kind = EventKind::ToolStarted {
                        id: id.clone(),
                        name: name.clone().unwrap_or_else(|| Text::from("unknown")),
                        input: Input::Mapped(Vec::new()),
                        meaning: meaning.clone(),
                    };
                    out.push(Event::new(event.source, kind).derived("its end"));
                }
                _ => {}
            }
            out.push(event);
        }
    }

    /// Takes in what the file said: all of it, or as far as the agent has told of the calls in it.
    fn take(&mut self, all: bool, out: &mut Vec<Event<'static>>) {
        let mut fused = Vec::new();
        while let Some(event) = self.held.pop_front() {
            if !all && self.looks < LOOKS && self.is_unheard_of(&event) {
                self.held.push_front(event);
                self.looks += 1;
                break;
            }
            self.looks = 0;
            match &event.kind {
                // ACP has told it.
                EventKind::SessionStarted { .. } => {}
                EventKind::MessageRecorded { message, .. } if self.is_earlier(message) => {
                    fused.push(event);
                }
                _ => self.fusion.session(event, &mut fused),
            }
        }
        self.tell(fused, out);
    }

    fn is_unheard_of(&self, event: &Event<'_>) -> bool {
        match &event.kind {
            EventKind::MessageRecorded { message, .. } => self.fusion.is_unheard_of(message),
            _ => false,
        }
    }

    /// A record of an earlier turn that was written anew: a resume, or a turn that was stopped, writes all of them. But
    /// since 0.61 the calls of all turns go into the message of the first one that had some: then it is of this turn too.
    fn is_earlier(&self, message: &Message<'_>) -> bool {
        // The clock is the same machine's.
        let before = message.timestamp.is_some_and(|time| time < self.since);
        before && !self.fusion.is_news(message)
    }
}

/// The calls that a session file has results of.
fn calls(file: &Path) -> Vec<String> {
    let bytes = fs::read(file).unwrap_or_default();
    let text = transcript::text(&bytes);
    let transcript = Transcript::read(&text);
    let results = |message: Message<'_>| -> Vec<String> {
        let ids = message.blocks().iter().filter_map(|block| match block {
            Block::ToolResult { tool_use_id, .. } => Some(tool_use_id.to_string()),
            _ => None,
        });
        ids.collect()
    };
    transcript.messages().flat_map(results).collect()
}

impl Beside for SessionFile {
    fn begin(&mut self, out: &mut Vec<Event<'static>>) {
        if self.since > 0 {
            self.look(out);
            self.take(true, out);
        } else if let Some(place) = &mut self.place {
            // What a session that is gone on with has from before is of no turn.
            drop(place.poll());
        }
        self.fusion = std::mem::take(&mut self.fusion).next_turn();
        self.begun.clear();
        self.early.clear();
        self.held.clear();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.since = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    }

    fn event(&mut self, event: Event<'static>, out: &mut Vec<Event<'static>>) {
        let mut fused = Vec::new();
        self.fusion.stream(event, &mut fused);
        self.tell(fused, out);
    }

    fn look(&mut self, out: &mut Vec<Event<'static>>) {
        self.held.extend(self.place.as_mut().map(Place::poll).unwrap_or_default());
        self.take(false, out);
    }

    fn is_settled(&self) -> bool {
        self.place.is_none() || !self.fusion.is_behind()
    }

    fn end(&mut self, done: Done, out: &mut Vec<Event<'static>>) {
        // Where no file is looked at, nothing can be concluded from it.
        let Some(place) = &self.place else { return };
        place.put_stub_away();
        let followed = place.path().is_some();
        self.take(true, out);
        let done = match done {
            Done::Succeeded => FileDone::Succeeded,
            Done::Failed => FileDone::Failed,
            Done::Stopped => FileDone::Stopped,
        };
        let mut fused = Vec::new();
        self.fusion.finish(followed, done, &mut fused);
        for event in fused.iter_mut().filter(|event| event.source == Source::Pollux) {
            event.derived = event.derived.map(|_| "acp and session_file");
        }
        self.tell(fused, out);
    }

    fn messages(&self) -> Vec<Message<'static>> {
        self.fusion.messages()
    }

    fn file(&self) -> Option<PathBuf> {
        self.place.as_ref().and_then(Place::path).map(Path::to_path_buf)
    }
}

#[cfg(test)]
mod tests {
    use super::SessionFile;
    use crate::acp::{Beside, Plain, Translator};
    use crate::model::{Event, EventKind, Source};
    use serde_json::value::RawValue;
    use std::fs;
    use std::sync::Arc;

    /// The update of a call, as events.
    fn told(translator: &mut Translator, status: &str) -> Vec<Event<'static>> {
        let update = format!(
            r#"{{"sessionUpdate":"tool_call_update","toolCallId":"read_file-1","status":"{status}","kind":"read"}}"#
        );
        let update: Box<RawValue> = serde_json::from_str(&update).unwrap();
        let mut events = Vec::new();
        translator.update(&update, &mut events);
        events.into_iter().map(Event::into_owned).collect()
    }

    /// A session whose file has what came of a call of which the agent has told nothing yet, and what was heard of it.
    fn early() -> (tempfile::TempDir, SessionFile, Vec<Event<'static>>) {
        let home = tempfile::tempdir().unwrap();
        let chats = home.path().join("tmp/shop/chats");
        fs::create_dir_all(&chats).unwrap();
        let mut session = SessionFile::new(Some(home.path()), None, "0123456789abcdef");
        session.begin(&mut Vec::new());
        let lines = [
            r#"{"sessionId":"0123456789abcdef","projectHash":"p","startTime":"2999-01-01T00:00:00Z"}"#,
            r#"{"id":"1","timestamp":"2999-01-01T00:00:00Z","type":"gemini","content":"","toolCalls":[{"id":"read_file-1","name":"read_file","args":{"file_path":"x"},"status":"error","resultDisplay":"File not found"}]}"#,
        ];
        let file = chats.join("session-2999-01-01T00-00-01234567.jsonl");
        fs::write(file, format!("{}\n{}\n", lines[0], lines[1])).unwrap();
        let mut out = Vec::new();
        session.look(&mut out);
        (home, session, out)
    }

    /// The agent tells of the call, after so many looks; gives the beginnings and ends that were told, with their sources.
    fn tell(looks: u32) -> Vec<(&'static str, Source)> {
        let (_home, mut session, mut out) = early();
        for _ in 0..looks {
            session.look(&mut out);
        }
        let mut translator = Translator::new(Arc::new(Plain));
        for status in ["in_progress", "failed"] {
            for event in told(&mut translator, status) {
                session.event(event, &mut out);
            }
        }
        session.look(&mut out);
        assert!(session.is_settled());
        assert_eq!(session.messages().len(), 1, "{:#?}", session.messages());
        let calls = out.iter().filter_map(|event| match &event.kind {
            EventKind::ToolStarted { .. } => Some(("started", event.source)),
            EventKind::ToolEnded { .. } => Some(("ended", event.source)),
            _ => None,
        });
        calls.collect()
    }

    #[test]
    fn a_call_that_the_file_has_before_the_agent_tells_of_it_is_told_in_its_order() {
        use Source::{Acp, SessionFile};
        assert_eq!(tell(1), [("started", Acp), ("ended", Acp), ("ended", SessionFile)]);
    }

    #[test]
    fn a_call_that_the_agent_is_late_with_is_told_once() {
        use Source::SessionFile;
        assert_eq!(tell(super::LOOKS), [("started", SessionFile), ("ended", SessionFile)]);
    }
}
