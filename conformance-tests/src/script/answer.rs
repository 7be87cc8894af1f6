//! Answers, and the names by which they are counted.

use holdover_store::{
    Applied, CasOutcome, Checkpoint, Claim, ClaimOutcome, CommitOutcome, CreateOutcome, DeleteOutcome,
    Delivery, DeltaOutcome, DeltaPage, EventPage, ForkOutcome, InterruptCheck, InterruptOutcome,
    LeaseOutcome, PendingCall, PurgeReport, Retry, RunRecord, Session, SessionStatus, SessionSummary,
    StageOutcome, StoreError, StoreErrorKind, StoredEvent, StoredItem, StoredMessage,
};

use crate::failure::CaseResult;

/// What one request is answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Refused(StoreErrorKind, Retry),
    Create(CreateOutcome),
    Delete(DeleteOutcome),
    Claim(ClaimOutcome),
    ClaimDue(Vec<Claim>),
    CompareAndSet(CasOutcome),
    Renew(LeaseOutcome),
    Stage(StageOutcome),
    Commit(CommitOutcome),
    AppendDeltas(DeltaOutcome),
    TakeInterrupt(InterruptCheck),
    Deliver(Delivery),
    Interrupt(InterruptOutcome),
    Fork(ForkOutcome),
    Purge(PurgeReport),
    Load(Option<Box<Session>>),
    ListSessions(Vec<SessionSummary>),
    ListPending(Vec<PendingCall>),
    ReadMessages(Vec<StoredMessage>),
    ReadInbox(Vec<StoredItem>),
    /// Without the cursor, which is the store's own.
    ReadEvents(Shown),
    ListRuns(Vec<RunRecord>),
    ListCheckpoints(Vec<Checkpoint>),
}

/// What a page of events shows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shown {
    Page { events: Vec<StoredEvent>, stream: Option<DeltaPage>, more: bool },
    Gone,
    NotFound,
}

impl Answer {
    /// `Err`: the store does not have the operation.
    #[track_caller]
    pub(crate) fn of<T>(answer: Result<T, StoreError>, outcome: impl FnOnce(T) -> Self) -> CaseResult<Self> {
        match answer {
            Ok(answer) => Ok(outcome(answer)),
            Err(error) if error.kind == StoreErrorKind::Unsupported => Err(error.into()),
            Err(error) => Ok(Self::refused(&error)),
        }
    }

    pub(super) fn refused(error: &StoreError) -> Self {
        Self::Refused(error.kind, error.retry)
    }

    pub(crate) fn read_events(page: EventPage) -> Self {
        Self::ReadEvents(match page {
            EventPage::Events { events, stream, more, .. } => Shown::Page { events, stream, more },
            EventPage::Gone => Shown::Gone,
            EventPage::NotFound => Shown::NotFound,
        })
    }

    /// Whether it shows fewer rows than were asked for, although there are more.
    pub(crate) fn ends_before(&self, limit: u32) -> bool {
        let Self::ReadEvents(Shown::Page { events, stream, more: true }) = self else { return false };
        let rows = events.len() + stream.as_ref().map_or(0, |page| page.deltas.len());
        rows < limit as usize
    }

    /// Whether whoever is answered this has changed nothing.
    pub(crate) fn refuses(&self) -> bool {
        match self {
            Self::Refused(_, retry) => *retry != Retry::OutcomeUnknown,
            Self::Create(outcome) => !matches!(outcome, CreateOutcome::Created { .. }),
            Self::Delete(outcome) => *outcome != DeleteOutcome::Deleted,
            Self::Claim(outcome) => !matches!(outcome, ClaimOutcome::Claimed(_)),
            Self::ClaimDue(claims) => claims.is_empty(),
            Self::CompareAndSet(outcome) => !matches!(outcome, CasOutcome::Moved { .. }),
            Self::Renew(outcome) => *outcome == LeaseOutcome::StaleFence,
            Self::Stage(outcome) => !matches!(outcome, StageOutcome::Staged(_)),
            Self::Commit(outcome) => !matches!(outcome, CommitOutcome::Committed(_)),
            Self::AppendDeltas(outcome) => !matches!(outcome, DeltaOutcome::Appended(_)),
            Self::TakeInterrupt(outcome) => !matches!(outcome, InterruptCheck::Waiting(_)),
            Self::Deliver(outcome) => !matches!(outcome, Delivery::Accepted { .. }),
            Self::Interrupt(outcome) => *outcome != InterruptOutcome::Requested,
            Self::Fork(outcome) => !matches!(outcome, ForkOutcome::Forked { .. }),
            Self::Purge(report) => report.sessions + report.checkpoints == 0,
            Self::Load(_)
            | Self::ListSessions(_)
            | Self::ListPending(_)
            | Self::ReadMessages(_)
            | Self::ReadInbox(_)
            | Self::ReadEvents(_)
            | Self::ListRuns(_)
            | Self::ListCheckpoints(_) => true,
        }
    }

    /// With lists in an order in which time plays no part.
    pub(crate) fn by_key(mut self) -> Self {
        if let Self::ListSessions(all) = &mut self {
            all.sort_by(|one, other| one.key.cmp(&other.key));
        }
        self
    }

    /// By what name it is counted. Variants that lead to different rows have names of their own.
    pub(crate) fn name(&self) -> &'static str {
        let rows = |count: usize| match count {
            0 => "nothing",
            1 => "one",
            _ => "several",
        };
        match self {
            Self::Refused(StoreErrorKind::InvalidArgument, _) => "invalid argument",
            Self::Refused(StoreErrorKind::NotFound, _) => "error: not found",
            Self::Refused(..) => "error",
            Self::Create(outcome) => match outcome {
                CreateOutcome::Created { claim: None, .. } => "created",
                CreateOutcome::Created { claim: Some(_), .. } => "created, claimed",
                CreateOutcome::AlreadyExists { .. } => "already exists",
                CreateOutcome::Deleted => "deleted",
                CreateOutcome::ItemConflict { .. } => "item conflict",
            },
            Self::Delete(outcome) => match outcome {
                DeleteOutcome::Deleted => "deleted",
                DeleteOutcome::Active => "active",
                DeleteOutcome::NotFound => "not found",
            },
            Self::Claim(outcome) => match outcome {
                ClaimOutcome::Claimed(claim) if claim.found == SessionStatus::Active => "taken over",
                ClaimOutcome::Claimed(_) => "claimed",
                ClaimOutcome::Held { .. } => "held",
                ClaimOutcome::VersionConflict { .. } => "version conflict",
                ClaimOutcome::LeaseEnded => "lease ended",
                ClaimOutcome::ItemRefused { .. } => "item refused",
                ClaimOutcome::Aborted => "aborted",
                ClaimOutcome::NotFound => "not found",
            },
            Self::ClaimDue(claims) => rows(claims.len()),
            Self::CompareAndSet(outcome) => match outcome {
                CasOutcome::Moved { .. } => "moved",
                CasOutcome::VersionConflict { .. } => "version conflict",
                CasOutcome::NotAllowed { .. } => "not allowed",
                CasOutcome::ItemRefused { .. } => "item refused",
                CasOutcome::NotFound => "not found",
            },
            Self::Renew(outcome) => match outcome {
                LeaseOutcome::Renewed(_) => "renewed",
                LeaseOutcome::StaleFence => "stale fence",
            },
            Self::Stage(outcome) => match outcome {
                StageOutcome::Staged(_) => "staged",
                StageOutcome::Conflict { .. } => "conflict",
                StageOutcome::StaleFence => "stale fence",
            },
            Self::Commit(outcome) => match outcome {
                CommitOutcome::Committed(_) => "committed",
                CommitOutcome::VersionConflict { .. } => "version conflict",
                CommitOutcome::StaleFence { applied: Applied::Yes } => "stale fence, applied",
                CommitOutcome::StaleFence { applied: Applied::No } => "stale fence, not applied",
                CommitOutcome::StaleFence { applied: Applied::Unknown } => "stale fence, unknown",
                CommitOutcome::AnswerWaiting { .. } => "answer waiting",
                CommitOutcome::NotStaged { .. } => "not staged",
                CommitOutcome::StageConflict { .. } => "stage conflict",
                CommitOutcome::PendingConflict { .. } => "pending conflict",
                CommitOutcome::NotInInbox { .. } => "not in inbox",
            },
            Self::AppendDeltas(outcome) => match outcome {
                DeltaOutcome::Appended(_) => "appended",
                DeltaOutcome::Ended => "ended",
                DeltaOutcome::Gap { .. } => "gap",
                DeltaOutcome::StaleFence => "stale fence",
            },
            Self::TakeInterrupt(outcome) => match outcome {
                InterruptCheck::Clear => "clear",
                InterruptCheck::Waiting(_) => "waiting",
                InterruptCheck::StaleFence => "stale fence",
            },
            Self::Deliver(outcome) => match outcome {
                Delivery::Accepted { .. } => "accepted",
                Delivery::Duplicate { .. } => "duplicate",
                Delivery::Conflict { .. } => "conflict",
                Delivery::AlreadyAnswered => "already answered",
                Delivery::NotPending => "not pending",
                Delivery::Aborted => "aborted",
                Delivery::NotFound => "not found",
            },
            Self::Interrupt(outcome) => match outcome {
                InterruptOutcome::Requested => "requested",
                InterruptOutcome::AlreadyWaiting { .. } => "already waiting",
                InterruptOutcome::AtRest => "at rest",
                InterruptOutcome::Over => "over",
                InterruptOutcome::Aborted => "aborted",
                InterruptOutcome::NotFound => "not found",
            },
            Self::Fork(outcome) => match outcome {
                ForkOutcome::Forked { .. } => "forked",
                ForkOutcome::AlreadyExists { .. } => "already exists",
                ForkOutcome::Deleted => "deleted",
                ForkOutcome::NoSource => "no source",
                ForkOutcome::NoCheckpoint => "no checkpoint",
            },
            Self::Purge(PurgeReport { sessions: 0, checkpoints: 0, .. }) => "nothing",
            Self::Purge(PurgeReport { checkpoints: 0, .. }) => "sessions",
            Self::Purge(_) => "checkpoints",
            Self::Load(session) => rows(usize::from(session.is_some())),
            Self::ListSessions(all) => rows(all.len()),
            Self::ListPending(all) => rows(all.len()),
            Self::ReadMessages(all) => rows(all.len()),
            Self::ReadInbox(all) => rows(all.len()),
            Self::ReadEvents(Shown::Page { stream: Some(_), .. }) => "events and deltas",
            Self::ReadEvents(Shown::Page { more: true, .. }) => "events, and more",
            Self::ReadEvents(Shown::Page { .. }) => "events",
            Self::ReadEvents(Shown::Gone) => "gone",
            Self::ReadEvents(Shown::NotFound) => "not found",
            Self::ListRuns(all) => rows(all.len()),
            Self::ListCheckpoints(all) => rows(all.len()),
        }
    }
}
