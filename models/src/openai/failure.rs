//! The library's errors, in core's words.

use std::error::Error as StdError;
use std::time::SystemTime;

use genai::Error;
use genai::webc::StreamTimeout;
use holdover_core::model::{ModelError, ModelErrorKind};

use crate::wire::{cut, in_stream, innermost, malformed, refused, retry_after, stalled};

/// `begun`: whether some of the answer had come.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the library's enum: what it adds is refused as the rest is"
)]
pub(super) fn classify(error: &Error, begun: bool) -> ModelError {
    match error {
        Error::HttpError { status, body, headers, .. } => {
            let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
            let mut found = refused(status.as_u16(), body);
            found.retry_after =
                retry_after(header("retry-after-ms"), header("retry-after"), SystemTime::now());
            found
        }
        Error::WebStream { error, cause, .. } => transport(error.as_ref(), cause, begun),
        Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => {
            ModelError::new(ModelErrorKind::Network, innermost(webc_error))
        }
        Error::ChatResponse { body, .. } => in_stream(body),
        Error::StreamParse { serde_error, .. } => malformed(format!("a chunk is not JSON: {serde_error}")),
        // All others tell of a request that was never sent. Their text may hold all of it.
        other => {
            let text = other.to_string();
            let line = text.lines().next().unwrap_or_default();
            ModelError::new(ModelErrorKind::Configuration, format!("the request cannot be made: {line}"))
        }
    }
}

fn transport(error: &(dyn StdError + Send + Sync + 'static), cause: &str, begun: bool) -> ModelError {
    if let Some(error) = error.downcast_ref::<Error>() {
        return classify(error, begun);
    }
    if let Some(timeout) = error.downcast_ref::<StreamTimeout>() {
        return stalled(match timeout {
            StreamTimeout::Headers => false,
            StreamTimeout::Read => begun,
        });
    }
    if error.is::<std::str::Utf8Error>() || error.is::<std::string::FromUtf8Error>() {
        return malformed(format!("the stream is not UTF-8: {cause}"));
    }
    cut(error, begun)
}
