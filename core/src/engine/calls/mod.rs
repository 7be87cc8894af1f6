//! The calls of a step: sends them, takes their results, and reports them as events.

use crate::engine::DEFERRED_OUTPUT_BYTES_MAX;
use crate::engine::action::{Action, CallOut};
use crate::engine::calls::broken::NotRun;
use crate::engine::calls::custom::bytes_of;
use crate::engine::calls::results::{cancelled, ended_waiting, result, says_error, stopped_alone};
use crate::engine::context::Context;
use crate::engine::context::run::Run;
use crate::engine::mind::Mind;
use crate::machine::{Batch, Call, CallState};
use crate::words::agent::AgentSpec;
use crate::words::ending::Ending;
use crate::words::event::Event;
use crate::words::history::{CallInput, Input};
use crate::words::ids::{CallId, PendingId, ToolName};
use crate::words::image::Images;
use crate::words::message::ResultStatus;
use crate::words::parameters::{Parameters, shown_parameters};
use crate::words::payload::Digest;
use crate::words::signal::SignalName;
use crate::words::tool::{Bound, EffectClass, ToolError, ToolReturn, ToolSpec};

pub(crate) mod answers;
pub(crate) mod broken;
pub(crate) mod custom;
pub(crate) mod doubts;
pub(crate) mod early;
pub(crate) mod recovery;
pub(crate) mod results;
pub(crate) mod signals;
pub(crate) mod staging;
pub(crate) mod stopping;
pub(crate) mod unsent;

/// The handler of the calls of a step.
pub(crate) struct CallsHandler<'a> {
    pub(crate) cx: &'a mut Context,
}

impl CallsHandler<'_> {
    /// Sends calls. Their intents, marks and approvals must be durable, as far as their effect class requires it.
    pub(crate) fn send(&mut self, calls: &[CallId]) {
        let Some(agent) = self.cx.run.agent.clone() else { return };
        let mut out = Vec::new();
        for id in calls {
            let Some(call) = self.cx.mind.call(id) else { continue };
            let startable = matches!(call.state, CallState::Approved | CallState::Preparing);
            if !startable {
                continue;
            }
            self.cx.feed(Input::Call { call: id.clone(), input: CallInput::Sent });
            let (Some(spec), Ok(tool)) = (agent.tool(&call.tool), call.tool.parse::<ToolName>()) else {
                let input = self.gone(&call);
                self.cx.feed(Input::Call { call: id.clone(), input });
                continue;
            };
            out.push(self.call_out(&agent, spec, id.clone(), tool, self.cx.mind.arguments_of(id)));
            self.cx.out.early.taken(id);
        }
        if !out.is_empty() {
            self.cx.out.calls.extend(out.iter().map(|call| call.id.clone()));
            let own = self.own_stream();
            let stream = self.cx.mind.draft.streamed.unwrap_or(own);
            self.cx.output.push(Action::RunCalls { calls: out, stream, own });
            self.cx.output.irrevocable = true;
        }
    }

    /// Returns the stream of the calls of this step. It ends with the step.
    fn own_stream(&mut self) -> u32 {
        *self.cx.mind.step.stream.get_or_insert_with(|| {
            self.cx.output.streams = self.cx.output.streams.saturating_add(1);
            self.cx.output.streams
        })
    }

    /// Builds a call as its tool receives it.
    pub(crate) fn call_out(
        &self,
        agent: &AgentSpec,
        spec: &ToolSpec,
        id: CallId,
        tool: ToolName,
        arguments: String,
    ) -> CallOut {
        CallOut {
            idempotency_key: self.cx.run.idempotency_key(&id, &tool, &arguments),
            id,
            tool,
            arguments,
            timeout_ms: spec.timeout_ms.map_or(Some(agent.limits.tool_timeout_ms), Bound::limit),
            state: self.cx.mind.machine.custom.clone(),
        }
    }

    pub(crate) fn on_call_ended(
        &mut self,
        id: &CallId,
        result: Result<ToolReturn, ToolError>,
        duration_ms: u64,
    ) {
        self.cx.out.calls.remove(id);
        let out = |state: &CallState| matches!(state, CallState::Executing | CallState::CleaningUp);
        let Some(call) = self.cx.mind.call(id).filter(|call| out(&call.state)) else { return };
        let stopping = call.state == CallState::CleaningUp;
        let why = result.as_ref().err().map(ToString::to_string).unwrap_or_default();
        let ends = self.cx.mind.machine.state.batch().is_some_and(|batch| batch.stopping.is_some());
        let broken = self.cx.mind.machine.turn.broken;
        let acts = call.effect != EffectClass::ReadOnly;
        let came_back = acts && matches!(result, Ok(_) | Err(ToolError::Failed(_)));
        let input = self.input_of(&call, result, stopping);
        self.cx.mind.amend(id, |result| {
            result.duration_ms = Some(duration_ms);
            // The call may have acted, even if its result says otherwise.
            if came_back && !result.was_sent() {
                result.sent = Some(true);
            }
        });
        self.cx.feed(Input::Call { call: id.clone(), input });
        if !ends {
            self.note_broken(broken, &why);
        }
    }

    fn input_of(&mut self, call: &Call, result_: Result<ToolReturn, ToolError>, stopping: bool) -> CallInput {
        let now = self.cx.run.now;
        let result_ = match result_ {
            Ok(ToolReturn::Signal { name, .. }) if stopping || self.cx.mind.is_stopping() => {
                return self.cx.mind.cancel_waiting(call, &name);
            }
            Ok(ToolReturn::Signal { name, within }) => {
                self.cx.mind.draft.decided = true;
                let own = within.map(|within| now.after(within));
                return CallInput::NeedsSignal {
                    name,
                    deadline: own.into_iter().chain(self.cx.until()).min(),
                };
            }
            Ok(ToolReturn::Output(output)) => Ok((None, output)),
            Ok(ToolReturn::After { delay, output }) => Ok((Some(now.after(delay)), output.told_later())),
            Ok(ToolReturn::At { instant, output }) => Ok((Some(instant), output.told_later())),
            Err(error) => Err(error),
        };
        // Code that plans reads values, and a value may look like the report of a failure.
        let for_code = self.cx.run.is_planned();
        match result_ {
            Ok((_, output)) if !for_code && says_error(&output.content) => {
                self.keep_bounded(call, ResultStatus::Error, output.content);
                CallInput::Returned { ok: false, stop: false, broken: false }
            }
            Ok((None, output)) => {
                self.keep_output(call, output.content, output.changes);
                self.cx.mind.show(&call.id, output.images);
                if let Some(ended) = self.cx.mind.step.ended.get_mut(&call.id) {
                    ended.result.stop = output.stop && ended.result.status == ResultStatus::Done;
                }
                let ok = self.cx.mind.is_done(&call.id);
                CallInput::Returned { ok, stop: output.stop, broken: false }
            }
            Ok((Some(_), output)) if bytes_of(&output) > self.cx.run.deferred_bytes_max() => {
                let text = format!(
                    "a result to be given later has {} bytes, at most {} are allowed",
                    bytes_of(&output),
                    self.cx.run.deferred_bytes_max()
                );
                self.cx.mind.keep_result(result(call, ResultStatus::Error, text, self.cx.mind.edited(call)));
                CallInput::Returned { ok: false, stop: false, broken: false }
            }
            Ok((Some(_), output)) if !self.takes(call, &output.changes) => {
                self.keep_output(call, output.content, output.changes);
                CallInput::Returned { ok: false, stop: false, broken: false }
            }
            Ok((Some(until), output)) => {
                self.cx.mind.draft.decided = true;
                self.note_changes(call, output.changes);
                CallInput::Deferred { until, output: output.content, stop: output.stop }
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

    pub(crate) fn mark(&mut self, calls: &[CallId]) {
        for call in calls {
            self.cx.feed(Input::Call { call: call.clone(), input: CallInput::Marked });
        }
    }
}

impl Run {
    /// Returns the idempotency key of a call. A read may be sent before the answer that asks for it is durable. If
    /// the run then dies, the model is asked again and may make another call in the same place. So the key contains
    /// a digest of the tool and the arguments (INV-14).
    fn idempotency_key(&self, id: &CallId, tool: &ToolName, arguments: &str) -> String {
        let bytes = Digest::of(format!("{tool}\0{arguments}").as_bytes()).to_string();
        format!("{}.{id}.{}", self.fence.incarnation, &bytes[..16])
    }

    /// Returns the largest size of a deferred result, in bytes. It is limited because the result is kept in the
    /// state.
    fn deferred_bytes_max(&self) -> usize {
        let limit = self.agent.as_ref().map_or(usize::MAX, |agent| agent.limits.result_bytes_max);
        limit.min(DEFERRED_OUTPUT_BYTES_MAX)
    }
}

impl Mind {
    pub(crate) fn cancel(&mut self, call: &Call) -> CallInput {
        let stopping = self.machine.state.batch().and_then(|batch| batch.stopping.as_ref());
        let reason = stopping.map_or(self.stops_alone_as(), Ending::cancels_as);
        let told = if stopping.is_some() { cancelled(reason) } else { stopped_alone(reason) };
        self.keep_result(result(call, ResultStatus::Cancelled, told, self.edited(call)));
        CallInput::Cancelled { reason }
    }

    /// Returns true if the step is being stopped.
    fn is_stopping(&self) -> bool {
        self.machine.state.batch().is_some_and(|batch| batch.stopping.is_some())
    }

    /// Cancels a call that came back and waits for a signal. It may have acted.
    fn cancel_waiting(&mut self, call: &Call, name: &SignalName) -> CallInput {
        let stopping = self.machine.state.batch().and_then(|batch| batch.stopping.as_ref());
        let reason = stopping.map_or(self.stops_alone_as(), Ending::cancels_as);
        self.keep_result(ended_waiting(call, reason, &waits_for(name), false, self.edited(call)));
        CallInput::Cancelled { reason }
    }

    /// Adds pictures to the result of a call that is done.
    pub(crate) fn show(&mut self, call: &CallId, images: Images) {
        if !images.is_empty() && self.is_done(call) {
            self.amend(call, |result| result.images = images);
        }
    }

    pub(crate) fn is_done(&self, call: &CallId) -> bool {
        self.step.ended.get(call).is_some_and(|ended| ended.result.status == ResultStatus::Done)
    }

    pub(crate) fn call(&self, id: &CallId) -> Option<Call> {
        self.machine.state.batch().and_then(|batch| batch.call(id)).cloned()
    }

    pub(crate) fn call_is(&self, id: &CallId, state: &CallState) -> bool {
        self.machine.state.batch().and_then(|batch| batch.call(id)).is_some_and(|call| call.state == *state)
    }

    /// Handles the effects of a transition on calls: emits events, keeps results, and closes pending calls.
    pub(crate) fn note_calls<'a>(&mut self, before: &Batch, after: impl Fn(&CallId) -> Option<&'a Call>) {
        for was in &before.calls {
            let Some(is) = after(&was.id) else { continue };
            if let Some(pending) = was.state.pending().filter(|open| is.state.pending() != Some(*open)) {
                self.close(pending.clone());
            }
            if let (CallState::Waiting { output, again, .. }, CallState::Cancelled { reason }) =
                (&was.state, &is.state)
            {
                self.keep_result(ended_waiting(is, *reason, output, *again, self.edited(is)));
            }
            if let (CallState::AwaitingSignal { name, .. }, CallState::Cancelled { reason }) =
                (&was.state, &is.state)
            {
                let output = waits_for(name);
                self.keep_result(ended_waiting(is, *reason, &output, false, self.edited(is)));
            }
            // The start is reported once, with the start mark, so that followers see it before the call returns.
            let sends = is.state == CallState::Preparing || is.state == CallState::Executing;
            let starts = sends && was.state == CallState::Approved;
            let settles = is.state.is_end() || is.state.is_parked();
            if is.state != was.state && (starts || settles) {
                self.tell_of(is, starts);
            }
        }
    }

    /// Reports that a call is in a new state: with its parameters in short when it starts, and with the time that
    /// it was out when it returns.
    fn tell_of(&mut self, call: &Call, starts: bool) {
        let (is, parameters) = match starts {
            true => (CallState::Executing.name(), shown_parameters(&self.arguments_of(&call.id))),
            false => (call.state.name(), Parameters::default()),
        };
        let ended = self.step.ended.get(&call.id).filter(|_| call.state.is_end());
        let duration_ms = ended.and_then(|ended| ended.result.duration_ms);
        let (id, tool, is) = (call.id.clone(), call.tool.clone(), is.to_owned());
        self.emit(Event::Call { call: id, tool, is, parameters, duration_ms });
    }

    /// Removes the report that a call starts, because it does not start. The report has not been written yet.
    pub(crate) fn untell_start(&mut self, call: &CallId) {
        let told = |event: &Event| {
            matches!(event, Event::Call { call: told, is, .. }
                if told == call && is == CallState::Executing.name())
        };
        self.draft.events.retain(|event| !told(event));
    }

    /// Closes a pending call. One that was not written yet is not opened.
    pub(crate) fn close(&mut self, pending: PendingId) {
        let drafted = self.draft.open.iter().position(|new| new.id == pending);
        match drafted {
            // The pending call was never written, so it is not opened.
            Some(at) => {
                self.draft.open.remove(at);
                let told =
                    |event: &Event| matches!(event, Event::Asked { pending: asked, .. } if *asked == pending);
                self.draft.events.retain(|event| !told(event));
            }
            None => self.draft.close.push(pending),
        }
    }
}

/// Returns what a call says that waits for a signal.
pub(crate) fn waits_for(name: &SignalName) -> String {
    format!("it waits for the signal {name}")
}
