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

/// The streams in which the calls of a step are shown.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Streams {
    /// The stream in which they are shown first: that of the answer which asks for them, or their own.
    pub(super) now: u32,
    /// The stream of the calls.
    pub(super) own: u32,
}

/// The result of a write of a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Write {
    /// It was written, or only this delta is lost.
    Over,
    /// Its stream has ended.
    Ended,
    /// Another run owns the session.
    Lost,
}

/// The time between two deltas of a call grows by one interval each time that this many have been shown.
const RARER_AFTER: u32 = 200;

/// The writer of the deltas that show readers a running call: once the call has been out for the time `every`, and then
/// its progress, at most once in this time and more rarely if the call lasts. If a write fails, only this delta is
/// lost.
pub(super) struct Running {
    pub(super) store: Arc<dyn StateStore>,
    pub(super) fence: Fence,
    pub(super) streams: Streams,
    pub(super) places: Places,
    /// The message that asks for the calls. It ends the stream of the answer, so nothing is shown in the stream of the
    /// calls before the store has it.
    pub(super) asked: Written,
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
        let (call, tool) = (self.call.clone(), self.tool.clone());
        let mut open = self.show(&Delta::CallRunning { call, tool }).await;
        let mut shown = 1_u32;
        while open || self.observer.is_some() {
            let progress = self.reports.take().await;
            if let Some(observer) = &self.observer {
                observer.on_call_progress(&self.fence.key, &self.call, &progress);
            }
            if open {
                let (call, tool) = (self.call.clone(), self.tool.clone());
                open = self.show(&Delta::CallProgress { call, tool, progress }).await;
            }
            // A follower that comes late reads all deltas, so those of a long call become rarer.
            sleep(self.every.saturating_mul(1 + shown / RARER_AFTER)).await;
            shown = shown.saturating_add(1);
        }
    }

    /// Writes a delta to the stream in which the calls are shown now. Returns false if no more can be shown.
    async fn show(&mut self, delta: &Delta) -> bool {
        loop {
            let is_own = self.streams.now == self.streams.own;
            if is_own {
                self.asked.wait().await;
            }
            match self.write(delta).await {
                Write::Over => return true,
                // The answer is in the store.
                Write::Ended if !is_own => self.streams.now = self.streams.own,
                Write::Ended | Write::Lost => return false,
            }
        }
    }

    async fn write(&self, delta: &Delta) -> Write {
        let Ok(payload) = Payload::json(delta) else { return Write::Over };
        let mut places = self.places.0.lock().await;
        if places.0 != self.streams.now {
            *places = (self.streams.now, UNKNOWN);
        }
        // If the place is not known, the first answer names it.
        for _ in 0..2 {
            // The place stays unknown if this future is dropped while the write is in flight.
            let first = std::mem::replace(&mut places.1, UNKNOWN);
            let batch = DeltaBatch { stream: self.streams.now, first, deltas: vec![payload.clone()] };
            match self.store.append_deltas(&self.fence, batch).await {
                Ok(DeltaOutcome::Appended(_)) => {
                    places.1 = first + 1;
                    return Write::Over;
                }
                Ok(DeltaOutcome::Gap { expected }) => places.1 = expected,
                Ok(DeltaOutcome::Ended) => return Write::Ended,
                Ok(DeltaOutcome::StaleFence) => return Write::Lost,
                Err(error) => {
                    tracing::debug!(run = %self.fence, %error, "a call that is out is not shown");
                    return Write::Over;
                }
            }
        }
        Write::Over
    }
}
