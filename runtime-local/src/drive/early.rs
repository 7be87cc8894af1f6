//! Calls that were begun while the model was still writing. Their results are kept here until the run takes them or
//! drops the calls.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use holdover_core::delta::Delta;
use holdover_core::engine::CallOut;
use holdover_core::ids::CallId;
use holdover_core::time::Timestamp;
use holdover_core::tool::{ToolError, ToolReturn};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::Driver;
use super::line::{Line, Stop};

/// The result of a call, and how long it was in flight. `None` means that the call did not act, because the lease had
/// ended or no call is sent any more.
pub(super) type Brought = Option<(Result<ToolReturn, ToolError>, Duration)>;

/// The calls that were begun early.
pub(super) struct Early {
    begun: HashMap<CallId, Begun>,
    /// The calls that are in flight, including those that are being stopped or cleaned up.
    out: FuturesUnordered<BoxFuture<'static, u64>>,
    /// The numbers of the calls that are in flight. The value is true if the call was dropped.
    left: watch::Sender<BTreeMap<u64, bool>>,
    /// The number of the newest call.
    newest: u64,
}

/// A call that was begun early, and neither taken nor dropped.
pub(super) struct Begun {
    number: u64,
    call: CallOut,
    line: Line,
    brings: oneshot::Receiver<Brought>,
}

impl Begun {
    /// Returns the line to the call, and a future that waits for its result.
    pub(super) fn out(self) -> (Line, impl Future<Output = Brought>) {
        let Self { line, brings, .. } = self;
        (line, async move { brings.await.unwrap_or_default() })
    }
}

impl Default for Early {
    fn default() -> Self {
        Self {
            begun: HashMap::new(),
            out: FuturesUnordered::new(),
            left: watch::Sender::default(),
            newest: 0,
        }
    }
}

impl Early {
    fn begin(&mut self, call: CallOut, line: Line, brings: impl Future<Output = Brought> + Send + 'static) {
        let (tells, told) = oneshot::channel();
        self.newest += 1;
        let number = self.newest;
        self.out.push(Box::pin(async move {
            // The result of a dropped call has no receiver.
            let _ = tells.send(brings.await);
            number
        }));
        self.left.send_modify(|left| {
            left.insert(number, false);
        });
        self.begun.insert(call.id.clone(), Begun { number, call, line, brings: told });
    }

    /// Returns the early call if it was begun exactly as `call` says. An early call with the same id but other data
    /// is stopped.
    pub(super) fn take(&mut self, call: &CallOut) -> Option<Begun> {
        match self.begun.remove(&call.id) {
            Some(begun) if begun.call == *call => Some(begun),
            Some(otherwise) => {
                self.stop(&otherwise, Instant::now());
                None
            }
            None => None,
        }
    }

    fn drop(&mut self, call: &CallId, until: Instant) {
        if let Some(begun) = self.begun.remove(call) {
            self.stop(&begun, until);
        }
    }

    fn stop(&self, begun: &Begun, until: Instant) {
        begun.line.stop(Stop::at_once(until));
        self.left.send_modify(|left| {
            if let Some(dropped) = left.get_mut(&begun.number) {
                *dropped = true;
            }
        });
    }

    pub(super) fn is_any_out(&self) -> bool {
        !self.out.is_empty()
    }

    /// Polls the calls that are in flight, until one of them is finished.
    pub(super) async fn go_on(&mut self) {
        if let Some(through) = self.out.next().await {
            self.left.send_modify(|left| {
                left.remove(&through);
            });
        }
    }

    /// Waits until no call is in flight. The calls make progress only while they are [polled](Self::go_on).
    pub(super) fn none_is_out(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut left = self.left.subscribe();
        async move {
            // An error means that the run is over.
            let _ = left.wait_for(BTreeMap::is_empty).await;
        }
    }

    /// Waits until all calls that were dropped so far are finished, because the next call may have the same id or
    /// touch the same resources. The calls make progress only while they are [polled](Self::go_on).
    pub(super) fn are_put_away(&self) -> impl Future<Output = ()> + Send + 'static {
        let (mut left, newest) = (self.left.subscribe(), self.newest);
        async move {
            // An error means that the run is over.
            let _ = left.wait_for(|left| !left.range(..=newest).any(|(_, dropped)| *dropped)).await;
        }
    }

    /// Stops the calls that are left, and waits until they are finished.
    pub(super) async fn end(&mut self, until: Instant) {
        for (_, begun) in self.begun.drain() {
            begun.line.stop(Stop::at_once(until));
        }
        while self.is_any_out() {
            self.go_on().await;
        }
    }
}

impl Driver {
    /// Begins a call early. If the call cannot be sent, it is not begun, and the error comes when the answer asks
    /// for it.
    pub(super) fn run_early(&mut self, call: CallOut) {
        let line = Line::new();
        if let Ok(sending) = self.sending(&call, &line) {
            tracing::debug!(run = %self.fence, call = %call.id, tool = %call.tool, "begins before the answer is whole");
            let put_away = self.early.are_put_away();
            self.show_early(&call);
            self.early.begin(call, line, sending.timed_after(put_away));
        }
    }

    /// Shows the start of an early call among the deltas of the answer that asks for it.
    fn show_early(&self, call: &CallOut) {
        if let Some(model) = &self.model {
            model.came.show(Delta::CallRunning { call: call.id.clone(), tool: call.tool.clone() });
        }
    }

    pub(super) fn drop_early(&mut self, calls: &[CallId], until: Timestamp) {
        let until = self.clock.instant(until);
        for call in calls {
            tracing::debug!(run = %self.fence, %call, "was begun in vain");
            self.early.drop(call, until);
        }
    }

    /// Ends all calls that were begun early and not taken.
    pub(super) async fn end_early(&mut self) {
        let grace = self.agent.as_ref().map_or(0, |agent| agent.spec().limits.stop_grace_ms);
        self.early.end(Instant::now() + Duration::from_millis(grace)).await;
    }
}
