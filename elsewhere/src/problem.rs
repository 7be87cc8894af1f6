//! Errors as answers: problems as RFC 9457 defines them.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use holdover_runtime_local::RuntimeError;
use serde::Serialize;

/// The number of seconds after which a request may be retried if it was answered with 503.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// An error as an answer. Its detail is one line and contains no secrets.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    detail: String,
}

/// The body of a problem.
#[derive(Serialize)]
struct Told<'a> {
    r#type: &'static str,
    title: &'a str,
    status: u16,
    detail: &'a str,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into() }
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }
}

impl From<RuntimeError> for Problem {
    /// Converts the error. Details of internal errors go to this program's log, not to the caller.
    fn from(error: RuntimeError) -> Self {
        let status = StatusCode::from_u16(error.kind().http_status());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            tracing::warn!(%error, "a request of another program is put off");
            return Self::new(status, "the store is unavailable; try again later");
        }
        if status.is_server_error() {
            tracing::error!(%error, "a request of another program failed");
            return Self::new(status, "a fault of this program; its log says more");
        }
        Self::new(status, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self { status, detail } = self;
        let title = status.canonical_reason().unwrap_or("Error");
        let told = Told { r#type: "about:blank", title, status: status.as_u16(), detail: &detail };
        let mut response = (status, Json(told)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        response
    }
}
