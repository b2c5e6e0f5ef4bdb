//! The tool table: what each of Gemini's tools is called by Claude, how its arguments are named there, and what kind of
//! tool it is. By exact name; what is not in the table passes through unchanged.

mod args;
mod denied;
pub mod meaning;
pub mod shell;

use crate::model::Input;
use args::Mapping;
pub use denied::is_denied;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What kind of tool it is, concluded from its name alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// Runs a command.
    Command,
    /// Reads what is there.
    Read,
    /// Changes a file.
    Write,
    /// Looks for something.
    Search,
    /// Gets something from the network.
    Fetch,
    /// Asks the person.
    Question,
    /// Plans, or tells of a plan.
    Planning,
    /// Remembers, or recalls.
    Memory,
    /// Hands work to another agent.
    Agent,
    /// Anything else: MCP tools, and what we do not know.
    Other,
}

/// One tool of Gemini CLI.
#[derive(Debug)]
pub struct Tool {
    /// Gemini's name, of whichever version.
    pub name: &'static str,
    /// Claude's name for the same; none where Claude has no such tool.
    pub claude: Option<&'static str>,
    /// What kind of tool it is.
    pub category: Category,
    mapping: Mapping,
}

const fn tool(
    name: &'static str,
    claude: &'static str,
    category: Category,
    mapping: Mapping,
) -> Tool {
    Tool { name, claude: Some(claude), category, mapping }
}

const fn own(name: &'static str, category: Category) -> Tool {
    Tool { name, claude: None, category, mapping: Mapping::Same }
}

/// Every built-in tool of every version.
pub const TOOLS: &[Tool] = &[
    tool("read_file", "Read", Category::Read, Mapping::Made(args::read)),
    own("read_many_files", Category::Read),
    tool(
        "write_file",
        "Write",
        Category::Write,
        Mapping::Renamed(&[("file_path", &["file_path"]), ("content", &["content"])]),
    ),
    tool("replace", "Edit", Category::Write, Mapping::Renamed(args::EDIT)),
    tool("list_directory", "Glob", Category::Read, Mapping::Made(args::list)),
    tool(
        "glob",
        "Glob",
        Category::Search,
        Mapping::Renamed(&[("pattern", &["pattern"]), ("path", &["dir_path", "path"])]),
    ),
    tool("grep_search", "Grep", Category::Search, Mapping::Made(args::grep)),
    tool("search_file_content", "Grep", Category::Search, Mapping::Made(args::grep)),
    tool("run_shell_command", "Bash", Category::Command, Mapping::Renamed(args::SHELL)),
    own("list_background_processes", Category::Read),
    tool(
        "read_background_output",
        "BashOutput",
        Category::Read,
        Mapping::Renamed(&[("bash_id", &["pid"])]),
    ),
    tool("google_web_search", "WebSearch", Category::Search, Mapping::Same),
    tool("web_fetch", "WebFetch", Category::Fetch, Mapping::Made(args::fetch)),
    tool("ask_user", "AskUserQuestion", Category::Question, Mapping::Same),
    tool("write_todos", "TodoWrite", Category::Planning, Mapping::Made(args::todos)),
    own("update_topic", Category::Planning),
    tool("enter_plan_mode", "EnterPlanMode", Category::Planning, Mapping::Same),
    tool(
        "exit_plan_mode",
        "ExitPlanMode",
        Category::Planning,
        Mapping::Renamed(&[("plan", &["plan", "plan_filename", "plan_path"])]),
    ),
    own("tracker_create_task", Category::Planning),
    own("tracker_update_task", Category::Planning),
    own("tracker_get_task", Category::Planning),
    own("tracker_list_tasks", Category::Planning),
    own("tracker_add_dependency", Category::Planning),
    own("tracker_visualize", Category::Planning),
    tool("invoke_agent", "Task", Category::Agent, Mapping::Made(args::task)),
    tool(
        "codebase_investigator",
        "Task",
        Category::Agent,
        Mapping::Agent("codebase_investigator", "objective"),
    ),
    tool("cli_help", "Task", Category::Agent, Mapping::Agent("cli_help", "question")),
    tool("generalist", "Task", Category::Agent, Mapping::Agent("generalist", "request")),
    own("complete_task", Category::Other),
    tool("activate_skill", "Skill", Category::Memory, Mapping::Renamed(&[("skill", &["name"])])),
    own("save_memory", Category::Memory),
    own("get_internal_docs", Category::Memory),
    tool("read_mcp_resource", "ReadMcpResourceTool", Category::Read, Mapping::Same),
    tool("list_mcp_resources", "ListMcpResourcesTool", Category::Read, Mapping::Same),
];

/// The tool with a name, if it is one of Gemini's own.
pub fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// What kind of tool a name stands for.
///
/// ```
/// use pollux_agent::gemini::tools::{Category, category};
///
/// assert_eq!(category("run_shell_command"), Category::Command);
/// assert_eq!(category("mcp_github_create_issue"), Category::Other);
/// ```
pub fn category(name: &str) -> Category {
    find(name).map_or(Category::Other, |tool| tool.category)
}

/// Claude's name for a tool. `display` is the name that the CLI shows, which tells the server of an MCP tool.
///
/// ```
/// use pollux_agent::gemini::tools::claude_name;
///
/// assert_eq!(claude_name("read_file".into(), None), "Read");
/// assert_eq!(claude_name("mcp_dummy_echo_text".into(), Some("echo_text (dummy MCP Server)")), "mcp__dummy__echo_text");
/// assert_eq!(claude_name("mcp_dummy_echo_text".into(), None), "mcp_dummy_echo_text");
/// ```
pub fn claude_name<'a>(name: Cow<'a, str>, display: Option<&str>) -> Cow<'a, str> {
    if let Some(tool) = find(&name) {
        return tool.claude.map_or(name, Cow::Borrowed);
    }
    match display.and_then(|display| mcp_tool(&name, display)) {
        Some((server, tool)) => Cow::Owned(format!("mcp__{server}__{tool}")),
        None => name,
    }
}

/// The server and the tool of an MCP tool's name. Before 0.34 the name is the tool's alone, or `server__tool`.
fn mcp_tool<'n>(name: &'n str, display: &'n str) -> Option<(&'n str, &'n str)> {
    let (shown, server) = display.strip_suffix(" MCP Server)")?.rsplit_once(" (")?;
    let qualified =
        name.strip_prefix("mcp_").and_then(|rest| rest.strip_prefix(server)?.strip_prefix('_'));
    let older = name.strip_prefix(server).and_then(|rest| rest.strip_prefix("__"));
    let bare = (name == shown).then_some(name);
    Some((server, qualified.or(older).or(bare)?))
}

/// A tool's arguments under Claude's names.
pub fn input<'a>(name: &str, args: Option<&'a RawValue>) -> Input<'a> {
    args::input(find(name).map_or(&Mapping::Same, |tool| &tool.mapping), args)
}

/// What any tool gave back, without the tags that tell the model not to trust it.
///
/// ```
/// use pollux_agent::gemini::tools::untagged;
///
/// assert_eq!(untagged("<untrusted_context>\n  echo: hello\n</untrusted_context>"), "  echo: hello");
/// assert_eq!(untagged("  as it is\n"), "  as it is\n");
/// ```
pub fn untagged(text: &str) -> &str {
    let inner = text
        .trim()
        .strip_prefix("<untrusted_context>")
        .and_then(|rest| rest.strip_suffix("</untrusted_context>"));
    inner.map_or(text, |inner| inner.trim_matches('\n'))
}
