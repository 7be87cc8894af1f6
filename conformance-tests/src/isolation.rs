//! Runs the work of a case in a runtime of its own.

use std::any::Any;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::harness::StoreHarness;
use crate::world::Worlds;

/// The number of worker threads of each runtime.
const THREADS: usize = 4;

/// The maximum time in which abandoned work must reach an await, where it is dropped.
const GIVE_UP_TIME_MAX: Duration = Duration::from_secs(5);

/// The maximum time in which the harness must clean up everything that is left.
const CLEAR_TIME_MAX: Duration = Duration::from_secs(60);

/// The way in which work ended.
pub(crate) enum Ended<T> {
    Done(T),
    /// The panic message.
    Panicked(String),
    OutOfTime,
    NotBegun(std::io::Error),
}

/// Runs work with a harness in a runtime of its own, so that a panic or a thread that never returns affects nothing
/// else. If the work takes longer than `time_max`, `late` is called and the work is abandoned. Afterwards, the harness
/// cleans up what the work has left behind, unless abandoned work still runs.
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
        // The receiver lives until the work has ended.
        let _ = lend.send(Arc::clone(&worlds));
        work(worlds).await
    });
    let give_up = task.abort_handle();
    let (tell, told) = mpsc::channel();
    runtime.spawn(async move {
        // The send fails if the work was abandoned and hangs.
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

/// Lets the harness clean up in the runtime of the work.
fn clear<H: StoreHarness>(runtime: &Runtime, worlds: Option<Arc<Worlds<H>>>) {
    let Some(worlds) = worlds else { return };
    let (tell, told) = mpsc::channel();
    runtime.spawn(async move {
        worlds.dispose().await;
        // The send fails if this took too long.
        let _ = tell.send(());
    });
    // An error means that the harness panicked or took too long. The work has ended all the same.
    let _ = told.recv_timeout(CLEAR_TIME_MAX);
}

/// Returns the message of a panic.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it said nothing").to_owned()
}
