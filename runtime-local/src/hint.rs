//! Listens for changes without missing one: first listen, then read, then wait.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt, MaybeDone, maybe_done};
use futures::poll;
use holdover_core::store::{StateStore, Watch};
use tokio::time::{Instant, sleep};

/// A wait for changes that is already listening.
pub(crate) struct Hint {
    news: Pin<Box<MaybeDone<BoxFuture<'static, bool>>>>,
}

impl Hint {
    /// Starts to listen. From then on, [`heard`](Self::heard) sees every change, or returns after `at_most`.
    pub(crate) async fn listen(store: &Arc<dyn StateStore>, watch: Watch, at_most: Duration) -> Self {
        let store = Arc::clone(store);
        let news = async move {
            let began = Instant::now();
            if store.wait_for_change(watch, at_most).await.is_err() {
                // A store that cannot hint is polled.
                sleep(at_most).await;
            }
            began.elapsed() < at_most
        };
        let mut news = Box::pin(maybe_done(news.boxed()));
        // The result is used when `heard` is called.
        let _ = poll!(news.as_mut());
        Self { news }
    }

    /// Creates a wait that hears nothing and is over after `at_most`.
    pub(crate) fn deaf(at_most: Duration) -> Self {
        let silence = async move {
            sleep(at_most).await;
            false
        };
        Self { news: Box::pin(maybe_done(silence.boxed())) }
    }

    /// Returns true once something may have changed, and false when the time is over. The future may be dropped and
    /// created again.
    pub(crate) async fn heard(&mut self) -> bool {
        self.news.as_mut().await;
        self.news.as_mut().take_output().unwrap_or(false)
    }
}
