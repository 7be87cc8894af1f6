//! Idle and Done: at rest, until a turn is requested.

use super::super::{
    AgentState, CompactionCause, Ending, Facts, Handoff, Input, Machine, Spent, StopCause, TurnRequest,
};
use super::{Lead, briefed, end, in_fork, provisioning_or, refuse, same, to};
use crate::store::InterruptKind;
use crate::words::ids::TurnNumber;

pub(super) fn on(machine: &mut Machine, input: &Input, facts: &Facts) -> Lead {
    match input {
        Input::TurnRequested { request, provisions, after, asks_in_doubt, procedure, planned } => {
            machine.turn.number = machine.turn.number.next();
            machine.turn.open = true;
            machine.turn.used_before = (machine.turn.number > TurnNumber(1)).then_some(machine.usage);
            machine.turn.begin_plan(*request, *planned);
            machine.turn.began = *after;
            machine.turn.seen_before = None;
            machine.turn.steps = 0;
            machine.turn.granted = 0;
            machine.turn.calls = 0;
            machine.turn.withheld.clear();
            machine.turn.no_output = 0;
            machine.turn.corrections = 0;
            machine.turn.compacted = None;
            machine.turn.refused = 0;
            machine.turn.model = 0;
            machine.turn.held_until = None;
            machine.turn.broken = 0;
            machine.turn.answered &= *request == TurnRequest::Resume;
            machine.turn.asks_in_doubt = *asks_in_doubt;
            machine.turn.provisioned = *provisions;
            machine.turn.handing_over = None;
            // A session that took over keeps the addresses to which it owes its outcome.
            if !std::mem::take(&mut machine.turn.inherits) {
                machine.turn.replies.clear();
            }
            machine.turn.worked_ms = 0;
            machine.turn.spent = Spent::default();
            machine.turn.claimed_at = facts.now;
            machine.follow(&procedure.moves);
            // A message ends the draft: the session works on the goal.
            if let Some(handoff) = machine.handoff.as_mut().filter(|_| *request == TurnRequest::Message) {
                handoff.draft = false;
            }
            let (state, effects) = provisioning_or(*request, *provisions, procedure.parked);
            Ok(Some((state, effects)))
        }
        Input::Briefed { mode, prompt, said } => briefed(machine, *mode, *prompt, *said),
        // A session at rest has nothing to stop softly; an abort ends it for ever.
        Input::Interrupted { kind: InterruptKind::Soft, .. } => same(),
        Input::Interrupted { kind: InterruptKind::Abort, .. } => {
            Ok(Some(end(machine, Ending::stopped(InterruptKind::Abort))))
        }
        Input::Forked => {
            if let AgentState::Done { ending, .. } = &mut machine.state {
                *ending = in_fork(ending);
            }
            to(machine.state.clone())
        }
        Input::HandedOff { after, tokens, draft, another, replies } => {
            machine.turn.replies.clone_from(replies);
            machine.turn.inherits = !replies.is_empty();
            if *another {
                (machine.mode, machine.prompt, machine.briefings, machine.procedure) = Default::default();
                machine.turn.model = 0;
            }
            machine.handoff = Some(Handoff { after: *after, draft: *draft });
            machine.view.tokens = machine.view.tokens.saturating_add(*tokens);
            machine.turn.answered = false;
            // The session rests like one with a stopped turn, so the next turn resumes on the goal.
            let ending = Ending::stopped_by(InterruptKind::Soft, StopCause::HandedOff);
            to(AgentState::Done { ending, usage: machine.usage })
        }
        Input::Rewound { to: place, at, tokens, state, procedure } => {
            if let Some(before) = machine.seen_again_at(*place).cloned() {
                machine.view = before;
            }
            machine.turn.seen_before = None;
            machine.view.rewind(*place, *at, *tokens);
            machine.custom.take_back(state);
            if let Some(back) = procedure {
                machine.procedure.clone_from(&back.to);
            }
            machine.unbrief(*place);
            machine.handoff = machine.handoff.filter(|handoff| handoff.after <= *place);
            if let AgentState::Done { ending, .. } = &mut machine.state {
                // The turn cannot be taken back twice.
                ending.cause = StopCause::Asked;
            }
            to(machine.state.clone())
        }
        // The extract of the handoff will replace the old messages.
        Input::CompactionRequested if machine.handoff.is_some() => same(),
        Input::CompactionRequested => {
            // Before the first turn there are no messages.
            let AgentState::Done { ending, .. } = &machine.state else { return same() };
            let why = CompactionCause::Manual { ending: ending.clone() };
            to(AgentState::Compacting { why, step: machine.step, attempt: 0 })
        }
        Input::ModelStopped { usage } => {
            machine.usage.add(*usage);
            if let AgentState::Done { usage, .. } = &mut machine.state {
                *usage = machine.usage;
            }
            to(machine.state.clone())
        }
        Input::TornDown => same(),
        _ => refuse(),
    }
}
