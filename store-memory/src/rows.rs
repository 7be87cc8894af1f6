//! The rows, in maps under one lock.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::{Bound, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use holdover_store::hints::Waiters;
use holdover_store::ids::SessionKey;
use holdover_store::rows::{
    At, Due, DueQuery, Found, Index, Kind, Op, PendingPlace, Prefix, Row, RowKey, Rows, Scanned,
    SessionPlace, Slot, Verdict, Want, Which, Write, due_along, label_range, life_range, pending_range,
    row_entries, sessions_range, slot_entries, time_range, with_labels,
};
use holdover_store::rules::SessionRow;
use holdover_store::time::{Clock, Timestamp};
use holdover_store::{
    Capabilities, Checkpoint, CommitSurvives, Labels, PendingCall, PendingQuery, RetentionRule, SessionQuery,
    SessionSummary, SharedBy, StoreError, Watch,
};

use crate::indexes::Indexes;
use crate::limits::Limits;

/// The rows of sessions in memory: for tests of what is built on [`Rows`].
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

/// What is kept under one key.
struct Kept {
    slot: Arc<Slot>,
    rows: BTreeMap<RowKey, Row>,
}

impl MemoryRows {
    /// No rows yet, on `clock`, with these limits.
    pub fn new(clock: impl Clock, limits: Limits) -> Self {
        Self { data: Mutex::default(), clock: Box::new(clock), limits, hints: Waiters::default() }
    }

    /// How many sessions there are.
    pub(crate) fn len(&self) -> usize {
        self.lock().sessions.values().filter(|kept| kept.slot.row.is_some()).count()
    }

    fn lock(&self) -> MutexGuard<'_, Data> {
        // A write changes nothing before all of it was checked, so a panic leaves nothing half done.
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Data {
    fn found(&self, key: &SessionKey, wants: &[Want], now: Timestamp) -> Found {
        let kept = self.sessions.get(key);
        let rows = match kept {
            Some(kept) => kept.read(wants),
            None => wants.iter().map(|_| Vec::new()).collect(),
        };
        Found { now, slot: kept.map(|kept| Arc::clone(&kept.slot)), rows }
    }

    fn apply(&mut self, write: &Write, now: Timestamp) -> Verdict {
        let kept = self.sessions.get(&write.key);
        if kept.map(|kept| kept.slot.token) != write.expect() || now < write.from || now >= write.until {
            return Verdict::Lost;
        }
        let fresh = write.row_before().is_none() || write.ends_life();
        let rows = kept.filter(|_| !fresh).map(|kept| &kept.rows);
        for op in &write.ops {
            if let Op::Insert(row) = op
                && let Some(row) = rows.and_then(|rows| rows.get(&row.key()))
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

    /// What a fork begins with. None: its source is not there.
    fn prefix(&self, prefix: &Prefix, write: &Write) -> Option<BTreeMap<RowKey, Row>> {
        let source = self.sessions.get(&prefix.from)?;
        let life = source.slot.row.as_ref().map(|row| row.incarnation);
        let checkpoint = RowKey::number(Kind::Checkpoint, prefix.last_checkpoint);
        if life != Some(prefix.life) || !source.rows.contains_key(&checkpoint) {
            return None;
        }
        let own = write.row_after()?.incarnation;
        let last = [
            (Kind::Message, prefix.last_message.0),
            (Kind::Events, prefix.last_event.0),
            (Kind::Checkpoint, prefix.last_checkpoint),
        ];
        let is_copied =
            |key: &RowKey| last.iter().any(|(kind, last)| key.kind == *kind && key.as_number() <= *last);
        let of_fork = |row: &Row| {
            let mut row = row.clone();
            if let Row::Checkpoint(Checkpoint { incarnation, .. }) = &mut row {
                *incarnation = own;
            }
            row
        };
        let copied = source.rows.iter().filter(|(key, _)| is_copied(key));
        Some(copied.map(|(key, row)| (key.clone(), of_fork(row))).collect())
    }

    /// The sessions along an index in a range, with where they stand.
    fn walk(
        &self,
        index: Index,
        range: Range<Vec<u8>>,
    ) -> impl DoubleEndedIterator<Item = (SessionPlace, &Kept)> {
        let places =
            self.indexes.of(index, range).filter_map(move |entry| SessionPlace::of_entry(index, entry));
        places.filter_map(|place| self.at(place))
    }

    fn at(&self, place: SessionPlace) -> Option<(SessionPlace, &Kept)> {
        let kept = self.sessions.get(&place.key)?;
        Some((place, kept))
    }

    /// The sessions that a query may be about, newest first, after a place.
    fn newest<'a>(
        &'a self,
        query: &'a SessionQuery,
        after: Option<&'a SessionPlace>,
    ) -> Box<dyn Iterator<Item = (SessionPlace, &'a Kept)> + 'a> {
        let tenant = &query.tenant;
        let seek = move |name: &str, value: &str, from: Bound<&SessionPlace>| {
            let mut found = self.walk(Index::Labels, label_range(tenant, name, value, from));
            Ok::<_, Infallible>(found.next_back().map(|(place, _)| place))
        };
        match query.life {
            Some(life) => Box::new(self.walk(Index::Lives, life_range(tenant, life, after)).rev()),
            None if query.labels.0.is_empty() => {
                Box::new(self.walk(Index::Sessions, sessions_range(tenant, after)).rev())
            }
            None => Box::new(with_labels(&query.labels, after, seek).filter_map(|Ok(place)| self.at(place))),
        }
    }
}

impl Kept {
    /// Where one of its rows stands in the indexes.
    fn entries(&self, row: &Row) -> Vec<(Index, Vec<u8>)> {
        self.slot.row.as_ref().map(|session| row_entries(session, row)).unwrap_or_default()
    }

    fn read(&self, wants: &[Want]) -> Vec<Vec<Row>> {
        let mut read: BTreeMap<Kind, usize> = BTreeMap::new();
        wants
            .iter()
            .map(|want| {
                let bytes = read.entry(want.kind).or_default();
                let fits = |row: &&Row| {
                    let goes_in = *bytes < want.bytes;
                    *bytes += row.payload_bytes();
                    goes_in
                };
                self.of(want).take(want.rows).take_while(fits).cloned().collect()
            })
            .collect()
    }

    fn of<'a>(&'a self, want: &Want) -> Box<dyn Iterator<Item = &'a Row> + 'a> {
        let kind = want.kind;
        let numbers = move |from, to| {
            let range = RowKey::number(kind, from)..=RowKey::number(kind, to);
            self.rows.range(range).map(|(_, row)| row)
        };
        match &want.which {
            Which::All => {
                let all = self.rows.range(RowKey::one(kind)..);
                Box::new(all.take_while(move |(key, _)| key.kind == kind).map(|(_, row)| row))
            }
            Which::Numbers(from, to) | Which::Descending(from, to) if from > to => {
                Box::new(std::iter::empty())
            }
            Which::Numbers(from, to) => Box::new(numbers(*from, *to)),
            Which::Descending(from, to) => Box::new(numbers(*from, *to).rev()),
            Which::Names(names) => {
                let keys = names.iter().map(|name| RowKey::name(kind, name.clone()));
                Box::new(keys.filter_map(|key| self.rows.get(&key)).collect::<Vec<_>>().into_iter())
            }
        }
    }

    fn write(&mut self, op: &Op, indexes: &mut Indexes) {
        match op {
            Op::Put(row) | Op::Insert(row) => {
                let old = self.rows.insert(row.key(), row.clone());
                indexes.remove_all(old.iter().flat_map(|row| self.entries(row)).collect());
                indexes.add_all(self.entries(row));
            }
            Op::Delete(key) => self.remove(indexes, |_| true, RowKey::clone(key)..=key.clone()),
            Op::DeleteUpTo(kind, last) => {
                self.remove(indexes, |_| true, RowKey::number(*kind, 0)..=RowKey::number(*kind, *last));
            }
            Op::Clear(kind) => self.remove(indexes, |key| key.kind == *kind, RowKey::one(*kind)..),
        }
    }

    fn remove(
        &mut self,
        indexes: &mut Indexes,
        is_meant: impl Fn(&RowKey) -> bool,
        range: impl std::ops::RangeBounds<RowKey>,
    ) {
        let keys = self.rows.range(range).map(|(key, _)| key).take_while(|key| is_meant(key));
        for key in keys.cloned().collect::<Vec<_>>() {
            let old = self.rows.remove(&key);
            indexes.remove_all(old.iter().flat_map(|row| self.entries(row)).collect());
        }
    }

    fn labels(&self) -> Labels {
        match self.rows.get(&RowKey { kind: Kind::Labels, at: At::One }) {
            Some(Row::Labels(labels)) => labels.clone(),
            _ => Labels::default(),
        }
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
        Ok(data.found(key, wants, self.clock.now()))
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
        let now = self.clock.now();
        let is_due = |kept: &Kept| {
            let row = kept.slot.row.as_ref();
            row.is_some_and(|row| row.is_due(&query.queues, query.newest_format, query.tenant.as_ref(), now))
        };
        let entries = |index, range: &Range<Vec<u8>>, limit| Ok(data.indexes.first(index, range, limit));
        let find = |key: &SessionKey| {
            let due = data.sessions.get(key).filter(|kept| is_due(kept));
            due.map(|_| Ok(data.found(key, wants, now)))
        };
        due_along(query, now, entries, find)
    }

    async fn sessions(
        &self,
        query: &SessionQuery,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionSummary, SessionPlace>, StoreError> {
        let data = self.lock();
        let mut walk = data.newest(query, after);
        let mut rows = Vec::new();
        let mut next = None;
        while let Some((place, kept)) = walk.next() {
            let summary = kept.slot.row.as_ref().map(|row| row.summary(kept.labels()));
            if let Some(summary) = summary.filter(|summary| summary.listed(query)) {
                rows.push(summary);
                if rows.len() == limit {
                    next = walk.next().is_some().then_some(place);
                    break;
                }
            }
        }
        Ok(Scanned { rows, next })
    }

    async fn pending(
        &self,
        query: &PendingQuery,
        after: Option<&PendingPlace>,
        limit: usize,
        bytes: usize,
    ) -> Result<Scanned<PendingCall, PendingPlace>, StoreError> {
        let data = self.lock();
        let entries = data.indexes.of(Index::Pending, pending_range(&query.tenant, after));
        let places = entries.filter_map(|entry| PendingPlace::of_entry(Index::Pending, entry));
        let places = places.filter(|place| query.session.as_ref().is_none_or(|id| *id == place.session));
        let calls = places.filter_map(|place| {
            let key = SessionKey::new(query.tenant.clone(), place.session.clone());
            let row = data.sessions.get(&key)?.rows.get(&Row::pending(&place.id))?;
            let Row::Pending { call, .. } = row else { return None };
            query.kind.as_ref().is_none_or(|kind| *kind == call.kind).then(|| Ok((place, call.clone())))
        });
        Scanned::fill(calls, limit, bytes, |call| call.body.len())
    }

    async fn resting(
        &self,
        rule: &RetentionRule,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionRow, SessionPlace>, StoreError> {
        let data = self.lock();
        let unchanged = data.walk(Index::Resting, time_range(after, rule.unchanged_since));
        let mut about =
            unchanged.filter(|(_, kept)| kept.slot.row.as_ref().is_some_and(|row| row.purgeable(rule)));
        let found: Vec<(SessionPlace, &Kept)> = about.by_ref().take(limit).collect();
        let more = about.next().is_some();
        let next = found.last().filter(|_| more).map(|(place, _)| place.clone());
        Ok(Scanned { rows: found.iter().filter_map(|(_, kept)| kept.slot.row.clone()).collect(), next })
    }

    async fn dead(&self, before: Timestamp, limit: usize) -> Result<Vec<SessionKey>, StoreError> {
        let data = self.lock();
        let old = data.walk(Index::Dead, time_range(None, before)).take(limit);
        Ok(old.map(|(place, _)| place.key).collect())
    }

    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        self.hints.wait(&watch, at_most).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
