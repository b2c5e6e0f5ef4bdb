//! The sums of a session: what a list of sessions and the statistics need, taken without keeping the messages.

use super::Diagnostic;
use super::document::{self, Field};
use super::entry::Entry;
use super::history::Item;
use super::replay::Replay;
use super::seen::hash;
use super::short::{MARK, Short, Spare};
use super::spent;
pub use super::spent::{QUARTER_HOUR_MS, Spent};
use super::translate::{string, time, usage};
use super::whole::{Format, text};
use super::wire::{Call, FunctionCall, Glance, Json, Row, Thought};
use crate::gemini::tools;
use crate::model::{Role, Usage};
use foldhash::fast::RandomState;
use memchr::memmem;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufRead};

/// How long a title may be, in characters.
const TITLE_LENGTH: usize = 200;
/// How much of a text is looked at for a title, in bytes.
const OPENING_LENGTH: usize = 16 * TITLE_LENGTH;

/// The sums of one session file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the ways in which a session can be empty")]
pub struct Digest {
    /// How it is written.
    pub format: Format,
    /// The session's id.
    pub session_id: Option<String>,
    /// SHA-256 of the project's path.
    pub project_hash: Option<String>,
    /// `main` or `subagent`.
    pub kind: Option<String>,
    /// What it is about, in the model's words.
    pub summary: Option<String>,
    /// The first words that a person wrote: of those that stand, or, where none stands, of all.
    pub first_words: Option<String>,
    /// The first start, in milliseconds since 1970.
    pub started_at: Option<i64>,
    /// The last change, in milliseconds since 1970.
    pub updated_at: Option<i64>,
    /// How many messages stand.
    pub messages: u64,
    /// True where a person or the model has said something that stands.
    pub substance: bool,
    /// True where the model had answered, and nothing that was said stands any more.
    pub overwritten: bool,
    /// True where a person had said something that was taken back before an answer came: a prompt that failed.
    pub taken_back: bool,
    /// True where something is said in it that this version cannot read: a type or a content that it does not know.
    pub unread: bool,
    /// The model of the newest answer.
    pub model: Option<String>,
    /// What the newest answer left in the model's context, in tokens.
    pub context: Option<u64>,
    /// What was spent, by quarter of an hour and model: each answer once, whether or not it still stands.
    pub spent: Vec<Spent>,
    /// The calls of each tool, each call once.
    pub tools: BTreeMap<String, Calls>,
    /// What was skipped, and why.
    pub diagnostics: Vec<Diagnostic>,
}

/// The calls of one tool.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Calls {
    /// All of them.
    pub calls: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that somebody stopped.
    pub cancelled: u64,
}

impl Digest {
    /// What it is about: the summary, or the first words.
    pub fn title(&self) -> Option<&str> {
        self.summary.as_deref().or(self.first_words.as_deref())
    }

    /// True where nobody has ever said anything that can be seen.
    pub fn is_empty(&self) -> bool {
        !self.substance && !self.overwritten && !self.taken_back && !self.unread
    }

    /// True for what a start of the CLI leaves when nobody says anything. Only what was understood to its last record is
    /// one: it is moved out of the way, and what cannot be read may be somebody's conversation. It need not say whose it is: the CLI
    /// makes one anew that was moved, by the next line that it has for it.
    pub fn is_stub(&self) -> bool {
        self.format == Format::Jsonl && self.diagnostics.is_empty() && self.is_empty()
    }

    /// Takes over what was spent on answers that only another file of the same session has.
    pub(super) fn join_spent(&mut self, other: &Self) {
        spent::join(&mut self.spent, &other.spent);
    }

    /// All that was spent.
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        self.spent.iter().for_each(|spent| sum += spent.usage);
        sum
    }
}

/// Takes the sums of a session file that is in memory.
pub fn digest(text: &str) -> Digest {
    digest_with(text, &mut Spare::default())
}

/// The same for one file of many: what one needed in memory serves the next.
pub(super) fn digest_with(text: &str, spare: &mut Spare) -> Digest {
    if let Some(short) = Short::of(text, spare) {
        let mut replay = Replay::default();
        let format = replay.skim(short.text(), &mut |row, _| Brief::of_short(row, &short));
        // What was skipped is told with its place, which is another one in the short text.
        let digest = replay.diagnostics.is_empty().then(|| sum(&replay, format));
        *spare = short.spare();
        if let Some(digest) = digest {
            return digest;
        }
    }
    digest_whole(text)
}

/// The same, with every text read: what [`digest`] must agree with.
pub(super) fn digest_whole(text: &str) -> Digest {
    let mut replay = Replay::default();
    replay.read(text, &mut |row, _| Brief::new(row));
    sum(&replay, Format::of(text))
}

/// Takes the sums of a session file of the new format while reading it, holding one line at a time.
pub fn digest_lines(mut reader: impl BufRead) -> io::Result<Digest> {
    let mut replay = Replay::default();
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        if reader.read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        let is_last = !bytes.ends_with(b"\n");
        replay.line(&text(&bytes), number, is_last, &mut |row, _| Brief::new(row));
    }
    Ok(sum(&replay, Format::Jsonl))
}

/// Takes the sums of a session file of the old format while reading it, holding one message at a time.
pub fn digest_document(mut reader: impl BufRead) -> Digest {
    if reader.fill_buf().is_ok_and(|begun| begun.starts_with("\u{feff}".as_bytes())) {
        reader.consume("\u{feff}".len());
    }
    let mut replay = Replay::default();
    let mut head: Vec<(String, Box<RawValue>)> = Vec::new();
    let mut position = 0;
    let mut deserializer = serde_json::Deserializer::from_reader(document::mended(reader));
    let read = document::read(&mut deserializer, &mut |field: Field<
        Box<RawValue>,
        Box<RawValue>,
    >| match field {
        Field::Message(raw) => {
            position += 1;
            replay.message(raw.get(), position, &mut |row, _| Brief::new(row));
        }
        Field::Head(key, raw) => head.push((key, raw)),
    });
    let mut row = Row::<Call<'_>>::default();
    for (key, raw) in &head {
        document::set(&mut row, key, raw);
    }
    replay.head(&row);
    if let Err(error) = read {
        replay.cut(&error);
    }
    sum(&replay, Format::Json)
}

/// What the sums need of one message.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts about a record, each by itself")]
struct Brief {
    role: Role,
    is_substance: bool,
    is_unread: bool,
    /// True where nothing is said in it, responses to calls apart.
    is_silent: bool,
    /// True where it has thoughts that say something, false where they do not, none where it has none.
    thinks: Option<bool>,
    words: Option<String>,
    model: Option<String>,
    usage: Option<Usage>,
    at: Option<i64>,
    /// True where the model is named in it, or was in an earlier record of it: the CLI names none in what it writes again.
    is_first_hand: bool,
    /// True where there was an earlier record of it.
    is_known: bool,
    /// The calls in `toolCalls`.
    listed: Vec<Called>,
    /// The calls in the content, which a checkpoint leaves where it drops the others.
    in_parts: Vec<Called>,
    /// The calls that it answers; zero where it does not say which.
    responses: Vec<u64>,
}

#[derive(Debug, Clone)]
struct Called {
    id: u64,
    name: String,
    failed: bool,
    cancelled: bool,
}

impl Brief {
    /// The calls, each once.
    fn calls(&self) -> impl Iterator<Item = &Called> {
        let is_listed = |call: &&Called| self.listed.iter().any(|listed| listed.id == call.id);
        self.listed.iter().chain(self.in_parts.iter().filter(move |call| !is_listed(call)))
    }

    /// The same out of a text from which long strings are missing. What a person wrote is the only one that is needed.
    fn of_short<'a>(row: Row<'a, Glance<'a>>, short: &'a Short<'_>) -> Self {
        let entry = Entry::new(row, "");
        let is_marked = |json: Json<'a>| {
            json.is_some_and(|raw| memmem::find(raw.get().as_bytes(), MARK.as_bytes()).is_some())
        };
        let is_needed = is_marked(entry.row.display_content)
            || entry.role() == Role::User
                && is_marked(entry.row.content)
                && entry.content.words().contains(MARK);
        if !is_needed {
            return Self::of(&entry);
        }
        let whole = |json: Json<'a>| json.and_then(|raw| short.whole(raw));
        let mut row = entry.row;
        row.content = whole(row.content);
        row.display_content = whole(row.display_content);
        Self::new(row)
    }

    fn new<'a>(row: Row<'a, Glance<'a>>) -> Self {
        Self::of(&Entry::new(row, ""))
    }

    fn of<'a>(entry: &Entry<'a, Glance<'a>>) -> Self {
        let answers = entry.content.parts().filter_map(|part| part.function_response.as_ref());
        let responses = answers.map(|response| string(response.id).map_or(0, hash)).collect();
        let words = entry.persons_words();
        let row = &entry.row;
        Self {
            role: entry.role(),
            is_substance: entry.is_substance(words.is_some()),
            is_unread: entry.is_unread(),
            is_silent: entry.content.is_silent(),
            thinks: thinks(&row.thoughts.items),
            model: string(row.model).map(std::borrow::Cow::into_owned),
            usage: row.tokens.as_ref().filter(|tokens| tokens.read).map(usage),
            at: time(row.timestamp),
            is_first_hand: row.model.is_some(),
            is_known: false,
            listed: listed(entry),
            in_parts: in_parts(entry),
            words: words.map(opening),
            responses,
        }
    }
}

fn thinks(thoughts: &[Thought<'_>]) -> Option<bool> {
    let says = |thought: &Thought<'_>| match (string(thought.subject), string(thought.description))
    {
        // With a colon between them, at least.
        (Some(subject), Some(_)) if !subject.is_empty() => true,
        (subject, description) => {
            description.or(subject).is_some_and(|says| !says.trim().is_empty())
        }
    };
    (!thoughts.is_empty()).then(|| thoughts.iter().any(|thought| thought.read && says(thought)))
}

fn listed<'a>(entry: &Entry<'a, Glance<'a>>) -> Vec<Called> {
    let calls = entry.row.tool_calls.items.iter().filter(|call| call.read);
    let called = |call: &Glance<'a>| {
        let display = string(call.display_name);
        let status = string(call.status);
        Called {
            id: string(call.id).map_or(0, hash),
            name: claude_name(call.name, display.as_deref()),
            failed: status.as_deref() == Some("error"),
            cancelled: matches!(status.as_deref(), Some("cancelled" | "canceled")),
        }
    };
    calls.map(called).collect()
}

fn in_parts<'a>(entry: &Entry<'a, Glance<'a>>) -> Vec<Called> {
    let calls = entry.content.parts().filter_map(|part| part.function_call.as_ref());
    let called = |call: &FunctionCall<'a>| Called {
        id: string(call.id).map_or(0, hash),
        name: claude_name(call.name, None),
        failed: false,
        cancelled: false,
    };
    calls.filter(|call| call.read).map(called).collect()
}

fn claude_name(name: Json<'_>, display: Option<&str>) -> String {
    string(name).map(|name| tools::claude_name(name, display).into_owned()).unwrap_or_default()
}

/// As much of a person's words as a title can need. Nobody reads more of it, and a prompt may be a whole file.
fn opening(mut words: String) -> String {
    if words.len() > OPENING_LENGTH {
        words.truncate(words.floor_char_boundary(OPENING_LENGTH));
        words.shrink_to_fit();
    }
    words
}

/// Words as a title: one line, of a bearable length.
fn title(words: &str) -> String {
    let begun = words.get(..words.floor_char_boundary(OPENING_LENGTH)).unwrap_or(words);
    let mut line = begun.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(TITLE_LENGTH) {
        line.truncate(end);
        line.push('…');
    }
    line
}

impl Item for Brief {
    fn carry(&mut self, earlier: &Self) {
        if self.role != earlier.role {
            return;
        }
        self.is_known = true;
        self.is_first_hand |= earlier.is_first_hand;
        self.usage = self.usage.or(earlier.usage);
        self.thinks = self.thinks.or(earlier.thinks);
        if self.model.is_none() {
            self.model.clone_from(&earlier.model);
        }
        let is_listed = |call: &&Called| match call.id {
            0 => !self.listed.is_empty(),
            id => self.listed.iter().any(|mine| mine.id == id),
        };
        let lacking: Vec<Called> =
            earlier.listed.iter().filter(|call| !is_listed(call)).cloned().collect();
        self.listed.extend(lacking);
        let is_mine = |call: &&Called| self.calls().any(|mine| mine.id == call.id);
        let named = earlier.in_parts.iter().filter(|call| call.id != 0 && !is_mine(call));
        let named: Vec<Called> = named.cloned().collect();
        self.in_parts.extend(named);
    }

    fn renew(&mut self, earlier: &Self) {
        self.carry(earlier);
        // A copy has the time at which it was made.
        self.at = earlier.at.or(self.at);
    }

    /// The sums are over all that was ever written, so it matters only for what would be counted twice: an answer that is
    /// written again with its tokens. One that was written first-hand, and stands, is none.
    fn continues(&self, earlier: &Self) -> bool {
        let may_copy = !self.is_first_hand || !self.is_known;
        let same_calls = match self.calls().next() {
            None => earlier.calls().next().is_none(),
            Some(_) => self.calls().any(|mine| earlier.calls().any(|call| call.id == mine.id)),
        };
        may_copy
            && self.role == Role::Assistant
            && earlier.role == Role::Assistant
            && self.usage.is_some()
            && self.usage == earlier.usage
            && (self.model.is_none() || self.model == earlier.model)
            && same_calls
    }
}

fn sum(replay: &Replay<Brief>, format: Format) -> Digest {
    let mut ever: Vec<(&str, &Brief)> = replay.history.iter().collect();
    ever.extend(replay.lost.iter().map(|(id, brief)| (id.as_ref(), brief)));
    ever.sort_by_cached_key(|(id, _)| replay.first_seen.get(*id));
    let standing = || replay.history.iter().map(|(_, brief)| brief);
    let all = || ever.iter().map(|(_, brief)| *brief);
    let substance = standing().any(|brief| brief.is_substance);
    let newest = standing().filter(|brief| brief.usage.is_some()).last();
    let newest = newest.or_else(|| all().rfind(|brief| brief.usage.is_some()));
    let words = |mut briefs: Box<dyn Iterator<Item = &Brief> + '_>| {
        briefs.find_map(|brief| brief.words.as_deref().map(title))
    };
    let summary = replay.meta.summary.as_deref().map(title).filter(|summary| !summary.is_empty());
    Digest {
        format,
        session_id: replay.meta.session_id.clone(),
        project_hash: replay.meta.project_hash.clone(),
        kind: replay.meta.kind.clone(),
        summary,
        first_words: words(Box::new(standing())).or_else(|| words(Box::new(all()))),
        started_at: replay.meta.started_at.or_else(|| all().find_map(|brief| brief.at)),
        updated_at: replay.meta.updated_at.max(all().filter_map(|brief| brief.at).max()),
        messages: standing_messages(replay),
        substance,
        overwritten: !substance && all().any(|brief| brief.role == Role::Assistant),
        taken_back: !substance && all().any(|brief| brief.words.is_some()),
        unread: all().any(|brief| brief.is_unread),
        model: newest
            .and_then(|brief| brief.model.clone())
            .or_else(|| all().rev().find_map(|brief| brief.model.clone())),
        context: newest.and_then(|brief| brief.usage).map(|usage| usage.total_tokens),
        spent: spent(ever.iter().copied()),
        tools: tool_calls(all()),
        diagnostics: replay.diagnostics.clone(),
    }
}

/// As many as [`Transcript::messages`](super::Transcript::messages) gives.
fn standing_messages(replay: &Replay<Brief>) -> u64 {
    let briefs = || replay.history.iter().map(|(_, brief)| brief);
    let mut known: Vec<u64> = briefs()
        .flat_map(|brief| brief.calls().map(|call| call.id))
        .filter(|id| *id != 0)
        .collect();
    known.sort_unstable();
    let folded = |brief: &&Brief| {
        brief.is_silent
            && brief.thinks != Some(true)
            && brief.calls().next().is_none()
            && !brief.responses.is_empty()
            && brief.responses.iter().all(|id| known.binary_search(id).is_ok())
    };
    briefs().filter(|brief| !folded(brief)).count() as u64
}

fn spent<'b>(ever: impl Iterator<Item = (&'b str, &'b Brief)>) -> Vec<Spent> {
    let mut sums: BTreeMap<(i64, &str), Spent> = BTreeMap::new();
    for (id, brief) in ever.filter(|(_, brief)| brief.role == Role::Assistant) {
        let Some(usage) = brief.usage else { continue };
        let quarter = brief.at.unwrap_or(0).div_euclid(QUARTER_HOUR_MS);
        let model = brief.model.as_deref().unwrap_or_default();
        let sum = sums.entry((quarter, model)).or_insert_with(|| Spent::new(quarter, model));
        sum.add(id, usage);
    }
    sums.into_values().collect()
}

fn tool_calls<'b>(briefs: impl Iterator<Item = &'b Brief>) -> BTreeMap<String, Calls> {
    let mut seen: HashSet<u64, RandomState> = HashSet::default();
    let mut tools: BTreeMap<String, Calls> = BTreeMap::new();
    for call in briefs.flat_map(Brief::calls).filter(|call| call.id == 0 || seen.insert(call.id)) {
        let tool = tools.entry(call.name.clone()).or_default();
        tool.calls += 1;
        tool.failed += u64::from(call.failed);
        tool.cancelled += u64::from(call.cancelled);
    }
    tools
}
