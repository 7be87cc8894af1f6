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

/// How often it is looked at the least and at the most.
const APART_MIN: Duration = Duration::from_secs(1);
const APART_MAX: Duration = Duration::from_secs(60);

/// Frees what nobody is in and whose time is over. After how long it should be looked again; none: nothing is left.
///
/// What cannot be freed stays for the next time.
pub(super) fn sweep(root: &Path) -> io::Result<Option<Duration>> {
    let mut again: Option<Duration> = None;
    for place in Place::all(root)? {
        let left = look_at(&place).unwrap_or(Some(APART_MAX));
        again = [again, left].into_iter().flatten().min();
    }
    Ok(again)
}

fn look_at(place: &Place) -> io::Result<Option<Duration>> {
    // Somebody is in it, or it is gone: of the second nothing is seen the next time.
    let Some(hold) = Hold::alone_if_there(&place.lock())? else { return Ok(Some(APART_MAX)) };
    let left = hold.time_left()?;
    if left.is_none() {
        free(place, hold)?;
    }
    Ok(left)
}

/// The task of a process that sweeps for as long as there is something to sweep.
#[derive(Default)]
pub(super) struct Sweeper(Arc<AtomicBool>);

impl Sweeper {
    /// Begins it, if it is not at work.
    pub(super) fn begin(&self, root: &Path) {
        if let Ok(runtime) = Handle::try_current()
            && !self.0.swap(true, Ordering::AcqRel)
        {
            let at_work = AtWork(Arc::clone(&self.0));
            runtime.spawn(work(root.to_owned(), at_work));
        }
    }
}

/// Also when its runtime ends, the next runtime begins another.
struct AtWork(Arc<AtomicBool>);

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

async fn work(root: PathBuf, at_work: AtWork) {
    let _at_work = at_work;
    // Who began it is about to boot one.
    sleep(APART_MIN).await;
    loop {
        let root = root.clone();
        match spawn_blocking(move || sweep(&root)).await {
            Ok(Ok(Some(again))) => sleep(again.clamp(APART_MIN, APART_MAX)).await,
            Ok(Ok(None) | Err(_)) | Err(_) => return,
        }
    }
}
