//! Schedules: work that is given again and again.
#![expect(unused_qualifications, reason = "in what utoipa makes of `params`")]

use super::sessions::{note, scoped};
use super::teams::widened;
use super::{Api, Bad, need};
use crate::api::schedule::{Run, Runs, Schedule, Schedules};
use crate::api::{Problem, Scope};
use crate::daemon::door::Guest;
use crate::trouble::Trouble;
use axum::extract::{Extension, Path, Query, State};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use utoipa::IntoParams;

const MOST: usize = 200;

pub(super) fn routes() -> Router<Arc<Api>> {
    Router::new()
        .route("/api/v1/schedules", get(list).post(add))
        .route("/api/v1/schedules/{name}", delete(remove))
        .route("/api/v1/schedules/{name}/run", post(run))
        .route("/api/v1/schedule-runs", get(runs))
}

#[utoipa::path(get, path = "/api/v1/schedules", responses((status = 200, body = Schedules)))]
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
) -> Result<Json<Schedules>, Bad> {
    need(&guest, Scope::View)?;
    Ok(Json(Schedules { schedules: api.teams.schedules() }))
}

#[utoipa::path(
    post, path = "/api/v1/schedules", request_body = Schedule,
    responses((status = 200, body = Schedule), (status = 409, body = Problem))
)]
pub(super) async fn add(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Json(mut schedule): Json<Schedule>,
) -> Result<Json<Schedule>, Bad> {
    need(&guest, Scope::Admin)?;
    // It goes on for ever, and its condition is a program: that is for somebody who sits at the machine.
    if guest.device.is_some() {
        let message = "schedules can only be created on the machine itself";
        return Err(Trouble::refused("not_allowed", message)
            .hint("run `pollux schedule add` there")
            .into());
    }
    schedule.cwd = scoped(&api, &guest, &schedule.cwd).await?;
    let detail = json!({ "schedule": schedule.name, "cron": schedule.cron });
    let schedule = api.teams.schedule(schedule).await?;
    note(&api, &guest, "schedule", None, detail).await;
    Ok(Json(schedule))
}

#[utoipa::path(
    delete, path = "/api/v1/schedules/{name}", params(("name" = String, Path)),
    responses((status = 200, description = "Deleted"), (status = 404, body = Problem))
)]
pub(super) async fn remove(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Path(name): Path<String>,
) -> Result<Json<serde_json::Value>, Bad> {
    need(&guest, Scope::Admin)?;
    api.teams.unschedule(&name).await?;
    note(&api, &guest, "unschedule", None, json!({ "schedule": name })).await;
    Ok(Json(json!({})))
}

#[utoipa::path(
    post, path = "/api/v1/schedules/{name}/run", params(("name" = String, Path)),
    responses((status = 200, body = Run), (status = 404, body = Problem))
)]
pub(super) async fn run(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Path(name): Path<String>,
) -> Result<Json<Run>, Bad> {
    // Its condition is a program, and its prompt was said by somebody at the machine.
    need(&guest, Scope::Admin)?;
    let known = api.teams.schedules().into_iter().find(|schedule| schedule.name == name);
    if let Some(schedule) = known {
        let profile = api.teams.store().find(&schedule.profile)?;
        widened(&guest, profile.mode.unwrap_or_default())?;
    }
    let run = api.teams.run_now(&name).await?;
    note(&api, &guest, "schedule_run", None, json!({ "schedule": name })).await;
    Ok(Json(run))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Whose {
    /// Name of a schedule; defaults to all.
    of: Option<String>,
}

#[utoipa::path(get, path = "/api/v1/schedule-runs", params(Whose), responses((status = 200, body = Runs)))]
pub(super) async fn runs(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Query(whose): Query<Whose>,
) -> Result<Json<Runs>, Bad> {
    need(&guest, Scope::View)?;
    Ok(Json(Runs { runs: api.teams.runs(whose.of, MOST).await? }))
}
