//! Releases several tasks once all of them have arrived.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;

/// A barrier that holds tasks until all have arrived. Then the last one continues first, and the others follow in the
/// order in which they arrived. A case that must end the same way every time cannot use the barrier of tokio, which
/// wakes tasks in a random order (each waiter listens at one of several notifiers).
pub(crate) struct FairBarrier {
    missing: AtomicUsize,
    pass: Semaphore,
    tasks: usize,
}

impl FairBarrier {
    pub(crate) fn new(tasks: usize) -> Self {
        Self { missing: AtomicUsize::new(tasks), pass: Semaphore::new(0), tasks }
    }

    /// Returns once all tasks have arrived.
    pub(crate) async fn wait(&self) {
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.pass.add_permits(self.tasks);
        }
        // The semaphore is never closed.
        if let Ok(permit) = self.pass.acquire().await {
            permit.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::FairBarrier;

    #[tokio::test(flavor = "current_thread")]
    async fn nobody_goes_on_before_all_have_come_and_then_the_last_and_the_others_in_turn() {
        const TASKS: usize = 50;
        let (barrier, passed) = (Arc::new(FairBarrier::new(TASKS)), Arc::new(Mutex::new(Vec::new())));
        let tasks = (1..TASKS).map(|task| {
            let (barrier, passed) = (Arc::clone(&barrier), Arc::clone(&passed));
            tokio::spawn(async move {
                barrier.wait().await;
                passed.lock().unwrap().push(task);
            })
        });
        let tasks: Vec<_> = tasks.collect();
        for _ in 0..TASKS {
            tokio::task::yield_now().await;
        }
        assert!(passed.lock().unwrap().is_empty(), "one is missing");
        barrier.wait().await;
        passed.lock().unwrap().push(TASKS);
        futures::future::join_all(tasks).await;
        assert_eq!(*passed.lock().unwrap(), [TASKS].into_iter().chain(1..TASKS).collect::<Vec<_>>());
    }
}
