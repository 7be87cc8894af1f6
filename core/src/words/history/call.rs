//! The inputs of a call, as they are recorded.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::words::agent::OnDenial;
use crate::words::custom::StateChange;
use crate::words::ending::CancelReason;
use crate::words::gate::ArgumentPatterns;
use crate::words::ids::{MessageSeq, PendingId};
use crate::words::panel::{Panel, Vote};
use crate::words::payload::{Digest, is_default};
use crate::words::tool::ResourceProfile;

/// What happens to a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum CallInput {
    /// The gate is asked.
    Asked,
    /// The gate let it through.
    Allowed {
        /// What it touches.
        profile: ResourceProfile,
    },
    /// A hook put other arguments in place of those that stood.
    Rewritten {
        /// The message that holds them.
        arguments: MessageSeq,
    },
    /// It ends without running: a hook gave its result.
    Synthesised {
        /// Whether the turn ends after this step.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stop: bool,
    },
    /// It ends without running: denied, invalid, unknown tool.
    Refused,
    /// Its arguments are the value that the turn owes, or should be: it ends without running.
    Output {
        /// Whether they fit the schema.
        fits: bool,
    },
    /// The gate wants a person's decision.
    NeedsUser {
        /// The asking.
        pending: PendingId,
        /// When it expires.
        deadline: Option<Timestamp>,
        /// What it touches.
        profile: ResourceProfile,
        /// The message that holds the arguments that are shown.
        arguments: MessageSeq,
        /// Who must decide, where the policy says more than that somebody must.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        panel: Option<Box<Panel>>,
    },
    /// An answer came that decides nothing; it is asked for again.
    Reopened {
        /// The new asking.
        pending: PendingId,
    },
    /// A client must run it.
    NeedsClient {
        /// The asking.
        pending: PendingId,
        /// When it expires.
        deadline: Option<Timestamp>,
        /// What it touches.
        profile: ResourceProfile,
    },
    /// A person approved it; the gate is asked again.
    Approved {
        /// The message that holds the arguments that were approved.
        arguments: MessageSeq,
        /// Their digest.
        digest: Digest,
        /// Whether later calls of its tool need no approval any more.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        always: bool,
        /// Then only those whose arguments fit.
        #[serde(default, skip_serializing_if = "ArgumentPatterns::is_empty")]
        only: ArgumentPatterns,
    },
    /// One of several people approved it.
    Voted {
        /// Who.
        vote: Vote,
    },
    /// One of those who decide changed its arguments: what was approved before is void, and the gate is asked again.
    Edited {
        /// The message that holds the new arguments.
        arguments: MessageSeq,
        /// Their digest.
        digest: Digest,
        /// The approval of whoever changed them.
        vote: Option<Vote>,
    },
    /// Of the asking for more steps: a person grants them.
    Granted {
        /// How many.
        steps: u32,
    },
    /// More people may decide from now on.
    Escalated,
    /// A person refused it.
    Rejected {
        /// What happens with the rest of its step, and with its turn.
        #[serde(default, skip_serializing_if = "is_default")]
        then: OnDenial,
    },
    /// The client answered.
    Answered {
        /// Whether it could do it.
        ok: bool,
    },
    /// Nobody answered in time.
    Expired {
        /// Whether what was said for this case is its result.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        done: bool,
        /// The digest of the arguments, if it runs then; the gate is asked again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approved: Option<Digest>,
    },
    /// Its start mark travels.
    Marked,
    /// It is out.
    Sent,
    /// It is about to come back, with changes of the custom state: they are made once its step is over, if it is done.
    Changes {
        /// Which.
        changes: Vec<StateChange>,
    },
    /// It came back.
    Returned {
        /// Whether it did what it was asked for.
        ok: bool,
        /// Whether the turn ends after this step.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stop: bool,
        /// Whether it could not be run, and is not tried again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        broken: bool,
    },
    /// It could not be run, and is sent again later.
    TryAgain {
        /// When.
        until: Timestamp,
        /// Why.
        why: String,
        /// Whether it may have acted all the same.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        sent: bool,
    },
    /// It came back and its result is due later.
    Deferred {
        /// When.
        until: Timestamp,
        /// What the model is told then.
        output: String,
        /// Whether the turn ends after this step.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stop: bool,
    },
    /// Its timer rang.
    Rang,
    /// It is told to stop.
    StopAsked,
    /// It did not act and will not.
    Cancelled {
        /// Why.
        reason: CancelReason,
    },
    /// It was lost sight of.
    Lost {
        /// Whether that was no fault of its run: it took too long, its connection broke, its code panicked.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        broken: bool,
    },
    /// The run that had it out died, or has left it unsent to another: it may be sent again.
    Again,
}
