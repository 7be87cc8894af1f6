//! The errors of Restate and of its worker.

use std::io;
use std::net::SocketAddr;

/// The error of a worker, or of settings that are not valid. The message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestateError {
    /// A setting is not valid.
    #[error("{setting}: {why}")]
    Setting {
        /// The name of the setting.
        setting: &'static str,
        /// The reason why it is not valid.
        why: String,
    },
    /// The worker cannot listen on its address.
    #[error("{address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// Restate cannot be reached, or refuses a request.
    #[error("{request}: {why}")]
    Request {
        /// The method and the URL, without a token.
        request: String,
        /// The HTTP status, if there was an answer.
        status: Option<u16>,
        /// The reason.
        why: String,
    },
    /// Another program answers Restate at the URL of the worker.
    #[error(
        "at {url} Restate found the services [{found}] and not those of this worker; another program listens there"
    )]
    OtherProgram {
        /// The URL of the worker.
        url: String,
        /// The names of the services that Restate found.
        found: String,
    },
}

impl RestateError {
    pub(crate) fn setting(setting: &'static str, why: impl Into<String>) -> Self {
        Self::Setting { setting, why: why.into() }
    }

    /// The name of the service is not valid.
    pub(crate) fn base() -> Self {
        let why = "it must begin with an ASCII letter, and contain only ASCII letters, digits and -";
        Self::setting("service", why)
    }

    /// Returns the HTTP status of Restate's answer, if there was one.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Request { status, .. } => *status,
            Self::Setting { .. } | Self::Listen { .. } | Self::OtherProgram { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_program_at_the_address_is_named_by_its_services() {
        let error = RestateError::OtherProgram {
            url: "http://127.0.0.1:9080".to_owned(),
            found: "holdover.other".to_owned(),
        };
        assert_eq!(
            error.to_string(),
            "at http://127.0.0.1:9080 Restate found the services [holdover.other] and not those of this worker; \
             another program listens there"
        );
        assert_eq!(error.status(), None);
    }
}
