//! The calls of a step: the gate is asked, they start, they come back.

use std::sync::Arc;
use std::time::Duration;

use super::results::{cancelled, cancelled_waiting, result, result_of_end};
use super::{Action, CallOut, DEFERRED_OUTPUT_BYTES_MAX, Ruling, StepIterator};
use crate::error::ErrorInfo;
use crate::event::Event;
use crate::gate::GateQuestion;
use crate::ids::{CallId, MessageSeq, PendingId, ToolName};
use crate::machine::{
    AgentState, Batch, Call, CallInput, CallState, CancelReason, Input, NewCall, Usage, retry, steering,
};
use crate::message::{AssistantMessage, AssistantPart, CallRequest, Message, ResultStatus};
use crate::model::{AnswerPart, ModelAnswer, ModelError};
use crate::payload::Digest;
use crate::step::ActionId;
use crate::store::NewMessage;
use crate::time::Timestamp;
use crate::tool::{EffectClass, ResourceProfile, RunsOn, ToolError, ToolReturn};

impl StepIterator {
    pub(super) fn on_model(&mut self, id: ActionId, result: Result<ModelAnswer, ModelError>) {
        if self.model_call != Some(id) {
            return;
        }
        self.model_call = None;
        match result {
            Ok(answer) => self.on_answer(answer),
            Err(error) => {
                let AgentState::Streaming { attempt, .. } = self.mind.machine.state else { return };
                let retry_at = retry::delay_after(&error, attempt).map(|wait| self.now.after(wait));
                let error = ErrorInfo::from(&error);
                if let Some(until) = retry_at {
                    self.emit(Event::BackingOff { until, attempt: attempt + 1, error: error.clone() });
                }
                self.feed(Input::ModelFailed { error, retry_at });
                self.mind.draft.decided = true;
            }
        }
    }

    fn on_answer(&mut self, answer: ModelAnswer) {
        let step = self.mind.machine.step;
        let mut parts = Vec::with_capacity(answer.parts.len());
        let mut calls = Vec::new();
        self.mind.proposed.clear();
        self.mind.edited.clear();
        for part in answer.parts {
            parts.push(match part {
                AnswerPart::Text(text) => AssistantPart::Text { text },
                AnswerPart::Reasoning { text, signature } => AssistantPart::Reasoning { text, signature },
                AnswerPart::Call { tool, arguments } => {
                    let id = match CallId::new(format!("c{step}-{}", calls.len())) {
                        Ok(id) => id,
                        Err(error) => {
                            return self.give_up(ErrorInfo::new("engine.call_id", error.to_string()));
                        }
                    };
                    let spec = self.agent.as_ref().and_then(|agent| agent.tool(&tool));
                    calls.push(NewCall {
                        id: id.clone(),
                        tool: tool.clone(),
                        effect: spec.map_or(EffectClass::ReadOnly, |spec| spec.effect),
                        dangerous: spec.is_some_and(|spec| spec.dangerous),
                        runs_on: spec.map_or(RunsOn::Server, |spec| spec.runs_on),
                    });
                    self.mind.proposed.insert(id.clone(), arguments.clone());
                    AssistantPart::Call(CallRequest { id, tool, arguments })
                }
            });
        }
        let said = AssistantMessage { parts };
        self.mind.said = said.text();
        let message = self.append(Message::Assistant(said));
        self.mind.asked_in = message;
        let cost_microusd =
            self.agent.as_ref().map_or(0, |agent| steering::cost_microusd(&answer.usage, &agent.limits));
        let usage = Usage { tokens: answer.usage, cost_microusd, model_calls: 1, tool_calls: 0 };
        self.mind.answered_at = (!calls.is_empty()).then_some(self.now);
        self.mind.draft.decided = true;
        self.feed(Input::ModelAnswered { message, calls, stop: answer.stop, usage });
    }

    /// Asks the gate; a tool that does not exist needs no gate.
    pub(super) fn consult(&mut self, calls: &[CallId]) {
        let Some(agent) = self.agent.clone() else { return };
        let mut questions = Vec::new();
        for id in calls {
            let Some(call) = self.call(id) else { continue };
            let Some(spec) = agent.tool(&call.tool) else {
                let names: Vec<&str> = agent.tools.iter().map(|tool| tool.name.as_str()).collect();
                let text = format!("there is no tool {:?}; there are: {}", call.tool, names.join(", "));
                self.keep_result(result(&call, ResultStatus::Error, text, None));
                self.feed(Input::Call { call: id.clone(), input: CallInput::Refused });
                continue;
            };
            let arguments = self.arguments_of(id);
            let digest = Digest::of(arguments.as_bytes());
            questions.push(GateQuestion {
                session: self.fence.key.clone(),
                call: id.clone(),
                tool: spec.name.clone(),
                arguments,
                digest,
                effect: call.effect,
                dangerous: call.dangerous,
                approved: call.approved == Some(digest),
            });
            self.feed(Input::Call { call: id.clone(), input: CallInput::Asked });
        }
        if !questions.is_empty() {
            let id = self.next_id();
            let asked = questions.iter().map(|question| question.call.clone()).collect();
            self.mind.consulting.insert(id, asked);
            self.actions.push_back(Action::Consult { id, questions });
        }
    }

    /// Takes the gate's word on the calls that it was asked about. A call that it passes over is denied.
    pub(super) fn on_rulings(&mut self, id: ActionId, rulings: Vec<(CallId, Ruling)>) {
        for id in self.mind.consulting.remove(&id).unwrap_or_default() {
            let ruling = rulings.iter().find(|(call, _)| *call == id).map(|(_, ruling)| ruling.clone());
            let ruling =
                ruling.unwrap_or_else(|| Ruling::Unavailable { detail: "it passed over this".into() });
            if let Some(call) = self.call(&id).filter(|call| call.state == CallState::Gating) {
                self.on_ruling(&call, ruling);
                self.mind.draft.decided = true;
            }
        }
    }

    fn on_ruling(&mut self, call: &Call, ruling: Ruling) {
        let digest = Digest::of(self.arguments_of(&call.id).as_bytes());
        let approved = call.approved == Some(digest);
        let input = match ruling {
            Ruling::Allow { profile } if call.runs_on == RunsOn::Client => self.ask_client(call, profile),
            Ruling::Allow { profile } => Some(CallInput::Allowed { profile }),
            Ruling::NeedsApproval { .. } if call.runs_on == RunsOn::Client => {
                self.refuse(call, ResultStatus::Denied, "a tool that a client runs cannot ask for approval")
            }
            Ruling::NeedsApproval { profile, .. } if approved => Some(CallInput::Allowed { profile }),
            Ruling::NeedsApproval { prompt, profile } => {
                self.ask_person(call, call.arguments, prompt, profile)
            }
            // An edit that must be refused asks again, with the arguments of the model.
            Ruling::Invalid { detail } if self.edited(call).is_some() => self.ask_again(call, &detail),
            Ruling::Invalid { detail } => {
                self.refuse(call, ResultStatus::Error, &format!("the arguments do not fit: {detail}"))
            }
            Ruling::Deny { reason } => self.refuse(call, ResultStatus::Denied, &format!("denied: {reason}")),
            Ruling::Unavailable { detail } => {
                let text = format!("denied: the gate is unavailable: {detail}");
                self.refuse(call, ResultStatus::Denied, &text)
            }
        };
        if let Some(input) = input {
            self.feed(Input::Call { call: call.id.clone(), input });
        }
    }

    fn refuse(&mut self, call: &Call, status: ResultStatus, text: &str) -> Option<CallInput> {
        self.keep_result(result(call, status, text, self.edited(call)));
        Some(CallInput::Refused)
    }

    fn ask_client(&mut self, call: &Call, profile: ResourceProfile) -> Option<CallInput> {
        let pending = self.next_pending(call)?;
        let deadline = self.answer_deadline(&call.tool);
        self.open_pending(call, pending.clone(), deadline, None);
        Some(CallInput::NeedsClient { pending, deadline, profile })
    }

    fn ask_person(
        &mut self,
        call: &Call,
        arguments: MessageSeq,
        prompt: Option<String>,
        profile: ResourceProfile,
    ) -> Option<CallInput> {
        let pending: PendingId = self.next_pending(call)?;
        let deadline = self.answer_deadline("");
        self.open_pending(call, pending.clone(), deadline, prompt);
        Some(CallInput::NeedsUser { pending, deadline, profile, arguments })
    }

    fn ask_again(&mut self, call: &Call, detail: &str) -> Option<CallInput> {
        self.mind.edited.remove(&call.id);
        let prompt = Some(format!("the edited arguments do not fit: {detail}"));
        self.ask_person(call, self.mind.asked_in, prompt, call.profile.clone())
    }

    fn answer_deadline(&self, tool: &str) -> Option<Timestamp> {
        let agent = self.agent.as_ref()?;
        let own = agent.tool(tool).and_then(|spec| spec.timeout_ms);
        let wait = own.or(agent.limits.answer_timeout_ms)?;
        Some(self.now.after(Duration::from_millis(wait)))
    }

    /// Sends calls whose intents, marks and `allow`s are durable, as far as their class asks for it.
    pub(super) fn send(&mut self, calls: &[CallId]) {
        let Some(agent) = self.agent.clone() else { return };
        let mut out = Vec::new();
        for id in calls {
            let Some(call) = self.call(id) else { continue };
            let startable = matches!(call.state, CallState::Approved | CallState::Preparing);
            let Some(spec) = agent.tool(&call.tool).filter(|_| startable) else { continue };
            let Ok(tool) = ToolName::new(&call.tool) else { continue };
            self.feed(Input::Call { call: id.clone(), input: CallInput::Sent });
            let arguments = self.arguments_of(id);
            out.push(CallOut {
                id: id.clone(),
                idempotency_key: self.idempotency_key(id, &tool, &arguments),
                tool,
                arguments,
                timeout_ms: spec.timeout_ms.unwrap_or(agent.limits.tool_timeout_ms),
            });
        }
        if !out.is_empty() {
            self.actions.push_back(Action::RunCalls { calls: out });
            self.keep_before();
        }
    }

    /// A read may be sent before the answer that asks for it is durable. If its run dies, the model is asked
    /// again and may ask for something else in the same place: so the key names the bytes too (INV-14).
    fn idempotency_key(&self, id: &CallId, tool: &ToolName, arguments: &str) -> String {
        let bytes = Digest::of(format!("{tool}\0{arguments}").as_bytes()).to_string();
        format!("{}.{id}.{}", self.fence.incarnation, &bytes[..16])
    }

    pub(super) fn on_call_ended(
        &mut self,
        id: &CallId,
        result: Result<ToolReturn, ToolError>,
        duration_ms: u64,
    ) {
        let out = |state: &CallState| matches!(state, CallState::Executing | CallState::CleaningUp);
        let Some(call) = self.call(id).filter(|call| out(&call.state)) else { return };
        let stopping = call.state == CallState::CleaningUp;
        let input = self.input_of(&call, result, stopping);
        if let Some(ended) = self.mind.ended.get_mut(id) {
            ended.result.duration_ms = Some(duration_ms);
            if let Ok(payload) = Message::Tool(ended.result.clone()).to_payload() {
                ended.payload = payload;
            }
        }
        self.feed(Input::Call { call: id.clone(), input });
    }

    fn input_of(&mut self, call: &Call, result_: Result<ToolReturn, ToolError>, stopping: bool) -> CallInput {
        match result_ {
            Ok(ToolReturn::Output(output)) => {
                self.keep_bounded(call, ResultStatus::Done, output.content);
                if let Some(ended) = self.mind.ended.get_mut(&call.id) {
                    ended.result.stop = output.stop && ended.result.status == ResultStatus::Done;
                }
                let ok = self.is_done(&call.id);
                CallInput::Returned { ok, stop: output.stop }
            }
            Ok(ToolReturn::After { output, .. }) if output.content.len() > self.deferred_bytes_max() => {
                let text = format!(
                    "a result to be given later has {} bytes, at most {} are allowed",
                    output.content.len(),
                    self.deferred_bytes_max()
                );
                self.keep_result(result(call, ResultStatus::Error, text, self.edited(call)));
                CallInput::Returned { ok: false, stop: false }
            }
            Ok(ToolReturn::After { delay, output }) => {
                self.mind.draft.decided = true;
                CallInput::Deferred {
                    until: self.now.after(delay),
                    output: output.content,
                    stop: output.stop,
                }
            }
            Err(ToolError::Failed(text)) => {
                self.keep_bounded(call, ResultStatus::Error, text);
                CallInput::Returned { ok: false, stop: false }
            }
            // It was sent before, by a run that died: that this send did not act does not say enough.
            Err(ToolError::NotRun(text)) if call.sent_before => self.doubt(call, &text),
            Err(ToolError::NotRun(_)) if stopping => self.cancel(call),
            Err(ToolError::NotRun(text)) => {
                self.keep_bounded(call, ResultStatus::Error, format!("not run: {text}"));
                CallInput::Returned { ok: false, stop: false }
            }
            Err(ToolError::Lost(text)) => match call.effect {
                EffectClass::ReadOnly if stopping => self.cancel(call),
                EffectClass::ReadOnly => {
                    self.keep_bounded(call, ResultStatus::Error, format!("gave no result: {text}"));
                    CallInput::Returned { ok: false, stop: false }
                }
                EffectClass::Idempotent | EffectClass::AtMostOnce => self.doubt(call, &text),
            },
        }
    }

    fn doubt(&mut self, call: &Call, text: &str) -> CallInput {
        let told = format!(
            "in doubt: {text}. It may or may not have acted, and it is not sent again. Find out before you \
             repeat it."
        );
        self.keep_result(result(call, ResultStatus::InDoubt, told, self.edited(call)));
        CallInput::Lost
    }

    /// The largest output that a call may leave to be given later: it is kept in the state.
    fn deferred_bytes_max(&self) -> usize {
        let limit = self.agent.as_ref().map_or(usize::MAX, |agent| agent.limits.result_bytes_max);
        limit.min(DEFERRED_OUTPUT_BYTES_MAX)
    }

    fn cancel(&mut self, call: &Call) -> CallInput {
        let reason = CancelReason::UserCancelled;
        self.keep_result(result(call, ResultStatus::Cancelled, cancelled(reason), self.edited(call)));
        CallInput::Cancelled { reason }
    }

    fn is_done(&self, call: &CallId) -> bool {
        self.mind.ended.get(call).is_some_and(|ended| ended.result.status == ResultStatus::Done)
    }

    pub(super) fn call(&self, id: &CallId) -> Option<Call> {
        self.mind.machine.state.batch().and_then(|batch| batch.call(id)).cloned()
    }

    pub(super) fn call_is(&self, id: &CallId, state: &CallState) -> bool {
        self.mind
            .machine
            .state
            .batch()
            .and_then(|batch| batch.call(id))
            .is_some_and(|call| call.state == *state)
    }

    /// Appends a message to the transcript as drafted, and says where it stands.
    pub(super) fn append(&mut self, message: Message) -> MessageSeq {
        match message.to_payload() {
            Ok(payload) => self.append_as(message, NewMessage::Inline(payload)),
            Err(error) => {
                self.give_up(ErrorInfo::new("engine.encode", error.to_string()));
                self.mind.last_message
            }
        }
    }

    fn append_as(&mut self, message: Message, stored: NewMessage) -> MessageSeq {
        self.mind.last_message = self.mind.last_message.next();
        let seq = self.mind.last_message;
        self.emit(Event::Message { seq, role: message.role().to_owned() });
        self.mind.draft.messages.push(stored);
        self.added.truncate(self.mind.added);
        self.added.push((seq, Arc::new(message)));
        self.mind.added = self.added.len();
        seq
    }

    /// What a transition means for calls: events, and pending calls to close.
    pub(super) fn note_calls(&mut self, before: &Batch, after: &Batch) {
        for (was, is) in before.calls.iter().zip(&after.calls) {
            if let Some(pending) = was.state.pending().filter(|open| is.state.pending() != Some(*open)) {
                self.close(pending.clone());
            }
            if let (CallState::Waiting { output, .. }, CallState::Cancelled { reason }) =
                (&was.state, &is.state)
            {
                let content = cancelled_waiting(*reason, output);
                self.keep_result(result(is, ResultStatus::Cancelled, content, self.edited(is)));
            }
            if is.state != was.state && is_shown(&is.state) {
                let (call, tool, is) = (is.id.clone(), is.tool.clone(), is.state.name().to_owned());
                self.emit(Event::Call { call, tool, is });
            }
        }
    }

    fn close(&mut self, pending: PendingId) {
        let drafted = self.mind.draft.open.iter().position(|new| new.id == pending);
        match drafted {
            // Nobody has seen it: it is never opened.
            Some(at) => drop(self.mind.draft.open.remove(at)),
            None => self.mind.draft.close.push(pending),
        }
    }

    /// Every call has its one result now, in call order (INV-08).
    pub(super) fn promote(&mut self, batch: &Batch) {
        self.mind.tools_done.clear();
        for call in &batch.calls {
            if let Some(result) = result_of_end(call, self.edited(call)) {
                self.keep_result(result);
            }
            let Some(ended) = self.mind.ended.remove(&call.id) else { continue };
            if ended.result.status == ResultStatus::Done {
                self.mind.tools_done.push(ended.result.tool.clone());
            }
            let stored = if ended.staged {
                NewMessage::Promote(call.id.clone())
            } else {
                NewMessage::Inline(ended.payload)
            };
            self.append_as(Message::Tool(ended.result), stored);
        }
        self.mind.proposed.clear();
        self.mind.edited.clear();
        self.mind.answered_at = None;
        self.mind.draft.decided = true;
    }
}

/// States that are worth telling of; the others last for an instant.
fn is_shown(state: &CallState) -> bool {
    state.is_end() || state.is_parked() || *state == CallState::Executing
}
