//! Scripts: rules in order, each with what it matches and what it answers.
//!
//! `docs/rehearsal.md` is the reference for people who write them. `wire` reads the TOML, `check` makes rules of it and
//! finds what the syntax cannot: a bad pattern, an answer with nothing in it, a word that no rule captures.

mod check;
mod trial;
mod wire;
mod wrong;

pub use trial::Trial;
pub use wrong::{Wrong, Wrongs};

use crate::ask::Asks;
use regex::Regex;
use serde_json::{Map, Value};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

/// What a rehearsal answers, read from TOML.
#[derive(Debug, Clone, Default)]
pub struct Script {
    pub(crate) about: Option<String>,
    pub(crate) trial: Option<Trial>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) default: Option<Answer>,
}

impl Script {
    /// One line on what the script shows.
    pub fn about(&self) -> Option<&str> {
        self.about.as_deref()
    }

    /// How to try the script out, where it says so.
    pub fn trial(&self) -> Option<&Trial> {
        self.trial.as_ref()
    }

    /// How many rules it has, the default apart.
    pub fn rules(&self) -> usize {
        self.rules.len()
    }
}

impl FromStr for Script {
    type Err = Wrongs;

    fn from_str(text: &str) -> Result<Self, Wrongs> {
        let read = toml::from_str(text).map_err(|error| Wrongs::syntax(text, &error))?;
        check::script(text, read)
    }
}

/// One rule: when it holds, it answers.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) when: When,
    pub(crate) answer: Answer,
}

/// What a rule matches on. What is not given matches everything.
#[derive(Debug, Clone)]
pub(crate) struct When {
    pub(crate) asks: Asks,
    pub(crate) prompt: Option<Pattern>,
    pub(crate) tool: Option<String>,
    pub(crate) result: Option<Pattern>,
    pub(crate) model: Option<Pattern>,
    /// How many times the model has called tools since the prompt.
    pub(crate) step: RangeInclusive<u64>,
    /// The how-manieth time that all of the above holds, from 1.
    pub(crate) time: RangeInclusive<u64>,
}

/// A part of a text, or a regular expression whose named groups are captured.
#[derive(Debug, Clone)]
pub(crate) enum Pattern {
    Part(String),
    Regex(Regex),
}

/// What a rule answers.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Stream(Stream),
    Error(Refused),
}

/// An answer that streams.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    pub(crate) items: Vec<Item>,
    pub(crate) usage: Usage,
    /// The finish reason of the last chunk; none: the stream ends without one.
    pub(crate) finish: Option<String>,
}

/// One piece of an answer that streams.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    Text {
        texts: Vec<String>,
        split: Option<Split>,
        thought: bool,
        repeat: u64,
        pause: Duration,
    },
    Call {
        name: String,
        args: Map<String, Value>,
        id: Option<String>,
        exact: bool,
    },
    Pause(Duration),
    /// Bytes that are sent as they are, whatever the protocol says.
    Raw(String),
    /// A whole chunk of the API, as JSON.
    Chunk(Value),
    Cut(Cut),
    /// Nothing more for this long; none: until the client goes away.
    Stall(Option<Duration>),
}

/// Where a text is cut into chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Split {
    Words,
    Lines,
    /// After so many characters.
    Every(usize),
}

/// How a stream is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Cut {
    /// Half an event, then the end of the body.
    Half,
    /// The connection breaks.
    Lost,
}

/// Token numbers that the API reports.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Usage {
    pub(crate) prompt: u64,
    pub(crate) answer: u64,
    pub(crate) thoughts: u64,
    pub(crate) cached: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self { prompt: 1000, answer: 20, thoughts: 0, cached: 0 }
    }
}

/// An HTTP error.
#[derive(Debug, Clone)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}
