//! A profile: markdown with YAML in front. What is in front says what the agent is given, the rest is what it is told.

use super::tools::{self, CAO_SERVER, OWN_SERVER, Tools};
use crate::api::Driver;
use pollux_agent::model::Mode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The longest name.
const LONGEST_NAME: usize = 64;
/// A profile longer than this is none.
pub const LONGEST: usize = 256 << 10;

/// What an agent is, and what it is given.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// What it is for, in one line.
    pub description: String,
    /// How it is driven.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<Driver>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it may do without asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// What it is among others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// What it may use.
    pub tools: Tools,
    /// What those who work for it may use at most.
    pub lends: Tools,
    /// The MCP servers that it gets.
    pub servers: BTreeMap<String, Server>,
    /// The skills that it may load, with `*` for any letters.
    pub skills: Vec<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// True where it may answer the questions of those who work for it.
    pub answers: bool,
    /// What it is told.
    pub prompt: String,
    /// What was in front and is not used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// An MCP server of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Server {
    /// At an address.
    Remote {
        /// Where.
        url: String,
        /// `sse`, or else `http`.
        #[serde(default, rename = "type")]
        transport: Option<String>,
        /// What is sent with each request.
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
    /// A program.
    Program {
        /// Which.
        command: String,
        /// Its arguments.
        #[serde(default)]
        args: Vec<String>,
        /// Its variables.
        #[serde(default)]
        env: BTreeMap<String, String>,
    },
}

/// Why a text is no profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Wrong(pub String);

/// True for a name that is a plain word: no path, nothing hidden.
pub fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(plain)
}

/// Fields that CAO's profiles have and that mean nothing to Gemini CLI.
const UNUSED: &[&str] = &[
    "toolAliases",
    "toolsSettings",
    "resources",
    "hooks",
    "useLegacyMcpJson",
    "capabilities",
    "container",
    "provider_init_timeout",
    "permissionMode",
    "native_agent",
    "codexProfile",
    "codexConfig",
    "claudeConfig",
    "hermesProfile",
    "grokNativeWorkflows",
    "engine",
    "version",
];

impl Profile {
    /// Reads a profile. `name` is that of its file, for one that does not say; `fill` knows the values of variables.
    pub fn read(
        text: &str,
        name: &str,
        fill: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Wrong> {
        if text.len() > LONGEST {
            return Err(Wrong(format!("longer than {} KB", LONGEST >> 10)));
        }
        let (front, body) = halves(text)?;
        if front.is_none() && body.trim().is_empty() {
            return Err(Wrong("empty".to_owned()));
        }
        let mut notes = Vec::new();
        if front.is_none() {
            notes.push(
                "no front matter between `---` lines: the whole file is used as the prompt"
                    .to_owned(),
            );
        }
        let mut fields: Map<String, Value> = match front {
            // With the line before it: what is wrong is said by the line of the file.
            Some(front) => serde_saphyr::from_str(&format!("\n{front}"))
                .map_err(|error| Wrong(format!("the front matter is not YAML: {error}")))?,
            None => Map::new(),
        };
        for value in fields.values_mut() {
            fill_in(value, fill, &mut notes);
        }
        let mut body = Value::from(body.trim());
        fill_in(&mut body, fill, &mut notes);
        let body = body.as_str().unwrap_or_default().to_owned();
        let mut fields = Fields { fields, notes };
        let profile = fields.profile(name, body)?;
        Ok(Self { notes: fields.rest(), ..profile })
    }

    /// True where it fits what is looked for: each word is in its name, description, role or tags.
    pub fn fits(&self, query: &str) -> bool {
        let about = format!(
            "{} {} {} {}",
            self.name,
            self.description,
            self.role.as_deref().unwrap_or_default(),
            self.tags.join(" ")
        );
        let about = about.to_lowercase();
        query.to_lowercase().split_whitespace().all(|word| about.contains(word))
    }
}

/// The front and the rest.
fn halves(text: &str) -> Result<(Option<&str>, &str), Wrong> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return Ok((None, text));
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let (front, body) = (rest.get(..at), rest.get(at + line.len()..));
            return Ok((front, body.unwrap_or_default()));
        }
        at += line.len();
    }
    Err(Wrong("the front matter has no closing `---` line".into()))
}

/// Puts values in the place of `${NAME}`. What has no value stays, and that is noted.
fn fill_in(value: &mut Value, fill: &dyn Fn(&str) -> Option<String>, notes: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains("${") => *text = filled(text, fill, notes),
        Value::Array(all) => all.iter_mut().for_each(|value| fill_in(value, fill, notes)),
        Value::Object(all) => all.values_mut().for_each(|value| fill_in(value, fill, notes)),
        _ => {}
    }
}

fn filled(text: &str, fill: &dyn Fn(&str) -> Option<String>, notes: &mut Vec<String>) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let name = after.split_once('}').map(|(name, _)| name).filter(|name| is_variable(name));
        let Some(name) = name else {
            out.push_str("${");
            rest = after;
            continue;
        };
        if let Some(value) = fill(name) {
            out.push_str(&value);
        } else {
            notes.push(format!("`${{{name}}}` has no value"));
            out.push_str("${");
            out.push_str(name);
            out.push('}');
        }
        rest = after.get(name.len() + 1..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What is in front, while it is used up.
struct Fields {
    fields: Map<String, Value>,
    notes: Vec<String>,
}

impl Fields {
    fn profile(&mut self, file: &str, prompt: String) -> Result<Profile, Wrong> {
        let name = self.text("name")?.unwrap_or_else(|| file.to_owned());
        if !is_name(&name) {
            return Err(Wrong(format!(
                "invalid name `{name}`: use at most {LONGEST_NAME} letters, digits, `-` and `_`"
            )));
        }
        let description = self.text("description")?.unwrap_or_default();
        for agent in [self.text("agent")?, self.text("provider")?].into_iter().flatten() {
            if !matches!(agent.as_str(), "gemini" | "gemini_cli" | "gemini-cli") {
                self.notes.push(format!("`{agent}` is not supported: Gemini CLI is used instead"));
            }
        }
        let mode = match self.text("mode")? {
            None => None,
            Some(mode) => {
                Some(Mode::named(&mode).ok_or_else(|| Wrong(format!("unknown mode `{mode}`")))?)
            }
        };
        let role = self.text("role")?;
        let (tools, lends) = self.tools(role.as_deref())?;
        let servers = self.servers()?;
        // What CAO's own field for it holds stands before what is said in the body.
        let more = self.text("prompt")?.filter(|more| !more.trim().is_empty());
        let prompt = more.into_iter().chain(Some(prompt)).collect::<Vec<_>>().join("\n\n");
        Ok(Profile {
            name,
            description,
            driver: self.driver()?,
            model: self.text("model")?,
            mode,
            role,
            tools,
            lends,
            servers,
            skills: self.words("skills")?.unwrap_or_default(),
            tags: self.words("tags")?.unwrap_or_default(),
            answers: self.flag("answers")?,
            prompt: prompt.trim().to_owned(),
            notes: Vec::new(),
        })
    }

    /// What it may use, and what it can pass on. A limit that is written down holds for all below; a role is a way to work:
    /// one that only leads has others do what it does not do itself.
    fn tools(&mut self, role: Option<&str>) -> Result<(Tools, Tools), Wrong> {
        let (tools, allowed) = (self.words("tools")?, self.words("allowedTools")?);
        if let Some(words) = allowed.or(tools) {
            // It would name nothing, and whoever wrote it means something.
            if let Some(word) = words.iter().find(|word| !is_tool(word)) {
                return Err(Wrong(format!("invalid tool name `{word}`")));
            }
            let tools = Tools::named(words.iter().map(String::as_str));
            return Ok((tools.clone(), tools));
        }
        let Some(role) = role else { return Ok((Tools::All, Tools::All)) };
        // A misspelt role must not be one without limits.
        let by_role = tools::of_role(role).ok_or_else(|| {
            Wrong(format!(
                "unknown role `{role}`: use supervisor, reviewer or developer, or list its `tools`"
            ))
        })?;
        let lends = if role == "supervisor" { Tools::All } else { by_role.clone() };
        Ok((by_role, lends))
    }

    fn driver(&mut self) -> Result<Option<Driver>, Wrong> {
        let Some(word) = self.text("driver")? else { return Ok(None) };
        let read = serde_json::from_value(Value::from(word.clone()));
        read.map(Some).map_err(|_error| Wrong(format!("unknown driver `{word}`")))
    }

    fn servers(&mut self) -> Result<BTreeMap<String, Server>, Wrong> {
        let Some(value) = self.fields.remove("mcpServers") else { return Ok(BTreeMap::new()) };
        let all: Map<String, Value> = match value {
            Value::Null => Map::new(),
            Value::Object(all) => all,
            _ => return Err(Wrong("`mcpServers` must map names to servers".into())),
        };
        let mut servers = BTreeMap::new();
        for (name, value) in all {
            // Pollux is that server.
            if name == CAO_SERVER || name == OWN_SERVER {
                continue;
            }
            if !is_name(&name) {
                return Err(Wrong(format!("invalid server name `{name}`")));
            }
            let Value::Object(fields) = value else {
                return Err(Wrong(format!("server `{name}` needs a `command` or a `url`")));
            };
            let mut fields = Self { fields, notes: Vec::new() };
            let read = fields.server();
            servers.insert(
                name.clone(),
                read.map_err(|wrong| Wrong(format!("server `{name}`: {wrong}")))?,
            );
            let left = fields.fields.keys();
            self.notes.extend(left.map(|key| format!("`{key}` of server `{name}` is ignored")));
        }
        Ok(servers)
    }

    /// A server, of what is said of one.
    fn server(&mut self) -> Result<Server, Wrong> {
        let transport = self.text("type")?;
        if let Some(url) = self.text("url")? {
            return Ok(Server::Remote { url, transport, headers: self.texts("headers")? });
        }
        let command = self.text("command")?;
        let command = command.ok_or_else(|| Wrong("needs a `command` or a `url`".into()))?;
        let args = self.list("args")?.unwrap_or_default();
        Ok(Server::Program { command, args, env: self.texts("env")? })
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, Wrong> {
        match self.fields.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                plain(value).map(Some).ok_or_else(|| Wrong(format!("`{name}` must be a string")))
            }
        }
    }

    /// Texts by name.
    fn texts(&mut self, name: &str) -> Result<BTreeMap<String, String>, Wrong> {
        let wrong = || Wrong(format!("`{name}` must map names to strings"));
        let all = match self.fields.remove(name) {
            None | Some(Value::Null) => return Ok(BTreeMap::new()),
            Some(Value::Object(all)) => all,
            Some(_) => return Err(wrong()),
        };
        let pair = |(key, value): (String, Value)| Ok((key, plain(value).ok_or_else(wrong)?));
        all.into_iter().map(pair).collect()
    }

    fn flag(&mut self, name: &str) -> Result<bool, Wrong> {
        match self.fields.remove(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(Wrong(format!("`{name}` must be true or false"))),
        }
    }

    /// A list of words, or words in one line with commas between them.
    fn words(&mut self, name: &str) -> Result<Option<Vec<String>>, Wrong> {
        let Some(Value::String(line)) = self.fields.get(name) else { return self.list(name) };
        let words = line.split(',').map(str::trim).filter(|word| !word.is_empty());
        let words = words.map(str::to_owned).collect();
        self.fields.remove(name);
        Ok(Some(words))
    }

    fn list(&mut self, name: &str) -> Result<Option<Vec<String>>, Wrong> {
        let wrong = || Wrong(format!("`{name}` must be a list of words"));
        let all = match self.fields.remove(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Array(all)) => all,
            Some(_) => return Err(wrong()),
        };
        let word = |value: Value| plain(value).ok_or_else(wrong);
        all.into_iter().map(word).collect::<Result<_, _>>().map(Some)
    }

    /// What was noted, and the names of what nobody asked for.
    fn rest(self) -> Vec<String> {
        let mut notes = self.notes;
        for name in self.fields.keys() {
            notes.push(if UNUSED.contains(&name.as_str()) {
                format!("`{name}` does not apply to Gemini CLI and is ignored")
            } else {
                format!("unknown field `{name}` is ignored")
            });
        }
        notes
    }
}

/// A text; YAML takes `8080` and `true` for something else.
fn plain(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// True for what can name tools: a word, a server's or one of its tools', with `*` for any letters.
fn is_tool(word: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-@/*.:".contains(c);
    !word.is_empty() && word.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::{Profile, Server, is_name};
    use crate::team::tools::Tools;
    use pollux_agent::model::Mode;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Profile, super::Wrong> {
        let fill = |name: &str| (name == "WHERE").then(|| "here".to_owned());
        Profile::read(text, "file_name", &fill)
    }

    #[test]
    fn what_is_wrong_in_the_front_matter_is_said_by_the_line_of_the_file() {
        let wrong = Profile::read("---\nname: a\ntags: [b\n---\n", "a", &|_| None).unwrap_err();
        assert!(wrong.0.contains("line 3"), "{}", wrong.0);
        let empty = Profile::read("---\n---\nYou are.\n", "a", &|_| None).unwrap();
        assert_eq!((empty.name.as_str(), empty.prompt.trim()), ("a", "You are."));
    }

    #[test]
    fn a_profile_that_was_written_for_cao_works_unchanged() {
        let text = include_str!("../../tests/it/fixtures/code_supervisor.md");
        let profile = read(text).unwrap();
        assert_eq!((profile.name.as_str(), profile.notes.len()), ("code_supervisor", 0));
        assert!(profile.servers.is_empty(), "Pollux is that server: {:?}", profile.servers);
        assert!(profile.tools.has("@pollux") && profile.tools.has("read_file"));
        assert!(!profile.tools.has("write_file"));
        // It leads: those who work for it write.
        assert_eq!(profile.lends, Tools::All);
        assert!(profile.prompt.starts_with("# CODING SUPERVISOR"), "{}", profile.prompt);
    }

    #[test]
    fn every_field_is_read_and_what_is_not_known_is_noted() {
        let profile = read(
            "---\nname: a\ndescription: b\nagent: gemini\ndriver: headless\nfiles: shared\nmodel: flash\nmode: auto-edit\n\
             tools: [fs_read]\nskills: ['x-*']\ntags: [t]\nanswers: true\nmcpServers:\n  one: {command: c, args: [--in, '${WHERE}']}\n  \
             two: {url: 'http://x', type: http}\nresources: []\nwhat: 1\n---\nDo ${THIS} ${WHERE}.\n",
        )
        .unwrap();
        assert_eq!(profile.mode, Some(Mode::AutoEdit));
        assert!(profile.answers && profile.tools != Tools::All);
        let Some(Server::Program { args, .. }) = profile.servers.get("one") else {
            panic!("{:?}", profile.servers)
        };
        assert_eq!(args[1], "here");
        assert!(matches!(profile.servers.get("two"), Some(Server::Remote { .. })));
        assert_eq!(profile.prompt, "Do ${THIS} here.");
        assert_eq!(profile.notes.len(), 4, "{:?}", profile.notes);
        assert!(profile.notes.iter().any(|note| note.contains("`files`")), "{:?}", profile.notes);
    }

    #[test]
    fn a_server_is_read_as_yaml_writes_it_and_what_of_it_is_not_used_is_noted() {
        let profile = read(
            "---\nmcpServers:\n  one: {type: stdio, command: c, args: [--port, 8080, true], env: {PORT: 8080, ON: yes, OFF: false}, \
             timeout: 5, excludeTools: [x]}\n  two: {url: 'http://x', headers: {N: 1}, cwd: /}\n---\n",
        )
        .unwrap();
        let Some(Server::Program { args, env, .. }) = profile.servers.get("one") else {
            panic!("{:?}", profile.servers)
        };
        assert_eq!(args, &["--port", "8080", "true"]);
        assert_eq!((env["PORT"].as_str(), env["OFF"].as_str()), ("8080", "false"));
        let notes = profile.notes.join("\n");
        for word in ["`timeout` of server `one`", "`excludeTools`", "`cwd` of server `two`"] {
            assert!(notes.contains(word), "{word}: {notes}");
        }
        assert_eq!(profile.notes.len(), 3, "{notes}");
    }

    #[test]
    fn tools_in_one_line_with_commas_are_each_a_tool() {
        let one_line = read("---\ntools: fs_read, execute_bash\n---\n").unwrap();
        assert_eq!(one_line.tools, Tools::named(["fs_read", "execute_bash"]));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, word) in [
            ("---\nname: ../x\n---\n", "invalid name"),
            ("---\nname: a\n", "no closing"),
            ("---\nname: [\n---\n", "YAML"),
            ("---\nmode: wild\n---\n", "unknown mode"),
            ("---\ntools: 5\n---\n", "must be a list"),
            ("---\nrole: king\n---\n", "unknown role `king`"),
            ("---\nmcpServers: {a: {}}\n---\n", "`command` or a `url`"),
            ("---\nmcpServers: {a: {command: c, args: [[1]]}}\n---\n", "`args` must be a list"),
            ("---\nmcpServers: {a: {command: c, env: [1]}}\n---\n", "`env`"),
            ("---\ntools: ['run_shell_command(git)']\n---\n", "`run_shell_command(git)`"),
            ("---\nallowedTools: [fs_read execute_bash]\n---\n", "`fs_read execute_bash`"),
        ] {
            let wrong = read(text).unwrap_err();
            assert!(wrong.0.contains(word), "{text}: {wrong}");
        }
        assert_eq!(read("just a prompt").unwrap().name, "file_name");
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_fail_in_another_way(text in "(---\n)?[ -~\n]{0,200}(\n---\n)?.*") {
            drop(read(&text));
        }

        #[test]
        fn a_name_is_never_a_path(
            before in "[A-Za-z0-9_-]{1,20}",
            other in "[/.\\\\ \0~:]|[^A-Za-z0-9_-]",
            after in "[A-Za-z0-9_-]{0,20}",
        ) {
            prop_assert!(is_name(&before), "{before}");
            for name in [format!("{before}{other}{after}"), format!("{other}{after}")] {
                prop_assert!(!is_name(&name), "{name}");
            }
        }
    }
}
