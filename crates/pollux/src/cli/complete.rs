//! What shells complete: the ids of sessions, asked of the daemon where one runs.

use super::session::runtime;
use crate::client::Client;
use crate::config::Config;
use crate::report::table::printable;
use clap_complete::CompletionCandidate;
use std::ffi::OsStr;
use std::time::Duration;

/// How many are offered.
const OFFERED: usize = 200;
/// The shell blocks until we are done.
const PATIENCE: Duration = Duration::from_secs(1);

/// The ids that begin like this. Nothing where no daemon runs: completing starts none.
pub(super) fn ids(begun: &OsStr) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy().into_owned();
    let Ok(config) = Config::read() else { return Vec::new() };
    let Ok(runtime) = runtime() else { return Vec::new() };
    let asked = async {
        match Client::running(&config).await {
            Ok(Some(client)) => client.sessions(OFFERED).await.unwrap_or_default(),
            _ => Vec::new(),
        }
    };
    let sessions = runtime.block_on(async { tokio::time::timeout(PATIENCE, asked).await });
    let sessions = sessions.unwrap_or_default();
    let fits = |id: &str| id.starts_with(&begun) && is_a_word(id);
    let fits = sessions.into_iter().filter(|session| fits(&session.id));
    fits.map(|session| offered(session.id, &session.title.unwrap_or_default())).collect()
}

/// Whether an id is one word to every shell. It comes from a file that another user may have written, and shells insert candidates
/// verbatim.
fn is_a_word(id: &str) -> bool {
    !id.starts_with('-') && id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

fn offered(id: String, title: &str) -> CompletionCandidate {
    CompletionCandidate::new(id).help(Some(printable(title).into()))
}

#[cfg(test)]
mod tests {
    use super::{is_a_word, offered};

    #[test]
    fn an_id_that_a_shell_would_obey_is_not_offered() {
        assert!(is_a_word("82a472fc-75de-425b-8dda-ede10dae3335"));
        for id in ["a$(touch b)", "a;b", "a b", "`id`", "-x", "a\nb", "\u{202e}a", "~a", "a*"] {
            assert!(!is_a_word(id), "{id:?}");
        }
    }

    #[test]
    fn a_title_is_one_line_that_no_terminal_obeys() {
        let offered = offered("id".to_owned(), "a\nb \u{1b}]0;c\u{7}\u{202e}d");
        let help = offered.get_help().map(ToString::to_string).unwrap_or_default();
        assert_eq!(help, "a b ␛]0;c␇\u{fffd}d");
    }
}
