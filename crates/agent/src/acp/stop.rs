//! Why a turn ended: out of the answer to its prompt, or out of who stopped it. Pure.

use super::dialect::Dialect;
use super::translate::Told;
use super::wire::{Json, object, text};
use crate::loose::loose_object;
use crate::model::{Failure, Phase, StopReason};
use serde_json::value::RawValue;

loose_object! {
    /// The answer to `session/prompt`.
    Answer {
        "stopReason" => reason: Json<'a>,
    }
}

/// How a turn ended, as far as it was seen.
pub(super) enum End<'e> {
    /// It was us who stopped it; with what the agent answered, if it did.
    Stopped(StopReason, Option<&'e RawValue>),
    /// The agent answered.
    Answered(&'e RawValue),
    /// The agent answered with an error, or could not any more.
    Failed(&'e Failure),
    /// The agent is gone.
    Gone,
}

/// Why a turn ended, what went wrong, and what is worth a word.
pub(super) fn why(
    end: &End<'_>,
    told: Told,
    dialect: &dyn Dialect,
) -> (StopReason, Option<Failure>, Option<String>) {
    let error = |failure: Failure| (StopReason::Error, Some(failure), None);
    let answer = match end {
        // A turn that came to its end before the agent heard of the cancel was not stopped.
        End::Stopped(_, Some(answer)) if ended_by_itself(answer) => *answer,
        End::Stopped(reason, _) => return (*reason, Some(stopped(*reason)), None),
        End::Answered(answer) => *answer,
        End::Failed(failure) => return error((*failure).clone()),
        End::Gone => {
            return error(Failure::new(Phase::Response, "agent_ended", "the agent has exited"));
        }
    };
    if let Some(failure) = dialect.emptiness(answer, told.chunks + told.calls > 0) {
        return error(failure);
    }
    let read: Answer<'_> = object(Some(answer));
    match text(read.reason).as_deref() {
        Some("end_turn") => (StopReason::EndTurn, None, None),
        Some("cancelled") => (StopReason::Cancelled, Some(stopped(StopReason::Cancelled)), None),
        Some("max_turn_requests") => {
            let message = "the agent reached its own limit of model requests or detected a loop";
            let failure = Failure::new(Phase::Budget, "max_turns", message)
                .hint("send another prompt, or raise the agent's own limit");
            (StopReason::MaxTurns, Some(failure), None)
        }
        Some("max_tokens") => {
            let notice =
                "the agent reached a token limit: of one answer, or of the model's context";
            (StopReason::EndTurn, None, Some(notice.to_owned()))
        }
        Some("refusal") => {
            let failure = Failure::new(Phase::Response, "refused", "the model refused to answer");
            error(failure.hint("rephrase the prompt, or use another model"))
        }
        reason => {
            let reason = reason.unwrap_or("none");
            let notice = format!("the turn ended with an unknown stop reason: {reason}");
            (StopReason::EndTurn, None, Some(notice))
        }
    }
}

fn ended_by_itself(answer: &RawValue) -> bool {
    let read: Answer<'_> = object(Some(answer));
    text(read.reason).as_deref() == Some("end_turn")
}

fn stopped(reason: StopReason) -> Failure {
    match reason {
        StopReason::Timeout => {
            Failure::new(Phase::Budget, "timeout", "the turn exceeded its time limit")
                .hint("raise the limit with `--timeout`")
                .retryable()
        }
        StopReason::MaxTurns => {
            Failure::new(Phase::Budget, "max_turns", "the turn reached its limit of model requests")
                .hint("raise the limit with `--max-turns`, or continue with `--resume`")
        }
        _ => Failure::new(Phase::Cancelled, "cancelled", "the turn was cancelled"),
    }
}
