//! Steering: the turn goes on, ends, asks for more steps, or waits for an input of its procedure. The rules are in
//! [`machine::steering`](crate::machine::steering).

use crate::engine::context::Context;
use crate::machine::{SteeringFrom, steering};
use crate::words::agent::AtMax;
use crate::words::ending::{DoneReason, Ending};
use crate::words::history::Input;
use crate::words::message::{Message, Notice, UserMessage};
use crate::words::procedure::ProcedureNature;

pub(crate) mod correcting;
pub(crate) mod hooks;

/// The handler of steering: decides whether the turn goes on.
pub(crate) struct SteeringHandler<'a> {
    pub(crate) cx: &'a mut Context,
}

impl SteeringHandler<'_> {
    /// Decides whether the turn goes on, ends, asks for more steps, or waits for an input of its procedure.
    pub(crate) fn steer(&mut self, from: SteeringFrom) -> bool {
        let Some(agent) = self.cx.run.agent.clone() else { return false };
        let Some((hooked, corrections)) = self.hear_of_step(from) else { return false };
        let corrections = match &hooked {
            None => self.corrections_that_count(corrections),
            Some(_) => Vec::new(),
        };
        if self.cx.is_off_procedure() {
            let error = self.cx.procedure_error("the agent's procedure has no such state");
            self.cx.mind.draft.decided = true;
            return self.cx.feed(Input::Failed { error });
        }
        let stands = self.cx.mind.machine.procedure.clone();
        let stands = agent.stands(stands.as_ref()).map(|(procedure, state)| (procedure, state.nature, state));
        let messages_wait = self.cx.inbox().messages_steer();
        let used = self.cx.mind.machine.used_and_set_aside();
        let view = steering::View {
            from,
            turn: &self.cx.mind.machine.turn,
            usage: &used,
            agent: &agent,
            now: self.cx.run.now,
            messages_wait,
            corrected: !corrections.is_empty(),
            procedure: stands.map(|(_, nature, _)| nature),
            tools_done: &self.cx.mind.step.tools_done,
            text: &self.cx.mind.step.said,
        };
        let stop = hooked.as_ref().map(|hooked| hooked.ending.clone()).or_else(|| steering::decide(&view));
        // No one can grant more steps than the parent of the turn allows.
        let turn = &self.cx.mind.machine.turn;
        let may_ask = turn.allowance().steps.is_none_or(|most| turn.steps < most);
        let asks = hooked.is_none() && may_ask && agent.at_max == AtMax::Ask && is_max(&stop);
        let stop = stop.filter(|_| !asks);
        let waits = stop.is_none() && !asks && view.procedure == Some(ProcedureNature::Parked);
        let led_on = stop.is_none() && !asks && !waits && steering::goes_on_with_procedure(&view);
        let pauses = asks || waits;
        // While the turn waits for more steps or for an input of the procedure, the reminder to return a value waits,
        // too.
        let now = !pauses || matches!(from, SteeringFrom::Calls { .. });
        let no_output = stop.is_none() && now && steering::gives_no_output(&view);
        if let Some(hooked) = hooked {
            self.cx.append(Message::Notice(Notice::new(hooked.notice)));
        }
        match &stop {
            // Waiting messages stay in the inbox until the next step.
            None if pauses => self.correct(&corrections),
            None => {
                self.cx.inbox().take_steering();
                self.correct(&corrections);
                if let Some((procedure, _, state)) = stands.filter(|_| led_on) {
                    let text = procedure.leads_on(self.cx.mind.machine.procedure.as_ref(), state);
                    self.cx.append(Message::User(UserMessage::by_engine(text)));
                }
                // A value that does not fit was answered by its result.
                if let Some(output) = agent.output.as_ref().filter(|_| no_output)
                    && !matches!(from, SteeringFrom::Calls { .. })
                {
                    self.cx.append(Message::User(UserMessage::by_engine(output.reminder())));
                }
            }
            Some(ending) if ending.reason == DoneReason::MaxTurns => self.cx.tell_of_max(),
            Some(_) => {}
        }
        self.cx.inbox().consume_rest();
        self.cx.mind.draft.decided = true;
        // Results are remembered only if the agent clears old ones.
        let results = self.cx.mind.step.results.take().filter(|_| agent.compaction.clears_results());
        let (cleared, usage) = self.cx.compaction().clear_results(&agent.compaction, results, stop.is_some());
        let tokens = std::mem::take(&mut self.cx.mind.transcript.grown);
        let asks = match (waits, asks) {
            (true, _) => match self.cx.gate().wait_for_input() {
                Some(asked) => Some(Box::new(asked)),
                None => return true,
            },
            (false, true) => match self.cx.gate().ask_for_more(agent.limits.max_steps) {
                Some(asked) => Some(Box::new(asked)),
                // The request could not be built, and the run has given up.
                None => return true,
            },
            (false, false) => None,
        };
        let corrected = stop.is_none() && !corrections.is_empty();
        self.cx.feed(Input::Steered { stop, no_output, tokens, results, cleared, usage, corrected, asks })
    }
}

fn is_max(stop: &Option<Ending>) -> bool {
    stop.as_ref().is_some_and(|ending| ending.reason == DoneReason::MaxTurns)
}
