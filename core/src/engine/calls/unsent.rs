//! Calls that are not sent after all, because the run must leave its session to another run.

use crate::engine::calls::CallsHandler;
use crate::machine::CallState;
use crate::words::history::{CallInput, Input};
use crate::words::ids::CallId;
use crate::words::tool::ToolError;

impl CallsHandler<'_> {
    /// Takes start marks back. These calls were not sent; the next run sends them.
    pub(crate) fn take_marks_back(&mut self, calls: &[CallId]) {
        for call in calls
            .iter()
            .filter(|call| self.cx.mind.call_is(call, &CallState::Preparing))
            .cloned()
            .collect::<Vec<_>>()
        {
            self.take_back(call);
        }
    }

    /// Handles a call that was not sent because no call starts any more. The next run sends it. If the turn is
    /// ending meanwhile, the call counts as not run.
    pub(crate) fn on_call_unsent(&mut self, call: CallId) {
        self.cx.out.calls.remove(&call);
        let goes_on = self.cx.mind.machine.state.batch().is_some_and(|batch| batch.stopping.is_none());
        if goes_on && self.cx.end.starts_nothing() && self.cx.mind.call_is(&call, &CallState::Executing) {
            self.take_back(call);
        } else {
            let unsent = ToolError::NotRun(String::from("the run was told to stop before it was sent"));
            self.on_call_ended(&call, Err(unsent), 0);
        }
    }

    fn take_back(&mut self, call: CallId) {
        self.cx.mind.untell_start(&call);
        self.cx.feed(Input::Call { call, input: CallInput::Again });
        self.cx.mind.draft.decided = true;
    }
}
