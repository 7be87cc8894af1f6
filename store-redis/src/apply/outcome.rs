//! The outcome of a write, and tombstones of sessions that are only partly known.

use holdover_store::Tombstone;
use holdover_store::ids::{Incarnation, OperationId, SessionKey};
use holdover_store::rows::{Row, Token, Verdict, Write};
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;

/// The incarnation in a tombstone if the true one is unknown. No session has it.
const NO_LIFE: Incarnation = Incarnation(uuid::Uuid::nil());

/// The result of the script that applies a write.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one for each write, and it is looked at once")]
pub(crate) enum Outcome {
    /// The write was applied. The number is the sum of the commands' numeric answers, such as the entries that `ZADD`
    /// added or `ZREM` removed.
    Applied(u64),
    Lost,
    Taken(Row),
    /// The session is not created, because a version before tokens deleted a session of this key that had the same
    /// operation or the same incarnation.
    Buried {
        is_operation: bool,
        at: Timestamp,
    },
    /// The copied prefix is incomplete.
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

/// Returns the tombstone of a session that a version before tokens deleted, as far as it is known.
pub(crate) fn buried(write: &Write, row: &SessionRow, is_operation: bool, at: Timestamp) -> Tombstone {
    let incarnation = if is_operation { NO_LIFE } else { row.incarnation };
    let operation = if is_operation { row.created_by.clone() } else { no_operation() };
    Tombstone { key: write.key.clone(), incarnation, operation, at }
}

/// Returns the tombstone of a partly unreadable session, as far as it is known.
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

/// Returns an operation for a tombstone whose true operation is unknown.
fn no_operation() -> OperationId {
    // A random name almost certainly differs from that of every other operation.
    let text = format!("unknown-{:016x}", Token::random().0);
    OperationId::new(text).unwrap_or_else(|_| unreachable!("letters and digits are an id"))
}
