//! Teams: agents, jobs, letters. What an agent can do over MCP, a person can do here.
#![expect(unused_qualifications, reason = "in what utoipa makes of `params`")]

use super::sessions::{is_id, note, scoped, to_say};
use super::{Api, Bad, need};
use crate::api::team::{Give, Job, Jobs, Launch, Letters, More, Offered, Profiles, Teams, Write};
use crate::api::{Problem, Scope, Summary};
use crate::daemon::door::Guest;
use crate::daemon::log::team as rows;
use crate::daemon::team::Caller;
use crate::team::job;
use crate::trouble::Trouble;
use axum::extract::{Extension, Path, Query, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use pollux_agent::model::Mode;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use utoipa::IntoParams;

/// A request waits at most so long for a job, and is asked again.
const WAIT: u64 = 25;
const MOST: usize = 500;

pub(super) fn routes() -> Router<Arc<Api>> {
    Router::new()
        .route("/api/v1/team", get(list))
        .route("/api/v1/team/launch", post(launch))
        .route("/api/v1/team/{agent}/stop", post(stop))
        .route("/api/v1/profiles", get(profiles))
        .route("/api/v1/jobs", get(jobs).post(give))
        .route("/api/v1/jobs/{id}", get(job))
        .route("/api/v1/jobs/{id}/cancel", post(cancel))
        .route("/api/v1/jobs/{id}/continue", post(go_on))
        .route("/api/v1/letters", get(letters).post(write))
        .route("/api/v1/letters/read", post(read))
}

fn caller(guest: &Guest) -> Caller {
    Caller::Person(guest.by())
}

#[utoipa::path(get, path = "/api/v1/team", responses((status = 200, body = Teams)))]
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
) -> Result<Json<Teams>, Bad> {
    need(&guest, Scope::View)?;
    let members = api.teams.list(&caller(&guest)).await?;
    Ok(Json(Teams { members, unread: api.teams.unread().await? }))
}

#[utoipa::path(get, path = "/api/v1/profiles", responses((status = 200, body = Profiles)))]
pub(super) async fn profiles(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
) -> Result<Json<Profiles>, Bad> {
    need(&guest, Scope::View)?;
    let store = api.teams.store().clone();
    let all = tokio::task::spawn_blocking(move || store.list()).await?;
    let offered = all.into_iter().filter_map(|found| {
        let profile = found.profile.ok()?;
        let (description, mode) = (profile.description, profile.mode);
        Some(Offered { name: found.name, description, mode })
    });
    Ok(Json(Profiles { profiles: offered.collect() }))
}

#[utoipa::path(
    post, path = "/api/v1/team/launch", request_body = Launch,
    responses((status = 200, body = Summary), (status = 409, body = Problem))
)]
pub(super) async fn launch(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Json(mut launch): Json<Launch>,
) -> Result<Json<Summary>, Bad> {
    need(&guest, Scope::Prompt)?;
    is_id(launch.client_id.as_deref())?;
    let profile = api.teams.store().find(&launch.profile)?;
    let mode = launch.mode.or(profile.mode).unwrap_or_default();
    widened(&guest, mode)?;
    if let Some(prompt) = &launch.prompt {
        need(&guest, to_say(launch.driver.or(profile.driver), prompt))?;
    }
    launch.cwd = scoped(&api, &guest, &launch.cwd).await?;
    let detail = json!({ "profile": launch.profile, "cwd": launch.cwd, "mode": mode });
    let summary = api.teams.launch(&caller(&guest), launch).await?;
    note(&api, &guest, "launch", Some(&summary.id), detail).await;
    Ok(Json((*summary).clone()))
}

/// An agent that asks less than by default needs the right to answer. Given from afar, none may do everything: that ends
/// by itself, and an agent of a team does not know when.
pub(super) fn widened(guest: &Guest, mode: Mode) -> Result<(), Bad> {
    if matches!(mode, Mode::AutoEdit | Mode::Yolo) {
        need(guest, Scope::Approve)?;
    }
    if mode == Mode::Yolo && guest.device.is_some() {
        let message = "agents in mode yolo can only be started on the machine itself";
        return Err(Trouble::refused("not_allowed", message).into());
    }
    Ok(())
}

#[utoipa::path(
    post, path = "/api/v1/team/{agent}/stop", params(("agent" = String, Path)),
    responses((status = 200, description = "The names of the stopped agents"), (status = 409, body = Problem))
)]
pub(super) async fn stop(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Path(agent): Path<String>,
) -> Result<Json<Vec<String>>, Bad> {
    need(&guest, Scope::Prompt)?;
    let session = api.teams.find(&caller(&guest), &agent)?;
    let stopped = api.teams.stop(&caller(&guest), &session).await?;
    note(&api, &guest, "stop", Some(&session), json!({ "stopped": stopped })).await;
    Ok(Json(stopped))
}

#[utoipa::path(
    post, path = "/api/v1/jobs", request_body = Give,
    responses((status = 200, body = Job), (status = 409, body = Problem))
)]
pub(super) async fn give(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Json(mut give): Json<Give>,
) -> Result<Json<Job>, Bad> {
    need(&guest, Scope::Prompt)?;
    is_id(give.client_id.as_deref())?;
    let profile = api.teams.store().find(&give.profile)?;
    widened(&guest, profile.mode.unwrap_or_default())?;
    let cwd = give.cwd.clone().ok_or_else(|| {
        Trouble::refused("wrong_request", "no working directory given").hint("use an absolute path")
    })?;
    give.cwd = Some(scoped(&api, &guest, &cwd).await?);
    let detail = json!({ "profile": give.profile, "cwd": give.cwd, "kind": give.kind });
    let job = api.teams.give(&caller(&guest), give).await?;
    note(&api, &guest, "job", job.worker.as_deref(), detail).await;
    Ok(Json(job))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Last {
    /// Maximum number of recent jobs, at most 500. Unfinished jobs are always included.
    limit: Option<usize>,
}

#[utoipa::path(get, path = "/api/v1/jobs", params(Last), responses((status = 200, body = Jobs)))]
pub(super) async fn jobs(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Query(Last { limit }): Query<Last>,
) -> Result<Json<Jobs>, Bad> {
    need(&guest, Scope::View)?;
    let most = limit.unwrap_or(MOST).min(MOST);
    Ok(Json(Jobs { jobs: api.teams.jobs(most).await? }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Wait {
    /// Seconds to wait for a change, at most 25.
    #[serde(default)]
    wait: u64,
    /// Also wait for a job that timed out, until its worker answers.
    #[serde(default)]
    late: bool,
}

#[utoipa::path(
    get, path = "/api/v1/jobs/{id}", params(("id" = String, Path), Wait),
    responses((status = 200, body = Job), (status = 404, body = Problem))
)]
pub(super) async fn job(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Path(id): Path<String>,
    Query(wait): Query<Wait>,
) -> Result<Json<Job>, Bad> {
    need(&guest, Scope::View)?;
    let job = api.teams.job(&caller(&guest), &id).await?;
    let is_late = wait.late && job.state == job::State::TimedOut;
    if wait.wait == 0 {
        return Ok(Json(job));
    }
    let job = if job.state.is_told() && !is_late {
        job
    } else {
        waited(&api, &guest, job, wait.wait).await?
    };
    if guest.device.is_none() {
        api.teams.seen(&job).await?;
    }
    Ok(Json(job))
}

async fn waited(api: &Api, guest: &Guest, job: Job, seconds: u64) -> Result<Job, Bad> {
    let most = Duration::from_secs(seconds.min(WAIT));
    Ok(match tokio::time::timeout(most, api.teams.wait(&job)).await {
        Ok(job) => job,
        Err(_) => api.teams.job(&caller(guest), &job.id).await?,
    })
}

#[utoipa::path(
    post, path = "/api/v1/jobs/{id}/cancel", params(("id" = String, Path)),
    responses((status = 200, body = Job), (status = 409, body = Problem))
)]
pub(super) async fn cancel(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Path(id): Path<String>,
) -> Result<Json<Job>, Bad> {
    need(&guest, Scope::Prompt)?;
    let job = api.teams.cancel(&caller(&guest), &id).await?;
    note(&api, &guest, "cancel", job.worker.as_deref(), json!({ "job": job.id })).await;
    Ok(Json(job))
}

#[utoipa::path(
    post, path = "/api/v1/jobs/{id}/continue", params(("id" = String, Path)), request_body = More,
    responses((status = 200, body = Job), (status = 409, body = Problem))
)]
pub(super) async fn go_on(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Path(id): Path<String>,
    Json(more): Json<More>,
) -> Result<Json<Job>, Bad> {
    need(&guest, Scope::Approve)?;
    let job = api.teams.go_on(&caller(&guest), &id, &more).await?;
    note(&api, &guest, "continue", job.worker.as_deref(), json!({ "job": job.id })).await;
    Ok(Json(job))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Whose {
    /// Name of an agent; defaults to messages for the user.
    of: Option<String>,
    /// Include all messages.
    #[serde(default)]
    all: bool,
    /// Maximum number of recent messages, at most 500.
    limit: Option<usize>,
}

#[utoipa::path(get, path = "/api/v1/letters", params(Whose), responses((status = 200, body = Letters)))]
pub(super) async fn letters(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Query(whose): Query<Whose>,
) -> Result<Json<Letters>, Bad> {
    need(&guest, Scope::View)?;
    let most = whose.limit.unwrap_or(MOST).min(MOST);
    let of = match (whose.all, whose.of) {
        (true, _) => rows::Whose::All,
        (false, None) => rows::Whose::People,
        (false, Some(agent)) => rows::Whose::Session(api.teams.find(&caller(&guest), &agent)?),
    };
    Ok(Json(Letters { letters: api.teams.letters(of, most).await? }))
}

#[utoipa::path(
    post, path = "/api/v1/letters", request_body = Write,
    responses((status = 200, description = "Queued for delivery"), (status = 409, body = Problem))
)]
pub(super) async fn write(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Json(Write { to, text }): Json<Write>,
) -> Result<Json<serde_json::Value>, Bad> {
    need(&guest, Scope::Prompt)?;
    let (id, to) = api.teams.send(&caller(&guest), Some(&to), &text).await?;
    note(&api, &guest, "letter", None, json!({ "letter": id, "to": to })).await;
    Ok(Json(json!({ "id": id, "to": to })))
}

#[utoipa::path(
    post, path = "/api/v1/letters/read", request_body = Vec<i64>,
    responses((status = 200, description = "Marked as read"))
)]
pub(super) async fn read(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Json(ids): Json<Vec<i64>>,
) -> Result<Json<serde_json::Value>, Bad> {
    need(&guest, Scope::Prompt)?;
    api.teams.read(ids).await?;
    Ok(Json(json!({})))
}
