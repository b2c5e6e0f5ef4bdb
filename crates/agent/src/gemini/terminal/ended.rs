//! Why an agent ended before it was ready, by its last words. Pure.

use super::words::bare;

/// What the CLI says of an id that another session has.
const TAKEN: &str = "Use --resume to resume it, or provide a different ID";

/// Whether the CLI ended because another session has the id that it was given. `words` are the rows that it left, which may be cut
/// anywhere.
///
/// ```
/// use pollux_agent::gemini::terminal::is_id_taken;
///
/// let rows = ["Error: Session ID \"6c4f\" already exists. Use --resu", "me to resume it, or provide a different ID."];
/// assert!(is_id_taken(&rows.map(str::to_owned)));
/// assert!(!is_id_taken(&["Error: no such model".to_owned()]));
/// ```
pub fn is_id_taken(words: &[String]) -> bool {
    bare(&words.concat()).contains(&bare(TAKEN))
}
