//! Operations on one session: the decision, and the write that it needs.

use std::sync::Arc;

use super::facts::Facts;
use super::read::Want;
use super::row::{EventBatch, Kind, Row};
use super::write::{Op, Prefix, Slot, Token, Write};
use crate::ids::{EventSeq, Fence, MessageSeq, SessionKey};
use crate::payload::Payload;
use crate::rules::SessionRow;
use crate::time::Timestamp;
use crate::{StoreError, StoredMessage, Tombstone};

/// An operation on one session. Each attempt decides the operation again, on newer facts.
pub(super) trait Ask: Sync {
    /// The answer of the operation.
    type Outcome;

    /// Returns the rows that the decision needs in addition to the slot.
    fn wants(&self) -> Vec<Want>;

    /// Returns the fence of the calling run, if the operation is fenced.
    fn fence(&self) -> Option<&Fence> {
        None
    }

    /// Returns true to assume, for the first try, that nothing is stored under the key, instead of reading. This has no
    /// effect if rows of the session are held, or if only the backend knows the store's clock.
    fn supposes_absent(&self) -> bool {
        false
    }

    /// Returns true to read before the first decision, instead of deciding on held rows.
    fn reads_first(&self) -> bool {
        false
    }

    /// Decides the operation on `facts`. The same facts always give the same decision.
    fn decide(&self, facts: &Facts) -> Decision<Self::Outcome>;

    /// Returns the answer for the case that the source of a copy does not exist. Called only after a write with a
    /// copy.
    fn no_source(&self) -> Option<Self::Outcome> {
        None
    }
}

/// The decision on an operation.
pub(super) enum Decision<O> {
    /// Write nothing; return this answer.
    Answer(O),
    /// Return this error: the stored data is inconsistent.
    Fail(StoreError),
    /// Read these rows, then decide again.
    Need(Vec<Want>),
    /// Apply this draft, then return this answer.
    Write(Box<Draft>, O),
}

impl<O> Decision<O> {
    /// Returns the decision to apply `draft` and then return `outcome`.
    pub(super) fn write(draft: Draft, outcome: O) -> Self {
        Self::Write(Box::new(draft), outcome)
    }

    /// Returns the same decision, with its answer converted by `map`.
    pub(super) fn map_outcome<P>(self, map: impl FnOnce(O) -> P) -> Decision<P> {
        match self {
            Self::Answer(outcome) => Decision::Answer(map(outcome)),
            Self::Fail(error) => Decision::Fail(error),
            Self::Need(wants) => Decision::Need(wants),
            Self::Write(draft, outcome) => Decision::Write(draft, map(outcome)),
        }
    }
}

/// The part of a write that the decision determines.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) row: Option<SessionRow>,
    /// The tombstones after the write. If none, they do not change.
    pub(super) lives: Option<Vec<Tombstone>>,
    pub(super) ops: Vec<Op>,
    pub(super) copy: Option<Prefix>,
    /// The first instant at which the decision would differ.
    pub(super) until: Option<Timestamp>,
    pub(super) provisional: bool,
    pub(super) skip_held: bool,
}

impl Draft {
    /// Returns a draft that writes the row. If the row ends a stream, the draft removes the deltas of that
    /// stream.
    pub(super) fn of(before: Option<&SessionRow>, after: SessionRow) -> Self {
        let mut draft = Self::default();
        if before.is_some_and(|before| before.stream.open) && !after.stream.open {
            draft.ops.push(Op::Clear(Kind::Delta));
        }
        draft.row = Some(after);
        draft
    }

    pub(super) fn put(&mut self, row: Row) {
        self.ops.push(Op::Put(row));
    }

    pub(super) fn insert(&mut self, row: Row) {
        self.ops.push(Op::Insert(row));
    }

    /// Appends messages, numbered from the number after `last`.
    pub(super) fn append_messages<'a>(
        &mut self,
        last: MessageSeq,
        payloads: impl IntoIterator<Item = &'a Payload>,
        at: Timestamp,
    ) {
        for (seq, payload) in (last.0 + 1..).zip(payloads) {
            self.put(Row::Message(StoredMessage { seq: MessageSeq(seq), at, payload: payload.clone() }));
        }
    }

    /// Appends events as one batch, if there are any. The last event gets the number `last`.
    pub(super) fn append_events(&mut self, last: EventSeq, payloads: &[Payload], at: Timestamp) {
        if !payloads.is_empty() {
            self.put(Row::Events(EventBatch { last, at, payloads: payloads.to_vec() }));
        }
    }

    /// Limits the draft in time: from `instant` on, the decision would differ. None sets no limit.
    pub(super) fn before(&mut self, instant: Option<Timestamp>) {
        if let Some(instant) = instant {
            self.until = Some(self.until.map_or(instant, |until| until.min(instant)));
        }
    }

    /// Returns the write of this draft, which was decided on `facts`. From `latest` on, the write is no longer
    /// applied.
    pub(super) fn into_write(self, key: &SessionKey, facts: &Facts, latest: Timestamp) -> Write {
        let before = facts.slot.clone();
        let lives = self.lives.unwrap_or_else(|| before.as_ref().map_or_else(Vec::new, |b| b.lives.clone()));
        let place = before.as_ref().map_or(0, |slot| slot.place);
        let gone = self.row.is_none() && lives.is_empty();
        let after = (!gone).then(|| Arc::new(Slot { token: Token::random(), place, row: self.row, lives }));
        let until = self.until.filter(|until| *until > facts.now).map_or(latest, |until| until.min(latest));
        Write {
            key: key.clone(),
            before,
            after,
            ops: self.ops,
            copy: self.copy,
            from: facts.now,
            until,
            provisional: self.provisional,
            skip_held: self.skip_held,
            within: None,
        }
    }
}
