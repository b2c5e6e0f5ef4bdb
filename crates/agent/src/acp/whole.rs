//! A turn as messages, made of the protocol alone. Pure.

use crate::model::{
    Agent, Block, Content, EventKind, Input, Message, Part, ResultContent, Role, Status, Text,
};
use std::borrow::Cow;

/// The messages of one turn.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    prompt: Option<Text<'static>>,
    answers: Vec<Answer>,
    /// True where tools have ended, so that what comes next is another answer.
    ended: bool,
}

#[derive(Debug, Default)]
struct Answer {
    thinking: String,
    text: String,
    calls: Vec<Block<'static>>,
}

impl Assembly {
    pub(super) fn add(&mut self, kind: &EventKind<'static>) {
        match kind {
            EventKind::TurnStarted { prompt } => self.prompt = Some(prompt.clone()),
            EventKind::TextGrew { part, text, .. } => {
                let answer = self.current();
                let grows = match part {
                    Part::Text => &mut answer.text,
                    Part::Thinking => &mut answer.thinking,
                };
                grows.push_str(&text.to_str());
            }
            EventKind::ToolStarted { id, name, input, .. } => {
                let call = Block::ToolUse {
                    id: id.clone(),
                    name: Cow::Owned(name.to_string()),
                    input: match input {
                        Input::Raw(raw) => Input::Raw(raw.clone()),
                        Input::Mapped(_) => Input::Mapped(Vec::new()),
                    },
                };
                self.current().calls.push(call);
            }
            EventKind::ToolEnded { id, status, output, error, changed: false, .. } => {
                let content = error.as_ref().or(output.as_ref()).cloned();
                let result = Block::ToolResult {
                    tool_use_id: id.clone(),
                    content: ResultContent::Text(content.unwrap_or_else(|| Text::from(""))),
                    is_error: *status == Status::Error,
                    status: *status,
                };
                self.current().calls.push(result);
                self.ended = true;
            }
            _ => {}
        }
    }

    fn current(&mut self) -> &mut Answer {
        let is_next = self.ended && self.answers.last().is_some_and(|answer| !answer.is_open());
        if is_next || self.answers.is_empty() {
            self.answers.push(Answer::default());
            self.ended = false;
        }
        let last = self.answers.len() - 1;
        &mut self.answers[last]
    }

    pub(super) fn messages(&self) -> Vec<Message<'static>> {
        let prompt = self.prompt.clone().map(|text| vec![Block::Text { text }]);
        let prompt = prompt.map(|blocks| message(0, Role::User, blocks));
        let answers = self.answers.iter().enumerate();
        let answers = answers.map(|(at, answer)| message(at + 1, Role::Assistant, answer.blocks()));
        prompt.into_iter().chain(answers).collect()
    }
}

impl Answer {
    /// True where a call has begun that has not ended.
    fn is_open(&self) -> bool {
        let begun = self.calls.iter().filter(|call| matches!(call, Block::ToolUse { .. })).count();
        begun * 2 > self.calls.len()
    }

    fn blocks(&self) -> Vec<Block<'static>> {
        let mut blocks = Vec::new();
        if !self.thinking.is_empty() {
            blocks.push(Block::Thinking { thinking: Text::from(self.thinking.clone()) });
        }
        if !self.text.is_empty() {
            blocks.push(Block::Text { text: Text::from(self.text.clone()) });
        }
        blocks.extend(self.calls.iter().cloned());
        blocks
    }
}

/// A message that no upstream object stands behind.
fn message(number: usize, role: Role, blocks: Vec<Block<'static>>) -> Message<'static> {
    Message {
        id: Text::from(format!("acp#{number}")),
        role,
        content: Content::Blocks(blocks),
        timestamp: None,
        tool: Agent::Other,
        model: None,
        usage: None,
        meta: false,
        level: None,
        restored: Vec::new(),
        copied: false,
        recovered: false,
        original: Cow::Borrowed("null"),
    }
}
