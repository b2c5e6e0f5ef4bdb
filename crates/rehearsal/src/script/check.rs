//! Makes rules of what was written, and finds what the syntax cannot.

use super::wire::{self, Count, OneOrMany};
use super::{Answer, Item, Pattern, Refused, Rule, Script, Stream, Trial, When, Wrong, Wrongs};
use crate::ask::Asks;
use crate::cue::{HOUSE_WORDS, words_of};
use regex::Regex;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;

/// The whole script, or all that is wrong with it.
pub(super) fn script(text: &str, read: wire::Script) -> Result<Script, Wrongs> {
    let mut check = Check { text, wrong: Vec::new(), captured: BTreeSet::new() };
    for rule in &read.rule {
        check.captures(rule.as_ref());
    }
    let mut rules = Vec::new();
    for (n, rule) in read.rule.into_iter().enumerate() {
        let (span, rule) = (rule.span(), rule.into_inner());
        let name = rule.name.clone().unwrap_or_else(|| format!("rule {}", n + 1));
        let when = check.when(&rule);
        if let Some(answer) = check.answer(&span, rule) {
            rules.push(Rule { name, when, answer });
        }
    }
    let default = read.default.and_then(|default| check.default(default));
    if rules.is_empty() && default.is_none() && check.wrong.is_empty() {
        check.wrong(0..0, "the script has no rule: write at least one `[[rule]]` or a `[default]`");
    }
    let trial = read.trial.inspect(|trial: &Trial| {
        if trial.prompt.is_empty() {
            check.wrong(0..0, "`[trial]` has no `prompt`");
        }
    });
    if check.wrong.is_empty() {
        Ok(Script { about: read.about, trial, rules, default })
    } else {
        check.wrong.sort_by_key(|wrong| (wrong.line, wrong.column));
        Err(Wrongs(check.wrong))
    }
}

struct Check<'a> {
    text: &'a str,
    wrong: Vec<Wrong>,
    /// Words that some rule captures.
    captured: BTreeSet<String>,
}

impl Check<'_> {
    fn wrong(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.wrong.push(Wrong::at(self.text, span, message));
    }

    /// Collects the names of the groups of all patterns, so that a word nobody captures can be told.
    fn captures(&mut self, rule: &wire::Rule) {
        for pattern in
            [&rule.prompt_regex, &rule.result_regex, &rule.model_regex].into_iter().flatten()
        {
            let names = Regex::new(pattern.as_ref()).ok();
            let names =
                names.iter().flat_map(|regex| regex.capture_names().flatten().map(str::to_owned));
            self.captured.extend(names.collect::<Vec<_>>());
        }
    }

    fn when(&mut self, rule: &wire::Rule) -> When {
        let after_tools =
            rule.tool.is_some() || rule.result.is_some() || rule.result_regex.is_some();
        let step = if after_tools { 1..=u64::MAX } else { 0..=0 };
        let asks = rule.asks.as_ref().map_or(Asks::Turn, |asks| self.asks(asks));
        let range =
            |count: &Option<Spanned<Count>>| count.as_ref().map(|count| count.get_ref().0.clone());
        if let Some(time) = rule.time.as_ref().filter(|time| *time.get_ref().0.end() == 0) {
            self.wrong(time.span(), "`time` counts from 1");
        }
        // What the CLI asks on its own account has no steps.
        let step = if asks == Asks::Turn { step } else { 0..=u64::MAX };
        When {
            asks,
            prompt: self.pattern("prompt", rule.prompt.as_ref(), rule.prompt_regex.as_ref()),
            tool: rule.tool.as_ref().map(|tool| tool.get_ref().clone()),
            result: self.pattern("result", rule.result.as_ref(), rule.result_regex.as_ref()),
            model: self.pattern("model", rule.model.as_ref(), rule.model_regex.as_ref()),
            step: range(&rule.step).unwrap_or(step),
            time: range(&rule.time).unwrap_or(1..=u64::MAX),
        }
    }

    fn asks(&mut self, asks: &Spanned<String>) -> Asks {
        let known = Asks::NAMES.iter().find(|(name, _)| name == asks.get_ref());
        if let Some((_, known)) = known {
            return *known;
        }
        let names: Vec<&str> = Asks::NAMES.iter().map(|(name, _)| *name).collect();
        self.wrong(asks.span(), format!("`asks` is one of {}", names.join(", ")));
        Asks::Turn
    }

    fn pattern(
        &mut self,
        key: &str,
        part: Option<&Spanned<String>>,
        regex: Option<&Spanned<String>>,
    ) -> Option<Pattern> {
        match (part, regex) {
            (Some(_), Some(regex)) => {
                self.wrong(regex.span(), format!("`{key}` and `{key}-regex` exclude each other"));
                None
            }
            (Some(part), None) => Some(Pattern::Part(part.get_ref().clone())),
            (None, Some(regex)) => match Regex::new(regex.get_ref()) {
                Ok(compiled) => Some(Pattern::Regex(compiled)),
                Err(error) => {
                    let why = error.to_string();
                    let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
                    self.wrong(
                        regex.span(),
                        format!("`{key}-regex` is no regular expression: {why}"),
                    );
                    None
                }
            },
            (None, None) => None,
        }
    }

    fn default(&mut self, default: Spanned<wire::Rule>) -> Option<Answer> {
        let (span, rule) = (default.span(), default.into_inner());
        let conditions =
            [&rule.prompt, &rule.prompt_regex, &rule.tool, &rule.result, &rule.asks, &rule.model];
        if let Some(condition) = conditions.into_iter().flatten().next() {
            let message =
                "`[default]` answers everything that no rule matches, so it has no conditions";
            self.wrong(condition.span(), message);
        }
        self.answer(&span, rule)
    }

    fn answer(&mut self, span: &Range<usize>, rule: wire::Rule) -> Option<Answer> {
        let pause = rule.pause.map(|pause| pause.0).unwrap_or_default();
        match (rule.reply, rule.error, rule.empty) {
            (Some(reply), None, false) => {
                let (span, OneOrMany(items)) = (reply.span(), reply.into_inner());
                if items.is_empty() {
                    self.wrong(
                        span,
                        "`reply` has nothing in it; write `empty = true` if that is meant",
                    );
                    return None;
                }
                let items =
                    items.into_iter().filter_map(|item| self.item(&span, item, pause)).collect();
                self.stream(items, rule.usage, rule.finish)
            }
            (None, None, true) => self.stream(Vec::new(), rule.usage, rule.finish),
            (None, Some(error), false) => {
                let (span, error) = (error.span(), error.into_inner());
                self.refused(&span, error).map(Answer::Error)
            }
            (None, None, false) => {
                self.wrong(
                    span.clone(),
                    "the rule says nothing: give it `reply`, `error` or `empty = true`",
                );
                None
            }
            _ => {
                self.wrong(span.clone(), "a rule has one of `reply`, `error` and `empty`");
                None
            }
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "the other answers can fail")]
    fn stream(
        &mut self,
        items: Vec<Item>,
        usage: Option<super::Usage>,
        finish: Option<Spanned<String>>,
    ) -> Option<Answer> {
        let finish = finish.map(|finish| {
            let word = finish.get_ref();
            if word != "none"
                && (word.is_empty() || word.chars().any(|c| !c.is_ascii_uppercase() && c != '_'))
            {
                self.wrong(
                    finish.span(),
                    "`finish` is a word of the API such as `STOP` or `MAX_TOKENS`, or `none`",
                );
            }
            finish.into_inner()
        });
        let finish = finish.unwrap_or_else(|| "STOP".to_owned());
        let finish = Some(finish).filter(|finish| finish != "none");
        Some(Answer::Stream(Stream { items, usage: usage.unwrap_or_default(), finish }))
    }

    fn item(
        &mut self,
        reply: &Range<usize>,
        item: Spanned<wire::Item>,
        pause: Duration,
    ) -> Option<Item> {
        let span = if item.span().is_empty() { reply.clone() } else { item.span() };
        let wire::Item(item) = item.into_inner();
        let kinds = [
            item.text.is_some(),
            item.thought.is_some(),
            item.call.is_some(),
            item.raw.is_some(),
            item.chunk.is_some(),
            item.cut.is_some(),
            item.stall.is_some(),
        ];
        let kinds = kinds.into_iter().filter(|kind| *kind).count();
        let between = item.pause.map(|pause| pause.0);
        if kinds > 1 || (kinds == 0 && between.is_none()) {
            let what = "`text`, `thought`, `call`, `pause`, `raw`, `chunk`, `cut` or `stall`";
            self.wrong(span, format!("a piece of a reply is one of {what}"));
            return None;
        }
        self.belongings(&span, &item);
        if let Some(name) = item.call {
            let args = item.args.map(|args| (args.span(), args.into_inner()));
            let (at, table) = args.unwrap_or_else(|| (span.clone(), toml::Table::new()));
            let Ok(Value::Object(args)) = serde_json::to_value(table) else {
                self.wrong(at, "`args` holds a value that JSON does not have");
                return None;
            };
            self.words(&at, &Value::Object(args.clone()).to_string());
            return Some(Item::Call {
                name: name.into_inner(),
                args,
                id: item.id,
                exact: item.exact,
            });
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
        let thought = item.thought.is_some();
        let Some(text) = item.text.or(item.thought) else { return between.map(Item::Pause) };
        let at = if text.span().start == 0 { span } else { text.span() };
        let texts = text.into_inner().0;
        for text in &texts {
            self.words(&at, text);
        }
        let split = item.split.map(Spanned::into_inner);
        let repeat = item.repeat.map_or(1, Spanned::into_inner);
        Some(Item::Text { texts, split, thought, repeat, pause: between.unwrap_or(pause) })
    }

    /// Keys that belong to another kind of piece.
    fn belongings(&mut self, span: &Range<usize>, item: &wire::Piece) {
        let says = item.text.is_some() || item.thought.is_some();
        if !says && let Some(split) = &item.split {
            self.wrong(split.span(), "`split` belongs to `text` and `thought`");
        }
        if !says && let Some(repeat) = &item.repeat {
            self.wrong(repeat.span(), "`repeat` belongs to `text` and `thought`");
        }
        if item.call.is_none()
            && let Some(args) = &item.args
        {
            self.wrong(args.span(), "`args` belongs to `call`");
        }
        if item.call.is_none() && (item.id.is_some() || item.exact) {
            self.wrong(span.clone(), "`id` and `exact` belong to `call`");
        }
    }

    fn chunk(&mut self, chunk: &Spanned<String>) -> Option<Item> {
        match serde_json::from_str(chunk.get_ref()) {
            Ok(value) => Some(Item::Chunk(value)),
            Err(error) => {
                self.wrong(chunk.span(), format!("`chunk` is not JSON: {error}"));
                None
            }
        }
    }

    /// Words in double braces that nothing will ever fill.
    fn words(&mut self, span: &Range<usize>, text: &str) {
        for word in words_of(text) {
            if !HOUSE_WORDS.contains(&word) && !self.captured.contains(word) {
                let message =
                    format!("no rule captures `{word}`: name a group `(?<{word}>…)` in a pattern");
                self.wrong(span.clone(), message);
            }
        }
    }

    fn refused(&mut self, span: &Range<usize>, error: wire::Error) -> Option<Refused> {
        let status = *error.status.get_ref();
        if !(400..=599).contains(&status) {
            self.wrong(error.status.span(), "`status` of an error is between 400 and 599");
            return None;
        }
        if error.message.is_none() && error.body.is_none() {
            self.wrong(span.clone(), "an error has a `message` or a whole `body`");
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
                    format!("`{name}` and its value do not make an HTTP header"),
                );
            }
            headers.push((name, value.into_inner()));
        }
        Some(Refused { status, headers, body })
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
