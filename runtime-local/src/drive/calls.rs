//! The tool calls of a run: those that are in flight, those that wait for the lease, and those that are being stopped.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use holdover_core::ending::CancelReason;
use holdover_core::engine::{CallOut, Drain, Reply};
use holdover_core::hook::ToolEnded;
use holdover_core::ids::{CallId, SessionKey};
use holdover_core::time::Timestamp;
use holdover_core::tool::{ToolCall, ToolError, ToolReturn};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Driver;
use super::deltas::Written;
use super::done::Done;
use super::early::Brought;
use super::line::{Line, Stop};
use super::phases::{ASK_STOPPED, Sending};
use super::running::{Places, Running, Streams};
use super::transactions::Lender;
use crate::arguments::parse_arguments;
use crate::hooks::Hooks;

pub(super) const STOPPED_UNSENT: &str = "it was stopped before it was sent";

/// The calls that are in flight, and those that wait for the lease.
#[derive(Default)]
pub(super) struct Calls {
    out: HashMap<CallId, Line>,
    held: Vec<CallOut>,
    streams: Streams,
    /// Cancelled once no call is sent any more.
    closed: CancellationToken,
    places: Places,
}

impl Calls {
    /// Forgets a call that came back, and returns its line. Returns `None` if the call was not out.
    pub(super) fn over(&mut self, call: &CallId) -> Option<Line> {
        self.out.remove(call)
    }

    /// Returns the way of a call to a transaction, unless the call is not out or was asked to stop.
    pub(super) fn lender(&self, call: &CallId) -> Option<Lender> {
        self.out.get(call).filter(|line| !line.is_stopped()).and_then(Line::lender).cloned()
    }

    /// Forgets a call that was not sent after all. Returns true if it was told to stop meanwhile.
    fn unsent(&mut self, call: &CallId) -> bool {
        self.out.remove(call).is_some_and(|line| line.is_stopped())
    }
}

impl Driver {
    /// Sends calls. Each call checks the lease itself, for the last time just before its effect. If the lease has
    /// ended by then, the call comes back unsent and waits for the renewal of the lease.
    pub(super) fn run_calls(&mut self, calls: Vec<CallOut>, streams: Streams) {
        self.calls.streams = streams;
        for call in calls {
            self.send_call(call);
        }
    }

    /// Takes back a call that was not sent, because the lease had ended or because no call is sent any more. In the
    /// first case, the call waits for the renewal of the lease. If it was told to stop meanwhile, it is never sent.
    pub(super) fn came_back_unsent(&mut self, call: CallOut) {
        self.tell_over(&call.id);
        if self.calls.unsent(&call.id) {
            self.not_run(call.id, String::from(STOPPED_UNSENT));
        } else if self.calls.closed.is_cancelled() {
            self.apply(Reply::CallUnsent { call: call.id });
        } else {
            self.hold(call);
        }
    }

    /// Tells the run to leave. Unless the turn is to end first, a provisioner that fails is not asked again. With
    /// [`Drain::Calls`], calls that wait for the lease are not sent either.
    pub(super) fn drain(&mut self, drain: Drain) {
        if drain != Drain::Turn {
            self.provisioning.cancel();
        }
        if drain == Drain::Calls {
            self.calls.closed.cancel();
        }
        self.apply(Reply::Drain(drain));
        if self.calls.closed.is_cancelled() {
            for call in std::mem::take(&mut self.calls.held) {
                self.apply(Reply::CallUnsent { call: call.id });
            }
        }
    }

    /// Tells the observer that a call is not out any more.
    pub(super) fn tell_over(&self, call: &CallId) {
        if let Some(observer) = self.observer() {
            observer.on_call_over(&self.fence.key, call);
        }
    }

    fn hold(&mut self, call: CallOut) {
        tracing::debug!(run = %self.fence, call = %call.id, "the lease has ended: renewing before it is sent");
        self.calls.held.push(call);
        self.renewal.now();
    }

    pub(super) fn send_held(&mut self) {
        if self.lease.runs() {
            let held = std::mem::take(&mut self.calls.held);
            self.run_calls(held, self.calls.streams);
        } else if !self.calls.held.is_empty() {
            self.renewal.now();
        }
    }

    fn send_call(&mut self, call: CallOut) {
        if let Some(begun) = self.early.take(&call) {
            let (line, brings) = begun.out();
            return self.let_out(call, line, brings);
        }
        let line = self.lender(&call).map_or_else(Line::new, Line::lending);
        match self.sending(&call, &line) {
            Ok(sending) => {
                let put_away = self.early.are_put_away();
                self.let_out(call, line, sending.timed_after(put_away));
            }
            // A second attempt would fail in the same way.
            Err(detail) => self.failed(call.id, format!("not run: {detail}")),
        }
    }

    /// Prepares a call for sending, or returns the reason why it cannot be sent.
    pub(super) fn sending(&self, call: &CallOut, line: &Line) -> Result<Sending, String> {
        let sent = Instant::now();
        let equipped = self.agent.as_ref().and_then(|agent| agent.tool(&call.tool));
        let equipped = &equipped.ok_or_else(|| format!("there is no tool {}", call.tool))?.tool;
        let tool = self.child_tool(call.tool.as_str(), equipped).unwrap_or_else(|| Arc::clone(equipped));
        let request = self.request(call, line)?;
        let (lease, closed) = (self.lease.clone(), self.calls.closed.clone());
        Ok(Sending { tool, call: request, lease, closed, sent, stop: line.stops() })
    }

    /// Counts the call as out, and sends its result back once hooks have seen it.
    fn let_out(&mut self, call: CallOut, line: Line, brings: impl Future<Output = Brought> + Send + 'static) {
        let id = call.id.clone();
        let hooks = self.agent.as_ref().map(|agent| agent.hooks().clone()).unwrap_or_default();
        let (stops, running) = (line.stops(), self.running(&call, &line));
        self.calls.out.insert(id.clone(), line);
        if let Some(observer) = self.observer() {
            observer.on_call_sent(&self.fence.key, &id, &call.tool);
        }
        let session = self.fence.key.clone();
        self.send(async move {
            let brought = match running {
                Some(running) => running.while_out(brings).await,
                None => brings.await,
            };
            let Some((result, out)) = brought else { return Done::CallHeld(call) };
            let back = Instant::now();
            let result = looked_at(&hooks, session, call, result, stops).await;
            Done::CallEnded { call: id, result, took: out.saturating_add(back.elapsed()) }
        });
    }

    /// Returns the writer of the deltas that show a call in flight, or `None` if no deltas are written.
    fn running(&self, call: &CallOut, line: &Line) -> Option<Running> {
        let every = self.cx.host.options().delta_interval?;
        let message = self.steps.machine().state.batch().map(|batch| batch.message).unwrap_or_default();
        Some(Running {
            store: Arc::clone(&self.store),
            fence: self.fence.clone(),
            streams: self.calls.streams,
            places: self.calls.places.clone(),
            asked: Written::new(message, self.written.subscribe()),
            call: call.id.clone(),
            tool: call.tool.clone(),
            reports: line.reports(),
            observer: self.cx.host.options().observer.clone(),
            every,
        })
    }

    fn request(&self, call: &CallOut, line: &Line) -> Result<ToolCall, String> {
        Ok(ToolCall {
            session: self.fence.key.clone(),
            id: call.id.clone(),
            idempotency_key: call.idempotency_key.clone(),
            arguments: parse_arguments(&call.arguments)?,
            timeout: call.timeout_ms.map(Duration::from_millis),
            state: call.state.clone(),
            handle: line.handle(),
        })
    }

    fn not_run(&mut self, call: CallId, detail: String) {
        self.answered(call, ToolError::NotRun(detail));
    }

    fn failed(&mut self, call: CallId, detail: String) {
        self.answered(call, ToolError::Failed(detail));
    }

    fn answered(&mut self, call: CallId, error: ToolError) {
        let result = Err(error);
        self.send(async move { Done::Reply(Reply::CallEnded { call, result, duration_ms: 0 }) });
    }

    /// Stops calls. If a call returns before it is stopped, its result counts.
    pub(super) fn stop_calls(&mut self, calls: &[CallId], reason: CancelReason, until: Timestamp) {
        let stop = Stop::by(self.clock.instant(until), ASK_STOPPED, reason);
        for call in calls {
            if let Some(at) = self.calls.held.iter().position(|held| held.id == *call) {
                self.calls.held.remove(at);
                self.not_run(call.clone(), String::from(STOPPED_UNSENT));
            } else if let Some(line) = self.calls.out.get(call) {
                line.stop(stop);
            }
        }
    }
}

/// Returns the result as the hooks leave it. A turn that is being stopped does not wait longer for hooks than for
/// calls.
async fn looked_at(
    hooks: &Hooks,
    session: SessionKey,
    call: CallOut,
    result: Result<ToolReturn, ToolError>,
    mut stop: watch::Receiver<Option<Stop>>,
) -> Result<ToolReturn, ToolError> {
    if !hooks.look_at_results_of(&call.tool) {
        return result;
    }
    let CallOut { id, tool, arguments, .. } = call;
    let told = match result.as_ref().map(ToolReturn::output) {
        Ok(Some(output)) => Ok(output.clone()),
        // A call that waits for a signal has no result yet.
        Ok(None) => return hooks.unseen(&tool, result, "hooks are not shown the body of a signal"),
        Err(error) => Err(error.clone()),
    };
    let ended = ToolEnded { session, call: id, tool: tool.clone(), arguments, result: told };
    let stopped = async move {
        match stop.wait_for(Option::is_some).await.map(|stopped| *stopped) {
            Ok(Some(stop)) => sleep_until(stop.given_up).await,
            Ok(None) | Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        result = hooks.after_tool(ended, result.clone()) => result,
        () = stopped => hooks.unseen(&tool, result, "the turn is being stopped"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_was_told_to_stop_before_it_was_sent_is_not_sent_later() {
        let id = CallId::new("call").unwrap();
        let mut calls = Calls::default();
        for stopped in [false, true] {
            let line = Line::new();
            if stopped {
                line.stop(Stop::at_once(Instant::now()));
            }
            calls.out.insert(id.clone(), line);
            assert_eq!(calls.unsent(&id), stopped);
            assert!(calls.over(&id).is_none());
        }
    }
}
