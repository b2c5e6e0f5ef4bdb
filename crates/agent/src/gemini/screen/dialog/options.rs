//! The lines of a dialog that can be chosen: a list with one sign, numbered or not.

use super::super::layout::indent;
use super::super::{Choosable, DONE, SUBMIT, unticked};
use crate::model::{Effect, QuestionKind};
use std::ops::Range;

/// What is called here so that has no name on the screen: a line to write in.
const TYPE: &str = "Type your answer";

/// What stands before the line that Enter would choose.
const CHOSEN: &[&str] = &["● ", super::CHECKED];

/// The sign of this list: one that is known, or whatever stands before one of several numbers that count on.
fn sign(rows: &[String]) -> Option<String> {
    let known = |row: &String| CHOSEN.iter().find(|sign| row.trim_start().starts_with(**sign));
    if let Some(sign) = rows.iter().rev().find_map(known) {
        return Some((*sign).to_owned());
    }
    rows.iter().enumerate().rev().find_map(|(at, row)| {
        let sign = row.trim_start().chars().next().filter(|sign| is_a_sign(*sign))?;
        let sign = format!("{sign} ");
        let chosen = line(row, &sign).filter(|line| line.selected)?;
        let counts = |row: &String| {
            line(row, &sign).is_some_and(|other| {
                let next = other.number.abs_diff(chosen.number) == 1;
                next && !other.selected && other.column == chosen.column
            })
        };
        rows.iter().skip(at.saturating_sub(4)).take(9).any(counts).then_some(sign)
    })
}

/// A bullet, an arrow, a star: nothing that a diff or a list of text has before its numbers.
fn is_a_sign(char: char) -> bool {
    !char.is_alphanumeric() && !char.is_whitespace() && !matches!(char, '+' | '-' | '#' | '│' | '(')
}

/// The list, and the rows that it takes.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) rows: Range<usize>,
    pub(super) options: Vec<Choosable>,
}

/// A line of a numbered list: the columns of its number, of the dot behind it and of its words; the number and the label.
struct Line<'a> {
    column: usize,
    dot: usize,
    words: usize,
    number: u32,
    label: &'a str,
    selected: bool,
}

fn line<'a>(row: &'a str, sign: &str) -> Option<Line<'a>> {
    let mut column = indent(row);
    let mut rest = row.trim_start();
    let mut selected = false;
    if let Some(after) = rest.strip_prefix(sign) {
        rest = after;
        column += sign.chars().count();
        selected = true;
    }
    let (number, label) = rest.split_once('.')?;
    let label = label.strip_prefix(' ')?;
    let dot = column + number.chars().count();
    let number = number.trim().parse().ok()?;
    let words = dot + ". ".len() + indent(label);
    Some(Line { column, dot, words, number, label: label.trim(), selected })
}

/// Finds the list around the line that is chosen. A list in the text above it has numbers too, but no sign, and does
/// not count on into this one.
pub(super) fn find(rows: &[String]) -> Option<Found> {
    let sign = sign(rows)?;
    if let Some(found) = ticked(rows, &sign) {
        return Some(found);
    }
    let chosen = rows.iter().rposition(|row| row.trim_start().starts_with(&sign))?;
    let Some(first) = rows.get(chosen).and_then(|row| line(row, &sign)) else {
        let signs = rows.iter().filter(|row| row.trim_start().starts_with(&sign)).count();
        if signs == 1 {
            return Some(blocks(rows, chosen, &sign));
        }
        // A form, such as that of the settings: something can be set, nothing is asked.
        return Some(Found { rows: chosen..chosen, options: Vec::new() });
    };
    // A screen reader reads no sign before the others, so that their numbers stand further to the left.
    let columns = [first.column, first.column.saturating_sub(super::CHECKED.len())];
    let counts = |row, number: u32| {
        let line = line(row, &sign);
        // Where there are ten or more, their numbers end in one column.
        let is_below = |line: &Line<'_>| columns.contains(&line.column) || line.dot == first.dot;
        line.filter(|line| line.number == number && is_below(line))
    };
    let mut start = chosen;
    let mut wanted = first.number;
    for at in (0..chosen).rev() {
        if wanted <= 1 {
            break;
        }
        let row = rows.get(at)?;
        if counts(row, wanted - 1).is_some() {
            wanted -= 1;
            start = at;
        } else if !row.is_empty() && indent(row) <= first.column {
            break;
        }
    }
    Some(downwards(rows, start, wanted, first.column, counts))
}

/// Where the CLI asks what the model wants to know.
pub(super) const ASKS: &str = "Answer Questions";

/// The list of which several things can be chosen, and its end, which may be out of sight: the rows around the one with the
/// sign, up to a blank one. A plan or a command that is shown above may hold such a list too, but not the sign.
fn ticked(rows: &[String], sign: &str) -> Option<Found> {
    let chosen = rows.iter().rposition(|row| row.trim_start().starts_with(sign))?;
    let above = rows.get(..chosen)?.iter().rposition(String::is_empty).map_or(0, |at| at + 1);
    let below = rows.iter().skip(chosen).position(String::is_empty);
    let end = below.map_or(rows.len(), |below| chosen + below);
    let mut options: Vec<Choosable> = Vec::new();
    let mut place = 0;
    for row in rows.get(above..end)?.iter().filter(|row| !matches!(row.trim(), "▲" | "▼")) {
        let words = row.trim();
        let bare = words.strip_prefix(sign).map(str::trim_start);
        let line = line(row, sign).filter(|line| unticked(line.label) != line.label);
        if let Some(line) = line {
            place = line.column;
            options.push(option(Some(line.number), line.label, line.selected));
        } else if bare.unwrap_or(words) == DONE && indent(row) <= place + 1 {
            options.push(option(None, DONE, bare.is_some()));
        } else if let Some(last) = options.last_mut() {
            note(last, words);
        }
    }
    let is_it = has(rows, ASKS)
        && options.iter().any(|option| option.selected)
        && options.iter().any(|option| option.number.is_some());
    if !options.iter().any(|option| option.label == DONE) {
        options.push(option(None, DONE, false));
    }
    is_it.then_some(Found { rows: above..end, options })
}

/// What can be done with a question that has no list: words, or to send what was answered to several.
pub(super) fn entry(rows: &[String]) -> Option<Found> {
    let end = rows.iter().rposition(|row| row.contains("Enter to submit"))?;
    if !has(rows, ASKS) {
        return None;
    }
    let review = has(rows, "Review your answers:").then_some((end, SUBMIT));
    // The last one: what is asked may hold a quote.
    let input = || rows.get(..end)?.iter().rposition(|row| row.starts_with("> "));
    let (start, label) = review.or_else(|| Some((input()?, TYPE)))?;
    let mut option = option(None, label, true);
    // What stands in the line already, or would be an example.
    for row in rows.get(start..end)?.iter().filter(|row| !row.is_empty()) {
        note(&mut option, row.trim());
    }
    Some(Found { rows: start..end, options: vec![option] })
}

/// Of what the model wants to know, which option is the line to write in: the one that is written in now, and the last one of
/// a list that is in sight whole, whatever the model has called it.
pub(super) fn mark_words(options: &mut [Choosable], rows: &[String], hint: &str) {
    if !has(rows, ASKS) || options.iter().all(|option| option.number.is_none()) {
        return;
    }
    let ends = |option: &Choosable| option.label == DONE;
    let whole = if options.iter().any(ends) {
        // An end that is only known to be there has no note.
        options.iter().any(|option| ends(option) && option.note.is_some())
    } else {
        !has(rows, "▼") && !options.iter().map(|option| option.label.as_str()).eq(["Yes", "No"])
    };
    let written = options.iter().position(|option| option.selected);
    let written = written.filter(|_| hint.contains("to submit"));
    let last = options.iter().rposition(|option| option.number.is_some()).filter(|_| whole);
    if let Some(option) = written.or(last).and_then(|at| options.get_mut(at)) {
        option.effect = Effect::Words;
    }
}

/// Whether a row says this and nothing else.
fn has(rows: &[String], what: &str) -> bool {
    rows.iter().any(|row| row.trim() == what)
}

/// More of what is said about an option.
fn note(option: &mut Choosable, words: &str) {
    let note = option.note.get_or_insert_default();
    if !note.is_empty() {
        note.push(' ');
    }
    note.push_str(words);
}

fn option(number: Option<u32>, label: &str, selected: bool) -> Choosable {
    let label = label.to_owned();
    Choosable { number, label, note: None, selected, effect: Effect::Other }
}

/// A list without numbers, such as that of what was said: blocks of rows, parted by blank ones, one of which has the sign.
fn blocks(rows: &[String], chosen: usize, sign: &str) -> Found {
    let at = rows.get(chosen).map_or(0, |row| indent(row)) + sign.chars().count();
    let is_in =
        |row: &String| row.is_empty() || indent(row) >= at || row.trim_start().starts_with(sign);
    let start = rows.iter().take(chosen).rposition(|row| !is_in(row)).map_or(0, |above| above + 1);
    let end = rows
        .iter()
        .skip(chosen)
        .position(|row| !is_in(row))
        .map_or(rows.len(), |below| chosen + below);
    let mut options: Vec<Choosable> = Vec::new();
    for block in rows.get(start..end).unwrap_or_default().split(String::is_empty) {
        let mut rows = block.iter().map(|row| row.trim()).filter(|row| !matches!(*row, "▲" | "▼"));
        let Some(first) = rows.next() else { continue };
        let bare = first.strip_prefix(sign).map(str::trim_start);
        let note = rows.collect::<Vec<_>>().join(" ");
        let same =
            |option: &&Choosable| option.label.split(" (again").next() == bare.or(Some(first));
        // What was said more than once can be chosen all the same.
        let label = match options.iter().filter(same).count() {
            0 => bare.unwrap_or(first).to_owned(),
            count => format!("{} (again {count})", bare.unwrap_or(first)),
        };
        options.push(Choosable {
            number: None,
            label,
            note: (!note.is_empty()).then_some(note),
            selected: bare.is_some(),
            effect: Effect::Other,
        });
    }
    Found { rows: start..end, options }
}

fn downwards<'a>(
    rows: &'a [String],
    start: usize,
    mut wanted: u32,
    column: usize,
    counts: impl Fn(&'a str, u32) -> Option<Line<'a>>,
) -> Found {
    let mut options: Vec<Choosable> = Vec::new();
    let mut end = start;
    let mut words = 0;
    for (at, row) in rows.iter().enumerate().skip(start) {
        if let Some(line) = counts(row, wanted) {
            words = line.words;
            options.push(option(Some(line.number), line.label, line.selected));
            wanted = wanted.saturating_add(1);
            end = at + 1;
        } else if row.is_empty() {
            if !rows.iter().skip(at).take(3).any(|row| counts(row, wanted).is_some()) {
                break;
            }
        } else if indent(row) > column {
            match options.last_mut() {
                Some(option) if indent(row) < words && option.note.is_none() => {
                    option.label.push(' ');
                    option.label.push_str(row.trim());
                }
                // More of the label, or what is said about it: which of the two is known with the kind.
                Some(option) => note(option, row.trim()),
                None => {}
            }
            end = at + 1;
        } else if !matches!(row.trim(), "▲" | "▼") {
            break;
        }
    }
    Found { rows: start..end, options }
}

/// What the kind of a dialog says about its options: whether a second line is more of the label, and what each does.
/// Where a tool waits, they are the CLI's own answers to whether it may.
pub(super) fn settle(options: &mut [Choosable], kind: QuestionKind, of_a_tool: bool) {
    let told = matches!(kind, QuestionKind::Choice | QuestionKind::Plan | QuestionKind::Other);
    let told = told && !of_a_tool;
    for option in options {
        if !told && let Some(rest) = option.note.take() {
            option.label = format!("{} {rest}", option.label);
        }
        option.effect = effect(option.bare(), kind, of_a_tool);
    }
}

/// What an option begins with that lets nothing happen.
const REFUSES: &[&str] = &["no", "not", "don't", "stop", "reject", "deny", "decline", "cancel"];
/// What an option says that holds for more than this time.
const ALWAYS: &[&str] =
    &["always", "session", "future", "automatically", "ask again", "permanently", " all "];
/// What an option says that holds for this time, where it says no more than that.
const ALLOWS: &[&str] = &["allow", "yes", "approve", "accept", "proceed"];

fn effect(label: &str, kind: QuestionKind, of_a_tool: bool) -> Effect {
    if matches!(label, "Enter a custom value" | TYPE) || label.starts_with("Type your feedback") {
        return Effect::Words;
    }
    let among_things = match kind {
        QuestionKind::Choice | QuestionKind::SignIn | QuestionKind::Loop => true,
        QuestionKind::Other => !of_a_tool,
        _ => false,
    };
    if among_things {
        return Effect::Other;
    }
    let label = label.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| label.contains(word));
    let whole = label.split(" (").next().unwrap_or_default();
    let first = label.split([' ', ',']).next().unwrap_or_default();
    if REFUSES.contains(&first) {
        Effect::RejectOnce
    } else if has(ALWAYS) || first == "trust" {
        // First: names of folders, servers and tools stand in these only, and may say `once`.
        Effect::AllowAlways
    } else if has(&["once", "manually", "keep trying"]) || ALLOWS.contains(&whole) {
        Effect::AllowOnce
    } else {
        Effect::Other
    }
}

#[cfg(test)]
mod tests {
    use super::{Effect, QuestionKind, effect, entry, find, mark_words};

    #[test]
    fn no_name_of_a_folder_or_a_server_makes_once_of_always() {
        let always = [
            ("Trust folder (nonce)", QuestionKind::Trust),
            ("Yes, always allow all tools from server \"once\"", QuestionKind::Mcp),
        ];
        for (label, kind) in always {
            assert_eq!(effect(label, kind, true), Effect::AllowAlways, "{label}");
        }
        assert_eq!(effect("Yes, allow once", QuestionKind::Mcp, true), Effect::AllowOnce);
    }

    #[test]
    fn words_of_another_version_are_taken_for_what_they_say_and_no_more() {
        let effect = |label| effect(label, QuestionKind::Command, true);
        for label in ["Reject", "Deny, and say why", "Cancel (esc)", "Not now"] {
            assert_eq!(effect(label), Effect::RejectOnce, "{label}");
        }
        for label in ["Yes, and do not ask again", "Allow all commands of this kind"] {
            assert_eq!(effect(label), Effect::AllowAlways, "{label}");
        }
        assert_eq!(effect("Approve (enter)"), Effect::AllowOnce);
        for label in ["Notify me", "Allow git", "Approve and push"] {
            assert_eq!(effect(label), Effect::Other, "{label}");
        }
    }

    #[test]
    fn a_sign_that_nobody_knows_is_known_by_what_stands_around_it() {
        let rows = ["Which?", "  1. One", "❯ 2. Two", "  3. Three", "(esc)"].map(str::to_owned);
        let found = find(&rows).unwrap();
        let chosen: Vec<_> = found.options.iter().map(|option| option.selected).collect();
        assert_eq!(chosen, [false, true, false]);
        assert_eq!(found.rows, 1..4);
        let diff = ["1 - one", "1 + two", "* 1. a list", "> 3. and a quote"].map(str::to_owned);
        assert!(find(&diff).is_none());
    }

    #[test]
    fn a_list_without_numbers_is_one_where_one_thing_is_chosen_and_a_form_is_none() {
        let rows = "> Rewind\n\n  talk\n  No files\n\n  talk\n\n● Stay here\n  Cancel\n\n(Esc)";
        let rows: Vec<String> = rows.lines().map(str::to_owned).collect();
        let options = find(&rows).unwrap().options;
        let labels: Vec<&str> = options.iter().map(|option| &*option.label).collect();
        assert_eq!(labels, ["talk", "talk (again 1)", "Stay here"]);
        assert!(options[2].selected && options[0].note.as_deref() == Some("No files"));
        let form: Vec<String> = rows.iter().cloned().chain(["● User".to_owned()]).collect();
        assert!(find(&form).unwrap().options.is_empty());
    }

    fn labels(text: &str, find: impl Fn(&[String]) -> Option<super::Found>) -> Vec<String> {
        let rows: Vec<String> = text.lines().map(str::to_owned).collect();
        let found = find(&rows).map(|found| found.options).unwrap_or_default();
        found.iter().map(|option| option.label.clone()).collect()
    }

    #[test]
    fn a_list_of_which_several_are_chosen_has_an_end_in_sight_or_not() {
        let asks = |rest: &str| format!("Answer Questions\n\nWhich?\n\n{rest}\n\n(Esc)");
        let above = asks("▲\n● 1. [x] Tests\n         Done\n  2. [ ] Docs\n▼");
        assert_eq!(labels(&above, find), ["[x] Tests", "[ ] Docs", "Done"]);
        let below = asks("▲\n  2. [ ] Docs\n●  Done\n   Finish\n   selection\n▼");
        assert_eq!(labels(&below, find), ["[ ] Docs", "Done"]);
        let rows: Vec<String> = below.lines().map(str::to_owned).collect();
        let options = find(&rows).unwrap().options;
        assert!(options[1].selected && options[1].note.as_deref() == Some("Finish selection"));
    }

    #[test]
    fn what_is_said_about_an_option_stands_below_its_words_and_more_of_it_does_not() {
        let rows = "Ready?\n\n● 1.  Yes,\n     all\n      Approves it\n  2.  No\n\n(Esc to cancel)";
        let rows: Vec<String> = rows.lines().map(str::to_owned).collect();
        let options = find(&rows).unwrap().options;
        assert_eq!((&*options[0].label, &*options[1].label), ("Yes, all", "No"));
        assert_eq!(options[0].note.as_deref(), Some("Approves it"));
    }

    #[test]
    fn numbers_of_a_long_list_end_in_one_column() {
        let themes = "> Select Theme\n▲\n   9. Dark\n● 10. Light\n  11. Ayu\n▼\n\n(Esc to close)";
        assert_eq!(labels(themes, find), ["Dark", "Light", "Ayu"]);
    }

    #[test]
    fn steps_of_a_plan_are_no_options() {
        let plan = "Plan\n\n1. [ ] Reject what is wrong\n2. [ ] Stop\n\n● 1. Yes\n  2. No\n\n(Esc)";
        assert_eq!(labels(plan, find), ["Yes", "No"]);
        let command = "cat <<E\n1. [ ] Reject\nE\n● 1. Allow once\n  2. No";
        assert_eq!(labels(command, find), ["Allow once", "No"]);
    }

    #[test]
    fn the_line_to_write_in_is_known_by_its_place_and_by_being_written_in() {
        let words = |rest: &str, hint: &str| {
            let text = format!("Answer Questions\n\nWhich?\n\n{rest}\n\n{hint}");
            let rows: Vec<String> = text.lines().map(str::to_owned).collect();
            let mut options = find(&rows).unwrap().options;
            mark_words(&mut options, &rows, hint);
            options.iter().map(|option| option.effect == Effect::Words).collect::<Vec<_>>()
        };
        let select = "Enter to select";
        assert_eq!(words("● 1. SQLite\n  2. e.g. MongoDB", select), [false, true]);
        assert_eq!(words("● 1. Yes\n  2. No", select), [false, false]);
        assert_eq!(words("▲\n● 1. One\n  2. Two\n▼", select), [false, false]);
        assert_eq!(words("▲\n● 2. cas\n  3. Three\n▼", "Enter to submit"), [true, false]);
        let boxes = "● 1. [ ] A\n  2. [ ] else\n   Done\n   Finish";
        assert_eq!(words(boxes, select), [false, true, false]);
    }

    #[test]
    fn a_line_to_write_in_and_a_look_at_all_answers_are_something_to_do() {
        let hint = "Enter to submit · Esc to cancel";
        let text = format!("Answer Questions\n\n> a quote\n\nCalled?\n\n> e.g. castor\n\n{hint}");
        assert_eq!(labels(&text, entry), ["Type your answer"]);
        let rows: Vec<String> = text.lines().map(str::to_owned).collect();
        assert_eq!(entry(&rows).unwrap().rows.start, 6);
        let review = format!("Answer Questions\n\nReview your answers:\n\nName → a\n\n{hint}");
        assert_eq!(labels(&review, entry), ["Submit"]);
        // A key to sign in with is not typed through others.
        let key = format!("Enter Gemini API Key\n\n> paste it\n\n{hint}");
        assert!(labels(&key, entry).is_empty());
    }

    #[test]
    fn the_greatest_number_is_a_number_too() {
        let rows = ["Which?", "● 4294967295. This one"].map(str::to_owned);
        assert_eq!(find(&rows).unwrap().options.len(), 1);
    }
}
