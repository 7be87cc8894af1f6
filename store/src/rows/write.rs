//! A write to one session, and its outcome.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::index::stand_alike;
use super::row::{Kind, Row, RowKey};
use crate::Tombstone;
use crate::hints::{Change, Named};
use crate::ids::{EventSeq, Incarnation, MessageSeq, SessionKey};
use crate::rules::SessionRow;
use crate::time::Timestamp;

/// A random number that every write of a session replaces. As long as the token is the same, the session has
/// not changed. The token is not a counter, because a counter could repeat after a deletion, a failover or
/// the loss of an unsynced write.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token(pub u64);

impl Token {
    /// Draws a random token. It is never 0, which is the token of rows from before tokens were introduced.
    pub fn random() -> Self {
        Self(fastrand::u64(1..))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:016x}", self.0)
    }
}

/// The content under the key of a session: the session's row, and the tombstones of deleted incarnations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// The token, replaced by every write.
    pub token: Token,
    /// A number that the backend chose for this incarnation; 0 in a slot that is not written yet.
    pub place: u64,
    /// The session's row; none if there is no session, only tombstones.
    pub row: Option<SessionRow>,
    /// The tombstones of incarnations that were deleted under this key. They are kept for at least
    /// [`TOMBSTONE_STANDS`](crate::TOMBSTONE_STANDS).
    pub lives: Vec<Tombstone>,
}

/// A change of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Writes the row. Replaces the row with its key, if there is one.
    Put(Row),
    /// Writes the row if there is none with its key. If there is one, the whole write changes nothing, and
    /// its verdict is [`Verdict::Taken`].
    Insert(Row),
    /// Removes the row with this key, if there is one.
    Delete(RowKey),
    /// Removes the rows of this kind up to and including this number.
    DeleteUpTo(Kind, u64),
    /// Removes all rows of this kind.
    Clear(Kind),
}

/// The source from which a new session's first messages, events and checkpoints are copied. If the source does not
/// exist when it is copied, has another incarnation, or has no checkpoint `last_checkpoint`, nothing is changed, and
/// the verdict is [`Verdict::NoSource`], unless it is [`Verdict::Lost`] or [`Verdict::Taken`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix {
    /// The key of the source.
    pub from: SessionKey,
    /// The incarnation of the source.
    pub life: Incarnation,
    /// The `place` in the slot of that incarnation.
    pub place: u64,
    /// The last message that is copied.
    pub last_message: MessageSeq,
    /// The last event that is copied.
    pub last_event: EventSeq,
    /// The last checkpoint that is copied.
    pub last_checkpoint: u64,
}

/// All changes that one write makes to one session. The write was decided on the slot `before`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The key of the session.
    pub key: SessionKey,
    /// The slot before the write; none if there was no slot.
    pub before: Option<Arc<Slot>>,
    /// The slot after the write. If none, the slot is removed. If there was a session before, and `after` has
    /// no session or one of another incarnation, all rows of the old session are removed.
    pub after: Option<Arc<Slot>>,
    /// The changes of the session's rows, in this order. No two of them put, insert or delete the same row.
    pub ops: Vec<Op>,
    /// The data to copy into a new session in addition to `ops`, if any.
    pub copy: Option<Prefix>,
    /// The instant for which the write was decided, on the store's clock. The write is not applied before
    /// this instant.
    pub from: Timestamp,
    /// The instant from which the write is no longer applied.
    pub until: Timestamp,
    /// True if nothing depends on the write. An acknowledged write must survive the death of the process if
    /// commits do, but it need not be synced.
    pub provisional: bool,
    /// True to return [`Verdict::Lost`] instead of waiting for another write of the session.
    pub skip_held: bool,
    /// The rest of the operation's [patience](super::Rows::patience). A backend that can pass a time limit to
    /// its server should do so. The server then stops in time, and the error can say that nothing was
    /// changed.
    pub within: Option<Duration>,
}

impl Write {
    /// Returns the token that the slot must have; none if there must be no slot.
    pub fn expect(&self) -> Option<Token> {
        self.before.as_ref().map(|slot| slot.token)
    }

    /// Returns the session's row before the write.
    pub fn row_before(&self) -> Option<&SessionRow> {
        self.before.as_ref().and_then(|slot| slot.row.as_ref())
    }

    /// Returns the session's row after the write.
    pub fn row_after(&self) -> Option<&SessionRow> {
        self.after.as_ref().and_then(|slot| slot.row.as_ref())
    }

    /// Returns true if the write ends an incarnation, so that all rows of that incarnation are removed.
    pub fn ends_life(&self) -> bool {
        match (self.row_before(), self.row_after()) {
            (Some(before), Some(after)) => before.incarnation != after.incarnation,
            (Some(_), None) => true,
            (None, _) => false,
        }
    }

    /// Returns true if the session's row keeps all of [its index entries](super::index_entries). Most commits
    /// keep them.
    pub fn keeps_entries(&self) -> bool {
        self.row_before().zip(self.row_after()).is_some_and(|(before, after)| stand_alike(before, after))
    }

    /// Returns true if the write copies or removes a whole session. Such a write takes longer for a longer
    /// session.
    pub fn is_long(&self) -> bool {
        self.copy.is_some() || self.ends_life()
    }

    /// Returns the hint for waiting callers after the write is applied at `now`. Returns none if the write changed
    /// only the lease and its alarm, or handed out an interrupt.
    pub fn change(&self, now: Timestamp) -> Option<Change> {
        let session = Named::of(&self.key);
        let (before, after) = match (self.row_before(), self.row_after()) {
            (Some(before), Some(after)) if !self.ends_life() => (before, after),
            (_, after) => {
                let due = after.and_then(|row| row.alarm).is_some_and(|alarm| alarm <= now);
                return Some(Change { session, news: true, due });
            }
        };
        if self.ops.is_empty() && before.differs_only_in_its_lease(after) {
            return None;
        }
        let stop = after.interrupt.is_some() && after.interrupt != before.interrupt;
        // Backends may announce news with the write itself, and other changes later. The process may end after the
        // turn's last write, so the end of a turn counts as news.
        let moved = after.status != before.status || after.epoch != before.epoch;
        let news = after.last_item > before.last_item || stop || moved;
        let due = after.alarm != before.alarm && after.alarm.is_some_and(|alarm| alarm <= now);
        Some(Change { session, news, due })
    }

    /// Returns the number of payload bytes in the rows that the write puts or inserts.
    pub fn bytes(&self) -> usize {
        let row = |op: &Op| match op {
            Op::Put(row) | Op::Insert(row) => row.payload_bytes(),
            Op::Delete(_) | Op::DeleteUpTo(..) | Op::Clear(_) => 0,
        };
        self.ops.iter().map(row).sum()
    }
}

/// The outcome of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there is one for each write, and it is looked at once")]
pub enum Verdict {
    /// The write is applied.
    Applied {
        /// The store's clock, read when the write was applied.
        now: Timestamp,
        /// The number that the backend chose for the present incarnation.
        place: u64,
    },
    /// The slot is not the one on which the write was decided, or the store's clock is before [`Write::from`] or not
    /// before [`Write::until`], or another write held the session and [`Write::skip_held`] is true. Nothing was
    /// changed.
    Lost,
    /// A row with the key of a row to insert exists already. Nothing was changed. Returned only if the token
    /// and the clock allow the write.
    Taken {
        /// The store's clock, read during the attempt.
        now: Timestamp,
        /// The row that exists.
        row: Row,
    },
    /// The source of the copy does not exist, has another incarnation, or has no such checkpoint. Nothing was
    /// changed.
    NoSource,
}
