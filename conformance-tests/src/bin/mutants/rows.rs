//! Broken row-based stores: a backend that keeps rows, under the rules of the crate `holdover_store`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_store::ids::{Incarnation, SessionKey};
use holdover_store::rows::{
    Due, DueQuery, Found, PendingPlace, RowStore, Rows, Scanned, SessionPlace, Slot, Verdict, Want, Write,
};
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;
use holdover_store::{
    Capabilities, PendingCall, PendingQuery, RetentionRule, SessionQuery, SessionSummary, StoreError, Watch,
};
use holdover_store_memory::{Limits, MemoryRows};

use crate::sound::LIMITS;
use crate::store::{Budget, Handle, Peers, capabilities};

/// The number of times that other tasks may run between two halves of an operation that should be atomic.
const YIELDS: usize = 3;

/// A fault in a store's rows.
#[derive(Clone, Copy)]
pub(crate) struct RowFault {
    /// Changes a write before it is applied.
    pub(crate) write: fn(&mut Write),
    /// Set if a write is applied whatever the stored token is by now.
    pub(crate) uncompared: bool,
    /// Set if the session's row is written first and the other rows later.
    pub(crate) written_in_two: bool,
    /// Set if the session's row is read first and the other rows later.
    pub(crate) read_in_two: bool,
    /// Changes the verdict on a write.
    pub(crate) verdict: fn(Verdict) -> Verdict,
    /// Set if only the first write of a batch is applied.
    pub(crate) one_at_a_time: bool,
    /// Changes the list of rows to read.
    pub(crate) wants: fn(&mut Vec<Want>),
    /// Changes the query for due sessions.
    pub(crate) due: fn(&mut DueQuery),
    /// Changes the due sessions that were found.
    pub(crate) found: fn(&mut Due<Result<Found, StoreError>>),
    /// Set if every page of pending calls counts as the last one.
    pub(crate) last_page_of_pending: bool,
    /// Set if every page of resting sessions counts as the last one.
    pub(crate) last_page_at_rest: bool,
    /// Set if waiters receive hints.
    pub(crate) hears: bool,
}

/// Rows without a fault.
pub(crate) const SOUND_ROWS: RowFault = RowFault {
    write: |_| {},
    uncompared: false,
    written_in_two: false,
    read_in_two: false,
    verdict: |verdict| verdict,
    one_at_a_time: false,
    wants: |_| {},
    due: |_| {},
    found: |_| {},
    last_page_of_pending: false,
    last_page_at_rest: false,
    hears: true,
};

/// Rows in memory with a fault.
struct BrokenRows {
    rows: Arc<MemoryRows>,
    fault: RowFault,
    budget: Budget,
}

/// Creates a store over new rows.
pub(crate) fn store(
    fault: RowFault,
    clock: holdover_conformance_tests::VirtualClock,
    budget: Budget,
) -> Handle {
    let limits =
        Limits { payload_bytes_max: LIMITS.payload_bytes_max, commit_bytes_max: LIMITS.commit_bytes_max };
    peer(Arc::new(MemoryRows::new(clock, limits)), fault, budget)
}

fn peer(rows: Arc<MemoryRows>, fault: RowFault, budget: Budget) -> Handle {
    Handle(Arc::new(OverRows(RowStore::new(BrokenRows { rows, fault, budget }))))
}

struct OverRows(RowStore<BrokenRows>);

holdover_store::forward_store! { [] OverRows, |store| store.0 }

impl Peers for OverRows {
    fn peer(&self) -> Handle {
        let BrokenRows { rows, fault, budget } = self.0.rows();
        peer(Arc::clone(rows), *fault, budget.clone())
    }
}

impl BrokenRows {
    /// Lets other tasks run first, as with a backend behind a network.
    async fn asked(&self) {
        self.budget.spend();
        tokio::task::yield_now().await;
    }

    async fn others_first() {
        for _ in 0..YIELDS {
            tokio::task::yield_now().await;
        }
    }

    async fn write(&self, write: &Write) -> Result<Verdict, StoreError> {
        let mut write = write.clone();
        (self.fault.write)(&mut write);
        if self.fault.uncompared
            && let Some(before) = self.slot(&write.key).await?
            && before.row.is_some() == write.row_before().is_some()
        {
            write.before = Some(before);
        }
        let in_two = self.fault.written_in_two && write.row_before().is_some() && !write.ops.is_empty();
        let rest = in_two.then(|| Write { before: write.after.clone(), ..write.clone() });
        if rest.is_some() {
            write.ops.clear();
        }
        let verdict = self.one(write).await?;
        if let (Some(mut rest), Verdict::Applied { .. }) = (rest, &verdict) {
            Self::others_first().await;
            // The slot holds the first half of the write or something newer. Its session row stays.
            if let Some(now) = self.slot(&rest.key).await? {
                (rest.before, rest.after) = (Some(Arc::clone(&now)), Some(now));
                self.one(rest).await?;
            }
        }
        Ok((self.fault.verdict)(verdict))
    }

    async fn one(&self, write: Write) -> Result<Verdict, StoreError> {
        let mut verdicts = self.rows.apply(vec![Arc::new(write)]).await;
        verdicts.pop().unwrap_or(Ok(Verdict::Lost))
    }

    async fn slot(&self, key: &SessionKey) -> Result<Option<Arc<Slot>>, StoreError> {
        Ok(self.rows.read(key, &[]).await?.slot)
    }

    fn page<T, P>(mut page: Scanned<T, P>, is_last: bool) -> Scanned<T, P> {
        page.next = page.next.filter(|_| !is_last);
        page
    }
}

#[async_trait]
impl Rows for BrokenRows {
    fn capabilities(&self) -> Capabilities {
        capabilities()
    }

    fn now(&self) -> Option<Timestamp> {
        self.rows.now()
    }

    async fn read(&self, key: &SessionKey, wants: &[Want]) -> Result<Found, StoreError> {
        self.asked().await;
        let mut wants = wants.to_vec();
        (self.fault.wants)(&mut wants);
        let found = self.rows.read(key, &wants).await?;
        if !self.fault.read_in_two {
            return Ok(found);
        }
        Self::others_first().await;
        let later = self.rows.read(key, &wants).await?;
        Ok(Found { rows: later.rows, ..found })
    }

    async fn apply(&self, writes: Vec<Arc<Write>>) -> Vec<Result<Verdict, StoreError>> {
        self.asked().await;
        let mut verdicts = Vec::with_capacity(writes.len());
        for write in &writes {
            let left_out = self.fault.one_at_a_time && !verdicts.is_empty();
            verdicts.push(if left_out { Ok(Verdict::Lost) } else { self.write(write).await });
        }
        verdicts
    }

    async fn due(
        &self,
        query: &DueQuery,
        wants: &[Want],
    ) -> Result<Due<Result<Found, StoreError>>, StoreError> {
        self.asked().await;
        let mut query = query.clone();
        (self.fault.due)(&mut query);
        let mut due = self.rows.due(&query, wants).await?;
        (self.fault.found)(&mut due);
        Ok(due)
    }

    async fn sessions(
        &self,
        query: &SessionQuery,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionSummary, SessionPlace>, StoreError> {
        self.asked().await;
        self.rows.sessions(query, after, limit).await
    }

    async fn pending(
        &self,
        query: &PendingQuery,
        after: Option<&PendingPlace>,
        limit: usize,
        bytes: usize,
    ) -> Result<Scanned<PendingCall, PendingPlace>, StoreError> {
        self.asked().await;
        Ok(Self::page(self.rows.pending(query, after, limit, bytes).await?, self.fault.last_page_of_pending))
    }

    async fn resting(
        &self,
        rule: &RetentionRule,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionRow, SessionPlace>, StoreError> {
        self.asked().await;
        Ok(Self::page(self.rows.resting(rule, after, limit).await?, self.fault.last_page_at_rest))
    }

    async fn dead(&self, before: Timestamp, limit: usize) -> Result<Vec<SessionKey>, StoreError> {
        self.asked().await;
        self.rows.dead(before, limit).await
    }

    async fn remove_unreadable(
        &self,
        key: &SessionKey,
        life: Option<Incarnation>,
    ) -> Result<bool, StoreError> {
        self.asked().await;
        self.rows.remove_unreadable(key, life).await
    }

    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        self.budget.spend();
        if !self.fault.hears {
            tokio::time::sleep(at_most).await;
            return Ok(());
        }
        self.rows.wait_for_change(watch, at_most).await
    }
}
