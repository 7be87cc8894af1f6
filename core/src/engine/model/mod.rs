//! The model: decides when it is asked, and handles its answers.

use crate::engine::action::ActionId;
use crate::engine::compaction;
use crate::engine::context::Context;
use crate::engine::mind::Mind;
use crate::engine::model::looping::Looked;
use crate::engine::steering::hooks::StepHooks;
use crate::machine::{AgentState, procedure};
use crate::store::StreamId;
use crate::time::Timestamp;
use crate::words::error::ErrorInfo;
use crate::words::event::Event;
use crate::words::history::{Input, NewCall};
use crate::words::ids::{CallId, InvalidId, StepNumber};
use crate::words::letter::LetterCause;
use crate::words::message::{AssistantMessage, AssistantPart, CallRequest, Message};
use crate::words::mode::Mode;
use crate::words::model::{AnswerPart, ModelAnswer, ModelError, ModelErrorKind, StopReason};
use crate::words::procedure::CallLeads;
use crate::words::tool::{EffectClass, RunsOn};
use crate::words::usage::Usage;

pub(crate) mod looping;
pub(crate) mod partial;
pub(crate) mod used;

/// Returns the parts of an answer that count. If the model refused, no call counts. If the answer was cut off, its
/// last part does not count if it is a call without any arguments, because these may be missing.
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

/// Returns true if a call has no input: its arguments are missing, or an empty object.
fn is_empty(arguments: &str) -> bool {
    let written = arguments.trim();
    let inside = written.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    written.is_empty() || inside.is_some_and(|inside| inside.trim().is_empty())
}

fn is_call(part: &AnswerPart, holds: impl Fn(&str) -> bool) -> bool {
    match part {
        AnswerPart::Call { arguments, .. } => holds(arguments),
        AnswerPart::Text(_) | AnswerPart::Reasoning { .. } => false,
    }
}

/// The consequence of a failed model call. By default the turn ends.
#[derive(Default)]
pub(crate) struct After {
    /// The instant of the next attempt.
    pub(crate) retry_at: Option<Timestamp>,
    /// The latest instant at which the hold of an open circuit ends.
    pub(crate) held_until: Option<Timestamp>,
    /// True if the next model is asked instead.
    pub(crate) next: bool,
}

/// Returns the id of a call, from its place in the answer of this step.
pub(crate) fn call_id(step: StepNumber, at: usize) -> Result<CallId, InvalidId> {
    CallId::new(format!("c{step}-{at}"))
}

/// The handler of the model: decides when it is asked, and takes its answers.
pub(crate) struct ModelHandler<'a> {
    pub(crate) cx: &'a mut Context,
}

impl ModelHandler<'_> {
    /// Asks the model, unless a limit, a loop or a summary comes first.
    pub(crate) fn think(&mut self) -> bool {
        if self.end_over_budget() {
            return true;
        }
        if self.cx.mind.machine.handoff.is_some() {
            self.cx.mind.draft.decided = true;
            return self.cx.feed(Input::CompactionRequested);
        }
        let withheld = match self.look_for_loop() {
            Looked::Waits => return false,
            Looked::Stops { tool, count } => return self.stop_loop(tool, count),
            Looked::Withholds(withheld) => withheld,
            Looked::Nothing => Vec::new(),
        };
        if self.is_too_long() {
            self.cx.mind.draft.decided = true;
            return self.cx.feed(Input::CompactionRequested);
        }
        self.cx.feed(Input::ModelCalled { entry: self.cx.mind.transcript.last.next(), withheld })
    }

    pub(crate) fn on_model(&mut self, id: ActionId, result: Result<ModelAnswer, ModelError>) {
        if !self.cx.out.model.answered(id) {
            return;
        }
        match result {
            Ok(answer) => match self.lacks_input(&answer) {
                Some(error) => {
                    let usage = self.cx.usage_of_answer(answer.usage);
                    self.on_failure(&error, usage);
                }
                None => self.on_answer(answer),
            },
            Err(error) => {
                let usage = self.cx.usage_of_broken(error.used);
                self.on_failure(&error, usage);
            }
        }
    }

    /// Handles a failed attempt: old messages are summarised, or the model is asked again later, or the next model
    /// is asked at once, or the turn ends.
    fn on_failure(&mut self, error: &ModelError, usage: Usage) {
        let AgentState::Streaming { attempt, .. } = self.cx.mind.machine.state else { return };
        let compact = self.may_mend(error);
        let After { retry_at, held_until, next } =
            if compact { After::default() } else { self.after_failure(error, attempt) };
        let too_long = error.kind == ModelErrorKind::ContextLimit;
        let may_pass = self.may_pass(error);
        let told = ErrorInfo::from(error);
        let error = match (too_long && !compact && !next, self.cx.run.shortens_unasked()) {
            (true, true) => compaction::dead_end(&told),
            (true, false) => compaction::kept_long(&told),
            (false, _) => told,
        };
        self.cx.mind.draft.decided = true;
        let ran_out = retry_at.is_none() && !compact && !next && may_pass;
        let letter = ran_out.then(|| error.clone());
        self.cx.feed(Input::ModelFailed { error, retry_at, held_until, too_long, compact, next, usage });
        if let Some(error) = letter {
            self.cx.leave_letter(LetterCause::Retries, error, attempt.saturating_add(1));
        }
    }

    /// Decides what follows a failure: the same model is asked again later, the next one is asked, or neither.
    /// Reports the decision as an event.
    pub(crate) fn after_failure(&mut self, error: &ModelError, attempt: u32) -> After {
        let next = self.next_model(error.kind);
        // An open circuit is not waited for if another model is left.
        let gives_way = error.kind == ModelErrorKind::CircuitOpen && next.is_some();
        if let Some(until) = self.wait_after(error, attempt).filter(|_| !gives_way) {
            let held_until = error.held_for.map(|held| self.cx.run.now.after(held));
            let attempt = attempt.saturating_add(u32::from(!self.looks_again(error)));
            self.cx.mind.emit(Event::BackingOff { until, attempt, error: error.into() });
            return After { retry_at: Some(until), held_until, next: false };
        }
        let falls_back = next.is_some();
        if let Some(model) = next {
            self.cx.mind.emit(Event::FellBack { model, error: error.into() });
        }
        After { next: falls_back, ..After::default() }
    }

    fn wait_after(&self, error: &ModelError, attempt: u32) -> Option<Timestamp> {
        let tried = attempt.saturating_sub(u32::from(self.looks_again(error)));
        let wait = self.cx.run.agent.as_ref()?.retries.after_model(error, tried)?;
        Some(self.cx.run.now.after(wait))
    }

    /// Returns true if the agent retries this kind of failure at least once.
    pub(crate) fn may_pass(&self, error: &ModelError) -> bool {
        self.cx.run.agent.as_ref().is_some_and(|agent| agent.retries.after_model(error, 0).is_some())
    }

    /// Returns true if this failure belongs to the same attempt as the previous one: all looks within one hold of a
    /// circuit do.
    fn looks_again(&self, error: &ModelError) -> bool {
        error.held_for.is_some() && self.cx.mind.machine.turn.is_held(self.cx.run.now)
    }

    /// Returns the model that is asked if the present one fails for good (C53). Returns `None` if there is none, or
    /// if another model could not help.
    pub(crate) fn next_model(&self, kind: ModelErrorKind) -> Option<String> {
        // No model can read a broken transcript, and what a hook postpones or forbids is not the model's fault.
        if [ModelErrorKind::Transcript, ModelErrorKind::Held, ModelErrorKind::Denied].contains(&kind) {
            return None;
        }
        let next = self.cx.mind.machine.turn.model.checked_add(1)?;
        self.cx.run.agent.as_ref()?.fallback_at(next).map(|fallback| fallback.model.clone())
    }

    /// Returns an error if a whole answer contains a call without input for a tool that requires input: the answer
    /// was damaged on its way (B20). Once no retry is left, the answer is accepted, and the result of the call says
    /// what is missing.
    fn lacks_input(&self, answer: &ModelAnswer) -> Option<ModelError> {
        let AgentState::Streaming { attempt, .. } = self.cx.mind.machine.state else { return None };
        let agent = self.cx.run.agent.as_ref().filter(|_| answer.stop.is_whole())?;
        let tool = answer.parts.iter().find_map(|part| match part {
            AnswerPart::Call { tool, arguments } if is_empty(arguments) => {
                agent.tool(tool).filter(|spec| spec.needs_input()).map(|_| tool)
            }
            AnswerPart::Call { .. } | AnswerPart::Text(_) | AnswerPart::Reasoning { .. } => None,
        })?;
        let error =
            ModelError::new(ModelErrorKind::Incomplete, format!("a call of {tool} came without its input"));
        self.wait_after(&error, attempt).map(|_| error)
    }

    fn on_answer(&mut self, answer: ModelAnswer) {
        let step = self.cx.mind.machine.step;
        let mut parts = Vec::with_capacity(answer.parts.len());
        let mut calls = Vec::new();
        self.cx.mind.step.proposed.clear();
        self.cx.mind.step.edited.clear();
        self.cx.mind.step.rewritten.clear();
        self.cx.mind.step.hooks = StepHooks::Unasked;
        for part in said_in_full(answer.parts, answer.stop) {
            parts.push(match part {
                AnswerPart::Text(text) => AssistantPart::Text { text },
                AnswerPart::Reasoning { text, signature } => AssistantPart::Reasoning { text, signature },
                AnswerPart::Call { tool, arguments } => {
                    let id = match call_id(step, calls.len()) {
                        Ok(id) => id,
                        Err(error) => {
                            return self.cx.give_up(ErrorInfo::new("engine.call_id", error.to_string()));
                        }
                    };
                    let spec = self.cx.run.agent.as_ref().and_then(|agent| agent.tool(&tool));
                    calls.push(NewCall {
                        id: id.clone(),
                        tool: tool.clone(),
                        effect: spec.map_or(EffectClass::ReadOnly, |spec| spec.effect),
                        dangerous: spec.is_some_and(|spec| spec.dangerous),
                        runs_on: spec.map_or(RunsOn::Server, |spec| spec.runs_on),
                        leads: self.cx.leads_of(&tool),
                    });
                    self.cx.mind.step.proposed.insert(id.clone(), arguments.clone());
                    AssistantPart::Call(CallRequest { id, tool, arguments })
                }
            });
        }
        let said = AssistantMessage::new(parts);
        self.cx.mind.step.said = said.text();
        let message = self.cx.append(Message::Assistant(said));
        self.cx.mind.draft.streamed = Some(self.cx.output.streams);
        self.cx.mind.step.asked_in = message;
        let usage = self.cx.usage_of_answer(answer.usage);
        // A provider that counts tokens has counted everything that was shown. Otherwise the engine estimates them.
        let tokens = if answer.usage.input > 0 { answer.usage.total() } else { self.cx.mind.tokens() };
        self.cx.mind.transcript.grown = 0;
        self.cx.mind.step.answered_at = (!calls.is_empty()).then_some(self.cx.run.now);
        self.cx.mind.draft.decided = true;
        let counted = self.cx.run.agent.as_ref().is_some_and(|agent| agent.counts_steps());
        self.cx.feed(Input::ModelAnswered { message, calls, stop: answer.stop, usage, tokens, counted });
    }

    /// Returns true if a summary must come before the next step (A52). It is not made twice for the same step, nor
    /// after several failures in a row (A69).
    pub(crate) fn is_too_long(&self) -> bool {
        let Some(agent) = &self.cx.run.agent else { return false };
        let (rules, machine) = (&agent.compaction, &self.cx.mind.machine);
        rules.threshold().is_some_and(|threshold| self.cx.mind.tokens() > threshold)
            && machine.view.failures < rules.failures_max
            && machine.turn.compacted != Some(machine.step)
    }

    /// Returns true if a shorter request may avoid this failure of a model call (B38). While another model is left,
    /// one summary is made for the step, and a failed summary may be tried again. For the last model, messages are
    /// shortened up to [`REFUSALS_MAX`](compaction::REFUSALS_MAX) times. If that is not enough, the turn ends.
    pub(crate) fn may_mend(&self, error: &ModelError) -> bool {
        let machine = &self.cx.mind.machine;
        error.kind == ModelErrorKind::ContextLimit
            && self.cx.run.shortens_unasked()
            && match self.next_model(error.kind) {
                Some(_) => machine.turn.compacted != Some(machine.step) || machine.view.failures > 0,
                None => machine.turn.refused < compaction::REFUSALS_MAX,
            }
    }
}

impl Mind {
    /// Returns the tools that are withheld from the model for a while.
    pub(crate) fn withheld(&self) -> Vec<String> {
        self.machine.turn.withheld.iter().map(|withheld| withheld.tool.clone()).collect()
    }
}

impl Context {
    /// Returns the rows of the procedure on which a call of this tool moves the work.
    fn leads_of(&self, tool: &str) -> Option<Box<CallLeads>> {
        procedure::leads_of(self.run.agent.as_deref()?, self.mind.machine.procedure.as_ref(), tool)
    }

    /// Returns the tools that are withheld from the model in this step: for a while, or by the state of the procedure.
    pub(crate) fn withheld(&self) -> Vec<String> {
        let stands = self.mind.machine.procedure.as_ref();
        let by_state = self.run.agent.as_ref().map(|agent| agent.not_admitted(stands)).unwrap_or_default();
        let for_a_while = self.mind.withheld();
        let more = by_state.into_iter().filter(|tool| !for_a_while.iter().any(|other| other == tool));
        let more: Vec<String> = more.map(str::to_owned).collect();
        for_a_while.into_iter().chain(more).collect()
    }

    /// Returns the mode in which the agent works.
    pub(crate) fn mode(&self) -> Mode {
        let own = self.run.agent.as_ref().map_or(Mode::default(), |agent| agent.mode);
        self.mind.machine.mode.unwrap_or(own)
    }

    /// Returns the newest stream. A message of the model belongs to this stream when it is added.
    pub(crate) fn stream_id(&self) -> StreamId {
        StreamId { run: self.run.fence.epoch, number: self.output.streams }
    }
}
