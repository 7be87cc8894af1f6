//! Reads the answers of another program.

use holdover_core::remote::TaskStanding;
use holdover_runtime_local::ElsewhereError;
use reqwest::{Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::words::BODY_BYTES_MAX;

/// The maximum number of characters of an answer that an error quotes.
const QUOTED_CHARS_MAX: usize = 200;

/// A complete answer.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Vec<u8>,
    /// Parts of the request that no error may quote.
    pub(crate) secrets: Vec<String>,
}

/// Reads an answer. If its status reports a failure, the body may be missing or incomplete.
pub(crate) async fn read(mut response: Response) -> Result<Answer, ElsewhereError> {
    let status = response.status();
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(piece)) if body.len() + piece.len() <= BODY_BYTES_MAX => body.extend_from_slice(&piece),
            Ok(None) => break,
            _ if !status.is_success() => break,
            Ok(Some(_)) => {
                let why = format!("its answer is longer than {BODY_BYTES_MAX} bytes");
                return Err(ElsewhereError::never(why));
            }
            Err(error) => return Err(why(&error)),
        }
    }
    Ok(Answer { status, body, secrets: Vec::new() })
}

impl Answer {
    /// Returns the body. Fails if the status is not a success.
    pub(crate) fn success(&self) -> Result<&[u8], ElsewhereError> {
        let status = self.status;
        if status.is_success() {
            return Ok(&self.body);
        }
        let quoted = self.quoted().map(|words| format!(": {words}")).unwrap_or_default();
        let redirects = if status.is_redirection() { ", and redirects are not followed" } else { "" };
        let detail = format!("it answered with status {}{redirects}{quoted}", status.as_u16());
        Err(ElsewhereError { again: passes(status), detail })
    }

    /// Returns the standing of a task. Fails if the status is not a success or the body is not a standing.
    pub(crate) fn standing(&self) -> Result<TaskStanding, ElsewhereError> {
        let body = self.success()?;
        object(body).ok_or_else(|| {
            let quoted = self.quoted().map(|words| format!(": {words}")).unwrap_or_default();
            ElsewhereError::never(format!("its answer is not the standing of a task{quoted}"))
        })
    }

    /// Returns the detail of a problem, or else the beginning of the body, in one line and without secrets. Returns
    /// `None` if there is no text.
    fn quoted(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Problem {
            detail: String,
        }
        let mut words = match object(&self.body) {
            Some(Problem { detail }) => detail,
            None => String::from_utf8_lossy(&self.body).into_owned(),
        };
        for secret in self.secrets.iter().filter(|secret| !secret.is_empty()) {
            // Some programs escape slashes in JSON.
            for written in [secret.replace('/', "\\/"), secret.clone()] {
                words = words.replace(&written, "…");
            }
        }
        let words =
            words.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
        let words: String = words.collect::<Vec<_>>().join(" ").chars().take(QUOTED_CHARS_MAX).collect();
        (!words.is_empty()).then_some(words)
    }
}

/// Reads a JSON object. Refuses an array, because serde would take its elements as the fields.
fn object<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    let is_object = body.trim_ascii_start().first() == Some(&b'{');
    is_object.then(|| serde_json::from_slice(body).ok()).flatten()
}

/// Returns true if a request with this answer may succeed later.
fn passes(status: StatusCode) -> bool {
    let passing = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS];
    status.is_server_error() || passing.contains(&status)
}

/// Describes an error without the URL.
pub(crate) fn why(error: &reqwest::Error) -> ElsewhereError {
    if error.is_builder() {
        ElsewhereError::never("the request cannot be sent")
    } else if error.is_timeout() {
        ElsewhereError::later("it was silent")
    } else if error.is_connect() {
        ElsewhereError::later("it cannot be reached")
    } else {
        ElsewhereError::later("its answer ended early")
    }
}
