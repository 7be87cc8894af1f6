//! The items of one followed session of a tree. A task of its own reads them.

use std::sync::Arc;

use holdover_core::children::ChildNames;
use holdover_core::ids::{PendingId, SessionId, SessionKey};
use holdover_core::store::EventCursor;
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::sleep;

use super::events::TreeMember;
use crate::backoff::Backoff;
use crate::error::{RuntimeError, RuntimeErrorKind};
use crate::guard::{Guarded, guarded};
use crate::runtime::tail::{Tail, Until};
use crate::runtime::{Runtime, Shown};

/// The maximum number of items of a session that are read ahead of the follower.
const AHEAD: usize = 16;

/// A session of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Who {
    Root,
    Child { pending: PendingId, index: u32 },
}

impl Who {
    pub(super) fn is_of(&self, call: &PendingId) -> bool {
        matches!(self, Self::Child { pending, .. } if pending == call)
    }

    /// Returns the id of a child, or `None` for the root.
    pub(super) fn id(&self) -> Option<SessionId> {
        let Self::Child { pending, index } = self else { return None };
        Some(ChildNames::of(pending, *index).ok()?.id)
    }
}

/// The state of a child's call when reading the child began.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Began {
    /// True if the call had ended.
    pub(super) settled: bool,
    /// True if all children of the call had been created.
    pub(super) created: bool,
}

/// One result of reading a session.
pub(super) enum Read {
    Shown(Shown),
    Failed(RuntimeError),
    /// There is nothing more to show for now, or ever if `has_ended` is set.
    Over {
        has_ended: bool,
    },
}

/// The items of one session.
pub(super) struct Feed {
    pub(super) who: Who,
    pub(super) member: Arc<TreeMember>,
    pub(super) began: Began,
    pub(super) reader: Reader,
}

/// A task that reads a session.
pub(super) struct Reader {
    key: SessionKey,
    items: Receiver<Read>,
    task: Guarded<()>,
}

impl Reader {
    /// Begins to read a session after `cursor`. If `repeats` is set, a read that fails because the store is
    /// unavailable is repeated.
    pub(super) fn begin(
        runtime: &Runtime,
        key: SessionKey,
        cursor: EventCursor,
        until: Until,
        deltas: bool,
        repeats: bool,
    ) -> Self {
        let mut tail = Tail::new(runtime.clone(), key.clone(), cursor, until, deltas);
        let (send, items) = mpsc::channel(AHEAD);
        let task = guarded(async move {
            let mut pause = Backoff::store();
            loop {
                let read = match tail.next().await {
                    Ok(Some(shown)) => Read::Shown(shown.redacted()),
                    Ok(None) => Read::Over { has_ended: tail.has_ended },
                    Err(error) if repeats && error.kind() == RuntimeErrorKind::Unavailable => {
                        tracing::debug!(%error, "not read; it is tried again");
                        sleep(pause.take()).await;
                        continue;
                    }
                    Err(error) => Read::Failed(error),
                };
                pause = Backoff::store();
                let goes_on = matches!(read, Read::Shown(_));
                if send.send(read).await.is_err() || !goes_on {
                    return;
                }
            }
        });
        Self { key, items, task }
    }
}

impl Feed {
    /// Returns the session as the parent of its calls, or `None` for the root.
    pub(super) fn parent(&self) -> Option<&SessionId> {
        self.member.place.is_some().then_some(&self.member.session)
    }

    /// Waits for the next item.
    pub(super) async fn next(mut self) -> (Self, Read) {
        let read = match self.reader.items.recv().await {
            Some(read) => read,
            // A task sends its end as the last item, unless it panicked.
            None => {
                let detail = match (&mut self.reader.task).await {
                    Ok(()) => "it ended without a word".to_owned(),
                    Err(panicked) => panicked.0,
                };
                Read::Failed(RuntimeError::Panicked { key: self.reader.key.clone(), detail })
            }
        };
        (self, read)
    }
}
