//! What a profile's agent may use: names of our own, of CAO's profiles and of the agent's tools, as the agent's tools.

use pollux_agent::model::Mode;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Write;

/// What our own server is called in the agent's list of MCP servers.
pub const OWN_SERVER: &str = "pollux";
/// What it offers. The agent's policy engine is told each by name: where it asks before a call it knows a tool by its
/// bare name, for which a pattern does not stand (0.61).
pub const OWN_TOOLS: [&str; 9] = [
    "answer",
    "assign",
    "find_profiles",
    "handoff",
    "job_result",
    "list_agents",
    "load_skill",
    "send_message",
    "stop_agent",
];
/// What it is called in profiles that were written for CAO.
pub const CAO_SERVER: &str = "cao-mcp-server";

const READS: &[&str] = &["read_file", "read_many_files"];
const LISTS: &[&str] = &["list_directory", "glob", "grep_search", "search_file_content"];
const WRITES: &[&str] = &["write_file", "replace"];
const SHELL: &[&str] =
    &["run_shell_command", "list_background_processes", "read_background_output"];
const WEB: &[&str] = &["web_fetch", "google_web_search"];
/// They change nothing, and are there whatever else is not.
const HARMLESS: &[&str] = &["update_topic", "write_todos", "ask_user", "activate_skill"];
const PLANNING: &[&str] = &["enter_plan_mode", "exit_plan_mode"];
/// Beside those that read and list, these ask nobody, in any mode.
const QUIET: &[&str] = &[
    "update_topic",
    "write_todos",
    "google_web_search",
    "list_background_processes",
    "read_background_output",
];

/// The tools that an agent may use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Tools {
    /// All that there are.
    #[default]
    All,
    /// These: tools by the agent's names, servers as `@name`, one tool of a server as `@name/tool`.
    Only(BTreeSet<String>),
}

impl Tools {
    /// The tools that these words name. Words that name nothing known are taken for the agent's own names.
    pub fn named<'w>(words: impl IntoIterator<Item = &'w str>) -> Self {
        let mut only = BTreeSet::new();
        for word in words {
            let many: Vec<&str> = match word {
                "*" | "@*" => return Self::All,
                "fs_read" => [READS, LISTS].concat(),
                "fs_list" => LISTS.to_vec(),
                "fs_write" => WRITES.to_vec(),
                "fs_*" => [READS, LISTS, WRITES].concat(),
                "execute_bash" | "shell" => SHELL.to_vec(),
                "web_fetch" | "web" => WEB.to_vec(),
                "@builtin" => [HARMLESS, PLANNING].concat(),
                "@cao-mcp-server" => vec!["@pollux"],
                other => vec![other],
            };
            only.extend(many.into_iter().map(str::to_owned));
        }
        only.extend(HARMLESS.iter().map(|tool| (*tool).to_owned()));
        Self::Only(only)
    }

    /// What both allow: nobody passes on more than he has.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::All, other) => other.clone(),
            (own, Self::All) => own.clone(),
            (Self::Only(one), Self::Only(two)) => {
                let both = one.iter().filter(|name| other.covers(name));
                let both = both.chain(two.iter().filter(|name| self.covers(name)));
                Self::Only(both.cloned().collect())
            }
        }
    }

    /// True where all that a name stands for may be used: a tool of a server also where the whole server may.
    fn covers(&self, name: &str) -> bool {
        let whole = name.split_once('/').map_or(name, |(server, _)| server);
        match self {
            Self::All => true,
            Self::Only(only) => only.contains(name) || only.contains(whole),
        }
    }

    /// True where a tool, or a server as `@name`, may be used.
    pub fn has(&self, name: &str) -> bool {
        let part = |known: &String| known.strip_prefix(name).is_some_and(|it| it.starts_with('/'));
        match self {
            Self::All => true,
            Self::Only(only) => only.contains(name) || only.iter().any(part),
        }
    }

    /// The rules for the agent's policy engine, by what its servers are called there. Ours is allowed; where not all is, the
    /// rest is refused by one rule for everything, so that a tool of a later version is refused too. All of it stands above
    /// what settings can say (a repository's `tools.allowed` has 300, a server that is excluded 900), and below what a person
    /// has just allowed for good (950).
    pub fn policy_for(&self, called: &dyn Fn(&str) -> String) -> String {
        let mut text = String::new();
        let own = called(OWN_SERVER);
        if self.covers("@pollux") {
            rule(&mut text, "*", Some(&own), ("allow", 940), &[]);
        }
        for tool in OWN_TOOLS {
            if self.covers(&format!("@pollux/{tool}")) {
                rule(&mut text, tool, Some(&own), ("allow", 940), &[]);
                rule(&mut text, &format!("mcp_{own}_{tool}"), None, ("allow", 940), &[]);
            }
        }
        let Self::Only(only) = self else { return text };
        for name in only {
            if let Some(server) = name.strip_prefix('@') {
                of_server(&mut text, server, called);
                continue;
            }
            for (decision, modes) in of_tool(name) {
                rule(&mut text, name, None, (decision, 930), modes);
            }
        }
        rule(&mut text, "*", None, ("deny", 920), &[]);
        text
    }
}

/// What is decided about a tool of the agent's own, and in which modes: in all where none is named, and refused in those that
/// are not. What asks a person by itself (a question, a plan that is to be approved) would answer itself where it is
/// allowed; a tool that nobody here knows asks as a command does.
fn of_tool(name: &str) -> &'static [(&'static str, &'static [&'static str])] {
    match name {
        "ask_user" => &[("ask_user", &[])],
        "activate_skill" => &[("ask_user", &["plan", "default", "autoEdit"]), ("allow", &["yolo"])],
        "enter_plan_mode" => &[("ask_user", &["default", "autoEdit"])],
        "exit_plan_mode" => &[("ask_user", &["plan"])],
        _ if [READS, LISTS, QUIET].iter().any(|tools| tools.contains(&name)) => &[("allow", &[])],
        _ if WRITES.contains(&name) => {
            &[("ask_user", &["default"]), ("allow", &["autoEdit", "yolo"])]
        }
        _ => &[("ask_user", &["default", "autoEdit"]), ("allow", &["yolo"])],
    }
}

/// The rules for a server of a profile, or for one of its tools: `server/tool`.
fn of_server(text: &mut String, name: &str, called: &dyn Fn(&str) -> String) {
    let (server, tool) = name.split_once('/').unwrap_or((name, "*"));
    if server == OWN_SERVER {
        return;
    }
    let server = called(server);
    let whole = format!("mcp_{server}_{tool}");
    for (tool, server) in [(tool, Some(&*server)), (whole.as_str(), None)] {
        rule(text, tool, server, ("ask_user", 930), &["default", "autoEdit"]);
        rule(text, tool, server, ("allow", 930), &["yolo"]);
    }
}

fn rule(
    text: &mut String,
    tool: &str,
    server: Option<&str>,
    (decision, priority): (&str, u32),
    modes: &[&str],
) {
    // Names are checked where a profile is read; a quoted string of TOML is one of JSON.
    let quoted = |name: &str| serde_json::Value::from(name).to_string();
    // Writing to a string does not fail.
    let _written = writeln!(text, "[[rule]]\ntoolName = {}", quoted(tool));
    if let Some(server) = server {
        let _written = writeln!(text, "mcpName = {}", quoted(server));
    }
    let _written = writeln!(text, "decision = \"{decision}\"\npriority = {priority}");
    if !modes.is_empty() {
        let _written = writeln!(text, "modes = {}", serde_json::json!(modes));
    }
    text.push('\n');
}

/// What a role may, where a profile says nothing more.
pub fn of_role(role: &str) -> Option<Tools> {
    let words: &[&str] = match role {
        "supervisor" => &["@pollux", "fs_read", "fs_list"],
        "reviewer" => &["@builtin", "fs_read", "fs_list", "@pollux"],
        "developer" => return Some(Tools::All),
        _ => return None,
    };
    Some(Tools::named(words.iter().copied()))
}

/// How much a mode allows, in order.
fn reach(mode: Mode) -> u8 {
    match mode {
        Mode::Plan => 0,
        Mode::Default => 1,
        Mode::AutoEdit => 2,
        Mode::Yolo => 3,
    }
}

/// The lesser of two modes: a worker asks wherever its caller would have to.
pub fn lesser(one: Mode, other: Mode) -> Mode {
    if reach(one) <= reach(other) { one } else { other }
}

#[cfg(test)]
mod tests {
    use super::{Tools, lesser, of_role};
    use pollux_agent::model::Mode;
    use proptest::prelude::*;

    #[test]
    fn a_tool_that_nobody_has_thought_of_is_refused_where_tools_are_limited() {
        let policy = of_role("supervisor").unwrap().policy_for(&str::to_owned);
        assert!(policy.contains("decision = \"deny\""), "{policy}");
        assert!(!policy.contains("run_shell_command"), "{policy}");
        assert!(!Tools::All.policy_for(&str::to_owned).contains("deny"));
    }

    #[test]
    fn a_server_that_is_called_otherwise_is_allowed_by_that_name() {
        let tools = Tools::named(["@pollux", "@docs/find"]);
        let policy = tools.policy_for(&|name| format!("{name}-2"));
        for name in ["mcpName = \"pollux-2\"", "mcp_pollux-2_handoff", "mcp_docs-2_find"] {
            assert!(policy.contains(name), "{name}: {policy}");
        }
        assert!(!policy.contains("\"pollux\"") && !policy.contains("mcp_docs_"), "{policy}");
    }

    #[test]
    fn one_tool_of_a_server_is_one_tool_and_whoever_has_the_server_passes_it_on() {
        let (whole, one) = (Tools::named(["@docs"]), Tools::named(["@docs/find"]));
        assert_eq!((whole.and(&one), one.and(&whole)), (one.clone(), one.clone()));
        assert!(!one.and(&Tools::named(["@docs/write"])).has("@docs"));
        let policy = Tools::named(["@pollux/send_message"]).policy_for(&str::to_owned);
        assert!(policy.contains("\"mcp_pollux_send_message\""), "{policy}");
        assert!(!policy.contains("handoff") && !policy.contains("\"*\"\nmcpName"), "{policy}");
    }

    /// What the agent's policy engine says of a tool: the rule of the highest priority that fits.
    fn decision(policy: &str, tool: &str, mode: &str) -> String {
        let policy: toml::Value = toml::from_str(policy).unwrap();
        let fits = |rule: &&toml::Value| {
            let name = rule["toolName"].as_str().unwrap();
            let modes = rule.get("modes").map(|modes| modes.as_array().unwrap());
            let in_mode = modes.is_none_or(|all| all.iter().any(|it| it.as_str() == Some(mode)));
            (name == tool || name == "*") && rule.get("mcpName").is_none() && in_mode
        };
        let rules = policy["rule"].as_array().unwrap().iter().filter(fits);
        let first = rules.max_by_key(|rule| rule["priority"].as_integer().unwrap()).unwrap();
        first["decision"].as_str().unwrap().to_owned()
    }

    #[test]
    fn what_asks_a_person_is_not_allowed_to_answer_itself() {
        let words = ["@builtin", "fs_*", "shell", "web", "save_memory"];
        let policy = Tools::named(words).policy_for(&str::to_owned);
        for (tool, plan, default, auto_edit, yolo) in [
            ("read_file", "allow", "allow", "allow", "allow"),
            ("write_todos", "allow", "allow", "allow", "allow"),
            ("google_web_search", "allow", "allow", "allow", "allow"),
            ("read_background_output", "allow", "allow", "allow", "allow"),
            ("ask_user", "ask_user", "ask_user", "ask_user", "ask_user"),
            ("activate_skill", "ask_user", "ask_user", "ask_user", "allow"),
            ("enter_plan_mode", "deny", "ask_user", "ask_user", "deny"),
            ("exit_plan_mode", "ask_user", "deny", "deny", "deny"),
            ("write_file", "deny", "ask_user", "allow", "allow"),
            ("run_shell_command", "deny", "ask_user", "ask_user", "allow"),
            ("save_memory", "deny", "ask_user", "ask_user", "allow"),
            ("what_a_later_version_brings", "deny", "deny", "deny", "deny"),
        ] {
            let said =
                ["plan", "default", "autoEdit", "yolo"].map(|it| decision(&policy, tool, it));
            assert_eq!(said, [plan, default, auto_edit, yolo], "{tool}");
        }
    }

    fn any_tools() -> impl Strategy<Value = Tools> {
        let word = prop::sample::select(vec![
            "fs_read",
            "fs_write",
            "execute_bash",
            "web_fetch",
            "@builtin",
            "@pollux",
            "glob",
            "*",
        ]);
        prop::collection::vec(word, 0..5).prop_map(Tools::named)
    }

    fn any_mode() -> impl Strategy<Value = Mode> {
        prop::sample::select(vec![Mode::Plan, Mode::Default, Mode::AutoEdit, Mode::Yolo])
    }

    proptest! {
        #[test]
        fn a_worker_never_has_a_tool_that_its_caller_has_not(a in any_tools(), b in any_tools()) {
            let both = a.and(&b);
            for tool in ["read_file", "write_file", "run_shell_command", "web_fetch", "@pollux"] {
                prop_assert_eq!(both.has(tool), a.has(tool) && b.has(tool));
            }
        }

        #[test]
        fn the_lesser_mode_is_no_more_than_either(a in any_mode(), b in any_mode()) {
            let less = lesser(a, b);
            prop_assert_eq!(lesser(less, a), less);
            prop_assert_eq!(lesser(b, less), less);
        }
    }
}
