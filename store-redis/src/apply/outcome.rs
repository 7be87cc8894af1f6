//! The outcome of a write, and the remains of lives that are only partly known.

use holdover_store::Tombstone;
use holdover_store::ids::{Incarnation, OperationId, SessionKey};
use holdover_store::rows::{Row, Token, Verdict, Write};
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;

/// The life that is named where it is not known which: of no session.
const NO_LIFE: Incarnation = Incarnation(uuid::Uuid::nil());

/// How a script ended.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one for each write, and it is looked at once")]
pub(crate) enum Outcome {
    /// Applied; so many entries and fields are new or gone.
    Applied(u64),
    Lost,
    Taken(Row),
    /// A version before tokens has deleted the life that was to be made: it had the same operation, or the same
    /// incarnation.
    Buried {
        is_operation: bool,
        at: Timestamp,
    },
    /// What was copied is not all there.
    Incomplete,
}

impl Outcome {
    pub(crate) fn verdict(self, now: Timestamp, place: u64) -> Verdict {
        match self {
            Self::Applied(_) => Verdict::Applied { now, place },
            Self::Taken(row) => Verdict::Taken { now, row },
            Self::Lost | Self::Buried { .. } | Self::Incomplete => Verdict::Lost,
        }
    }
}

/// The life that a version before tokens has deleted, as far as it is known.
pub(crate) fn buried(write: &Write, row: &SessionRow, is_operation: bool, at: Timestamp) -> Tombstone {
    let incarnation = if is_operation { NO_LIFE } else { row.incarnation };
    let operation = if is_operation { row.created_by.clone() } else { no_operation() };
    Tombstone { key: write.key.clone(), incarnation, operation, at }
}

/// As much of a tombstone as is known of a torn session.
pub(crate) fn torn_tombstone(
    key: &SessionKey,
    incarnation: Option<Incarnation>,
    operation: Option<OperationId>,
    at: Timestamp,
) -> Tombstone {
    Tombstone {
        key: key.clone(),
        incarnation: incarnation.unwrap_or(NO_LIFE),
        operation: operation.unwrap_or_else(no_operation),
        at,
    }
}

/// The operation that is named where it is not known which.
fn no_operation() -> OperationId {
    // A random one is no other's.
    let text = format!("unknown-{:016x}", Token::random().0);
    OperationId::new(text).unwrap_or_else(|_| unreachable!("letters and digits are an id"))
}
