//! Picks the rule that a request meets, and fills in its words. Pure but for what it remembers between requests.

use crate::ask::{Ask, Asks, ToolResult};
use crate::own;
use crate::script::{Answer, Item, Pattern, Rule, Script, Stream, Usage};
use crate::tools;
use regex::Regex;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::LazyLock;
use std::time::Duration;

/// Words that every answer may use; the rest is captured by rules. `n` counts the repetitions of a text.
pub(crate) const HOUSE_WORDS: [&str; 7] = ["cwd", "prompt", "result", "model", "step", "time", "n"];

static WORD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}").expect("the pattern is a constant")
});

/// The words in double braces of a text.
pub(crate) fn words_of(text: &str) -> impl Iterator<Item = &str> {
    WORD.captures_iter(text).filter_map(|found| found.get(1)).map(|word| word.as_str())
}

/// A script that is being played: it counts, and it remembers what was captured.
///
/// Both are kept by working directory, so that sessions side by side in their own directories do not disturb each other.
#[derive(Debug)]
pub(crate) struct Cue {
    script: Script,
    places: HashMap<Option<String>, Place>,
}

#[derive(Debug, Default)]
struct Place {
    /// How often each rule has held, its `time` apart.
    times: HashMap<usize, u64>,
    words: BTreeMap<String, String>,
    /// The last prompts, as they came, and how many of their parts are of an earlier one.
    prompts: VecDeque<(Vec<String>, usize)>,
}

/// How many prompts are remembered: a conversation and those of the agents that it has at work.
const PROMPTS: usize = 16;

impl Place {
    /// How many parts of a prompt are of an earlier one, which was stopped before the model said anything.
    fn earlier(&mut self, words: &[String]) -> usize {
        if let Some((_, earlier)) = self.prompts.iter().find(|(known, _)| known == words) {
            return *earlier;
        }
        let begins = self.prompts.iter().filter(|(known, _)| words.starts_with(known));
        let earlier = begins.map(|(known, _)| known.len()).max().unwrap_or_default();
        self.prompts.push_back((words.to_vec(), earlier));
        if self.prompts.len() > PROMPTS {
            self.prompts.pop_front();
        }
        earlier
    }
}

/// An answer with its words filled in, and the name of the rule that gave it.
#[derive(Debug)]
pub(crate) struct Picked {
    pub(crate) rule: String,
    pub(crate) answer: Answer,
    /// What the candidate carries besides its content.
    pub(crate) more: Map<String, Value>,
}

impl Cue {
    pub(crate) fn new(script: Script) -> Self {
        Self { script, places: HashMap::new() }
    }

    /// Forgets what was counted and captured.
    pub(crate) fn reset(&mut self) {
        self.places.clear();
    }

    /// The answer to a request.
    pub(crate) fn pick(&mut self, ask: &Ask) -> Picked {
        let place = self.places.entry(ask.cwd.clone()).or_default();
        let earlier = if ask.asks == Asks::Turn { place.earlier(&ask.words) } else { 0 };
        let newest = (earlier > 0).then(|| ask.without(earlier));
        let ask = newest.as_ref().unwrap_or(ask);
        // Every rule that fits counts, also behind the one that answers: `time` is a number of requests.
        let mut chosen = None;
        for (at, rule) in self.script.rules.iter().enumerate() {
            let Some(captured) = holds(rule, ask) else { continue };
            let times = place.times.entry(at).or_default();
            *times += 1;
            if chosen.is_none() && rule.when.time.contains(times) {
                chosen = Some((rule, captured, *times));
            }
        }
        if let Some((rule, captured, time)) = chosen {
            place.words.extend(captured);
            let words = filled_words(ask, &place.words, time);
            return picked(&rule.name, fill(&rule.answer, ask, &words));
        }
        let words = filled_words(ask, &place.words, 0);
        match (&self.script.default, ask.asks) {
            (Some(default), Asks::Turn) => picked("default", fill(default, ask, &words)),
            (None, Asks::Turn) => picked("no rule", unscripted(ask)),
            _ => {
                let (text, more) = own::answer(ask);
                Picked { more, ..picked("own", stream(vec![says(text)])) }
            }
        }
    }
}

fn picked(rule: &str, answer: Answer) -> Picked {
    Picked { rule: rule.to_owned(), answer, more: Map::new() }
}

fn stream(items: Vec<Item>) -> Answer {
    Answer::Stream(Stream { items, usage: Usage::default(), finish: Some("STOP".to_owned()) })
}

/// What the model says where the script says nothing. A sub-agent must hand in its work to end.
fn unscripted(ask: &Ask) -> Answer {
    if let Some(schema) = ask.tools.get("complete_task") {
        let args = own::shaped(Some(schema), "").as_object().cloned().unwrap_or_default();
        return stream(vec![Item::Call {
            name: "complete_task".to_owned(),
            args,
            id: None,
            exact: true,
        }]);
    }
    let text = if ask.step == 0 { "The script has no rule for this prompt." } else { "Done." };
    stream(vec![says(text.to_owned())])
}

fn says(text: String) -> Item {
    Item::Text { texts: vec![text], split: None, thought: false, repeat: 1, pause: Duration::ZERO }
}

/// Whether a rule holds, its `time` apart, and what its patterns capture.
fn holds(rule: &Rule, ask: &Ask) -> Option<BTreeMap<String, String>> {
    let when = &rule.when;
    let mut captured = BTreeMap::new();
    let fits = when.asks == ask.asks
        && when.step.contains(&ask.step)
        && matches(when.prompt.as_ref(), &ask.prompt, &mut captured)
        && matches(when.model.as_ref(), &ask.model, &mut captured);
    if !fits {
        return None;
    }
    if when.tool.is_some() || when.result.is_some() {
        let fits = |result: &&ToolResult| {
            when.tool.as_ref().is_none_or(|tool| tools::same(tool, &result.tool))
        };
        let mut results = ask.results.iter().filter(fits);
        results.find(|result| matches(when.result.as_ref(), &result.text, &mut captured))?;
    }
    Some(captured)
}

fn matches(pattern: Option<&Pattern>, text: &str, captured: &mut BTreeMap<String, String>) -> bool {
    match pattern {
        None => true,
        Some(Pattern::Part(part)) => text.contains(part.as_str()),
        Some(Pattern::Regex(regex)) => {
            let Some(found) = regex.captures(text) else { return false };
            for name in regex.capture_names().flatten() {
                if let Some(group) = found.name(name) {
                    captured.insert(name.to_owned(), group.as_str().to_owned());
                }
            }
            true
        }
    }
}

fn filled_words(
    ask: &Ask,
    captured: &BTreeMap<String, String>,
    time: u64,
) -> BTreeMap<String, String> {
    let mut words = captured.clone();
    let house = [
        ("cwd", ask.cwd.clone().unwrap_or_else(|| ".".to_owned())),
        ("prompt", ask.prompt.clone()),
        ("result", ask.result_text()),
        ("model", ask.model.clone()),
        ("step", ask.step.to_string()),
        ("time", time.to_string()),
    ];
    words.extend(house.map(|(word, value)| (word.to_owned(), value)));
    words
}

fn fill(answer: &Answer, ask: &Ask, words: &BTreeMap<String, String>) -> Answer {
    match answer {
        Answer::Error(refused) => Answer::Error(refused.clone()),
        Answer::Stream(stream) => {
            let items = stream.items.iter().map(|item| fill_item(item, ask, words)).collect();
            Answer::Stream(Stream { items, finish: stream.finish.clone(), usage: stream.usage })
        }
    }
}

fn fill_item(item: &Item, ask: &Ask, words: &BTreeMap<String, String>) -> Item {
    match item.clone() {
        Item::Text { texts, split, thought, repeat, pause } => {
            let texts = texts.iter().map(|text| fill_text(text, words)).collect();
            Item::Text { texts, split, thought, repeat, pause }
        }
        Item::Call { name, args, id, exact } => {
            let args =
                args.into_iter().map(|(name, value)| (name, fill_value(value, words))).collect();
            let (name, args) = if exact { (name, args) } else { tools::adapt(ask, &name, &args) };
            Item::Call { name, args, id, exact }
        }
        other => other,
    }
}

fn fill_value(value: Value, words: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) => Value::String(fill_text(&text, words)),
        Value::Array(list) => list.into_iter().map(|value| fill_value(value, words)).collect(),
        Value::Object(object) => {
            object.into_iter().map(|(name, value)| (name, fill_value(value, words))).collect()
        }
        other => other,
    }
}

/// A word that is not known yet stays as it is written.
pub(crate) fn fill_text(text: &str, words: &BTreeMap<String, String>) -> String {
    let filled = WORD.replace_all(text, |found: &regex::Captures<'_>| {
        words.get(&found[1]).cloned().unwrap_or_else(|| found[0].to_owned())
    });
    filled.into_owned()
}

#[cfg(test)]
mod tests {
    use super::{Ask, Cue, Picked};
    use crate::script::{Answer, Item};
    use serde_json::{Value, json};

    fn said(picked: &Picked) -> String {
        let Answer::Stream(stream) = &picked.answer else { return String::new() };
        let texts = stream.items.iter().map(|item| match item {
            Item::Text { texts, .. } => texts.concat(),
            _ => String::new(),
        });
        texts.collect()
    }

    fn hears(cue: &mut Cue, contents: &Value) -> String {
        let tools = json!([{ "functionDeclarations": [{ "name": "run_shell_command" }] }]);
        let ask = Ask::read("m", &json!({ "contents": contents, "tools": tools }), true);
        said(&cue.pick(&ask))
    }

    #[test]
    fn what_is_said_behind_words_of_a_turn_that_was_stopped_is_the_prompt() {
        let script = "[[rule]]\nreply = \"heard {{prompt}}\"\n";
        let mut cue = Cue::new(script.parse().unwrap());
        let context = json!({ "text": "<session_context>\nhere" });
        let user = |parts: &[&str]| {
            let words = parts.iter().map(|text| json!({ "text": text }));
            let parts: Vec<Value> = [context.clone()].into_iter().chain(words).collect();
            json!({ "role": "user", "parts": parts })
        };
        assert_eq!(hears(&mut cue, &json!([user(&["slow"])])), "heard slow");
        let joined = user(&["slow", "then this"]);
        assert_eq!(hears(&mut cue, &json!([joined])), "heard then this");
        // The same turn goes on.
        assert_eq!(hears(&mut cue, &json!([joined])), "heard then this");
        // The CLI asks once more for what the model has not said.
        let asked = user(&["think", "\n[System: You previously generated thoughts"]);
        assert_eq!(hears(&mut cue, &json!([user(&["think"])])), "heard think");
        assert_eq!(hears(&mut cue, &json!([asked])), "heard think");
        // A prompt of two parts, such as one that names a file, is one.
        assert_eq!(hears(&mut cue, &json!([user(&["look", "at it"])])), "heard look\nat it");
        let denied = json!({ "error": "[Operation Cancelled] Reason: User denied execution." });
        let answered =
            json!({ "functionResponse": { "name": "run_shell_command", "response": denied } });
        let call = json!({ "role": "model", "parts": [{ "functionCall": { "name": "run_shell_command" } }] });
        let told = json!({ "role": "user", "parts": [answered, { "text": "no, that" }] });
        assert_eq!(hears(&mut cue, &json!([user(&["go"]), call, told])), "heard no, that");
    }
}
