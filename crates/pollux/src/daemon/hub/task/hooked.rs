//! What hooks were told, and what happened while the daemon was away.

use super::{Task, Turn};
use pollux_agent::model::{
    Answer, Event, EventKind, SessionChange, SessionStatus, Source, StopReason, Text,
};

impl Task {
    /// A hook of the agent was told something. An agent that is driven has a driver that knows better; one that Pollux
    /// only reads is seen to live by it.
    pub(super) async fn hook(&mut self, line: String) {
        if self.orders.is_some() {
            return self.pass_on(line);
        }
        if self.wanted.is_some() {
            return;
        }
        let mut events = Vec::new();
        for event in self.hooks.payload(&line) {
            events.extend(self.closes(&event));
            let starts = matches!(event.kind, EventKind::SessionStarted { .. });
            events.push(event);
            if starts {
                events.push(idle());
            }
        }
        self.record(events).await;
        self.look().await;
    }

    /// Its driver has a use for what a hook was told, or has none.
    pub(super) fn pass_on(&mut self, line: String) {
        if let Some(heard) = self.orders.as_ref().and_then(|orders| orders.hook(line)) {
            // It may be busy with an order: nobody waits for that here.
            while self.passed_on.try_join_next().is_some() {}
            self.passed_on.spawn(heard);
        }
    }

    /// Hooks tell nothing of answers: an agent that goes on has got one.
    fn closes(&self, event: &Event<'_>) -> Vec<Event<'static>> {
        if !matches!(event.kind, EventKind::ToolStarted { .. } | EventKind::ToolEnded { .. }) {
            return Vec::new();
        }
        let open = self.session.state().open.iter();
        open.map(|open| {
            let question_id = Text::from(open.question.id.to_string());
            let kind = EventKind::Answered { question_id, answer: Answer::Elsewhere };
            Event::new(Source::Hook, kind).derived("the agent continued")
        })
        .collect()
    }

    /// The first that is heard of an agent that was in a turn when the daemon before this one ended: the turn goes on, or
    /// it has ended meanwhile.
    pub(super) fn back(&mut self, events: Vec<Event<'static>>) -> Vec<Event<'static>> {
        let mut out = Vec::new();
        for event in events {
            let earlier = self.turn == Turn::Earlier;
            match &event.kind {
                EventKind::SessionChanged(SessionChange { status: Some(status), .. })
                    if earlier && matches!(status, SessionStatus::Idle | SessionStatus::Error) =>
                {
                    self.turn = Turn::None;
                    out.push(ended());
                }
                // It was told of before.
                EventKind::TurnStarted { .. } if earlier => {
                    self.turn = Turn::Going;
                    continue;
                }
                EventKind::TurnEnded { .. } if earlier => self.turn = Turn::Going,
                _ => {}
            }
            out.push(event);
        }
        out
    }
}

fn idle() -> Event<'static> {
    let change = SessionChange { status: Some(SessionStatus::Idle), ..SessionChange::default() };
    Event::new(Source::Hook, EventKind::SessionChanged(change))
        .derived("the session has just started")
}

fn ended() -> Event<'static> {
    let kind = EventKind::TurnEnded {
        stop_reason: StopReason::EndTurn,
        duration_ms: None,
        tool_calls: None,
        error: None,
    };
    Event::new(Source::Pollux, kind).derived("the turn ended while Pollux was not running")
}
