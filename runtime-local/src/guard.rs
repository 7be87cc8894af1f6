//! Runs foreign code in tasks of its own, so that a panic, a block or a cancellation there does not harm other
//! code.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::FutureExt;
use tokio::task::{JoinError, JoinHandle};

/// A task that is aborted when this handle is dropped, unless it was detached.
pub(crate) struct Guarded<T> {
    task: JoinHandle<T>,
    detached: bool,
}

/// The error of a task that panicked, with its message, or that was stopped.
#[derive(Debug)]
pub(crate) struct Panicked(pub(crate) String);

/// Runs `future` in a task of its own.
pub(crate) fn guarded<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Guarded<T> {
    Guarded { task: tokio::spawn(future), detached: false }
}

impl<T> Guarded<T> {
    /// Lets the task continue without this handle.
    pub(crate) fn detach(mut self) {
        self.detached = true;
    }
}

impl<T> Future for Guarded<T> {
    type Output = Result<T, Panicked>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.task.poll_unpin(context).map_err(|error| Panicked(words(error)))
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        if !self.detached {
            self.task.abort();
        }
    }
}

fn words(error: JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => panic_words(&*panic),
        Err(_) => String::from("its task was stopped"),
    }
}

/// Returns the message of a panic.
pub(crate) fn panic_words(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => String::from("panicked"),
    }
}
