//! Shows that a call is running to readers that follow the session from elsewhere.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use holdover_core::delta::Delta;
use holdover_core::ids::{CallId, Fence, ToolName};
use holdover_core::payload::Payload;
use holdover_core::store::{DeltaBatch, DeltaOutcome, StateStore};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, sleep_until};

use super::deltas::Written;
use super::line::Reports;
use crate::clock::far;
use crate::observer::RunObserver;

/// A place that no stream reaches. A write there is refused, and the store's answer names the next place.
const UNKNOWN: u64 = 1 << 40;

/// The next place in the stream in which calls are shown. One call writes at a time.
#[derive(Debug, Default, Clone)]
pub(super) struct Places(Arc<Mutex<(u32, u64)>>);

/// The writer of the deltas that show readers a running call: once the call has been out for the time `every`, and then
/// its progress, at most once in this time. If a write fails, only this delta is lost.
pub(super) struct Running {
    pub(super) store: Arc<dyn StateStore>,
    pub(super) fence: Fence,
    pub(super) stream: u32,
    pub(super) places: Places,
    /// Calls in a stream of their own are shown only once the store has the message that asks for them, because
    /// that message ends the previous stream.
    pub(super) asked: Option<Written>,
    pub(super) call: CallId,
    pub(super) tool: ToolName,
    pub(super) reports: Reports,
    pub(super) observer: Option<Arc<dyn RunObserver>>,
    pub(super) every: Duration,
}

impl Running {
    /// Shows the call as running, unless `brings` is done first.
    pub(super) async fn while_out<T>(self, brings: impl Future<Output = T>) -> T {
        let mut brings = pin!(brings);
        tokio::select! {
            biased;
            brought = &mut brings => brought,
            () = self.tell() => brings.await,
        }
    }

    async fn tell(mut self) {
        sleep_until(far(Instant::now(), self.every)).await;
        if let Some(asked) = &mut self.asked {
            asked.wait().await;
        }
        let (call, tool) = (self.call.clone(), self.tool.clone());
        let mut open = self.show(&Delta::CallRunning { call, tool }).await;
        while open || self.observer.is_some() {
            let progress = self.reports.take().await;
            if let Some(observer) = &self.observer {
                observer.on_call_progress(&self.fence.key, &self.call, &progress);
            }
            if open {
                let (call, tool) = (self.call.clone(), self.tool.clone());
                open = self.show(&Delta::CallProgress { call, tool, progress }).await;
            }
            sleep(self.every).await;
        }
    }

    /// Writes a delta. Returns false if the stream takes no more.
    async fn show(&self, delta: &Delta) -> bool {
        let Ok(payload) = Payload::json(delta) else { return false };
        let mut places = self.places.0.lock().await;
        if places.0 != self.stream {
            *places = (self.stream, UNKNOWN);
        }
        // If the place is not known, the first answer names it.
        for _ in 0..2 {
            // The place stays unknown if this future is dropped while the write is in flight.
            let first = std::mem::replace(&mut places.1, UNKNOWN);
            let batch = DeltaBatch { stream: self.stream, first, deltas: vec![payload.clone()] };
            match self.store.append_deltas(&self.fence, batch).await {
                Ok(DeltaOutcome::Appended(_)) => {
                    places.1 = first + 1;
                    return true;
                }
                Ok(DeltaOutcome::Gap { expected }) => places.1 = expected,
                Ok(refused @ (DeltaOutcome::Ended | DeltaOutcome::StaleFence)) => {
                    tracing::debug!(run = %self.fence, ?refused, "a call that is out is not shown");
                    return false;
                }
                Err(error) => {
                    tracing::debug!(run = %self.fence, %error, "a call that is out is not shown");
                    return true;
                }
            }
        }
        true
    }
}
