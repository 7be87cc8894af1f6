//! A sound store with short pages, some of them empty, passes every case that it claims.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::process::ExitCode;
use std::time::Duration;

use async_trait::async_trait;
use holdover_conformance_tests::{
    Capability, ClockControl, Gap, Instance, Level, StoreHarness, StoreInfo, VirtualClock, conformance_tests,
};
use holdover_store::ids::{CheckpointId, Fence, InboxSeq, SessionKey, TenantId};
use holdover_store::payload::Digest;
use holdover_store::*;
use holdover_store_memory::{Limits, MemoryStore};

const LIMITS: Limits = Limits { payload_bytes_max: 9 << 20, commit_bytes_max: 16 << 20 };

fn main() -> ExitCode {
    conformance_tests!(Short::default(), claims: [core, distributed, change_hints, forks, retention])
}

#[derive(Default)]
struct Short {
    clock: VirtualClock,
}

#[async_trait]
impl StoreHarness for Short {
    type Store = ShortPages;

    fn info(&self) -> StoreInfo {
        StoreInfo::new("short-pages", "1")
    }

    async fn fresh(&self) -> Instance<ShortPages> {
        Instance::new(ShortPages(MemoryStore::with(self.clock.clone(), LIMITS)))
    }

    async fn peer(&self, of: &Instance<ShortPages>) -> ShortPages {
        ShortPages(of.store().0.clone())
    }

    async fn reopen(&self, of: Instance<ShortPages>) -> Instance<ShortPages> {
        Instance::new(ShortPages(of.store().0.clone()))
    }

    fn clock(&self) -> ClockControl {
        ClockControl::with(self.clock.clone())
    }

    fn gaps(&self) -> Vec<Gap> {
        let reason = "it keeps nothing beyond its process";
        vec![
            Gap::level(Level::Durable, reason),
            Gap::capability(Capability::ChildProcess, reason),
            Gap::capability(Capability::WireFaults, reason),
            Gap::capability(Capability::RawData, reason),
            Gap::capability(
                Capability::DueOrder,
                "it claims half of what is asked for, so tenants take turns where all could be claimed",
            ),
        ]
    }
}

/// The memory store with pages of at most half the requested length, rounded up. Every list with a cursor begins with
/// an empty page, as a store with partitions may return.
struct ShortPages(MemoryStore);

/// The position after the empty first page.
const BEGUN: &[u8] = b"nothing was shown yet";

fn half(rows: u32) -> u32 {
    rows.div_ceil(2)
}

/// Returns the request for half of the rows, or `None` if the empty first page comes next.
fn shorter(page: &PageRequest, query: Digest) -> Option<PageRequest> {
    let begun = PageCursor::at(query, BEGUN);
    let limit = std::num::NonZeroU32::new(half(page.rows()));
    match &page.after {
        None => None,
        Some(after) if *after == begun => Some(PageRequest { after: None, limit }),
        Some(_) => Some(PageRequest { limit, ..page.clone() }),
    }
}

fn empty<T>(query: Digest) -> Page<T> {
    Page { items: Vec::new(), next: Some(PageCursor::at(query, BEGUN)) }
}

#[async_trait]
impl StateStore for ShortPages {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }
    fn digests(&self, tenant: &TenantId, words: &[u8]) -> Result<Vec<Digest>, StoreError> {
        self.0.digests(tenant, words)
    }
    async fn read_messages(
        &self,
        key: &SessionKey,
        ranges: &[MessageRange],
    ) -> Result<MessagePage, StoreError> {
        for (index, range) in ranges.iter().enumerate() {
            let mut page = self.0.read_messages(key, &[*range]).await?;
            let shown = page.messages.len().div_ceil(2);
            if let Some(next) = page.messages.get(shown).map(|message| message.seq) {
                page.messages.truncate(shown);
                return Ok(MessagePage::cut(page.messages, &ranges[index..], next));
            }
            if !page.messages.is_empty() {
                page.rest.extend_from_slice(&ranges[index + 1..]);
                return Ok(page);
            }
        }
        self.0.read_messages(key, &[]).await
    }
    async fn read_inbox(
        &self,
        key: &SessionKey,
        after: InboxSeq,
        limit: u32,
    ) -> Result<InboxPage, StoreError> {
        self.0.read_inbox(key, after, half(limit)).await
    }
    async fn read_events(
        &self,
        key: &SessionKey,
        after: &EventCursor,
        limit: u32,
    ) -> Result<EventPage, StoreError> {
        self.0.read_events(key, after, half(limit)).await
    }
    async fn list_sessions(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, StoreError> {
        match shorter(&query.page, query.digest()) {
            Some(page) => self.0.list_sessions(&SessionQuery { page, ..query.clone() }).await,
            None => Ok(empty(query.digest())),
        }
    }
    async fn list_pending(&self, query: &PendingQuery) -> Result<Page<PendingCall>, StoreError> {
        match shorter(&query.page, query.digest()) {
            Some(page) => self.0.list_pending(&PendingQuery { page, ..query.clone() }).await,
            None => Ok(empty(query.digest())),
        }
    }
    async fn list_runs(&self, key: &SessionKey, page: PageRequest) -> Result<Page<RunRecord>, StoreError> {
        match shorter(&page, runs_digest(key)) {
            Some(page) => self.0.list_runs(key, page).await,
            None => self.0.list_runs(key, page).await.map(|_| empty(runs_digest(key))),
        }
    }
    async fn list_checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>, StoreError> {
        match shorter(&query.page, query.digest()) {
            Some(page) => self.0.list_checkpoints(&CheckpointQuery { page, ..query.clone() }).await,
            None => self.0.list_checkpoints(query).await.map(|_| empty(query.digest())),
        }
    }
    async fn purge(&self, rule: &RetentionRule) -> Result<PurgeReport, StoreError> {
        let page = PageRequest { after: rule.after.clone(), limit: None };
        let Some(page) = shorter(&page, rule.digest()) else {
            let next = Some(PageCursor::at(rule.digest(), BEGUN));
            return rule.check().map(|_| PurgeReport { next, ..PurgeReport::default() });
        };
        let limit = rule.limit.min(std::num::NonZeroU32::new(half(rule.limit.get())).unwrap());
        self.0.purge(&RetentionRule { after: page.after, limit, ..rule.clone() }).await
    }
    async fn claim_due(&self, mut claim: ClaimDue) -> Result<Vec<Claim>, StoreError> {
        claim.runs.truncate(claim.runs.len().div_ceil(2));
        self.0.claim_due(claim).await
    }

    // All other methods are passed on unchanged.

    async fn create_session(&self, new: NewSession) -> Result<CreateOutcome, StoreError> {
        self.0.create_session(new).await
    }
    async fn load_session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        self.0.load_session(key).await
    }
    async fn delete_session(
        &self,
        key: &SessionKey,
        deletion: Deletion,
    ) -> Result<DeleteOutcome, StoreError> {
        self.0.delete_session(key, deletion).await
    }
    async fn claim_session(&self, key: &SessionKey, claim: ClaimOne) -> Result<ClaimOutcome, StoreError> {
        self.0.claim_session(key, claim).await
    }
    async fn compare_and_set_status(
        &self,
        key: &SessionKey,
        cas: StatusCas,
    ) -> Result<CasOutcome, StoreError> {
        self.0.compare_and_set_status(key, cas).await
    }
    async fn renew_lease(&self, fence: &Fence, lease: Duration) -> Result<LeaseOutcome, StoreError> {
        self.0.renew_lease(fence, lease).await
    }
    async fn stage_result(&self, fence: &Fence, staging: Staging) -> Result<StageOutcome, StoreError> {
        self.0.stage_result(fence, staging).await
    }
    async fn commit(&self, fence: &Fence, commit: Commit) -> Result<CommitOutcome, StoreError> {
        self.0.commit(fence, commit).await
    }
    async fn append_deltas(&self, fence: &Fence, batch: DeltaBatch) -> Result<DeltaOutcome, StoreError> {
        self.0.append_deltas(fence, batch).await
    }
    async fn take_interrupt(&self, fence: &Fence) -> Result<InterruptCheck, StoreError> {
        self.0.take_interrupt(fence).await
    }
    async fn deliver(&self, key: &SessionKey, item: InboxItem) -> Result<Delivery, StoreError> {
        self.0.deliver(key, item).await
    }
    async fn request_interrupt(
        &self,
        key: &SessionKey,
        interrupt: Interrupt,
    ) -> Result<InterruptOutcome, StoreError> {
        self.0.request_interrupt(key, interrupt).await
    }
    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        self.0.wait_for_change(watch, at_most).await
    }
    async fn fork_session(
        &self,
        from: &SessionKey,
        at: CheckpointId,
        to: NewFork,
    ) -> Result<ForkOutcome, StoreError> {
        self.0.fork_session(from, at, to).await
    }
}
