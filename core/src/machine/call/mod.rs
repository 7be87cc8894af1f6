//! The machine of one tool call.
//!
//! An input has one of three results: the call *moved*, it was *already there* (a redelivery), or the input is *not
//! allowed*. A call that has ended never changes (INV-17).

mod moves;
mod state;

use serde::{Deserialize, Serialize};

pub use moves::CallMove;
pub use state::CallState;

use crate::time::Timestamp;
use crate::words::custom::StateChange;
use crate::words::ending::CancelReason;
use crate::words::history::CallInput;
use crate::words::ids::{CallId, MessageSeq};
use crate::words::panel::Panel;
use crate::words::payload::{Digest, is_default};
use crate::words::procedure::CallLeads;
use crate::words::tool::{EffectClass, NotRunTool, ResourceProfile, RunsOn};

/// A call of the step that is being executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The id of the call.
    pub id: CallId,
    /// The tool, as the model named it; or the fallback that is called in its place.
    pub tool: String,
    /// The effect class of the tool. It is stored here so that a session can be ended without its agent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub effect: EffectClass,
    /// True if the tool is dangerous. Such a call is never sent again automatically. If the run dies before it starts
    /// the call, recovery cancels it, unless it is parked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dangerous: bool,
    /// The party that runs the call.
    #[serde(default, skip_serializing_if = "is_default")]
    pub runs_on: RunsOn,
    /// The message that holds the arguments: that of the model, the decision that edited them, the notice of the hook
    /// that rewrote them, or the notice of a request for more steps or of a wait of the procedure.
    pub arguments: MessageSeq,
    /// The resources that the call touches; serial until the gate has looked at it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub profile: ResourceProfile,
    /// The number of times that an answer was requested. It is part of the pending id, so that each request has an id
    /// of its own.
    #[serde(default, skip_serializing_if = "is_default")]
    pub round: u32,
    /// The digest of the arguments that may run, because people approved them, or because the deadline for the
    /// decision passed and the terms then let the call run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<Digest>,
    /// The request for approval, if its terms are not the default terms. Kept until the call is allowed or falls back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub panel: Option<Box<Panel>>,
    /// True if a run that died, or an earlier attempt, may have sent the call. If the call is stopped before it is
    /// sent again, it may end in doubt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sent_before: bool,
    /// The number of times that a call of the present tool could not be run or gave no result, and was scheduled to be
    /// sent again.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tries: u32,
    /// The tools that were called before this one and could not be run or gave no result, in order. The first is the
    /// one that the model asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instead_of: Vec<NotRunTool>,
    /// The changes to the custom state. They are applied when the step closes, if the call is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<StateChange>,
    /// The rows on which the end of the call moves the procedure. They are followed when the step closes. A call that
    /// is refused before it runs, or whose request for approval expires, loses them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leads: Option<Box<CallLeads>>,
    /// The state of the call.
    pub state: CallState,
}

impl Call {
    /// Returns true if the call may have been sent before and is not read-only.
    pub(crate) fn may_have_acted(&self) -> bool {
        self.sent_before && self.effect != EffectClass::ReadOnly
    }

    /// Returns the state in which the call ends if it is not sent any more: in doubt if it may have acted, otherwise
    /// cancelled for this reason.
    pub(crate) fn ended_unsent(&self, reason: CancelReason) -> CallState {
        if self.may_have_acted() { CallState::InDoubt } else { CallState::Cancelled { reason } }
    }

    /// Returns true if the call may run because the deadline for a decision passed.
    pub(crate) fn is_waived(&self) -> bool {
        self.panel.as_deref().is_some_and(|panel| panel.waived)
    }

    /// Returns the instant at which a timer, a deadline or an escalation moves the call.
    pub(crate) fn wakes_at(&self) -> Option<Timestamp> {
        let blocked = matches!(self.state, CallState::BlockedOnUser { .. });
        let escalates = self.panel.as_deref().filter(|_| blocked).and_then(Panel::escalates_at);
        self.state.wakes_at().into_iter().chain(escalates).min()
    }

    /// Applies an input. Returns true if the call moved, and false if it was there already.
    ///
    /// # Errors
    /// Returns [`NotAllowed`] if the call does not take the input in its state. The call is then unchanged.
    pub fn apply(&mut self, input: &CallInput) -> Result<bool, NotAllowed> {
        match self.state.after(input) {
            CallMove::AlreadyThere => Ok(false),
            CallMove::NotAllowed => Err(NotAllowed { call: self.id.clone(), state: self.state.name() }),
            CallMove::Moved(state) => {
                self.note(input);
                self.state = state;
                Ok(true)
            }
        }
    }

    fn note(&mut self, input: &CallInput) {
        match input {
            CallInput::Allowed { profile } => {
                self.profile = profile.clone();
                self.panel = None;
            }
            CallInput::NeedsUser { profile, arguments, panel, .. } => {
                self.profile = profile.clone();
                self.arguments = *arguments;
                self.round += 1;
                self.approved = None;
                self.panel = panel.clone();
            }
            CallInput::HandsOver { .. } => {}
            CallInput::NeedsEnds { profile, .. } => self.profile = profile.clone(),
            CallInput::NeedsClient { profile, .. } | CallInput::NeedsChildren { profile, .. } => {
                self.profile = profile.clone();
                self.round += 1;
            }
            CallInput::Reopened { .. } => self.round += 1,
            CallInput::Approved { arguments, digest, always: _, only: _ } => {
                self.arguments = *arguments;
                self.approved = Some(*digest);
            }
            CallInput::Voted { vote } => {
                if let Some(panel) = &mut self.panel {
                    panel.votes.push(vote.clone());
                }
            }
            CallInput::Edited { arguments, digest, vote } => {
                self.arguments = *arguments;
                self.approved = None;
                if let Some(panel) = &mut self.panel {
                    panel.digest = *digest;
                    panel.votes = vote.iter().cloned().collect();
                }
            }
            CallInput::Escalated => {
                if let Some(panel) = &mut self.panel {
                    panel.escalated += 1;
                }
            }
            CallInput::Expired { approved, done: _ } => {
                if matches!(self.state, CallState::BlockedOnUser { .. }) && approved.is_none() {
                    self.leads = None;
                }
                self.approved = *approved;
                if let Some(panel) = &mut self.panel {
                    panel.waived = approved.is_some();
                }
            }
            CallInput::Rewritten { arguments } => self.arguments = *arguments,
            CallInput::Changes { changes } => self.changes.clone_from(changes),
            CallInput::TryAgain { sent, .. } => {
                self.tries += 1;
                self.sent_before |= *sent;
            }
            // Approvals of the other tool do not count, and nothing of the call was sent to this one.
            CallInput::FellBack { to, effect, dangerous, runs_on, why } => {
                let tool = std::mem::replace(&mut self.tool, to.to_string());
                self.instead_of.push(NotRunTool { tool, why: why.clone() });
                (self.effect, self.dangerous, self.runs_on) = (*effect, *dangerous, *runs_on);
                self.profile = ResourceProfile::Serial;
                (self.approved, self.panel) = (None, None);
                (self.sent_before, self.tries) = (false, 0);
            }
            // A call that never runs holds back no other call. One that is refused moves no procedure.
            CallInput::Refused | CallInput::Output { .. } => {
                self.profile = ResourceProfile::Keys(Vec::new());
                self.leads = None;
            }
            CallInput::Synthesised { .. } => self.profile = ResourceProfile::Keys(Vec::new()),
            // A call that was told to stop, or could not be run, has not failed at its work: it moves no procedure.
            CallInput::Returned { ok: false, broken, .. }
                if *broken || self.state == CallState::CleaningUp =>
            {
                self.leads = None;
            }
            CallInput::Asked
            | CallInput::Started
            | CallInput::Granted { .. }
            | CallInput::Leads { .. }
            | CallInput::Rejected { .. }
            | CallInput::Answered { .. }
            | CallInput::Marked
            | CallInput::Sent
            | CallInput::Returned { .. }
            | CallInput::Deferred { .. }
            | CallInput::NeedsSignal { .. }
            | CallInput::Rang
            | CallInput::StopAsked
            | CallInput::Cancelled { .. }
            | CallInput::Lost { .. }
            | CallInput::Again => {}
        }
    }
}

/// The error of an input that a call does not take in its state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("call {call} is {state} and does not take this")]
pub struct NotAllowed {
    /// The call.
    pub call: CallId,
    /// The state of the call.
    pub state: &'static str,
}
