//! What a CLI prints that cannot stream: one object at the end, read as the lines that one which can would have printed.
//! Pure.

use super::super::loose::{Count, Entries, loose_object};
use super::super::transcript::string;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

loose_object! {
    /// What `--output-format json` prints.
    Object {
        "session_id" => session_id: Option<&'a RawValue>,
        "response" => response: Option<&'a RawValue>,
        "error" => error: Option<&'a RawValue>,
        "stats" => stats: Stats<'a>,
    }
}

loose_object! {
    /// Its `stats`.
    Stats {
        "models" => models: Entries<'a>,
        "tools" => tools: Tools<'a>,
    }
}

loose_object! {
    /// `stats.tools`.
    Tools {
        "totalCalls" => total_calls: Count,
    }
}

loose_object! {
    /// One of `stats.models`.
    Model {
        "tokens" => tokens: Tokens<'a>,
    }
}

loose_object! {
    /// Its `tokens`.
    Tokens {
        "prompt" => prompt: Count,
        "candidates" => candidates: Count,
        "total" => total: Count,
        "cached" => cached: Count,
    }
}

/// The object as lines. What is no object stays as it is.
pub(super) fn lines(text: &str) -> Vec<String> {
    let Some(object) = object(text) else {
        return text.lines().map(str::to_owned).collect();
    };
    let id = string(object.session_id).map(|id| json!({ "type": "init", "session_id": id }));
    let said = string(object.response)
        .map(|text| json!({ "type": "message", "role": "assistant", "content": text }));
    // Without a response or an error it has not come to an end.
    let ended = (object.response.is_some() || object.error.is_some()).then(|| result(&object));
    [id, said, ended].into_iter().flatten().map(|line| line.to_string()).collect()
}

/// The object among whatever else was printed: on a line of its own, else behind the first brace.
fn object(text: &str) -> Option<Object<'_>> {
    let mut begun = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let start = begun + line.len() - line.trim_start().len();
        begun += line.len();
        start
    });
    let starts = lines.filter(|start| text.get(*start..).is_some_and(|rest| rest.starts_with('{')));
    starts.chain(text.find('{')).find_map(|start| {
        let mut values = serde_json::Deserializer::from_str(text.get(start..)?).into_iter();
        let object: Object<'_> = values.next()?.ok()?;
        let says = [object.session_id, object.response, object.error];
        (says.into_iter().flatten().next().is_some() || object.stats.read).then_some(object)
    })
}

fn result(object: &Object<'_>) -> Value {
    let mut line = json!({ "type": "result", "status": "success" });
    if let Some(error) = object.error {
        line["status"] = "error".into();
        line["error"] = serde_json::from_str(error.get()).unwrap_or_default();
    }
    if object.stats.read {
        line["stats"] = stats(&object.stats);
    }
    line
}

/// The tokens of each model and their sum, under the names that the stream has for them.
fn stats(stats: &Stats<'_>) -> Value {
    let mut sum = [0_u64; 4];
    let mut models = Map::new();
    for (name, model) in &stats.models.0 {
        let model: Model<'_> = serde_json::from_str(model.get()).unwrap_or_default();
        let tokens = &model.tokens;
        if !(model.read && tokens.read) {
            continue;
        }
        let counts = [tokens.total.0, tokens.prompt.0, tokens.candidates.0, tokens.cached.0];
        for (sum, count) in sum.iter_mut().zip(counts) {
            *sum = sum.saturating_add(count);
        }
        models.insert(name.clone().into_owned(), named(counts));
    }
    let mut all = named(sum);
    if stats.tools.read {
        all["tool_calls"] = stats.tools.total_calls.0.into();
    }
    all["models"] = models.into();
    all
}

fn named([total, input, output, cached]: [u64; 4]) -> Value {
    json!({ "total_tokens": total, "input_tokens": input, "output_tokens": output, "cached": cached })
}

#[cfg(test)]
mod tests {
    use super::lines;
    use crate::gemini::stream::Translator;
    use crate::model::{EventKind, Scope};

    /// What a version printed that has no streams to choose from.
    const RECORDED: &str =
        include_str!("../../../../../recordings/0.16.0/headless/json_greet.json");

    #[test]
    fn the_tokens_of_a_recorded_object_are_counted_for_each_model_and_for_the_run() {
        let lines = lines(&format!("a line of noise\n{RECORDED}"));
        let mut translator = Translator::default();
        let mut events = Vec::new();
        for line in &lines {
            translator.line(line, &mut events);
        }
        let usage: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::UsageChanged { scope, usage, .. } => Some((*scope, *usage)),
                _ => None,
            })
            .collect();
        assert_eq!(
            usage.iter().map(|(scope, _)| *scope).collect::<Vec<_>>(),
            [Scope::Model, Scope::Run]
        );
        let run = usage[1].1;
        assert_eq!((run.input_tokens, run.output_tokens, run.cached_tokens), (2468, 90, 40));
        assert_eq!((run.thoughts_tokens, run.total_tokens), (14, 2572));
        assert!(translator.told().result.as_ref().is_some_and(|result| result.success));
    }

    #[test]
    fn a_brace_in_an_earlier_line_hides_no_answer() {
        let said = r#"{"response":"the answer","stats":{"models":{}}}"#;
        for noise in [
            "Loaded {2} extensions\n",
            "{2}\n",
            "{\"level\":\"info\"}\n",
            "{ not JSON\n",
            "noise: ",
        ] {
            let lines = lines(&format!("{noise}{said}\n"));
            assert!(lines.iter().any(|line| line.contains("the answer")), "{noise}{lines:?}");
            assert!(lines.iter().any(|line| line.contains("\"result\"")), "{noise}{lines:?}");
        }
    }

    #[test]
    fn figures_that_cannot_be_are_counted_as_far_as_one_can_count() {
        let model = r#"{"tokens":{"prompt":18446744073709551615,"candidates":1,"total":7}}"#;
        let text = format!(r#"{{"response":"","stats":{{"models":{{"a":{model},"b":{model}}}}}}}"#);
        let mut translator = Translator::default();
        for line in &lines(&text) {
            translator.line(line, &mut Vec::new());
        }
        assert!(translator.told().result.is_some());
    }

    #[test]
    fn an_error_in_the_object_is_no_success() {
        let lines = lines(r#"{"session_id":"s","error":{"type":"Error","message":"no","code":1}}"#);
        let mut translator = Translator::default();
        for line in &lines {
            translator.line(line, &mut Vec::new());
        }
        let result = translator.told().result.clone().unwrap();
        assert_eq!((result.success, result.message.as_deref()), (false, Some("no")));
    }
}
