//! Prompts of which nobody knows whether the agent has them: sent once more or told, and never run twice or lost.

use super::{at, event, idle, is_idle, orders, prompt, request, said};
use pollux_agent::model::{EventKind, Level, Mode, SessionStatus};
use pollux_agent::session::{Command, Effect, Known, Limits, Order, Queued, Session};

/// A session whose Pollux was ended while it handed `text` to the agent; another prompt waits behind it.
fn in_doubt(text: &str) -> Session {
    let queued = |id: &str, text: &str, doubt| Queued {
        id: id.into(),
        text: text.into(),
        by: "owner".into(),
        images: Vec::new(),
        doubt,
    };
    let queue = vec![queued("a", text, true), queued("b", "two", false)];
    Session::new(Limits::default(), Mode::Default, at(0)).with(queue, Known::default())
}

#[test]
fn a_prompt_in_doubt_that_is_heard_of_is_not_sent_again_whenever_somebody_says_go_on() {
    for early in [true, false] {
        let mut session = in_doubt("one");
        let go_on = request("go", Command::Continue);
        if early {
            assert!(orders(&session.command(&go_on, at(1)).effects).is_empty(), "it starts");
        }
        session.event(&said("one, and more"), at(2));
        assert_eq!(session.state().queue.len(), 2, "that was somebody else");
        session.event(&said("one"), at(3));
        let mut effects = session.event(&is_idle(), at(4));
        if !early {
            effects = session.command(&go_on, at(5)).effects;
        }
        assert_eq!(orders(&effects), [Order::prompt("two")], "{early}");
    }
}

#[test]
fn a_prompt_in_doubt_that_nothing_is_heard_of_is_left_to_the_driver() {
    let again = Order::Prompt { text: "one".into(), images: Vec::new(), doubt: true };
    let given = || {
        let mut session = in_doubt("one");
        session.event(&is_idle(), at(1));
        let verdict = session.command(&request("go", Command::Continue), at(2));
        assert_eq!(orders(&verdict.effects), std::slice::from_ref(&again));
        assert!(session.event(&is_idle(), at(3)).is_empty(), "the driver has yet to answer");
        session
    };
    assert_eq!(orders(&given().had_arrived()), [Order::prompt("two")]);

    let mut unknown = given();
    let effects = unknown.is_not_known();
    assert!(matches!(effects.as_slice(), [Effect::Record(_)]), "somebody is told: {effects:?}");
    let state = unknown.state();
    assert_eq!((state.status, state.held), (SessionStatus::Idle, true));
    assert_eq!(state.queue.iter().map(|q| q.text.as_str()).collect::<Vec<_>>(), ["two"]);

    let mut failed = given();
    failed.failed(&again, "somebody is typing", at(4));
    let verdict = failed.command(&request("again", Command::Continue), at(5));
    assert_eq!(orders(&verdict.effects), std::slice::from_ref(&again), "the doubt stays");

    let mut taken = given();
    taken.event(&said("one"), at(4));
    assert!(taken.had_arrived().is_empty(), "it works on it");
    assert_eq!(taken.state().status, SessionStatus::Working);
}

#[test]
fn a_prompt_whose_agent_went_before_it_began_waits_and_that_is_told_once() {
    let mut session = idle();
    session.command(&prompt("a", "one"), at(0));
    session.command(&prompt("b", "two"), at(0));
    let gone = event(EventKind::SessionEnded { reason: "it crashed".into() });
    let effects = session.event(&gone, at(1));
    let [Effect::Record(told)] = effects.as_slice() else { panic!("{effects:?}") };
    let EventKind::Notice { level: Level::Warning, text } = &told.kind else { panic!("{told:?}") };
    assert!(text.contains("2 prompts") && text.contains("\"one\""), "{text}");
    assert!(session.event(&gone, at(2)).is_empty(), "it was told");
    let state = session.state();
    let waits: Vec<_> = state.queue.iter().map(|q| (q.text.as_str(), q.doubt)).collect();
    assert_eq!(waits, [("one", true), ("two", false)], "the first may have arrived");
    assert!(state.held && state.sending.is_none());
    // Gone on with: it runs once, when somebody says so.
    let queue = state.queue.to_vec();
    let mut session =
        Session::new(Limits::default(), Mode::Default, at(3)).with(queue, Known::default());
    session.ready();
    assert!(session.go_on().is_empty());
    let sent = session.command(&request("go", Command::Continue), at(4)).effects;
    let first = Order::Prompt { text: "one".into(), images: Vec::new(), doubt: true };
    assert_eq!(orders(&sent), [first]);

    let mut session = idle();
    session.command(&prompt("a", "one"), at(0));
    session.event(&said("one"), at(1));
    assert!(session.event(&gone, at(2)).is_empty(), "that it had begun with is told by its turn");
    assert!(session.state().queue.is_empty());
}
