//! What can be wrong with a store: one function for each operation, of which a fault replaces one or two.

use std::time::Duration;

use holdover_store::ids::{CheckpointId, Fence, InboxSeq, SessionKey, TenantId};
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;
use holdover_store::{
    CasOutcome, Checkpoint, CheckpointQuery, Claim, ClaimDue, ClaimOne, ClaimOutcome, Commit, CommitOutcome,
    CreateOutcome, DeleteOutcome, Deletion, Delivery, DeltaBatch, DeltaOutcome, EventCursor, EventPage,
    ForkOutcome, InboxItem, InboxPage, Interrupt, InterruptCheck, InterruptOutcome, LeaseOutcome,
    MessagePage, MessageRange, NewFork, NewSession, Page, PageRequest, PendingCall, PendingQuery,
    PurgeReport, RetentionRule, RunRecord, Session, SessionQuery, SessionSummary, StageOutcome, Staging,
    StatusCas, StoreError, Watch,
};
use holdover_store_memory::parts::{Record, Sessions, Tombstones};

use crate::rows::RowFault;
use crate::sound;

/// A store that is the reference but for one thing.
pub(crate) struct Mutant {
    /// Its name.
    pub(crate) name: &'static str,
    /// What is broken.
    pub(crate) broken: &'static str,
    /// How.
    pub(crate) fault: Fault,
}

/// A later transaction of the same operation.
pub(crate) type Later = Box<dyn FnOnce(&mut Tx<'_>) + Send>;

/// One transaction: the data, locked, and the time.
pub(crate) struct Tx<'a> {
    /// Every session there is.
    pub(crate) sessions: &'a mut Sessions,
    /// What is left of deleted sessions.
    pub(crate) tombstones: &'a mut Tombstones,
    /// Sessions that were deleted, or are kept aside, for faults that remember them.
    pub(crate) graves: &'a mut Sessions,
    /// What this handle alone remembers.
    pub(crate) cache: &'a mut Sessions,
    /// Whose turn it was last when this handle claimed what was due.
    pub(crate) turn: &'a mut Option<TenantId>,
    /// The store's clock.
    pub(crate) now: Timestamp,
    /// The clock of this process, which stands as good as still while a case moves the store's.
    pub(crate) process: Timestamp,
    /// What is written in another transaction, before the operation answers.
    pub(crate) later: Option<Later>,
}

impl Tx<'_> {
    pub(crate) fn record(&mut self, key: &SessionKey) -> Option<&mut Record> {
        self.sessions.get_mut(key)
    }

    /// Changes the session, if there is one.
    pub(crate) fn with(&mut self, key: &SessionKey, change: impl FnOnce(&mut Record)) {
        if let Some(record) = self.sessions.get_mut(key) {
            change(record);
        }
    }

    /// Changes the session's row, if there is one.
    pub(crate) fn row(&mut self, key: &SessionKey, change: impl FnOnce(&mut SessionRow)) {
        self.with(key, |record| change(&mut record.row));
    }

    /// A copy of the session's row.
    pub(crate) fn row_of(&self, key: &SessionKey) -> Option<SessionRow> {
        self.sessions.get(key).map(|record| record.row.clone())
    }

    /// Does the rest in another transaction.
    pub(crate) fn then(&mut self, later: impl FnOnce(&mut Tx<'_>) + Send + 'static) {
        self.later = Some(Box::new(later));
    }

    /// Decides on what is there now, and writes the session in another transaction.
    pub(crate) fn read_then_write<R>(
        &mut self,
        key: &SessionKey,
        operation: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let before = self.sessions.get(key).cloned();
        let answer = operation(self);
        let after = self.sessions.remove(key);
        if let Some(before) = before {
            self.sessions.insert(key.clone(), before);
        }
        if let Some(after) = after {
            let key = key.clone();
            self.then(move |tx| {
                tx.sessions.insert(key, after);
            });
        }
        answer
    }
}

type Answer<T> = Result<T, StoreError>;

/// One function for each operation.
pub(crate) struct Fault {
    /// What a commit or a delivery does in a transaction of its own before it waits.
    pub(crate) before: Option<fn(&mut Tx<'_>, &SessionKey)>,
    /// How many connections each handle has, of which every operation takes a second one while it holds the first.
    pub(crate) connections: Option<usize>,
    /// Whether a fork holds its source while it waits for its target.
    pub(crate) locks: bool,
    pub(crate) check_create: fn(&NewSession) -> Answer<()>,
    pub(crate) check_claim: fn(&ClaimOne) -> Answer<()>,
    pub(crate) check_due: fn(&ClaimDue) -> Answer<()>,
    pub(crate) check_renewal: fn(Duration) -> Answer<()>,
    pub(crate) check_cas: fn(&StatusCas) -> Answer<()>,
    pub(crate) check_staging: fn(&Staging) -> Answer<()>,
    pub(crate) check_commit: fn(&Commit) -> Answer<()>,
    pub(crate) check_payload: fn(&InboxItem) -> Answer<()>,
    pub(crate) check_reason: fn(&Interrupt) -> Answer<()>,
    pub(crate) create: fn(&mut Tx<'_>, NewSession) -> CreateOutcome,
    pub(crate) load: fn(&mut Tx<'_>, &SessionKey) -> Option<Session>,
    pub(crate) list_sessions: fn(&mut Tx<'_>, &SessionQuery) -> Answer<Page<SessionSummary>>,
    pub(crate) delete: fn(&mut Tx<'_>, &SessionKey, Deletion) -> DeleteOutcome,
    pub(crate) claim: fn(&mut Tx<'_>, &SessionKey, ClaimOne) -> ClaimOutcome,
    pub(crate) claim_due: fn(&mut Tx<'_>, ClaimDue) -> Vec<Claim>,
    pub(crate) cas: fn(&mut Tx<'_>, &SessionKey, StatusCas) -> CasOutcome,
    pub(crate) renew: fn(&mut Tx<'_>, &Fence, Duration) -> LeaseOutcome,
    pub(crate) stage: fn(&mut Tx<'_>, &Fence, Staging) -> StageOutcome,
    pub(crate) commit: fn(&mut Tx<'_>, &Fence, Commit) -> CommitOutcome,
    pub(crate) take_interrupt: fn(&mut Tx<'_>, &Fence) -> InterruptCheck,
    pub(crate) deliver: fn(&mut Tx<'_>, &SessionKey, InboxItem) -> Delivery,
    pub(crate) interrupt: fn(&mut Tx<'_>, &SessionKey, Interrupt) -> InterruptOutcome,
    pub(crate) read_messages: fn(&mut Tx<'_>, &SessionKey, &[MessageRange]) -> Answer<MessagePage>,
    pub(crate) read_inbox: fn(&mut Tx<'_>, &SessionKey, InboxSeq, u32) -> Answer<InboxPage>,
    pub(crate) read_events: fn(&mut Tx<'_>, &SessionKey, &EventCursor, u32) -> Answer<EventPage>,
    pub(crate) list_runs: fn(&mut Tx<'_>, &SessionKey, &PageRequest) -> Answer<Page<RunRecord>>,
    pub(crate) list_pending: fn(&mut Tx<'_>, &PendingQuery) -> Answer<Page<PendingCall>>,
    pub(crate) check_deltas: fn(&DeltaBatch) -> Answer<()>,
    pub(crate) append_deltas: fn(&mut Tx<'_>, &Fence, DeltaBatch) -> DeltaOutcome,
    pub(crate) list_checkpoints: fn(&mut Tx<'_>, &CheckpointQuery) -> Answer<Page<Checkpoint>>,
    pub(crate) check_fork: fn(&SessionKey, &NewFork) -> Answer<()>,
    pub(crate) fork: fn(&mut Tx<'_>, &SessionKey, CheckpointId, NewFork) -> ForkOutcome,
    pub(crate) check_purge: fn(&RetentionRule) -> Answer<()>,
    pub(crate) purge: fn(&mut Tx<'_>, &RetentionRule) -> PurgeReport,
    /// Whether the lease of a claim that the operation of this name has made is over, once its answer is there.
    pub(crate) over: fn(&str, &Claim, Timestamp) -> bool,
    /// What happens to the data when it is closed and opened again.
    pub(crate) reopen: fn(&mut Sessions),
    /// Whether waiters are told of what the operation of this name, which is no read, may have changed.
    pub(crate) tells: fn(&str) -> bool,
    /// Whether whoever waits for this hears anything.
    pub(crate) hears: fn(&Watch) -> bool,
    /// Whether its capabilities declare forks.
    pub(crate) forks: bool,
    /// Whether its capabilities declare retention.
    pub(crate) retention: bool,
    /// The rows that it keeps, if the rules are the contract's: then nothing else of this counts.
    pub(crate) rows: Option<RowFault>,
}

/// Nothing is wrong: the reference itself.
pub(crate) const SOUND: Fault = Fault {
    before: None,
    connections: None,
    locks: false,
    check_create: sound::check_create,
    check_claim: sound::check_claim,
    check_due: sound::check_due,
    check_renewal: sound::check_renewal,
    check_cas: sound::check_cas,
    check_staging: sound::check_staging,
    check_commit: sound::check_commit,
    check_payload: sound::check_payload,
    check_reason: sound::check_reason,
    create: sound::create,
    load: sound::load,
    list_sessions: sound::list_sessions,
    delete: sound::delete,
    claim: sound::claim,
    claim_due: sound::claim_due,
    cas: sound::cas,
    renew: sound::renew,
    stage: sound::stage,
    commit: sound::commit,
    take_interrupt: sound::take_interrupt,
    deliver: sound::deliver,
    interrupt: sound::interrupt,
    read_messages: sound::read_messages,
    read_inbox: sound::read_inbox,
    read_events: sound::read_events,
    list_runs: sound::list_runs,
    list_pending: sound::list_pending,
    check_deltas: sound::check_deltas,
    append_deltas: sound::append_deltas,
    list_checkpoints: sound::list_checkpoints,
    check_fork: sound::check_fork,
    fork: sound::fork,
    check_purge: sound::check_purge,
    purge: sound::purge,
    over: |_, claim, now| claim.lease_ends <= now,
    reopen: |_| {},
    tells: |_| true,
    hears: |_| true,
    forks: true,
    retention: true,
    rows: None,
};
