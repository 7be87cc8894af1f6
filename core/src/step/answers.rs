//! What comes from outside to calls that wait: answers, and deadlines that pass.

use super::StepIterator;
use super::asking::Why;
use super::mind::Ended;
use super::results::{result, says_error};
use crate::error::ErrorInfo;
use crate::ids::CallId;
use crate::machine::{Call, CallInput, CallState, Input};
use crate::message::{ClientAnswer, Message, ResultStatus, ToolResult};
use crate::store::{ItemKind, StoredItem};
use crate::tool::{EffectClass, RunsOn};

impl StepIterator {
    /// Takes one answer that a waiting call has. False: there is none.
    pub(super) fn take_answer(&mut self) -> bool {
        let Some(batch) = self.mind.machine.state.batch().filter(|batch| batch.stopping.is_none()) else {
            return false;
        };
        let answers = self.mind.inbox.iter().enumerate().filter_map(|(at, item)| {
            let ItemKind::Answer { pending, .. } = &item.kind else { return None };
            let call = batch.calls.iter().find(|call| call.state.pending() == Some(pending))?;
            Some((at, call, pending, self.decides(call, item)))
        });
        // What decides nothing is asked anew, and that voids the other answers to the same asking: it is taken last.
        let Some((at, call, pending, _)) = answers.min_by_key(|(.., decides)| !decides) else { return false };
        let (call, pending) = (call.clone(), pending.clone());
        let item = self.mind.inbox.remove(at);
        self.mind.draft.consumed.push(item.seq);
        match call.runs_on {
            RunsOn::Server => self.on_decision(&call, pending, &item),
            RunsOn::Client => self.on_client_answer(&call, &item),
        }
        self.mind.draft.decided = true;
        true
    }

    fn decides(&self, call: &Call, item: &StoredItem) -> bool {
        match call.runs_on {
            RunsOn::Server => self.decision_in(call, item).is_ok(),
            RunsOn::Client => item.payload.parse::<ClientAnswer>().is_ok(),
        }
    }

    fn on_client_answer(&mut self, call: &Call, item: &StoredItem) {
        let answer = match item.payload.parse::<ClientAnswer>() {
            Ok(answer) => answer,
            Err(error) => {
                return self.reopen(call, Why::with("the answer cannot be read", &error.to_string()));
            }
        };
        let failed = answer.is_error || says_error(&answer.content);
        let most =
            self.agent.as_ref().map_or(usize::MAX, |agent| agent.limits.answer_bytes_max(answer.is_error));
        let status = if failed { ResultStatus::Error } else { ResultStatus::Done };
        self.keep_within(call, status, answer.content, most);
        self.show(&call.id, answer.images);
        let ok = self.is_done(&call.id);
        self.feed(Input::Call { call: call.id.clone(), input: CallInput::Answered { ok } });
    }

    /// Lets time move one call whose instant has come. Answers are taken before.
    pub(super) fn take_expiry(&mut self) -> bool {
        let Some(batch) = self.mind.machine.state.batch().filter(|batch| batch.stopping.is_none()) else {
            return false;
        };
        let hurried = self.is_hurried();
        let hurries = |call: &Call| hurried && matches!(call.state, CallState::Waiting { again: true, .. });
        let due = |call: &&Call| hurries(call) || call.wakes_at().is_some_and(|at| at <= self.now);
        let Some(call) = batch.calls.iter().find(due).cloned() else { return false };
        let blocked = matches!(call.state, CallState::BlockedOnUser { .. });
        if blocked && call.state.wakes_at().is_none_or(|at| at > self.now) {
            return self.escalate(&call);
        }
        let input = match &call.state {
            CallState::Waiting { again: true, .. } => CallInput::Rang,
            CallState::Waiting { output, stop, again: false, .. } => {
                self.keep_output(&call, output.clone(), call.changes.clone());
                self.amend(&call.id, |result| {
                    let done = result.status == ResultStatus::Done;
                    result.stop = *stop && done;
                    // It had come back, whatever is said of it now.
                    if !done && call.effect != EffectClass::ReadOnly {
                        result.sent = Some(true);
                    }
                });
                match self.is_done(&call.id) {
                    true => CallInput::Rang,
                    false => CallInput::Returned { ok: false, stop: false, broken: false },
                }
            }
            CallState::BlockedOnUser { pending, .. } => self.expire(&call, pending.clone()),
            CallState::BlockedOnClient { .. } => {
                let text = "timed out: the client did not answer in time";
                self.keep_result(result(&call, ResultStatus::Error, text, self.edited(&call)));
                CallInput::Expired { done: false, approved: None }
            }
            CallState::Queued
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
        self.feed(Input::Call { call: call.id, input });
        let batch = self.mind.machine.state.batch();
        if hurried && !batch.is_some_and(|batch| batch.calls.iter().any(hurries)) {
            self.take_hurries();
        }
        self.mind.draft.decided = true;
        true
    }

    /// The arguments as they would run.
    pub(super) fn arguments_of(&self, call: &CallId) -> String {
        let arguments = self.mind.edited.get(call).or_else(|| self.mind.proposed.get(call));
        arguments.cloned().unwrap_or_default()
    }

    /// The arguments that ran, if a person edited them. Of what a hook put in their place the model is not told.
    pub(super) fn edited(&self, call: &Call) -> Option<String> {
        let by_a_person = self.mind.asked_in != call.arguments && !self.mind.rewritten.contains(&call.id);
        self.mind.edited.get(&call.id).filter(|_| by_a_person).cloned()
    }

    /// Keeps the one result of a call until its step ends.
    pub(super) fn keep_result(&mut self, mut result: ToolResult) {
        let call = result.call.clone();
        if self.mind.ended.contains_key(&call) {
            return;
        }
        if result.was_sent() && self.never_ran(&call) {
            result.sent = Some(false);
        }
        match Message::Tool(result.clone()).to_payload() {
            Ok(payload) => {
                self.mind.ended.insert(call, Ended { result, payload, staged: false });
            }
            Err(error) => self.give_up(ErrorInfo::new("engine.encode", error.to_string())),
        }
    }

    /// Whether what ends this call now does so in its stead: a hook, or nobody who decided in time.
    fn never_ran(&self, call: &CallId) -> bool {
        let call = self.mind.machine.state.batch().and_then(|batch| batch.call(call));
        call.is_some_and(|call| {
            let acts = call.effect != EffectClass::ReadOnly;
            acts && matches!(call.state, CallState::Gating | CallState::BlockedOnUser { .. })
        })
    }

    /// Keeps a result that came from outside; one that is too large is an error that says so.
    pub(super) fn keep_bounded(&mut self, call: &Call, status: ResultStatus, content: String) {
        let most = self.agent.as_ref().map_or(usize::MAX, |agent| agent.limits.result_bytes_max);
        self.keep_within(call, status, content, most);
    }

    fn keep_within(&mut self, call: &Call, status: ResultStatus, content: String, most: usize) {
        let edited = self.edited(call);
        let kept = if content.len() > most {
            let text = format!("the result has {} bytes, at most {most} are allowed", content.len());
            result(call, ResultStatus::Error, text, edited)
        } else {
            result(call, status, content, edited)
        };
        self.keep_result(kept);
    }
}
