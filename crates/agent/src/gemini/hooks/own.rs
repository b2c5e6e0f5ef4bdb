//! Which payloads are of one session, of all that bear its key: a CLI that the agent starts itself has the key too, because it has
//! the agent's environment. Pure.

use super::super::transcript::string;
use super::translate::handed_over;
use std::collections::HashSet;

/// What is known of those who bear the key of a session.
#[derive(Debug, Default)]
pub(in crate::gemini) struct Own {
    /// The session has ended, and its process may have been started again under another id.
    ended: bool,
    /// Sessions that began beside it.
    strangers: HashSet<String>,
}

impl Own {
    /// Whether a payload is of the session that is called `key`, or of the one that has come into its place. Its process begins
    /// another with `/clear`, and takes up another with `/resume`, of which it tells nothing before the next prompt.
    pub(in crate::gemini) fn is(&mut self, key: &str, text: &str) -> bool {
        let (payload, called_for) = handed_over(text);
        let Some(payload) = payload else { return true };
        let Some(id) = string(payload.session_id) else { return true };
        let event = string(payload.hook_event_name).or_else(|| string(called_for));
        let event = event.unwrap_or_default();
        if id == key {
            self.ended = event == "SessionEnd";
            return true;
        }
        let is_own = key.starts_with("new-")
            || match &*event {
                "SessionStart" => self.ended || string(payload.source).as_deref() == Some("clear"),
                "BeforeAgent" => !self.strangers.contains(&*id),
                _ => false,
            };
        if is_own {
            self.ended = false;
        } else if event == "SessionStart" {
            self.strangers.insert(id.into_owned());
        }
        is_own
    }
}

#[cfg(test)]
mod tests {
    use super::Own;

    fn told(event: &str, id: &str, source: &str) -> String {
        let payload =
            format!(r#"{{"hook_event_name":"{event}","session_id":"{id}","source":"{source}"}}"#);
        format!(r#"{{"event":"{event}","key":"new-1","payload":{payload}}}"#)
    }

    #[test]
    fn what_a_cli_tells_that_the_agent_has_started_is_not_of_its_session() {
        let mut own = Own::default();
        assert!(own.is("new-1", &told("SessionStart", "a", "startup")), "it has no id yet");
        assert!(own.is("a", &told("BeforeTool", "a", "")));
        for (event, source) in [
            ("SessionStart", "startup"),
            ("SessionStart", "resume"),
            ("BeforeAgent", ""),
            ("BeforeTool", ""),
            ("AfterAgent", ""),
            ("SessionEnd", ""),
        ] {
            assert!(!own.is("a", &told(event, "b", source)), "{event} {source}");
        }
        assert!(own.is("a", &told("AfterTool", "a", "")));
        assert!(own.is("a", "no JSON"), "what cannot be read is told");
    }

    #[test]
    fn what_comes_into_the_place_of_a_session_is_its_own() {
        let mut own = Own::default();
        assert!(own.is("a", &told("SessionEnd", "a", "")));
        assert!(own.is("a", &told("SessionStart", "b", "clear")));
        assert!(!own.is("b", &told("SessionEnd", "a", "")), "told once more, and late");
        assert!(own.is("b", &told("BeforeAgent", "c", "")), "taken up with `/resume`");
        assert!(own.is("c", &told("SessionEnd", "c", "")));
        assert!(own.is("c", &told("SessionStart", "d", "startup")), "started again");
        assert!(!own.is("d", &told("SessionStart", "e", "startup")));
    }
}
