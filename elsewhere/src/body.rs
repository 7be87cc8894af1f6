//! JSON objects as bodies of requests.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use crate::problem::Problem;
use crate::words::BODY_BYTES_MAX;

/// The body of a request, parsed from a JSON object. The router limits its length.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if !is_json(request.headers()) {
            let detail = "the body is no JSON: send content-type: application/json";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
        }
        let body = Bytes::from_request(request, state).await.map_err(|refused| match refused.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                let detail = format!("the body is longer than {BODY_BYTES_MAX} bytes");
                Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
            }
            _ => Problem::new(StatusCode::BAD_REQUEST, "the body ended early"),
        })?;
        // An array is refused, because serde would take its elements as the fields.
        if body.trim_ascii_start().first() != Some(&b'{') {
            return Err(Problem::new(StatusCode::BAD_REQUEST, "the body is no JSON object"));
        }
        serde_json::from_slice(&body).map(Self).map_err(|error| match error.classify() {
            Category::Data => Problem::invalid(format!("the body cannot be read: {error}")),
            Category::Io | Category::Syntax | Category::Eof => {
                Problem::new(StatusCode::BAD_REQUEST, format!("the body is no JSON: {error}"))
            }
        })
    }
}

/// Returns true if the request declares its body as JSON. Web pages of other origins cannot send this type without
/// permission.
fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    given.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}
