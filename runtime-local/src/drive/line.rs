//! The line between a call and its run: the call reports progress on it, and the run asks the call to stop.

use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use holdover_core::ending::CancelReason;
use holdover_core::store::{StoreError, StoreErrorKind};
use holdover_core::tool::{CallHandle, CallLink, CallTransaction, Progress, StopRequest};
use tokio::sync::watch;
use tokio::time::Instant;

use super::transactions::Lender;

/// A request of the run to stop a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) request: StopRequest,
    /// The instant until which the call may return by itself.
    pub(super) grace_ends: Instant,
    /// The instant until which the run waits for the call.
    pub(super) given_up: Instant,
}

impl Stop {
    /// Returns a request that the call may heed until `until`. `after` is the time that the run waits after that, to
    /// find out whether a call that did not heed the request has acted.
    pub(super) fn by(until: Instant, after: Duration, reason: CancelReason) -> Self {
        let grace = until.saturating_duration_since(Instant::now());
        Self { request: StopRequest { reason, grace }, grace_ends: until, given_up: until + after }
    }

    /// Returns a request for a call whose result nobody wants. Its future is dropped at once.
    pub(super) fn at_once(given_up: Instant) -> Self {
        Self { request: StopRequest::GONE, grace_ends: Instant::now(), given_up }
    }
}

/// The run's end of the line.
pub(super) struct Line {
    stop: watch::Sender<Option<Stop>>,
    reports: Reports,
    /// The way to a transaction, if the call may have one.
    lender: Option<Lender>,
}

impl Line {
    pub(super) fn new() -> Self {
        let (stop, reports) = (watch::Sender::new(None), Reports(watch::Sender::new(None)));
        Self { stop, reports, lender: None }
    }

    /// Returns the line of a call that may have a transaction.
    pub(super) fn lending(lender: Lender) -> Self {
        Self { lender: Some(lender), ..Self::new() }
    }

    pub(super) fn lender(&self) -> Option<&Lender> {
        self.lender.as_ref()
    }

    /// Asks the call to stop. A later request replaces an earlier one.
    pub(super) fn stop(&self, stop: Stop) {
        self.stop.send_replace(Some(stop));
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.borrow().is_some()
    }

    /// Returns a receiver of requests to stop.
    pub(super) fn stops(&self) -> watch::Receiver<Option<Stop>> {
        self.stop.subscribe()
    }

    pub(super) fn reports(&self) -> Reports {
        self.reports.clone()
    }

    /// Returns the tool's end of the line.
    pub(super) fn handle(&self) -> CallHandle {
        CallHandle::new(Link { stops: self.stops(), reports: self.reports(), lender: self.lender.clone() })
    }
}

/// The reports of a call that were not shown yet, merged into one.
#[derive(Clone)]
pub(super) struct Reports(watch::Sender<Option<Progress>>);

impl Reports {
    fn add(&self, progress: Progress) {
        self.0.send_modify(|waiting| waiting.get_or_insert_default().add(progress));
    }

    /// Waits for a report, and takes all that came until then.
    pub(super) async fn take(&self) -> Progress {
        let mut news = self.0.subscribe();
        loop {
            let mut taken = None;
            self.0.send_if_modified(|waiting| {
                taken = waiting.take();
                false
            });
            if let Some(taken) = taken {
                return taken;
            }
            // This value holds a sender, so the channel is open.
            let _ = news.changed().await;
        }
    }
}

/// The tool's end of the line.
struct Link {
    stops: watch::Receiver<Option<Stop>>,
    reports: Reports,
    lender: Option<Lender>,
}

impl CallLink for Link {
    fn report(&self, progress: Progress) {
        self.reports.add(progress);
    }

    fn stop_request(&self) -> Option<StopRequest> {
        let asked = self.stops.borrow().map(|stop| stop.request);
        asked.or_else(|| self.stops.has_changed().is_err().then_some(StopRequest::GONE))
    }

    fn stopped(&self) -> BoxFuture<'static, StopRequest> {
        let mut stops = self.stops.clone();
        async move {
            let asked = stops.wait_for(Option::is_some).await.ok().and_then(|stop| *stop);
            asked.map_or(StopRequest::GONE, |stop| stop.request)
        }
        .boxed()
    }

    fn begin(&self) -> BoxFuture<'static, Result<CallTransaction, StoreError>> {
        match &self.lender {
            Some(lender) => lender.begin(),
            None => {
                let detail = "only idempotent calls of flows have transactions";
                ready(Err(StoreError::new(StoreErrorKind::Unsupported, "begin", detail))).boxed()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn b33_a_handle_tells_of_a_request_to_stop_and_of_a_call_that_is_over() {
        let line = Line::new();
        let handle = line.handle();
        assert_eq!(handle.stop_request(), None);
        assert!(handle.stopped().now_or_never().is_none());
        line.stop(Stop::by(Instant::now(), Duration::ZERO, CancelReason::UserCancelled));
        let request = StopRequest { reason: CancelReason::UserCancelled, grace: Duration::ZERO };
        assert_eq!((handle.stop_request(), handle.stopped().await), (Some(request), request));

        let line = Line::new();
        let handle = line.handle();
        drop(line);
        assert_eq!(
            (handle.stop_request(), handle.stopped().await),
            (Some(StopRequest::GONE), StopRequest::GONE)
        );
    }

    #[tokio::test]
    async fn a50_reports_are_taken_once_and_together() {
        let line = Line::new();
        let handle = line.handle();
        handle.report("a");
        handle.report(Progress::text("b").of(1, None));
        assert_eq!(line.reports().take().await, Progress::text("a\nb").of(1, None));
        assert!(line.reports().take().now_or_never().is_none());
        handle.report("x".repeat(100_000));
        assert_eq!(line.reports().take().await.message.len(), 4_096, "a report is bounded");
        let reports = line.reports();
        let (taken, ()) = tokio::join!(reports.take(), async {
            tokio::task::yield_now().await;
            handle.report("c");
        });
        assert_eq!(taken, Progress::text("c"));
    }
}
