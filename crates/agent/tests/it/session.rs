//! The rules of a live session, on values: no task, no clock, no agent.

mod doubt;
mod histories;
mod screen;

use jiff::{SignedDuration, Timestamp};
use pollux_agent::model::{
    Answer, Choice, Effect as Does, Event, EventKind, Level, Mode, Question, QuestionKind,
    SessionChange, SessionStatus, Source, StopReason,
};
use pollux_agent::session::{
    By, Command, Done, Effect, Known, Limits, Order, Outcome, Queued, Reply, Request, Session,
};

fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_800_000_000 + seconds)
}

fn idle() -> Session {
    let mut session = Session::new(Limits::default(), Mode::Default, at(0));
    session.ready();
    session
}

fn request(id: &str, command: Command) -> Request {
    Request { id: id.into(), by: By::owner(), command }
}

fn prompt(id: &str, text: &str) -> Request {
    request(id, Command::prompt(text))
}

fn event(kind: EventKind<'static>) -> Event<'static> {
    Event::new(Source::Acp, kind)
}

fn ended(stop_reason: StopReason) -> Event<'static> {
    event(EventKind::TurnEnded { stop_reason, duration_ms: None, tool_calls: None, error: None })
}

fn said(text: &str) -> Event<'static> {
    event(EventKind::TurnStarted { prompt: text.to_owned().into() })
}

fn is_idle() -> Event<'static> {
    let status = Some(SessionStatus::Idle);
    let kind = EventKind::SessionChanged(SessionChange { status, ..SessionChange::default() });
    Event::new(Source::Screen, kind)
}

fn question(id: &'static str, text: &'static str) -> Event<'static> {
    let choice = |id: &'static str, effect| Choice { id: id.into(), label: id.into(), effect };
    event(EventKind::Asked(Box::new(Question {
        id: id.into(),
        kind: QuestionKind::Command,
        tool_id: None,
        tool: None,
        text: text.into(),
        meaning: None,
        input: None,
        request: None,
        options: vec![choice("yes", Does::AllowOnce), choice("no", Does::RejectOnce)],
    })))
}

fn answer(id: &str, choice: &str, shown: Option<&str>) -> Request {
    let command = Command::Answer {
        question_id: "q".into(),
        choice: choice.into(),
        reason: None,
        shown: shown.map(str::to_owned),
    };
    request(id, command)
}

fn orders(effects: &[Effect]) -> Vec<Order> {
    let orders = effects.iter().filter_map(|effect| match effect {
        Effect::Order(order) => Some(order.clone()),
        Effect::Record(_) => None,
    });
    orders.collect()
}

fn code(reply: &Reply) -> &str {
    match reply {
        Reply::Refused(refusal) => &refusal.code,
        Reply::Done(_) => "done",
    }
}

#[test]
fn a_prompt_waits_while_the_agent_works_and_is_sent_when_it_stops() {
    let mut session = idle();
    assert_eq!(
        orders(&session.command(&prompt("a", "one"), at(0)).effects),
        [Order::prompt("one")]
    );
    for id in ["b", "c"] {
        assert!(orders(&session.command(&prompt(id, id), at(1)).effects).is_empty());
    }
    let edit = Command::Edit { queued: "b".into(), text: "two".into() };
    assert_eq!(session.command(&request("d", edit), at(1)).reply, Reply::Done(Done::Edited));
    let cancel = Command::Cancel { queued: "c".into() };
    assert_eq!(
        session.command(&request("e", cancel.clone()), at(1)).reply,
        Reply::Done(Done::Cancelled)
    );
    assert_eq!(code(&session.command(&request("f", cancel), at(1)).reply), "not_queued");
    let effects = session.event(&ended(StopReason::EndTurn), at(2));
    assert_eq!(orders(&effects), [Order::prompt("two")]);
    assert!(session.event(&ended(StopReason::EndTurn), at(3)).is_empty());
}

#[test]
fn one_end_of_a_turn_sends_one_prompt_though_the_agent_says_behind_it_that_it_is_idle() {
    for source in [Source::Pollux, Source::Screen] {
        let mut session = idle();
        for id in ["a", "b", "c"] {
            session.command(&prompt(id, id), at(0));
        }
        session.event(&said("a"), at(1));
        let effects = session.event(&ended(StopReason::EndTurn), at(2));
        assert_eq!(orders(&effects), [Order::prompt("b")]);
        let idle = Event { source, ..is_idle() };
        assert!(session.event(&idle, at(2)).is_empty(), "{source:?}: that was of the turn before");
        assert_eq!(session.state().status, SessionStatus::Working);
        session.event(&said("b"), at(3));
        let effects = session.event(&ended(StopReason::EndTurn), at(4));
        assert_eq!(orders(&effects), [Order::prompt("c")]);
        session.event(&idle, at(4));
        // One that begins no turn, such as a command of the CLI, is over when the agent is idle again.
        assert!(session.event(&idle, at(5)).is_empty());
        assert_eq!(session.state().status, SessionStatus::Idle);
    }
}

#[test]
fn a_prompt_that_waits_cannot_become_one_that_would_be_refused() {
    let mut session = idle();
    session.command(&prompt("a", "one"), at(0));
    session.command(&prompt("b", "two"), at(0));
    let long = "x".repeat((1 << 20) + 1);
    for (id, text, why) in [("c", " \n", "no_prompt"), ("d", &long, "prompt_too_long")] {
        let edit = Command::Edit { queued: "b".into(), text: text.into() };
        assert_eq!(code(&session.command(&request(id, edit), at(1)).reply), why);
    }
    assert_eq!(session.state().queue[0].text, "two");
}

#[test]
fn what_waits_is_not_sent_after_a_turn_that_was_stopped_until_somebody_says_so() {
    let mut session = idle();
    session.command(&prompt("a", "one"), at(0));
    session.command(&prompt("b", "two"), at(0));
    let verdict = session.command(&request("c", Command::Interrupt), at(1));
    assert_eq!(orders(&verdict.effects), [Order::Interrupt]);
    assert!(orders(&session.event(&ended(StopReason::Cancelled), at(2))).is_empty());
    assert!(session.state().held);
    let verdict = session.command(&request("d", Command::Continue), at(3));
    assert_eq!(orders(&verdict.effects), [Order::prompt("two")]);
}

#[test]
fn a_queue_that_was_held_and_is_empty_holds_nothing_that_comes_later() {
    let mut session = idle();
    session.command(&prompt("a", "one"), at(0));
    session.command(&prompt("b", "two"), at(0));
    session.command(&request("c", Command::Interrupt), at(1));
    session.event(&ended(StopReason::Cancelled), at(2));
    session.command(&request("d", Command::Cancel { queued: "b".into() }), at(3));
    assert!(!session.state().held, "nothing waits");
    let verdict = session.command(&prompt("e", "three"), at(4));
    assert_eq!(orders(&verdict.effects), [Order::prompt("three")]);
    session.command(&prompt("f", "four"), at(5));
    let effects = session.event(&ended(StopReason::EndTurn), at(6));
    assert_eq!(orders(&effects), [Order::prompt("four")]);
}

#[test]
fn somebody_who_says_go_on_before_the_stopped_turn_has_ended_is_heard() {
    let mut session = idle();
    session.command(&prompt("a", "one"), at(0));
    session.command(&prompt("b", "two"), at(0));
    session.command(&request("c", Command::Interrupt), at(1));
    let verdict = session.command(&request("d", Command::Continue), at(2));
    assert!(orders(&verdict.effects).is_empty(), "the turn still ends");
    let effects = session.event(&ended(StopReason::Cancelled), at(3));
    assert_eq!(orders(&effects), [Order::prompt("two")]);
}

#[test]
fn a_prompt_that_is_sent_while_the_turn_is_being_stopped_is_the_next_one() {
    let mut session = idle();
    session.command(&prompt("a", "one"), at(0));
    session.command(&request("b", Command::Interrupt), at(1));
    assert!(orders(&session.command(&prompt("c", "two"), at(2)).effects).is_empty());
    let effects = session.event(&ended(StopReason::Cancelled), at(3));
    assert_eq!(orders(&effects), [Order::prompt("two")]);
    // The next turn is another one: what waits behind it is held where it fails.
    session.command(&prompt("d", "three"), at(4));
    assert!(orders(&session.event(&ended(StopReason::Error), at(5))).is_empty());
    assert!(session.state().held);
}

#[test]
fn an_agent_that_outlived_pollux_leaves_its_mode_when_it_would_have() {
    let mut session = idle().ending(Mode::Yolo, at(60));
    let yolo = SessionChange { mode: Some(Mode::Yolo), ..SessionChange::default() };
    session.event(&Event::new(Source::Screen, EventKind::SessionChanged(yolo)), at(1));
    assert!(session.tick(at(59)).is_empty());
    assert_eq!(orders(&session.tick(at(60))), [Order::Mode(Mode::Default)]);
}

#[test]
fn a_retry_is_told_the_same_and_runs_nothing() {
    let mut session = idle();
    let first = session.command(&prompt("a", "one"), at(0));
    let again = session.command(&prompt("a", "one"), at(5));
    assert_eq!(first.reply, again.reply);
    assert!(again.effects.is_empty());
    let other = session.command(&prompt("a", "something else"), at(6));
    assert_eq!(code(&other.reply), "id_used");
}

#[test]
fn a_question_is_answered_once_and_the_second_is_told_the_true_outcome() {
    let mut session = idle();
    session.event(&question("q", "run it?"), at(0));
    assert_eq!(session.state().status, SessionStatus::Waiting);
    let shown = session.state().open[0].shown.clone();
    let first = session.command(&answer("a", "yes", Some(&shown)), at(1));
    assert_eq!(orders(&first.effects).len(), 1);
    let truth = Outcome::Chosen { choice: "yes".into(), by: Some("owner".into()) };
    let late = |session: &mut Session, id| {
        let verdict = session.command(&answer(id, "no", None), at(2));
        assert!(verdict.effects.is_empty());
        verdict.reply
    };
    let answered = Reply::Done(Done::Answered { outcome: truth, yours: false });
    assert_eq!(late(&mut session, "b"), answered, "while the answer is on its way");
    let chosen = Answer::Chosen { choice: "yes".into(), reason: None };
    session.event(&event(EventKind::Answered { question_id: "q".into(), answer: chosen }), at(3));
    assert_eq!(late(&mut session, "c"), answered, "and after the agent has confirmed it");
    assert_eq!(session.state().status, SessionStatus::Working);
}

#[test]
fn an_answer_releases_only_what_was_shown_and_only_what_was_offered() {
    let mut session = idle();
    session.event(&question("q", "run `ls`?"), at(0));
    let shown = session.state().open[0].shown.clone();
    session.event(&question("q", "run `rm -rf /`?"), at(1));
    let verdict = session.command(&answer("a", "yes", Some(&shown)), at(2));
    assert_eq!(code(&verdict.reply), "shown_differs");
    assert!(verdict.effects.is_empty());
    assert_eq!(code(&session.command(&answer("b", "always", None), at(2)).reply), "unknown_choice");
    let shown = session.state().open[0].shown.clone();
    assert_eq!(code(&session.command(&answer("a", "yes", Some(&shown)), at(2)).reply), "done");
}

#[test]
fn an_answer_that_wants_words_is_refused_without_them() {
    let mut session = idle();
    let mut asked = question("q", "which?");
    if let EventKind::Asked(question) = &mut asked.kind {
        question.options[0].effect = Does::Words;
    }
    session.event(&asked, at(0));
    let verdict = session.command(&answer("a", "yes", None), at(1));
    assert_eq!(code(&verdict.reply), "no_words");
    assert!(verdict.effects.is_empty());
    for (id, words, said) in [("b", " ", "no_words"), ("c", "the third", "done")] {
        let mut explained = answer(id, "yes", None);
        if let Command::Answer { reason, .. } = &mut explained.command {
            *reason = Some(words.into());
        }
        assert_eq!(code(&session.command(&explained, at(1)).reply), said);
    }
}

#[test]
fn an_answer_that_did_not_arrive_can_be_given_again() {
    let mut session = idle();
    session.event(&question("q", "?"), at(0));
    let order = orders(&session.command(&answer("a", "yes", None), at(1)).effects).remove(0);
    session.failed(&order, "the pipe is closed", at(1));
    let again = session.command(&answer("b", "no", None), at(2));
    assert_eq!(orders(&again.effects).len(), 1);
}

#[test]
fn a_turn_that_ends_closes_its_questions() {
    let mut session = idle();
    session.event(&question("q", "?"), at(0));
    let effects = session.event(&ended(StopReason::Cancelled), at(1));
    assert!(matches!(effects.as_slice(), [Effect::Record(_)]), "{effects:?}");
    let late = session.command(&answer("a", "yes", None), at(2)).reply;
    assert_eq!(late, Reply::Done(Done::Answered { outcome: Outcome::Cancelled, yours: false }));
}

#[test]
fn yolo_from_another_device_ends_by_itself_and_from_this_one_it_does_not() {
    let yolo = |by| Request {
        id: "y".into(),
        by,
        command: Command::Mode { mode: Mode::Yolo, seconds: Some(1_000_000) },
    };
    let mut session = idle();
    let order = orders(&session.command(&yolo(By::device("phone")), at(0)).effects).remove(0);
    session.delivered(&order);
    // The agent says so too, and that changes nothing about its end.
    let change = SessionChange { mode: Some(Mode::Yolo), ..SessionChange::default() };
    session.event(&event(EventKind::SessionChanged(change)), at(1));
    assert_eq!(session.state().mode, Mode::Yolo);
    assert_eq!(session.wakes_at(), Some(at(3600)), "an hour, however long was asked for");
    assert!(session.tick(at(3599)).is_empty());
    let effects = session.tick(at(3600));
    assert_eq!(orders(&effects), [Order::Mode(Mode::Default)]);
    session.delivered(&Order::Mode(Mode::Default));
    assert_eq!(session.state().mode, Mode::Default);
    assert!(session.tick(at(9999)).is_empty());

    let mut session = idle();
    let command = Command::Mode { mode: Mode::Yolo, seconds: None };
    session.command(&request("y", command), at(0));
    session.delivered(&Order::Mode(Mode::Yolo));
    assert!(session.tick(at(1_000_000)).is_empty());
}

#[test]
fn a_mode_that_could_not_be_taken_back_is_taken_back_again() {
    let mut session = idle();
    let by = By::device("phone");
    let command = Command::Mode { mode: Mode::Yolo, seconds: Some(60) };
    session.command(&Request { id: "y".into(), by, command }, at(0));
    session.delivered(&Order::Mode(Mode::Yolo));
    session.tick(at(60));
    session.failed(&Order::Mode(Mode::Default), "busy", at(60));
    assert_eq!(orders(&session.tick(at(70))), [Order::Mode(Mode::Default)]);
}

fn mode_is(mode: Mode) -> Event<'static> {
    let change = SessionChange { mode: Some(mode), ..SessionChange::default() };
    Event::new(Source::Screen, EventKind::SessionChanged(change))
}

#[test]
fn a_mode_for_a_while_ends_whatever_the_agent_goes_through_to_get_there() {
    let for_a_minute = |id: &str, mode| Request {
        id: id.into(),
        by: By::device("phone"),
        command: Command::Mode { mode, seconds: Some(60) },
    };
    let mut session = idle();
    session.command(&for_a_minute("a", Mode::Plan), at(0));
    // The next is asked for while the first is on its way.
    session.command(&for_a_minute("b", Mode::Yolo), at(1));
    session.event(&mode_is(Mode::AutoEdit), at(2));
    session.event(&mode_is(Mode::Plan), at(2));
    session.delivered(&Order::Mode(Mode::Plan));
    session.event(&mode_is(Mode::Yolo), at(3));
    session.delivered(&Order::Mode(Mode::Yolo));
    assert_eq!((session.state().mode, session.wakes_at()), (Mode::Yolo, Some(at(61))));
    // Somebody at the terminal has another one in mind.
    session.event(&mode_is(Mode::AutoEdit), at(4));
    assert_eq!(session.wakes_at(), None);
}

#[test]
fn what_an_agent_says_before_it_is_in_its_mode_does_not_make_the_mode_last() {
    let mut session = idle();
    let command = Command::Mode { mode: Mode::Yolo, seconds: None };
    session.command(&Request { id: "y".into(), by: By::device("phone"), command }, at(0));
    let effects = session.delivered(&Order::Mode(Mode::Yolo));
    let [Effect::Record(told)] = effects.as_slice() else { panic!("{effects:?}") };
    session.event(told, at(0));
    // Over ACP that it was told is known before it has said in which mode it began.
    session.event(&mode_is(Mode::Default), at(1));
    session.event(&mode_is(Mode::Yolo), at(1));
    assert_eq!((session.state().mode, session.wakes_at()), (Mode::Yolo, Some(at(3600))));
}

#[test]
fn yolo_that_could_not_be_made_longer_still_ends() {
    let mut session = idle();
    let yolo = |id: &str| Request {
        id: id.into(),
        by: By::device("phone"),
        command: Command::Mode { mode: Mode::Yolo, seconds: None },
    };
    session.command(&yolo("a"), at(0));
    session.delivered(&Order::Mode(Mode::Yolo));
    session.command(&yolo("b"), at(10));
    session.failed(&Order::Mode(Mode::Yolo), "a question is open", at(10));
    assert_eq!(session.wakes_at(), Some(at(3610)));
    assert_eq!(orders(&session.tick(at(3610))), [Order::Mode(Mode::Default)]);
}

#[test]
fn any_mode_that_was_given_for_a_while_is_taken_back_until_it_is_gone() {
    let mut session = idle();
    let mode = |id: &str, mode, seconds| Request {
        id: id.into(),
        by: By::owner(),
        command: Command::Mode { mode, seconds },
    };
    session.command(&mode("a", Mode::AutoEdit, Some(60)), at(0));
    session.delivered(&Order::Mode(Mode::AutoEdit));
    // One that could not be had does not make the other one last.
    session.command(&mode("b", Mode::Plan, None), at(5));
    session.failed(&Order::Mode(Mode::Plan), "a question is open", at(5));
    assert_eq!((session.state().mode, session.wakes_at()), (Mode::AutoEdit, Some(at(60))));
    for now in [60, 70, 80] {
        assert_eq!(session.wakes_at(), Some(at(now)));
        assert_eq!(orders(&session.tick(at(now))), [Order::Mode(Mode::Default)]);
        session.failed(&Order::Mode(Mode::Default), "a question is open", at(now));
        assert_eq!(session.state().mode, Mode::AutoEdit);
    }
    assert_eq!(orders(&session.tick(at(90))), [Order::Mode(Mode::Default)]);
    session.delivered(&Order::Mode(Mode::Default));
    assert_eq!((session.state().mode, session.wakes_at()), (Mode::Default, None));
}

#[test]
fn an_agent_that_says_nothing_while_it_works_has_stalled_and_since_when_is_known() {
    let mut session = idle();
    session.command(&prompt("a", "one"), at(0));
    session.event(&event(EventKind::TurnStarted { prompt: "one".into() }), at(1));
    assert_eq!(session.wakes_at(), Some(at(91)));
    assert!(session.tick(at(90)).is_empty());
    let effects = session.tick(at(95));
    let [Effect::Record(notice)] = effects.as_slice() else { panic!("{effects:?}") };
    session.event(notice, at(95));
    assert_eq!(session.state().stalled_since, Some(at(1)), "what is said of it is not said by it");
    assert!(session.tick(at(200)).is_empty(), "it is said once");
    session.event(&event(EventKind::Notice { level: Level::Warning, text: "…".into() }), at(300));
    assert_eq!(session.state().stalled_since, None);
}

#[test]
fn an_agent_that_had_nothing_to_do_for_long_has_not_stalled_when_it_is_given_a_prompt() {
    let mut session = idle();
    session.command(&prompt("a", "one"), at(10_000));
    assert_eq!(session.wakes_at(), Some(at(10_090)));
    assert!(session.tick(at(10_001)).is_empty());
}

#[test]
fn after_a_restart_what_waited_waits_and_a_retry_is_known() {
    let mut known = Known::default();
    let text = Command::prompt("x");
    known.remember("old".into(), text.clone(), Reply::Done(Done::Sent));
    let (by, images) = ("owner".into(), Vec::new());
    let queue = vec![Queued { id: "b".into(), text: "two".into(), by, images, doubt: false }];
    let mut session = Session::new(Limits::default(), Mode::Default, at(0)).with(queue, known);
    session.ready();
    assert!(session.command(&request("old", text), at(1)).effects.is_empty());
    assert_eq!(session.state().queue.len(), 1);
    let verdict = session.command(&prompt("c", "three"), at(2));
    assert_eq!(orders(&verdict.effects), [Order::prompt("two")], "first come, first served");
}

#[test]
fn a_prompt_that_did_not_arrive_waits_and_is_not_lost() {
    let mut session = idle();
    session.command(&prompt("a", "one"), at(0));
    assert_eq!(session.state().sending.unwrap().text, "one");
    session.failed(&Order::prompt("one"), "no such program", at(1));
    assert_eq!(session.state().status, SessionStatus::Idle);
    assert_eq!(session.state().queue.len(), 1);
    let verdict = session.command(&request("b", Command::Continue), at(2));
    assert_eq!(orders(&verdict.effects), [Order::prompt("one")]);
    session.event(&event(EventKind::TurnStarted { prompt: "one".into() }), at(3));
    assert!(session.state().sending.is_none());
}

#[test]
fn an_agent_that_is_gone_takes_no_commands() {
    let mut session = idle();
    session.event(&event(EventKind::SessionEnded { reason: "it crashed".into() }), at(0));
    assert_eq!(code(&session.command(&prompt("a", "x"), at(1)).reply), "exited");
}
