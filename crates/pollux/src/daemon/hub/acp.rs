//! A session over the Agent Client Protocol: one process that lives as long as the session.

use super::agent::{Agent, Events, Gemini, Orders, Wanted};
use super::resumed::resumed;
use super::uploads::Uploads;
use crate::daemon::team::badge::Lent;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::future::BoxFuture;
use pollux_agent::acp::{Control, Prompt};
use pollux_agent::gemini::acp::{Gemini as Acp, Live};
use pollux_agent::model::{Event, EventKind, Failure, Phase, Source};
use pollux_agent::session::Order;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

struct Hears {
    live: Option<Live>,
    /// Given back when the agent is gone.
    lent: Option<Lent>,
    stop: CancellationToken,
}

struct Steers {
    control: Control,
    stop: CancellationToken,
}

/// Starts the CLI and opens the session.
pub(super) async fn start(wanted: Wanted, gemini: Gemini) -> Result<Agent, Failure> {
    let cli = gemini.cli().await?;
    let resume = resumed(&wanted, &gemini).await?;
    let mut acp = Acp::new().cli(cli.clone()).home(&gemini.home).cwd(&wanted.cwd).mode(wanted.mode);
    let lent = gemini.lend(&wanted, &cli)?;
    if let Some(model) = wanted.model {
        acp = acp.model(model);
    }
    for (name, value) in gemini.env {
        acp = acp.env(name, value);
    }
    if let Some(lent) = &lent {
        acp = lent.args.iter().cloned().fold(acp, Acp::extra_arg);
        acp = lent.servers.iter().cloned().fold(acp, Acp::mcp);
        acp = lent.env.iter().cloned().fold(acp, |acp, (name, value)| acp.env(name, value));
    }
    if let Some(resume) = resume {
        acp = acp.resume(resume);
    }
    let live = acp.start().await?;
    let stop = CancellationToken::new();
    let orders = Arc::new(Steers { control: live.control(), stop: stop.clone() });
    Ok(Agent { events: Box::new(Hears { live: Some(live), lent, stop }), orders, ready: true })
}

impl Events for Hears {
    fn next(&mut self) -> BoxFuture<'_, Option<Event<'static>>> {
        Box::pin(async {
            let live = self.live.as_mut()?;
            tokio::select! {
                event = live.next() => return event,
                () = self.stop.cancelled() => {}
            }
            if let Some(live) = self.live.take()
                && let Err(error) = live.close().await
            {
                tracing::warn!("could not clean up after the agent: {error}");
            }
            drop(self.lent.take());
            let kind = EventKind::SessionEnded { reason: "stopped by a user".into() };
            Some(Event::new(Source::Pollux, kind))
        })
    }
}

impl Orders for Steers {
    fn order(&self, order: Order) -> BoxFuture<'static, Result<(), Failure>> {
        let (control, stop) = (self.control.clone(), self.stop.clone());
        Box::pin(async move {
            match order {
                // What came of them is waited for: an agent refuses some, and is then in another mode than the one it was told.
                Order::Mode(mode) => control.change_mode(mode).await,
                Order::Model(model) => control.change_model(model).await,
                order => obey(&control, &stop, order).await,
            }
        })
    }
}

/// Does what an agent over ACP is ordered. Its end is for somebody else, who hears of it.
pub async fn obey(
    control: &Control,
    stop: &CancellationToken,
    order: Order,
) -> Result<(), Failure> {
    match order {
        Order::Prompt { text, images, .. } => control.prompt(with(text, images).await?).await,
        Order::Keys { .. } | Order::Fit { .. } | Order::GiveBack => {
            let why = "this session is not running in a terminal";
            Err(Failure::new(Phase::Request, "no_terminal", why))
        }
        Order::Answer { question_id, choice, reason } => {
            control.answer(question_id, choice, reason).await
        }
        Order::Interrupt => control.cancel().await,
        Order::Mode(mode) => control.set_mode(mode).await,
        Order::Model(model) => control.set_model(model).await,
        Order::Stop => {
            stop.cancel();
            Ok(())
        }
    }
}

/// A prompt with its pictures.
async fn with(text: String, images: Vec<String>) -> Result<Prompt, Failure> {
    let mut prompt = Prompt::text(text);
    for path in images {
        let bytes = tokio::fs::read(&path).await.map_err(|error| {
            let message = format!("could not read the image {path}: {error}");
            Failure::new(Phase::Request, "no_image", message)
        })?;
        prompt = prompt.image(Uploads::media_type(&path), &STANDARD.encode(bytes));
    }
    Ok(prompt)
}
