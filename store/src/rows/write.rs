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

/// A random number that every write of a session replaces. As long as it stands, nothing of the session has
/// changed. It is never a counter: a counter repeats across lives, failovers and groups that were not synced.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token(pub u64);

impl Token {
    /// A new one; never 0, which rows have that were written before there were tokens.
    pub fn random() -> Self {
        Self(fastrand::u64(1..))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:016x}", self.0)
    }
}

/// What stands under the key of a session: its row, or what is left of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Replaced by every write.
    pub token: Token,
    /// The backend's own number of this life; whatever it likes. 0 in a slot that is yet to be written.
    pub place: u64,
    /// The session's row. None: there is no session, only what is left of earlier ones.
    pub row: Option<SessionRow>,
    /// The lives that were deleted under this key within [`TOMBSTONE_STANDS`](crate::TOMBSTONE_STANDS).
    pub lives: Vec<Tombstone>,
}

/// What is done to one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Writes the row, in place of the one with its key if there is one.
    Put(Row),
    /// Writes the row if there is none with its key. If there is one, the whole write changes nothing and answers
    /// [`Verdict::Taken`].
    Insert(Row),
    /// Removes the row with this key, if there is one.
    Delete(RowKey),
    /// Removes the rows of this kind up to this number.
    DeleteUpTo(Kind, u64),
    /// Removes all rows of this kind.
    Clear(Kind),
}

/// Where a new session's first messages, events and checkpoints are copied from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix {
    /// The source.
    pub from: SessionKey,
    /// The life of it. If another is there, or none, or it has no checkpoint `last_checkpoint`, the write changes nothing
    /// and answers [`Verdict::NoSource`].
    pub life: Incarnation,
    /// The place of that life.
    pub place: u64,
    /// Messages up to this one are copied.
    pub last_message: MessageSeq,
    /// Events up to this one.
    pub last_event: EventSeq,
    /// Checkpoints up to this one.
    pub last_checkpoint: u64,
}

/// Everything that one write changes of one session. It was decided on what stood under the key as of `expect`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The session.
    pub key: SessionKey,
    /// What was there. None: nothing at all.
    pub before: Option<Arc<Slot>>,
    /// What will be there; None: nothing at all, and no row of the session is left. If there was a session and
    /// `after` has none, or one of another life, all its rows are removed.
    pub after: Option<Arc<Slot>>,
    /// What is done to its rows, in this order. No two of them are about the same key.
    pub ops: Vec<Op>,
    /// What a new session begins with, besides.
    pub copy: Option<Prefix>,
    /// The instant on the store's clock as of which it was decided. It is not applied before.
    pub from: Timestamp,
    /// It is not applied from this instant on.
    pub until: Timestamp,
    /// Whether nothing rests on it: once acknowledged it must survive the process, but it need not be synced.
    pub provisional: bool,
    /// Whether it answers [`Verdict::Lost`] rather than wait for another write of the session.
    pub skip_held: bool,
    /// What is left of the [patience](super::Rows::patience) of the operation: a backend that can tell its server so has the
    /// server end in time, so that it is known that nothing was changed.
    pub within: Option<Duration>,
}

impl Write {
    /// The token that must be there.
    pub fn expect(&self) -> Option<Token> {
        self.before.as_ref().map(|slot| slot.token)
    }

    /// The row as it was.
    pub fn row_before(&self) -> Option<&SessionRow> {
        self.before.as_ref().and_then(|slot| slot.row.as_ref())
    }

    /// The row as it will be.
    pub fn row_after(&self) -> Option<&SessionRow> {
        self.after.as_ref().and_then(|slot| slot.row.as_ref())
    }

    /// Whether it ends a life: all rows of it are removed.
    pub fn ends_life(&self) -> bool {
        match (self.row_before(), self.row_after()) {
            (Some(before), Some(after)) => before.incarnation != after.incarnation,
            (Some(_), None) => true,
            (None, _) => false,
        }
    }

    /// Whether the session's row stands at the same places of all indexes as before, so that none of
    /// [its entries](super::index_entries) goes or comes. Most commits of a run leave them.
    pub fn keeps_entries(&self) -> bool {
        self.row_before().zip(self.row_after()).is_some_and(|(before, after)| stand_alike(before, after))
    }

    /// Whether it copies or removes a whole session, and takes as long as that is large.
    pub fn is_long(&self) -> bool {
        self.copy.is_some() || self.ends_life()
    }

    /// What those who wait are told of it, once it is applied at `now`. None if only a lease runs on or an interrupt was
    /// handed out.
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
        // Whoever waits for a turn to end must not depend on a process that may end with it.
        let moved = after.status != before.status || after.epoch != before.epoch;
        let news = after.last_item > before.last_item || stop || moved;
        let due = after.alarm != before.alarm && after.alarm.is_some_and(|alarm| alarm <= now);
        Some(Change { session, news, due })
    }

    /// About how many bytes it writes.
    pub fn bytes(&self) -> usize {
        let row = |op: &Op| match op {
            Op::Put(row) | Op::Insert(row) => row.payload_bytes(),
            Op::Delete(_) | Op::DeleteUpTo(..) | Op::Clear(_) => 0,
        };
        self.ops.iter().map(row).sum()
    }
}

/// How a write ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there is one for each write, and it is looked at once")]
pub enum Verdict {
    /// It is applied.
    Applied {
        /// The store's clock, read when it was.
        now: Timestamp,
        /// The backend's number of the life that is there now.
        place: u64,
    },
    /// Something else is there than it was decided on, or the store's clock is out of its time. Nothing was
    /// changed.
    Lost,
    /// What was to be inserted is there already: this row. Nothing was changed. Only answered if all else fits.
    Taken {
        /// The store's clock.
        now: Timestamp,
        /// The row that is there.
        row: Row,
    },
    /// The source of its copy is not there, or has no such checkpoint. Nothing was changed.
    NoSource,
}
