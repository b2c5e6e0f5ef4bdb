//! Generated histories: whatever comes in whichever order, the promises hold.

use super::{answer, at, ended, idle, is_idle, orders, prompt, question, request};
use pollux_agent::model::StopReason;
use pollux_agent::session::{Command, Effect, Order};
use proptest::prelude::*;
use std::collections::HashSet;

#[derive(Debug, Clone)]
enum Step {
    Prompt(u8),
    Ask,
    Answer(u8, bool),
    End(bool),
    Interrupt(u8),
    Continue(u8),
    Cancel(u8, u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..40u8).prop_map(Step::Prompt),
        2 => Just(Step::Ask),
        2 => (0..40u8, any::<bool>()).prop_map(|(id, yes)| Step::Answer(id, yes)),
        4 => any::<bool>().prop_map(Step::End),
        1 => (0..40u8).prop_map(Step::Interrupt),
        1 => (0..40u8).prop_map(Step::Continue),
        1 => (0..40u8, 0..40u8).prop_map(|(id, queued)| Step::Cancel(id, queued)),
    ]
}

proptest! {
    #[test]
    fn no_prompt_is_run_twice_and_none_while_another_runs(steps in prop::collection::vec(step(), 1..80)) {
        let mut session = idle();
        let mut sent = HashSet::new();
        let mut running = false;
        let mut asked = false;
        for (time, step) in steps.into_iter().enumerate() {
            let now = at(i64::try_from(time).unwrap());
            let effects: Vec<Effect> = match step {
                Step::Prompt(id) => session.command(&prompt(&format!("p{id}"), &format!("p{id}")), now).effects,
                Step::Ask if running => { asked = true; session.event(&question("q", "?"), now) }
                Step::Ask => Vec::new(),
                Step::Answer(id, yes) => {
                    let effects = session.command(&answer(&format!("a{id}"), if yes { "yes" } else { "no" }, None), now).effects;
                    let answers = orders(&effects).iter().filter(|order| matches!(order, Order::Answer { .. })).count();
                    prop_assert!(answers == 0 || asked, "nothing was asked");
                    asked &= answers == 0;
                    effects
                }
                Step::End(well) if running => {
                    running = false;
                    asked = false;
                    let reason = if well { StopReason::EndTurn } else { StopReason::Cancelled };
                    let mut effects = session.event(&ended(reason), now);
                    // As every driver says behind the end of a turn.
                    effects.extend(session.event(&is_idle(), now));
                    effects
                }
                Step::End(_) => Vec::new(),
                Step::Interrupt(id) => session.command(&request(&format!("i{id}"), Command::Interrupt), now).effects,
                Step::Continue(id) => session.command(&request(&format!("c{id}"), Command::Continue), now).effects,
                Step::Cancel(id, queued) => {
                    let cancel = Command::Cancel { queued: format!("p{queued}") };
                    session.command(&request(&format!("x{id}"), cancel), now).effects
                }
            };
            for order in orders(&effects) {
                if let Order::Prompt { text, .. } = order {
                    prop_assert!(!running, "two at once");
                    running = true;
                    prop_assert!(sent.insert(text), "the same one twice");
                }
            }
        }
    }
}
