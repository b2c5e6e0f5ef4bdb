//! A file as a prompt names it.

use std::path::Path;

/// A blank, an `@`, and the path as the CLI reads it behind one: what would end it is escaped.
///
/// ```
/// use pollux_agent::gemini::mention::mention;
/// assert_eq!(mention("/my notes/a.txt".as_ref()), r" @/my\ notes/a.txt");
/// ```
pub fn mention(file: &Path) -> String {
    let path = file.display().to_string();
    let mut out = String::with_capacity(path.len() + 2);
    out.push_str(" @");
    for c in path.chars() {
        if !(c.is_alphanumeric() || "/._-+".contains(c)) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
