//! What goes wrong, as a status and one line of JSON.

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use holdover::{InvalidId, RuntimeError, RuntimeErrorKind};
use serde_json::json;

/// What goes wrong.
pub(crate) enum Error {
    /// The engine refused, or failed.
    Runtime(RuntimeError),
    /// There is no such thing.
    NotFound(String),
    /// It is too late for that, or somebody was faster.
    Conflict(String),
    /// The request cannot be read.
    Request(StatusCode, String),
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let (status, line) = match self {
            Self::Runtime(error) => (status_of(error.kind()), error.to_string()),
            Self::NotFound(line) => (StatusCode::NOT_FOUND, line),
            Self::Conflict(line) => (StatusCode::CONFLICT, line),
            Self::Request(status, line) => (status, line),
        };
        (status, Json(json!({ "error": line.replace('\n', " ") }))).into_response()
    }
}

fn status_of(kind: RuntimeErrorKind) -> StatusCode {
    match kind {
        RuntimeErrorKind::NotFound => StatusCode::NOT_FOUND,
        RuntimeErrorKind::Gone => StatusCode::GONE,
        RuntimeErrorKind::Conflict => StatusCode::CONFLICT,
        RuntimeErrorKind::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
        RuntimeErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        RuntimeErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        RuntimeErrorKind::Fault => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<RuntimeError> for Error {
    fn from(error: RuntimeError) -> Self {
        Self::Runtime(error)
    }
}

impl From<InvalidId> for Error {
    fn from(error: InvalidId) -> Self {
        Self::Runtime(error.into())
    }
}

/// `axum::Json`, refused in one line.
#[derive(FromRequest)]
#[from_request(via(axum::Json), rejection(Error))]
pub(crate) struct Body<T>(pub(crate) T);

/// `axum::extract::Path`, refused in one line.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Path), rejection(Error))]
pub(crate) struct Path<T>(pub(crate) T);

/// `axum::extract::Query`, refused in one line.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Query), rejection(Error))]
pub(crate) struct Query<T>(pub(crate) T);

impl From<JsonRejection> for Error {
    fn from(refused: JsonRejection) -> Self {
        Self::Request(refused.status(), refused.body_text())
    }
}

impl From<PathRejection> for Error {
    fn from(refused: PathRejection) -> Self {
        Self::Request(StatusCode::UNPROCESSABLE_ENTITY, refused.body_text())
    }
}

impl From<QueryRejection> for Error {
    fn from(refused: QueryRejection) -> Self {
        Self::Request(StatusCode::UNPROCESSABLE_ENTITY, refused.body_text())
    }
}
