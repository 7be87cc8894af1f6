//! One reader of the log for all streams of this process that follow the same session live.
//!
//! A stream first reads what it has missed by itself. Then it takes what the shared reader reads, and steps over what it knows.
//! If it is too slow for that, it reads by itself again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use holdover_core::ids::SessionKey;
use holdover_core::store::EventCursor;
use holdover_runtime_local::{Follow, Runtime, RuntimeError, Shown};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self, Receiver, WeakSender};
use tokio_util::task::AbortOnDropHandle;

/// The most items that are kept for streams that have not taken them yet.
const KEPT: usize = 128;

/// The shared readers of this process.
#[derive(Clone)]
pub(crate) struct Tails {
    runtime: Runtime,
    open: Arc<Mutex<HashMap<SessionKey, Weak<Tail>>>>,
}

/// The shared reader of one session. It stops when no stream has it any more.
struct Tail {
    /// None once the reader has ended: then each stream reads by itself.
    items: WeakSender<Arc<Shown>>,
    key: SessionKey,
    tails: Tails,
    _reads: AbortOnDropHandle<()>,
}

impl Tails {
    pub(crate) fn new(runtime: Runtime) -> Self {
        Self { runtime, open: Arc::default() }
    }

    /// Streams the items of a session after a cursor, as [`Runtime::follow`] does for ever.
    pub(crate) fn follow(
        &self,
        key: &SessionKey,
        after: EventCursor,
    ) -> BoxStream<'static, Result<Shown, RuntimeError>> {
        let own = self.runtime.follow(key, after, Follow::Available);
        let following = Following {
            tails: self.clone(),
            key: key.clone(),
            cursor: after,
            own: Some(own),
            live: None,
            over: false,
        };
        stream::unfold(following, |mut following| async move {
            let next = following.next().await.transpose()?;
            following.over |= next.is_err();
            Some((next, following))
        })
        .boxed()
    }

    /// Returns the shared reader of a session, with what it reads from now on.
    async fn join(&self, key: &SessionKey) -> Result<(Arc<Tail>, Receiver<Arc<Shown>>), RuntimeError> {
        if let Some(joined) = self.known(key) {
            return Ok(joined);
        }
        let session = self.runtime.session(key).await?;
        let session = session.ok_or_else(|| RuntimeError::NotFound { key: key.clone() })?;
        let now = EventCursor::after(session.incarnation, session.last_event);
        let mut open = self.lock();
        if let Some(joined) = open.get(key).and_then(joined) {
            return Ok(joined);
        }
        let (sender, items) = broadcast::channel(KEPT);
        let shown = self.runtime.follow(key, now, Follow::Forever);
        let weak = sender.downgrade();
        // An error ends it. Each stream then reads by itself, and finds the error, too.
        let reads = shown.take_while(|read| std::future::ready(read.is_ok())).for_each(move |read| {
            // Without streams, nobody misses it.
            drop(read.map(|shown| sender.send(Arc::new(shown))));
            std::future::ready(())
        });
        let reads = AbortOnDropHandle::new(tokio::spawn(reads.boxed().map(drop)));
        let tail = Arc::new(Tail { items: weak, key: key.clone(), tails: self.clone(), _reads: reads });
        open.insert(key.clone(), Arc::downgrade(&tail));
        Ok((tail, items))
    }

    fn known(&self, key: &SessionKey) -> Option<(Arc<Tail>, Receiver<Arc<Shown>>)> {
        self.lock().get(key).and_then(joined)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SessionKey, Weak<Tail>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let mut open = self.tails.lock();
        // A later one may have taken its place.
        if open.get(&self.key).is_some_and(|tail| tail.strong_count() == 0) {
            open.remove(&self.key);
        }
    }
}

fn joined(tail: &Weak<Tail>) -> Option<(Arc<Tail>, Receiver<Arc<Shown>>)> {
    let tail = tail.upgrade()?;
    let items = tail.items.upgrade()?.subscribe();
    Some((tail, items))
}

/// The state of a stream.
struct Following {
    tails: Tails,
    key: SessionKey,
    /// The cursor of the last item that was shown.
    cursor: EventCursor,
    /// What the stream reads by itself, as long as it does.
    own: Option<BoxStream<'static, Result<Shown, RuntimeError>>>,
    /// The shared reader.
    live: Option<(Arc<Tail>, Receiver<Arc<Shown>>)>,
    over: bool,
}

impl Following {
    async fn next(&mut self) -> Result<Option<Shown>, RuntimeError> {
        if self.over {
            return Ok(None);
        }
        loop {
            if let Some(own) = &mut self.own {
                if let Some(shown) = own.next().await.transpose()? {
                    self.cursor = shown.cursor();
                    return Ok(Some(shown));
                }
                self.own = None;
            }
            let Some((_, items)) = &mut self.live else {
                // Joins first and reads then, so that nothing is between what it reads and what comes.
                self.live = Some(self.tails.join(&self.key).await?);
                self.read(Follow::Available);
                continue;
            };
            match items.recv().await {
                Ok(shown) if is_new(self.cursor, &shown) => {
                    self.cursor = shown.cursor();
                    return Ok(Some((*shown).clone()));
                }
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => self.read(Follow::Available),
                Err(RecvError::Closed) => self.read(Follow::Forever),
            }
        }
    }

    fn read(&mut self, follow: Follow) {
        self.own = Some(self.tails.runtime.follow(&self.key, self.cursor, follow));
    }
}

/// Returns true if a stream that has shown all up to `cursor` has not shown this item.
fn is_new(cursor: EventCursor, shown: &Shown) -> bool {
    let ((_, known), (_, place)) = (cursor.parts(), shown.cursor().parts());
    match shown {
        Shown::Event(entry) => entry.seq > known.after,
        Shown::Delta(entry) => {
            let known_place = known.within.filter(|(stream, _)| *stream == entry.stream);
            let earlier = known.within.is_some_and(|(stream, _)| stream > entry.stream);
            place.after >= known.after && !earlier && known_place.is_none_or(|(_, at)| entry.place > at)
        }
        Shown::Dropped { stream, .. } => known.within.is_some_and(|(within, _)| within == *stream),
        // An item of a newer version.
        _ => true,
    }
}

#[cfg(test)]
mod tests;
