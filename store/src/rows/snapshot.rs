//! Reads and lists for backends that keep bytes in sorted order.

use std::ops::{Bound, Range};
use std::sync::Arc;

use super::along::due_along;
use super::bytes::{key_range, kind_range, number_range};
use super::due::{Due, DueQuery};
use super::index::{
    Index, PendingPlace, SessionPlace, life_range, pending_kind_range, pending_range, sessions_range,
    time_range,
};
use super::labels::{label_range, with_labels};
use super::read::{Found, Scanned, Want, Which, read_wants};
use super::row::{Kind, Row, RowKey};
use super::write::Slot;
use crate::ids::SessionKey;
use crate::rules::SessionRow;
use crate::time::Timestamp;
use crate::{
    Labels, PendingCall, PendingQuery, RetentionRule, SessionQuery, SessionSummary, StoreError,
    StoreErrorKind,
};

/// An iterator over entries in ascending order. Iterate from the back for descending order.
pub type InOrder<'a, T> = Box<dyn DoubleEndedIterator<Item = Result<T, StoreError>> + 'a>;

/// The data of a backend that keeps bytes in sorted order, as of one instant. Implement [`slot`](Self::slot),
/// [`rows`](Self::rows) and [`entries`](Self::entries), which read the data. The other methods use them to
/// implement the reads and lists of [`Rows`](super::Rows).
///
/// A list skips and logs a session that it cannot read, so that session does not block others.
pub trait Snapshot {
    /// Reads the slot under a key.
    fn slot(&self, key: &SessionKey) -> Result<Option<Slot>, StoreError>;

    /// Reads the rows of a session whose keys, [as bytes](super::encode_row_key), lie in this range.
    fn rows<'a>(
        &'a self,
        key: &'a SessionKey,
        range: &Range<Vec<u8>>,
    ) -> Result<InOrder<'a, Row>, StoreError>;

    /// Reads the entries of an index that lie in this range.
    fn entries(&self, index: Index, range: &Range<Vec<u8>>) -> Result<InOrder<'_, Vec<u8>>, StoreError>;

    /// Reads one row of a session.
    fn row(&self, key: &SessionKey, row: &RowKey) -> Result<Option<Row>, StoreError> {
        self.rows(key, &key_range(row))?.next().transpose()
    }

    /// Reads the slot under a key and the wanted rows. `now` must be read from the clock at the instant of
    /// the snapshot or later.
    fn find(&self, key: &SessionKey, wants: &[Want], now: Timestamp) -> Result<Found, StoreError> {
        let rows = read_wants(wants, |want| wanted(self, key, want))?;
        Ok(Found { now, slot: self.slot(key)?.map(Arc::new), rows })
    }

    /// Implements [`Rows::due`](super::Rows::due).
    fn due(
        &self,
        query: &DueQuery,
        wants: &[Want],
        now: Timestamp,
    ) -> Result<Due<Result<Found, StoreError>>, StoreError> {
        let DueQuery { queues, newest_format, tenant, .. } = query;
        let is_due = |row: &SessionRow| row.is_due(queues, *newest_format, tenant.as_ref(), now);
        let look = |key: &SessionKey| match session(self, key)?.filter(is_due) {
            Some(_) => self.find(key, wants, now).map(Some),
            None => Ok(None),
        };
        let entries =
            |index, range: &Range<Vec<u8>>, limit| self.entries(index, range)?.take(limit).collect();
        due_along(query, now, entries, |key| look(key).map_err(|error| error.on(key)).transpose())
    }

    /// Implements [`Rows::sessions`](super::Rows::sessions).
    fn sessions(
        &self,
        query: &SessionQuery,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionSummary, SessionPlace>, StoreError> {
        let look = |place: SessionPlace| {
            let Some(row) = session(self, &place.key)? else { return Ok(None) };
            let labels = match self.row(&place.key, &RowKey::one(Kind::Labels))? {
                Some(Row::Labels(labels)) => labels,
                Some(_) | None => Labels::default(),
            };
            Ok(Some((place, row.summary(labels))).filter(|(_, summary)| summary.listed(query)))
        };
        // The newest sessions come first.
        let along = |index, range| {
            let entries = self.entries(index, &range)?.rev();
            Ok(entries.map(move |entry| Ok(SessionPlace::of_entry(index, &entry?))))
        };
        let tenant = &query.tenant;
        let seek = |name: &str, value: &str, from: Bound<&SessionPlace>| {
            let mut found = along(Index::Labels, label_range(tenant, name, value, from))?;
            found.find_map(Result::transpose).transpose()
        };
        let found: Box<dyn Iterator<Item = Result<Option<SessionPlace>, StoreError>>> = match query.life {
            Some(life) => Box::new(along(Index::Lives, life_range(tenant, life, after))?),
            None if query.labels.0.is_empty() => {
                Box::new(along(Index::Sessions, sessions_range(tenant, after))?)
            }
            None => Box::new(with_labels(&query.labels, after, seek).map(|place| place.map(Some))),
        };
        Scanned::fill(sound(found, look), limit, usize::MAX, |_| 0)
    }

    /// Implements [`Rows::pending`](super::Rows::pending).
    fn pending(
        &self,
        query: &PendingQuery,
        after: Option<&PendingPlace>,
        limit: usize,
        bytes: usize,
    ) -> Result<Scanned<PendingCall, PendingPlace>, StoreError> {
        let look = |place: PendingPlace| {
            let key = SessionKey::new(query.tenant.clone(), place.session.clone());
            if query.session.as_ref().is_some_and(|session| *session != key.id) {
                return Ok(None);
            }
            let row = self.row(&key, &Row::pending(&place.id))?;
            let Some(Row::Pending { call, .. }) = row else { return Ok(None) };
            Ok(query.kind.as_ref().is_none_or(|kind| *kind == call.kind).then_some((place, call)))
        };
        let (index, range) = match &query.kind {
            None => (Index::Pending, pending_range(&query.tenant, after)),
            Some(kind) => (Index::PendingKinds, pending_kind_range(&query.tenant, kind, after)),
        };
        let entries = self.entries(index, &range)?;
        let found = entries.map(|entry| Ok(PendingPlace::of_entry(index, &entry?)));
        Scanned::fill(sound(found, look), limit, bytes, |call| call.body.len())
    }

    /// Implements [`Rows::resting`](super::Rows::resting).
    fn resting(
        &self,
        rule: &RetentionRule,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionRow, SessionPlace>, StoreError> {
        let look = |place: SessionPlace| {
            let row = session(self, &place.key)?.filter(|row| row.purgeable(rule));
            Ok(row.map(|row| (place, row)))
        };
        let entries = self.entries(Index::Resting, &time_range(after, rule.unchanged_since))?;
        let found = entries.map(|entry| Ok(SessionPlace::of_entry(Index::Resting, &entry?)));
        Scanned::fill(sound(found, look), limit, usize::MAX, |_| 0)
    }

    /// Implements [`Rows::dead`](super::Rows::dead).
    fn dead(&self, before: Timestamp, limit: usize) -> Result<Vec<SessionKey>, StoreError> {
        let entries = self.entries(Index::Dead, &time_range(None, before))?;
        let found = entries.map(|entry| Ok(SessionPlace::of_entry(Index::Dead, &entry?)));
        sound(found, |place| Ok(Some(place.key))).take(limit).collect()
    }
}

fn session<S: Snapshot + ?Sized>(file: &S, key: &SessionKey) -> Result<Option<SessionRow>, StoreError> {
    Ok(file.slot(key)?.and_then(|slot| slot.row))
}

fn wanted<'a, S: Snapshot + ?Sized>(
    file: &'a S,
    key: &'a SessionKey,
    want: &'a Want,
) -> Result<Box<dyn Iterator<Item = Result<Row, StoreError>> + 'a>, StoreError> {
    let named = move |name: &String| file.row(key, &RowKey::name(want.kind, name)).transpose();
    Ok(match &want.which {
        Which::All => file.rows(key, &kind_range(want.kind))?,
        Which::Numbers(from, to) => file.rows(key, &number_range(want.kind, *from, *to))?,
        Which::Descending(from, to) => Box::new(file.rows(key, &number_range(want.kind, *from, *to))?.rev()),
        Which::Names(names) => Box::new(names.iter().filter_map(named)),
    })
}

/// Returns the results of `look` for these places. Skips and logs places whose data is corrupt.
fn sound<P, T>(
    places: impl Iterator<Item = Result<Option<P>, StoreError>>,
    look: impl Fn(P) -> Result<Option<T>, StoreError>,
) -> impl Iterator<Item = Result<T, StoreError>> {
    places.filter_map(move |place| {
        let found = place.transpose()?.and_then(&look);
        if let Err(error) = &found
            && error.kind == StoreErrorKind::Corrupt
        {
            tracing::error!(%error, "a session that cannot be read is passed over");
            return None;
        }
        found.transpose()
    })
}

#[cfg(test)]
mod tests;
