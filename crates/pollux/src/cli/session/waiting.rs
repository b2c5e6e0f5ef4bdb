//! `pollux wait`.

use crate::api::{Events, Summary};
use crate::cli::complete::ids;
use crate::cli::live::answer::EXPLAINED;
use crate::cli::live::send::{LATE, exit, or_leave, with_answer};
use crate::cli::live::tell::{BROKEN_OFF, Rest, is_news};
use crate::client::{Client, Until, Waited, comes, escaped, wait};
use crate::config::Config;
use crate::render::clean;
use crate::report;
use clap::ValueEnum;
use clap_complete::ArgValueCompleter;
use pollux_agent::gemini::terminal::is_prompt;
use pollux_agent::model::{Event, EventKind, Failure, Part, StopReason};
use pollux_agent::session::Reply;
use serde::Deserialize;
use serde_json::Value;
use std::process::ExitCode;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Wait until a session is idle, has a question, or has ended
///
/// Without `--for`, returns when the session reaches any of these states. With `--for`, other states do not end the wait,
/// except that a session that ends always does (exit code 11). Prints `idle`, `question`, `exit` or `timeout`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 idle, 10 question, 11 ended, 12 timed out, 1 rejected, 2 failed."
)]
pub(crate) struct Wait {
    /// Session ID, unique prefix, or `latest` (the most recently active session, preferably a running one)
    #[arg(add = ArgValueCompleter::new(ids))]
    session: String,
    /// State to wait for; repeat the flag to accept several (default: any state)
    #[arg(long = "for", value_name = "WHAT")]
    what: Vec<What>,
    /// Give up after this time, e.g. 90s, 10m or 1h
    #[arg(long, value_parser = crate::cli::run::duration)]
    timeout: Option<Duration>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    /// The agent is idle: the turn is over, even if it failed
    Idle,
    /// The agent asks a question
    Question,
    /// The session has ended
    Exit,
}

const ANY: &[Until] = &[Until::Idle, Until::Question, Until::Exit];

pub(super) async fn run(args: Wait, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config).await?;
    let session = client.session(&args.session).await?.id;
    let until: Vec<Until> = args
        .what
        .iter()
        .map(|what| match what {
            What::Idle => Until::Idle,
            What::Question => Until::Question,
            What::Exit => Until::Exit,
        })
        .collect();
    let until = if until.is_empty() { ANY } else { &until };
    let waiting = wait(&client, &session, until);
    let waited = match args.timeout {
        Some(most) => tokio::time::timeout(most, waiting).await.ok().transpose()?,
        None => Some(waiting.await?),
    };
    let (word, code) = match waited {
        Some(Waited::Came(until)) => code(until),
        None => ("timeout", 12),
        Some(Waited::Gone) => return Err(client.gone().into()),
    };
    if args.json {
        report::json(&serde_json::json!({ "session": session, "came": word }))?;
    } else {
        report::text(&format!("{word}\n"))?;
    }
    Ok(ExitCode::from(code))
}

fn code(until: Until) -> (&'static str, u8) {
    match until {
        Until::Idle => ("idle", 0),
        Until::Question => ("question", 10),
        Until::Exit => ("exit", 11),
    }
}

/// What was asked of the agent, by which what came of it is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Own<'o> {
    /// The prompt: what was said before its turn is the answer to another one.
    pub prompt: Option<&'o str>,
    /// An answer with a reason, which may be the next prompt.
    pub explained: bool,
}

/// What is printed in one object with what came of it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Object<'o> {
    /// What the daemon said to a command.
    Reply(&'o Reply),
    /// The session, as it is then.
    Session,
}

impl Object<'_> {
    async fn with(
        self,
        client: &Client,
        id: &str,
        rest: Rest,
        answer: &str,
    ) -> anyhow::Result<Value> {
        match self {
            Self::Reply(reply) => with_answer(reply, rest, answer),
            Self::Session => with_answer(&client.session(id).await?, rest, answer),
        }
    }
}

/// Waits until there is nothing more to do without a person, and prints what the agent said since, and what it asks: with
/// `asked`, all in one object.
pub(super) async fn until_idle(
    client: &Client,
    before: &Summary,
    own: Own<'_>,
    asked: Option<Object<'_>>,
) -> anyhow::Result<ExitCode> {
    let waiting = at_rest(client, &before.id, before.seq, own);
    let Some((until, mut since)) = or_leave(&before.id, waiting).await? else {
        return Ok(ExitCode::from(130));
    };
    if until == Until::Idle && is_held(client, &before.id, own.prompt).await? {
        since = Since { ended: Some(StopReason::Cancelled), ..Since::default() };
        let resume = format!("send it with `pollux queue {} --continue`", before.id);
        report::note(&format!(
            "the previous turn was stopped, so the prompt stays queued; {resume}"
        ));
    }
    let rest = match (until, since.ended) {
        // After a turn that failed or was stopped the agent is idle too.
        (Until::Idle, Some(reason)) => Rest::Done(reason),
        (Until::Idle, None) => Rest::Idle,
        (Until::Question, _) => Rest::Asked,
        (Until::Exit, _) => Rest::Exited,
    };
    if since.broken_off().is_some() {
        report::quiet(BROKEN_OFF);
    }
    if let Some(asked) = asked {
        report::json(&asked.with(client, &before.id, rest, &since.text()).await?)?;
    } else {
        if let Some(said) = since.text().strip_suffix('\n') {
            report::answer(said)?;
        }
        if until == Until::Question {
            super::answer::note(&client.session(&before.id).await?)?;
        }
    }
    if let Some(failure) = &since.failure {
        report::failure(failure);
    }
    if until == Until::Exit
        && let Some(why) = super::ended::why(client, &client.session(&before.id).await?).await?
    {
        report::warn(&clean(&why));
    }
    Ok(if until == Until::Idle { exit(rest) } else { ExitCode::from(code(until).1) })
}

/// Whether a prompt is held back, because the turn before it was stopped: then nothing of what was said is the answer to it.
async fn is_held(client: &Client, session: &str, prompt: Option<&str>) -> anyhow::Result<bool> {
    let Some(prompt) = prompt else { return Ok(false) };
    let queue = client.session(session).await?.queue;
    Ok(queue.iter().any(|queued| queued.text == prompt))
}

/// Waits for a rest, and gives what happened until then.
async fn at_rest(
    client: &Client,
    session: &str,
    after: u64,
    own: Own<'_>,
) -> anyhow::Result<(Until, Since)> {
    let late = Instant::now() + EXPLAINED;
    let mut heard_out = None;
    loop {
        let Waited::Came(until) = wait(client, session, ANY).await? else {
            return Err(client.gone().into());
        };
        let at = client.session(session).await?;
        let since = since(client, session, after, own.prompt).await?;
        let (kind, late) = match since.ended.filter(|_| until == Until::Idle) {
            // An answer that has ended the turn: its reason is the next prompt, which is on its way.
            Some(StopReason::Cancelled) if own.explained => ("turn_started", late),
            // The end of a turn may be seen before the file has its words.
            Some(StopReason::EndTurn) if since.said.is_empty() => {
                ("message_recorded", *heard_out.get_or_insert_with(|| Instant::now() + LATE))
            }
            _ => return Ok((until, since)),
        };
        if timeout_at(late, comes(client, session, (at.seq, at.epoch), kind)).await.is_err() {
            return Ok((until, since));
        }
    }
}

#[derive(Deserialize)]
struct Told<'e> {
    #[serde(rename = "type")]
    kind: &'e str,
    #[serde(default)]
    message: Option<Message>,
    #[serde(default)]
    changed: bool,
    #[serde(default)]
    stop_reason: Option<StopReason>,
    #[serde(default)]
    prompt: Option<String>,
    /// Of a text that grew.
    #[serde(default)]
    part: Option<Part>,
    #[serde(default)]
    text: Option<String>,
}

/// A message, as far as it matters here.
#[derive(Deserialize)]
struct Message {
    id: String,
    role: String,
    content: Value,
    #[serde(default)]
    copied: bool,
}

/// What happened after an event.
#[derive(Default)]
struct Since {
    /// What the agent said: each message as it was recorded last.
    said: Vec<(String, String)>,
    /// How the last turn ended.
    ended: Option<StopReason>,
    failure: Option<Box<Failure>>,
    /// What was seen to be said since the last message.
    seen: String,
    /// The prompt whose turn it is about.
    own: Option<String>,
    /// That turn has begun, and then another one: what is said now is the answer to that.
    place: Place,
}

/// Where something happened.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Before,
    Within,
    After,
}

async fn since(
    client: &Client,
    session: &str,
    mut after: u64,
    own: Option<&str>,
) -> anyhow::Result<Since> {
    let mut since = Since { own: own.map(str::to_owned), ..Since::default() };
    loop {
        let path = format!("/api/v1/sessions/{}/events?after={after}&limit=500", escaped(session));
        let page: Events = client.get(&path).await?;
        let Some(last) = page.events.last() else { return Ok(since) };
        after = last.seq;
        for event in &page.events {
            let json = event.event.get();
            // What is said is printed to its end.
            if !event.cut.is_empty() && json.contains("message_recorded") {
                since.event(&client.event(session, event.seq).await?);
            } else {
                since.event(json);
            }
        }
    }
}

impl Since {
    fn event(&mut self, json: &str) {
        let Ok(told) = serde_json::from_str::<Told<'_>>(json) else { return };
        if self.place == Place::After {
            return;
        }
        match told {
            Told { kind: "text_grew", part: Some(Part::Text), text: Some(text), .. } => {
                self.seen.push_str(&text);
            }
            Told { kind: "message_recorded", message: Some(message), changed, .. } => {
                self.recorded(message, changed);
            }
            Told { kind: "turn_started", prompt, .. } => self.began(&prompt.unwrap_or_default()),
            Told { kind: "turn_ended", stop_reason: Some(reason), .. } => {
                self.ended = Some(reason);
                self.failure = failure(json);
            }
            _ => {}
        }
    }

    fn began(&mut self, prompt: &str) {
        let is_own = self.own.as_ref().is_some_and(|own| is_prompt(prompt, own));
        self.place = match self.place {
            Place::Before if is_own => Place::Within,
            Place::Within => Place::After,
            place => place,
        };
        if self.place != Place::After {
            (self.ended, self.failure) = (None, None);
            self.seen.clear();
        }
        if is_own {
            self.said.clear();
        }
    }

    fn recorded(&mut self, message: Message, changed: bool) {
        let known = self.said.len();
        self.said.retain(|(id, _)| *id != message.id);
        // One that is only changed, or copied, was said before.
        let old = (changed || message.copied) && self.said.len() == known;
        if message.role != "assistant" || old {
            return;
        }
        if message.content.as_array().is_some_and(|blocks| !blocks.is_empty()) {
            self.seen.clear();
        }
        self.said.push((message.id, words(&message.content)));
    }

    /// What was seen of an answer that is written down nowhere: an agent that keeps no file has said it all the same.
    fn only_seen(&self) -> Option<&str> {
        let over = self.ended.is_some_and(|reason| reason != StopReason::Cancelled);
        (over && self.said.is_empty()).then_some(&*self.seen)
    }

    /// What was seen of an answer whose turn was stopped in the middle of it: the agent keeps nothing of that.
    fn broken_off(&self) -> Option<&str> {
        let stopped = self.ended == Some(StopReason::Cancelled);
        let news = stopped && is_news(&self.seen, self.said.iter().map(|(_, text)| text));
        news.then_some(&*self.seen)
    }

    fn text(&self) -> String {
        let lines = self.said.iter().map(|(_, text)| text.as_str()).chain(self.broken_off());
        let lines = lines.chain(self.only_seen());
        let lines: Vec<&str> = lines.map(str::trim).filter(|text| !text.is_empty()).collect();
        if lines.is_empty() { String::new() } else { format!("{}\n", lines.join("\n")) }
    }
}

/// Why a turn failed, if it did.
fn failure(ended: &str) -> Option<Box<Failure>> {
    match Event::from_json(ended).ok()?.kind {
        EventKind::TurnEnded { error, .. } => error,
        _ => None,
    }
}

fn words(content: &Value) -> String {
    if let Value::String(text) = content {
        return text.clone();
    }
    let blocks = content.as_array().into_iter().flatten();
    let texts = blocks.filter(|block| block["type"] == "text");
    texts.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}
