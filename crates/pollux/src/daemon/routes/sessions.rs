//! Sessions: list, begin, show, command.
#![expect(unused_qualifications, reason = "in what utoipa makes of `params`")]

use super::{Api, Bad, need};
use crate::api::{
    Accepted, Adopt, AuditEntry, Begin, CommandBody, Driver, OpenQuestion, Problem, Projects,
    Scope, Sessions, Summary, Trust,
};
use crate::daemon::door::Guest;
use crate::daemon::hub::agent::is_command;
use crate::daemon::hub::only_ends;
use crate::daemon::log;
use crate::daemon::socket::listed;
use crate::trouble::Trouble;
use axum::Json;
use axum::extract::{Extension, Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use pollux_agent::session::{Command, Reply, Request};
use pollux_agent::terminal::Socket;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// How many sessions one page has, unless told otherwise, and at most.
const LISTED: usize = 100;
const MOST: usize = 1000;
/// The longest id of a command, and of a request that begins something.
const LONGEST_ID: usize = 128;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Page {
    /// Maximum number of sessions.
    limit: Option<usize>,
    /// Number of sessions to skip.
    offset: Option<usize>,
}

#[utoipa::path(get, path = "/api/v1/sessions", params(Page), responses((status = 200, body = Sessions)))]
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Query(page): Query<Page>,
) -> Result<Json<Sessions>, Bad> {
    need(&guest, Scope::View)?;
    api.hub.is_listed().await;
    let limit = page.limit.unwrap_or(LISTED).min(MOST);
    Ok(Json(Sessions { sessions: listed(&api.hub, page.offset.unwrap_or(0), limit) }))
}

#[utoipa::path(
    post, path = "/api/v1/sessions", request_body = Begin,
    responses((status = 201, body = Summary), (status = 403, body = Problem))
)]
pub(super) async fn begin(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Json(mut begin): Json<Begin>,
) -> Result<Response, Bad> {
    need(&guest, Scope::Prompt)?;
    if begin.mode.is_some_and(|mode| mode != pollux_agent::model::Mode::Plan) {
        need(&guest, Scope::Approve)?;
    }
    is_id(begin.client_id.as_deref())?;
    if begin.resume.is_some() {
        api.hub.is_listed().await;
    }
    let resumed = match &begin.resume {
        Some(id) => Some(api.hub.feed(&api.hub.find(id)?)?.1.summary()),
        None => None,
    };
    // What waits in its queue is said to the new agent too, and that may be another kind of agent than the one before.
    let waits = resumed.iter().flat_map(|known| &known.queue).map(|queued| &queued.text);
    for text in begin.prompt.iter().chain(waits) {
        need(&guest, to_say(begin.driver, text))?;
    }
    // It goes on where it was, and that must be allowed too.
    let cwd = resumed.and_then(|known| known.cwd.clone());
    begin.cwd = scoped(&api, &guest, &cwd.unwrap_or_else(|| begin.cwd.clone())).await?;
    let detail = json!({ "cwd": begin.cwd, "driver": begin.driver, "mode": begin.mode,
        "resume": begin.resume });
    let yolo = begin.mode == Some(pollux_agent::model::Mode::Yolo) && guest.device.is_some();
    if yolo {
        // Given from afar it must end, and so it is given as a command, which knows when.
        begin.mode = None;
    }
    // The same request once more is one command; another one, which may go on with the same session, is another.
    let name = begin.client_id.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
    let summary = api.hub.begin(begin, &guest.by()).await?;
    note(&api, &guest, "begin", Some(&summary.id), detail).await;
    if yolo {
        let command = Command::Mode { mode: pollux_agent::model::Mode::Yolo, seconds: None };
        commanded(&api, &guest, &summary.id, format!("{name}-yolo"), command).await?;
    }
    Ok((StatusCode::CREATED, Json((*summary).clone())).into_response())
}

/// Adopts a Gemini CLI that is already running in tmux, without restarting it.
#[utoipa::path(
    post, path = "/api/v1/sessions/adopt", request_body = Adopt,
    responses((status = 201, body = Summary), (status = 409, body = Problem))
)]
pub(super) async fn adopt(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Json(adopt): Json<Adopt>,
) -> Result<Response, Bad> {
    need(&guest, Scope::Admin)?;
    if guest.device.is_some() && adopt.socket.is_some() {
        let message = "only the local user can choose a tmux server";
        return Err(Trouble::refused("not_allowed", message).into());
    }
    let socket = adopt.socket.as_deref().map_or(Socket::Users, Socket::named);
    let summary = api.hub.adopt(&socket, adopt.pane.as_deref()).await?;
    note(&api, &guest, "adopt", Some(&summary.id), json!(adopt)).await;
    Ok((StatusCode::CREATED, Json((*summary).clone())).into_response())
}

/// The real path of a directory in which this guest may start an agent. The user on this machine allows a directory by
/// using it.
pub(super) async fn scoped(api: &Api, guest: &Guest, cwd: &FilePath) -> anyhow::Result<PathBuf> {
    let real = allowed(api, guest, cwd).await?;
    if guest.device.is_none() {
        let path = real.clone();
        api.hub.log().write(move |connection| log::trust(connection, &path)).await?;
    }
    Ok(real)
}

/// The real path of a directory that this guest may look into. Links are followed first: what counts is where they lead.
pub(super) async fn allowed(api: &Api, guest: &Guest, path: &FilePath) -> anyhow::Result<PathBuf> {
    let real = path.canonicalize().ok().filter(|real| path.is_absolute() && real.is_dir());
    let projects = api.hub.log().read(log::projects).await?;
    let fits = |real: &PathBuf| {
        guest.device.is_none() || projects.iter().any(|project| real.starts_with(project))
    };
    // That it is not there is told to those only who may look.
    Ok(real.filter(fits).ok_or_else(|| {
        if guest.device.is_none() {
            let message = format!("no directory {}", path.display());
            return Trouble::refused("no_directory", message).hint("use an absolute path");
        }
        let message = format!("{} is not a trusted directory", path.display());
        let hint = "allow it on the machine itself: `pollux serve allow DIR`";
        Trouble::refused("outside_projects", message).hint(hint)
    })?)
}

#[utoipa::path(
    get, path = "/api/v1/sessions/{id}", params(("id" = String, Path)),
    responses((status = 200, body = Summary), (status = 404, body = Problem))
)]
pub(super) async fn show(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Path(id): Path<String>,
) -> Result<Json<Summary>, Bad> {
    need(&guest, Scope::View)?;
    api.hub.is_listed().await;
    let id = api.hub.find(&id)?;
    Ok(Json((*api.hub.feed(&id)?.1.summary()).clone()))
}

#[utoipa::path(
    post, path = "/api/v1/sessions/{id}/commands", params(("id" = String, Path)),
    request_body = CommandBody,
    responses((status = 200, body = Accepted), (status = 409, body = Problem))
)]
pub(super) async fn command(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Path(session): Path<String>,
    Json(CommandBody { id, command }): Json<CommandBody>,
) -> Result<Json<Accepted>, Bad> {
    let session = api.hub.find(&session)?;
    match commanded(&api, &guest, &session, id.clone(), command).await? {
        Reply::Refused(refusal) => {
            let problem =
                Problem { code: refusal.code, message: refusal.message, hint: refusal.hint };
            Err(Bad(anyhow::Error::new(Turned(problem))))
        }
        reply @ Reply::Done(_) => Ok(Json(Accepted { id, reply })),
    }
}

/// Decides a command, and writes down who gave it.
pub async fn commanded(
    api: &Api,
    guest: &Guest,
    session: &str,
    id: String,
    command: Command,
) -> anyhow::Result<Reply> {
    need(guest, scope(api, session, &command)).map_err(|bad| bad.0)?;
    if let Command::Prompt { images, .. } = &command
        && let Some(unknown) = images.iter().find(|image| !api.hub.uploads().has(image))
    {
        let trouble = Trouble::refused("unknown_image", format!("no image `{unknown}`"));
        return Err(trouble.hint("upload it first: POST /api/v1/images").into());
    }
    is_id(Some(&id))?;
    let (action, mut detail) = told(api, session, &command);
    let noted = match noted(api, guest, action, Some(session), detail.clone()).await {
        Ok(noted) => Some(noted),
        // A disk that is full keeps nobody from ending something.
        Err(error) if only_ends(&command, &api.hub.feed(session)?.1.summary()) => {
            tracing::error!(by = %guest.name, session, action, "could not write to the audit log: {error:#}");
            None
        }
        Err(error) => return Err(error),
    };
    let reply = api.hub.command(session, Request { id, by: guest.by(), command }).await?;
    if let Value::Object(detail) = &mut detail {
        detail.insert("reply".into(), serde_json::to_value(&reply).unwrap_or_default());
    }
    let Some(noted) = noted else { return Ok(reply) };
    // That it was asked for is written down.
    let more = move |connection: &_| log::audit_more(connection, noted, &detail);
    if let Err(error) = api.hub.log().write(more).await {
        tracing::error!("{error:#}");
    }
    Ok(reply)
}

/// An id that a client gives to what it asks for is kept, and so it is not long.
pub(super) fn is_id(id: Option<&str>) -> Result<(), Trouble> {
    if id.is_some_and(|id| id.is_empty() || id.len() > LONGEST_ID) {
        let message = format!("the id of a command or request must have 1 to {LONGEST_ID} bytes");
        return Err(Trouble::refused("wrong_request", message));
    }
    Ok(())
}

/// What somebody must be allowed to say this to an agent: a command of the CLI or of the shell can do all that keys can.
pub(super) fn to_say(driver: Option<Driver>, text: &str) -> Scope {
    if is_command(driver.unwrap_or_default(), text) { Scope::Admin } else { Scope::Prompt }
}

/// What somebody must be allowed for a command. Keys can answer, change modes and run commands.
fn scope(api: &Api, session: &str, command: &Command) -> Scope {
    match command {
        Command::Answer { .. } | Command::Mode { .. } => Scope::Approve,
        Command::Keys { .. } => Scope::Admin,
        Command::Prompt { text, .. } | Command::Edit { text, .. } => {
            let summary = api.hub.feed(session).ok().map(|(_, feed)| feed.summary());
            to_say(summary.and_then(|summary| summary.driver), text)
        }
        _ => Scope::Prompt,
    }
}

/// What the audit log says of a command: of an answer also what was to be seen when it was given.
fn told(api: &Api, session: &str, command: &Command) -> (&'static str, Value) {
    match command {
        Command::Prompt { text, images } => {
            ("prompt", json!({ "bytes": text.len(), "images": images.len() }))
        }
        Command::Keys { text, keys } => {
            ("keys", json!({ "bytes": text.as_ref().map_or(0, String::len), "keys": keys }))
        }
        Command::Answer { question_id, choice, reason, shown } => {
            let summary = api.hub.feed(session).ok().map(|(_, feed)| feed.summary());
            let open = summary.iter().flat_map(|summary| &summary.questions);
            let is = |open: &&OpenQuestion| {
                let id = serde_json::from_str::<WithId>(open.question.get());
                id.is_ok_and(|WithId { id }| id == *question_id)
            };
            let open = { open }.find(is).map(|open| (open.shown.clone(), open.question.clone()));
            let (hash, question) = open.unzip();
            let detail = json!({ "question": question_id, "choice": choice, "reason": reason,
                "shown": shown, "hash": hash, "asked": question });
            ("answer", detail)
        }
        Command::Fit { columns, rows } => ("fit", json!({ "columns": columns, "rows": rows })),
        Command::GiveBack => ("give_back", json!({})),
        Command::Interrupt => ("interrupt", json!({})),
        Command::Mode { mode, seconds } => ("mode", json!({ "mode": mode, "seconds": seconds })),
        Command::Model { model } => ("model", json!({ "model": model })),
        Command::Edit { queued, text } => {
            ("edit", json!({ "queued": queued, "bytes": text.len() }))
        }
        Command::Cancel { queued } => ("cancel", json!({ "queued": queued })),
        Command::Continue => ("continue", json!({})),
        Command::Stop => ("stop", json!({})),
    }
}

#[derive(Deserialize)]
struct WithId {
    id: String,
}

/// Writes down who did what, once it is done.
pub(super) async fn note(
    api: &Api,
    guest: &Guest,
    action: &'static str,
    session: Option<&str>,
    detail: Value,
) {
    if let Err(error) = noted(api, guest, action, session, detail).await {
        tracing::error!("{error:#}");
    }
}

/// Writes down who is about to do what: that which opens a door is not done where it cannot be. Gives the number of the entry.
pub(super) async fn noted(
    api: &Api,
    guest: &Guest,
    action: &'static str,
    session: Option<&str>,
    detail: Value,
) -> anyhow::Result<i64> {
    let entry = AuditEntry {
        id: 0,
        at: api.hub.now(),
        device: guest.name.clone(),
        action: action.to_owned(),
        session_id: session.map(str::to_owned),
        detail,
    };
    api.hub.log().write(move |connection| log::audit(connection, &entry)).await
}

/// A refusal of the rules, as an error.
#[derive(Debug)]
pub(super) struct Turned(pub(super) Problem);

impl std::fmt::Display for Turned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Turned {}

/// A question and its session.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Asked {
    session_id: String,
    #[serde(flatten)]
    open: OpenQuestion,
}

/// All open questions.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Questions {
    questions: Vec<Asked>,
}

#[utoipa::path(get, path = "/api/v1/questions", responses((status = 200, body = Questions)))]
pub(super) async fn questions(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
) -> Result<Json<Questions>, Bad> {
    need(&guest, Scope::View)?;
    let mut questions = Vec::new();
    for summary in api.hub.list() {
        for open in summary.questions.clone() {
            questions.push(Asked { session_id: summary.id.clone(), open });
        }
    }
    Ok(Json(Questions { questions }))
}

#[utoipa::path(get, path = "/api/v1/projects", responses((status = 200, body = Projects)))]
pub(super) async fn projects(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
) -> Result<Json<Projects>, Bad> {
    need(&guest, Scope::View)?;
    Ok(Json(Projects { projects: api.hub.log().read(log::projects).await? }))
}

/// Trusts a directory. Only the local user may do this, not a paired device.
#[utoipa::path(
    post, path = "/api/v1/projects", request_body = Trust,
    responses((status = 200, body = Projects), (status = 403, body = Problem))
)]
pub(super) async fn trust(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Json(Trust { path }): Json<Trust>,
) -> Result<Json<Projects>, Bad> {
    need(&guest, Scope::Admin)?;
    if guest.device.is_some() {
        let message = "only the local user can trust a directory";
        return Err(Trouble::refused("not_allowed", message).into());
    }
    let real = scoped(&api, &guest, &path).await?;
    note(&api, &guest, "allow", None, json!({ "path": real })).await;
    Ok(Json(Projects { projects: api.hub.log().read(log::projects).await? }))
}

/// Restores the file of a session from the log.
#[utoipa::path(
    post, path = "/api/v1/sessions/{id}/restore", params(("id" = String, Path)),
    responses((status = 200, body = Trust), (status = 409, body = Problem))
)]
pub(super) async fn restore(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Path(id): Path<String>,
) -> Result<Json<Trust>, Bad> {
    need(&guest, Scope::Admin)?;
    let id = api.hub.find(&id)?;
    let path = api.hub.restore(&id).await?;
    note(&api, &guest, "restore", Some(&id), json!({ "path": path })).await;
    Ok(Json(Trust { path }))
}
