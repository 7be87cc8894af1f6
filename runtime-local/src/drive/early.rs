//! Calls that were begun while the model was still writing. Their results are kept here until the run takes
//! them with the calls, or drops them.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use holdover_core::engine::CallOut;
use holdover_core::ids::CallId;
use holdover_core::time::Timestamp;
use holdover_core::tool::{ToolError, ToolReturn};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::Driver;

/// The result of a call, and how long it was out. None: the call did not act, because the lease had ended or
/// nothing starts any more.
pub(super) type Brought = Option<(Result<ToolReturn, ToolError>, Duration)>;

/// The calls that were begun early.
pub(super) struct Early {
    begun: HashMap<CallId, Begun>,
    /// Those that are out, and those that are being stopped or cleaned up after.
    out: FuturesUnordered<BoxFuture<'static, u64>>,
    /// These by their numbers, and whether each was dropped.
    left: watch::Sender<BTreeMap<u64, bool>>,
    /// The number of the newest.
    newest: u64,
}

/// One that nobody has taken or dropped.
pub(super) struct Begun {
    number: u64,
    call: CallOut,
    pub(super) stop: watch::Sender<Option<Instant>>,
    brings: oneshot::Receiver<Brought>,
}

impl Begun {
    /// What it brings, once it is there.
    pub(super) async fn brought(self) -> Brought {
        self.brings.await.unwrap_or_default()
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
    fn begin(
        &mut self,
        call: CallOut,
        stop: watch::Sender<Option<Instant>>,
        brings: impl Future<Output = Brought> + Send + 'static,
    ) {
        let (tells, told) = oneshot::channel();
        self.newest += 1;
        let number = self.newest;
        self.out.push(Box::pin(async move {
            // Nobody waits for one that was dropped.
            let _ = tells.send(brings.await);
            number
        }));
        self.left.send_modify(|left| {
            left.insert(number, false);
        });
        self.begun.insert(call.id.clone(), Begun { number, call, stop, brings: told });
    }

    /// What was begun of this call, if it was begun just so.
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
        begun.stop.send_replace(Some(until));
        self.left.send_modify(|left| {
            if let Some(dropped) = left.get_mut(&begun.number) {
                *dropped = true;
            }
        });
    }

    pub(super) fn is_any_out(&self) -> bool {
        !self.out.is_empty()
    }

    /// Lets them go on, until one of them is through.
    pub(super) async fn go_on(&mut self) {
        if let Some(through) = self.out.next().await {
            self.left.send_modify(|left| {
                left.remove(&through);
            });
        }
    }

    /// When none is out any more. They go on only while they are [polled](Self::go_on).
    pub(super) fn none_is_out(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut left = self.left.subscribe();
        async move {
            // An error: the run is over.
            let _ = left.wait_for(BTreeMap::is_empty).await;
        }
    }

    /// Waits until all calls that were dropped so far are gone, because the next call may have the id of one,
    /// or touch the same resources. They go on only while they are [polled](Self::go_on).
    pub(super) fn are_put_away(&self) -> impl Future<Output = ()> + Send + 'static {
        let (mut left, newest) = (self.left.subscribe(), self.newest);
        async move {
            // An error: the run is over.
            let _ = left.wait_for(|left| !left.range(..=newest).any(|(_, dropped)| *dropped)).await;
        }
    }

    /// Stops those that are left, and waits until they are through.
    pub(super) async fn end(&mut self, until: Instant) {
        for (_, begun) in self.begun.drain() {
            begun.stop.send_replace(Some(until));
        }
        while self.is_any_out() {
            self.go_on().await;
        }
    }
}

impl Driver {
    /// Begins a call that may be asked for. One that cannot be sent is not begun: that is said when it is asked for.
    pub(super) fn run_early(&mut self, call: CallOut) {
        let (stop, stopping) = watch::channel(None);
        if let Ok(sending) = self.sending(&call, stopping) {
            tracing::debug!(run = %self.fence, call = %call.id, tool = %call.tool, "begins before the answer is whole");
            let put_away = self.early.are_put_away();
            self.early.begin(call, stop, sending.timed_after(put_away));
        }
    }

    pub(super) fn drop_early(&mut self, calls: &[CallId], until: Timestamp) {
        let until = self.clock.instant(until);
        for call in calls {
            tracing::debug!(run = %self.fence, %call, "was begun in vain");
            self.early.drop(call, until);
        }
    }

    /// Leaves nothing behind of what was begun in vain.
    pub(super) async fn end_early(&mut self) {
        let grace = self.agent.as_ref().map_or(0, |agent| agent.spec().limits.stop_grace_ms);
        self.early.end(Instant::now() + Duration::from_millis(grace)).await;
    }
}
