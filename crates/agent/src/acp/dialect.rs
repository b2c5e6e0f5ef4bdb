//! What an agent does differently from the protocol, and what it leaves beside it.

use super::call::Call;
use super::config::Step;
use super::whole::Assembly;
use crate::model::{Event, Failure, Message, Mode, QuestionKind, Scope, Usage};
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt;
use std::path::PathBuf;

/// What an agent does differently from the protocol. Every method has the protocol's own answer as its default.
pub trait Dialect: fmt::Debug + Send + Sync + 'static {
    /// The agent's own name of the tool, where it can be known. The protocol has none.
    fn tool(&self, _call: &Call<'_>) -> Option<String> {
        None
    }

    /// The title of a call without what the agent wraps around it.
    fn title(&self, _call: &Call<'_>) -> Option<String> {
        None
    }

    /// The arguments of a call, where they can be known. The protocol has a place for them, which an agent may leave empty.
    fn input(&self, call: &Call<'_>) -> Option<Value> {
        call.input.and_then(|raw| serde_json::from_str(raw.get()).ok())
    }

    /// What a chunk of the agent's words is.
    fn said(&self, _text: &str) -> Said {
        Said::Words
    }

    /// What a question about a call is about, where the agent's own name of the tool says more than the protocol does.
    fn asks(&self, _call: &Call<'_>) -> Option<QuestionKind> {
        None
    }

    /// The tokens that the answer to a prompt tells of.
    fn usage(&self, _answer: &RawValue) -> Vec<Counted> {
        Vec::new()
    }

    /// The same failure in better words: what the agent's codes mean, and what to do.
    fn failure(&self, _step: Step, failure: Failure) -> Failure {
        failure
    }

    /// Why an answer to a prompt is a failure although it is no error: `answered` is false where nothing was said or done.
    fn emptiness(&self, _answer: &RawValue, _answered: bool) -> Option<Failure> {
        None
    }

    /// True where the agent needs an empty text instead of an error to write a file that is not there yet.
    fn missing_file_is_empty(&self) -> bool {
        false
    }

    /// True where the history that a load repeats is to be had from somewhere better.
    fn has_own_history(&self) -> bool {
        false
    }

    /// What is known of a session from elsewhere.
    fn beside(&self, _session_id: &str) -> Box<dyn Beside> {
        Box::new(Alone::default())
    }
}

/// What a chunk of the agent's words is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Words.
    Words,
    /// The news that the mode is another one now.
    Mode(Mode),
}

/// Tokens that were counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    /// Over what.
    pub scope: Scope,
    /// How many.
    pub usage: Usage,
    /// For which model.
    pub model: Option<String>,
}

/// How a turn came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// The agent had nothing more to say.
    Succeeded,
    /// With an error of the agent's own.
    Failed,
    /// Somebody stopped it.
    Stopped,
}

/// What is known of a session from elsewhere, such as a file that the agent writes.
pub trait Beside: fmt::Debug + Send {
    /// A turn begins. What came too late for the last one is given before.
    fn begin(&mut self, out: &mut Vec<Event<'static>>);
    /// Takes an event of the agent, and gives all that can be told now.
    fn event(&mut self, event: Event<'static>, out: &mut Vec<Event<'static>>);
    /// Looks whether there is news.
    fn look(&mut self, out: &mut Vec<Event<'static>>);
    /// True where nothing more is to be expected of this turn.
    fn is_settled(&self) -> bool;
    /// The turn is over.
    fn end(&mut self, done: Done, out: &mut Vec<Event<'static>>);
    /// The messages of this turn.
    fn messages(&self) -> Vec<Message<'static>>;
    /// Where it is from.
    fn file(&self) -> Option<PathBuf> {
        None
    }
}

/// The protocol itself, for agents of which nothing else is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

impl Dialect for Plain {}

/// Nothing beside the protocol.
#[derive(Debug, Default)]
struct Alone {
    assembly: Assembly,
}

impl Beside for Alone {
    fn begin(&mut self, _: &mut Vec<Event<'static>>) {
        self.assembly = Assembly::default();
    }

    fn event(&mut self, event: Event<'static>, out: &mut Vec<Event<'static>>) {
        self.assembly.add(&event.kind);
        out.push(event);
    }

    fn look(&mut self, _: &mut Vec<Event<'static>>) {}

    fn is_settled(&self) -> bool {
        true
    }

    fn end(&mut self, _: Done, _: &mut Vec<Event<'static>>) {}

    fn messages(&self) -> Vec<Message<'static>> {
        self.assembly.messages()
    }
}
