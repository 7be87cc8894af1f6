//! Notices that a call of a handler was cancelled while it performs something.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use restate_sdk::prelude::{
    ContextAwakeables as _, ContextSideEffects as _, HandlerResult, Json, ObjectContext, RunFuture as _,
};

/// The call of the handler was cancelled.
pub(crate) struct Cancelled;

/// Performs `act` and journals its result, which must not be an error. If the call of the handler is cancelled meanwhile,
/// drops `act` and returns at once.
///
/// The SDK reads nothing from Restate while it performs something, so a cancellation would be seen only after the end. An
/// awakeable that nobody resolves reads meanwhile. It is no longer polled once `act` has a result, because two futures that
/// wait would take each other's messages.
///
/// After a cancellation, the journal contains the call of `act` without a result. If the handler is repeated, the journal
/// contains the cancellation before any result, so the same happens again.
pub(crate) async fn run_or_cancelled<T, F>(
    ctx: &ObjectContext<'_>,
    name: &'static str,
    act: F,
) -> Result<T, Cancelled>
where
    T: serde::Serialize + serde::de::DeserializeOwned + Send + 'static,
    F: Future<Output = T> + Send,
{
    let over = AtomicBool::new(false);
    let (_, cancelled) = ctx.awakeable::<()>();
    let mut cancelled = pin!(cancelled);
    let performed = ctx.run(|| async {
        let result = act.await;
        over.store(true, Ordering::Relaxed);
        HandlerResult::Ok(Json(result))
    });
    let mut performed = pin!(performed.name(name));
    poll_fn(|task| {
        if let Poll::Ready(result) = performed.as_mut().poll(task) {
            // The only error is a cancellation: `act` returns none.
            return Poll::Ready(result.map(|Json(result)| result).map_err(|_| Cancelled));
        }
        if !over.load(Ordering::Relaxed) && cancelled.as_mut().poll(task).is_ready() {
            return Poll::Ready(Err(Cancelled));
        }
        Poll::Pending
    })
    .await
}
