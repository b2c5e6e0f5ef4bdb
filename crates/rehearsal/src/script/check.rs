//! Makes rules of what was written, and finds what the syntax cannot. The answers of rules are checked in `answer`.

mod answer;

use super::wire::{self, Count};
use super::{Answer, Pattern, Rule, Script, When, Wrong, Wrongs};
use crate::ask::Asks;
use crate::cue::{HOUSE_WORDS, words_of};
use regex::Regex;
use std::collections::BTreeSet;
use std::ops::Range;
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
        check.wrong(0..0, "the script has no rules: add at least one `[[rule]]` or a `[default]`");
    }
    let trial = read.trial.map(|trial| {
        if trial.get_ref().prompt.is_empty() {
            check.wrong(trial.span(), "`[trial]` needs a `prompt`");
        }
        trial.into_inner()
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
            self.wrong(time.span(), "`time` must be at least 1");
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
        self.wrong(asks.span(), format!("`asks` must be one of {}", names.join(", ")));
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
                self.wrong(
                    regex.span(),
                    format!("`{key}` and `{key}-regex` cannot be used together"),
                );
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
                        format!("`{key}-regex` is not a valid regular expression: {why}"),
                    );
                    None
                }
            },
            (None, None) => None,
        }
    }

    fn default(&mut self, default: Spanned<wire::Rule>) -> Option<Answer> {
        let (span, rule) = (default.span(), default.into_inner());
        if let Some(condition) = rule.conditions().next() {
            let message =
                "`[default]` cannot have conditions: it answers every request that no rule matches";
            self.wrong(condition, message);
        }
        self.answer(&span, rule)
    }

    /// Words in double braces that nothing will ever fill.
    fn words(&mut self, span: &Range<usize>, text: &str) {
        for word in words_of(text) {
            if !HOUSE_WORDS.contains(&word) && !self.captured.contains(word) {
                let message = format!(
                    "unknown placeholder `{word}`: add a group named `(?<{word}>…)` to a pattern of this script"
                );
                self.wrong(span.clone(), message);
            }
        }
    }
}
