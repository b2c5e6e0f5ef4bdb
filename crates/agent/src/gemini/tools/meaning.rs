//! What a call of one of Gemini's tools is about: by exact name, each fact with the place that it was concluded from.

use super::{Category, category, shell};
use crate::gemini::loose::loose_object;
use crate::model::{Change, Derived, Meaning, Text, unified};
use serde_json::value::RawValue;

const PARAMETERS: &str = "tool_use.parameters";
const OUTPUT: &str = "tool_result.output";
const ARGS: &str = "toolCalls[].args";
const RESULT: &str = "toolCalls[].result";
const DISPLAY: &str = "toolCalls[].resultDisplay";
const FILE_DIFF: &str = "toolCalls[].resultDisplay.fileDiff";

/// How a hunk of a unified diff begins.
const HUNK: &str = "@@ -";

loose_object! {
    /// The arguments that say what a call is about.
    Args {
        "command" => command: Option<&'a RawValue>,
        "file_path" => file_path: Option<&'a RawValue>,
        "old_string" => old_string: Option<&'a RawValue>,
        "new_string" => new_string: Option<&'a RawValue>,
        "content" => content: Option<&'a RawValue>,
        "query" => query: Option<&'a RawValue>,
        "pattern" => pattern: Option<&'a RawValue>,
        "prompt" => prompt: Option<&'a RawValue>,
        "url" => url: Option<&'a RawValue>,
        "dir_path" => dir_path: Option<&'a RawValue>,
    }
}

loose_object! {
    /// What the CLI shows of a change: `FileDiff`.
    Display {
        "fileDiff" => file_diff: Option<&'a RawValue>,
        "filePath" => file_path: Option<&'a RawValue>,
        "isNewFile" => is_new_file: Option<&'a RawValue>,
    }
}

fn text(json: Option<&RawValue>) -> Option<String> {
    json.and_then(Text::from_raw).map(|text| text.to_str().into_owned())
}

fn args(json: Option<&RawValue>) -> Args<'_> {
    json.and_then(|json| serde_json::from_str(json.get()).ok())
        .filter(|args: &Args<'_>| args.read)
        .unwrap_or_default()
}

/// What a call is about when it begins.
pub fn begun(name: &str, parameters: Option<&RawValue>) -> Option<Meaning> {
    about(name, parameters, PARAMETERS)
}

/// The meaning of a call that did not end well: it has changed nothing, whatever it was meant to change.
pub fn undone(meaning: Meaning) -> Meaning {
    match meaning {
        Meaning::Mutation { path, mut derived, .. } => {
            derived.0.retain(|(fact, _)| *fact == "path");
            Meaning::Mutation { path, change: None, diff: None, derived }
        }
        other => other,
    }
}

/// What came of a call, as far as the stream tells.
pub fn streamed(begun: Option<&Meaning>, output: Option<&Text<'_>>) -> Option<Meaning> {
    match begun {
        Some(Meaning::Command { command, derived, .. }) => {
            let mut derived = derived.clone();
            // As it was written: whoever looks at it decodes it.
            let output = output.map(|text| text.clone().into_owned());
            derived.0.extend(output.is_some().then_some(("output", OUTPUT)));
            Some(Meaning::Command { command: command.clone(), output, exit_code: None, derived })
        }
        Some(meaning) => Some(meaning.clone()),
        None => output
            .filter(|text| text.has_plain(HUNK))
            .and_then(|text| diff_in(&text.to_str(), OUTPUT)),
    }
}

/// What came of a call, as the session file tells: `result` is the text for the model, `display` what a person is shown.
pub fn recorded(
    name: &str,
    arguments: Option<&RawValue>,
    result: Option<&str>,
    display: Option<&RawValue>,
) -> Option<Meaning> {
    match about(name, arguments, ARGS) {
        Some(Meaning::Command { command, mut derived, .. }) => {
            let read = result.and_then(shell::read);
            let exit_code = read.as_ref().and_then(|read| read.exit_code);
            derived.0.extend(exit_code.is_some().then_some(("exit_code", RESULT)));
            let output = match read {
                Some(read) => Some((read.output, RESULT)),
                None => text(display).map(|text| (text, DISPLAY)),
            };
            derived.0.extend(output.as_ref().map(|(_, from)| ("output", *from)));
            let output = output.map(|(output, _)| Text::from(output));
            Some(Meaning::Command { command, output, exit_code, derived })
        }
        Some(Meaning::Mutation { path, change, diff, derived }) => {
            Some(mutation(path, change, diff, derived, display))
        }
        Some(meaning) => Some(meaning),
        None => result.and_then(|text| diff_in(text, RESULT)),
    }
}

/// A change of a file with what the CLI shows of it, which is better than what can be made out of the arguments.
fn mutation(
    path: String,
    change: Option<Change>,
    diff: Option<String>,
    derived: Derived,
    display: Option<&RawValue>,
) -> Meaning {
    let shown: Display<'_> =
        display.and_then(|json| serde_json::from_str(json.get()).ok()).unwrap_or_default();
    let shown = if shown.read { shown } else { Display::default() };
    let Some(file_diff) = text(shown.file_diff) else {
        return Meaning::Mutation { path, change, diff, derived };
    };
    let mut facts = derived.0;
    let mut now = |fact: &'static str, from: &'static str| {
        facts.retain(|(known, _)| *known != fact);
        facts.push((fact, from));
    };
    now("diff", FILE_DIFF);
    let whole = text(shown.file_path);
    if whole.is_some() {
        now("path", "toolCalls[].resultDisplay.filePath");
    }
    let created = shown.is_new_file.map(|json| json.get() == "true");
    if created.is_some() {
        now("change", "toolCalls[].resultDisplay.isNewFile");
    }
    let named = created.map(|created| if created { Change::Created } else { Change::Edited });
    Meaning::Mutation {
        path: whole.unwrap_or(path),
        change: named.or(change),
        diff: Some(file_diff),
        derived: Derived(facts),
    }
}

fn about(name: &str, json: Option<&RawValue>, from: &'static str) -> Option<Meaning> {
    let args = args(json);
    match (category(name), name) {
        (Category::Command, _) => Some(Meaning::Command {
            command: text(args.command)?,
            output: None,
            exit_code: None,
            derived: Derived(vec![("command", from)]),
        }),
        (Category::Write, _) => {
            let path = text(args.file_path)?;
            let (before, after) = match name {
                "replace" => (text(args.old_string)?, text(args.new_string)?),
                _ => (String::new(), text(args.content)?),
            };
            // Whether a file that is written whole was there before, the arguments do not say, nor what was in it.
            let known = name == "replace" && !before.is_empty();
            let diff = known.then(|| unified(&path, &before, &after));
            let mut derived = vec![("path", from)];
            derived.extend(diff.is_some().then_some(("diff", from)));
            derived.extend(known.then_some(("change", from)));
            let change = known.then_some(Change::Edited);
            Some(Meaning::Mutation { path, change, diff, derived: Derived(derived) })
        }
        (Category::Search | Category::Fetch, _) => {
            let title = [args.query, args.pattern, args.url, args.prompt, args.dir_path];
            let title = title.into_iter().find_map(text)?;
            Some(Meaning::Card { title, derived: Derived(vec![("title", from)]) })
        }
        _ => None,
    }
}

/// A text that looks like a unified diff: a heuristic, and labelled as one.
fn diff_in(text: &str, from: &'static str) -> Option<Meaning> {
    let mut lines = text.lines();
    let headed = lines.any(|line| line.starts_with("--- "))
        && lines.next().is_some_and(|line| line.starts_with("+++ "));
    let hunk = lines.next().is_some_and(|line| line.starts_with(HUNK));
    (headed && hunk)
        .then(|| Meaning::Diff { diff: text.to_owned(), derived: Derived(vec![("diff", from)]) })
}

#[cfg(test)]
mod tests {
    use super::{begun, diff_in, recorded, undone};
    use crate::model::Meaning;
    use serde_json::value::RawValue;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn an_edit_has_its_diff_from_the_file_where_it_is_and_from_the_arguments_where_it_is_not() {
        let args = raw(r#"{"file_path":"a.txt","old_string":"one","new_string":"two"}"#);
        let Some(Meaning::Mutation { diff: Some(diff), derived, .. }) =
            begun("replace", Some(&args))
        else {
            panic!("an edit is a mutation")
        };
        assert!(diff.contains("-one\n+two\n"), "{diff}");
        assert!(derived.0.contains(&("diff", "tool_use.parameters")));

        let display = raw(r#"{"fileDiff":"@@ x","filePath":"/w/a.txt","isNewFile":false}"#);
        let Some(Meaning::Mutation { path, diff, derived, .. }) =
            recorded("replace", Some(&args), None, Some(&display))
        else {
            panic!("an edit is a mutation")
        };
        assert_eq!((path.as_str(), diff.as_deref()), ("/w/a.txt", Some("@@ x")));
        assert!(derived.0.contains(&("diff", "toolCalls[].resultDisplay.fileDiff")));
        assert_eq!(derived.0.iter().filter(|(fact, _)| *fact == "diff").count(), 1);
    }

    #[test]
    fn an_edit_that_failed_has_a_path_and_no_diff() {
        let args = raw(r#"{"file_path":"a.txt","old_string":"one","new_string":"two"}"#);
        let failed = undone(begun("replace", Some(&args)).unwrap());
        let Meaning::Mutation { path, change: None, diff: None, derived } = failed else {
            panic!("nothing was changed: {failed:?}")
        };
        assert_eq!((path.as_str(), derived.0), ("a.txt", vec![("path", "tool_use.parameters")]));
    }

    #[test]
    fn a_search_is_a_card_and_an_unknown_tool_is_nothing() {
        let args = raw(r#"{"query":"rust"}"#);
        assert!(matches!(begun("google_web_search", Some(&args)), Some(Meaning::Card { .. })));
        assert_eq!(begun("mcp_x_y", Some(&args)), None);
    }

    #[test]
    fn only_a_whole_head_looks_like_a_diff() {
        assert!(diff_in("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n", "t").is_some());
        assert!(diff_in("--- a\nb\n", "t").is_none());
    }
}
