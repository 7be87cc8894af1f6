//! The parts of a store that a fault can replace, each as the reference implements it.

use std::sync::LazyLock;
use std::time::Duration;

use holdover_store::ids::{CheckpointId, Fence, InboxSeq, SessionKey};
use holdover_store::time::Timestamp;
use holdover_store::{
    Capabilities, CasOutcome, Checkpoint, CheckpointQuery, Claim, ClaimDue, ClaimOne, ClaimOutcome, Commit,
    CommitOutcome, CreateOutcome, DeleteOutcome, Deletion, Delivery, DeltaBatch, DeltaOutcome, EventCursor,
    EventPage, ForkOutcome, InboxItem, InboxPage, Interrupt, InterruptCheck, InterruptOutcome, LeaseOutcome,
    MessagePage, MessageRange, NewFork, NewSession, Page, PageRequest, PendingCall, PendingQuery,
    PurgeReport, RetentionRule, RunRecord, Session, SessionQuery, SessionSummary, StageOutcome, Staging,
    StatusCas, StoreError, Watch, rules,
};
use holdover_store_memory::Limits;
use holdover_store_memory::parts::{self as ops, Sessions};

use crate::fault::{Mutant, Tx};
use crate::rows::RowFault;
use crate::store::capabilities;

type Answer<T> = Result<T, StoreError>;

/// Limits that are small enough for tests to reach them quickly, and large enough for every case.
pub(crate) const LIMITS: Limits = Limits { payload_bytes_max: 9 << 20, commit_bytes_max: 16 << 20 };

/// Returns the size limits for `operation`.
pub(crate) fn limits(operation: &'static str) -> rules::Limits<'static> {
    static DECLARED: LazyLock<Capabilities> = LazyLock::new(capabilities);
    rules::Limits::of(&DECLARED, operation)
}

/// Defines, for each function, the field of [`Fault`] that calls it and the method of [`Mutant`] that replaces it. Does
/// the same for values.
macro_rules! parts {
    (
        $($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) -> $answer:ty $body:block)*
        values:
        $($(#[$about:meta])* let $value:ident: $kind:ty = $sound:expr;)*
    ) => {
        $($(#[$doc])* pub(crate) fn $name($($arg: $type),*) -> $answer $body)*

        /// The parts of a store. A fault replaces some of them.
        pub(crate) struct Fault {
            $($(#[$doc])* pub(crate) $name: fn($($type),*) -> $answer,)*
            $($(#[$about])* pub(crate) $value: $kind,)*
        }

        /// The parts of the reference, without a fault.
        pub(crate) const SOUND: Fault = Fault { $($name,)* $($value: $sound,)* };

        impl Mutant {
            $(
                $(#[$doc])*
                pub(crate) const fn $name(mut self, part: fn($($type),*) -> $answer) -> Self {
                    self.fault.$name = part;
                    self
                }
            )*
            $(
                $(#[$about])*
                pub(crate) const fn $value(mut self, part: $kind) -> Self {
                    self.fault.$value = part;
                    self
                }
            )*
        }
    };
}

parts! {
    fn check_create(new: &NewSession) -> Answer<()> { limits("create_session").creation(new) }
    fn check_claim(claim: &ClaimOne) -> Answer<()> { limits("claim_session").claim(claim) }
    fn check_due(claim: &ClaimDue) -> Answer<()> { limits("claim_due").lease(claim.lease) }
    fn check_renewal(lease: Duration) -> Answer<()> { limits("renew_lease").lease(lease) }
    fn check_cas(cas: &StatusCas) -> Answer<()> { limits("compare_and_set_status").items(&cas.items) }
    fn check_staging(staging: &Staging) -> Answer<()> { limits("stage_result").staging(staging) }
    fn check_commit(commit: &Commit) -> Answer<()> { commit.check(&capabilities()) }
    fn check_payload(item: &InboxItem) -> Answer<()> { limits("deliver").delivery(item) }
    fn check_reason(interrupt: &Interrupt) -> Answer<()> { limits("request_interrupt").interrupt(interrupt) }
    fn check_deltas(batch: &DeltaBatch) -> Answer<()> { batch.check(&capabilities()) }
    fn check_fork(from: &SessionKey, to: &NewFork) -> Answer<()> {
        to.check(from)?;
        limits("fork_session").fork(to)
    }
    fn check_purge(rule: &RetentionRule) -> Answer<()> { ops::check_purge(rule) }
    fn create(tx: &mut Tx<'_>, new: NewSession) -> CreateOutcome {
        ops::create(tx.sessions, tx.tombstones, new, tx.now)
    }
    fn load(tx: &mut Tx<'_>, key: &SessionKey) -> Option<Session> { ops::load(tx.sessions, key) }
    fn list_sessions(tx: &mut Tx<'_>, query: &SessionQuery) -> Answer<Page<SessionSummary>> {
        ops::list_sessions(tx.sessions, query)
    }
    fn delete(tx: &mut Tx<'_>, key: &SessionKey, deletion: Deletion) -> DeleteOutcome {
        ops::delete(tx.sessions, tx.tombstones, key, deletion, tx.now)
    }
    fn claim(tx: &mut Tx<'_>, key: &SessionKey, claim: ClaimOne) -> ClaimOutcome {
        ops::claim(tx.sessions, key, &claim, tx.now)
    }
    fn claim_due(tx: &mut Tx<'_>, claim: ClaimDue) -> Vec<Claim> {
        ops::claim_due(tx.sessions, tx.turn, claim, tx.now)
    }
    fn cas(tx: &mut Tx<'_>, key: &SessionKey, cas: StatusCas) -> CasOutcome {
        ops::compare_and_set(tx.sessions, key, &cas, tx.now)
    }
    fn renew(tx: &mut Tx<'_>, fence: &Fence, lease: Duration) -> LeaseOutcome {
        ops::renew(tx.sessions, fence, lease, tx.now)
    }
    fn stage(tx: &mut Tx<'_>, fence: &Fence, staging: Staging) -> StageOutcome {
        ops::stage(tx.sessions, fence, staging, tx.now)
    }
    fn commit(tx: &mut Tx<'_>, fence: &Fence, commit: Commit) -> CommitOutcome {
        ops::commit(tx.sessions, fence, commit, tx.now)
    }
    fn append_deltas(tx: &mut Tx<'_>, fence: &Fence, batch: DeltaBatch) -> DeltaOutcome {
        ops::append_deltas(tx.sessions, fence, batch, tx.now)
    }
    fn take_interrupt(tx: &mut Tx<'_>, fence: &Fence) -> InterruptCheck {
        ops::take_interrupt(tx.sessions, fence)
    }
    fn deliver(tx: &mut Tx<'_>, key: &SessionKey, item: InboxItem) -> Delivery {
        ops::deliver(tx.sessions, key, item, tx.now)
    }
    fn interrupt(tx: &mut Tx<'_>, key: &SessionKey, interrupt: Interrupt) -> InterruptOutcome {
        ops::interrupt(tx.sessions, key, interrupt, tx.now)
    }
    fn read_messages(tx: &mut Tx<'_>, key: &SessionKey, ranges: &[MessageRange]) -> Answer<MessagePage> {
        ops::read_messages(tx.sessions, key, ranges)
    }
    fn read_inbox(tx: &mut Tx<'_>, key: &SessionKey, after: InboxSeq, limit: u32) -> Answer<InboxPage> {
        ops::read_inbox(tx.sessions, key, after, limit)
    }
    fn read_events(tx: &mut Tx<'_>, key: &SessionKey, after: &EventCursor, limit: u32) -> Answer<EventPage> {
        ops::read_events(tx.sessions, key, after, limit)
    }
    fn list_runs(tx: &mut Tx<'_>, key: &SessionKey, page: &PageRequest) -> Answer<Page<RunRecord>> {
        ops::list_runs(tx.sessions, key, page)
    }
    fn list_pending(tx: &mut Tx<'_>, query: &PendingQuery) -> Answer<Page<PendingCall>> {
        ops::list_pending(tx.sessions, query)
    }
    fn list_checkpoints(tx: &mut Tx<'_>, query: &CheckpointQuery) -> Answer<Page<Checkpoint>> {
        ops::list_checkpoints(tx.sessions, query)
    }
    fn fork(tx: &mut Tx<'_>, from: &SessionKey, at: CheckpointId, to: NewFork) -> ForkOutcome {
        ops::fork(tx.sessions, tx.tombstones, from, at, to, tx.now)
    }
    fn purge(tx: &mut Tx<'_>, rule: &RetentionRule) -> PurgeReport {
        ops::purge(tx.sessions, tx.tombstones, rule, tx.now).0
    }
    /// Returns true if the lease of a claim made by this operation is over when the answer arrives.
    fn over(_operation: &str, claim: &Claim, now: Timestamp) -> bool { claim.lease_ends <= now }
    /// Changes the data when it is closed and opened again.
    fn reopen(_sessions: &mut Sessions) -> () {}
    /// Returns true if this operation, which is not a read, sends hints to waiters.
    fn tells(_operation: &str) -> bool { true }
    /// Returns true if waiters with this watch receive hints.
    fn hears(_watch: &Watch) -> bool { true }

    values:
    /// A transaction that a commit or a delivery runs before it waits.
    let before: Option<fn(&mut Tx<'_>, &SessionKey)> = None;
    /// The number of connections of each handle. `None` means any number. Every operation takes a second connection
    /// while it holds the first.
    let connections: Option<usize> = None;
    /// Set if a fork locks its source while it waits for its target.
    let locks: bool = false;
    /// Set if the store's capabilities declare forks.
    let forks: bool = true;
    /// Set if the store's capabilities declare retention.
    let retention: bool = true;
    /// The fault of a row-based store with the contract's own rules. If it is set, the other parts are not used.
    let rows: Option<RowFault> = None;
}
