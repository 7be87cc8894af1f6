//! Streaming: the model answers. No part of the answer is durable, so after a claim the model is asked again.

use super::super::call::{Call, CallState};
use super::super::{
    AgentState, Batch, CompactionCause, Effect, Ending, Facts, Input, Machine, NewCall, SteeringFrom,
};
use super::{Lead, end, to, usual, with};
use crate::words::ids::{MessageSeq, StepNumber};
use crate::words::tool::ResourceProfile;

pub(super) fn on(
    machine: &mut Machine,
    step: StepNumber,
    attempt: u32,
    input: &Input,
    facts: &Facts,
) -> Lead {
    if let Input::ModelFailed { too_long: true, .. } = input {
        machine.turn.refused = machine.turn.refused.saturating_add(1);
    }
    match input {
        Input::ModelAnswered { message, calls, stop, usage, tokens, counted } => {
            machine.turn.steps += 1;
            machine.turn.calls =
                machine.turn.calls.saturating_add(u32::try_from(calls.len()).unwrap_or(u32::MAX));
            machine.view.tokens = *tokens;
            machine.turn.answered = calls.is_empty() && stop.is_whole();
            machine.usage.add(*usage);
            if *counted {
                machine.turn.spent.answered(*message, *usage);
            }
            if calls.is_empty() {
                return to(AgentState::Steering { from: SteeringFrom::Answer { stop: *stop } });
            }
            let ids = calls.iter().map(|call| call.id.clone()).collect();
            let calls = calls.iter().map(|new| queued(new, *message)).collect();
            let batch = Batch::new(step, *message, calls);
            with(AgentState::Executing { batch }, [Effect::Consult(ids)])
        }
        Input::ModelFailed { error, compact: true, usage, .. } => {
            machine.usage.add(*usage);
            machine.turn.compacted = Some(step);
            let why = CompactionCause::ContextLimit { error: error.clone() };
            to(AgentState::Compacting { why, step, attempt })
        }
        Input::ModelFailed { next: true, usage, .. } => {
            machine.usage.add(*usage);
            machine.turn.next_model();
            to(AgentState::Thinking { step, attempt: 0 })
        }
        Input::ModelFailed { error, retry_at: Some(until), held_until, usage, .. } => {
            machine.usage.add(*usage);
            let attempt = machine.turn.attempt_after(attempt, *held_until, facts.now);
            to(AgentState::BackingOff { step, attempt, until: *until, error: error.clone() })
        }
        Input::ModelFailed { error, retry_at: None, usage, .. } => {
            machine.usage.add(*usage);
            Ok(Some(end(machine, Ending::error(error.clone()))))
        }
        Input::Claimed { .. } => {
            machine.turn.claimed_at = facts.now;
            to(AgentState::Thinking { step, attempt })
        }
        _ => usual(machine, input, facts),
    }
}

/// Returns a call as it begins, with its arguments in this message.
pub(super) fn queued(new: &NewCall, message: MessageSeq) -> Call {
    Call {
        id: new.id.clone(),
        tool: new.tool.clone(),
        effect: new.effect,
        dangerous: new.dangerous,
        runs_on: new.runs_on,
        arguments: message,
        profile: ResourceProfile::Serial,
        round: 0,
        approved: None,
        panel: None,
        sent_before: false,
        tries: 0,
        instead_of: Vec::new(),
        changes: Vec::new(),
        leads: new.leads.clone(),
        state: CallState::Queued,
    }
}
