//! The time limit of a whole flow.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::code::{Begin, Running, lock};
use crate::cx::Cx;

/// Returns code that does the same within a time, counted from its beginning. When the time is over it is told to stop, as by
/// an interrupt: its calls are cancelled, and its undos run.
pub(crate) fn within(begin: Arc<Begin>, time: Duration) -> Arc<Begin> {
    Arc::new(move |cx: Cx, input: &str| {
        let mut running = begin(cx.clone(), input)?;
        let limited: Running = Box::pin(async move {
            let ledger = cx.ledger().clone();
            let mut rings = Some(Box::pin(cx.sleep(time).beside()));
            poll_fn(|task| {
                if let Some(Poll::Ready(rang)) = rings.as_mut().map(|rings| rings.as_mut().poll(task)) {
                    rings = None;
                    if rang.is_ok() {
                        lock(&ledger).run_late(time);
                    }
                }
                let polled: Poll<_> = running.as_mut().poll(task);
                polled
            })
            .await
        });
        Ok(limited)
    })
}
