//! Calls that came to nothing because they were not allowed, told apart from those that failed by the CLI's own words. Pure.

use super::{Category, category};

/// How the CLI begins to say that it may not: by policy, by a hook, or because nobody can be asked.
const DENIED: &[&str] = &["Tool execution denied", "Tool execution blocked"];

/// Whether a call that ended in an error was denied. A headless run does not even offer the tools that somebody would have to
/// say yes to: then the CLI says that there is no such tool.
///
/// ```
/// use pollux_agent::gemini::tools::is_denied;
///
/// assert!(is_denied("write_file", "Tool execution denied by policy."));
/// assert!(is_denied("run_shell_command", "Tool \"run_shell_command\" not found."));
/// assert!(!is_denied("read_file", "File not found: notes.txt"));
/// ```
pub fn is_denied(name: &str, error: &str) -> bool {
    let error = error.trim_start();
    let needs_a_yes =
        matches!(category(name), Category::Command | Category::Write | Category::Fetch);
    let is_kept_back = needs_a_yes && error.starts_with(&format!("Tool \"{name}\" not found"));
    let nobody =
        error.starts_with("Tool execution for") && error.contains("requires user confirmation");
    DENIED.iter().any(|denied| error.starts_with(denied)) || is_kept_back || nobody
}

#[cfg(test)]
mod tests {
    use super::is_denied;

    #[test]
    fn a_tool_that_is_kept_back_is_denied_and_one_that_does_not_exist_is_not() {
        let missing = |name: &str| format!("Tool \"{name}\" not found in registry. Did you mean …");
        assert!(is_denied("run_shell_command", &missing("run_shell_command")));
        assert!(!is_denied("no_such_tool", &missing("no_such_tool")));
        assert!(!is_denied("run_shell_command", "sh: Tool \"run_shell_command\" not found"));
        assert!(is_denied("mcp_x", "Tool execution blocked: not on Fridays"));
    }
}
