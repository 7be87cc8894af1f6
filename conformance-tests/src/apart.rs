//! Running one case apart from everything else.

use std::any::Any;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

use crate::case::Case;
use crate::failure::Failure;
use crate::harness::StoreHarness;
use crate::record::History;
use crate::runner::{Attempt, perform};
use crate::world::Worlds;

/// The threads of the runtime that a case has for itself.
const CASE_THREADS: usize = 4;

/// How long a case that is given up may take to come to an await, where it ends.
const GIVE_UP_TIME_MAX: Duration = Duration::from_secs(5);

/// How long the harness may take to end with all that a case leaves behind.
const CLEAR_TIME_MAX: Duration = Duration::from_secs(60);

/// Runs one case once, in a runtime of its own, so that neither a panic nor a thread that never comes back
/// reaches anybody else. Then the harness ends with what the case leaves behind. What hangs is left.
pub(crate) fn run_apart<H: StoreHarness>(
    case: &'static Case,
    make: impl FnOnce() -> H + Send + 'static,
    seed: u64,
    time_max: Duration,
) -> Attempt {
    let (history, began) = (History::default(), Instant::now());
    let runtime = match Builder::new_multi_thread().worker_threads(CASE_THREADS).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let result = Err(Failure::new(format!("no runtime for the case: {error}")));
            return Attempt { result, history, capabilities: None, took: began.elapsed() };
        }
    };
    let (lend, lent) = mpsc::channel();
    let kept = history.clone();
    let task = runtime.spawn(async move {
        let worlds = Worlds::new(make());
        // Whoever listens does so until the case has ended.
        let _ = lend.send(Arc::clone(&worlds));
        perform(case, &worlds, seed, kept).await
    });
    let give_up = task.abort_handle();
    let (tell, told) = mpsc::channel();
    runtime.spawn(async move {
        // Nobody listens to a case that was given up and hangs.
        let _ = tell.send(task.await);
    });
    let (result, capabilities) = match told.recv_timeout(time_max) {
        Ok(Ok(ended)) => ended,
        Ok(Err(ended)) => {
            let said = ended.try_into_panic().map_or_else(|error| error.to_string(), |panic| said(&*panic));
            (Err(Failure::new(format!("expected an end of the case\n    found    a panic: {said}"))), None)
        }
        Err(_) => {
            give_up.abort();
            let found = "found    none: the last operations without an answer are those that hang";
            (Err(Failure::new(format!("expected an end within {time_max:?}\n    {found}"))), None)
        }
    };
    let attempt = Attempt { result, history, capabilities, took: began.elapsed() };
    if give_up.is_finished() || told.recv_timeout(GIVE_UP_TIME_MAX.min(time_max)).is_ok() {
        clear(&runtime, lent.try_iter().next());
    }
    runtime.shutdown_background();
    attempt
}

/// Ends with what a case leaves behind, in its runtime.
fn clear<H: StoreHarness>(runtime: &Runtime, worlds: Option<Arc<Worlds<H>>>) {
    let Some(worlds) = worlds else { return };
    let (tell, told) = mpsc::channel();
    runtime.spawn(async move {
        worlds.dispose().await;
        // Nobody listens any more when this took too long.
        let _ = tell.send(());
    });
    // It says nothing if the harness panics, or takes too long: the case has its verdict.
    let _ = told.recv_timeout(CLEAR_TIME_MAX);
}

/// What a panic said.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it said nothing").to_owned()
}
