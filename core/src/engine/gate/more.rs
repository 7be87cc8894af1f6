//! The step limit: a turn that reaches it reports this, and may ask a person for more steps.

use crate::engine::context::Context;
use crate::engine::gate::GateHandler;
use crate::engine::gate::asking::Why;
use crate::engine::gate::request::Wanted;
use crate::engine::mind::Mind;
use crate::machine::Call;
use crate::machine::more::{MORE_STEPS, MoreSteps};
use crate::store::StoredItem;
use crate::words::history::{CallInput, EngineRequest, Input};
use crate::words::ids::PendingId;
use crate::words::message::{Decision, DecisionRecord, Message, Notice};

/// Returns the plural ending for a count.
fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

impl Context {
    /// Adds a notice to the transcript that the turn ends at its step limit.
    pub(crate) fn tell_of_max(&mut self) {
        let steps = self.mind.machine.turn.steps;
        self.append(Message::Notice(Notice::new(format!("stopped after {steps} step{}", plural(steps)))));
    }
}

impl GateHandler<'_> {
    /// Asks a person for more steps: as many as the agent's own limit, unless the answer names another number. If
    /// the request cannot be built, gives up and returns `None`.
    pub(crate) fn ask_for_more(&mut self, max_steps: u32) -> Option<EngineRequest> {
        let taken = self.cx.mind.machine.turn.steps;
        // Steps are numbered over the session, and each answer grants some, so this name is unique.
        let (step, granted) = (self.cx.mind.machine.step, self.cx.mind.machine.turn.granted);
        self.open_request(Wanted {
            call: format!("more-{step}-{granted}"),
            arguments: MoreSteps { steps: max_steps },
            why: format!(
                "the turn has taken as many steps as it may ({taken}): may it take {max_steps} more?"
            ),
            deadline: self.cx.run.answer_deadline(None),
            for_procedure: false,
        })
    }

    /// Handles an answer that grants more steps.
    pub(crate) fn on_more(&mut self, call: &Call, pending: PendingId, decision: Decision, item: &StoredItem) {
        let max_steps = self.cx.run.agent.as_ref().map_or(0, |agent| agent.limits.max_steps);
        let shown = self.cx.mind.arguments_of(&call.id);
        let granted = MoreSteps::read(decision.arguments.as_ref().unwrap_or(&shown), max_steps);
        let steps = match granted {
            Ok(MoreSteps { steps }) => steps,
            Err(why) => return self.reopen(call, Why::with("so many steps are not granted", &why)),
        };
        let note = decision.always.then(|| format!("granted this once: {steps} more step{}", plural(steps)));
        self.cx.append(Message::Decision(DecisionRecord {
            call: call.id.clone(),
            pending,
            decision,
            at: item.at,
            note,
        }));
        self.cx.feed(Input::Call { call: call.id.clone(), input: CallInput::Granted { steps } });
    }
}

impl Mind {
    /// Returns true if this call is the request for more steps.
    pub(crate) fn is_for_more(&self, call: &Call) -> bool {
        call.tool == MORE_STEPS && self.machine.state.batch().is_some_and(|batch| batch.for_more)
    }
}
