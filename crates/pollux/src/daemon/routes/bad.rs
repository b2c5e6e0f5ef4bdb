//! What is wrong, as an answer.

use super::sessions::Turned;
use crate::api::Problem;
use crate::trouble::{Kind, Trouble};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// A request that did not do what was asked.
#[derive(Debug)]
pub struct Bad(pub anyhow::Error);

impl<E: Into<anyhow::Error>> From<E> for Bad {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

fn turned(error: &anyhow::Error) -> Option<&Turned> {
    error.downcast_ref()
}

fn trouble(error: &anyhow::Error) -> Option<&Trouble> {
    error.downcast_ref().or_else(|| error.chain().find_map(|cause| cause.downcast_ref()))
}

/// An error as every border shows it. What the world did is said in the log; a client need not know the paths.
pub fn problem(error: &anyhow::Error) -> Problem {
    if let Some(Turned(problem)) = turned(error) {
        return problem.clone();
    }
    match trouble(error) {
        Some(trouble) => Problem {
            code: trouble.code.to_owned(),
            message: trouble.message.clone(),
            hint: trouble.hint.clone().filter(|hint| !hint.is_empty()),
        },
        None => Problem {
            code: "failed".to_owned(),
            message: "the daemon failed to handle the request".to_owned(),
            hint: Some("see the daemon's log".to_owned()),
        },
    }
}

impl IntoResponse for Bad {
    fn into_response(self) -> Response {
        let status = match trouble(&self.0) {
            None if turned(&self.0).is_some() => StatusCode::CONFLICT,
            Some(trouble) => match (trouble.kind, trouble.code) {
                (
                    _,
                    "unknown_session" | "unknown_device" | "unknown_event" | "unknown_route"
                    | "unknown_agent" | "unknown_job" | "unknown_profile" | "unknown_schedule",
                ) => StatusCode::NOT_FOUND,
                (_, "not_allowed" | "outside_projects") => StatusCode::FORBIDDEN,
                (_, "not_signed_in" | "wrong_code") => StatusCode::UNAUTHORIZED,
                (_, "wrong_request") => StatusCode::BAD_REQUEST,
                (_, "log_unwritten") => StatusCode::INSUFFICIENT_STORAGE,
                (Kind::Refused, _) => StatusCode::CONFLICT,
                (Kind::Failed, _) => StatusCode::INTERNAL_SERVER_ERROR,
            },
            None => StatusCode::INTERNAL_SERVER_ERROR,
        };
        if status.is_server_error() {
            tracing::error!("{:#}", self.0);
        }
        (status, Json(problem(&self.0))).into_response()
    }
}
