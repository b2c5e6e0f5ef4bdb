//! One message as it stands in a session file: its record, its content split into parts, and who wrote it.

use super::history::Item;
use super::translate::string;
use super::wire::{Call, Called, FunctionCall, FunctionResponse, Json, Part, Row};
use crate::gemini::loose::Mend;
use crate::model::{Role, Text};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The tag of the record in which the CLI says where it is.
const CONTEXT: &str = "session_context";
/// Openings of user records that the CLI writes in the person's name. The tagged ones end at their closing tag, and a
/// person's words may follow; the others are the CLI's from end to end.
const TAGS: [&str; 3] = [CONTEXT, "hook_context", "state_snapshot"];
const OPENINGS: [&str; 3] = [
    "System: Potential loop detected.",
    "System: Please continue",
    "This is the Gemini CLI. We are setting up the context for our chat.",
];

/// A message of a session file.
#[derive(Debug, Clone)]
pub(super) struct Entry<'a, C = Call<'a>> {
    pub(super) row: Row<'a, C>,
    pub(super) content: Content<'a>,
    /// The record, byte for byte.
    pub(super) original: &'a str,
    /// Calls of which only the content of an earlier version tells.
    pub(super) named: Vec<FunctionCall<'a>>,
    /// What was taken from an earlier version of the record.
    pub(super) restored: Vec<&'static str>,
}

/// The content of a record.
#[derive(Debug, Clone)]
pub(super) enum Content<'a> {
    /// One string.
    Text(Text<'a>),
    /// A list of parts, or one part alone.
    Parts(Vec<Piece<'a>>),
    /// Nothing.
    None,
}

/// One part of a content.
#[derive(Debug, Clone)]
pub(super) enum Piece<'a> {
    /// A string where a part could stand.
    Text(Text<'a>),
    /// A part.
    Part(Box<Part<'a>>),
}

impl Default for Piece<'_> {
    fn default() -> Self {
        Self::from(Part::default())
    }
}

impl<'a> From<Part<'a>> for Piece<'a> {
    fn from(part: Part<'a>) -> Self {
        Self::Part(Box::new(part))
    }
}

impl<'a> Content<'a> {
    pub(super) fn read(json: Json<'a>) -> Self {
        let Some(raw) = json else { return Self::None };
        if let Some(text) = Text::from_raw(raw) {
            return Self::Text(text);
        }
        // Nearly always a list of parts and nothing else, which is read at once.
        if let Ok(parts) = serde_json::from_str::<Vec<Part<'a>>>(raw.get())
            && parts.iter().all(|part| part.read)
        {
            return Self::Parts(parts.into_iter().map(Piece::from).collect());
        }
        let raws: Vec<&RawValue> = serde_json::from_str(raw.get()).unwrap_or_else(|_| vec![raw]);
        Self::Parts(raws.into_iter().map(Piece::read).collect())
    }

    /// The function responses in it.
    pub(super) fn responses(&self) -> impl Iterator<Item = &FunctionResponse<'a>> {
        self.parts()
            .filter_map(|part| part.function_response.as_ref())
            .filter(|response| response.read)
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &Part<'a>> {
        let pieces = if let Self::Parts(pieces) = self { pieces.as_slice() } else { &[] };
        pieces.iter().filter_map(|piece| match piece {
            Piece::Part(part) => Some(part.as_ref()),
            Piece::Text(_) => None,
        })
    }

    /// What it says, without thoughts.
    pub(super) fn words(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => text.to_str(),
            Self::Parts(pieces) => {
                let words: Vec<Cow<'_, str>> = pieces.iter().filter_map(Piece::words).collect();
                Cow::Owned(words.join("\n"))
            }
            Self::None => Cow::Borrowed(""),
        }
    }

    /// True where nothing would be shown of it once the calls tell of the responses in it.
    pub(super) fn is_silent(&self) -> bool {
        let is_silent = |piece: &Piece<'a>| match piece {
            Piece::Text(text) => text.is_blank(),
            Piece::Part(part) => part.is_silent(),
        };
        match self {
            Self::None => true,
            Self::Text(text) => text.is_blank(),
            Self::Parts(pieces) => pieces.iter().all(is_silent),
        }
    }

    /// True where there is something besides words and function responses: a picture, a file.
    fn has_attachment(&self) -> bool {
        self.parts().any(|part| part.inline_data.is_some() || part.file_data.is_some())
    }
}

/// What a value says: a text, a part with a text, or a list of these, joined by `between`. None where it says nothing; with false
/// where there is something in it besides, which this does not tell.
pub(in crate::gemini) fn said<'a>(json: Json<'a>, between: &str) -> (Option<Text<'a>>, bool) {
    match Content::read(json) {
        Content::None => (None, true),
        Content::Text(text) => (Some(text), true),
        Content::Parts(pieces) => {
            let words: Vec<Cow<'_, str>> = pieces.iter().filter_map(Piece::words).collect();
            let text = (!words.is_empty()).then(|| Text::from(words.join(between)));
            (text, words.len() == pieces.len())
        }
    }
}

impl<'a> Piece<'a> {
    /// What is neither a text nor an object is a part that says nothing, and knows that it was not read.
    pub(super) fn read(raw: &'a RawValue) -> Self {
        match Text::from_raw(raw) {
            Some(text) => Self::Text(text),
            None => Self::from(Part::mend(raw)),
        }
    }

    fn words(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(text) => Some(text.to_str()),
            Self::Part(part) if part.is_thought() => None,
            Self::Part(part) => part
                .text
                .and_then(Text::from_raw)
                .map(|text| Cow::Owned(text.to_str().into_owned())),
        }
    }
}

impl Part<'_> {
    /// True where nothing that is known stands in it.
    fn is_unread(&self) -> bool {
        let says = [self.text, self.executable_code, self.code_execution_result];
        let blobs = [&self.inline_data, &self.file_data];
        says.into_iter().flatten().next().is_none()
            && blobs.into_iter().flatten().next().is_none()
            && self.function_call.is_none()
            && self.function_response.is_none()
    }

    pub(super) fn is_thought(&self) -> bool {
        self.thought.is_some_and(|raw| raw.get() == "true")
    }

    fn is_silent(&self) -> bool {
        let text = self.text.and_then(Text::from_raw);
        if self.is_thought() {
            return text.is_none();
        }
        let blobs = [&self.inline_data, &self.file_data];
        text.is_none_or(|text| text.is_blank())
            && !blobs.into_iter().flatten().any(|blob| blob.read)
            && self.executable_code.or(self.code_execution_result).is_none()
    }
}

impl<'a, C: Called<'a>> Entry<'a, C> {
    pub(super) fn new(row: Row<'a, C>, original: &'a str) -> Self {
        let content = Content::read(row.content);
        Self { row, content, original, named: Vec::new(), restored: Vec::new() }
    }

    pub(super) fn role(&self) -> Role {
        self.known_role().unwrap_or(Role::System)
    }

    /// Who speaks; none where the type is not known.
    fn known_role(&self) -> Option<Role> {
        Some(match string(self.row.kind)?.as_ref() {
            "user" => Role::User,
            "gemini" | "model" | "assistant" => Role::Assistant,
            "info" | "warning" | "error" => Role::System,
            _ => return None,
        })
    }

    /// True where it may say something that cannot be read: by somebody who is not known, or in a way that is not.
    pub(super) fn is_unread(&self) -> bool {
        let is_empty = |raw: &RawValue| matches!(raw.get(), "\"\"" | "[]" | "{}");
        let has_content = self.row.content.is_some_and(|raw| !is_empty(raw));
        let says = has_content || self.call_ids().next().is_some();
        let is_known = self.known_role().is_some();
        says && (!is_known || self.content.parts().any(Part::is_unread))
    }

    /// What a person wrote in it: none where the CLI wrote it in the person's name, or where only tools answer.
    pub(super) fn persons_words(&self) -> Option<String> {
        if self.role() != Role::User {
            return None;
        }
        let said = self.content.words();
        let words = without_context(&said);
        if words.is_empty() || OPENINGS.iter().any(|opening| words.starts_with(opening)) {
            return None;
        }
        let shown = Content::read(self.row.display_content);
        let shown = without_context(&shown.words()).to_owned();
        Some(if shown.is_empty() { words.to_owned() } else { shown })
    }

    /// The ids of the calls in it, wherever they stand.
    pub(super) fn call_ids(&self) -> impl Iterator<Item = Cow<'a, str>> {
        let listed = self.row.tool_calls.items.iter().map(Called::id);
        listed.chain(self.in_parts().map(|call| call.id)).filter_map(string)
    }

    /// The calls in the content, of earlier versions too.
    pub(super) fn in_parts(&self) -> impl Iterator<Item = &FunctionCall<'a>> {
        let own = self.content.parts().filter_map(|part| part.function_call.as_ref());
        own.chain(&self.named)
    }

    /// True where nobody but the CLI has a part in a user's record.
    pub(super) fn is_meta(&self) -> bool {
        self.role() == Role::User
            && self.persons_words().is_none()
            && !self.content.has_attachment()
            && (self.content.responses().next().is_some() || !self.content.words().is_empty())
    }

    /// True for an answer that was said before. The CLI writes its history down once more when it resumes a session, and, since
    /// 0.57 under new ids, when a turn is stopped: only what it writes first names its model.
    pub(super) fn is_copied(&self) -> bool {
        let names_no_model = self.row.model.is_none() || self.restored.contains(&"model");
        // One in which nothing is said is no copy of anything: the CLI writes such where the model has said nothing.
        let is_empty = self.content.is_silent() && self.call_ids().next().is_none();
        self.role() == Role::Assistant && names_no_model && !is_empty
    }

    /// True where it says or does something: a person's words or files, an answer, a call. What the CLI's own start-up
    /// leaves behind is not that.
    ///
    /// `has_words` tells whether a person's words are in it ([`Entry::persons_words`]): who asks has them already.
    pub(super) fn is_substance(&self, has_words: bool) -> bool {
        match self.role() {
            Role::User => has_words || self.content.has_attachment(),
            Role::Assistant => true,
            Role::System => false,
        }
    }
}

impl<'a> Entry<'a> {
    /// Takes over the calls of an earlier record that this one does not make. True where there were some.
    fn carry_calls(&mut self, earlier: &Self) -> bool {
        let listed = &self.row.tool_calls.items;
        let is_listed = |call: &Call<'a>| match string(call.id) {
            Some(id) => listed.iter().any(|mine| string(mine.id).as_ref() == Some(&id)),
            None => !listed.is_empty(),
        };
        let lacking = earlier.row.tool_calls.items.iter().filter(|call| !is_listed(call));
        let lacking: Vec<Call<'a>> = lacking.cloned().collect();
        let took = !lacking.is_empty();
        self.row.tool_calls.items.extend(lacking);
        let mine: Vec<Cow<'a, str>> = self.call_ids().collect();
        let is_new =
            |call: &&FunctionCall<'a>| string(call.id).is_some_and(|id| !mine.contains(&id));
        let named: Vec<FunctionCall<'a>> = earlier.in_parts().filter(is_new).cloned().collect();
        let took = took || !named.is_empty();
        self.named.extend(named);
        took
    }
}

/// True where a text is nothing but context that the CLI wrote in the person's name.
///
/// ```
/// use pollux_agent::gemini::transcript::is_context;
///
/// assert!(is_context("<session_context>\nToday is Sunday.\n</session_context>"));
/// assert!(!is_context("<hook_context>be brief</hook_context> hello"));
/// ```
pub fn is_context(text: &str) -> bool {
    !text.trim().is_empty() && without_context(text).is_empty()
}

/// True where a text begins with the CLI's words on where it is, whatever follows them.
pub(super) fn begins_with_context(text: &str) -> bool {
    opened(text, CONTEXT).is_some()
}

/// The text without the context that the CLI put in front of it, trimmed.
pub(in crate::gemini) fn without_context(text: &str) -> &str {
    let mut rest = text.trim();
    while let Some(after) = TAGS.iter().find_map(|tag| after_tag(rest, tag)) {
        rest = after.trim_start();
    }
    rest
}

/// What follows `<tag>` at the start of a text.
fn opened<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    text.strip_prefix('<')?.strip_prefix(tag)?.strip_prefix('>')
}

/// What follows `<tag>…</tag>` at the start of a text; an unclosed tag takes all.
fn after_tag<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let inner = opened(text, tag)?;
    Some(inner.split_once(&format!("</{tag}>")).map_or("", |(_, after)| after))
}

impl Item for Entry<'_> {
    fn carry(&mut self, earlier: &Self) {
        // Under one id, but somebody else's: there is nothing that this record lost.
        if self.role() != earlier.role() {
            return;
        }
        let took_calls = self.carry_calls(earlier);
        let (row, old) = (&mut self.row, &earlier.row);
        let mut take = |lost: bool, had: bool, field: &'static str| {
            let take = lost && had;
            // Taken over once more, it is still the earlier record that has it.
            let is_restored = take || (earlier.restored.contains(&field) && lost);
            if is_restored && !self.restored.contains(&field) {
                self.restored.push(field);
            }
            take
        };
        take(took_calls, true, "tool_calls");
        if take(row.thoughts.items.is_empty(), !old.thoughts.items.is_empty(), "thoughts") {
            row.thoughts = old.thoughts.clone();
        }
        if take(row.tokens.is_none(), old.tokens.is_some(), "usage") {
            row.tokens.clone_from(&old.tokens);
        }
        if take(row.model.is_none(), old.model.is_some(), "model") {
            row.model = old.model;
        }
        // A checkpoint that gives a message a new id also gives it the time of the checkpoint.
        let renamed = string(row.id) != string(old.id) || earlier.restored.contains(&"timestamp");
        if take(renamed, old.timestamp.is_some(), "timestamp") {
            row.timestamp = old.timestamp;
        }
    }

    fn continues(&self, earlier: &Self) -> bool {
        let calls = |entry: &Self| entry.call_ids().collect::<Vec<_>>();
        let (mine, theirs) = (calls(self), calls(earlier));
        if self.role() != earlier.role() || mine.is_empty() != theirs.is_empty() {
            return false;
        }
        if !mine.is_empty() {
            return mine.iter().any(|id| theirs.contains(id));
        }
        let words = self.content.words();
        !words.trim().is_empty() && words.trim() == earlier.content.words().trim()
    }
}
