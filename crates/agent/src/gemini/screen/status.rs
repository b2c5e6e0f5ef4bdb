//! What stands between the conversation and the input box, and below it: what the agent does, what is queued, the mode,
//! the model.

use super::layout::{indent, is_edge, is_of_conversation, is_rule};
use crate::model::Mode;

/// How many rows above the input box belong to it at most, what is queued apart.
const NEAR: usize = 16;

/// What stands around the input box.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Around {
    /// Where it begins: what is above is the conversation.
    pub(super) top: usize,
    /// What the agent says that it is doing; it works, or starts.
    pub(super) activity: Option<String>,
    /// What was sent and waits.
    pub(super) queued: Vec<String>,
    /// The line that asks for a key once more before the CLI ends.
    pub(super) leaving: Option<String>,
}

/// Reads the rows above the input box, or above the end of the screen where there is none.
pub(super) fn around(rows: &[String], below: usize) -> Around {
    let mut found = Around { top: below, ..Around::default() };
    let first = below.saturating_sub(NEAR);
    for at in (first..below).rev() {
        let Some(row) = rows.get(at) else { break };
        let words = row.trim();
        if let Some(activity) = activity(row) {
            found.activity = Some(activity);
            found.top = at;
        } else if is_own(row) && words.starts_with("Press Ctrl+") && words.contains("again to exit")
        {
            found.leaving = cells(words).into_iter().next().map(|(_, words)| words);
            found.top = at;
        } else if is_hint(words) {
            found.top = at;
        }
    }
    if found.activity.is_none() {
        // Nothing waits for an agent that does nothing.
        return found;
    }
    let queue = rows.get(first..found.top).unwrap_or_default();
    let queue = queue.iter().rposition(|row| is_queue(row)).map(|at| first + at);
    if let Some(at) = queue {
        let sent = rows.get(at + 1..below).unwrap_or_default().iter();
        let sent = sent.take_while(|row| indent(row) >= 4 && !row.is_empty());
        found.queued = sent.map(|row| row.trim().to_owned()).collect();
        found.top = found.top.min(at);
    }
    found
}

/// A line of the CLI itself. What the model says stands further in, or behind a mark.
fn is_own(row: &str) -> bool {
    indent(row) <= 1 && !is_of_conversation(row)
}

fn is_queue(row: &str) -> bool {
    row.trim_start().starts_with("Queued (")
}

/// A line that says what a key would do, or that more is there than is shown.
fn is_hint(row: &str) -> bool {
    is_rule(row)
        || row.ends_with("? for shortcuts")
        || (row.starts_with("Press Ctrl+O") && row.contains("show more lines"))
        || (row.starts_with("Todo ") && row.contains("completed"))
}

/// What a row says that the agent is doing: by the turning sign in front, or by the key that would stop it.
fn activity(row: &str) -> Option<String> {
    if !is_own(row) {
        return None;
    }
    let row = row.trim_end_matches("? for shortcuts").trim();
    let words = row.trim_start_matches(is_spinner).trim_start();
    let words = words.strip_prefix("responding ").unwrap_or(words);
    let stop = words.find("(esc to cancel").or_else(|| words.find("(Press E"));
    let spun = row.starts_with(is_spinner) && words.len() < row.len();
    if !spun && stop.is_none() {
        return None;
    }
    // Words of the model that speak of the key stand further to the right, or are no end of a line.
    if !spun && !words.ends_with(')') {
        return None;
    }
    let words = stop.and_then(|at| words.get(..at)).unwrap_or(words);
    Some(words.trim().to_owned())
}

fn is_spinner(char: char) -> bool {
    ('\u{2800}'..='\u{28ff}').contains(&char)
}

/// The cells of a row: what is parted by two blanks or more, each with its column.
fn cells(row: &str) -> Vec<(usize, String)> {
    let mut cells: Vec<(usize, String)> = Vec::new();
    let mut blanks = 2;
    for (column, char) in row.chars().enumerate() {
        if char == ' ' {
            blanks += 1;
            continue;
        }
        match cells.last_mut() {
            Some((_, cell)) if blanks < 2 => {
                cell.extend(std::iter::repeat_n(' ', blanks));
                cell.push(char);
            }
            _ => cells.push((column, char.to_string())),
        }
        blanks = 0;
    }
    cells
}

/// The mode that a line above the input box names.
pub(super) fn mode(rows: &[String]) -> Option<Mode> {
    rows.iter().rev().flat_map(|row| cells(row)).find_map(|(_, cell)| mode_of(&cell))
}

/// The mode that the rows below a dialog name. Where they are there with no rule, nothing is said of the default.
pub(super) fn mode_below(rows: &[String]) -> Option<Mode> {
    let silent = model(rows).is_some() && !rows.iter().any(|row| is_rule(row));
    mode(rows).or_else(|| silent.then_some(Mode::Default))
}

fn mode_of(cell: &str) -> Option<Mode> {
    let cell = cell.to_lowercase();
    let key =
        ["shift+tab", "shift + tab", "ctrl+y", "ctrl + y"].iter().find_map(|key| cell.find(key))?;
    // What stands before the key is what is; what stands behind it is what it would become.
    let is = cell.get(..key)?.trim_end_matches([' ', '(']).trim();
    Some(match is {
        "" | "manual" | "default" => Mode::Default,
        _ if is.contains("yolo") => Mode::Yolo,
        _ if is.contains("plan") => Mode::Plan,
        _ if is.contains("edit") => Mode::AutoEdit,
        _ => return None,
    })
}

/// The model that the footer names, in its words.
pub(super) fn model(rows: &[String]) -> Option<String> {
    let lines: Vec<&String> = rows.iter().filter(|row| !row.is_empty() && !is_edge(row)).collect();
    let model = headed(&lines).or_else(|| in_line(&lines))?;
    let model = model.split(" | ").next().unwrap_or_default();
    let model = model.split(" /model").next().unwrap_or_default();
    let model = model.split(" (").next().filter(|_| model.contains("% ")).unwrap_or(model).trim();
    (!model.is_empty()).then(|| model.to_owned())
}

/// Later versions have a heading in the footer: the model stands below `/model`.
fn headed(lines: &[&String]) -> Option<String> {
    let of = |row: &&String| cells(row).into_iter().find(|(_, cell)| cell == "/model");
    let (at, (start, heading)) =
        lines.iter().enumerate().find_map(|(at, row)| Some((at, of(row)?)))?;
    let end = start + heading.chars().count();
    let below =
        |(column, cell): &(usize, String)| *column < end && column + cell.chars().count() > start;
    cells(lines.get(at + 1)?).into_iter().find(below).map(|(_, cell)| cell)
}

/// Earlier ones have one line: the folder, the sandbox, the model.
fn in_line(lines: &[&String]) -> Option<String> {
    let is_sandbox = |text: &str| text.contains("sandbox") || text.contains("untrusted");
    let cells = match lines {
        [.., first, rest] if is_wrapped(first, rest) => unwrapped(first, rest),
        _ => cells(lines.iter().find(|row| is_sandbox(row))?),
    };
    let sandbox = cells.iter().position(|(_, cell)| is_sandbox(cell))?;
    let (_, cell) = cells.into_iter().nth(sandbox + 1)?;
    let model = cell.strip_prefix("/model ").unwrap_or(&cell).trim();
    // A heading whose values are not drawn yet names no model.
    (!model.starts_with('/')).then(|| model.to_owned())
}

/// The cells of a line for which there was no room: what did not fit into a cell stands below it.
fn unwrapped(first: &str, rest: &str) -> Vec<(usize, String)> {
    let mut cells = cells(first);
    let starts: Vec<usize> = cells.iter().map(|(column, _)| *column).collect();
    for (at, (column, cell)) in cells.iter_mut().enumerate() {
        let end = starts.get(at + 1).copied().unwrap_or(usize::MAX);
        let below: String = rest.chars().take(end).skip(*column).collect();
        if !below.trim().is_empty() {
            cell.push(' ');
            cell.push_str(below.trim());
        }
    }
    cells
}

/// True for a row of the footer, of which the rows from this one on are given.
pub(super) fn is_footer(rows: &[&String]) -> bool {
    match rows {
        [row, ..] if names_a_place(row) => true,
        [row, next, ..] => is_wrapped(row, next),
        _ => false,
    }
}

/// True for the first row of a footer that is wrapped and says in the second what it is. It begins with the folder; what is
/// offered to choose from is a word, or a path below that folder.
fn is_wrapped(row: &str, next: &str) -> bool {
    let is_folder = row.trim_start().starts_with(['/', '~']) || row.trim_start().starts_with("...");
    is_folder && !names_a_place(row) && names_a_place(next)
}

/// True where the words of a footer stand in a row.
fn names_a_place(row: &str) -> bool {
    let row = row.to_lowercase();
    ["sandbox", "/model", "/directory", "untrusted"].iter().any(|word| row.contains(word))
}

/// The model and the mode where a screen reader reads: one cell below the other, in no columns.
pub(super) fn read_aloud(rows: &[String]) -> Option<String> {
    let at = rows.iter().rposition(|row| row.ends_with("/model") && indent(row) == 0)?;
    rows.get(at + 1).filter(|row| !row.is_empty()).cloned()
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::model;
    use crate::terminal::{Screen, Size};

    #[test]
    fn words_that_look_like_a_footer_name_no_model() {
        // What the CLI prints where it does not know a flag.
        let help = "Options:\n  -s, --sandbox       Run in sandbox?       [boolean]\n";
        let screen = Screen::from_capture(help, Size { columns: 60, rows: 8 });
        assert_eq!(read(&screen).model, None);
    }

    #[test]
    fn a_heading_whose_values_are_not_drawn_yet_names_no_model() {
        let heading = " workspace (/directory)          sandbox            /model".to_owned();
        let values = " ~/shop                          no sandbox         auto".to_owned();
        assert_eq!(model(std::slice::from_ref(&heading)), None);
        assert_eq!(model(&[heading, values.clone()]).as_deref(), Some("auto"));
        assert_eq!(model(&[values]).as_deref(), Some("auto"));
    }

    #[test]
    fn a_footer_that_is_wrapped_names_its_model_and_is_nothing_to_choose() {
        let footer = " .../castor-and   no      Auto (Gemini 2.5)      | ✖ 1 error (F12 for\n \
            -pollux          sandbox /model                   details)";
        let text = format!("✦ Hello.\n\n >   Type your message or @path/to/file\n{footer}\n");
        let screen = Screen::from_capture(&text, Size { columns: 80, rows: 8 });
        let reading = read(&screen);
        assert_eq!(reading.model.as_deref(), Some("Auto (Gemini 2.5)"));
        assert_eq!(reading.menu, Vec::<String>::new());
    }
}
