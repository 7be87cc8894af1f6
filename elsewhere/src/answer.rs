//! What another program answers, and what that means.

use holdover_core::remote::TaskStanding;
use holdover_runtime_local::ElsewhereError;
use reqwest::{Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::words::BODY_BYTES_MAX;

/// The most characters of an answer that an error quotes.
const QUOTED_CHARS_MAX: usize = 200;

/// A whole answer.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Vec<u8>,
    /// Words of the request that no error may quote.
    pub(crate) secrets: Vec<String>,
}

/// Reads an answer. The body of one that says that the request failed may be missing, in part or whole.
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
    /// The body, if the request succeeded.
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

    /// The standing of a task, if the request succeeded.
    pub(crate) fn standing(&self) -> Result<TaskStanding, ElsewhereError> {
        let body = self.success()?;
        object(body).ok_or_else(|| {
            let quoted = self.quoted().map(|words| format!(": {words}")).unwrap_or_default();
            ElsewhereError::never(format!("its answer is not the standing of a task{quoted}"))
        })
    }

    /// The detail of a problem, or the beginning of the body, in one line and without secrets.
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
            // Some programs write a slash in JSON so.
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

/// Reads a JSON object. An array would be read, too, with the fields by position, so it is refused.
fn object<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    let is_object = body.trim_ascii_start().first() == Some(&b'{');
    is_object.then(|| serde_json::from_slice(body).ok()).flatten()
}

/// Whether a request that was answered so may succeed later.
fn passes(status: StatusCode) -> bool {
    let passing = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS];
    status.is_server_error() || passing.contains(&status)
}

/// Describes an error without the address.
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
