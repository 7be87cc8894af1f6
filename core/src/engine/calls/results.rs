//! The texts for the model about calls that gave no output.

use std::fmt::Write as _;

use crate::machine::{Call, CallState};
use crate::words::ending::CancelReason;
use crate::words::gate::DenialRecord;
use crate::words::image::Images;
use crate::words::message::{ResultStatus, ToolResult};
use crate::words::tool::EffectClass;

/// Builds the result of `call` with this text.
pub(crate) fn result(
    call: &Call,
    status: ResultStatus,
    content: impl Into<String>,
    edited: Option<String>,
) -> ToolResult {
    ToolResult {
        call: call.id.clone(),
        tool: call.tool.clone(),
        status,
        content: content.into(),
        edited_arguments: edited,
        duration_ms: None,
        stop: false,
        broken: false,
        sent: None,
        denial: None,
        changes: Vec::new(),
        images: Images::none(),
        instead_of: call.instead_of.clone(),
    }
}

/// Returns the line with which the result of a fallback begins. Empty if the call did not fall back.
pub(crate) fn told_of_fallback(result: &ToolResult) -> String {
    let [asked, others @ ..] = result.instead_of.as_slice() else { return String::new() };
    let one_line = |why: &str| why.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut told = format!("[{} could not be run: {}", asked.tool, one_line(&asked.why));
    for other in others {
        // Writing to a String does not fail.
        let _ = write!(told, "; nor could {}: {}", other.tool, one_line(&other.why));
    }
    let _ = writeln!(told, ". {} stands in for it, and this is what became of that.]", result.tool);
    told
}

/// Builds the result of a call that the gate or a person refused.
pub(crate) fn denied(
    call: &Call,
    status: ResultStatus,
    content: impl Into<String>,
    edited: Option<String>,
    denial: DenialRecord,
) -> ToolResult {
    ToolResult { denial: Some(denial), ..result(call, status, content, edited) }
}

/// Builds the result of a call that the machine itself ended. Returns `None` if the call has not ended.
pub(crate) fn result_of_end(call: &Call, edited: Option<String>) -> Option<ToolResult> {
    let (status, content) = match &call.state {
        CallState::Cancelled { reason } => (ResultStatus::Cancelled, cancelled(*reason)),
        CallState::InDoubt => (
            ResultStatus::InDoubt,
            "in doubt: this call was out when it was lost sight of. It may or may not have acted, and it \
             is not sent again. Find out before you repeat it."
                .to_owned(),
        ),
        CallState::Error => (ResultStatus::Error, "the call failed".to_owned()),
        CallState::RejectedByUser => (ResultStatus::RejectedByUser, rejected(&call.tool, None)),
        CallState::Done => (ResultStatus::Done, String::new()),
        CallState::Queued
        | CallState::Gating
        | CallState::BlockedOnUser { .. }
        | CallState::BlockedOnClient { .. }
        | CallState::BlockedOnChild { .. }
        | CallState::AwaitingEnds { .. }
        | CallState::AwaitingSignal { .. }
        | CallState::Waiting { .. }
        | CallState::Approved
        | CallState::Preparing
        | CallState::Executing
        | CallState::CleaningUp => return None,
    };
    Some(result(call, status, content, edited))
}

/// Returns true if an output only reports a failure: it is an object whose only field is `error`, a text.
pub(crate) fn says_error(content: &str) -> bool {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Failed {
        #[serde(rename = "error")]
        _error: String,
    }
    content.trim_start().starts_with('{') && serde_json::from_str::<Failed>(content).is_ok()
}

pub(crate) fn cancelled(reason: CancelReason) -> String {
    let why = match reason {
        CancelReason::UserCancelled => "the turn was stopped before it acted",
        CancelReason::UserInterrupted => "something was said that stopped the turn before it acted",
        CancelReason::SystemEdited => "an earlier message was edited before it acted",
        CancelReason::SystemDisposed => "the turn was given up before it acted",
        CancelReason::SystemSafety => {
            "it is dangerous and its run died before it started; it was not started again"
        }
        CancelReason::UserRejected => "the user refused another call of this step before this one acted",
        CancelReason::FlowDropped => "the flow no longer waited for it before it acted",
        CancelReason::SystemForked => {
            "this session was forked from another one while the call was open there; it was not made here"
        }
    };
    format!("cancelled ({}): {why}", reason.as_str())
}

/// Returns the text for a call that was stopped for this reason while its turn goes on.
pub(crate) fn stopped_alone(reason: CancelReason) -> String {
    match reason {
        CancelReason::UserCancelled => {
            format!("cancelled ({}): somebody stopped this call before it acted", reason.as_str())
        }
        CancelReason::UserRejected
        | CancelReason::UserInterrupted
        | CancelReason::SystemEdited
        | CancelReason::SystemDisposed
        | CancelReason::SystemSafety
        | CancelReason::SystemForked
        | CancelReason::FlowDropped => cancelled(reason),
    }
}

/// Returns the text for a call that was cancelled while it waited for its deferred result, or to be sent `again`.
fn cancelled_waiting(reason: CancelReason, output: &str, again: bool) -> String {
    if again {
        return format!(
            "cancelled ({}): it could not be run, and was stopped before it was tried again. It said: {output}",
            reason.as_str()
        );
    }
    format!(
        "cancelled ({}): it had come back, and was stopped before its result was due. It said: {output}",
        reason.as_str()
    )
}

/// Builds the result of a call that is cancelled while it waits with `output`. A call that had returned counts as
/// sent.
pub(crate) fn ended_waiting(
    call: &Call,
    reason: CancelReason,
    output: &str,
    again: bool,
    edited: Option<String>,
) -> ToolResult {
    let content = cancelled_waiting(reason, output, again);
    let sent = (!again && call.effect != EffectClass::ReadOnly).then_some(true);
    ToolResult { sent, ..result(call, ResultStatus::Cancelled, content, edited) }
}

/// Returns the text for the model about a call with which a person ended the batch.
pub(crate) fn aborted(reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("Function call aborted: {reason}"),
        None => "Function call aborted".to_owned(),
    }
}

/// Returns the text for the model about a call that a person refused: the person's reason, or the ways to allow the
/// call.
pub(crate) fn rejected(tool: &str, reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("Permission denied by user: {reason}"),
        None => format!(
            "Permission denied by user. Do not retry without asking. To let it run, the user would have to \
             approve this call of {tool}, or allow {tool} for the rest of the session."
        ),
    }
}
