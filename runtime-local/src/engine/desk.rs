//! The runs that an engine requested from this process. A run belongs to the process, and not to the connection over
//! which it was requested.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdover_core::ids::SessionKey;
use tokio::sync::watch;

/// The result of serving a session once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ran {
    /// The session was run here, or it did not need a run.
    Served,
    /// This process cannot run the session.
    NotHere,
    /// The session may need a run, but could not be read or claimed, or its run broke off. It is tried again after at least
    /// this time.
    Later(Duration),
}

/// The open runs by session. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Desk {
    open: Arc<Mutex<HashMap<SessionKey, watch::Receiver<Option<Ran>>>>>,
}

impl Desk {
    /// Waits for the open run of the session, or for `run`, which then begins in a task of its own. The task goes on if
    /// this future is dropped, and a later call waits for the same task.
    pub(crate) async fn attend(
        &self,
        key: &SessionKey,
        run: impl Future<Output = Ran> + Send + 'static,
    ) -> Ran {
        let mut told = self.find_or_begin(key, run);
        // If the task panicked, the sender is dropped and sends nothing. The session is taken over when its lease ends.
        told.wait_for(Option::is_some).await.ok().and_then(|ran| *ran).unwrap_or(Ran::Served)
    }

    /// Returns true if a run of the session is open.
    pub(crate) fn has(&self, key: &SessionKey) -> bool {
        self.open().contains_key(key)
    }

    fn find_or_begin(
        &self,
        key: &SessionKey,
        run: impl Future<Output = Ran> + Send + 'static,
    ) -> watch::Receiver<Option<Ran>> {
        let mut open = self.open();
        if let Some(told) = open.get(key) {
            return told.clone();
        }
        let (tell, told) = watch::channel(None);
        open.insert(key.clone(), told.clone());
        let seat = Seat { desk: self.clone(), key: key.clone() };
        tokio::spawn(async move {
            let ran = run.await;
            drop(seat);
            tell.send_replace(Some(ran));
        });
        told
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SessionKey, watch::Receiver<Option<Ran>>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The entry of an open run. Dropping it removes the entry, also if the run panicked.
struct Seat {
    desk: Desk,
    key: SessionKey,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.desk.open().remove(&self.key);
    }
}
