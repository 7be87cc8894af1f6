//! Internal errors, and the store errors that they become.
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "Redis may answer, push or fail in ways that are not known yet"
)]

use std::time::Duration;

use holdover_store::ids::SessionKey;
use holdover_store::{Retry, StoreError, StoreErrorKind};
use redis::{ErrorKind, RedisError, ServerErrorKind};
use tokio::time::Instant;

/// The shortest wait that an error mentions.
const WORTH_TELLING: Duration = Duration::from_millis(100);

/// A failure that does not name its operation and session yet.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Redis, or the connection to it, failed after this time.
    Redis(RedisError, Duration),
    /// A stored value cannot be read back as it was written.
    Corrupt(String),
    /// The caller's request is invalid.
    Invalid(String),
    /// The store cannot keep its promises under the server's settings.
    Settings(String),
    /// The server's settings break the promises, and this was found only after the server ran the command.
    Unchecked(String),
    /// A newer version wrote the stored data.
    Newer(String),
    /// Acknowledged data is missing.
    WentBack(String),
    /// The store does not exist, is incomplete or needs an update, and the options rule the change out; or other
    /// processes kept changing it.
    Absent(String),
}

/// The kind of call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    /// It only reads, so a retry is harmless.
    Read,
    /// It writes: if the answer is lost, the outcome is unknown.
    Write,
}

/// Returns the server's message, without the position in the script that the server appends.
pub(crate) fn said(error: &RedisError) -> String {
    let detail = error.detail().unwrap_or_default();
    detail.split(" script: ").next().unwrap_or_default().to_owned()
}

impl From<RedisError> for Fault {
    fn from(error: RedisError) -> Self {
        let detail = || said(&error);
        match error.code() {
            Some("CORRUPT" | "WRONGTYPE") => Self::Corrupt(detail()),
            Some("WENTBACK") => Self::WentBack(detail()),
            Some("NEWER") => Self::Newer(detail()),
            Some(_) | None => Self::Redis(error, Duration::ZERO),
        }
    }
}

impl Fault {
    /// Adds the waiting time of a call that began at `began`.
    pub(crate) fn since(self, began: Instant) -> Self {
        match self {
            Self::Redis(error, _) => Self::Redis(error, began.elapsed()),
            fault => fault,
        }
    }

    /// Converts the fault to a store error of `operation`, about the session `key` if there is one.
    pub(crate) fn of(self, call: Call, operation: &'static str, key: Option<&SessionKey>) -> StoreError {
        let error = match self {
            Self::Redis(error, waited) => of_redis(error, waited, call, operation),
            Self::Corrupt(detail) => StoreError::new(StoreErrorKind::Corrupt, operation, detail),
            Self::Invalid(detail) => StoreError::invalid(operation, detail),
            Self::Settings(detail) | Self::Absent(detail) => {
                StoreError::new(StoreErrorKind::Unavailable, operation, detail).retry(Retry::Never)
            }
            Self::Unchecked(detail) => {
                let retry = if call == Call::Read { Retry::Later } else { Retry::OutcomeUnknown };
                StoreError::new(StoreErrorKind::Unavailable, operation, detail).retry(retry)
            }
            Self::Newer(detail) => StoreError::new(StoreErrorKind::Newer, operation, detail),
            Self::WentBack(detail) => {
                let detail = format!("the store went back in time: {detail}");
                StoreError::new(StoreErrorKind::Unavailable, operation, detail).retry(Retry::Never)
            }
        };
        StoreError { key: key.cloned().map(Box::new), ..error }
    }
}

fn of_redis(error: RedisError, waited: Duration, call: Call, operation: &'static str) -> StoreError {
    let (kind, retry) = kind_of(&error, call);
    let told = kind == StoreErrorKind::Unavailable && waited >= WORTH_TELLING;
    let detail = if told { format!("after {:.1} s", waited.as_secs_f64()) } else { String::new() };
    StoreError::new(kind, operation, detail).retry(retry).because(error)
}

fn kind_of(error: &RedisError, call: Call) -> (StoreErrorKind, Retry) {
    match error.code() {
        Some("OOM") => (StoreErrorKind::Full, Retry::Later),
        // The server refused the command before it ran.
        Some(
            "MOVED" | "ASK" | "TRYAGAIN" | "CLUSTERDOWN" | "MASTERDOWN" | "LOADING" | "READONLY" | "BUSY"
            | "MISCONF" | "NOREPLICAS" | "NOSCRIPT",
        ) => (StoreErrorKind::Unavailable, Retry::Later),
        Some("NOAUTH" | "WRONGPASS" | "NOPERM") => (StoreErrorKind::Unavailable, Retry::Never),
        // A slot is moving: a touch ended the script before its first write.
        Some(_) if error.detail().is_some_and(|detail| detail.contains("non local key")) => {
            (StoreErrorKind::Unavailable, Retry::Later)
        }
        // The server closed the connection before it read the command.
        Some(_) if error.detail().is_some_and(|detail| detail.contains("max number of clients")) => {
            (StoreErrorKind::Unavailable, Retry::Later)
        }
        Some(_) => (StoreErrorKind::Backend, Retry::Never),
        None if call == Call::Read || never_sent(error) => (StoreErrorKind::Unavailable, Retry::Later),
        None => (StoreErrorKind::Unavailable, Retry::OutcomeUnknown),
    }
}

/// Returns true if the server refused the command for good, for example because it does not know the command or
/// forbids it to this user.
pub(crate) fn is_refusal(error: &RedisError) -> bool {
    kind_of(error, Call::Read).1 == Retry::Never
}

/// Returns true if the command certainly did not reach a server.
fn never_sent(error: &RedisError) -> bool {
    error.is_connection_refusal() || error.kind() == ErrorKind::ClusterConnectionNotFound
}

/// Returns true if no server ran the command, and one may run it soon.
pub(crate) fn may_run_soon(error: &RedisError) -> bool {
    match error.kind() {
        ErrorKind::Server(kind) => matches!(
            kind,
            ServerErrorKind::Moved
                | ServerErrorKind::TryAgain
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::MasterDown
                | ServerErrorKind::BusyLoading
                | ServerErrorKind::ReadOnly
        ),
        ErrorKind::ClusterConnectionNotFound => true,
        _ => false,
    }
}

/// Returns true if, after this error, a server may answer whose settings were not read.
pub(crate) fn is_break(error: &RedisError) -> bool {
    match error.kind() {
        ErrorKind::Io | ErrorKind::ClusterConnectionNotFound => true,
        ErrorKind::Server(kind) => matches!(
            kind,
            ServerErrorKind::Moved
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::MasterDown
                | ServerErrorKind::BusyLoading
                | ServerErrorKind::ReadOnly
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn retry(error: io::ErrorKind, call: Call) -> Retry {
        Fault::from(RedisError::from(io::Error::from(error))).of(call, "deliver", None).retry
    }

    #[test]
    fn a_lost_answer_to_a_write_leaves_its_outcome_unknown() {
        for lost in [io::ErrorKind::TimedOut, io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe] {
            assert_eq!(retry(lost, Call::Write), Retry::OutcomeUnknown, "{lost}");
            assert_eq!(retry(lost, Call::Read), Retry::Later, "{lost}");
        }
        assert_eq!(retry(io::ErrorKind::ConnectionRefused, Call::Write), Retry::Later);
    }

    /// Returns the error of a server's answer.
    fn answered(text: &str) -> RedisError {
        let value = redis::parse_redis_value(format!("-{text}\r\n").as_bytes()).unwrap();
        value.extract_error().unwrap_err()
    }

    #[test]
    fn only_what_is_refused_for_good_is_a_refusal() {
        for good in ["ERR unknown command 'CONFIG'", "NOPERM no", "ERR Unknown subcommand"] {
            assert!(is_refusal(&answered(good)), "{good}");
        }
        for passing in ["ERR max number of clients reached", "LOADING", "BUSY", "CLUSTERDOWN"] {
            assert!(!is_refusal(&answered(passing)), "{passing}");
        }
        assert!(!is_refusal(&RedisError::from(io::Error::from(io::ErrorKind::TimedOut))));
    }

    #[test]
    fn what_may_come_from_another_server_is_a_break() {
        assert!(is_break(&RedisError::from(io::Error::from(io::ErrorKind::ConnectionReset))));
        for broken in ["MOVED 1 h:1", "READONLY You can't write", "LOADING", "MASTERDOWN", "CLUSTERDOWN"] {
            assert!(is_break(&answered(broken)), "{broken}");
        }
        for other in ["ERR no", "OOM no memory", "NOSCRIPT", "WENTBACK", "TRYAGAIN", "BUSY"] {
            assert!(!is_break(&answered(other)), "{other}");
        }
    }
}
