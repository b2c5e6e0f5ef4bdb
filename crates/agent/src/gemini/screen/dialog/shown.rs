//! What a dialog shows: the tool that waits, the question, and what would be done.

use super::super::Body;
use super::super::layout::indent;
use crate::model::{Derived, Meaning, QuestionKind};

/// Where the facts of a dialog come from.
const FROM: &str = "screen";

/// The line that names the tool which waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// The tool, as the screen calls it.
    pub(super) tool: Option<String>,
    /// What it is about, in its own words.
    pub(super) about: String,
    /// Which of how many.
    pub(super) place: Option<(u32, u32)>,
}

/// Names of tools that are more than one word.
const LONG_NAMES: &[&str] = &["Enter Plan Mode", "Exit Plan Mode", "Ask User", "Shell Command"];

/// Tools whose line may be so short of room that nothing parts their names from what they are about.
const NAMES: &[&str] = &["Shell", "Edit", "WriteFile", "WebFetch"];

/// The name of a tool, and what it is about.
fn named(words: &str) -> (&str, &str) {
    let (tool, about) = words.split_once(' ').unwrap_or((words, ""));
    let name = NAMES.iter().find(|name| tool.starts_with(**name));
    name.and_then(|name| words.split_at_checked(name.len())).unwrap_or((tool, about))
}

/// The line with the question mark, if there is one.
pub(super) fn head(rows: &[String]) -> Option<Head> {
    let at = rows.iter().position(|row| row.starts_with("? "))?;
    let words = rows.get(at)?.strip_prefix("? ")?.trim_end_matches('←').trim();
    let (words, last) = place(words);
    // Earlier versions count in the line above, which says that something is to be done.
    let place = last.or_else(|| rows.iter().take(at).find_map(|row| place(row).1));
    let (tool, about) = if let Some(long) = LONG_NAMES.iter().find(|long| words.starts_with(**long))
    {
        (Some((*long).to_owned()), words.strip_prefix(long).unwrap_or_default())
    } else if let Some((tool, about)) = of_a_server(words) {
        (Some(tool.to_owned()), about)
    } else {
        let (tool, about) = named(words);
        (tool.starts_with(char::is_uppercase).then(|| tool.to_owned()), about)
    };
    // The CLI's own dialogs have a question mark too, but no tool: a sentence, not a name.
    let tool = tool.filter(|tool| !matches!(&**tool, "A" | "Get"));
    Some(Head { tool, about: about.trim().to_owned(), place })
}

/// `name (server MCP Server)` at the beginning of the line. A command may say that too, but behind the name of its tool.
fn of_a_server(words: &str) -> Option<(&str, &str)> {
    let (name, _) = words.split_once(" (").filter(|(name, _)| !name.contains(' '))?;
    let end = words.get(name.len()..)?.find(" MCP Server)")? + " MCP Server)".len();
    words.split_at_checked(name.len() + end)
}

/// `2 of 3` at the end of the line.
fn place(words: &str) -> (&str, Option<(u32, u32)>) {
    let Some((before, number)) = words.rsplit_once("  ") else { return (words, None) };
    let numbers = number
        .trim()
        .split_once(" of ")
        .and_then(|(one, all)| Some((one.parse().ok()?, all.parse().ok()?)));
    if numbers.is_some() { (before.trim_end(), numbers) } else { (words, None) }
}

/// The texts of a dialog that stand for themselves, each in one line; boxes inside and the tool's line are not among
/// them.
pub(super) fn paragraphs(rows: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut open = false;
    for row in rows {
        let words = row.trim();
        let boxed = words.starts_with(['╭', '│', '╰', '┌', '└', '┏', '┃', '┗']);
        let arrow = matches!(words, "▲" | "▼");
        if words.is_empty() || boxed || arrow || row.starts_with("? ") {
            open = false;
            continue;
        }
        // The question is a sentence of its own, also where nothing parts it from what is above.
        let starts = is_question(words) || is_note(words);
        match all.last_mut() {
            Some(text) if open && !starts && goes_on(text, words) => {
                text.push(if indent(row) > 0 { '\n' } else { ' ' });
                text.push_str(words);
            }
            _ => all.push(words.to_owned()),
        }
        open = true;
    }
    let question = all.iter().rposition(|text| !is_note(text));
    if let Some(at) = question {
        // Notes below the question are not the question.
        all.truncate(at + 1);
    }
    all
}

/// The line over one of several questions, which says which of them are answered: that changes while one is.
fn is_tabs(text: &str) -> bool {
    text.starts_with("← ") && text.contains("≡ Review")
}

const QUESTIONS: &[&str] =
    &["Allow execution of", "Apply this change?", "Do you want to proceed?", "Do you trust"];

fn is_question(row: &str) -> bool {
    QUESTIONS.iter().any(|question| row.starts_with(question))
}

fn is_note(text: &str) -> bool {
    text.starts_with("Redirection detected")
        || text.starts_with("Note: ")
        || text.starts_with("Tip: ")
        || text.starts_with("(press ")
}

/// True where a row goes on with the text above it. Of a note, only what is known to be the rest of it does.
fn goes_on(text: &str, words: &str) -> bool {
    let so_far = bare(text) + &bare(words);
    !is_note(text) || NOTES.iter().any(|note| bare(note).starts_with(&so_far))
}

/// A text without its blanks: the same however it is wrapped.
fn bare(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The question, in the agent's words.
pub(super) fn question(
    kind: QuestionKind,
    head: Option<&Head>,
    paragraphs: &[String],
    after: &[String],
    form: bool,
) -> String {
    let whole = || paragraphs.join("\n");
    let of_a_tool = head.is_some_and(|head| head.tool.is_some()) && !paragraphs.is_empty();
    match kind {
        QuestionKind::Command | QuestionKind::Edit | QuestionKind::Mcp | QuestionKind::Fetch => {
            paragraphs.last().cloned().unwrap_or_default()
        }
        QuestionKind::Plan | QuestionKind::Other if of_a_tool => {
            paragraphs.last().cloned().unwrap_or_default()
        }
        QuestionKind::Plan => paragraphs.first().cloned().unwrap_or_default(),
        QuestionKind::Choice => {
            let asked =
                paragraphs.iter().filter(|text| *text != "Answer Questions" && !is_tabs(text));
            asked.cloned().collect::<Vec<_>>().join("\n")
        }
        QuestionKind::Trust => {
            let text = paragraphs.first().map_or("", String::as_str);
            text.split_inclusive('?').next().unwrap_or(text).to_owned()
        }
        QuestionKind::SignIn => {
            let asked = paragraphs.iter().filter(|text| !super::is_hint(text));
            asked.cloned().collect::<Vec<_>>().join("\n")
        }
        QuestionKind::Other if form => {
            let text = paragraphs.first().map_or("", String::as_str);
            text.lines().next().unwrap_or(text).trim_start_matches("> ").to_owned()
        }
        QuestionKind::Loop => {
            let about =
                head.map(|head| format!("{} {}", head.tool.as_deref().unwrap_or("A"), head.about));
            about.unwrap_or_else(whole)
        }
        _ if paragraphs.is_empty() => {
            let after = after.iter().map(|row| row.trim()).find(|row| !row.is_empty());
            head.map_or_else(|| after.unwrap_or_default().to_owned(), |head| head.about.clone())
        }
        _ => whole().trim_start_matches("> ").to_owned(),
    }
}

/// What would be done, as far as it is shown.
pub(super) fn meaning(
    kind: QuestionKind,
    head: Option<&Head>,
    rows: &[String],
    cut: bool,
) -> Option<Meaning> {
    match kind {
        QuestionKind::Command => {
            let about = head.map(|head| called(&head.about)).unwrap_or_default();
            Some(Meaning::Command {
                command: command(&about, body(rows, cut), cut),
                output: None,
                exit_code: None,
                derived: Derived(vec![("command", FROM)]),
            })
        }
        QuestionKind::Edit => {
            let about = &head?.about;
            let path = about.strip_prefix("Writing to ").unwrap_or(about);
            let path = path.split(": ").next().unwrap_or(path);
            let diff: Vec<String> = body(rows, cut).iter().map(|row| drawn(row)).collect();
            Some(Meaning::Mutation {
                path: path.split(" => ").next().unwrap_or(path).to_owned(),
                change: None,
                diff: (!diff.is_empty()).then(|| diff.join("\n")),
                derived: Derived(vec![("path", FROM), ("diff", FROM)]),
            })
        }
        QuestionKind::Fetch => {
            let title = addresses(rows)?;
            Some(Meaning::Card { title, derived: Derived(vec![("title", FROM)]) })
        }
        _ => None,
    }
}

/// What stands where something is out of sight.
const LEFT_OUT: &str = "…";

/// A command as far as it is shown. What the line of its tool says of it comes first where its beginning is out of sight.
fn command(about: &str, mut rows: Vec<String>, cut: bool) -> String {
    let ends = rows.len() > 1 && rows.last().is_some_and(|row| is_cut(row));
    if ends {
        rows.pop();
        rows.push(LEFT_OUT.to_owned());
    }
    let starts = rows.first().is_some_and(|row| is_cut(row));
    if starts {
        rows.remove(0);
    }
    if rows.is_empty() {
        return about.to_owned();
    }
    if starts || cut {
        rows.insert(0, LEFT_OUT.to_owned());
        if !about.is_empty() {
            rows.insert(0, about.to_owned());
        }
    }
    rows.join("\n")
}

/// The addresses that would be fetched, one on each line. A long one goes on in the next row.
fn addresses(rows: &[String]) -> Option<String> {
    let first = rows.iter().position(|row| row.trim().starts_with("- "))?;
    let rows = rows.iter().skip(first).map(|row| row.trim());
    let rows = rows.take_while(|row| !row.is_empty() && !is_question(row));
    let all = rows.fold(String::new(), |all, row| match row.strip_prefix("- ") {
        Some(next) if all.is_empty() => next.to_owned(),
        Some(next) => format!("{all}\n{next}"),
        None => all + row,
    });
    Some(all)
}

/// All that a tool shows of what it would do. Dialogs without a tool show nothing but their question.
pub(super) fn whole(kind: QuestionKind, rows: &[String], cut: bool) -> Body {
    use QuestionKind::{Command, Edit, Fetch, Mcp};
    if !matches!(kind, Command | Edit | Fetch | Mcp) {
        return Body::default();
    }
    let rows = body(rows, cut);
    let last = rows.len().saturating_sub(1);
    let at_edge = |at: usize, row: &str| (at == 0 || at == last) && is_cut(row);
    let cut = cut || rows.is_empty() || rows.iter().enumerate().any(|(at, row)| at_edge(at, row));
    let shown = rows.iter().enumerate().filter(|(at, row)| !at_edge(*at, row));
    let shown = shown.flat_map(|(_, row)| row.chars());
    Body { text: shown.filter(|char| !char.is_whitespace()).collect(), cut }
}

/// What a tool shows: the rows between its line and the question, without the box that may be around them. Rows of a command
/// that look like a box, a note or a question are part of it.
fn body(rows: &[String], cut: bool) -> Vec<String> {
    let head = rows.iter().position(|row| row.starts_with("? ")).map_or(0, |at| at + 1);
    let rows = rows.get(head..).unwrap_or_default();
    let end = rows.iter().rposition(|row| is_question(row.trim())).unwrap_or(rows.len());
    let rows = without_notes(rows.get(..end).unwrap_or_default());
    let first = rows.iter().position(|row| !row.is_empty()).unwrap_or(rows.len());
    let last = rows.iter().rposition(|row| !row.is_empty()).map_or(first, |last| last + 1);
    match rows.get(first..last).unwrap_or_default() {
        [top, inside @ .., bottom] if is_edge(top, '╭') && is_edge(bottom, '╰') => {
            inside.iter().map(|row| unboxed(row)).collect()
        }
        // The upper edge of that box has gone with the rest.
        [inside @ .., bottom] if cut && is_edge(bottom, '╰') => {
            inside.iter().map(|row| unboxed(row)).collect()
        }
        rows => rows.to_vec(),
    }
}

fn is_edge(row: &str, corner: char) -> bool {
    row.trim_start().starts_with(corner)
}

/// A row of a box without its two sides and the blank inside the first.
fn unboxed(row: &str) -> String {
    let row = row.trim();
    let row = row.strip_prefix('│').unwrap_or(row);
    let row = row.strip_suffix('│').unwrap_or(row);
    row.strip_prefix(' ').unwrap_or(row).trim_end().to_owned()
}

/// What the CLI says of a command, between it and the question.
const NOTES: &[&str] = &[
    "Note: Command contains redirection which can be undesirable.",
    "Tip: Toggle auto-edit (Shift+Tab) to allow redirection in the future.",
    "Redirection detected. To auto-accept, press Shift+Tab",
    "(press Ctrl+O to expand MCP tool details)",
];

/// The rows without the notes at their end, however those are wrapped. What only begins like one is none.
fn without_notes(rows: &[String]) -> &[String] {
    let mut rows = rows;
    while let Some(rest) = (1..=4).find_map(|count| {
        let (rest, note) = rows.split_at_checked(rows.len().checked_sub(count)?)?;
        let note: String = note.iter().map(|row| bare(row)).collect();
        (note.is_empty() || NOTES.iter().any(|known| bare(known) == note)).then_some(rest)
    }) {
        rows = rest;
    }
    rows
}

/// A row that stands for rows that are not shown, where it is the first or the last one: `... 3 hidden (Ctrl+O) ...`, and with
/// more words in other versions.
fn is_cut(row: &str) -> bool {
    let inner = row.trim().strip_prefix("... ").and_then(|row| row.strip_suffix(" ..."));
    inner.is_some_and(|inner| {
        let said = inner.split(" (").next().unwrap_or_default();
        said.ends_with(" hidden") && said.contains(|char: char| char.is_ascii_digit())
    })
}

/// The command in the line of its tool, without where it runs and what it is for, which older versions write after it, as far
/// as there is room. What only looks like that is part of the command.
fn called(about: &str) -> String {
    const REST: &str = "ent working directory ";
    let is_place = |rest: &str| match rest.strip_prefix(REST) {
        Some(place) => {
            let behind = place.split_once(']').map_or("", |(_, behind)| behind);
            behind.is_empty() || behind.starts_with(" (")
        }
        None => REST.starts_with(rest.trim_end_matches('…')),
    };
    let parts = about.rsplit_once(" [curr").filter(|(_, rest)| is_place(rest));
    parts.map_or(about, |(command, _)| command).to_owned()
}

/// A row of a drawn diff as a row of a unified one: `12 + text`, or `add: text` where a screen reader reads.
fn drawn(row: &str) -> String {
    for (spoken, sign) in [("hunk: ", ""), ("add: ", "+"), ("del: ", "-"), ("context: ", " ")] {
        if let Some(text) = row.strip_prefix(spoken) {
            return format!("{sign}{text}");
        }
    }
    let digits = row.trim_start();
    let rest = digits.trim_start_matches(|char: char| char.is_ascii_digit());
    let numbered = rest.len() < digits.len();
    if numbered && rest.is_empty() {
        return " ".to_owned();
    }
    match rest.strip_prefix(' ').filter(|_| numbered) {
        Some(rest) => match rest.chars().next() {
            Some('+') => format!("+{}", rest.strip_prefix("+ ").unwrap_or_default()),
            Some('-') => format!("-{}", rest.strip_prefix("- ").unwrap_or_default()),
            _ => format!(" {}", rest.strip_prefix("  ").unwrap_or(rest)),
        },
        None => row.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{body, called};

    #[test]
    fn no_row_of_a_command_is_taken_for_a_box_a_note_or_the_question() {
        let sly = ["ls", "│ echo hello │", "Note: that is all", "Allow execution of 'ls'?", "rm x"];
        let mut rows = vec!["? Shell ls…", ""];
        rows.extend(sly);
        rows.extend(["Note: Command contains redirection", "which can be undesirable."]);
        rows.push("Allow execution of: 'ls, rm'?");
        let rows: Vec<String> = rows.into_iter().map(str::to_owned).collect();
        assert_eq!(body(&rows, false), sly);
    }

    #[test]
    fn no_part_of_a_command_is_taken_for_what_the_cli_writes_after_it() {
        for after in
            ["ent working directory /w] (what for", "ent working directory /w]", "ent w…", "en…"]
        {
            assert_eq!(called(&format!("cat x [curr{after}")), "cat x");
        }
        for sly in ["ls [curry]; rm -r .", "ls [current working directory /w]; rm -r ."] {
            assert_eq!(called(sly), sly);
            let whole = format!("{sly} [current working directory /w] (looks)");
            assert_eq!(called(&whole), sly);
        }
    }
}
