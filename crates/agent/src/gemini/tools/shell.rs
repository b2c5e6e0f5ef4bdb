//! What a shell command gave back, out of the text that the CLI writes for the model.
//!
//! The CLI wraps the output of a command in words of its own: `Output: … Exit Code: 3 Process Group PGID: 22098`, in
//! later versions between `<untrusted_context>` tags as well. The exit code is nowhere else, and left out where it is 0.

use super::untagged;

/// The output of a command and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shell {
    /// What the command printed.
    pub output: String,
    /// Its exit code; none where a signal ended it, or where it still runs in the background.
    pub exit_code: Option<i32>,
}

/// What may follow the output: each on a line of its own, once, in this order.
const AFTER: [&str; 5] =
    [ERROR, "Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: "];
/// Since the command no longer stands in front, this is there only where the command could not be run: what looks like it
/// is nearly always the command's own.
const ERROR: &str = "Error: ";

/// Reads the text that the CLI writes about a command. None where it is not such a text.
///
/// ```
/// use pollux_agent::gemini::tools::shell::read;
///
/// let text = "<untrusted_context>\nOutput: before\nExit Code: 3\nProcess Group PGID: 22098\n</untrusted_context>";
/// let shell = read(text).unwrap();
/// assert_eq!((shell.output.as_str(), shell.exit_code), ("before", Some(3)));
/// assert_eq!(read("Output: hi\nProcess Group PGID: 1").unwrap().exit_code, Some(0), "0 is left out");
/// assert!(read("Command rejected").is_none());
/// ```
pub fn read(text: &str) -> Option<Shell> {
    let inner = untagged(text).trim();
    let from = if inner.starts_with("Output: ") { 0 } else { inner.find("\nOutput: ")? + 1 };
    let head = inner.get(..from)?;
    // Before 0.20 the command and its directory stand in front.
    if !head.is_empty() && !head.starts_with("Command: ") {
        return None;
    }
    let mut lines: Vec<&str> = inner.get(from..)?.strip_prefix("Output: ")?.split('\n').collect();
    let mut exit_code = None;
    let mut stopped = false;
    let mut seen = false;
    let mut error = None;
    for label in AFTER.into_iter().rev().filter(|label| *label != ERROR || !head.is_empty()) {
        let line = lines.last().filter(|_| lines.len() > 1);
        let Some(value) = line.and_then(|line| line.strip_prefix(label)) else { continue };
        match label {
            "Exit Code: " => {
                exit_code = value.trim().parse().ok();
                // 0 is left out; what is named and is no number is none.
                stopped |= exit_code.is_none();
            }
            "Signal: " => stopped |= value.trim() != "(none)",
            ERROR => error = Some(value).filter(|value| value.trim() != "(none)"),
            _ => {}
        }
        seen = true;
        lines.pop();
    }
    let output = lines.join("\n");
    let output = if output == "(empty)" { String::new() } else { output };
    let output = match error {
        Some(error) if output.is_empty() => error.to_owned(),
        Some(error) => format!("{output}\n{error}"),
        None => output,
    };
    Some(Shell { output, exit_code: exit_code.or((seen && !stopped).then_some(0)) })
}

/// The text of a shell's result as a person wants to read it: the output, and the exit code where it is not 0. Any
/// other text as it is, without the tags.
pub fn shown(text: &str) -> String {
    match read(text) {
        None => untagged(text).trim().to_owned(),
        Some(Shell { output, exit_code: None | Some(0) }) => output,
        Some(Shell { output, exit_code: Some(code) }) if output.is_empty() => {
            format!("exit code {code}")
        }
        Some(Shell { output, exit_code: Some(code) }) => format!("{output}\nexit code {code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{read, shown};

    #[test]
    fn a_command_that_prints_our_labels_does_not_fool_us_above_the_end() {
        let shell = read("Output: Exit Code: 7\nmore\nProcess Group PGID: 5").unwrap();
        assert_eq!((shell.output.as_str(), shell.exit_code), ("Exit Code: 7\nmore", Some(0)));
    }

    #[test]
    fn what_a_command_printed_last_is_its_own_also_where_it_looks_like_a_label() {
        let read = |text| read(text).map(|shell| (shell.output, shell.exit_code)).unwrap();
        let text = "Output: building\nError: no such file\nExit Code: 2\nProcess Group PGID: 5";
        assert_eq!(read(text), ("building\nError: no such file".to_owned(), Some(2)));
        let text = "Output: asked\nExit Code: 7\nExit Code: 3\nProcess Group PGID: 5";
        assert_eq!(read(text), ("asked\nExit Code: 7".to_owned(), Some(3)));
        let text = "Command: x\nDirectory: (root)\nOutput: a\nError: b\nError: (none)\nExit Code: 1\n\
            Signal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 17";
        assert_eq!(read(text), ("a\nError: b".to_owned(), Some(1)));
    }

    #[test]
    fn the_long_form_of_old_versions_is_read() {
        let text = "Command: exit 3\nDirectory: (root)\nOutput: (empty)\nError: (none)\nExit Code: 3\n\
            Signal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 17";
        let shell = read(text).unwrap();
        assert_eq!((shell.output.as_str(), shell.exit_code), ("", Some(3)));
        assert_eq!(shown(text), "exit code 3");
    }

    #[test]
    fn a_command_that_could_not_be_run_has_no_exit_code_and_says_why() {
        let text = "Command: ls\nDirectory: (root)\nOutput: (empty)\nError: spawn ENOENT\n\
            Exit Code: (none)\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: (none)";
        let shell = read(text).unwrap();
        assert_eq!((shell.output.as_str(), shell.exit_code), ("spawn ENOENT", None));
        assert_eq!(shown(text), "spawn ENOENT");
    }

    #[test]
    fn a_signal_is_no_exit_code() {
        assert_eq!(read("Output: x\nSignal: 9\nProcess Group PGID: 17").unwrap().exit_code, None);
    }
}
