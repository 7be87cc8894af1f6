//! Hands a session over to another agent. A call asks for the handoff, and the end of the turn carries it out.

use crate::engine::action::ActionId;
use crate::engine::calls::results::result;
use crate::engine::children::ChildrenHandler;
use crate::machine::Call;
use crate::words::children::{ChildNames, successor};
use crate::words::ending::HandedTo;
use crate::words::error::ErrorInfo;
use crate::words::handoff::{Goal, HandOffTo};
use crate::words::history::{CallInput, Input};
use crate::words::message::ResultStatus;

impl ChildrenHandler<'_> {
    /// Lets a call hand the session over, or refuses the call. The handoff takes place once the step is over.
    pub(crate) fn hand_over(&mut self, call: &Call) -> Option<CallInput> {
        let arguments = self.cx.mind.arguments_of(&call.id);
        let fits = serde_json::from_str::<HandOffTo>(&arguments).map_err(|error| error.to_string());
        let checked = fits.and_then(|HandOffTo { goal }| Goal::new(goal).map_err(|error| error.to_string()));
        if let Err(why) = checked {
            let told = format!("the arguments do not fit: {why}");
            return self.cx.gate().refuse(call, ResultStatus::Error, &told);
        }
        if self.cx.mind.machine.state.batch().is_some_and(|batch| batch.stopping.is_some()) {
            return self.cx.gate().refuse(call, ResultStatus::Error, "not done: the turn is being stopped");
        }
        if self.cx.mind.machine.turn.handing_over.is_some() {
            let told = "not done: this step hands the session over already";
            return self.cx.gate().refuse(call, ResultStatus::Error, told);
        }
        let to = match self.successor_of(call) {
            Ok(to) => to,
            Err(why) => return self.cx.gate().refuse(call, ResultStatus::Error, &why),
        };
        let text = format!("{} is to go on in session {} once this step is over", to.agent, to.session);
        let edited = self.cx.mind.edited(call);
        self.cx.mind.keep_result(result(call, ResultStatus::Done, text, edited));
        Some(CallInput::HandsOver { to: Box::new(to) })
    }

    fn successor_of(&self, call: &Call) -> Result<HandedTo, String> {
        let pending =
            successor(self.cx.run.fence.incarnation, &call.id).map_err(|error| error.to_string())?;
        let names = ChildNames::of(&pending, 0).map_err(|error| error.to_string())?;
        Ok(HandedTo {
            session: names.id,
            agent: call.tool.parse().map_err(|_| "there is no such agent".to_owned())?,
            pending,
            call: call.id.clone(),
            arguments: call.arguments,
            awaited: !self.cx.mind.machine.turn.replies.is_empty(),
        })
    }

    /// Fails the turn because the session could not be handed over. No other session was told that the turn ended.
    pub(crate) fn on_not_handed_over(&mut self, id: ActionId, error: ErrorInfo) {
        if self.cx.out.others.take_if(|others| *others == id).is_some() {
            self.cx.feed(Input::NotHandedOver { error });
            self.cx.mind.draft.decided = true;
        }
    }
}
