//! Why an agent has ended, for those who waited for something else.

use crate::api::{Events, Summary};
use crate::client::{Client, escaped};
use pollux_agent::model::{Event, EventKind};

/// How many of the last events are looked at: what is told of an end is told with it.
const LAST: u64 = 20;

/// What was told of its end, if anything was.
pub(in crate::cli) async fn why(
    client: &Client,
    summary: &Summary,
) -> anyhow::Result<Option<String>> {
    let after = summary.seq.saturating_sub(LAST);
    let path = format!("/api/v1/sessions/{}/events?after={after}", escaped(&summary.id));
    let page: Events = client.get(&path).await?;
    let mut told = page.events.iter().filter_map(|numbered| {
        match Event::from_json(numbered.event.get()).ok()?.kind {
            EventKind::SessionEnded { reason } => Some(reason),
            _ => None,
        }
    });
    Ok(told.next_back())
}
