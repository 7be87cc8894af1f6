//! Runs work in isolation from everything else.

use std::any::Any;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::harness::StoreHarness;
use crate::world::Worlds;

/// The threads of a runtime.
const THREADS: usize = 4;

/// How long work that is given up may take to come to an await, where it ends.
const GIVE_UP_TIME_MAX: Duration = Duration::from_secs(5);

/// How long the harness may take to end with all that is left behind.
const CLEAR_TIME_MAX: Duration = Duration::from_secs(60);

/// How work ended.
pub(crate) enum Ended<T> {
    Done(T),
    /// With what was said.
    Panicked(String),
    OutOfTime,
    NotBegun(std::io::Error),
}

/// Does work with a harness in a runtime of its own, so that neither a panic nor a thread that never comes back
/// reaches anybody else. Then the harness ends with what the work leaves behind. What hangs is left, once `late`
/// was called.
pub(crate) fn isolated<H: StoreHarness, T: Send + 'static, F: Future<Output = T> + Send>(
    make: impl FnOnce() -> H + Send + 'static,
    time_max: Duration,
    late: impl FnOnce(),
    work: impl FnOnce(Arc<Worlds<H>>) -> F + Send + 'static,
) -> Ended<T> {
    let runtime = match Builder::new_multi_thread().worker_threads(THREADS).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Ended::NotBegun(error),
    };
    let (lend, lent) = mpsc::channel();
    let task = runtime.spawn(async move {
        let worlds = Worlds::new(make());
        // Whoever listens does so until the work has ended.
        let _ = lend.send(Arc::clone(&worlds));
        work(worlds).await
    });
    let give_up = task.abort_handle();
    let (tell, told) = mpsc::channel();
    runtime.spawn(async move {
        // Nobody listens to work that was given up and hangs.
        let _ = tell.send(task.await);
    });
    let ended = match told.recv_timeout(time_max) {
        Ok(Ok(done)) => Ended::Done(done),
        Ok(Err(ended)) => Ended::Panicked(
            ended.try_into_panic().map_or_else(|error| error.to_string(), |panic| said(&*panic)),
        ),
        Err(_) => {
            late();
            give_up.abort();
            Ended::OutOfTime
        }
    };
    if give_up.is_finished() || told.recv_timeout(GIVE_UP_TIME_MAX.min(time_max)).is_ok() {
        clear(&runtime, lent.try_iter().next());
    }
    runtime.shutdown_background();
    ended
}

/// Ends with what is left behind, in its runtime.
fn clear<H: StoreHarness>(runtime: &Runtime, worlds: Option<Arc<Worlds<H>>>) {
    let Some(worlds) = worlds else { return };
    let (tell, told) = mpsc::channel();
    runtime.spawn(async move {
        worlds.dispose().await;
        // Nobody listens any more when this took too long.
        let _ = tell.send(());
    });
    // It says nothing if the harness panics, or takes too long: the work has ended all the same.
    let _ = told.recv_timeout(CLEAR_TIME_MAX);
}

/// What a panic said.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it said nothing").to_owned()
}
