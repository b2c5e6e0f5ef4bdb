//! May a tool be used? What Claude's SDKs are asked, what they answer, and the rules that answer before them. Pure.

use crate::shell;
use serde_json::{Value, json};

/// A call that somebody has to allow, in Claude's words.
#[derive(Debug, Clone, PartialEq)]
pub struct Use {
    /// The id of the call.
    pub id: String,
    /// Claude's name of the tool.
    pub tool: String,
    /// The arguments, under Claude's names.
    pub input: Value,
    /// What a person is shown.
    pub title: String,
}

impl Use {
    /// The request that asks for permission.
    pub fn request(&self) -> Value {
        json!({
            "subtype": "can_use_tool",
            "tool_name": self.tool,
            "input": self.input,
            "tool_use_id": self.id,
            "title": self.title,
            "permission_suggestions": [],
        })
    }

    /// The same among the calls that were turned down.
    pub fn denial(&self) -> Value {
        json!({ "tool_name": self.tool, "tool_use_id": self.id, "tool_input": self.input })
    }
}

/// What was answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Yes.
    Allow,
    /// Yes, but with other arguments.
    AllowChanged(Value),
    /// No: what the model is told, and whether the turn shall stop.
    Deny {
        /// Why.
        message: String,
        /// Whether the turn shall stop.
        interrupt: bool,
    },
}

impl Answer {
    /// Reads the answer to a request for permission. What cannot be read is a no.
    pub fn read(of: &Use, outcome: &Result<Value, String>) -> Self {
        let deny = |message: String| Self::Deny { message, interrupt: false };
        let answer = match outcome {
            Ok(answer) => answer,
            Err(error) => return deny(format!("could not ask for permission: {error}")),
        };
        match answer["behavior"].as_str() {
            Some("allow") => match &answer["updatedInput"] {
                Value::Null => Self::Allow,
                changed if *changed == of.input => Self::Allow,
                changed => Self::AllowChanged(changed.clone()),
            },
            Some("deny") => Self::Deny {
                message: answer["message"].as_str().unwrap_or_default().to_owned(),
                interrupt: answer["interrupt"].as_bool().unwrap_or(false),
            },
            _ => deny("could not read the answer to the permission request".to_owned()),
        }
    }
}

/// A rule of `--allowedTools` or `--disallowedTools`: a tool, or some of its calls.
///
/// ```
/// use pollux_agent::claude::permission::Rule;
/// use serde_json::json;
///
/// let rule = Rule::read("Bash(git status:*)").unwrap();
/// assert!(rule.allows("Bash", &json!({ "command": "git status -s" })));
/// assert!(!rule.allows("Bash", &json!({ "command": "git status; rm -rf /" })));
/// assert!(Rule::read("Bash(rm:*)").unwrap().denies("Bash", &json!({ "command": "git status; rm -rf /" })));
/// assert!(Rule::read("Edit(docs/**)").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Claude's name of the tool; `mcp__server` stands for all tools of a server.
    pub tool: String,
    /// How a command begins, or what it is.
    pub command: Option<Command>,
}

/// Which commands a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Those that begin with these words.
    Begins(String),
    /// This one.
    Is(String),
}

impl Rule {
    /// Reads a rule in Claude's words; says why where it has no counterpart.
    pub fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let Some((tool, rest)) = text.split_once('(') else {
            return Ok(Self { tool: text.to_owned(), command: None });
        };
        let inside = rest
            .strip_suffix(')')
            .ok_or_else(|| format!("`{text}` has no closing parenthesis"))?
            .trim();
        if tool != "Bash" {
            return Err(format!(
                "`{text}`: only Bash takes a pattern, for example `Bash(git status:*)`"
            ));
        }
        let begins = inside.strip_suffix(":*").or_else(|| inside.strip_suffix(" *"));
        let command = match begins {
            Some(words) if !words.contains('*') => Some(Command::Begins(words.to_owned())),
            None if inside == "*" => None,
            None if !inside.contains('*') => Some(Command::Is(inside.to_owned())),
            _ => return Err(format!("`{text}`: a `*` is only allowed at the end")),
        };
        Ok(Self { tool: tool.to_owned(), command })
    }

    /// The rules in a list that is separated by commas or spaces, as Claude's flags take it.
    pub fn list(text: &str) -> Result<Vec<Self>, String> {
        let mut depth = 0_u32;
        let parts = text.split(|c: char| {
            depth = match c {
                '(' => depth + 1,
                ')' => depth.saturating_sub(1),
                _ => depth,
            };
            depth == 0 && (c == ',' || c.is_whitespace())
        });
        parts.map(str::trim).filter(|part| !part.is_empty()).map(Self::read).collect()
    }

    /// True where the rule, as one that allows, is about a call. A line of several commands is never told by its beginning.
    pub fn allows(&self, tool: &str, input: &Value) -> bool {
        let said = command(input);
        self.names(tool)
            && match &self.command {
                None => true,
                Some(Command::Is(command)) => said == command,
                Some(Command::Begins(words)) => shell::is_only(said, words),
            }
    }

    /// True where the rule, as one that turns down, is about a call: one command of several is enough.
    pub fn denies(&self, tool: &str, input: &Value) -> bool {
        let said = command(input);
        self.names(tool)
            && match &self.command {
                None => true,
                Some(Command::Is(words) | Command::Begins(words)) => shell::has_some(said, words),
            }
    }

    fn names(&self, tool: &str) -> bool {
        let of_server = || tool.strip_prefix(&self.tool).is_some_and(|rest| rest.starts_with("__"));
        self.tool == tool || (self.tool.starts_with("mcp__") && of_server())
    }
}

fn command(input: &Value) -> &str {
    input["command"].as_str().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::{Answer, Rule, Use};
    use serde_json::json;

    #[test]
    fn a_list_of_rules_is_split_outside_its_brackets() {
        let rules = Rule::list("Read,Bash(git log *) Edit, mcp__calc").unwrap();
        let tools: Vec<&str> = rules.iter().map(|rule| rule.tool.as_str()).collect();
        assert_eq!(tools, ["Read", "Bash", "Edit", "mcp__calc"]);
        assert!(rules[3].allows("mcp__calc__add", &json!({})));
        assert!(!rules[3].denies("mcp__calculator__add", &json!({})));
        assert!(Rule::list("Bash(a*b)").is_err());
    }

    #[test]
    fn the_same_input_is_no_change() {
        let input = json!({ "command": "ls" });
        let of =
            Use { id: "1".into(), tool: "Bash".into(), input: input.clone(), title: String::new() };
        let read = |answer| Answer::read(&of, &Ok(answer));
        assert_eq!(read(json!({ "behavior": "allow", "updatedInput": input })), Answer::Allow);
        assert_eq!(read(json!({ "behavior": "allow" })), Answer::Allow);
        let other = json!({ "command": "ls -l" });
        assert_eq!(
            read(json!({ "behavior": "allow", "updatedInput": other })),
            Answer::AllowChanged(other)
        );
        assert!(matches!(read(json!("yes")), Answer::Deny { interrupt: false, .. }));
    }
}
