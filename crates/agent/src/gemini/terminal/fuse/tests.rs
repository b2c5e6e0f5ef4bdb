//! Turns out of a screen, hooks and a file that come in any order.

use super::super::super::screen::{Body, Choosable, Dialog, Evidence, Reading};
use super::{Fusion, Picture};
use crate::gemini::hooks::Translator;
use crate::gemini::transcript::events;
use crate::model::{
    Effect, Event, EventKind, QuestionKind, SessionStatus, Source, StopReason, Text,
};

const DRAWN: Picture = Picture { settled: false, resized: false };
const SETTLED: Picture = Picture { settled: true, resized: false };

fn reading(status: SessionStatus) -> Reading {
    let draft = Some(String::new());
    Reading { status: Some(status), evidence: Evidence::Title, draft, ..Reading::default() }
}

fn asking(command: &str) -> Reading {
    let option = |number, label: &str, effect| Choosable {
        number: Some(number),
        label: label.to_owned(),
        note: None,
        selected: number == 1,
        effect,
    };
    let options =
        vec![option(1, "Allow once", Effect::AllowOnce), option(2, "No", Effect::RejectOnce)];
    let dialog = Dialog {
        kind: QuestionKind::Command,
        tool: None,
        text: format!("Allow {command}?"),
        subject: String::new(),
        meaning: None,
        body: Body::default(),
        options,
        typed: false,
        place: None,
    };
    Reading { dialog: Some(dialog), draft: None, ..reading(SessionStatus::Waiting) }
}

/// A message as the session file tells it.
fn record(kind: &str, text: &str) -> Event<'static> {
    let head = r#"{"sessionId":"s","projectHash":"p"}"#;
    let told = format!(
        r#"{head}
{{"id":"{kind}","type":"{kind}","model":"m","content":[{{"text":"{text}"}}]}}
"#
    );
    let is_message = |event: &Event<'_>| matches!(event.kind, EventKind::MessageRecorded { .. });
    events(told.as_bytes()).into_iter().find(is_message).unwrap()
}

/// The kinds of the events, with what matters of each.
fn kinds(events: &[Event<'_>]) -> Vec<String> {
    let kind = |event: &Event<'_>| {
        let value = serde_json::to_value(event).unwrap();
        let word = |name: &str| value[name].as_str().map(str::to_owned);
        let what = ["status", "outcome", "stop_reason", "prompt"].iter().find_map(|n| word(n));
        format!("{} {}", word("type").unwrap(), what.unwrap_or_default()).trim().to_owned()
    };
    events.iter().map(kind).collect()
}

#[test]
fn a_turn_with_a_question_that_we_answer_is_told_in_its_order_and_each_fact_once() {
    let mut fusion = Fusion::new("s");
    let mut out = Vec::new();
    fusion.screen(&reading(SessionStatus::Idle), DRAWN, &mut out);
    assert!(out.is_empty(), "at the start a question may yet come");
    fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
    fusion.sent("go");
    fusion.screen(&reading(SessionStatus::Working), DRAWN, &mut out);
    let early = Reading { dialog: None, ..reading(SessionStatus::Waiting) };
    fusion.screen(&early, DRAWN, &mut out);
    fusion.screen(&asking("ls"), DRAWN, &mut out);
    fusion.screen(&asking("ls"), SETTLED, &mut out);
    fusion.answered("Allow once", Effect::AllowOnce, None, &mut out);
    assert!(fusion.question().is_none() && fusion.stands().is_some());
    fusion.screen(&reading(SessionStatus::Working), DRAWN, &mut out);
    fusion.screen(&reading(SessionStatus::Idle), DRAWN, &mut out);
    let expected = [
        "session_changed idle",
        "session_changed working",
        "turn_started go",
        "session_changed waiting",
        "asked",
        "answered chosen",
        "session_changed working",
        "turn_ended end_turn",
        "session_changed idle",
    ];
    assert_eq!(kinds(&out), expected);
}

#[test]
fn a_turn_begins_before_what_is_said_in_it_also_where_the_file_is_faster_than_the_screen() {
    let mut fusion = Fusion::new("s");
    let mut out = Vec::new();
    fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
    fusion.sent("go");
    out.clear();
    fusion.file(record("user", "go"), &mut out);
    fusion.screen(&reading(SessionStatus::Working), DRAWN, &mut out);
    fusion.file(record("gemini", "gone"), &mut out);
    fusion.screen(&reading(SessionStatus::Idle), DRAWN, &mut out);
    let order: Vec<String> = kinds(&out)
        .into_iter()
        .map(|kind| kind.split(' ').next().unwrap_or_default().to_owned())
        .collect();
    let recorded = "message_recorded";
    let expected =
        [recorded, "session_changed", "turn_started", recorded, "turn_ended", "session_changed"];
    assert_eq!(order, expected);
    // A prompt that is known from before is not the next one's.
    fusion.file(record("user", "go"), &mut out);
    fusion.sent("more");
    out.clear();
    fusion.screen(&reading(SessionStatus::Working), DRAWN, &mut out);
    let told = out.iter().find_map(|event| match &event.kind {
        EventKind::TurnStarted { prompt } => Some(prompt.to_string()),
        _ => None,
    });
    assert_eq!(told.as_deref(), Some("more"));
}

#[test]
fn a_turn_begins_before_what_is_said_in_it_also_where_the_screen_stands_still_for_a_while_first() {
    let mut fusion = Fusion::new("s");
    let mut out = Vec::new();
    fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
    fusion.sent("go");
    fusion.file(record("user", "go"), &mut out);
    out.clear();
    fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
    fusion.screen(&reading(SessionStatus::Working), DRAWN, &mut out);
    fusion.file(record("gemini", "gone"), &mut out);
    fusion.screen(&reading(SessionStatus::Idle), DRAWN, &mut out);
    let expected = [
        "session_changed working",
        "turn_started go",
        "message_recorded",
        "turn_ended end_turn",
        "session_changed idle",
    ];
    assert_eq!(kinds(&out), expected);
}

#[test]
fn a_turn_that_was_over_before_anybody_looked_is_told_by_the_session_file() {
    let mut fusion = Fusion::new("s");
    let mut out = Vec::new();
    fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
    fusion.sent("go");
    out.clear();
    fusion.file(record("user", "go"), &mut out);
    fusion.file(record("gemini", "gone"), &mut out);
    fusion.screen(&reading(SessionStatus::Idle), DRAWN, &mut out);
    assert_eq!(kinds(&out), ["message_recorded", "turn_started go", "message_recorded"]);
    fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
    fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
    assert_eq!(kinds(&out)[3..], ["turn_ended end_turn"]);
}

#[test]
fn a_turn_of_long_ago_that_is_read_now_is_not_told_as_one_of_today() {
    let mut fusion = Fusion::new("s");
    let mut out = Vec::new();
    fusion.file(record("user", "go"), &mut out);
    fusion.file(record("gemini", "gone"), &mut out);
    fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
    let expected = ["message_recorded", "message_recorded", "session_changed idle"];
    assert_eq!(kinds(&out), expected);
}

#[test]
fn a_turn_of_which_only_the_titles_tell_is_told_from_its_beginning_to_its_end() {
    let mut fusion = Fusion::new("s");
    let mut out = Vec::new();
    let idle = reading(SessionStatus::Idle);
    fusion.screen(&idle, SETTLED, &mut out);
    fusion.sent("go");
    out.clear();
    fusion.worked(&idle, &mut out);
    fusion.screen(&idle, DRAWN, &mut out);
    let expected = [
        "session_changed working",
        "turn_started go",
        "turn_ended end_turn",
        "session_changed idle",
    ];
    assert_eq!(kinds(&out), expected);
}

#[test]
fn a_turn_of_which_a_question_is_the_first_that_is_seen_is_told_from_its_beginning_to_its_end() {
    let mut choice = asking("ls");
    choice.dialog.as_mut().unwrap().kind = QuestionKind::Choice;
    // A command is asked for by an agent that works; anything may be asked once the file has the prompt.
    for (asked, written) in [(asking("ls"), false), (choice, true)] {
        let mut fusion = Fusion::new("s");
        let mut out = Vec::new();
        fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
        fusion.sent("go");
        if written {
            fusion.file(record("user", "go"), &mut out);
        }
        out.clear();
        fusion.screen(&asked, DRAWN, &mut out);
        fusion.answered("Allow once", Effect::AllowOnce, None, &mut out);
        fusion.screen(&reading(SessionStatus::Idle), DRAWN, &mut out);
        let expected = [
            "session_changed waiting",
            "turn_started go",
            "asked",
            "answered chosen",
            "turn_ended end_turn",
            "session_changed idle",
        ];
        assert_eq!(kinds(&out), expected);
    }
}

#[test]
fn what_a_hook_tells_too_late_of_a_question_is_not_told_of_the_next() {
    let mut fusion = Fusion::new("s");
    let mut out = Vec::new();
    fusion.screen(&asking("ls"), SETTLED, &mut out);
    let late = r#"{"hook_event_name":"Notification","notification_type":"ToolPermission",
            "details":{"type":"exec","command":"ls"}}"#;
    for event in Translator::default().payload(late) {
        fusion.hook(event, &mut out);
    }
    fusion.screen(&reading(SessionStatus::Working), DRAWN, &mut out);
    out.clear();
    fusion.screen(&asking("rm one"), SETTLED, &mut out);
    let asked = out.iter().find_map(|event| match &event.kind {
        EventKind::Asked(question) => Some(question),
        _ => None,
    });
    assert_eq!(asked.unwrap().meaning, None);
}

#[test]
fn two_questions_that_look_the_same_are_two_where_the_agent_went_on_in_between() {
    let mut fusion = Fusion::new("s");
    let mut out = Vec::new();
    fusion.screen(&reading(SessionStatus::Working), DRAWN, &mut out);
    fusion.screen(&asking("ls"), SETTLED, &mut out);
    fusion.answered("Allow once", Effect::AllowOnce, None, &mut out);
    out.clear();
    fusion.asks_anew(&asking("ls"), &mut out);
    fusion.screen(&asking("ls"), DRAWN, &mut out);
    assert_eq!(kinds(&out), ["asked"], "that the first was answered is told already");
    out.clear();
    fusion.asks_anew(&asking("ls"), &mut out);
    fusion.screen(&asking("ls"), DRAWN, &mut out);
    assert_eq!(kinds(&out), ["answered elsewhere", "asked"], "by somebody at the desk");
    assert_eq!(fusion.question().unwrap().0, "screen-3");
}

#[test]
fn who_comes_while_the_agent_asks_and_denies_sees_the_turn_end() {
    let mut fusion = Fusion::new("s");
    let mut out = Vec::new();
    fusion.screen(&asking("ls"), SETTLED, &mut out);
    out.clear();
    fusion.answered("No", Effect::RejectOnce, None, &mut out);
    fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
    let expected =
        ["answered chosen", "turn_started", "turn_ended cancelled", "session_changed idle"];
    assert_eq!(kinds(&out), expected);
}

#[test]
fn a_question_whose_answer_was_not_taken_is_open_again() {
    let mut fusion = Fusion::new("s");
    let mut out = Vec::new();
    fusion.screen(&reading(SessionStatus::Working), DRAWN, &mut out);
    fusion.screen(&asking("ls"), SETTLED, &mut out);
    fusion.answered("No", Effect::RejectOnce, None, &mut out);
    assert!(fusion.question().is_none());
    let first = fusion.stands().unwrap().to_owned();
    out.clear();
    fusion.still_asks(&mut out);
    assert_eq!(kinds(&out), ["asked"]);
    assert_ne!(fusion.question().unwrap().0, first, "an answer to the first fits it no more");
    fusion.screen(&reading(SessionStatus::Working), DRAWN, &mut out);
    fusion.screen(&reading(SessionStatus::Idle), DRAWN, &mut out);
    let told = kinds(&out);
    assert!(told.contains(&"turn_ended end_turn".to_owned()), "nobody stopped it: {told:?}");
}

#[test]
fn a_turn_begins_with_what_a_person_said_and_not_with_the_context_in_the_file() {
    let lines = [
        r#"{"id":"c","type":"user","content":"<session_context>today</session_context>"}"#,
        r#"{"id":"1","type":"user","content":"typed by hand"}"#,
    ];
    let mut fusion = Fusion::new("s");
    let mut out = Vec::new();
    fusion.screen(&reading(SessionStatus::Working), DRAWN, &mut out);
    for event in events(lines.join("\n").as_bytes()) {
        fusion.file(event, &mut out);
    }
    let expected = [
        "session_changed working",
        "message_recorded",
        "turn_started typed by hand",
        "message_recorded",
    ];
    assert_eq!(kinds(&out), expected);
}

#[test]
fn an_agent_whose_session_file_is_deleted_is_still_there() {
    let mut fusion = Fusion::new("s");
    let mut out = Vec::new();
    fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
    let reason = "the session file was deleted".to_owned();
    fusion.file(Event::new(Source::SessionFile, EventKind::SessionEnded { reason }), &mut out);
    assert_eq!(kinds(&out), ["session_changed idle", "notice"]);
    assert_eq!(fusion.status(), SessionStatus::Idle);
}

#[test]
fn a_prompt_that_was_not_taken_is_not_told_as_that_of_the_next_turn() {
    let mut fusion = Fusion::new("s");
    let mut out = Vec::new();
    fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
    fusion.sent("stuck");
    fusion.not_taken("stuck");
    fusion.sent("go");
    fusion.screen(&reading(SessionStatus::Working), DRAWN, &mut out);
    let expected = ["session_changed idle", "session_changed working", "turn_started go"];
    assert_eq!(kinds(&out), expected);
}

#[test]
fn what_began_no_turn_of_its_own_is_not_told_as_the_prompt_of_the_next() {
    let mut fusion = Fusion::new("s");
    let mut out = Vec::new();
    fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
    fusion.sent("one");
    fusion.screen(&reading(SessionStatus::Working), DRAWN, &mut out);
    // Queued, and taken into the turn that runs.
    fusion.sent("two");
    fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
    out.clear();
    fusion.screen(&reading(SessionStatus::Working), DRAWN, &mut out);
    assert_eq!(kinds(&out), ["session_changed working"], "somebody has typed this one");
}

#[test]
fn a_prompt_that_somebody_types_is_not_taken_for_one_that_waits() {
    let mut fusion = Fusion::new("s");
    let mut out = Vec::new();
    fusion.screen(&reading(SessionStatus::Working), DRAWN, &mut out);
    fusion.sent("ours");
    let begins = |words: &str| {
        let kind = EventKind::TurnStarted { prompt: Text::from(words.to_owned()) };
        Event::new(Source::Hook, kind)
    };
    fusion.hook(begins("typed by hand"), &mut out);
    let queued = vec!["ours".to_owned()];
    fusion.screen(&Reading { queued, ..reading(SessionStatus::Idle) }, SETTLED, &mut out);
    out.clear();
    fusion.screen(&reading(SessionStatus::Working), DRAWN, &mut out);
    assert_eq!(kinds(&out), ["session_changed working", "turn_started ours"]);
    fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
    fusion.sent("a");
    fusion.sent("b\nc");
    fusion.hook(begins("a\n\nb\nc"), &mut out);
    fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
    assert!(fusion.sent.is_empty());
}

/// What a hook tells of the beginning and of the end of a turn.
fn hooked(prompt: &str) -> Vec<Event<'static>> {
    let begins = format!(r#"{{"hook_event_name":"BeforeAgent","prompt":"{prompt}"}}"#);
    let mut translator = Translator::default();
    let mut events = translator.payload(&begins);
    events.extend(translator.payload(r#"{"hook_event_name":"AfterAgent"}"#));
    events
}

#[test]
fn a_turn_of_which_only_hooks_tell_begins_and_ends() {
    let mut fusion = Fusion::new("s");
    let mut out = Vec::new();
    fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
    out.clear();
    let [begins, ends] = hooked("typed by hand").try_into().unwrap();
    fusion.hook(begins, &mut out);
    fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
    assert_eq!(kinds(&out), ["turn_started typed by hand"], "nothing says that it is over");
    fusion.hook(ends, &mut out);
    assert!(fusion.is_answered());
    fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
    assert_eq!(kinds(&out)[1..], ["turn_ended end_turn"]);
}

#[test]
fn hooks_that_come_when_their_turn_is_over_begin_no_other() {
    let idle = Reading { query: Some("go on with it".to_owned()), ..reading(SessionStatus::Idle) };
    for sent in [true, false] {
        let mut fusion = Fusion::new("s");
        let mut out = Vec::new();
        fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
        if sent {
            fusion.sent("go on with it");
        }
        fusion.screen(&reading(SessionStatus::Working), DRAWN, &mut out);
        fusion.screen(&idle, SETTLED, &mut out);
        out.clear();
        for event in hooked("go on with it") {
            fusion.hook(event, &mut out);
        }
        fusion.screen(&idle, SETTLED, &mut out);
        assert_eq!(kinds(&out), [""; 0]);
        // Said once more, it is another turn.
        fusion.hook(hooked("go on with it").remove(0), &mut out);
        assert_eq!(kinds(&out), ["turn_started go on with it"]);
    }
}

#[test]
fn a_hook_that_is_earlier_than_the_title_begins_the_turn_once() {
    let mut fusion = Fusion::new("new-1");
    let mut out = Vec::new();
    fusion.screen(&reading(SessionStatus::Idle), SETTLED, &mut out);
    let prompt = EventKind::TurnStarted { prompt: Text::from("typed by hand".to_owned()) };
    fusion.hook(Event::new(Source::Hook, prompt), &mut out);
    fusion.screen(&reading(SessionStatus::Working), DRAWN, &mut out);
    fusion.rekey("6c4f", Source::Hook, &mut out);
    fusion.rekey("6c4f", Source::SessionFile, &mut out);
    fusion.interrupted();
    fusion.ended("the agent has ended", &mut out);
    fusion.ended("the agent has ended", &mut out);
    let expected = [
        "session_changed idle",
        "turn_started typed by hand",
        "session_changed working",
        "session_rekeyed",
        "turn_ended cancelled",
        "session_changed exited",
        "session_ended",
    ];
    assert_eq!(kinds(&out), expected);
    assert!(matches!(
        out.get(4).map(|event| &event.kind),
        Some(EventKind::TurnEnded { stop_reason: StopReason::Cancelled, .. })
    ));
}
