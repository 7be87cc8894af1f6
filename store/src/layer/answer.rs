//! An answer of a store, as a value.

use crate::{
    CasOutcome, Checkpoint, Claim, ClaimOutcome, CommitOutcome, CreateOutcome, DeleteOutcome, Delivery,
    DeltaOutcome, EventPage, ForkOutcome, InboxPage, InterruptCheck, InterruptOutcome, LeaseOutcome,
    MessagePage, Page, PendingCall, PurgeReport, RunRecord, Session, SessionSummary, StageOutcome,
};

/// Defines the enum, and both conversions for each variant.
macro_rules! answers {
    ($($variant:ident($outcome:ty) = $operation:literal,)*) => {
        /// The answer to a [`Request`](super::Request): one variant for each method of
        /// [`StateStore`](crate::StateStore).
        #[derive(Debug, Clone, PartialEq)]
        #[expect(clippy::large_enum_variant, reason = "moved once, to the caller")]
        #[non_exhaustive]
        pub enum Answer {
            $(
                #[doc = concat!("Of `", $operation, "`.")]
                $variant($outcome),
            )*
        }

        $(
            impl From<$outcome> for Answer {
                fn from(outcome: $outcome) -> Self {
                    Self::$variant(outcome)
                }
            }

            /// Gives the answer back if it is one of another operation.
            impl TryFrom<Answer> for $outcome {
                type Error = Answer;

                fn try_from(answer: Answer) -> Result<Self, Answer> {
                    if let Answer::$variant(outcome) = answer { Ok(outcome) } else { Err(answer) }
                }
            }
        )*
    };
}

answers! {
    Created(CreateOutcome) = "create_session",
    Session(Option<Session>) = "load_session",
    Sessions(Page<SessionSummary>) = "list_sessions",
    Deleted(DeleteOutcome) = "delete_session",
    Claimed(ClaimOutcome) = "claim_session",
    ClaimedDue(Vec<Claim>) = "claim_due",
    Moved(CasOutcome) = "compare_and_set_status",
    Renewed(LeaseOutcome) = "renew_lease",
    Staged(StageOutcome) = "stage_result",
    Committed(CommitOutcome) = "commit",
    Streamed(DeltaOutcome) = "append_deltas",
    Interrupt(InterruptCheck) = "take_interrupt",
    Delivered(Delivery) = "deliver",
    Requested(InterruptOutcome) = "request_interrupt",
    Messages(MessagePage) = "read_messages",
    Inbox(InboxPage) = "read_inbox",
    Events(EventPage) = "read_events",
    Runs(Page<RunRecord>) = "list_runs",
    Pending(Page<PendingCall>) = "list_pending",
    Checkpoints(Page<Checkpoint>) = "list_checkpoints",
    Changed(()) = "wait_for_change",
    Forked(ForkOutcome) = "fork_session",
    Purged(PurgeReport) = "purge",
}
