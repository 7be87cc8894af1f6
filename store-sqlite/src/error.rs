//! Internal errors, and the store errors that they become.

use std::fmt;
use std::sync::Arc;

use holdover_store::ids::SessionKey;
use holdover_store::{Retry, StoreError, StoreErrorKind};

use crate::migration::NEWEST;

const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const NOMEM: i32 = 7;
const READONLY: i32 = 8;
const IOERR: i32 = 10;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const CANTOPEN: i32 = 14;
const TOOBIG: i32 = 18;
const NOTADB: i32 = 26;

/// The code of a failure to extend the shared index's file: no space is left beside the database.
const IOERR_SHMSIZE: i32 = 4874;

/// A failure that does not name its operation and session yet. A fault is cheap to clone, because one failed commit
/// fails every write of its group.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// SQLite, or a call of `rusqlite`, failed.
    Sql(SqlError),
    /// A stored value cannot be read back as it was written.
    Corrupt(String),
    /// The caller's request is invalid.
    Invalid(String),
    /// A newer version has raised the schema to this version.
    Newer(i64),
    /// The database could not be reopened after a failure, or too many reads wait for a connection.
    Unreachable(String),
    /// The file was opened without locks, because no process seemed to write it, and was written since.
    Thawed,
    /// The caller's transaction has ended, for this reason.
    Undone(String),
    /// The store was closed.
    Closed,
}

/// SQLite's own error, in a form that is cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct SqlError(Arc<rusqlite::Error>);

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let rusqlite::Error::SqliteFailure(code, Some(text)) = &*self.0 {
            return write!(f, "(code: {}) {text}", code.extended_code);
        }
        write!(f, "{}", self.0)
    }
}

impl std::error::Error for SqlError {}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(SqlError(Arc::new(error)))
    }
}

impl SqlError {
    /// Returns SQLite's primary result code, if SQLite itself failed.
    fn code(&self) -> Option<i32> {
        Some(self.extended_code()? & 0xff)
    }

    fn extended_code(&self) -> Option<i32> {
        if let rusqlite::Error::SqlInputError { error, .. } = &*self.0 {
            return Some(error.extended_code);
        }
        self.0.sqlite_error().map(|error| error.extended_code)
    }

    fn kind(&self) -> StoreErrorKind {
        if self.extended_code() == Some(IOERR_SHMSIZE) {
            return StoreErrorKind::Full;
        }
        match self.code() {
            Some(BUSY | LOCKED | NOMEM | READONLY | IOERR | CANTOPEN) | None => StoreErrorKind::Unavailable,
            Some(FULL) => StoreErrorKind::Full,
            Some(TOOBIG) => StoreErrorKind::TooLarge,
            Some(CORRUPT | NOTADB) => StoreErrorKind::Corrupt,
            Some(_) => StoreErrorKind::Backend,
        }
    }
}

impl Fault {
    /// Returns true if another connection holds a lock that SQLite needed.
    pub(crate) fn is_busy(&self) -> bool {
        self.code().is_some_and(|code| code == BUSY || code == LOCKED)
    }

    /// Returns true if a COMMIT that failed with this fault has certainly changed nothing. If SQLite was busy, the
    /// commit never began. If the disk was full, a page could not be written to the log, and the page that completes
    /// a commit is written last. Any other failure (of a sync or of the shared index) may come after that page has
    /// reached the disk.
    pub(crate) fn leaves_commit_undone(&self) -> bool {
        self.code().is_some_and(|code| code == BUSY || code == FULL)
    }

    /// Returns true if the connection can no longer be trusted.
    pub(crate) fn taints_connection(&self) -> bool {
        let tainting = [NOMEM, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB];
        let Self::Sql(error) = self else { return false };
        error.code().is_none_or(|code| tainting.contains(&code))
    }

    fn code(&self) -> Option<i32> {
        if let Self::Sql(error) = self { error.code() } else { None }
    }

    /// Converts the fault to a store error of `operation`, for the session `key` if there is one.
    pub(crate) fn of(self, operation: &'static str, key: Option<&SessionKey>) -> StoreError {
        let unavailable = |detail: String| StoreError::new(StoreErrorKind::Unavailable, operation, detail);
        let error = match self {
            Self::Sql(error) if error.code() == Some(READONLY) => {
                unavailable("it is read-only for this user".into()).retry(Retry::Never).because(error)
            }
            Self::Sql(error) => StoreError::new(error.kind(), operation, "").because(error),
            Self::Corrupt(detail) => StoreError::new(StoreErrorKind::Corrupt, operation, detail),
            Self::Invalid(detail) => StoreError::invalid(operation, detail),
            Self::Newer(schema) => {
                let known = format!("this program knows up to {NEWEST}");
                let detail = format!("a newer version has raised the schema to {schema}, {known}");
                StoreError::new(StoreErrorKind::Newer, operation, detail)
            }
            Self::Unreachable(detail) => unavailable(detail),
            Self::Undone(why) => unavailable(format!("the transaction has ended: {why}")),
            // Data that is read from now on may mix two instants.
            Self::Thawed => {
                let detail =
                    "the file was written since it was opened, and this user may only read it: open it again";
                unavailable(detail.into()).retry(Retry::Never)
            }
            Self::Closed => unavailable("the store was closed".into()).retry(Retry::Never),
        };
        StoreError { key: key.cloned().map(Box::new), ..error }
    }
}
