//! What steers a session: the agent's own handle, or the daemon that drives it.

use super::frame::BAD_PARAMS;
use super::joined;
use super::lines::Wrong;
use crate::api::{Image, Kept};
use crate::client::{Client, GONE};
use crate::trouble::Trouble;
use pollux_agent::acp::{Control, Prompt};
use pollux_agent::gemini::mention::mention;
use pollux_agent::model::{Failure, Mode, Phase};
use pollux_agent::session::{Command, Done, Reply};
use reqwest::Url;
use serde_json::Value;

/// What steers a session.
#[derive(Debug, Clone)]
pub(super) enum Steer {
    /// An agent of ours.
    Own(Control),
    /// A session of the daemon, by its id there.
    Joined(Client, String),
}

/// Whether a prompt is worked on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is.
    Now,
    /// Another client's prompt is: send this one again when that turn has ended.
    Later,
}

impl Steer {
    pub(super) async fn prompt(&self, blocks: Vec<Value>) -> Result<Taken, Wrong> {
        match self {
            Self::Own(control) => match control.prompt(Prompt::of(blocks)).await {
                Ok(()) => Ok(Taken::Now),
                Err(failure) if failure.code == "busy" => Ok(Taken::Later),
                Err(failure) => Err(failure.into()),
            },
            Self::Joined(client, id) => prompted(client, id, &blocks).await,
        }
    }

    pub(super) async fn cancel(&self) -> Result<(), Wrong> {
        match self {
            Self::Own(control) => Ok(control.cancel().await?),
            Self::Joined(client, id) => told(client, id, Command::Interrupt).await,
        }
    }

    pub(super) async fn answer(&self, question: &str, choice: &str) -> Result<(), Wrong> {
        match self {
            Self::Own(control) => Ok(control.answer(question, choice, None).await?),
            Self::Joined(client, id) => {
                let (question_id, choice) = (question.to_owned(), choice.to_owned());
                let answer = Command::Answer { question_id, choice, reason: None, shown: None };
                told(client, id, answer).await
            }
        }
    }

    /// Another mode, by our name or by one of the agent's own.
    pub(super) async fn set_mode(&self, name: &str) -> Result<(), Wrong> {
        match (self, Mode::named(name)) {
            (Self::Own(control), Some(mode)) => Ok(control.set_mode(mode).await?),
            (Self::Own(control), None) => Ok(control.set_mode_id(name).await?),
            (Self::Joined(client, id), Some(mode)) => {
                told(client, id, Command::Mode { mode, seconds: None }).await
            }
            (Self::Joined(..), None) => {
                Err(Wrong::new(BAD_PARAMS, &format!("unknown mode `{name}`")))
            }
        }
    }

    pub(super) async fn set_model(&self, model: &str) -> Result<(), Wrong> {
        match self {
            Self::Own(control) => Ok(control.set_model(model).await?),
            Self::Joined(client, id) => {
                told(client, id, Command::Model { model: model.to_owned() }).await
            }
        }
    }
}

async fn told(client: &Client, id: &str, command: Command) -> Result<(), Wrong> {
    client.command(id, command).await.map_err(refused)?;
    Ok(())
}

/// Why the daemon did not do it. Where it did not say why, it is not there.
fn refused(error: anyhow::Error) -> Wrong {
    let said = error.downcast_ref::<Trouble>().is_some_and(|trouble| trouble.code != GONE);
    if said { error.into() } else { joined::gone().into() }
}

/// A prompt for a session of the daemon. One that would wait there waits here: the editor hears when its own is worked on.
async fn prompted(client: &Client, id: &str, blocks: &[Value]) -> Result<Taken, Wrong> {
    let (mut text, mut images) = (Vec::new(), Vec::new());
    for block in blocks {
        if block["type"] == "image" {
            let word = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
            let image = Image { media_type: word("mimeType"), data: word("data") };
            let kept: Kept = client.post("/api/v1/images", &image).await.map_err(refused)?;
            images.push(kept.name);
        } else {
            text.push(words(block)?);
        }
    }
    let text = text.join("\n\n");
    if text.trim().is_empty() && images.is_empty() {
        return Err(Failure::new(Phase::Start, "no_prompt", "the prompt is empty").into());
    }
    let reply = client.command(id, Command::Prompt { text, images }).await.map_err(refused)?;
    if let Reply::Done(Done::Queued { id: queued, .. }) = reply {
        // It may have been begun by now; then that is our turn after all.
        let taken_back = client.command(id, Command::Cancel { queued }).await;
        return Ok(if taken_back.is_ok() { Taken::Later } else { Taken::Now });
    }
    Ok(Taken::Now)
}

/// A block of a prompt as words: the daemon takes those, and pictures. What cannot be said is refused, and not left out.
fn words(block: &Value) -> Result<String, Wrong> {
    let kind = block["type"].as_str().unwrap_or_default();
    let said = match kind {
        "text" => block["text"].as_str().map(str::to_owned),
        "resource_link" => block["uri"].as_str().map(named),
        "resource" => {
            let resource = &block["resource"];
            let uri = resource["uri"].as_str().unwrap_or_default();
            resource["text"].as_str().map(|text| format!("{uri}\n\n{text}"))
        }
        _ => None,
    };
    said.ok_or_else(|| {
        let message = format!("a session run by the daemon does not accept `{kind}` blocks");
        Wrong::new(BAD_PARAMS, &message)
    })
}

/// A file as the agent reads its name in a prompt; what is no file stands as it is.
fn named(uri: &str) -> String {
    let path = Url::parse(uri).ok().and_then(|url| url.to_file_path().ok());
    path.map_or_else(|| uri.to_owned(), |path| mention(&path).trim_start().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{refused, words};
    use crate::client::GONE;
    use crate::trouble::Trouble;
    use serde_json::json;
    use std::io;

    #[test]
    fn a_file_is_named_or_told_and_what_cannot_be_said_is_refused() {
        let link = json!({ "type": "resource_link", "uri": "file:///a%20b/caf%C3%A9.rs" });
        assert_eq!(words(&link).unwrap(), "@/a\\ b/café.rs");
        let link = json!({ "type": "resource_link", "uri": "https://example.org/x" });
        assert_eq!(words(&link).unwrap(), "https://example.org/x");
        let resource = json!({ "uri": "file:///a.rs", "text": "fn main() {}" });
        let inside = json!({ "type": "resource", "resource": resource });
        assert_eq!(words(&inside).unwrap(), "file:///a.rs\n\nfn main() {}");
        let blob = json!({ "type": "resource", "resource": { "uri": "a", "blob": "AAAA" } });
        for block in [blob, json!({ "type": "audio", "data": "AAAA" })] {
            let kind = block["type"].as_str().unwrap();
            let wrong = format!("{:?}", words(&block).unwrap_err());
            assert!(wrong.contains(&format!("`{kind}`")), "{wrong}");
        }
    }

    #[test]
    fn a_daemon_that_is_gone_is_told_as_such_and_a_refusal_as_it_is() {
        let broken = anyhow::Error::new(io::Error::from(io::ErrorKind::ConnectionReset));
        let gone = refused(broken.context(Trouble::failed(GONE, "the daemon is gone")));
        assert!(format!("{gone:?}").contains("daemon_gone"), "{gone:?}");
        let busy = refused(Trouble::refused("busy", "not now").into());
        assert!(format!("{busy:?}").contains("not now"), "{busy:?}");
    }
}
