//! The operations as the reference store has them.

use std::sync::LazyLock;
use std::time::Duration;

use holdover_store::ids::{CheckpointId, Fence, InboxSeq, SessionKey};
use holdover_store::{
    Capabilities, CasOutcome, Checkpoint, CheckpointQuery, Claim, ClaimDue, ClaimOne, ClaimOutcome, Commit,
    CommitOutcome, CreateOutcome, DeleteOutcome, Deletion, Delivery, DeltaBatch, DeltaOutcome, EventCursor,
    EventPage, ForkOutcome, InboxItem, InboxPage, Interrupt, InterruptCheck, InterruptOutcome, LeaseOutcome,
    MessagePage, MessageRange, NewFork, NewSession, Page, PageRequest, PendingCall, PendingQuery,
    PurgeReport, RetentionRule, RunRecord, Session, SessionQuery, SessionSummary, StageOutcome, Staging,
    StatusCas, StoreError, rules,
};
use holdover_store_memory::Limits;
use holdover_store_memory::parts as ops;

use crate::fault::Tx;
use crate::store::capabilities;

type Answer<T> = Result<T, StoreError>;

/// Limits that a test reaches quickly, and large enough for every case.
pub(crate) const LIMITS: Limits = Limits { payload_bytes_max: 9 << 20, commit_bytes_max: 16 << 20 };

/// The rule of sizes for `operation`.
pub(crate) fn limits(operation: &'static str) -> rules::Limits<'static> {
    static DECLARED: LazyLock<Capabilities> = LazyLock::new(capabilities);
    rules::Limits::of(&DECLARED, operation)
}

pub(crate) fn check_create(new: &NewSession) -> Answer<()> {
    limits("create_session").creation(new)
}

pub(crate) fn check_claim(claim: &ClaimOne) -> Answer<()> {
    limits("claim_session").claim(claim)
}

pub(crate) fn check_due(claim: &ClaimDue) -> Answer<()> {
    limits("claim_due").lease(claim.lease)
}

pub(crate) fn check_renewal(lease: Duration) -> Answer<()> {
    limits("renew_lease").lease(lease)
}

pub(crate) fn check_cas(cas: &StatusCas) -> Answer<()> {
    limits("compare_and_set_status").items(&cas.items)
}

pub(crate) fn check_staging(staging: &Staging) -> Answer<()> {
    limits("stage_result").staging(staging)
}

pub(crate) fn check_commit(commit: &Commit) -> Answer<()> {
    commit.check(&capabilities())
}

pub(crate) fn check_payload(item: &InboxItem) -> Answer<()> {
    limits("deliver").delivery(item)
}

pub(crate) fn check_reason(interrupt: &Interrupt) -> Answer<()> {
    limits("request_interrupt").interrupt(interrupt)
}

pub(crate) fn create(tx: &mut Tx<'_>, new: NewSession) -> CreateOutcome {
    ops::create(tx.sessions, tx.tombstones, new, tx.now)
}

pub(crate) fn load(tx: &mut Tx<'_>, key: &SessionKey) -> Option<Session> {
    ops::load(tx.sessions, key)
}

pub(crate) fn list_sessions(tx: &mut Tx<'_>, query: &SessionQuery) -> Answer<Page<SessionSummary>> {
    ops::list_sessions(tx.sessions, query)
}

pub(crate) fn delete(tx: &mut Tx<'_>, key: &SessionKey, deletion: Deletion) -> DeleteOutcome {
    ops::delete(tx.sessions, tx.tombstones, key, deletion, tx.now)
}

pub(crate) fn claim(tx: &mut Tx<'_>, key: &SessionKey, claim: ClaimOne) -> ClaimOutcome {
    ops::claim(tx.sessions, key, &claim, tx.now)
}

pub(crate) fn claim_due(tx: &mut Tx<'_>, claim: ClaimDue) -> Vec<Claim> {
    ops::claim_due(tx.sessions, tx.turn, claim, tx.now)
}

pub(crate) fn cas(tx: &mut Tx<'_>, key: &SessionKey, cas: StatusCas) -> CasOutcome {
    ops::compare_and_set(tx.sessions, key, &cas, tx.now)
}

pub(crate) fn renew(tx: &mut Tx<'_>, fence: &Fence, lease: Duration) -> LeaseOutcome {
    ops::renew(tx.sessions, fence, lease, tx.now)
}

pub(crate) fn stage(tx: &mut Tx<'_>, fence: &Fence, staging: Staging) -> StageOutcome {
    ops::stage(tx.sessions, fence, staging, tx.now)
}

pub(crate) fn commit(tx: &mut Tx<'_>, fence: &Fence, commit: Commit) -> CommitOutcome {
    ops::commit(tx.sessions, fence, commit, tx.now)
}

pub(crate) fn take_interrupt(tx: &mut Tx<'_>, fence: &Fence) -> InterruptCheck {
    ops::take_interrupt(tx.sessions, fence)
}

pub(crate) fn deliver(tx: &mut Tx<'_>, key: &SessionKey, item: InboxItem) -> Delivery {
    ops::deliver(tx.sessions, key, item, tx.now)
}

pub(crate) fn interrupt(tx: &mut Tx<'_>, key: &SessionKey, interrupt: Interrupt) -> InterruptOutcome {
    ops::interrupt(tx.sessions, key, interrupt, tx.now)
}

pub(crate) fn read_messages(
    tx: &mut Tx<'_>,
    key: &SessionKey,
    ranges: &[MessageRange],
) -> Answer<MessagePage> {
    ops::read_messages(tx.sessions, key, ranges)
}

pub(crate) fn read_inbox(
    tx: &mut Tx<'_>,
    key: &SessionKey,
    after: InboxSeq,
    limit: u32,
) -> Answer<InboxPage> {
    ops::read_inbox(tx.sessions, key, after, limit)
}

pub(crate) fn read_events(
    tx: &mut Tx<'_>,
    key: &SessionKey,
    after: &EventCursor,
    limit: u32,
) -> Answer<EventPage> {
    ops::read_events(tx.sessions, key, after, limit)
}

pub(crate) fn list_runs(tx: &mut Tx<'_>, key: &SessionKey, page: &PageRequest) -> Answer<Page<RunRecord>> {
    ops::list_runs(tx.sessions, key, page)
}

pub(crate) fn list_pending(tx: &mut Tx<'_>, query: &PendingQuery) -> Answer<Page<PendingCall>> {
    ops::list_pending(tx.sessions, query)
}

pub(crate) fn check_deltas(batch: &DeltaBatch) -> Answer<()> {
    batch.check(&capabilities())
}

pub(crate) fn append_deltas(tx: &mut Tx<'_>, fence: &Fence, batch: DeltaBatch) -> DeltaOutcome {
    ops::append_deltas(tx.sessions, fence, batch, tx.now)
}

pub(crate) fn list_checkpoints(tx: &mut Tx<'_>, query: &CheckpointQuery) -> Answer<Page<Checkpoint>> {
    ops::list_checkpoints(tx.sessions, query)
}

pub(crate) fn check_fork(from: &SessionKey, to: &NewFork) -> Answer<()> {
    to.check(from)?;
    limits("fork_session").fork(to)
}

pub(crate) fn fork(tx: &mut Tx<'_>, from: &SessionKey, at: CheckpointId, to: NewFork) -> ForkOutcome {
    ops::fork(tx.sessions, tx.tombstones, from, at, to, tx.now)
}

pub(crate) fn check_purge(rule: &RetentionRule) -> Answer<()> {
    ops::check_purge(rule)
}

pub(crate) fn purge(tx: &mut Tx<'_>, rule: &RetentionRule) -> PurgeReport {
    ops::purge(tx.sessions, tx.tombstones, rule, tx.now).0
}
