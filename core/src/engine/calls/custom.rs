//! Custom state in a run: decides which changes are accepted, and reports them.

use crate::engine::calls::CallsHandler;
use crate::engine::context::Context;
use crate::engine::mind::Mind;
use crate::machine::custom::Merged;
use crate::machine::{Call, custom};
use crate::words::custom::{StateChange, StateRules};
use crate::words::history::{CallInput, Input};
use crate::words::ids::CallId;
use crate::words::message::{Message, ResultStatus, ToolResult};
use crate::words::tool::ToolOutput;

impl CallsHandler<'_> {
    fn refuses(&self, call: &Call, changes: &[StateChange]) -> Option<String> {
        if changes.is_empty() {
            return None;
        }
        let machine = &self.cx.mind.machine;
        let no_rules = StateRules::default();
        let rules = self.cx.run.agent.as_deref().map_or(&no_rules, |agent| &agent.state);
        custom::refusal(&machine.custom, machine.state.batch()?, &call.id, changes, rules)
    }

    /// Returns true if the changes of a call to the custom state can be applied, as far as is known now.
    pub(crate) fn takes(&self, call: &Call, changes: &[StateChange]) -> bool {
        self.refuses(call, changes).is_none()
    }

    /// Keeps the output of a call that is done, with its changes to the custom state. If the changes cannot be
    /// applied, or the output is too large, the result is an error.
    pub(crate) fn keep_output(&mut self, call: &Call, content: String, changes: Vec<StateChange>) {
        if self.cx.mind.step.ended.contains_key(&call.id) {
            return;
        }
        if let Some(why) = self.refuses(call, &changes) {
            let text = format!("it ran, but the custom state is left as it was: {why}. It said: {content}");
            return self.keep_bounded(call, ResultStatus::Error, text);
        }
        self.keep_bounded(call, ResultStatus::Done, content);
        if self.cx.mind.is_done(&call.id) && !changes.is_empty() {
            self.cx.mind.amend(&call.id, |result| result.changes.clone_from(&changes));
            self.note_changes(call, changes);
        }
    }

    /// Gives the changes of a call to the machine before the call ends.
    pub(crate) fn note_changes(&mut self, call: &Call, changes: Vec<StateChange>) {
        if call.changes != changes {
            self.cx.feed(Input::Call { call: call.id.clone(), input: CallInput::Changes { changes } });
        }
    }
}

impl Mind {
    /// Changes a result that was just kept, unless it is staged already.
    pub(crate) fn amend(&mut self, call: &CallId, change: impl FnOnce(&mut ToolResult)) {
        let Some(ended) = self.step.ended.get_mut(call).filter(|ended| !ended.staged) else { return };
        change(&mut ended.result);
        if let Ok(payload) = Message::Tool(ended.result.clone()).to_payload() {
            ended.payload = payload;
        }
    }
}

impl Context {
    /// Reports the changes of a step's calls to the custom state, after their results.
    pub(crate) fn tell_of_state(&mut self, merged: Merged) {
        if !merged.undo.is_empty() {
            self.append(Message::Notice(custom::notice(&merged)));
        }
        merged.conflicts.iter().for_each(|conflict| self.mind.emit(conflict.to_event()));
    }
}

/// Returns the number of bytes that a deferred output takes in the state.
pub(crate) fn bytes_of(output: &ToolOutput) -> usize {
    let changes = if output.changes.is_empty() { 0 } else { custom::bytes_of(&output.changes) };
    output.content.len().saturating_add(changes)
}
