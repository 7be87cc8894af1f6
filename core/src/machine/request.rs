//! Requests of the engine to somebody outside: for more steps, or for an input of a parked procedure.
//!
//! A request is a pending call of a tool that no agent has and no model sees. It is the only call of a [`Batch`] that is
//! not a step. Like any call that waits for somebody, it is listed, can expire and outlives its run, and a stop of the
//! turn withdraws it.

use super::more::MORE_STEPS;
use super::procedure::PROCEDURE_WAIT;
use super::{Batch, Call, CallState, EngineRequest};
use crate::words::ids::StepNumber;
use crate::words::tool::{EffectClass, ResourceProfile, RunsOn};

/// Creates the batch for this request after `step`.
pub(crate) fn batch(step: StepNumber, request: &EngineRequest) -> Batch {
    let (pending, deadline) = (request.pending.clone(), request.deadline);
    let (tool, runs_on, state) = if request.for_procedure {
        (PROCEDURE_WAIT, RunsOn::Client, CallState::BlockedOnClient { pending, deadline })
    } else {
        (MORE_STEPS, RunsOn::Server, CallState::BlockedOnUser { pending, deadline })
    };
    let call = Call {
        id: request.call.clone(),
        tool: tool.to_owned(),
        effect: EffectClass::ReadOnly,
        dangerous: false,
        runs_on,
        arguments: request.notice,
        profile: ResourceProfile::Keys(Vec::new()),
        round: 1,
        approved: None,
        panel: None,
        sent_before: false,
        tries: 0,
        instead_of: Vec::new(),
        changes: Vec::new(),
        leads: None,
        state,
    };
    let for_more = !request.for_procedure;
    Batch { for_more, for_procedure: request.for_procedure, ..Batch::new(step, request.notice, vec![call]) }
}
