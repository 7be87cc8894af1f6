//! Errors of a store. Losing a race is not an error, but a value in an outcome.

use std::error::Error;
use std::fmt;

use crate::ids::SessionKey;

/// The kind of an error. Callers branch on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoreErrorKind {
    /// The request makes no sense, such as a limit of 0 or a cursor of another query.
    InvalidArgument,
    /// The request is larger than the [`Capabilities`](super::Capabilities) or the limits of [`Labels`](super::Labels)
    /// allow. Nothing was changed.
    TooLarge,
    /// The session to be read does not exist.
    NotFound,
    /// The backend does not support this operation; see its capabilities.
    Unsupported,
    /// The stored data differs from what was written, or has a form that this version cannot read.
    Corrupt,
    /// The stored data is encrypted with a key that this process does not have. A process with that key can
    /// read it.
    KeyMissing,
    /// The data was written by a newer version of the store. Nothing was read or changed.
    Newer,
    /// The backend cannot be reached, or its settings do not allow the promises that it must make.
    Unavailable,
    /// The backend has no storage space left. Nothing was changed.
    Full,
    /// Another error of the backend; the source names it.
    Backend,
}

impl fmt::Display for StoreErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidArgument => "invalid argument",
            Self::TooLarge => "too large",
            Self::NotFound => "not found",
            Self::Unsupported => "unsupported",
            Self::Corrupt => "corrupt",
            Self::KeyMissing => "key missing",
            Self::Newer => "written by a newer version",
            Self::Unavailable => "unavailable",
            Self::Full => "full",
            Self::Backend => "backend failed",
        })
    }
}

/// The advice on whether to retry a failed call, and on whether that call may have changed data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Retry {
    /// The same call would fail again. Nothing was changed.
    Never,
    /// Nothing was changed; the same call may succeed later.
    Later,
    /// The write may have been applied. Before acting on the result, repeat the write with the same operation
    /// id, or read the session.
    OutcomeUnknown,
}

/// An error of a store. Its text is one line.
#[derive(Debug)]
pub struct StoreError {
    /// The kind of the error, to branch on.
    pub kind: StoreErrorKind,
    /// The advice on whether to retry.
    pub retry: Retry,
    /// The method of [`StateStore`](super::StateStore), or the name of another operation of a store, such as `open`.
    pub operation: &'static str,
    /// The session that the error concerns: for a creation the new session, for a fork the source or the fork. None
    /// if the error concerns no single session, as in a list across sessions.
    pub key: Option<Box<SessionKey>>,
    /// The exact cause. For a refused argument it names the field, except if the sum of all payloads is too large. It
    /// never contains a payload or a secret.
    pub detail: String,
    /// The error of the backend, if there is one.
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl StoreError {
    /// Returns an error of `kind` in `operation`, with the usual retry for that kind: `Later` for
    /// [`Unavailable`](StoreErrorKind::Unavailable) and [`Full`](StoreErrorKind::Full), else `Never`.
    pub fn new(kind: StoreErrorKind, operation: &'static str, detail: impl Into<String>) -> Self {
        let retry = match kind {
            StoreErrorKind::Unavailable | StoreErrorKind::Full => Retry::Later,
            StoreErrorKind::InvalidArgument
            | StoreErrorKind::TooLarge
            | StoreErrorKind::NotFound
            | StoreErrorKind::Unsupported
            | StoreErrorKind::Corrupt
            | StoreErrorKind::KeyMissing
            | StoreErrorKind::Newer
            | StoreErrorKind::Backend => Retry::Never,
        };
        Self { kind, retry, operation, key: None, detail: detail.into(), source: None }
    }

    /// Returns an error of the kind [`InvalidArgument`](StoreErrorKind::InvalidArgument).
    pub fn invalid(operation: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StoreErrorKind::InvalidArgument, operation, detail)
    }

    /// Sets the session of the error.
    #[must_use]
    pub fn on(mut self, key: &SessionKey) -> Self {
        self.key = Some(Box::new(key.clone()));
        self
    }

    /// Sets the advice on whether to retry.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Sets the error of the backend as the source.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "store: {}", self.operation)?;
        if let Some(key) = &self.key {
            write!(f, " {key}")?;
        }
        write!(f, ": {}", self.kind)?;
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        if let Some(source) = &self.source {
            write!(f, ": {}", source.to_string().replace('\n', " "))?;
        }
        match self.retry {
            Retry::Never => Ok(()),
            Retry::Later => f.write_str(" (may succeed later)"),
            Retry::OutcomeUnknown => f.write_str(" (may have been applied)"),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
