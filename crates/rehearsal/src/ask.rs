//! What a request asks: the prompt, the tool results, the tools on offer, the working directory. Pure.

use regex::Regex;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// On whose account a request is made: the conversation's, or the CLI's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asks {
    /// A turn of the conversation, or of a sub-agent: what scripts are about.
    Turn,
    /// Which model should answer.
    Router,
    /// Who speaks next.
    NextSpeaker,
    /// Whether the conversation goes round in circles.
    LoopCheck,
    /// A search of the web, which the real API does by itself.
    WebSearch,
    /// A page of the web, which the real API reads by itself.
    WebFetch,
    /// Any other question whose answer must be JSON of a given shape, such as the correction of an edit.
    Json,
    /// The history in fewer words.
    Compress,
    /// Any other question without tools: titles and summaries.
    Summary,
}

impl Asks {
    /// All of them, by the names that scripts use.
    pub(crate) const NAMES: [(&'static str, Self); 9] = [
        ("turn", Self::Turn),
        ("router", Self::Router),
        ("next-speaker", Self::NextSpeaker),
        ("loop-check", Self::LoopCheck),
        ("web-search", Self::WebSearch),
        ("web-fetch", Self::WebFetch),
        ("json", Self::Json),
        ("compress", Self::Compress),
        ("summary", Self::Summary),
    ];
}

/// What one tool gave back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The tool's name, as the CLI calls it.
    pub tool: String,
    /// Its output or its error, as text.
    pub text: String,
}

/// A request, read.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The model that was named in the address.
    pub model: String,
    /// Whose account the request is on.
    pub asks: Asks,
    /// The text of the newest turn of the user, without what the CLI put around it.
    pub prompt: String,
    /// The parts of that text. Versions around 0.53 put what is said after a turn that was stopped behind what was said before it,
    /// in one message: which of them are new, one request alone does not say.
    pub(crate) words: Vec<String>,
    /// What the tools gave back since the model last spoke.
    pub results: Vec<ToolResult>,
    /// How many times the model has called tools since the prompt.
    pub step: u64,
    /// The working directory, where the request names it.
    pub cwd: Option<String>,
    /// The tools on offer: name to JSON schema.
    pub tools: BTreeMap<String, Value>,
    /// The shape that the answer must have, where there is one.
    pub schema: Option<Value>,
}

impl Ask {
    /// Reads a request to `model`. What is not there is empty: reading never fails.
    pub fn read(model: &str, body: &Value, streamed: bool) -> Self {
        let contents = body["contents"].as_array().map_or(&[] as &[Value], Vec::as_slice);
        let at = contents.iter().rposition(is_prompt);
        let since = contents.get(at.map_or(0, |at| at + 1)..).unwrap_or_default();
        let spoke = contents.iter().rposition(|content| content["role"] == "model");
        let newest = contents.get(spoke.map_or(0, |at| at + 1)..).unwrap_or_default();
        let tools = declared(body);
        let words = at.and_then(|at| contents.get(at)).map(prompt_words).unwrap_or_default();
        Self {
            model: model.to_owned(),
            asks: asks(body, &tools, streamed),
            prompt: words.join("\n"),
            words,
            results: newest.iter().flat_map(parts).filter_map(result).collect(),
            step: since.iter().filter(|content| calls_tools(content)).count() as u64,
            cwd: cwd(body, contents),
            tools,
            schema: schema(body).cloned(),
        }
    }

    /// The same request where the first parts of the prompt are of an earlier one.
    pub(crate) fn without(&self, earlier: usize) -> Self {
        let words: Vec<String> = self.words.iter().skip(earlier).cloned().collect();
        Self { prompt: words.join("\n"), words, ..self.clone() }
    }

    /// The results of all tools as one text.
    pub fn result_text(&self) -> String {
        self.results.iter().map(|result| result.text.as_str()).collect::<Vec<_>>().join("\n")
    }
}

fn parts(content: &Value) -> impl Iterator<Item = &Value> {
    content["parts"].as_array().into_iter().flatten()
}

/// How text opens that the CLI adds on its own, in a part of its own: where it works, and that an answer is still missing.
const ADDED: [&str; 2] = ["<session_context>", "[System: "];

fn is_words(part: &Value) -> bool {
    let is_added = |text: &str| ADDED.iter().any(|opens| text.trim_start().starts_with(opens));
    part["text"].as_str().is_some_and(|text| !is_added(text))
}

fn is_prompt(content: &Value) -> bool {
    content["role"] != "model"
        && parts(content).any(is_words)
        && parts(content).all(|part| part.get("functionResponse").is_none() || is_cancelled(part))
}

/// Whether a tool was turned down: that ends the turn, and words beside it are the next prompt.
fn is_cancelled(part: &Value) -> bool {
    let error = part["functionResponse"]["response"]["error"].as_str();
    error.is_some_and(|error| error.starts_with("[Operation Cancelled]"))
}

fn prompt_words(content: &Value) -> Vec<String> {
    let words = parts(content).filter(|part| is_words(part));
    words.filter_map(|part| part["text"].as_str()).map(str::to_owned).collect()
}

fn calls_tools(content: &Value) -> bool {
    content["role"] == "model" && parts(content).any(|part| part.get("functionCall").is_some())
}

fn result(part: &Value) -> Option<ToolResult> {
    let given = part.get("functionResponse")?;
    let response = &given["response"];
    let text = match (response["output"].as_str(), response["error"].as_str()) {
        (Some(text), _) | (None, Some(text)) => text.to_owned(),
        (None, None) => response.to_string(),
    };
    Some(ToolResult { tool: given["name"].as_str().unwrap_or_default().to_owned(), text })
}

fn declared(body: &Value) -> BTreeMap<String, Value> {
    let groups = body["tools"].as_array().into_iter().flatten();
    let each =
        groups.flat_map(|group| group["functionDeclarations"].as_array().into_iter().flatten());
    each.filter_map(|tool| {
        let schema = tool.get("parametersJsonSchema").or_else(|| tool.get("parameters"));
        Some((tool["name"].as_str()?.to_owned(), schema.cloned().unwrap_or_default()))
    })
    .collect()
}

fn schema(body: &Value) -> Option<&Value> {
    let wanted = &body["generationConfig"];
    wanted.get("responseJsonSchema").or_else(|| wanted.get("responseSchema"))
}

fn asks(body: &Value, tools: &BTreeMap<String, Value>, streamed: bool) -> Asks {
    let wanted = &body["generationConfig"];
    if schema(body).is_some() || wanted["responseMimeType"] == "application/json" {
        return asks_json(schema(body).and_then(|schema| schema["properties"].as_object()));
    }
    let mut groups = body["tools"].as_array().into_iter().flatten().peekable();
    if groups.peek().is_none() && !streamed {
        let told = body["systemInstruction"].to_string();
        return if told.contains("state_snapshot") { Asks::Compress } else { Asks::Summary };
    }
    for group in groups.filter(|_| tools.is_empty()) {
        if group.get("googleSearch").is_some() {
            return Asks::WebSearch;
        }
        if group.get("urlContext").is_some() {
            return Asks::WebFetch;
        }
    }
    Asks::Turn
}

fn asks_json(properties: Option<&Map<String, Value>>) -> Asks {
    let has = |name: &str| properties.is_some_and(|properties| properties.contains_key(name));
    if has("next_speaker") {
        Asks::NextSpeaker
    } else if has("model_choice") || has("complexity_score") {
        Asks::Router
    } else if has("unproductive_state_confidence") || has("unproductive_state_analysis") {
        Asks::LoopCheck
    } else {
        Asks::Json
    }
}

/// Each age of the CLI says where it works in its own words.
static CWD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?:Workspace Directories:\*\*\s*\n\s*- |working in the directory: |working in the following directories:\s*\n\s*- )([^\n]+)",
    )
    .expect("the pattern is a constant")
});

fn cwd(body: &Value, contents: &[Value]) -> Option<String> {
    let told = body["systemInstruction"]["parts"].as_array().into_iter().flatten();
    let texts = contents.iter().take(2).flat_map(parts).chain(told);
    let mut texts = texts.filter_map(|part| part["text"].as_str());
    texts.find_map(|text| Some(CWD.captures(text)?[1].trim_end().to_owned()))
}
