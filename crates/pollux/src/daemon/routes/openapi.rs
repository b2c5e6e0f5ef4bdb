//! The description of the API, made from the code that serves it.

use super::{afar, around, devices, pages, schedules, sessions, teams};
use axum::Json;
use utoipa::OpenApi;

#[derive(OpenApi)]
#[openapi(
    info(title = "Pollux", description = "Control and observe Gemini CLI sessions"),
    paths(
        super::health,
        super::me,
        super::capabilities,
        super::shutdown,
        super::upgrade,
        serve,
        sessions::list,
        sessions::begin,
        sessions::adopt,
        sessions::show,
        sessions::command,
        sessions::questions,
        sessions::projects,
        sessions::trust,
        sessions::restore,
        pages::messages,
        pages::events,
        pages::event,
        pages::stream,
        pages::search,
        pages::usage,
        around::slash,
        around::browse,
        around::files,
        around::models,
        around::image,
        afar::share,
        afar::unshare,
        afar::shared,
        afar::key,
        afar::subscribe,
        afar::unsubscribe,
        afar::test,
        devices::pair,
        devices::claim,
        devices::list,
        devices::revoke,
        devices::audit,
        teams::list,
        teams::profiles,
        teams::launch,
        teams::stop,
        teams::jobs,
        teams::give,
        teams::job,
        teams::cancel,
        teams::go_on,
        teams::letters,
        teams::write,
        teams::read,
        schedules::list,
        schedules::add,
        schedules::remove,
        schedules::run,
        schedules::runs,
    )
)]
struct Document;

/// The OpenAPI document.
pub fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}

#[utoipa::path(get, path = "/api/v1/openapi.json", responses((status = 200, description = "This document")))]
pub(super) async fn serve() -> Json<utoipa::openapi::OpenApi> {
    Json(document())
}
