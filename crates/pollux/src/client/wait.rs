//! Following a session over server-sent events, until something happens.

use super::{Client, escaped};
use futures::StreamExt;
use pollux_agent::model::SessionStatus;
use serde::Deserialize;
use serde_json::Value;

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// The agent waits for a prompt.
    Idle,
    /// The agent waits for an answer.
    Question,
    /// The agent is gone.
    Exit,
}

/// What came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// This.
    Came(Until),
    /// The daemon went away.
    Gone,
}

/// Follows a session and gives each frame to `see`, until that has had enough or the daemon ends.
pub async fn follow(
    client: &Client,
    session: &str,
    after: Option<(u64, u64)>,
    mut see: impl FnMut(&Value) -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    follow_text(client, session, after, |frame| match serde_json::from_str(frame) {
        Ok(frame) => see(&frame),
        Err(_) => Ok(true),
    })
    .await
}

/// The same with each frame as it came, to the byte.
pub async fn follow_text(
    client: &Client,
    session: &str,
    after: Option<(u64, u64)>,
    mut see: impl FnMut(&str) -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let place = after.map(|(seq, epoch)| format!("?after={seq}&epoch={epoch}"));
    let path = format!("/api/v1/sessions/{}/stream{}", escaped(session), place.unwrap_or_default());
    let mut body = client.stream(&path).await?.bytes_stream();
    let mut pending = Vec::new();
    // How much of what is pending has no end of a frame in it: a long one comes in many pieces.
    let mut looked = 0_usize;
    while let Some(chunk) = body.next().await {
        let Ok(chunk) = chunk else { return Ok(()) };
        pending.extend_from_slice(&chunk);
        while let Some(end) = end_of_frame(&pending, looked) {
            looked = 0;
            let block: Vec<u8> = pending.drain(..end).collect();
            let block = String::from_utf8_lossy(&block);
            let data = block.lines().find_map(|line| line.strip_prefix("data: "));
            if let Some(data) = data
                && !see(data)?
            {
                return Ok(());
            }
        }
        looked = pending.len().saturating_sub(1);
    }
    Ok(())
}

/// Where the first frame ends, of which so many bytes were looked at before.
fn end_of_frame(pending: &[u8], looked: usize) -> Option<usize> {
    let rest = pending.get(looked..)?;
    rest.windows(2).position(|pair| pair == b"\n\n").map(|at| looked + at + 2)
}

/// Waits until one of these is so. What is so already has come.
pub async fn wait(client: &Client, session: &str, until: &[Until]) -> anyhow::Result<Waited> {
    let mut came = None;
    follow(client, session, None, |frame| {
        let status = frame.pointer("/session/status");
        let status = status.and_then(|status| SessionStatus::deserialize(status).ok());
        let is = match status {
            Some(SessionStatus::Idle | SessionStatus::Error) => Until::Idle,
            // An answer that is on its way is none that is waited for.
            Some(SessionStatus::Waiting) if is_answered(frame) => return Ok(true),
            Some(SessionStatus::Waiting) => Until::Question,
            Some(SessionStatus::Exited) => Until::Exit,
            _ => return Ok(true),
        };
        // An agent that is gone will do nothing else any more.
        let enough = until.contains(&is) || is == Until::Exit;
        came = enough.then_some(is);
        Ok(!enough)
    })
    .await?;
    Ok(came.map_or(Waited::Gone, Waited::Came))
}

/// Waits until an event of a kind comes after another event, or none can.
pub async fn comes(
    client: &Client,
    session: &str,
    after: (u64, u64),
    kind: &str,
) -> anyhow::Result<()> {
    follow(client, session, Some(after), |frame| {
        let status = frame.pointer("/session/status").and_then(Value::as_str);
        let events = frame.get("events").and_then(Value::as_array).into_iter().flatten();
        let mut kinds = events.filter_map(|event| event.pointer("/event/type"));
        Ok(status != Some("exited") && !kinds.any(|come| come == kind))
    })
    .await
}

/// Waits until the turn that goes on after an event has ended. False where the daemon ends first.
pub async fn turn_ends(client: &Client, session: &str, after: (u64, u64)) -> anyhow::Result<bool> {
    let mut ended = false;
    follow(client, session, Some(after), |frame| {
        let status = frame.pointer("/session/status").and_then(Value::as_str);
        let events = frame.get("events").and_then(Value::as_array).into_iter().flatten();
        let mut kinds = events.filter_map(|event| event.pointer("/event/type"));
        ended = matches!(status, Some("idle" | "error" | "exited"))
            || kinds.any(|kind| kind == "turn_ended");
        Ok(!ended)
    })
    .await?;
    Ok(ended)
}

fn is_answered(frame: &Value) -> bool {
    let questions = frame.pointer("/session/questions").and_then(Value::as_array);
    questions
        .is_some_and(|all| !all.is_empty() && all.iter().all(|open| open.get("sent").is_some()))
}
