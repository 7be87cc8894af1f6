//! The model: when it is asked, and what its answer means.

use super::hooking::StepHooks;
use super::looping::Looked;
use super::{ActionId, StepIterator};
use crate::error::ErrorInfo;
use crate::event::Event;
use crate::ids::CallId;
use crate::machine::{AgentState, Input, NewCall, retry};
use crate::message::{AssistantMessage, AssistantPart, CallRequest, Message};
use crate::model::{AnswerPart, ModelAnswer, ModelError, StopReason};
use crate::store::StreamId;
use crate::tool::{EffectClass, RunsOn};

/// What of an answer counts. Of one that was refused no call does. Of one that was cut off the last call does
/// not, if nothing of its arguments had come: they are not the same as none.
fn said_in_full(mut parts: Vec<AnswerPart>, stop: StopReason) -> Vec<AnswerPart> {
    match stop {
        StopReason::EndTurn | StopReason::ToolUse => {}
        StopReason::MaxTokens => {
            drop(parts.pop_if(|part| is_call(part, |arguments| arguments.trim().is_empty())))
        }
        StopReason::Refusal => parts.retain(|part| !is_call(part, |_| true)),
    }
    parts
}

fn is_call(part: &AnswerPart, holds: impl Fn(&str) -> bool) -> bool {
    match part {
        AnswerPart::Call { arguments, .. } => holds(arguments),
        AnswerPart::Text(_) | AnswerPart::Reasoning { .. } => false,
    }
}

impl StepIterator {
    pub(super) fn think(&mut self) -> bool {
        self.commit_if_due();
        if self.is_held() || (self.is_sync() && self.writing.is_some()) {
            return false;
        }
        let withheld = match self.look_for_loop() {
            Looked::Waits => return false,
            Looked::Stops { tool, count } => return self.stop_loop(tool, count),
            Looked::Withholds(withheld) => Some(withheld),
            Looked::Nothing => None,
        };
        if self.is_too_long() {
            self.mind.draft.decided = true;
            return self.feed(Input::CompactionRequested);
        }
        self.feed(Input::ModelCalled { entry: self.mind.last_message.next(), withheld })
    }

    /// The tools that the model is not told of in this step.
    pub(super) fn withheld(&self) -> Vec<String> {
        self.mind.machine.turn.withheld.iter().map(|withheld| withheld.tool.clone()).collect()
    }

    /// The stream of the newest model call.
    pub(super) fn stream_id(&self) -> StreamId {
        StreamId { run: self.fence.epoch, number: self.streams }
    }

    pub(super) fn on_model(&mut self, id: ActionId, result: Result<ModelAnswer, ModelError>) {
        if self.model_call != Some(id) {
            return;
        }
        self.model_call = None;
        match result {
            Ok(answer) => self.on_answer(answer),
            Err(error) => {
                let AgentState::Streaming { attempt, .. } = self.mind.machine.state else { return };
                if self.may_mend(&error) {
                    let error = ErrorInfo::from(&error);
                    self.mind.draft.decided = true;
                    self.feed(Input::ModelFailed { error, retry_at: None, compact: true });
                    return;
                }
                let retry_at = retry::delay_after(&error, attempt).map(|wait| self.now.after(wait));
                let error = ErrorInfo::from(&error);
                if let Some(until) = retry_at {
                    self.emit(Event::BackingOff { until, attempt: attempt + 1, error: error.clone() });
                }
                self.feed(Input::ModelFailed { error, retry_at, compact: false });
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
        self.mind.rewritten.clear();
        self.mind.step_hooks = StepHooks::Unasked;
        for part in said_in_full(answer.parts, answer.stop) {
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
        self.mind.draft.streamed = Some(self.streams);
        self.mind.asked_in = message;
        let usage = self.usage_of(answer.usage);
        // Who counts tokens has counted all that was shown; else what has come is added up.
        let tokens = if answer.usage.input > 0 { answer.usage.total() } else { self.tokens() };
        self.mind.grown = 0;
        self.mind.answered_at = (!calls.is_empty()).then_some(self.now);
        self.mind.draft.decided = true;
        let counted = self.agent.as_ref().is_some_and(|agent| agent.counts_steps());
        self.feed(Input::ModelAnswered { message, calls, stop: answer.stop, usage, tokens, counted });
    }
}
