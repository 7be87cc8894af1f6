//! What comes from outside to calls that wait: answers, and deadlines that pass.

use super::StepIterator;
use super::mind::Ended;
use super::results::{denied, rejected, result};
use crate::error::ErrorInfo;
use crate::gate::{DenialRecord, DeniedBy};
use crate::ids::{CallId, PendingId};
use crate::machine::{Call, CallInput, CallState, Input, STANDING_APPROVALS_MAX, StandingApproval};
use crate::message::{
    ClientAnswer, Decision, DecisionRecord, Message, PendingBody, ResultStatus, ToolResult,
};
use crate::payload::{Digest, Payload};
use crate::store::{ItemKind, NewPending, PendingKind, StoredItem};
use crate::time::Timestamp;
use crate::tool::RunsOn;

impl StepIterator {
    /// Takes one answer that a waiting call has. False: there is none.
    pub(super) fn take_answer(&mut self) -> bool {
        let Some(batch) = self.mind.machine.state.batch().filter(|batch| batch.stopping.is_none()) else {
            return false;
        };
        let found = self.mind.inbox.iter().enumerate().find_map(|(at, item)| {
            let ItemKind::Answer { pending, .. } = &item.kind else { return None };
            let call = batch.calls.iter().find(|call| call.state.pending() == Some(pending))?;
            Some((at, call.clone(), pending.clone()))
        });
        let Some((at, call, pending)) = found else { return false };
        let item = self.mind.inbox.remove(at);
        self.mind.draft.consumed.push(item.seq);
        match call.runs_on {
            RunsOn::Server => self.on_decision(&call, pending, &item),
            RunsOn::Client => self.on_client_answer(&call, &item),
        }
        self.mind.draft.decided = true;
        true
    }

    fn on_decision(&mut self, call: &Call, pending: PendingId, item: &StoredItem) {
        let shown = self.arguments_of(&call.id);
        let decision = match item.payload.parse::<Decision>() {
            Ok(decision) if decision.saw == Digest::of(shown.as_bytes()) => decision,
            Ok(_) => return self.reopen(call, "the decision was taken on other arguments"),
            Err(error) => return self.reopen(call, &format!("the decision cannot be read: {error}")),
        };
        let always = decision.approve && decision.always;
        let note = if always { self.not_for_good(call, &decision) } else { None };
        let always = always && note.is_none();
        let only = decision.only.clone();
        let record = DecisionRecord { call: call.id.clone(), pending, decision, at: item.at, note };
        let decision = record.decision.clone();
        let seq = self.append(Message::Decision(record));
        if !decision.approve {
            let content = rejected(decision.reason.as_deref());
            let denial = DenialRecord::new(DeniedBy::User, &call.tool, content.clone(), &shown);
            self.keep_result(denied(call, ResultStatus::RejectedByUser, content, self.edited(call), denial));
            self.feed(Input::Call { call: call.id.clone(), input: CallInput::Rejected });
            return;
        }
        let arguments = match decision.arguments {
            Some(edited) => {
                self.mind.edited.insert(call.id.clone(), edited);
                self.mind.rewritten.remove(&call.id);
                seq
            }
            None => call.arguments,
        };
        let digest = Digest::of(self.arguments_of(&call.id).as_bytes());
        let input = CallInput::Approved { arguments, digest, always, only };
        self.feed(Input::Call { call: call.id.clone(), input });
    }

    /// Why a word for the rest of the session stands for this once.
    fn not_for_good(&self, call: &Call, decision: &Decision) -> Option<String> {
        let shown = self.arguments_of(&call.id);
        let runs = decision.arguments.as_ref().unwrap_or(&shown);
        if !decision.only.let_through(runs) {
            return Some(format!("approved this once: its arguments do not fit {}", decision.only));
        }
        let approval = StandingApproval::of(&call.tool, &decision.only);
        let full = !self.mind.machine.always.have_room_for(&approval);
        full.then(|| format!("approved this once: {STANDING_APPROVALS_MAX} are approved for good already"))
    }

    fn on_client_answer(&mut self, call: &Call, item: &StoredItem) {
        let answer = match item.payload.parse::<ClientAnswer>() {
            Ok(answer) => answer,
            Err(error) => return self.reopen(call, &format!("the answer cannot be read: {error}")),
        };
        let status = if answer.is_error { ResultStatus::Error } else { ResultStatus::Done };
        self.keep_bounded(call, status, answer.content);
        let ok = self.mind.ended.get(&call.id).is_some_and(|ended| ended.result.status == ResultStatus::Done);
        self.feed(Input::Call { call: call.id.clone(), input: CallInput::Answered { ok } });
    }

    /// Lets time move one call whose instant has come. Answers are taken before.
    pub(super) fn take_expiry(&mut self) -> bool {
        let Some(batch) = self.mind.machine.state.batch().filter(|batch| batch.stopping.is_none()) else {
            return false;
        };
        let hurried = self.is_hurried();
        let hurries = |call: &Call| hurried && matches!(call.state, CallState::Waiting { again: true, .. });
        let due = |call: &&Call| hurries(call) || call.state.wakes_at().is_some_and(|at| at <= self.now);
        let Some(call) = batch.calls.iter().find(due).cloned() else { return false };
        let input = match &call.state {
            CallState::Waiting { again: true, .. } => CallInput::Rang,
            CallState::Waiting { output, stop, again: false, .. } => {
                let mut done = result(&call, ResultStatus::Done, output.clone(), self.edited(&call));
                done.stop = *stop;
                self.keep_result(done);
                CallInput::Rang
            }
            CallState::BlockedOnUser { .. } => {
                let text = "timed out: nobody decided in time, so the call was not run";
                self.keep_result(result(&call, ResultStatus::Error, text, self.edited(&call)));
                CallInput::Expired
            }
            CallState::BlockedOnClient { .. } => {
                let text = "timed out: the client did not answer in time";
                self.keep_result(result(&call, ResultStatus::Error, text, self.edited(&call)));
                CallInput::Expired
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
            // The word was for what waited when it came.
            self.consume_rest();
        }
        self.mind.draft.decided = true;
        true
    }

    /// Asks again, under a new id, with the same deadline.
    fn reopen(&mut self, call: &Call, why: &str) {
        let pending = self.next_pending(call);
        if let Some(pending) = pending {
            self.open_pending(call, pending.clone(), call.state.wakes_at(), Some(why.to_owned()));
            self.feed(Input::Call { call: call.id.clone(), input: CallInput::Reopened { pending } });
        }
    }

    /// The id of the next asking of this call. None: the run gives up, as no such id can be formed.
    pub(super) fn next_pending(&mut self, call: &Call) -> Option<PendingId> {
        match PendingId::of(self.fence.incarnation, &call.id, call.round + 1) {
            Ok(id) => Some(id),
            Err(error) => {
                self.give_up(ErrorInfo::new("engine.pending_id", error.to_string()));
                None
            }
        }
    }

    pub(super) fn open_pending(
        &mut self,
        call: &Call,
        id: PendingId,
        deadline: Option<Timestamp>,
        prompt: Option<String>,
    ) {
        let arguments = self.arguments_of(&call.id);
        let tool = match crate::ids::ToolName::new(&call.tool) {
            Ok(tool) => tool,
            Err(error) => return self.give_up(ErrorInfo::new("engine.tool_name", error.to_string())),
        };
        let digest = Digest::of(arguments.as_bytes());
        let body = match Payload::json(&PendingBody { tool, arguments, digest, prompt }) {
            Ok(body) => body,
            Err(error) => return self.give_up(ErrorInfo::new("engine.encode", error.to_string())),
        };
        let kind = match call.runs_on {
            RunsOn::Server => PendingKind::Approval,
            RunsOn::Client => PendingKind::ClientTool,
        };
        self.mind.draft.open.push(NewPending { id, call: call.id.clone(), kind, needed: 1, deadline, body });
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
    pub(super) fn keep_result(&mut self, result: ToolResult) {
        let call = result.call.clone();
        if self.mind.ended.contains_key(&call) {
            return;
        }
        match Message::Tool(result.clone()).to_payload() {
            Ok(payload) => {
                self.mind.ended.insert(call, Ended { result, payload, staged: false });
            }
            Err(error) => self.give_up(ErrorInfo::new("engine.encode", error.to_string())),
        }
    }

    /// Keeps a result that came from outside; one that is too large is an error that says so.
    pub(super) fn keep_bounded(&mut self, call: &Call, status: ResultStatus, content: String) {
        let most = self.agent.as_ref().map_or(usize::MAX, |agent| agent.limits.result_bytes_max);
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
