//! Recovery: a run that takes over finds out the state of the calls that were out.

use crate::engine::calls::CallsHandler;
use crate::machine::CallState;
use crate::words::history::{CallInput, Input};
use crate::words::message::{ResultStatus, ToolResult};

impl CallsHandler<'_> {
    /// Treats calls whose start mark was staged as out, because they may have been sent.
    pub(crate) fn take_marks(&mut self) {
        for call in std::mem::take(&mut self.cx.run.marks) {
            let batch = self.cx.mind.machine.state.batch();
            let state = batch.and_then(|batch| batch.call(&call)).map(|call| &call.state);
            if state == Some(&CallState::Approved) {
                self.cx.feed(Input::Call { call, input: CallInput::Marked });
            }
        }
    }

    /// Ends calls whose results were staged after the state was written.
    pub(crate) fn take_staged(&mut self) {
        let Some(batch) = self.cx.mind.machine.state.batch() else { return };
        let ends = batch.stopping.is_some();
        let returned: Vec<ToolResult> = batch
            .calls
            .iter()
            .filter(|call| !call.state.is_end() && !call.state.is_parked())
            .filter_map(|call| {
                let ended = self.cx.mind.step.ended.get(&call.id).filter(|ended| ended.staged)?;
                Some(ended.result.clone())
            })
            .collect();
        for ToolResult { call, status, stop, broken, content, changes, .. } in returned {
            let before = self.cx.mind.machine.turn.broken;
            if self.cx.mind.call_is(&call, &CallState::Approved) {
                self.cx.feed(Input::Call { call: call.clone(), input: CallInput::Marked });
            }
            if status == ResultStatus::Done && !changes.is_empty() {
                self.cx.feed(Input::Call { call: call.clone(), input: CallInput::Changes { changes } });
            }
            let input = match status {
                ResultStatus::InDoubt => CallInput::Lost { broken },
                ResultStatus::Done => CallInput::Returned { ok: true, stop, broken: false },
                ResultStatus::Error
                | ResultStatus::Denied
                | ResultStatus::RejectedByUser
                | ResultStatus::Cancelled => CallInput::Returned { ok: false, stop: false, broken },
            };
            self.cx.feed(Input::Call { call, input });
            if !ends {
                self.note_broken(before, &content);
            }
        }
    }
}
