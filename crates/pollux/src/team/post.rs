//! Letters: what agents and people send each other. Whose is next, and what became of one that was handed over. Pure.

use jiff::Timestamp;
use pollux_agent::model::SessionStatus;
use serde::{Deserialize, Serialize};
use ts_rs::TS;
use utoipa::ToSchema;

/// The state of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[serde(rename_all = "snake_case")]
#[ts(rename = "LetterState")]
pub enum State {
    /// The message waits until its receiver is idle.
    Waiting,
    /// The message was sent, and its receiver has not reacted yet.
    Claimed,
    /// The receiver has the message.
    Delivered,
    /// The message cannot be delivered.
    Dead,
}

/// A message between agents and people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Letter {
    /// Increases with each message.
    pub id: i64,
    /// Session ID of the sender; absent for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Session ID of the receiver; absent for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Text of the message.
    pub text: String,
    /// ID of the job that the message is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// True if Pollux wrote it, to report the result of a job or a message.
    #[serde(default)]
    pub notice: bool,
    /// State of the message.
    pub state: State,
    /// Why the message cannot be delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Number of delivery attempts.
    pub attempt: u32,
    /// When the message was written.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub created_at: Timestamp,
    /// When the message was delivered or became undeliverable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<String>")]
    #[schema(value_type = Option<String>)]
    pub ended_at: Option<Timestamp>,
}

impl Letter {
    /// The ID of the command by which it is handed over.
    pub fn command(&self) -> String {
        format!("letter-{}-{}", self.id, self.attempt)
    }
}

/// What is to be known of a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receiver {
    /// What it does.
    pub status: SessionStatus,
    /// True where it has prompts that wait, or one on its way.
    pub occupied: bool,
    /// True where it has ended for good, and not only because the daemon did.
    pub gone: bool,
}

/// What is to be done for a receiver whose letters wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Hand over the first.
    Deliver,
    /// Nothing yet.
    Wait,
    /// It must be started again first.
    Wake,
    /// None of them will ever be delivered.
    Bury,
}

/// What is to be done for a receiver whose letters wait.
pub fn next(receiver: Receiver) -> Next {
    match receiver.status {
        _ if receiver.gone => Next::Bury,
        SessionStatus::Exited => Next::Wake,
        SessionStatus::Idle | SessionStatus::Error if !receiver.occupied => Next::Deliver,
        _ => Next::Wait,
    }
}

/// What became of a letter that was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Its receiver has not reacted yet.
    Open,
    /// Its receiver has begun to work on it.
    Delivered,
    /// It lies with a receiver that ended with the daemon, and that must be started again.
    Asleep,
    /// It lies with a receiver that is gone.
    Lost,
    /// It was never taken: it waits again.
    Returned,
}

/// What became of a letter that was handed over. `taken` says whether the session knows its command, `lies` whether it
/// still has it in its queue or on its way.
#[expect(clippy::fn_params_excessive_bools, reason = "each is true or not by itself")]
pub fn fate(receiver: Receiver, taken: bool, lies: bool) -> Fate {
    match (taken, lies) {
        (false, _) => Fate::Returned,
        (true, false) => Fate::Delivered,
        (true, true) if receiver.gone => Fate::Lost,
        // The daemon was started again. Only the receiver's own file says whether it had arrived.
        (true, true) if receiver.status == SessionStatus::Exited => Fate::Asleep,
        (true, true) => Fate::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::{Fate, Next, Receiver, State, fate, next};
    use pollux_agent::model::SessionStatus;
    use proptest::prelude::*;

    /// A receiver, as the daemon's log and its agent have it: the log survives, the rest does not.
    #[derive(Default)]
    #[expect(clippy::struct_excessive_bools, reason = "each is true or not by itself")]
    struct World {
        letters: Vec<(State, u32)>,
        /// The command that the session has taken, and not begun.
        lies: Option<(usize, u32)>,
        taken: Vec<(usize, u32)>,
        read: Vec<usize>,
        exited: bool,
        gone: bool,
        works: bool,
    }

    impl World {
        fn receiver(&self) -> Receiver {
            let status = if self.exited {
                SessionStatus::Exited
            } else if self.works {
                SessionStatus::Working
            } else {
                SessionStatus::Idle
            };
            Receiver { status, occupied: self.lies.is_some(), gone: self.gone }
        }

        /// What the daemon does when something has changed. It may be killed after any step.
        fn act(&mut self, steps: usize) {
            let mut left = steps;
            let mut may = || {
                left = left.saturating_sub(1);
                left > 0
            };
            for index in 0..self.letters.len() {
                let (state, attempt) = self.letters[index];
                if state != State::Claimed {
                    continue;
                }
                let taken = self.taken.contains(&(index, attempt));
                let lies = self.lies == Some((index, attempt));
                match fate(self.receiver(), taken, lies) {
                    Fate::Open => return,
                    Fate::Asleep => {
                        self.exited = false;
                        return;
                    }
                    Fate::Delivered => self.letters[index].0 = State::Delivered,
                    Fate::Lost => self.letters[index].0 = State::Dead,
                    Fate::Returned => self.letters[index].0 = State::Waiting,
                }
                if !may() {
                    return;
                }
            }
            let Some(first) = self.letters.iter().position(|(state, _)| *state == State::Waiting)
            else {
                return;
            };
            match next(self.receiver()) {
                Next::Wait => {}
                Next::Wake => self.exited = false,
                Next::Bury => self.letters.iter_mut().for_each(|letter| {
                    if letter.0 == State::Waiting {
                        letter.0 = State::Dead;
                    }
                }),
                Next::Deliver => {
                    self.letters[first] = (State::Claimed, self.letters[first].1 + 1);
                    if !may() {
                        return;
                    }
                    let command = (first, self.letters[first].1);
                    self.taken.push(command);
                    self.lies = Some(command);
                }
            }
        }
    }

    #[derive(Debug, Clone)]
    enum Happens {
        Write,
        Act(usize),
        Begin,
        End,
        Restart,
        Stop,
    }

    fn any_event() -> impl Strategy<Value = Happens> {
        prop_oneof![
            4 => Just(Happens::Write),
            6 => (1_usize..9).prop_map(Happens::Act),
            4 => Just(Happens::Begin),
            4 => Just(Happens::End),
            2 => Just(Happens::Restart),
            1 => Just(Happens::Stop),
        ]
    }

    proptest! {
        #[test]
        fn every_letter_is_read_once_and_in_order_or_is_dead(all in prop::collection::vec(any_event(), 1..120)) {
            let mut world = World::default();
            for happens in all {
                match happens {
                    Happens::Write => world.letters.push((State::Waiting, 0)),
                    Happens::Act(steps) => world.act(steps),
                    Happens::Begin if !world.exited && !world.gone => {
                        if let Some((index, _)) = world.lies.take() {
                            world.read.push(index);
                            world.works = true;
                        }
                    }
                    Happens::End => world.works = false,
                    Happens::Restart => (world.exited, world.works) = (true, false),
                    Happens::Stop => (world.gone, world.exited, world.works) = (true, true, false),
                    Happens::Begin => {}
                }
            }
            // Left alone, everything comes to its end.
            for _ in 0..3 * world.letters.len() + 3 {
                world.works = false;
                world.act(9);
                if !world.gone && !world.exited && let Some((index, _)) = world.lies.take() {
                    world.read.push(index);
                }
            }
            let mut sorted = world.read.clone();
            sorted.sort_unstable();
            sorted.dedup();
            prop_assert_eq!(&sorted, &world.read, "once, and in order");
            for (index, (state, _)) in world.letters.iter().enumerate() {
                let read = world.read.contains(&index);
                prop_assert_eq!(*state, if read { State::Delivered } else { State::Dead });
            }
        }
    }
}
