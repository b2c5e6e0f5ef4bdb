//! The agents: how one is started, and how a session of it is opened.

use super::Acp;
use super::hub::Hub;
use super::joined::{self, Joined};
use super::lines::Wrong;
use super::steer::Steer;
use crate::api::Bring;
use crate::cli::run::resume::{self, Kept};
use crate::cli::sessions::catalog::Catalog;
use crate::client::{Client, Twin};
use crate::config::Config;
use pollux_agent::acp::{self, About, Agent, Open, Opened, Plain, Session, relay};
use pollux_agent::gemini::acp::{Gemini, Live, Quirks};
use pollux_agent::gemini::cli::Cli;
use pollux_agent::gemini::models::{CONTEXT_WINDOW, context_window};
use pollux_agent::gemini::transcript::fork::fork;
use pollux_agent::gemini::transcript::store::Kind;
use pollux_agent::gemini::transcript::{Transcript, text};
use pollux_agent::model::{Event, Failure, Mode, Outcome, SessionStatus};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// How many sessions stand on one page of the list.
const PAGE: usize = 200;

/// What an editor does about a session that an agent in a terminal has.
const JOIN: &str =
    "start the daemon with `pollux serve --detach` and load the session again to join it";

/// How agents are started.
#[derive(Debug, Clone)]
pub(super) struct Agents {
    args: Arc<Acp>,
    config: Arc<Config>,
    /// None for another agent than Gemini CLI.
    cli: Option<Cli>,
    pub(super) hub: Hub,
    /// An agent that was started to be asked what it can do, and that has no session yet.
    spare: Arc<Mutex<Option<Agent>>>,
}

/// A session that is open.
pub(super) enum Held {
    /// A resumed session, locked against other processes.
    Gemini(Box<(Live, Kept)>),
    Any(Box<(Agent, Session)>),
    /// The daemon drives it.
    Joined(Box<Joined>),
}

impl Held {
    pub(super) async fn next(&mut self) -> Option<Event<'static>> {
        match self {
            Self::Gemini(own) => own.0.next().await,
            Self::Any(any) => any.1.next().await,
            Self::Joined(joined) => joined.next().await,
        }
    }

    pub(super) fn steer(&self) -> Steer {
        match self {
            Self::Gemini(own) => Steer::Own(own.0.control()),
            Self::Any(any) => Steer::Own(any.1.control()),
            Self::Joined(joined) => joined.steer(),
        }
    }

    pub(super) fn opened(&self) -> &Opened {
        match self {
            Self::Gemini(own) => own.0.opened(),
            Self::Any(any) => any.1.opened(),
            Self::Joined(joined) => joined.opened(),
        }
    }

    pub(super) fn outcome(&mut self) -> Option<Outcome> {
        match self {
            Self::Gemini(own) => own.0.outcome(),
            Self::Any(any) => any.1.outcome(),
            Self::Joined(joined) => joined.outcome(),
        }
    }

    /// How far it was heard, where the daemon drives it.
    pub(super) fn place(&self) -> Option<joined::Place> {
        match self {
            Self::Joined(joined) => Some(joined.place()),
            Self::Gemini(_) | Self::Any(_) => None,
        }
    }

    pub(super) async fn close(self) -> std::io::Result<()> {
        match self {
            Self::Gemini(own) => {
                let (live, _kept) = *own;
                live.close().await
            }
            Self::Any(any) => {
                any.0.close().await;
                Ok(())
            }
            // It goes on without the editor.
            Self::Joined(_) => Ok(()),
        }
    }
}

/// How a session is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    New,
    /// With its history.
    Load,
    /// Without.
    Resume,
    /// A copy of it.
    Fork,
}

impl Agents {
    pub(super) async fn new(args: Acp, config: &Config) -> anyhow::Result<Self> {
        let mut config = config.clone();
        config.at_home_of(&args.env);
        let (cli, hub) = if args.agent_command.is_some() {
            (None, Hub::new(Arc::new(Plain)))
        } else {
            let cli = config.cli(args.agent_path.as_ref()).await?;
            (Some(cli), Hub::new(Arc::new(Quirks::default())))
        };
        let (args, config) = (Arc::new(args), Arc::new(config));
        Ok(Self { args, config, cli, hub, spare: Arc::default() })
    }

    /// True where sessions are files that we can read.
    pub(super) fn has_store(&self) -> bool {
        self.cli.is_some()
    }

    fn gemini(&self, cli: &Cli, cwd: &Path) -> Gemini {
        let home = self.config.gemini.parent().unwrap_or(&self.config.gemini);
        let mut order = Gemini::new().cli(cli.clone()).home(home).cwd(cwd);
        order = order.listener(self.hub.listener());
        if let Some(model) = &self.args.model {
            order = order.model(model);
        }
        self.args.env.iter().fold(order, |order, (name, value)| order.env(name, value))
    }

    async fn spawn(&self, cwd: &Path) -> Result<Agent, Failure> {
        if let Some(cli) = &self.cli {
            return self.gemini(cli, cwd).spawn().await;
        }
        let command = self.args.agent_command.as_deref().unwrap_or_default();
        let mut words = command.split_whitespace();
        let program = words.next().unwrap_or_default();
        let mut config = acp::Config::new(program).args(words).cwd(cwd);
        config = config.listener(self.hub.listener());
        for (name, value) in &self.args.env {
            config = config.env(name, value);
        }
        Agent::spawn(config).await
    }

    fn spare(&self) -> std::sync::MutexGuard<'_, Option<Agent>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the agent says about itself.
    pub(super) async fn about(&self) -> Result<About, Failure> {
        let agent = self.spawn(&self.config.cwd).await?;
        let about = agent.about().clone();
        *self.spare() = Some(agent);
        Ok(about)
    }

    /// Signs in.
    pub(super) async fn authenticate(&self, params: &Value) -> Result<Value, Wrong> {
        let taken = self.spare().take();
        let agent = match taken {
            Some(agent) => agent,
            None => self.spawn(&self.config.cwd).await?,
        };
        let method = params["methodId"].as_str().unwrap_or_default();
        let outcome = agent.authenticate(method, params.get("_meta").cloned()).await;
        *self.spare() = Some(agent);
        outcome?;
        Ok(json!({}))
    }

    /// Opens a session.
    pub(super) async fn open(&self, how: How, params: &Value) -> Result<Held, Wrong> {
        let cwd = PathBuf::from(params["cwd"].as_str().unwrap_or_default());
        let servers = relay::servers(&params["mcpServers"]);
        let wanted = params["sessionId"].as_str();
        if let Some(joined) = self.join(how, wanted).await? {
            return Ok(joined);
        }
        let Some(cli) = self.cli.as_ref().filter(|_| how != How::New) else {
            let mut open = Open::new(&cwd);
            open.load = wanted.filter(|_| how == How::Load).map(str::to_owned);
            open.mcp = servers;
            return self.plain(&cwd, open).await;
        };
        let config = Config { cwd: cwd.clone(), ..(*self.config).clone() };
        let mut wanted = wanted.unwrap_or_default().to_owned();
        if how != How::Fork {
            wanted = resume::free(&wanted, &cwd, &config, Some(JOIN)).await?;
        }
        let mut found = resume::find(&wanted, &cwd, &config, cli)?;
        if how == How::Fork {
            let copy = fork(&found.file).map_err(anyhow::Error::from)?;
            (found.id, found.file) = (copy.id, copy.file);
        }
        let kept = resume::alone(found)?;
        let order = self.gemini(cli, &cwd).resume(kept.resume.clone());
        let order = servers.into_iter().fold(order, Gemini::mcp);
        Ok(Held::Gemini(Box::new((order.start().await?, kept))))
    }

    /// The session that is wanted, if a daemon runs and drives it.
    async fn join(&self, how: How, wanted: Option<&str>) -> Result<Option<Held>, Wrong> {
        let known = self.has_store() && matches!(how, How::Load | How::Resume);
        let Some(wanted) = wanted.filter(|_| known) else { return Ok(None) };
        let Some(client) = Client::running(&self.config).await? else { return Ok(None) };
        let Some(summary) = client.driven(wanted).await else { return Ok(None) };
        let joined = Joined::open(client, &summary.id, wanted, None).await?;
        Ok(Some(Held::Joined(Box::new(joined))))
    }

    /// A session that was joined until its daemon went away, if a daemon drives it now.
    pub(super) async fn again(&self, session: &str, heard: joined::Place) -> Result<Held, Wrong> {
        let client = Client::running(&self.config).await?.ok_or_else(joined::gone)?;
        let summary = client.driven(session).await.ok_or_else(joined::left)?;
        let joined = Joined::open(client, &summary.id, session, Some(heard)).await?;
        Ok(Held::Joined(Box::new(joined)))
    }

    /// Brings a session of ours to the daemon, where one runs.
    pub(super) fn twin(&self, held: &Held, cwd: &Path) -> Option<Twin> {
        let Steer::Own(control) = held.steer() else { return None };
        self.cli.as_ref()?;
        let opened = held.opened();
        let bring = Bring {
            agent_id: opened.session_id.clone(),
            cwd: cwd.to_path_buf(),
            mode: opened.mode.as_deref().and_then(Mode::named).unwrap_or_default(),
            model: opened.model.clone(),
            by: "pollux acp".to_owned(),
            prompts: true,
        };
        Some(Twin::new(&self.config, bring, control))
    }

    async fn plain(&self, cwd: &Path, open: Open) -> Result<Held, Wrong> {
        let taken = self.spare().take();
        let agent = match taken {
            Some(agent) => agent,
            None => self.spawn(cwd).await?,
        };
        match agent.open(open).await {
            Ok(session) => Ok(Held::Any(Box::new((agent, session)))),
            Err(failure) => {
                // It may do better when somebody has signed in.
                *self.spare() = Some(agent);
                Err(failure.into())
            }
        }
    }

    /// The history of a session, out of its own file; none where only the agent knows it.
    pub(super) fn history(&self, id: &str) -> Option<Vec<Value>> {
        self.cli.as_ref()?;
        let catalog = Catalog::read(&self.config);
        let file = catalog.find(id).ok()?.file.path.clone();
        let bytes = std::fs::read(file).ok()?;
        let text = text(&bytes);
        let messages: Vec<_> = Transcript::read(&text).messages().collect();
        Some(relay::history(&messages))
    }

    /// The sessions that a daemon drives, if one runs.
    async fn driven(&self, project: Option<&Path>) -> Vec<Value> {
        let Ok(Some(client)) = Client::running(&self.config).await else { return Vec::new() };
        let all = client.sessions(PAGE).await.unwrap_or_default().into_iter();
        let lives = all.filter(|it| it.driver.is_some() && it.status != SessionStatus::Exited);
        let info = |it: crate::api::Summary| {
            let cwd = it.cwd.filter(|cwd| project.is_none_or(|project| project == cwd))?;
            Some(json!({
                "sessionId": it.agent_id.unwrap_or(it.id),
                "cwd": cwd,
                "title": it.title,
                "updatedAt": format!("{:.3}", it.updated_at),
            }))
        };
        lives.filter_map(info).collect()
    }

    /// All sessions, those that a daemon drives first, a page at a time.
    pub(super) async fn list(&self, params: &Value) -> Value {
        let project = params["cwd"].as_str().map(PathBuf::from);
        let catalog = Catalog::read(&self.config).of_project(project.as_deref(), &self.config);
        let catalog = catalog.only(&[Kind::Main]);
        let from: usize = params["cursor"].as_str().and_then(|it| it.parse().ok()).unwrap_or(0);
        let info = |session: &pollux_agent::gemini::transcript::store::Session| {
            let at = jiff::Timestamp::from_millisecond(session.updated_at()).ok()?;
            let cwd = session.project.clone().or_else(|| project.clone())?;
            Some(json!({
                "sessionId": session.id,
                "cwd": cwd,
                "title": session.digest.title(),
                "updatedAt": format!("{at:.3}"),
            }))
        };
        let mut all = self.driven(project.as_deref()).await;
        let live: Vec<Value> = all.iter().map(|it| it["sessionId"].clone()).collect();
        let files = catalog.sessions.iter().filter_map(info);
        all.extend(files.filter(|it| !live.contains(&it["sessionId"])));
        let page: Vec<&Value> = all.iter().skip(from).take(PAGE).collect();
        let next = from + page.len();
        let cursor = (next < all.len()).then(|| next.to_string());
        json!({ "sessions": page, "nextCursor": cursor })
    }
}

/// How much a model can hold.
pub(super) fn window(model: Option<&str>) -> u64 {
    model.and_then(context_window).unwrap_or(CONTEXT_WINDOW)
}
