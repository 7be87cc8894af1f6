//! The imports that most cases use.

pub(super) use holdover_store::ids::{
    CheckpointId, Epoch, EventSeq, Fence, InboxSeq, MessageSeq, SessionKey, StateFormat, Version,
};
pub(super) use holdover_store::payload::Payload;
pub(super) use holdover_store::time::Timestamp;
pub(super) use holdover_store::{
    Applied, CasOutcome, Checkpoint, CheckpointQuery, Claim, ClaimDue, ClaimOne, ClaimOutcome, Commit,
    CommitOutcome, CreateOutcome, DeleteOutcome, Deletion, Delivery, DeltaBatch, DeltaOutcome, EventCursor,
    EventPage, ForkOutcome, InboxItem, Interrupt, InterruptCheck, InterruptOutcome, ItemKind, Labels,
    LeaseOutcome, NewFork, NewMessage, NewPending, NewSession, NewState, OutcomeKind, PAGE_ROWS_MAX,
    PageCursor, PageRequest, PendingKind, PendingQuery, Queues, Receipt, Release, Remove, RetentionRule,
    Retry, RunEnd, SessionQuery, SessionStatus, StageOutcome, StagedResult, Staging, Start, StateStore,
    StatusCas, StoreError, StoreErrorKind, StreamId, Wake,
};

pub(super) use crate::bench::{Bench, Handle, Restart, nobody, race};
pub(super) use crate::case::cases;
pub(super) use crate::failure::{CaseResult, Failure, ensure, ensure_eq, want};
pub(super) use crate::fixture::*;
pub(super) use crate::reader::read;
pub(super) use crate::snapshot::{
    PAGES_MAX, Snapshot, all_items, ends, load, snapshot, walk_pending, walk_sessions,
};
pub(super) use crate::sweep::{left_asking, removed};
