//! The state machine of a session: states, inputs, and transitions.
//!
//! [`transition`] is pure and total. An input that the [`table`] does not list for the state, or that does not fit the
//! data of the state, is [`Refused`] and changes nothing. A redelivered input, whose result is already there, is not
//! an error.

mod aside;
pub mod batch;
pub mod breaker;
pub mod briefing;
pub mod call;
pub mod custom;
pub mod diagram;
pub mod format;
pub mod glance;
pub mod handoff;
pub mod history;
pub mod looping;
pub mod more;
pub mod paths;
pub mod procedure;
pub mod replay;
pub(crate) mod request;
pub mod standing;
pub mod state;
#[allow(clippy::wildcard_enum_match_arm, reason = "the table has refused what a state does not take")]
mod states;
pub mod steering;
pub mod suspension;
pub mod table;
mod teardown;
pub mod turn;
pub mod view;

pub use batch::Batch;
pub use briefing::Briefings;
pub use call::{Call, CallState};
pub use glance::Glance;
pub use handoff::Handoff;
pub use more::{MORE_STEPS, MoreSteps};
pub use procedure::PROCEDURE_WAIT;
pub use standing::{STANDING_APPROVALS_MAX, StandingApproval, StandingApprovals};
pub use state::{AgentState, CompactionCause, SteeringFrom};
pub use suspension::classify_suspension;
pub use teardown::{Successor, Teardown};
pub use turn::{Machine, Spent, Turn};
pub use view::View;

pub use crate::words::ending::{CancelReason, DoneReason, Ending, StopCause};
pub use crate::words::history::{
    CallInput, EngineRequest, Input, InputKind, NewCall, StateKind, TurnRequest, Withheld,
};
pub use crate::words::panel::{Panel, Vote};
pub use crate::words::suspension::{Owed, OwedKind, Suspension};
pub use crate::words::usage::Usage;

use self::custom::Merged;
use crate::time::Timestamp;
use crate::words::ids::{CallId, MessageSeq, StepNumber};
use crate::words::procedure::ProcedureMove;

/// The facts about the world that the machine receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The instant now, on the store's clock.
    pub now: Timestamp,
}

/// The result of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// The machine after the input.
    pub next: Machine,
    /// The effects, in order. None of them has been performed.
    pub effects: Vec<Effect>,
    /// False if the machine was there already. Such a redelivery is not recorded.
    pub moved: bool,
}

/// An effect of a transition. The caller must perform it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Announce that a turn began.
    AnnounceTurn,
    /// Prepare the surroundings of the turn.
    Provision,
    /// Ask the model.
    CallModel {
        /// The step.
        step: StepNumber,
        /// The attempt at it.
        attempt: u32,
        /// The place at which the answer will stand.
        entry: MessageSeq,
    },
    /// Stop listening to the model.
    StopModel,
    /// Ask the gate about these calls.
    Consult(Vec<CallId>),
    /// Ask these calls to stop, for this reason.
    StopCalls(Vec<CallId>, CancelReason),
    /// Close the step, the request for more steps, or the wait of the procedure. Every call in the batch has ended.
    /// The results of a step are due, in call order (INV-08).
    CloseStep(Batch),
    /// Report the changes of the step's calls to the custom state, after their results.
    StateChanged(Merged),
    /// Report the moves of the procedure, after the results of the calls that made them.
    ProcedureMoved(Vec<ProcedureMove>),
    /// Do the rest of the teardown: tell other sessions, and free the surroundings of the turn.
    TearDown,
    /// Announce that a turn ended. Occurs once for each turn.
    AnnounceEnd(Ending),
}

/// The error of an input that the state does not take. The state is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a session that is {} does not take {}{}", state.as_str(), input.as_str(), detail_of(detail))]
pub struct Refused {
    /// The state of the session.
    pub state: StateKind,
    /// The input.
    pub input: InputKind,
    /// The details, if the state and the input alone do not explain the refusal.
    pub detail: Option<String>,
}

fn detail_of(detail: &Option<String>) -> String {
    detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default()
}

/// Returns the machine and the effects that follow from `input`. Performs nothing.
///
/// # Errors
/// Returns [`Refused`] if the machine does not take the input in its state.
pub fn transition(machine: &Machine, input: &Input, facts: &Facts) -> Result<Transition, Refused> {
    states::dispatch(machine, input, facts)
}

#[cfg(test)]
mod tests;
