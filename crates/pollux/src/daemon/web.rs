//! The web app, which is part of the program. Where it was not built there is a plain page instead.

use crate::trouble::Trouble;
use axum::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use rust_embed::Embed;
use std::borrow::Cow;

#[derive(Embed)]
#[folder = "$OUT_DIR/web"]
#[allow_missing = true]
struct App;

const PLAIN: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Pollux</title>\n\
    <p>Pollux is running. This build does not include the web app. The API is at <code>/api/v1</code>.</p>\n</html>\n";

/// A file of the app, or its first page: the app itself knows its paths.
pub async fn page(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    if path.starts_with("api/") || !matches!(method, Method::GET | Method::HEAD) {
        let trouble = Trouble::refused("unknown_route", "no such route");
        return super::routes::Bad::from(trouble).into_response();
    }
    // Files have a dot in their last part; paths of the app have none.
    let is_file = path.rsplit('/').next().is_some_and(|name| name.contains('.'));
    let (name, cache) = match path {
        _ if !is_file => ("index.html", "no-cache"),
        // Their names change with what is in them.
        path if path.starts_with("assets/") => (path, "public, max-age=31536000, immutable"),
        path => (path, "no-cache"),
    };
    match App::get(name) {
        Some(file) => {
            let kind = file.metadata.mimetype().to_owned();
            let told = [(CONTENT_TYPE, kind), (CACHE_CONTROL, cache.to_owned())];
            match packed(name, &headers) {
                Some(bytes) => {
                    let how = [(CONTENT_ENCODING, "gzip"), (VARY, "accept-encoding")];
                    (told, how, bytes).into_response()
                }
                None => (told, bytes(file.data)).into_response(),
            }
        }
        None if !is_file => {
            ([(CONTENT_TYPE, "text/html; charset=utf-8"), (CACHE_CONTROL, "no-cache")], PLAIN)
                .into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// The same file in fewer bytes, where the build made them and the client takes them.
fn packed(name: &str, headers: &HeaderMap) -> Option<Bytes> {
    let takes = headers
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value: &HeaderValue| value.to_str().ok());
    let takes = takes.flat_map(|value| value.split(',')).any(|way| way.trim() == "gzip");
    let file = takes.then(|| App::get(&format!("{name}.gz"))).flatten()?;
    Some(bytes(file.data))
}

/// What is part of the program is sent from there, however many ask for it.
fn bytes(data: Cow<'static, [u8]>) -> Bytes {
    match data {
        Cow::Borrowed(data) => Bytes::from_static(data),
        Cow::Owned(data) => data.into(),
    }
}
