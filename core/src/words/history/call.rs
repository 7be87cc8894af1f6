//! The inputs of a call, as they are recorded.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::words::agent::OnDenial;
use crate::words::custom::StateChange;
use crate::words::ending::{CancelReason, HandedTo};
use crate::words::gate::ArgumentPatterns;
use crate::words::ids::{MessageSeq, PendingId};
use crate::words::panel::{Panel, Vote};
use crate::words::payload::{Digest, is_default};
use crate::words::remote::Remote;
use crate::words::reply::Terms;
use crate::words::tool::ResourceProfile;
use crate::words::usage::Usage;

/// An input of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum CallInput {
    /// The gate is asked about the call.
    Asked,
    /// The gate lets the call through.
    Allowed {
        /// The resources that the call touches.
        profile: ResourceProfile,
    },
    /// A hook replaces the arguments of the call.
    Rewritten {
        /// The message that holds them.
        arguments: MessageSeq,
    },
    /// The call ends without running: a hook gave its result.
    Synthesised {
        /// Whether the turn ends after this step.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stop: bool,
    },
    /// The call ends without running: it is denied, its arguments are invalid, or its tool is unknown.
    Refused,
    /// The arguments of the call are, or should be, the value that the turn must return. The call ends
    /// without running.
    Output {
        /// Whether the arguments fit the schema.
        fits: bool,
    },
    /// The gate wants a person's decision.
    NeedsUser {
        /// The id of the pending call.
        pending: PendingId,
        /// The instant at which it expires.
        deadline: Option<Timestamp>,
        /// The resources that the call touches.
        profile: ResourceProfile,
        /// The message that holds the arguments that are shown.
        arguments: MessageSeq,
        /// The people who must decide, if the policy names them or asks for several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        panel: Option<Box<Panel>>,
    },
    /// An answer came that decides nothing; the call is asked about again.
    Reopened {
        /// The id of the new pending call.
        pending: PendingId,
    },
    /// A client must run the call.
    NeedsClient {
        /// The id of the pending call.
        pending: PendingId,
        /// The instant at which it expires.
        deadline: Option<Timestamp>,
        /// The resources that the call touches.
        profile: ResourceProfile,
    },
    /// Children must answer the call.
    NeedsChildren {
        /// The id of the pending call.
        pending: PendingId,
        /// The instant at which it expires.
        deadline: Option<Timestamp>,
        /// The resources that the call touches.
        profile: ResourceProfile,
        /// The number of children.
        count: u32,
        /// The number of outcomes that the call waits for.
        needed: u32,
        /// The terms, if they are background children. Then the call waits for none of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        background: Option<Terms>,
        /// The place where they work, if that is elsewhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remote: Option<Box<Remote>>,
        /// The present instant, if they work elsewhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<Timestamp>,
    },
    /// The session is handed over once its step is over.
    HandsOver {
        /// To whom.
        to: Box<HandedTo>,
    },
    /// The call waits for the ends of background children.
    NeedsEnds {
        /// The instant at which it waits no more.
        deadline: Option<Timestamp>,
        /// The resources that the call touches.
        profile: ResourceProfile,
    },
    /// Every child of the call exists, or its failure is known. The call is done if it began them in the background.
    Started,
    /// A person approved the call; the gate is asked again.
    Approved {
        /// The message that holds the arguments that were approved.
        arguments: MessageSeq,
        /// The digest of those arguments.
        digest: Digest,
        /// Whether later calls of its tool need no approval any more.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        always: bool,
        /// If given, only later calls whose arguments fit need no approval.
        #[serde(default, skip_serializing_if = "ArgumentPatterns::is_empty")]
        only: ArgumentPatterns,
    },
    /// One of several people approved the call.
    Voted {
        /// The vote.
        vote: Vote,
    },
    /// One of the people who decide changed the arguments. Earlier approvals are void, and the gate is asked
    /// again.
    Edited {
        /// The message that holds the new arguments.
        arguments: MessageSeq,
        /// The digest of the new arguments.
        digest: Digest,
        /// The approval of the person who changed them.
        vote: Option<Vote>,
    },
    /// A person grants more steps. Only for the request for more steps.
    Granted {
        /// The number of steps.
        steps: u32,
    },
    /// More people may decide from now on.
    Escalated,
    /// A person refused the call.
    Rejected {
        /// The consequence for the rest of its step, and for its turn.
        #[serde(default, skip_serializing_if = "is_default")]
        then: OnDenial,
    },
    /// The client answered, or the children did.
    Answered {
        /// Whether the call did what it was asked for.
        ok: bool,
        /// The usage of the children.
        #[serde(default, skip_serializing_if = "is_default")]
        usage: Usage,
    },
    /// Nobody answered in time.
    Expired {
        /// Whether the result that the terms set for this case is the result of the call.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        done: bool,
        /// The digest of the arguments, if the call then runs; the gate is asked again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approved: Option<Digest>,
    },
    /// The start mark of the call is on its way to the store.
    Marked,
    /// The call is out.
    Sent,
    /// The call is about to come back, with changes of the custom state. They are applied once its step is
    /// over, if the call is done.
    Changes {
        /// The changes.
        changes: Vec<StateChange>,
    },
    /// The call came back.
    Returned {
        /// Whether the call did what it was asked for.
        ok: bool,
        /// Whether the turn ends after this step.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stop: bool,
        /// Whether the call could not be run, and is not retried.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        broken: bool,
    },
    /// The call could not be run, and is sent again later.
    TryAgain {
        /// The instant of the retry.
        until: Timestamp,
        /// The reason why it could not be run.
        why: String,
        /// Whether the call may have acted all the same.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        sent: bool,
    },
    /// The call came back, and its result is due later.
    Deferred {
        /// The instant at which the result is due.
        until: Timestamp,
        /// The text that the model is told then.
        output: String,
        /// Whether the turn ends after this step.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stop: bool,
    },
    /// The timer of the call rang.
    Rang,
    /// The call is told to stop.
    StopAsked,
    /// The call did not act and will not.
    Cancelled {
        /// The reason.
        reason: CancelReason,
    },
    /// The call was lost: nobody knows what became of it.
    Lost {
        /// Whether the run was not at fault: the call took too long, its connection broke, or its code
        /// panicked.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        broken: bool,
    },
    /// The call may be sent again: the run that sent it died, or the run left it unsent to another.
    Again,
}
