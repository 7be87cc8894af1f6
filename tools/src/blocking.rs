//! File work on blocking threads. Dropping a call tells its work to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use holdover_core::tool::ToolError;

/// A flag that tells a piece of work that its call was dropped.
#[derive(Clone, Default)]
pub(crate) struct Dropped(Arc<AtomicBool>);

impl Dropped {
    /// Returns a flag that is already set.
    #[cfg(test)]
    pub(crate) fn already() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    /// Fails once the call is dropped. Work calls this from time to time, and before it replaces a file.
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        if self.0.load(Ordering::Acquire) {
            return Err(ToolError::NotRun("the call was dropped".to_owned()));
        }
        Ok(())
    }
}

struct SetOnDrop(Dropped);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Release);
    }
}

/// Runs `work` on a thread for blocking work. Dropping the future makes [`Dropped::check`] fail.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce(&Dropped) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let dropped = Dropped::default();
    let _guard = SetOnDrop(dropped.clone());
    match tokio::task::spawn_blocking(move || work(&dropped)).await {
        Ok(end) => end,
        Err(error) => Err(ToolError::Lost(format!("the worker thread ended: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn dropping_the_call_tells_the_work() {
        let (started, has_started) = tokio::sync::oneshot::channel();
        let (told, was_told) = mpsc::channel();
        let work = blocking(move |dropped| {
            started.send(()).unwrap();
            while dropped.check().is_ok() {
                std::thread::yield_now();
            }
            told.send(()).unwrap();
            Ok(())
        });
        tokio::select! {
            biased;
            _ = work => panic!("it runs until dropped"),
            _ = has_started => {}
        }
        was_told.recv_timeout(Duration::from_secs(20)).expect("the work was told");
    }
}
