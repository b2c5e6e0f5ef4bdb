//! The answers of rules: pieces of a reply, and errors.

use super::Check;
use crate::script::wire::{self, OneOrMany};
use crate::script::{Answer, Item, Refused, Stream, Usage};
use serde_json::{Map, Value, json};
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;

impl Check<'_> {
    pub(super) fn answer(&mut self, span: &Range<usize>, rule: wire::Rule) -> Option<Answer> {
        let finish = self.finish(rule.finish);
        let usage = rule.usage.unwrap_or_default();
        let pause = rule.pause.map(|pause| pause.0).unwrap_or_default();
        match (rule.reply, rule.error, rule.empty) {
            (Some(reply), None, false) => self.reply(reply, (usage, finish), pause),
            (None, None, true) => Some(Answer::Stream(Stream { items: Vec::new(), usage, finish })),
            (None, Some(error), false) => {
                let (span, error) = (error.span(), error.into_inner());
                self.refused(&span, error).map(Answer::Error)
            }
            (None, None, false) => {
                self.wrong(
                    span.clone(),
                    "the rule has no answer: add `reply`, `error` or `empty = true`",
                );
                None
            }
            _ => {
                self.wrong(
                    span.clone(),
                    "a rule can only have one of `reply`, `error` and `empty`",
                );
                None
            }
        }
    }

    /// The finish reason; none where the stream is to end without one.
    fn finish(&mut self, finish: Option<Spanned<String>>) -> Option<String> {
        let Some(finish) = finish else { return Some("STOP".to_owned()) };
        let (span, word) = (finish.span(), finish.into_inner());
        if word == "none" {
            return None;
        }
        if word.is_empty()
            || word.chars().any(|letter| !letter.is_ascii_uppercase() && letter != '_')
        {
            self.wrong(
                span,
                "`finish` must be a finish reason of the API such as `STOP` or `MAX_TOKENS`, or `none`",
            );
        }
        Some(word)
    }

    fn reply(
        &mut self,
        reply: Spanned<OneOrMany<Spanned<wire::Item>>>,
        (usage, finish): (Usage, Option<String>),
        pause: Duration,
    ) -> Option<Answer> {
        let (span, OneOrMany(items)) = (reply.span(), reply.into_inner());
        if items.is_empty() {
            self.wrong(span, "`reply` is empty; use `empty = true` for an empty answer");
            return None;
        }
        let items = items.into_iter().filter_map(|item| self.item(&span, item, pause)).collect();
        Some(Answer::Stream(Stream { items, usage, finish }))
    }

    fn item(
        &mut self,
        reply: &Range<usize>,
        item: Spanned<wire::Item>,
        pause: Duration,
    ) -> Option<Item> {
        let span = if item.span().is_empty() { reply.clone() } else { item.span() };
        let wire::Item(item) = item.into_inner();
        if !item.is_one_thing() {
            let what = "`text`, `thought`, `call`, `pause`, `raw`, `chunk`, `cut` or `stall`";
            self.wrong(span, format!("an item of `reply` must be exactly one of {what}"));
            return None;
        }
        self.belongings(&span, &item);
        if item.call.is_some() {
            return self.call(&span, item);
        }
        if let Some(raw) = item.raw {
            return Some(Item::Raw(raw.into_inner()));
        }
        if let Some(chunk) = item.chunk {
            return self.chunk(&chunk);
        }
        if let Some(cut) = item.cut {
            return Some(Item::Cut(cut));
        }
        if let Some(stall) = item.stall {
            return Some(Item::Stall(stall.0));
        }
        self.text(&span, item, pause)
    }

    /// A text or a thought; a pause where there is neither.
    fn text(&mut self, span: &Range<usize>, item: wire::Piece, pause: Duration) -> Option<Item> {
        let between = item.pause.map(|pause| pause.0);
        let thought = item.thought.is_some();
        let Some(text) = item.text.or(item.thought) else { return between.map(Item::Pause) };
        // A bare string does not know where it stands; the piece does.
        let at = if text.span().start == 0 { span.clone() } else { text.span() };
        let texts = text.into_inner().0;
        for text in &texts {
            self.words(&at, text);
        }
        let split = item.split.map(Spanned::into_inner);
        let repeat = item.repeat.map_or(1, Spanned::into_inner);
        Some(Item::Text { texts, split, thought, repeat, pause: between.unwrap_or(pause) })
    }

    fn call(&mut self, span: &Range<usize>, item: wire::Piece) -> Option<Item> {
        let name = item.call?.into_inner();
        let mut args = Map::new();
        if let Some(table) = item.args {
            let at = table.span();
            args = table
                .into_inner()
                .into_iter()
                .map(|(name, value)| (name, json_of(value)))
                .collect();
            self.words(&at, &Value::Object(args.clone()).to_string());
        }
        if name.is_empty() {
            self.wrong(span.clone(), "`call` must be the name of a tool");
        }
        Some(Item::Call { name, args, id: item.id, exact: item.exact })
    }

    /// Keys that belong to another kind of piece.
    fn belongings(&mut self, span: &Range<usize>, item: &wire::Piece) {
        let says = item.text.is_some() || item.thought.is_some();
        if !says && let Some(split) = &item.split {
            self.wrong(split.span(), "`split` can only be used with `text` and `thought`");
        }
        if !says && let Some(repeat) = &item.repeat {
            self.wrong(repeat.span(), "`repeat` can only be used with `text` and `thought`");
        }
        if let Some(repeat) = item.repeat.as_ref().filter(|repeat| *repeat.get_ref() == 0) {
            self.wrong(repeat.span(), "`repeat` must be at least 1");
        }
        if item.call.is_none()
            && let Some(args) = &item.args
        {
            self.wrong(args.span(), "`args` can only be used with `call`");
        }
        if item.call.is_none() && (item.id.is_some() || item.exact) {
            self.wrong(span.clone(), "`id` and `exact` can only be used with `call`");
        }
    }

    fn chunk(&mut self, chunk: &Spanned<String>) -> Option<Item> {
        match serde_json::from_str(chunk.get_ref()) {
            Ok(value) => Some(Item::Chunk(value)),
            Err(error) => {
                self.wrong(chunk.span(), format!("`chunk` is not valid JSON: {error}"));
                None
            }
        }
    }

    fn refused(&mut self, span: &Range<usize>, error: wire::Error) -> Option<Refused> {
        let status = *error.status.get_ref();
        if !(400..=599).contains(&status) {
            self.wrong(error.status.span(), "the `status` of an error must be between 400 and 599");
            return None;
        }
        if error.message.is_none() && error.body.is_none() {
            self.wrong(span.clone(), "an error needs a `message` or a `body`");
            return None;
        }
        let body = error.body.clone().unwrap_or_else(|| refused_body(status, &error).to_string());
        let mut headers = Vec::new();
        for (name, value) in error.headers {
            let fits = axum::http::HeaderName::try_from(&name).is_ok()
                && axum::http::HeaderValue::try_from(value.get_ref()).is_ok();
            if !fits {
                self.wrong(
                    value.span(),
                    format!("`{name}` or its value is not a valid HTTP header"),
                );
            }
            headers.push((name, value.into_inner()));
        }
        Some(Refused { status, headers, body })
    }
}

/// TOML has dates, which JSON writes as text.
fn json_of(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => json!(number),
        toml::Value::Float(number) => json!(number),
        toml::Value::Boolean(truth) => Value::Bool(truth),
        toml::Value::Datetime(date) => Value::String(date.to_string()),
        toml::Value::Array(list) => list.into_iter().map(json_of).collect(),
        toml::Value::Table(table) => {
            table.into_iter().map(|(name, value)| (name, json_of(value))).collect()
        }
    }
}

fn refused_body(status: u16, error: &wire::Error) -> Value {
    let reason = error.reason.as_deref().unwrap_or(match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    });
    let mut details = Vec::new();
    if let Some(quota) = &error.quota {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{ "quotaId": quota, "quotaMetric": "generativelanguage.googleapis.com/requests" }],
        }));
    }
    if let Some(retry) = &error.retry {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": format!("{}s", retry.0.as_secs_f64()),
        }));
    }
    let mut body =
        json!({ "error": { "code": status, "message": error.message, "status": reason } });
    if !details.is_empty() {
        body["error"]["details"] = Value::Array(details);
    }
    body
}
