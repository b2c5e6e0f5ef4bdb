//! Settings as text with our hooks in it, and without. Comments, order, line ends and everybody else's hooks stay.

use super::super::super::settings::COMMENTED;
use super::super::{EVENTS, NAME, TIMEOUT_MS, command};
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};

/// Why a file of settings is left alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// The CLI itself could not read it.
    #[error("invalid JSON: {0}")]
    Malformed(String),
    /// Something stands where only an object can.
    #[error("`{0}` is not {1}")]
    Shape(String, &'static str),
    /// One key twice: which of the two the CLI takes is its own affair.
    #[error("`{0}` occurs twice")]
    Twice(String),
}

/// A file of settings with our hooks and nothing else.
pub(super) fn fresh(program: &str) -> Result<String, Wrong> {
    with("{}\n", program)
}

/// The settings with our hooks, which call `program`. Ours that are there already are replaced.
pub(super) fn with(text: &str, program: &str) -> Result<String, Wrong> {
    let text = without(text, &|_| true)?;
    edited(&text, |root| {
        let hooks = match root.get("hooks") {
            Some(hooks) => hooks.object_value().ok_or_else(|| shape("hooks", "an object"))?,
            None => root.object_value_or_set("hooks"),
        };
        for event in EVENTS {
            let list = list(&hooks, event)?.unwrap_or_else(|| hooks.array_value_or_set(event));
            list.append(ours(event, program));
        }
        Ok(())
    })
}

/// The settings without our hooks. What is empty then goes too, where `may_go` says so of its path.
pub(super) fn without(text: &str, may_go: &dyn Fn(&str) -> bool) -> Result<String, Wrong> {
    edited(text, |root| {
        let Some(property) = root.get("hooks") else { return Ok(()) };
        let hooks = property.object_value().ok_or_else(|| shape("hooks", "an object"))?;
        let mut removed = false;
        for event in EVENTS {
            let Some(list) = list(&hooks, event)? else { continue };
            let ours = groups(&list);
            removed |= !ours.is_empty();
            let touched = !ours.is_empty();
            ours.into_iter().for_each(CstNode::remove);
            let path = format!("hooks.{event}");
            if touched && list.elements().is_empty() && may_go(&path) {
                hooks.get(event).into_iter().for_each(CstObjectProp::remove);
            }
        }
        if removed && hooks.properties().is_empty() && may_go("hooks") {
            property.remove();
        }
        Ok(())
    })
}

/// True where one of our hooks is in the settings, with the command of the first.
pub(super) fn installed(text: &str) -> Result<Option<String>, Wrong> {
    let root = parse(text.trim_start_matches('\u{feff}'))?;
    let hooks = root.object_value().and_then(|root| root.object_value("hooks"));
    let Some(hooks) = hooks else { return Ok(None) };
    let lists = EVENTS.iter().filter_map(|event| hooks.array_value(event));
    let mut groups = lists.flat_map(|list| list.elements());
    Ok(groups.find_map(|group| hooks_of(&group).into_iter().find_map(|hook| our_command(&hook))))
}

fn parse(text: &str) -> Result<CstRootNode, Wrong> {
    CstRootNode::parse(text, &COMMENTED).map_err(|error| Wrong::Malformed(error.to_string()))
}

fn edited(text: &str, edit: impl FnOnce(&CstObject) -> Result<(), Wrong>) -> Result<String, Wrong> {
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let root = parse(body)?;
    let object = root.object_value().ok_or_else(|| shape("the file", "an object"))?;
    once(&object, "hooks", "hooks")?;
    edit(&object)?;
    Ok(format!("{mark}{root}"))
}

fn shape(path: &str, wanted: &'static str) -> Wrong {
    Wrong::Shape(path.to_owned(), wanted)
}

fn once(object: &CstObject, name: &str, path: &str) -> Result<(), Wrong> {
    let same = |property: &CstObjectProp| property.decoded_name().as_deref() == Some(name);
    let count = object.properties().iter().filter(|property| same(property)).count();
    if count > 1 { Err(Wrong::Twice(path.to_owned())) } else { Ok(()) }
}

/// The list of an event, if it is there.
fn list(hooks: &CstObject, event: &str) -> Result<Option<CstArray>, Wrong> {
    let path = format!("hooks.{event}");
    once(hooks, event, &path)?;
    let Some(property) = hooks.get(event) else { return Ok(None) };
    property.array_value().map(Some).ok_or(Wrong::Shape(path, "a list"))
}

/// What to take out of a list: whole groups that are ours alone, and our hooks in groups that somebody else has.
fn groups(list: &CstArray) -> Vec<CstNode> {
    let mut found = Vec::new();
    for group in list.elements() {
        let hooks = hooks_of(&group);
        let ours: Vec<CstNode> =
            hooks.iter().filter(|hook| our_command(hook).is_some()).cloned().collect();
        if !ours.is_empty() && ours.len() == hooks.len() {
            found.push(group);
        } else {
            found.extend(ours);
        }
    }
    found
}

fn hooks_of(group: &CstNode) -> Vec<CstNode> {
    let hooks = group.as_object().and_then(|group| group.array_value("hooks"));
    hooks.map(|hooks| hooks.elements()).unwrap_or_default()
}

/// The command of a hook, if it is ours.
fn our_command(hook: &CstNode) -> Option<String> {
    let hook = hook.as_object()?;
    let text = |name: &str| hook.get(name)?.value()?.as_string_lit()?.decoded_value().ok();
    if text("name")? == NAME { text("command") } else { None }
}

/// One group with one hook. A matcher is for tools; to the others it would mean something else.
fn ours(event: &str, program: &str) -> CstInputValue {
    let text = |text: &str| CstInputValue::String(text.to_owned());
    let hook = vec![
        ("name".to_owned(), text(NAME)),
        ("type".to_owned(), text("command")),
        ("command".to_owned(), CstInputValue::String(command(program, event))),
        ("timeout".to_owned(), CstInputValue::Number(TIMEOUT_MS.to_string())),
    ];
    let mut group =
        vec![("hooks".to_owned(), CstInputValue::Array(vec![CstInputValue::Object(hook)]))];
    if event.ends_with("Tool") {
        group.insert(0, ("matcher".to_owned(), text("*")));
    }
    CstInputValue::Object(group)
}
