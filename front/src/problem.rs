//! Errors as answers: problems as RFC 9457 defines them.

use std::time::Duration;

use aide::OperationOutput;
use aide::generate::GenContext;
use aide::openapi::{MediaType, Operation, Response as Described, SchemaObject, StatusCode as Status};
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use holdover_runtime_local::RuntimeError;
use schemars::JsonSchema;
use serde::Serialize;

/// The media type of a problem.
const MEDIA: &str = "application/problem+json";
/// The number of seconds after which a request may be repeated if it was answered with 503.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// An error as an answer. Its detail is one line and contains no secrets.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    code: &'static str,
    detail: String,
}

/// A problem (RFC 9457).
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct Told<'a> {
    /// Always `about:blank`: the status says what kind of problem it is.
    r#type: &'static str,
    /// The name of the status.
    title: &'a str,
    /// The HTTP status.
    status: u16,
    /// The code of the error, to branch on.
    code: &'a str,
    /// The error, in one line for people.
    detail: &'a str,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self { status, code, detail: detail.into().replace(['\n', '\r'], " ") }
    }

    pub(crate) fn not_found(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, detail)
    }

    pub(crate) fn conflict(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, detail)
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", detail)
    }

    /// The problem of a request whose caller is not known.
    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "send a bearer token that is known here")
    }

    pub(crate) fn forbidden(may: &str) -> Self {
        let detail = format!("the token does not give the permission to {may}");
        Self::new(StatusCode::FORBIDDEN, "forbidden", detail)
    }

    /// Returns the error, in one line for people.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// Returns the code of the error.
    pub(crate) fn code(&self) -> &'static str {
        self.code
    }

    pub(crate) fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail)
    }

    /// The problem of a request whose body did not come in time.
    pub(crate) fn too_slow(time: Duration) -> Self {
        let detail = format!("the body did not come within {} seconds", time.as_secs());
        Self::new(StatusCode::REQUEST_TIMEOUT, "too_slow", detail)
    }

    /// A fault of this program. The log says more.
    #[cfg(feature = "mcp")]
    pub(crate) fn fault() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "a fault of this program; its log says more")
    }

    /// Returns the status.
    #[cfg(feature = "mcp")]
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the problem in one line: its code and its detail.
    #[cfg(feature = "mcp")]
    pub(crate) fn line(&self) -> String {
        format!("{}: {}", self.code, self.detail)
    }

    /// Returns the body of the problem, for a stream that has begun already.
    pub(crate) fn told(&self) -> impl Serialize {
        let title = self.status.canonical_reason().unwrap_or("Error");
        Told {
            r#type: "about:blank",
            title,
            status: self.status.as_u16(),
            code: self.code,
            detail: &self.detail,
        }
    }
}

impl From<RuntimeError> for Problem {
    /// Converts the error. Details of internal errors go to the log of this program, not to the caller.
    fn from(error: RuntimeError) -> Self {
        let status = StatusCode::from_u16(error.kind().http_status());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            tracing::warn!(%error, "a request is put off");
            return Self::new(status, error.code(), "the store is unavailable; try again later");
        }
        if status.is_server_error() {
            tracing::error!(%error, "a request failed");
            return Self::new(status, error.code(), "a fault of this program; its log says more");
        }
        Self::new(status, error.code(), error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.told())).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if matches!(self.status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            headers.insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        response
    }
}

fn described(ctx: &mut GenContext, description: &str) -> Described {
    let schema = SchemaObject {
        json_schema: ctx.schema.subschema_for::<Told<'static>>(),
        example: None,
        external_docs: None,
    };
    let media = MediaType { schema: Some(schema), ..MediaType::default() };
    Described {
        description: description.to_owned(),
        content: [(MEDIA.to_owned(), media)].into_iter().collect(),
        ..Described::default()
    }
}

/// Describes problems with these statuses.
pub(crate) fn responses(ctx: &mut GenContext, statuses: &[StatusCode]) -> Vec<(Option<Status>, Described)> {
    let described = |status: &StatusCode| {
        let name = status.canonical_reason().unwrap_or("Error");
        (Some(Status::Code(status.as_u16())), described(ctx, name))
    };
    statuses.iter().map(described).collect()
}

impl OperationOutput for Problem {
    type Inner = Self;

    fn operation_response(ctx: &mut GenContext, _: &mut Operation) -> Option<Described> {
        Some(described(
            ctx,
            "The request is refused or failed. Nothing was changed, unless the status is 500 or more.",
        ))
    }

    fn inferred_responses(
        ctx: &mut GenContext,
        operation: &mut Operation,
    ) -> Vec<(Option<Status>, Described)> {
        Self::operation_response(ctx, operation).into_iter().map(|response| (None, response)).collect()
    }
}
