//! The inputs of a call, as the history records them.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::words::agent::OnDenial;
use crate::words::custom::StateChange;
use crate::words::ending::{CancelReason, HandedTo};
use crate::words::gate::ArgumentPatterns;
use crate::words::ids::{MessageSeq, PendingId, ToolName};
use crate::words::panel::{Panel, Vote};
use crate::words::payload::{Digest, is_default};
use crate::words::procedure::ProcedureMove;
use crate::words::remote::Remote;
use crate::words::reply::Terms;
use crate::words::signal::SignalName;
use crate::words::tool::{EffectClass, ResourceProfile, RunsOn};
use crate::words::usage::Usage;

/// An input of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum CallInput {
    /// The gate is being asked about the call.
    Asked,
    /// The gate allowed the call.
    Allowed {
        /// The resources that the call touches.
        profile: ResourceProfile,
    },
    /// A hook replaced the arguments of the call.
    Rewritten {
        /// The message that holds the new arguments.
        arguments: MessageSeq,
    },
    /// A hook supplied the result of the call, so the call ends without running.
    Synthesised {
        /// True if the result asks to end the turn after this step.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stop: bool,
    },
    /// The call ends without running, for example because it is denied, its arguments are invalid, or its tool is
    /// unknown.
    Refused,
    /// The call gives the turn's value in its arguments, and ends without running.
    Output {
        /// True if the arguments fit the schema.
        fits: bool,
    },
    /// The gate requires a decision by people.
    NeedsUser {
        /// The id of the pending call.
        pending: PendingId,
        /// The instant at which the pending call expires.
        deadline: Option<Timestamp>,
        /// The resources that the call touches.
        profile: ResourceProfile,
        /// The message that holds the arguments that people see.
        arguments: MessageSeq,
        /// The request for approval, if its terms are not the default terms.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        panel: Option<Box<Panel>>,
    },
    /// An answer arrived that decides nothing, so the call is asked about again.
    Reopened {
        /// The id of the new pending call.
        pending: PendingId,
    },
    /// A client must run the call.
    NeedsClient {
        /// The id of the pending call.
        pending: PendingId,
        /// The instant at which the pending call expires.
        deadline: Option<Timestamp>,
        /// The resources that the call touches.
        profile: ResourceProfile,
    },
    /// The call begins children, which must answer it unless they are background children.
    NeedsChildren {
        /// The id of the pending call. For background children, the id from which their names are derived.
        pending: PendingId,
        /// The instant at which the pending call expires.
        deadline: Option<Timestamp>,
        /// The resources that the call touches.
        profile: ResourceProfile,
        /// The number of children.
        count: u32,
        /// The number of outcomes that the call waits for. 0 for background children.
        needed: u32,
        /// The terms, if the children are background children.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        background: Option<Terms>,
        /// The place where the children work, if another program runs them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remote: Option<Box<Remote>>,
        /// The instant at which the call was let through, if another program runs the children.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<Timestamp>,
    },
    /// The session is handed over once the step is over.
    HandsOver {
        /// The successor session and its agent.
        to: Box<HandedTo>,
    },
    /// The call waits for the ends of background children.
    NeedsEnds {
        /// The instant at which the call stops waiting.
        deadline: Option<Timestamp>,
        /// The resources that the call touches.
        profile: ResourceProfile,
    },
    /// The call returned, and waits for a signal with this name.
    NeedsSignal {
        /// The name.
        name: SignalName,
        /// The instant at which the call stops waiting.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Timestamp>,
    },
    /// Every child of the call exists or has failed to start. A call that began background children is then
    /// done.
    Started,
    /// The call has all the approvals that it needs from people, and the gate is asked again.
    Approved {
        /// The message that holds the approved arguments.
        arguments: MessageSeq,
        /// The digest of those arguments.
        digest: Digest,
        /// If true, the approval also covers later calls of the tool.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        always: bool,
        /// If not empty, `always` applies only to later calls whose arguments match these patterns.
        #[serde(default, skip_serializing_if = "ArgumentPatterns::is_empty")]
        only: ArgumentPatterns,
    },
    /// A person approved the call, under terms that name people or require several approvals.
    Voted {
        /// The recorded approval.
        vote: Vote,
    },
    /// A person changed the arguments of the call, under terms that name people or require several approvals.
    /// Earlier approvals are void, and the gate is asked again.
    Edited {
        /// The message that holds the new arguments.
        arguments: MessageSeq,
        /// The digest of the new arguments.
        digest: Digest,
        /// The approval of the person who changed the arguments. `None` if the person gave no name.
        vote: Option<Vote>,
    },
    /// A person granted more steps. Used only for a request for more steps.
    Granted {
        /// The number of additional steps.
        steps: u32,
    },
    /// The wait of a parked state of the procedure is over. Used only for such a wait.
    Leads {
        /// The move.
        to: Box<ProcedureMove>,
    },
    /// More people may now decide on the call.
    Escalated,
    /// A person refused the call.
    Rejected {
        /// The consequence for the other calls of the step and for the turn.
        #[serde(default, skip_serializing_if = "is_default")]
        then: OnDenial,
        /// True if the other calls of the step that are out are stopped, too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        aborts: bool,
    },
    /// A client or the children answered the call, or the wait for children or a signal has ended.
    Answered {
        /// True if the call succeeded.
        ok: bool,
        /// The usage of the children that answered.
        #[serde(default, skip_serializing_if = "is_default")]
        usage: Usage,
    },
    /// The pending call expired without the needed answers of people or a client.
    Expired {
        /// True if the terms of the approval supply a result for this case.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        done: bool,
        /// The digest of the arguments, if the terms let the call run. The gate is then asked again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approved: Option<Digest>,
    },
    /// The start mark of the call is being written to the store.
    Marked,
    /// The call was sent.
    Sent,
    /// The call is about to return with changes to the custom state. They are applied after the step if the
    /// call succeeds.
    Changes {
        /// The changes, in order.
        changes: Vec<StateChange>,
    },
    /// The call returned.
    Returned {
        /// True if the call succeeded.
        ok: bool,
        /// True if the result asks to end the turn after this step.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stop: bool,
        /// True if the call could not be run or gave no result, and is not retried.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        broken: bool,
    },
    /// The call could not be run or gave no result, and it is sent again later.
    TryAgain {
        /// The instant of the retry.
        until: Timestamp,
        /// The reason why the call gave no result.
        why: String,
        /// True if the call was sent, so that it may have acted unless it only reads.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        sent: bool,
    },
    /// The call could not be run or gave no result, did not act, and is not sent again. The fallback of its tool is
    /// called in its place, with the same arguments. The gate is asked about the call anew.
    FellBack {
        /// The tool that is called now.
        to: ToolName,
        /// The effect class of this tool.
        #[serde(default, skip_serializing_if = "is_default")]
        effect: EffectClass,
        /// True if this tool is dangerous.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        dangerous: bool,
        /// The party that runs this tool.
        #[serde(default, skip_serializing_if = "is_default")]
        runs_on: RunsOn,
        /// The reason why the call of the first tool gave no result.
        why: String,
    },
    /// The call returned, but its result is due later.
    Deferred {
        /// The instant at which the result is due.
        until: Timestamp,
        /// The text that the model sees when the result is due.
        output: String,
        /// True if the result asks to end the turn after this step.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stop: bool,
    },
    /// The timer of the call fired, or a request ended the wait for the next try.
    Rang,
    /// The call was asked to stop.
    StopAsked,
    /// The call is cancelled: it did not act and will not act, or it returned but its delayed result was not due
    /// yet.
    Cancelled {
        /// The reason for the cancellation.
        reason: CancelReason,
    },
    /// The call was lost: its outcome is unknown.
    Lost {
        /// True if the loss counts as a call that could not be run: the call timed out, its connection broke, or
        /// its code panicked. False if its run died or the call was being stopped.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        broken: bool,
    },
    /// The call was not sent after all, because its run leaves the session. The next run sends it.
    Again,
}
