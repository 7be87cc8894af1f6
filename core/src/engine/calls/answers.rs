//! Answers from outside to waiting calls, and calls whose deadline or timer has passed.

use crate::engine::calls::CallsHandler;
use crate::engine::calls::results::{result, says_error, told_of_fallback};
use crate::engine::gate::asking::Why;
use crate::engine::mind::{Ended, Mind};
use crate::machine::{Call, CallState};
use crate::store::{ItemKind, StoredItem};
use crate::words::error::ErrorInfo;
use crate::words::history::{CallInput, Input};
use crate::words::ids::CallId;
use crate::words::message::{ClientAnswer, Message, ResultStatus, ToolResult};
use crate::words::tool::EffectClass;
use crate::words::usage::Usage;

impl CallsHandler<'_> {
    /// Takes one answer for a waiting call. Returns false if there is none.
    pub(crate) fn take_answer(&mut self) -> bool {
        let Some(batch) = self.cx.mind.machine.state.batch().filter(|batch| batch.stopping.is_none()) else {
            return false;
        };
        let answers = self.cx.mind.inbox.items.iter().enumerate().filter_map(|(at, item)| {
            let ItemKind::Answer { pending, .. } = &item.kind else { return None };
            // Answers of children are handled elsewhere, all at once.
            let waits =
                |call: &&Call| call.state.pending() == Some(pending) && call.state.children().is_none();
            let call = batch.calls.iter().find(waits)?;
            Some((at, call, pending, self.cx.mind.decides(call, item)))
        });
        // An answer that does not count makes the call ask again, which voids all other answers to the same
        // question. So it is taken last.
        let Some((at, call, pending, _)) = answers.min_by_key(|(.., decides)| !decides) else { return false };
        let (call, pending) = (call.clone(), pending.clone());
        let item = self.cx.mind.inbox.items.remove(at);
        self.cx.mind.draft.consumed.push(item.seq);
        if matches!(call.state, CallState::BlockedOnUser { .. }) {
            self.cx.gate().on_decision(&call, pending, &item);
        } else {
            self.on_client_answer(&call, &item);
        }
        self.cx.mind.draft.decided = true;
        true
    }

    fn on_client_answer(&mut self, call: &Call, item: &StoredItem) {
        let answer = match item.payload.parse::<ClientAnswer>() {
            Ok(answer) => answer,
            Err(error) => {
                return self
                    .cx
                    .gate()
                    .reopen(call, Why::with("the answer cannot be read", &error.to_string()));
            }
        };
        if self.cx.mind.is_procedure_wait(call) {
            return self.cx.gate().on_procedure_answer(call, answer);
        }
        if answer.is_error || says_error(&answer.content) {
            let agent = self.cx.run.agent.as_ref();
            let most = agent.map_or(usize::MAX, |agent| agent.limits.answer_bytes_max(answer.is_error));
            self.keep_within(call, ResultStatus::Error, answer.content, most);
        } else {
            self.keep_output(call, answer.content, answer.changes);
        }
        self.cx.mind.show(&call.id, answer.images);
        let ok = self.cx.mind.is_done(&call.id);
        self.cx.feed(Input::Call {
            call: call.id.clone(),
            input: CallInput::Answered { ok, usage: Usage::default() },
        });
    }

    /// Moves one call whose timer, deadline or escalation is due, or whose retry a signal hurries. Returns false if
    /// there is none. Answers must be taken before.
    pub(crate) fn take_expiry(&mut self) -> bool {
        let Some(batch) = self.cx.mind.machine.state.batch().filter(|batch| batch.stopping.is_none()) else {
            return false;
        };
        let hurried = self.cx.mind.is_hurried();
        let hurries = |call: &Call| hurried && matches!(call.state, CallState::Waiting { again: true, .. });
        let due = |call: &&Call| {
            call.state.children().is_none()
                && (hurries(call) || call.wakes_at().is_some_and(|at| at <= self.cx.run.now))
        };
        let Some(call) = batch.calls.iter().find(due).cloned() else { return false };
        let blocked = matches!(call.state, CallState::BlockedOnUser { .. });
        if blocked && call.state.wakes_at().is_none_or(|at| at > self.cx.run.now) {
            return self.cx.gate().escalate(&call);
        }
        if self.cx.mind.is_procedure_wait(&call) {
            self.cx.gate().on_deadline_of_wait(&call);
            self.cx.mind.draft.decided = true;
            return true;
        }
        let input = match &call.state {
            CallState::Waiting { again: true, .. } => CallInput::Rang,
            CallState::Waiting { output, stop, again: false, .. } => {
                self.keep_output(&call, output.clone(), call.changes.clone());
                self.cx.mind.amend(&call.id, |result| {
                    let done = result.status == ResultStatus::Done;
                    result.stop = *stop && done;
                    // The call returned earlier, even if its result is an error now.
                    if !done && call.effect != EffectClass::ReadOnly {
                        result.sent = Some(true);
                    }
                });
                match self.cx.mind.is_done(&call.id) {
                    true => CallInput::Rang,
                    false => CallInput::Returned { ok: false, stop: false, broken: false },
                }
            }
            CallState::BlockedOnUser { pending, .. } => self.cx.gate().expire(&call, pending.clone()),
            CallState::BlockedOnClient { .. } => {
                let text = "timed out: the client did not answer in time";
                self.cx.mind.keep_result(result(
                    &call,
                    ResultStatus::Error,
                    text,
                    self.cx.mind.edited(&call),
                ));
                CallInput::Expired { done: false, approved: None }
            }
            CallState::AwaitingSignal { name, .. } => {
                let text = format!("timed out: no signal {name} came in time");
                let edited = self.cx.mind.edited(&call);
                let sent = (call.effect != EffectClass::ReadOnly).then_some(true);
                let kept = ToolResult { sent, ..result(&call, ResultStatus::Error, text, edited) };
                self.cx.mind.keep_result(kept);
                CallInput::Answered { ok: false, usage: Usage::default() }
            }
            CallState::BlockedOnChild { .. }
            | CallState::AwaitingEnds { .. }
            | CallState::Queued
            | CallState::Gating
            | CallState::Approved
            | CallState::Preparing
            | CallState::Executing
            | CallState::CleaningUp
            | CallState::Done
            | CallState::Error
            | CallState::RejectedByUser
            | CallState::Cancelled { .. }
            | CallState::InDoubt => return false,
        };
        self.cx.feed(Input::Call { call: call.id, input });
        let batch = self.cx.mind.machine.state.batch();
        if hurried && !batch.is_some_and(|batch| batch.calls.iter().any(hurries)) {
            self.cx.mind.take_hurries();
        }
        self.cx.mind.draft.decided = true;
        true
    }

    /// Keeps a result that comes from outside the engine. A result that is larger than the agent allows becomes an
    /// error.
    pub(crate) fn keep_bounded(&mut self, call: &Call, status: ResultStatus, content: String) {
        let most = self.result_bytes_max();
        self.keep_within(call, status, content, most);
    }

    /// Returns the most bytes that a result may have.
    pub(crate) fn result_bytes_max(&self) -> usize {
        self.cx.run.agent.as_ref().map_or(usize::MAX, |agent| agent.limits.result_bytes_max)
    }

    fn keep_within(&mut self, call: &Call, status: ResultStatus, content: String, most: usize) {
        let edited = self.cx.mind.edited(call);
        let kept = if content.len() > most {
            let text = format!("the result has {} bytes, at most {most} are allowed", content.len());
            result(call, ResultStatus::Error, text, edited)
        } else {
            result(call, status, content, edited)
        };
        self.cx.mind.keep_result(kept);
    }
}

impl Mind {
    fn decides(&self, call: &Call, item: &StoredItem) -> bool {
        if matches!(call.state, CallState::BlockedOnUser { .. }) {
            self.decision_in(call, item).is_ok()
        } else {
            item.payload.parse::<ClientAnswer>().is_ok()
        }
    }

    /// Returns the arguments of the call as they would run.
    pub(crate) fn arguments_of(&self, call: &CallId) -> String {
        let arguments = self.step.edited.get(call).or_else(|| self.step.proposed.get(call));
        arguments.cloned().unwrap_or_default()
    }

    /// Returns the arguments that ran, if a person edited them. Arguments that a hook replaced are not shown to the
    /// model.
    pub(crate) fn edited(&self, call: &Call) -> Option<String> {
        let by_a_person = self.step.asked_in != call.arguments && !self.step.rewritten.contains(&call.id);
        self.step.edited.get(&call.id).filter(|_| by_a_person).cloned()
    }

    /// Keeps the first result of a call until its step ends. Later results of the call are ignored.
    pub(crate) fn keep_result(&mut self, mut result: ToolResult) {
        let call = result.call.clone();
        if self.step.ended.contains_key(&call) {
            return;
        }
        result.content.insert_str(0, &told_of_fallback(&result));
        if result.was_sent() && self.never_ran(&call) {
            result.sent = Some(false);
        }
        match Message::Tool(result.clone()).to_payload() {
            Ok(payload) => {
                self.step.ended.insert(call, Ended { result, payload, staged: false });
            }
            Err(error) => self.draft.fault = Some(ErrorInfo::new("engine.encode", error.to_string())),
        }
    }

    /// Returns true if a call that could have acted ends without having run, for example because a hook answered it
    /// or because it expired.
    fn never_ran(&self, call: &CallId) -> bool {
        let call = self.machine.state.batch().and_then(|batch| batch.call(call));
        call.is_some_and(|call| {
            let acts = call.effect != EffectClass::ReadOnly;
            acts && matches!(call.state, CallState::Gating | CallState::BlockedOnUser { .. })
        })
    }
}
