//! What stands around a prompt: files, directories, commands of the agent, models, pictures.
#![expect(unused_qualifications, reason = "in what utoipa makes of `params`")]

use super::sessions::allowed;
use super::{Api, Bad, need};
use crate::api::{
    Browsed, Files, Image, Kept, Model, Models, Problem, Scope, Slash, SlashCommands,
};
use crate::daemon::door::Guest;
use crate::trouble::Trouble;
use axum::Json;
use axum::extract::{Extension, Path, Query, State};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ignore::WalkBuilder;
use pollux_agent::gemini::commands;
use pollux_agent::gemini::models::{MODELS, context_window};
use serde::Deserialize;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use utoipa::IntoParams;

/// How many names one answer has.
const MOST: usize = 50;
/// How many files of a project are looked at.
const LOOKED_AT: usize = 50_000;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Begun {
    /// Directory of the project.
    #[param(value_type = String)]
    cwd: PathBuf,
    /// Text after the `@`.
    #[serde(default)]
    prefix: String,
}

/// Lists files of a project that match a prefix, without ignored files.
#[utoipa::path(
    get, path = "/api/v1/files", params(Begun),
    responses((status = 200, body = Files), (status = 403, body = Problem))
)]
pub(super) async fn files(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Query(Begun { cwd, prefix }): Query<Begun>,
) -> Result<Json<Files>, Bad> {
    need(&guest, Scope::Prompt)?;
    let root = allowed(&api, &guest, &cwd).await?;
    let found = tokio::task::spawn_blocking(move || fitting(&root, &prefix)).await;
    Ok(Json(Files { files: found.map_err(anyhow::Error::from)? }))
}

/// Paths that begin so come first, then those in which it stands elsewhere.
fn fitting(root: &FilePath, prefix: &str) -> Vec<String> {
    let wanted = prefix.to_lowercase();
    let walk = WalkBuilder::new(root).follow_links(false).hidden(true).build();
    let (mut first, mut then) = (Vec::new(), Vec::new());
    for entry in walk.flatten().take(LOOKED_AT) {
        let Some(path) = entry.path().strip_prefix(root).ok().and_then(FilePath::to_str) else {
            continue;
        };
        let directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        let path = if directory { format!("{path}/") } else { path.to_owned() };
        let low = path.to_lowercase();
        if path == "/" {
            continue;
        }
        if low.starts_with(&wanted) {
            first.push(path);
        } else if low.contains(&wanted) && then.len() < MOST {
            then.push(path);
        }
        if first.len() >= MOST {
            break;
        }
    }
    first.sort_by_key(|path| (path.matches('/').count(), path.clone()));
    first.extend(then);
    first.truncate(MOST);
    first
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Place {
    /// Path of the directory.
    #[param(value_type = String)]
    path: PathBuf,
}

/// Lists the subdirectories of a trusted directory.
#[utoipa::path(
    get, path = "/api/v1/projects/browse", params(Place),
    responses((status = 200, body = Browsed), (status = 403, body = Problem))
)]
pub(super) async fn browse(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Query(Place { path }): Query<Place>,
) -> Result<Json<Browsed>, Bad> {
    need(&guest, Scope::Prompt)?;
    let path = allowed(&api, &guest, &path).await?;
    let read = std::fs::read_dir(&path).map_err(anyhow::Error::from)?;
    let mut directories: Vec<String> = read
        .flatten()
        // A link may lead out of what is allowed.
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    directories.sort_unstable();
    directories.truncate(1000);
    Ok(Json(Browsed { path, directories }))
}

/// Lists the slash commands that a session supports.
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/commands", params(("id" = String, Path)),
    responses((status = 200, body = SlashCommands), (status = 404, body = Problem))
)]
pub(super) async fn slash(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Path(id): Path<String>,
) -> Result<Json<SlashCommands>, Bad> {
    need(&guest, Scope::View)?;
    let id = api.hub.find(&id)?;
    let cwd = api.hub.feed(&id)?.1.summary().cwd.clone();
    let gemini = api.hub.gemini().to_path_buf();
    let all = tokio::task::spawn_blocking(move || commands::all(&gemini, cwd.as_deref())).await;
    let told = |(name, description)| Slash { name, description };
    let commands = all.map_err(anyhow::Error::from)?.into_iter().map(told).collect();
    Ok(Json(SlashCommands { commands }))
}

/// Lists available models.
#[utoipa::path(get, path = "/api/v1/models", responses((status = 200, body = Models)))]
pub(super) async fn models(Extension(guest): Extension<Guest>) -> Result<Json<Models>, Bad> {
    need(&guest, Scope::View)?;
    let model = |(id, label): &(&str, &str)| Model {
        id: (*id).to_owned(),
        label: (*label).to_owned(),
        context: context_window(id),
    };
    Ok(Json(Models { models: MODELS.iter().map(model).collect() }))
}

/// Uploads an image for a prompt.
#[utoipa::path(
    post, path = "/api/v1/images", request_body = Image,
    responses((status = 201, body = Kept), (status = 400, body = Problem))
)]
pub(super) async fn image(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Json(Image { media_type, data }): Json<Image>,
) -> Result<(axum::http::StatusCode, Json<Kept>), Bad> {
    need(&guest, Scope::Prompt)?;
    let bytes = STANDARD.decode(data).map_err(|error| {
        Trouble::refused("wrong_request", format!("the image is not valid Base64: {error}"))
    })?;
    let name = api.hub.uploads().keep(&media_type, &bytes)?;
    Ok((axum::http::StatusCode::CREATED, Json(Kept { name })))
}
