//! Internal errors, and the store errors that they become.

use std::fmt;

use holdover_store::ids::SessionKey;
use holdover_store::{Retry, StoreError, StoreErrorKind};
use sqlx::error::DatabaseError;
use sqlx::postgres::{PgDatabaseError, PgSeverity};

/// The error codes of Postgres.
mod code {
    pub(super) const SERIALIZATION_FAILURE: &str = "40001";
    pub(super) const DEADLOCK_DETECTED: &str = "40P01";
    pub(super) const QUERY_CANCELED: &str = "57014";
    pub(super) const LOCK_NOT_AVAILABLE: &str = "55P03";
    pub(super) const ADMIN_SHUTDOWN: &str = "57P01";
    pub(super) const CRASH_SHUTDOWN: &str = "57P02";
    pub(super) const DATABASE_DROPPED: &str = "57P04";
    pub(super) const IDLE_SESSION_TIMEOUT: &str = "57P05";
    pub(super) const IDLE_IN_TRANSACTION: &str = "25P03";
    pub(super) const READ_ONLY: &str = "25006";
    pub(super) const CANNOT_CONNECT_NOW: &str = "57P03";
    pub(super) const DISK_FULL: &str = "53100";
    pub(super) const PROGRAM_LIMIT: &str = "54000";
    pub(super) const NO_SUCH_CHARACTER: &str = "22021";
    pub(super) const DATA_CORRUPTED: &str = "XX001";
    pub(super) const INDEX_CORRUPTED: &str = "XX002";
    /// Class: connection exceptions.
    pub(super) const CONNECTION: &str = "08";
    /// Class: insufficient resources.
    pub(super) const RESOURCES: &str = "53";
    pub(super) const FEATURE_NOT_SUPPORTED: &str = "0A000";
    pub(super) const DIVISION_BY_ZERO: &str = "22012";
    /// A statement that needs a transaction was sent outside of one.
    pub(super) const NO_TRANSACTION: &str = "25P01";
    /// A statement was sent in a transaction that has failed.
    pub(super) const FAILED_TRANSACTION: &str = "25P02";
    pub(super) const NOT_NULL: &str = "23502";
    pub(super) const UNDEFINED_COLUMN: &str = "42703";
    pub(super) const UNDEFINED_TABLE: &str = "42P01";
    pub(super) const UNDEFINED_OBJECT: &str = "42704";
    pub(super) const UNDEFINED_FUNCTION: &str = "42883";
    /// From the cast in [`Server::only_if_same`](crate::server::Server::only_if_same): the server's settings have
    /// changed.
    pub(super) const OTHER_SERVER: &str = "22P02";
}

/// A failure that does not name its operation and session yet.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Postgres, or the connection to it, failed.
    Sql(sqlx::Error),
    /// The store cannot work on the server that answers now.
    Refused(String),
    /// The server did not answer in time, and the call was given up.
    Silent,
    /// Too little time was left to send the statement and receive its result.
    Late,
    /// A stored value cannot be read back as it was written.
    Corrupt(String),
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

/// Postgres's own error, in one line.
#[derive(Debug)]
struct SqlError(sqlx::Error);

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_database_error() {
            Some(error) => write!(f, "{} ({})", error.message(), error.code().unwrap_or_default()),
            None => write!(f, "{}", self.0),
        }
    }
}

impl std::error::Error for SqlError {}

impl Fault {
    fn code(&self) -> Option<String> {
        match self {
            Self::Sql(error) => Some(error.as_database_error()?.code()?.into_owned()),
            Self::Refused(_) | Self::Silent | Self::Late | Self::Corrupt(_) => None,
        }
    }

    /// Returns true if the server undid the call because of concurrent transactions, so that it may be retried at
    /// once.
    pub(crate) fn was_undone(&self) -> bool {
        self.code().is_some_and(|code| {
            [code::SERIALIZATION_FAILURE, code::DEADLOCK_DETECTED].contains(&code.as_str())
        })
    }

    /// Returns true if another connection may succeed, because this one is lost, has prepared statements for tables
    /// that were changed, or leads to a server whose settings have changed.
    pub(crate) fn taints_connection(&self) -> bool {
        match self {
            Self::Sql(sqlx::Error::Database(error)) => {
                ended_session(error.as_ref()) || error.code().is_none_or(|code| is_outdated(&code))
            }
            Self::Sql(sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Encode(_)) => false,
            Self::Sql(_) | Self::Silent => true,
            Self::Refused(_) | Self::Late | Self::Corrupt(_) => false,
        }
    }

    /// Returns true if the tables or the server's settings have changed since the connection was made or the
    /// statement was prepared. Then nothing was done.
    pub(crate) fn is_outdated(&self) -> bool {
        self.code().is_some_and(|code| is_outdated(&code))
    }

    /// Returns true if the tables are not those that this program knows. Then nothing was done.
    pub(crate) fn misses_something(&self) -> bool {
        let known = [
            code::UNDEFINED_TABLE,
            code::UNDEFINED_COLUMN,
            code::UNDEFINED_OBJECT,
            code::UNDEFINED_FUNCTION,
            code::NOT_NULL,
        ];
        self.code().is_some_and(|code| known.contains(&code.as_str()))
    }

    /// Returns true if a statement undid itself because its time was over when it wrote.
    pub(crate) fn is_out_of_time(&self) -> bool {
        self.code().is_some_and(|code| code == code::DIVISION_BY_ZERO)
    }

    /// Returns true if a write that failed after it was sent may have been applied, because the server did not
    /// answer, or it was shutting down or died, perhaps after the commit.
    fn leaves_outcome_unknown(&self) -> bool {
        match self {
            Self::Sql(sqlx::Error::Database(error)) => {
                ended_session(error.as_ref()) || error.code().is_none()
            }
            Self::Sql(sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Encode(_)) => false,
            Self::Sql(_) | Self::Silent => true,
            Self::Refused(_) | Self::Late | Self::Corrupt(_) => false,
        }
    }

    fn kind(&self) -> StoreErrorKind {
        match self {
            Self::Sql(sqlx::Error::Encode(_)) => StoreErrorKind::InvalidArgument,
            Self::Sql(sqlx::Error::Database(_)) => match self.code().as_deref() {
                Some(code::DISK_FULL) => StoreErrorKind::Full,
                Some(code::PROGRAM_LIMIT) => StoreErrorKind::TooLarge,
                Some(code::NO_SUCH_CHARACTER | code::NO_TRANSACTION | code::FAILED_TRANSACTION) => {
                    StoreErrorKind::InvalidArgument
                }
                Some(code::DATA_CORRUPTED | code::INDEX_CORRUPTED) => StoreErrorKind::Corrupt,
                Some(
                    code::QUERY_CANCELED
                    | code::LOCK_NOT_AVAILABLE
                    | code::SERIALIZATION_FAILURE
                    | code::DEADLOCK_DETECTED
                    | code::READ_ONLY
                    | code::UNDEFINED_FUNCTION
                    | code::OTHER_SERVER
                    | code::CANNOT_CONNECT_NOW,
                ) => StoreErrorKind::Unavailable,
                Some(code)
                    if ends_session(code)
                        || code.starts_with(code::CONNECTION)
                        || code.starts_with(code::RESOURCES) =>
                {
                    StoreErrorKind::Unavailable
                }
                Some(_) | None => StoreErrorKind::Backend,
            },
            Self::Sql(_) | Self::Refused(_) | Self::Silent | Self::Late => StoreErrorKind::Unavailable,
            Self::Corrupt(_) => StoreErrorKind::Corrupt,
        }
    }

    /// Converts the fault to a store error of `operation`, about the session `key` if there is one. `sent` is true
    /// for a write that the server may have seen.
    pub(crate) fn of(self, operation: &'static str, key: Option<&SessionKey>, sent: bool) -> StoreError {
        let unknown = sent && self.leaves_outcome_unknown();
        let kind = if unknown { StoreErrorKind::Unavailable } else { self.kind() };
        let error = match self {
            Self::Sql(sqlx::Error::PoolClosed) => {
                StoreError::new(kind, operation, "the store was closed").retry(Retry::Never)
            }
            Self::Sql(sqlx::Error::PoolTimedOut) => {
                StoreError::new(kind, operation, "no connection was free, or could be made, in time")
            }
            Self::Sql(error) => StoreError::new(kind, operation, "").because(SqlError(error)),
            Self::Silent => StoreError::new(kind, operation, "the server did not answer in time"),
            Self::Late => StoreError::new(kind, operation, "no time was left to send it"),
            Self::Refused(detail) | Self::Corrupt(detail) => StoreError::new(kind, operation, detail),
        };
        let error = if unknown { error.retry(Retry::OutcomeUnknown) } else { error };
        StoreError { key: key.cloned().map(Box::new), ..error }
    }
}

/// Returns true if this error ended the session with the server, judged by its severity or its code.
fn ended_session(error: &dyn DatabaseError) -> bool {
    let severity = error.try_downcast_ref::<PgDatabaseError>().map(PgDatabaseError::severity);
    matches!(severity, Some(PgSeverity::Fatal | PgSeverity::Panic))
        || error.code().is_some_and(|code| code.starts_with(code::CONNECTION) || ends_session(&code))
}

/// Returns true if the server ends a session with this code.
fn ends_session(code: &str) -> bool {
    [
        code::ADMIN_SHUTDOWN,
        code::CRASH_SHUTDOWN,
        code::DATABASE_DROPPED,
        code::IDLE_SESSION_TIMEOUT,
        code::IDLE_IN_TRANSACTION,
    ]
    .contains(&code)
}

/// Returns true if a statement was prepared on tables that have changed, or if the server's settings have changed.
fn is_outdated(code: &str) -> bool {
    [code::FEATURE_NOT_SUPPORTED, code::OTHER_SERVER].contains(&code)
}
