//! Frees sandboxes that are no longer used.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::hold::Hold;
use super::local::free;
use super::place::Place;

/// The shortest time between two sweeps. [`APART_MAX`] is the longest.
const APART_MIN: Duration = Duration::from_secs(1);
const APART_MAX: Duration = Duration::from_secs(60);

/// Frees every sandbox that is not in use and whose idle time is over. Returns the time until the next sweep, or `None`
/// if no sandbox is left that may be swept.
///
/// A sandbox that cannot be freed stays until the next sweep.
pub(super) fn sweep(root: &Path) -> io::Result<Option<Duration>> {
    let mut again: Option<Duration> = None;
    for place in Place::all(root)? {
        let left = look_at(&place).unwrap_or(Some(APART_MAX));
        again = [again, left].into_iter().flatten().min();
    }
    Ok(again)
}

fn look_at(place: &Place) -> io::Result<Option<Duration>> {
    // The sandbox is in use, or it is gone. The next sweep does not find one that is gone.
    let Some(hold) = Hold::alone_if_there(&place.lock())? else { return Ok(Some(APART_MAX)) };
    let left = hold.time_left()?;
    if left.is_none() {
        free(place, hold)?;
    }
    Ok(left)
}

/// The background task that sweeps while there are sandboxes to sweep.
#[derive(Default)]
pub(super) struct Sweeper(Arc<AtomicBool>);

impl Sweeper {
    /// Starts the task unless it is running already. Does nothing outside a tokio runtime.
    pub(super) fn begin(&self, root: &Path) {
        if let Ok(runtime) = Handle::try_current()
            && !self.0.swap(true, Ordering::AcqRel)
        {
            let at_work = AtWork(Arc::clone(&self.0));
            runtime.spawn(work(root.to_owned(), at_work));
        }
    }
}

/// The mark that the task is running. Dropping it removes the mark. The end of the runtime also drops it, so a later
/// runtime can start another task.
struct AtWork(Arc<AtomicBool>);

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

async fn work(root: PathBuf, at_work: AtWork) {
    let _at_work = at_work;
    // The caller that started the task is about to boot a sandbox.
    sleep(APART_MIN).await;
    loop {
        let root = root.clone();
        match spawn_blocking(move || sweep(&root)).await {
            Ok(Ok(Some(again))) => sleep(again.clamp(APART_MIN, APART_MAX)).await,
            Ok(Ok(None) | Err(_)) | Err(_) => return,
        }
    }
}
