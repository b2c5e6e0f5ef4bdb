//! A mode or a model that an agent was told to have: what it says to that.

use crate::api::{Numbered, Summary};
use crate::client::{Client, follow_text};
use crate::render::clean;
use crate::report;
use crate::trouble::Trouble;
use pollux_agent::model::{Event, EventKind, Level, Mode, SessionChange, Source};
use pollux_agent::session::Command;
use serde::Deserialize;
use std::time::Duration;

/// So long is waited for what the agent says. One that works may not hear it before its turn is over.
const SAYS: Duration = Duration::from_secs(10);

/// What an agent shall have that it has not.
#[derive(Debug)]
pub(super) enum Change {
    Mode(Mode),
    Model(String),
}

/// A frame, as far as it is of use here.
#[derive(Deserialize)]
struct Frame {
    #[serde(default)]
    events: Vec<Numbered>,
}

impl Change {
    /// None where a command changes nothing, or what is so already.
    pub(super) fn of(command: &Command, summary: &Summary) -> Option<Self> {
        match command {
            Command::Mode { mode, .. } if *mode != summary.mode => Some(Self::Mode(*mode)),
            Command::Model { model } if summary.model.as_ref() != Some(model) => {
                Some(Self::Model(model.clone()))
            }
            _ => None,
        }
    }

    /// Waits until the agent has taken it, and refuses in its words where it does not. One that says nothing for long is
    /// not waited for.
    pub(super) async fn is_made(&self, client: &Client, before: &Summary) -> anyhow::Result<()> {
        let mut said = None;
        let heard = follow_text(client, &before.id, Some((before.seq, before.epoch)), |frame| {
            let frame = serde_json::from_str::<Frame>(frame);
            let events = frame.iter().flat_map(|frame| &frame.events);
            let mut events = events.filter_map(|one| Event::from_json(one.event.get()).ok());
            said = events.find_map(|event| self.said(event));
            Ok(said.is_none())
        });
        match tokio::time::timeout(SAYS, heard).await {
            Ok(heard) => heard?,
            Err(_late) => {
                report::note("the agent has not confirmed the change yet");
                return Ok(());
            }
        }
        match said {
            // Nothing more came, and it was not said.
            None => Err(client.gone().into()),
            Some(Ok(())) => Ok(()),
            Some(Err(why)) => {
                let hint = format!("`pollux show {}` shows the current mode and model", before.id);
                Err(Trouble::refused("not_taken", clean(&why)).hint(hint).into())
            }
        }
    }

    /// What an event says of it, if anything.
    fn said(&self, event: Event<'_>) -> Option<Result<(), String>> {
        match event.kind {
            EventKind::SessionChanged(change) => self.is_in(&change).then_some(Ok(())),
            EventKind::SessionEnded { reason } => Some(Err(reason)),
            EventKind::Notice { level: Level::Error, text } if event.source == Source::Pollux => {
                text.starts_with(self.name()).then_some(Err(text))
            }
            _ => None,
        }
    }

    fn is_in(&self, change: &SessionChange<'_>) -> bool {
        match self {
            Self::Mode(mode) => change.mode == Some(*mode),
            Self::Model(model) => change.model.as_ref().is_some_and(|now| *now == **model),
        }
    }

    /// How what failed with it begins.
    fn name(&self) -> &'static str {
        match self {
            Self::Mode(_) => "the mode ",
            Self::Model(_) => "the model ",
        }
    }
}
