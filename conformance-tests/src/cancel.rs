//! Futures that abandon an operation in the middle, or pause it there.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use tokio::sync::Notify;

/// A future that polls another one at most `polls` times. It resolves to `None` if the other future was pending each
/// time.
pub(crate) struct PollAtMost<F> {
    future: Pin<Box<F>>,
    polls: usize,
}

impl<F: Future> PollAtMost<F> {
    pub(crate) fn new(polls: usize, future: F) -> Self {
        Self { future: Box::pin(future), polls }
    }
}

impl<F: Future> Future for PollAtMost<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(output) = self.future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        self.polls -= 1;
        if self.polls == 0 { Poll::Ready(None) } else { Poll::Pending }
    }
}

/// A future that advances only when a case polls it, like the task of a process that stalls in between.
pub(crate) struct ByHand<F> {
    future: Pin<Box<F>>,
    woken: Arc<Woken>,
}

/// The waker of the future: it notes a request to be polled again.
#[derive(Default)]
struct Woken(Notify);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

impl<F: Future> ByHand<F> {
    pub(crate) fn new(future: F) -> Self {
        Self { future: Box::pin(future), woken: Arc::default() }
    }

    /// Polls the future once.
    pub(crate) fn poll(&mut self) -> Poll<F::Output> {
        let waker = Waker::from(Arc::clone(&self.woken));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    /// Waits until the future asks to be polled again.
    pub(crate) async fn woken(&mut self) {
        self.woken.0.notified().await;
    }

    /// Runs the future to its end without further pauses.
    pub(crate) async fn rest(self) -> F::Output {
        self.future.await
    }
}
