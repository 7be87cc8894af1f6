//! The calls of a step: they start, they come back, they are told of.

use super::broken::NotRun;
use super::custom::bytes_of;
use super::results::{cancelled, ended_waiting, result, says_error, stopped_alone};
use super::{Action, CallOut, DEFERRED_OUTPUT_BYTES_MAX, StepIterator};
use crate::agent::AgentSpec;
use crate::event::Event;
use crate::ids::{CallId, PendingId, ToolName};
use crate::image::Images;
use crate::machine::{Batch, Call, CallInput, CallState, CancelReason, Ending, Input};
use crate::message::ResultStatus;
use crate::parameters::{Parameters, shown_parameters};
use crate::payload::Digest;
use crate::tool::{Bound, EffectClass, ToolError, ToolReturn, ToolSpec};

impl StepIterator {
    /// Sends calls whose intents, marks and `allow`s are durable, as far as their class asks for it.
    pub(super) fn send(&mut self, calls: &[CallId]) {
        let Some(agent) = self.agent.clone() else { return };
        let mut out = Vec::new();
        for id in calls {
            let Some(call) = self.call(id) else { continue };
            let startable = matches!(call.state, CallState::Approved | CallState::Preparing);
            if !startable {
                continue;
            }
            self.feed(Input::Call { call: id.clone(), input: CallInput::Sent });
            let (Some(spec), Ok(tool)) = (agent.tool(&call.tool), call.tool.parse::<ToolName>()) else {
                let input = self.gone(&call);
                self.feed(Input::Call { call: id.clone(), input });
                continue;
            };
            out.push(self.call_out(&agent, spec, id.clone(), tool, self.arguments_of(id)));
            self.early.taken(id);
        }
        if !out.is_empty() {
            self.out.extend(out.iter().map(|call| call.id.clone()));
            let stream = self.stream_of_calls();
            self.actions.push_back(Action::RunCalls { calls: out, stream });
            self.keep_before();
        }
    }

    /// The stream in which calls that are sent now are shown.
    fn stream_of_calls(&mut self) -> u32 {
        if self.mind.draft.streamed.is_some() {
            return self.streams;
        }
        *self.mind.calls_stream.get_or_insert_with(|| {
            self.streams = self.streams.saturating_add(1);
            self.streams
        })
    }

    /// A call as its tool gets it.
    pub(super) fn call_out(
        &self,
        agent: &AgentSpec,
        spec: &ToolSpec,
        id: CallId,
        tool: ToolName,
        arguments: String,
    ) -> CallOut {
        CallOut {
            idempotency_key: self.idempotency_key(&id, &tool, &arguments),
            id,
            tool,
            arguments,
            timeout_ms: spec.timeout_ms.map_or(Some(agent.limits.tool_timeout_ms), Bound::limit),
            state: self.mind.machine.custom.clone(),
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
        self.out.remove(id);
        let out = |state: &CallState| matches!(state, CallState::Executing | CallState::CleaningUp);
        let Some(call) = self.call(id).filter(|call| out(&call.state)) else { return };
        let stopping = call.state == CallState::CleaningUp;
        let why = result.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let ends = self.mind.machine.state.batch().is_some_and(|batch| batch.stopping.is_some());
        let broken = self.mind.machine.turn.broken;
        let acts = call.effect != EffectClass::ReadOnly;
        let came_back = acts && matches!(result, Ok(_) | Err(ToolError::Failed(_)));
        let input = self.input_of(&call, result, stopping);
        self.amend(id, |result| {
            result.duration_ms = Some(duration_ms);
            // It may have acted, whatever is said of it.
            if came_back && !result.was_sent() {
                result.sent = Some(true);
            }
        });
        self.feed(Input::Call { call: id.clone(), input });
        if !ends {
            self.note_broken(broken, &why);
        }
    }

    fn input_of(&mut self, call: &Call, result_: Result<ToolReturn, ToolError>, stopping: bool) -> CallInput {
        let result_ = result_.map(|returned| match returned {
            ToolReturn::After { delay, output } => ToolReturn::After { delay, output: output.told_later() },
            ToolReturn::Output(_) => returned,
        });
        match result_ {
            Ok(ToolReturn::Output(output) | ToolReturn::After { output, .. })
                if says_error(&output.content) =>
            {
                self.keep_bounded(call, ResultStatus::Error, output.content);
                CallInput::Returned { ok: false, stop: false, broken: false }
            }
            Ok(ToolReturn::Output(output)) => {
                self.keep_output(call, output.content, output.changes);
                self.show(&call.id, output.images);
                if let Some(ended) = self.mind.ended.get_mut(&call.id) {
                    ended.result.stop = output.stop && ended.result.status == ResultStatus::Done;
                }
                let ok = self.is_done(&call.id);
                CallInput::Returned { ok, stop: output.stop, broken: false }
            }
            Ok(ToolReturn::After { output, .. }) if bytes_of(&output) > self.deferred_bytes_max() => {
                let text = format!(
                    "a result to be given later has {} bytes, at most {} are allowed",
                    bytes_of(&output),
                    self.deferred_bytes_max()
                );
                self.keep_result(result(call, ResultStatus::Error, text, self.edited(call)));
                CallInput::Returned { ok: false, stop: false, broken: false }
            }
            Ok(ToolReturn::After { output, .. }) if !self.takes(call, &output.changes) => {
                self.keep_output(call, output.content, output.changes);
                CallInput::Returned { ok: false, stop: false, broken: false }
            }
            Ok(ToolReturn::After { delay, output }) => {
                self.mind.draft.decided = true;
                self.note_changes(call, output.changes);
                CallInput::Deferred {
                    until: self.now.after(delay),
                    output: output.content,
                    stop: output.stop,
                }
            }
            Err(ToolError::Failed(text)) => {
                self.keep_bounded(call, ResultStatus::Error, text);
                CallInput::Returned { ok: false, stop: false, broken: false }
            }
            Err(ToolError::NotRun(why)) => {
                self.not_run(call, NotRun { why, sent: false, wait: None }, stopping)
            }
            Err(ToolError::Transient { detail: why, wait }) => {
                self.not_run(call, NotRun { why, sent: false, wait }, stopping)
            }
            Err(ToolError::Lost(why)) => self.not_run(call, NotRun { why, sent: true, wait: None }, stopping),
        }
    }

    /// The largest output that a call may leave to be given later: it is kept in the state.
    fn deferred_bytes_max(&self) -> usize {
        let limit = self.agent.as_ref().map_or(usize::MAX, |agent| agent.limits.result_bytes_max);
        limit.min(DEFERRED_OUTPUT_BYTES_MAX)
    }

    pub(super) fn cancel(&mut self, call: &Call) -> CallInput {
        let stopping = self.mind.machine.state.batch().and_then(|batch| batch.stopping.as_ref());
        let reason = stopping.map_or(CancelReason::UserCancelled, Ending::cancels_as);
        let told = if stopping.is_some() { cancelled(reason) } else { stopped_alone() };
        self.keep_result(result(call, ResultStatus::Cancelled, told, self.edited(call)));
        CallInput::Cancelled { reason }
    }

    /// What the result of a call that is done shows stands beside what it says.
    pub(super) fn show(&mut self, call: &CallId, images: Images) {
        if !images.is_empty() && self.is_done(call) {
            self.amend(call, |result| result.images = images);
        }
    }

    pub(super) fn is_done(&self, call: &CallId) -> bool {
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

    /// What a transition means for calls: events, and pending calls to close.
    pub(super) fn note_calls(&mut self, before: &Batch, after: &Batch) {
        for (was, is) in before.calls.iter().zip(&after.calls) {
            if let Some(pending) = was.state.pending().filter(|open| is.state.pending() != Some(*open)) {
                self.close(pending.clone());
            }
            if let (CallState::Waiting { output, again, .. }, CallState::Cancelled { reason }) =
                (&was.state, &is.state)
            {
                self.keep_result(ended_waiting(is, *reason, output, *again, self.edited(is)));
            }
            // With its start mark, so that whoever looks on sees it before it comes back: told once.
            let sends = is.state == CallState::Preparing || is.state == CallState::Executing;
            let starts = sends && was.state == CallState::Approved;
            let settles = is.state.is_end() || is.state.is_parked();
            if is.state != was.state && (starts || settles) {
                self.tell_of(is, starts);
            }
        }
    }

    /// Says that a call is in a new state: with its parameters in short when it starts, with how long it was out
    /// once it came back.
    fn tell_of(&mut self, call: &Call, starts: bool) {
        let (is, parameters) = match starts {
            true => (CallState::Executing.name(), shown_parameters(&self.arguments_of(&call.id))),
            false => (call.state.name(), Parameters::default()),
        };
        let ended = self.mind.ended.get(&call.id).filter(|_| call.state.is_end());
        let duration_ms = ended.and_then(|ended| ended.result.duration_ms);
        let (id, tool, is) = (call.id.clone(), call.tool.clone(), is.to_owned());
        self.emit(Event::Call { call: id, tool, is, parameters, duration_ms });
    }

    /// Nobody was told yet that it starts, and it does not.
    pub(super) fn untell_start(&mut self, call: &CallId) {
        let told = |event: &Event| {
            matches!(event, Event::Call { call: told, is, .. }
                if told == call && is == CallState::Executing.name())
        };
        self.mind.draft.events.retain(|event| !told(event));
    }

    fn close(&mut self, pending: PendingId) {
        let drafted = self.mind.draft.open.iter().position(|new| new.id == pending);
        match drafted {
            // Nobody has seen it: it is never opened.
            Some(at) => {
                self.mind.draft.open.remove(at);
                let told =
                    |event: &Event| matches!(event, Event::Asked { pending: asked, .. } if *asked == pending);
                self.mind.draft.events.retain(|event| !told(event));
            }
            None => self.mind.draft.close.push(pending),
        }
    }
}
