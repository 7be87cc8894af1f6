//! Errors as a status and one line of JSON.

use std::fmt::Display;
use std::time::Duration;

use axum::Json;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use holdover::runtime::RuntimeError;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::timeout;

/// The time within which a client must send the whole body of a request.
const BODY_TIME: Duration = Duration::from_secs(10);

/// An error: the status and the message of the response.
pub(crate) struct Error(pub(crate) StatusCode, pub(crate) String);

impl Error {
    /// Returns the error for a request that is not valid.
    pub(crate) fn not_understood(why: impl Display) -> Self {
        Self(StatusCode::UNPROCESSABLE_ENTITY, why.to_string())
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1.replace('\n', " ") }))).into_response()
    }
}

impl From<RuntimeError> for Error {
    fn from(error: RuntimeError) -> Self {
        let status = StatusCode::from_u16(error.kind().http_status());
        Self(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), error.to_string())
    }
}

/// A JSON body. A body that is not valid, or does not arrive in time, gets a one-line error.
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        match timeout(BODY_TIME, Json::from_request(request, state)).await {
            Ok(Ok(Json(body))) => Ok(Self(body)),
            Ok(Err(refused)) => Err(Error(refused.status(), refused.body_text())),
            Err(_) => Err(Error(StatusCode::REQUEST_TIMEOUT, "the body did not come in time".to_owned())),
        }
    }
}

/// A part of the URL. A part that is not valid gets a one-line error.
pub(crate) struct Given<P>(pub(crate) P);

impl<S: Send + Sync, P: FromRequestParts<S, Rejection: Display>> FromRequestParts<S> for Given<P> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        P::from_request_parts(parts, state).await.map(Self).map_err(Error::not_understood)
    }
}
