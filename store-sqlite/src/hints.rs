//! Change hints between the handles of one process. They are only hints: a caller that polls misses nothing.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use holdover_store::hints::Waiters;

static BY_FILE: LazyLock<Mutex<HashMap<PathBuf, Weak<Waiters>>>> = LazyLock::new(Mutex::default);

/// Returns the waiters for changes of `file`, which all handles of this process share.
pub(crate) fn of(file: &Path) -> Arc<Waiters> {
    let mut by_file = BY_FILE.lock().unwrap_or_else(PoisonError::into_inner);
    by_file.retain(|_, waiters| waiters.strong_count() > 0);
    if let Some(waiters) = by_file.get(file).and_then(Weak::upgrade) {
        return waiters;
    }
    let waiters = Arc::new(Waiters::default());
    by_file.insert(file.to_owned(), Arc::downgrade(&waiters));
    waiters
}
