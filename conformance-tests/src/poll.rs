//! Giving an operation up in the middle.

use std::pin::Pin;
use std::task::{Context, Poll};

/// Polls a future at most `polls` times, then gives it up: none if it was pending at each.
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
