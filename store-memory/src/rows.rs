//! Rows in memory: maps under one lock.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use holdover_store::hints::Waiters;
use holdover_store::ids::SessionKey;
use holdover_store::rows::{
    Due, DueQuery, Found, InOrder, Index, Kind, Op, PendingPlace, Prefix, Row, RowKey, Rows, Scanned,
    SessionPlace, Slot, Snapshot, Verdict, Want, Write, encode_row_key, key_range, kind_range, number_range,
    row_entries, slot_entries,
};
use holdover_store::rules::SessionRow;
use holdover_store::time::{Clock, Timestamp};
use holdover_store::{
    Capabilities, Checkpoint, CommitSurvives, PendingCall, PendingQuery, RetentionRule, SessionQuery,
    SessionSummary, SharedBy, StoreError, Watch,
};

use crate::indexes::Indexes;
use crate::limits::Limits;

/// Rows of sessions in memory, for [`MemoryStore`](crate::MemoryStore) and for tests of code that uses
/// [`Rows`].
pub struct MemoryRows {
    data: Mutex<Data>,
    clock: Box<dyn Clock>,
    limits: Limits,
    hints: Waiters,
}

#[derive(Default)]
struct Data {
    sessions: BTreeMap<SessionKey, Kept>,
    indexes: Indexes,
}

/// The data under one session key.
struct Kept {
    slot: Arc<Slot>,
    /// The rows by their encoded keys.
    rows: BTreeMap<Vec<u8>, Row>,
}

impl MemoryRows {
    /// Makes an empty set of rows on `clock`, with these limits.
    pub fn new(clock: impl Clock, limits: Limits) -> Self {
        Self { data: Mutex::default(), clock: Box::new(clock), limits, hints: Waiters::default() }
    }

    /// Returns the number of sessions.
    pub(crate) fn len(&self) -> usize {
        self.lock().sessions.values().filter(|kept| kept.slot.row.is_some()).count()
    }

    fn lock(&self) -> MutexGuard<'_, Data> {
        // A write changes nothing until all of it is checked, so a panic during the checks leaves the data
        // consistent.
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Data {
    fn apply(&mut self, write: &Write, now: Timestamp) -> Verdict {
        let kept = self.sessions.get(&write.key);
        if kept.map(|kept| kept.slot.token) != write.expect() || now < write.from || now >= write.until {
            return Verdict::Lost;
        }
        let fresh = write.row_before().is_none() || write.ends_life();
        let rows = kept.filter(|_| !fresh).map(|kept| &kept.rows);
        for op in &write.ops {
            if let Op::Insert(row) = op
                && let Some(row) = rows.and_then(|rows| rows.get(&encode_row_key(&row.key())))
            {
                return Verdict::Taken { now, row: row.clone() };
            }
        }
        let copied = match write.copy.as_ref().map(|prefix| self.prefix(prefix, write)) {
            Some(None) => return Verdict::NoSource,
            Some(Some(copied)) => copied,
            None => BTreeMap::new(),
        };
        let mut old = self.sessions.remove(&write.key);
        if let Some(old) = &mut old {
            if !write.keeps_entries() {
                self.indexes.remove_all(slot_entries(&old.slot));
            }
            if fresh {
                let rows = std::mem::take(&mut old.rows);
                self.indexes.remove_all(rows.values().flat_map(|row| old.entries(row)).collect());
            }
        }
        if let Some(slot) = &write.after {
            let rows = old.map_or_else(BTreeMap::new, |old| old.rows);
            let mut kept = Kept { slot: slot.clone(), rows };
            kept.rows.extend(copied);
            if kept.slot.row.is_some() {
                write.ops.iter().for_each(|op| kept.write(op, &mut self.indexes));
            }
            if !write.keeps_entries() {
                self.indexes.add_all(slot_entries(&kept.slot));
            }
            self.sessions.insert(write.key.clone(), kept);
        }
        Verdict::Applied { now, place: 0 }
    }

    /// Returns the rows to copy into a fork. Returns none if the source or its checkpoint does not exist, or if the
    /// source has another incarnation.
    fn prefix(&self, prefix: &Prefix, write: &Write) -> Option<BTreeMap<Vec<u8>, Row>> {
        let source = self.sessions.get(&prefix.from)?;
        let life = source.slot.row.as_ref().map(|row| row.incarnation);
        let checkpoint = RowKey::number(Kind::Checkpoint, prefix.last_checkpoint);
        if life != Some(prefix.life) || !source.rows.contains_key(&encode_row_key(&checkpoint)) {
            return None;
        }
        let own = write.row_after()?.incarnation;
        let last = [
            (Kind::Message, prefix.last_message.0),
            (Kind::Events, prefix.last_event.0),
            (Kind::Checkpoint, prefix.last_checkpoint),
        ];
        let of_fork = |row: &Row| {
            let mut row = row.clone();
            if let Row::Checkpoint(Checkpoint { incarnation, .. }) = &mut row {
                *incarnation = own;
            }
            row
        };
        let copied = last.into_iter().flat_map(|(kind, last)| source.rows.range(number_range(kind, 0, last)));
        Some(copied.map(|(key, row)| (key.clone(), of_fork(row))).collect())
    }
}

impl Snapshot for Data {
    fn slot(&self, key: &SessionKey) -> Result<Option<Slot>, StoreError> {
        Ok(self.sessions.get(key).map(|kept| Slot::clone(&kept.slot)))
    }

    fn rows<'a>(
        &'a self,
        key: &'a SessionKey,
        range: &Range<Vec<u8>>,
    ) -> Result<InOrder<'a, Row>, StoreError> {
        let (kept, range) = (self.sessions.get(key).into_iter(), range.clone());
        Ok(Box::new(
            kept.flat_map(move |kept| kept.rows.range(range.clone()).map(|(_, row)| Ok(row.clone()))),
        ))
    }

    fn entries(&self, index: Index, range: &Range<Vec<u8>>) -> Result<InOrder<'_, Vec<u8>>, StoreError> {
        Ok(Box::new(self.indexes.of(index, range.clone()).map(|entry| Ok(entry.clone()))))
    }
}

impl Kept {
    /// Returns the index entries of one of the session's rows.
    fn entries(&self, row: &Row) -> Vec<(Index, Vec<u8>)> {
        self.slot.row.as_ref().map(|session| row_entries(session, row)).unwrap_or_default()
    }

    fn write(&mut self, op: &Op, indexes: &mut Indexes) {
        match op {
            Op::Put(row) | Op::Insert(row) => {
                let old = self.rows.insert(encode_row_key(&row.key()), row.clone());
                indexes.remove_all(old.iter().flat_map(|row| self.entries(row)).collect());
                indexes.add_all(self.entries(row));
            }
            Op::Delete(key) => self.remove(indexes, key_range(key)),
            Op::DeleteUpTo(kind, last) => self.remove(indexes, number_range(*kind, 0, *last)),
            Op::Clear(kind) => self.remove(indexes, kind_range(*kind)),
        }
    }

    fn remove(&mut self, indexes: &mut Indexes, range: Range<Vec<u8>>) {
        let gone: Vec<Row> = self.rows.extract_if(range, |_, _| true).map(|(_, row)| row).collect();
        indexes.remove_all(gone.iter().flat_map(|row| self.entries(row)).collect());
    }
}

#[async_trait]
impl Rows for MemoryRows {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            backend: format!("memory {}", crate::VERSION),
            commit_survives: CommitSurvives::Nothing,
            shared_by: SharedBy::Process,
            change_hints_across_processes: false,
            forks: true,
            retention: true,
            payload_bytes_max: self.limits.payload_bytes_max,
            commit_bytes_max: self.limits.commit_bytes_max,
            settings: Vec::new(),
        }
    }

    fn now(&self) -> Option<Timestamp> {
        Some(self.clock.now())
    }

    async fn read(&self, key: &SessionKey, wants: &[Want]) -> Result<Found, StoreError> {
        let data = self.lock();
        data.find(key, wants, self.clock.now())
    }

    async fn apply(&self, writes: Vec<Arc<Write>>) -> Vec<Result<Verdict, StoreError>> {
        let mut data = self.lock();
        let mut verdicts = Vec::with_capacity(writes.len());
        for write in &writes {
            let verdict = data.apply(write, self.clock.now());
            if let Verdict::Applied { now, .. } = verdict
                && let Some(change) = write.change(now)
            {
                self.hints.tell(&change);
            }
            verdicts.push(Ok(verdict));
        }
        verdicts
    }

    async fn due(
        &self,
        query: &DueQuery,
        wants: &[Want],
    ) -> Result<Due<Result<Found, StoreError>>, StoreError> {
        let data = self.lock();
        data.due(query, wants, self.clock.now())
    }

    async fn sessions(
        &self,
        query: &SessionQuery,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionSummary, SessionPlace>, StoreError> {
        self.lock().sessions(query, after, limit)
    }

    async fn pending(
        &self,
        query: &PendingQuery,
        after: Option<&PendingPlace>,
        limit: usize,
        bytes: usize,
    ) -> Result<Scanned<PendingCall, PendingPlace>, StoreError> {
        self.lock().pending(query, after, limit, bytes)
    }

    async fn resting(
        &self,
        rule: &RetentionRule,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionRow, SessionPlace>, StoreError> {
        self.lock().resting(rule, after, limit)
    }

    async fn dead(&self, before: Timestamp, limit: usize) -> Result<Vec<SessionKey>, StoreError> {
        self.lock().dead(before, limit)
    }

    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        self.hints.wait(&watch, at_most).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
