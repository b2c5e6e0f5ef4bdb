//! The user's own policies, beside one of ours. The CLI reads what `--policy` names instead of the user's: whoever names
//! one names the user's too, or what the user has forbidden would be allowed.

use super::cli::{self, Cli, Search, Version};
use super::servers;
use super::settings::Machine;
use crate::model::{Failure, Phase};
use crate::regular;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Since this version settings can name policies instead of those in the user's directory.
const IN_SETTINGS: Version = Version::new(0, 35, 0);
/// What a priority can be at most.
const HIGHEST: i64 = 999;
/// The lowest priority of the user's rules where they stand above ours, and above what is allowed for good (950).
const LOWEST: i64 = 951;

/// What a CLI with these variables reads where nobody names a policy, as it would be named. What a repository's settings
/// name is left out: it is read in folders that are trusted only, and could allow itself more.
pub fn of_user(
    cli: &Cli,
    home: &Path,
    env: &[(impl AsRef<OsStr>, impl AsRef<OsStr>)],
) -> Vec<PathBuf> {
    let directory = home.join(".gemini");
    let mut named = Vec::new();
    if cli.at_least(IN_SETTINGS) {
        let machine = Machine::of(env, &Search::of_process());
        let [settings, defaults] = machine.files();
        let all = [defaults, &directory.join("settings.json"), settings];
        named = all.into_iter().flat_map(in_settings).collect();
    }
    let own = directory.join("policies");
    if named.is_empty() && own.is_dir() { vec![own] } else { named }
}

fn in_settings(file: &Path) -> Vec<PathBuf> {
    let text = regular::text(file).unwrap_or_default();
    servers::policy_paths(&text).into_iter().map(PathBuf::from).collect()
}

/// The arguments that name a policy of ours and the user's. Ours comes first: of two rules with one priority the first holds.
pub fn arguments(ours: &Path, users: &[PathBuf]) -> Result<Vec<OsString>, Failure> {
    let all = || [ours].into_iter().chain(users.iter().map(PathBuf::as_path));
    cli::without_commas(all())?;
    if let Some(path) = users.iter().find(|path| path.to_string_lossy().contains('$')) {
        // It is replaced in settings, and not in an argument.
        let message = format!("`policyPaths` contains a variable: {}", path.display());
        let failure = Failure::new(Phase::Start, "bad_settings", message);
        return Err(failure.hint("use the full path in Gemini CLI's settings"));
    }
    let named = |path: &Path| {
        let mut arg = OsString::from("--policy=");
        arg.push(path);
        arg
    };
    Ok(all().map(named).collect())
}

/// A rule of the user's: the file that it is from, and what it says.
type Rule = (usize, Table);

/// The user's rules for an agent that has these tools and no others, to stand above the rules that say so: a text for each of
/// the user's files, because the CLI leaves out a whole file where it cannot read a rule. For each tool they are kept in their
/// order, down to the last that does not allow: what the user allows besides is not for such an agent.
pub fn about(users: &[PathBuf], tools: &BTreeSet<String>) -> Vec<String> {
    let files: Vec<PathBuf> = users.iter().flat_map(|path| files(path)).collect();
    let mut rules: Vec<Rule> = Vec::new();
    for (no, file) in files.iter().enumerate() {
        rules.extend(read(file).into_iter().map(|rule| (no, rule)));
    }
    rules.sort_by_key(|(_, rule)| std::cmp::Reverse(priority(rule)));
    lift(&mut rules);
    let mut kept: Vec<Rule> = rules.iter().filter_map(of_servers).collect();
    kept.extend(tools.iter().flat_map(|tool| of_tool(&rules, tool)));
    let of_file = |no| kept.iter().filter(move |(file, _)| *file == no).map(|(_, rule)| rule);
    let texts = (0..files.len()).map(|no| written(of_file(no)));
    texts.filter(|text| !text.is_empty()).collect()
}

/// The files that a path stands for.
fn files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_path_buf()];
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "toml"));
    files
}

/// The rules of a file; none where the CLI will not read it either.
fn read(file: &Path) -> Vec<Table> {
    let text = regular::text(file).unwrap_or_default();
    let mut whole = text.parse::<Table>().unwrap_or_default();
    let Some(Value::Array(rules)) = whole.remove("rule") else { return Vec::new() };
    rules.into_iter().filter_map(|rule| rule.as_table().cloned()).collect()
}

/// Gives rules that are in order the highest priorities, in the same order.
fn lift(rules: &mut [Rule]) {
    let mut seen: Vec<i64> = rules.iter().map(|(_, rule)| priority(rule)).collect();
    seen.dedup();
    for (_, rule) in rules {
        let above = seen.iter().filter(|&&higher| higher > priority(rule)).count();
        let lifted = HIGHEST.saturating_sub_unsigned(above as u64).max(LOWEST);
        rule.insert("priority".to_owned(), lifted.into());
    }
}

/// What a rule forbids of tools of servers.
fn of_servers((file, rule): &Rule) -> Option<Rule> {
    let mut names = names(rule);
    if !rule.contains_key("mcpName") {
        names.retain(|name| name.starts_with("mcp_"));
    }
    (decision(rule) == "deny" && !names.is_empty()).then(|| (*file, about_names(rule, names)))
}

/// What rules say of a tool of the CLI's own.
fn of_tool(rules: &[Rule], tool: &str) -> Vec<Rule> {
    let is_about = |(_, rule): &&Rule| {
        let names = names(rule);
        !rule.contains_key("mcpName") && names.iter().any(|name| name == "*" || name == tool)
    };
    let mut found: Vec<&Rule> = rules.iter().filter(is_about).collect();
    while found.last().is_some_and(|(_, rule)| decision(rule) == "allow") {
        found.pop();
    }
    found.into_iter().map(|(file, rule)| (*file, about_names(rule, vec![tool.into()]))).collect()
}

/// The tools that a rule is about; one that names none is about all.
fn names(rule: &Table) -> Vec<String> {
    let text = |name: &Value| name.as_str().map(str::to_owned);
    match rule.get("toolName") {
        Some(Value::Array(names)) => names.iter().filter_map(text).collect(),
        Some(name) => text(name).into_iter().collect(),
        None => vec!["*".to_owned()],
    }
}

/// The same rule about these tools. One name is no list, with which the CLI finds fault where commands are named.
fn about_names(rule: &Table, mut names: Vec<String>) -> Table {
    let mut rule = rule.clone();
    let one = if names.len() == 1 { names.pop() } else { None };
    rule.insert("toolName".to_owned(), one.map_or_else(|| names.into(), Value::from));
    rule
}

fn decision(rule: &Table) -> &str {
    rule.get("decision").and_then(Value::as_str).unwrap_or_default()
}

fn priority(rule: &Table) -> i64 {
    rule.get("priority").and_then(Value::as_integer).unwrap_or_default()
}

fn written<'r>(rules: impl Iterator<Item = &'r Table>) -> String {
    let rules: Vec<Value> = rules.cloned().map(Value::from).collect();
    if rules.is_empty() {
        return String::new();
    }
    // What was read as TOML can be written as TOML.
    toml::to_string(&Table::from_iter([("rule".to_owned(), rules.into())])).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{about, arguments, of_user};
    use crate::gemini::cli::{Cli, Version};
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};
    use tempfile::TempDir;

    const NONE: [(&str, &str); 0] = [];

    fn cli(minor: u32) -> Cli {
        Cli { path: "gemini".into(), version: Some(Version::new(0, minor, 0)) }
    }

    /// A home with a policy in it, and settings.
    fn home(policy: &str, settings: &str) -> (TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join(".gemini/policies");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("own.toml"), policy).unwrap();
        fs::write(home.path().join(".gemini/settings.json"), settings).unwrap();
        (home, directory)
    }

    #[test]
    fn the_users_policies_are_named_beside_ours_as_the_cli_would_find_them() {
        let (home, directory) = home("", r#"{ /* mine */ "policyPaths": ["/a", "~/b"] }"#);
        assert_eq!(of_user(&cli(34), home.path(), &NONE), [&*directory]);
        assert_eq!(of_user(&cli(35), home.path(), &NONE), [Path::new("/a"), Path::new("~/b")]);
        fs::write(home.path().join(".gemini/settings.json"), "{}").unwrap();
        let users = of_user(&cli(61), home.path(), &NONE);
        let args = arguments("/ours.toml".as_ref(), &users).unwrap();
        assert_eq!(args[0], "--policy=/ours.toml");
        assert_eq!(args[1].to_str(), Some(&*format!("--policy={}", directory.display())));
        fs::remove_dir_all(directory).unwrap();
        assert!(of_user(&cli(61), home.path(), &NONE).is_empty());
    }

    #[test]
    fn a_policy_that_the_cli_would_look_for_elsewhere_is_not_named() {
        let ours = Path::new("/ours.toml");
        for odd in ["/a,b", "$HOME/a"] {
            assert!(arguments(ours, &[odd.into()]).is_err(), "{odd}");
        }
        assert!(arguments("/o,urs".as_ref(), &[]).is_err());
    }

    /// The rules that an agent with these tools has of the user's: decision, tool and priority.
    fn rules(policy: &str, tools: &[&str]) -> Vec<(String, String, i64)> {
        let (_home, directory) = home(policy, "{}");
        let tools: BTreeSet<String> = tools.iter().map(|&tool| tool.to_owned()).collect();
        let texts = about(&[directory], &tools);
        let rule = |rule: &toml::Value| {
            let text = |key: &str| rule[key].as_str().unwrap().to_owned();
            (text("decision"), text("toolName"), rule["priority"].as_integer().unwrap())
        };
        let read = |text: &String| text.parse::<toml::Table>().unwrap();
        let all = texts.iter().map(read);
        all.flat_map(|all| all["rule"].as_array().unwrap().iter().map(rule).collect::<Vec<_>>())
            .collect()
    }

    fn rule(tool: &str, decision: &str, priority: i64) -> String {
        format!("[[rule]]\ntoolName = {tool}\ndecision = \"{decision}\"\npriority = {priority}\n")
    }

    #[test]
    fn an_agent_with_few_tools_is_forbidden_what_the_user_forbids_and_allowed_no_more() {
        let shell = r#""run_shell_command""#;
        let text = [
            // A table in a rule, behind which nothing else of the rule may be written.
            rule(shell, "deny", 100) + "[rule.toolAnnotations]\nodd = true\n",
            rule(&format!("{shell}\ncommandPrefix = \"git\""), "allow", 200),
            rule(r#"["glob", "read_file"]"#, "allow", 950),
            rule(r#""mcp_docs_write""#, "deny", 5),
            rule(r#""mcp_docs_find""#, "allow", 5),
        ];
        let found = rules(&text.concat(), &["run_shell_command", "read_file"]);
        let of = |decision: &str, tool: &str, priority| (decision.into(), tool.into(), priority);
        assert_eq!(
            found,
            [
                of("deny", "mcp_docs_write", 996),
                of("allow", "run_shell_command", 998),
                of("deny", "run_shell_command", 997),
            ]
        );
        assert_eq!(rules(&rule(shell, "ask_user", 1), &["read_file"]), []);
    }

    #[test]
    fn a_user_who_forbids_everything_but_some_forbids_it_to_an_agent_with_few_tools_too() {
        let text = [rule(r#""*""#, "deny", 1), rule(r#""read_file""#, "allow", 2)].concat();
        let found = rules(&text, &["glob", "read_file"]);
        let of = |(decision, tool, _): &(String, String, i64)| format!("{decision} {tool}");
        let said: Vec<String> = found.iter().map(of).collect();
        assert_eq!(said, ["deny glob", "allow read_file", "deny read_file"]);
    }
}
