//! Answers of a store, and the names under which coverage counts them.

use std::fmt;

use holdover_store::{
    Answer as Store, Applied, CasOutcome, ClaimOutcome, CommitOutcome, CreateOutcome, DeleteOutcome,
    Delivery, DeltaOutcome, EventCursor, EventPage, ForkOutcome, InboxPage, InterruptCheck, InterruptOutcome,
    LeaseOutcome, PurgeReport, Request, Retry, SessionStatus, StageOutcome, StoreError, StoreErrorKind,
};

use crate::failure::CaseResult;

/// The answer to one request.
#[derive(Clone, PartialEq)]
pub(crate) enum Answer {
    Refused(StoreErrorKind, Retry),
    /// An outcome. In a page of events, the cursor is removed, because each store has its own.
    Answered(Box<Store>),
}

impl<T: Into<Store>> From<T> for Answer {
    fn from(outcome: T) -> Self {
        let mut answer = outcome.into();
        if let Store::Events(EventPage::Events { next, .. }) = &mut answer {
            *next = EventCursor::START;
        }
        Self::Answered(answer.into())
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(kind, retry) => f.debug_tuple("Refused").field(kind).field(retry).finish(),
            Self::Answered(answer) => answer.outcome().fmt(f),
        }
    }
}

impl Answer {
    /// Converts the result of an operation. Fails the case if the store does not support the operation.
    #[track_caller]
    pub(crate) fn of(answer: Result<impl Into<Store>, StoreError>) -> CaseResult<Self> {
        match answer {
            Ok(answer) => Ok(answer.into().into()),
            Err(error) if error.kind == StoreErrorKind::Unsupported => Err(error.into()),
            Err(error) => Ok(Self::refused(&error)),
        }
    }

    pub(super) fn refused(error: &StoreError) -> Self {
        Self::Refused(error.kind, error.retry)
    }

    /// Returns the outcome, or `None` if the request was refused with an error.
    pub(crate) fn answered(&self) -> Option<&Store> {
        match self {
            Self::Refused(..) => None,
            Self::Answered(answer) => Some(answer),
        }
    }

    /// Returns the answer of all pages together, if this page shows it. `None` if the page ended early.
    pub(crate) fn whole(self, request: &Request) -> Option<Self> {
        let (Request::ReadInbox(_, _, limit) | Request::ReadEvents(_, _, limit)) = request else {
            return self.is_last().then_some(self);
        };
        let limit = *limit as usize;
        match self.answered() {
            Some(Store::Inbox(page)) if page.items.len() >= limit => {
                Some(InboxPage::new(page.items.clone(), false).into())
            }
            Some(Store::Events(EventPage::Events { events, stream, more: true, .. })) => {
                let rows = events.len() + stream.as_ref().map_or(0, |page| page.deltas.len());
                (rows >= limit).then_some(self)
            }
            _ => self.is_last().then_some(self),
        }
    }

    /// Returns true if this is the last page of a list. Anything that is not a page of a list counts as the last one.
    fn is_last(&self) -> bool {
        match self.answered() {
            Some(Store::Sessions(page)) => page.next.is_none(),
            Some(Store::Pending(page)) => page.next.is_none(),
            Some(Store::Runs(page)) => page.next.is_none(),
            Some(Store::Checkpoints(page)) => page.next.is_none(),
            Some(Store::Messages(page)) => page.rest.is_empty(),
            Some(Store::Inbox(page)) => page.next.is_none(),
            _ => true,
        }
    }

    /// Returns true if an operation with this answer changed nothing.
    pub(crate) fn refuses(&self) -> bool {
        let answer = match self {
            Self::Refused(_, retry) => return *retry != Retry::OutcomeUnknown,
            Self::Answered(answer) => &**answer,
        };
        if let Store::ClaimedDue(claims) = answer {
            return claims.is_empty();
        }
        if let Store::Purged(report) = answer {
            return report.sessions + report.checkpoints == 0;
        }
        !matches!(
            answer,
            Store::Created(CreateOutcome::Created { .. })
                | Store::Deleted(DeleteOutcome::Deleted)
                | Store::Claimed(ClaimOutcome::Claimed(_))
                | Store::Moved(CasOutcome::Moved { .. })
                | Store::Renewed(LeaseOutcome::Renewed(_))
                | Store::Staged(StageOutcome::Staged(_))
                | Store::Committed(CommitOutcome::Committed(_))
                | Store::Streamed(DeltaOutcome::Appended(_))
                | Store::Interrupt(InterruptCheck::Waiting(_))
                | Store::Delivered(Delivery::Accepted { .. })
                | Store::Requested(InterruptOutcome::Requested)
                | Store::Forked(ForkOutcome::Forked { .. })
        )
    }

    /// Sorts lists of sessions by key, so that their order does not depend on time.
    pub(crate) fn by_key(mut self) -> Self {
        if let Self::Answered(answer) = &mut self
            && let Store::Sessions(page) = &mut **answer
        {
            page.items.sort_by(|one, other| one.key.cmp(&other.key));
        }
        self
    }

    /// Returns the name under which coverage counts the answer. Answers of one variant that bring different numbers or
    /// kinds of rows have different names.
    pub(crate) fn name(&self) -> &'static str {
        let rows = |count: usize| match count {
            0 => "nothing",
            1 => "one",
            _ => "several",
        };
        let answer = match self {
            Self::Refused(StoreErrorKind::InvalidArgument, _) => return "invalid argument",
            Self::Refused(StoreErrorKind::NotFound, _) => return "error: not found",
            Self::Refused(..) => return "error",
            Self::Answered(answer) => &**answer,
        };
        match answer {
            Store::Created(outcome) => match outcome {
                CreateOutcome::Created { claim: None, .. } => "created",
                CreateOutcome::Created { claim: Some(_), .. } => "created, claimed",
                CreateOutcome::AlreadyExists { .. } => "already exists",
                CreateOutcome::Deleted => "deleted",
                CreateOutcome::ItemConflict { .. } => "item conflict",
            },
            Store::Deleted(outcome) => match outcome {
                DeleteOutcome::Deleted => "deleted",
                DeleteOutcome::Active => "active",
                DeleteOutcome::VersionConflict { .. } => "version conflict",
                DeleteOutcome::NotFound => "not found",
            },
            Store::Claimed(outcome) => match outcome {
                ClaimOutcome::Claimed(claim) if claim.found == SessionStatus::Active => "taken over",
                ClaimOutcome::Claimed(_) => "claimed",
                ClaimOutcome::Held { .. } => "held",
                ClaimOutcome::VersionConflict { .. } => "version conflict",
                ClaimOutcome::LeaseEnded => "lease ended",
                ClaimOutcome::ItemRefused { .. } => "item refused",
                ClaimOutcome::Aborted => "aborted",
                ClaimOutcome::NotFound => "not found",
            },
            Store::ClaimedDue(claims) => rows(claims.len()),
            Store::Moved(outcome) => match outcome {
                CasOutcome::Moved { .. } => "moved",
                CasOutcome::VersionConflict { .. } => "version conflict",
                CasOutcome::NotAllowed { .. } => "not allowed",
                CasOutcome::ItemRefused { .. } => "item refused",
                CasOutcome::NotFound => "not found",
            },
            Store::Renewed(outcome) => match outcome {
                LeaseOutcome::Renewed(_) => "renewed",
                LeaseOutcome::StaleFence => "stale fence",
            },
            Store::Staged(outcome) => match outcome {
                StageOutcome::Staged(_) => "staged",
                StageOutcome::Conflict { .. } => "conflict",
                StageOutcome::StaleFence => "stale fence",
            },
            Store::Committed(outcome) => match outcome {
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
            Store::Streamed(outcome) => match outcome {
                DeltaOutcome::Appended(_) => "appended",
                DeltaOutcome::Ended => "ended",
                DeltaOutcome::Gap { .. } => "gap",
                DeltaOutcome::StaleFence => "stale fence",
            },
            Store::Interrupt(outcome) => match outcome {
                InterruptCheck::Clear => "clear",
                InterruptCheck::Waiting(_) => "waiting",
                InterruptCheck::StaleFence => "stale fence",
            },
            Store::Delivered(outcome) => match outcome {
                Delivery::Accepted { .. } => "accepted",
                Delivery::Duplicate { .. } => "duplicate",
                Delivery::Conflict { .. } => "conflict",
                Delivery::AlreadyAnswered => "already answered",
                Delivery::NotPending => "not pending",
                Delivery::Aborted => "aborted",
                Delivery::NotFound => "not found",
            },
            Store::Requested(outcome) => match outcome {
                InterruptOutcome::Requested => "requested",
                InterruptOutcome::AlreadyWaiting { .. } => "already waiting",
                InterruptOutcome::AtRest => "at rest",
                InterruptOutcome::Over => "over",
                InterruptOutcome::Aborted => "aborted",
                InterruptOutcome::NotFound => "not found",
            },
            Store::Forked(outcome) => match outcome {
                ForkOutcome::Forked { .. } => "forked",
                ForkOutcome::AlreadyExists { .. } => "already exists",
                ForkOutcome::Deleted => "deleted",
                ForkOutcome::NoSource => "no source",
                ForkOutcome::NoCheckpoint => "no checkpoint",
            },
            Store::Purged(PurgeReport { sessions: 0, checkpoints: 0, .. }) => "nothing",
            Store::Purged(PurgeReport { checkpoints: 0, .. }) => "sessions",
            Store::Purged(_) => "checkpoints",
            Store::Session(session) => rows(usize::from(session.is_some())),
            Store::Sessions(page) => rows(page.items.len()),
            Store::Pending(page) => rows(page.items.len()),
            Store::Messages(page) => rows(page.messages.len()),
            Store::Inbox(page) => rows(page.items.len()),
            Store::Events(page) => match page {
                EventPage::Events { stream: Some(_), .. } => "events and deltas",
                EventPage::Events { more: true, .. } => "events, and more",
                EventPage::Events { .. } => "events",
                EventPage::Gone => "gone",
                EventPage::NotFound => "not found",
            },
            Store::Runs(page) => rows(page.items.len()),
            Store::Checkpoints(page) => rows(page.items.len()),
            Store::Changed(()) => "changed",
            _ => "of a newer contract",
        }
    }
}
