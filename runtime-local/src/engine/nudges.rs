//! A layer in front of the store that wakes the engine after writes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::ids::{InterruptId, SessionKey};
use holdover_core::store::{Answer, InterruptOutcome, Layer, Request, Retry, StateStore, StoreError};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep, timeout};

use super::{Desk, Engine, EngineError, Known, WakeUp};
use crate::backoff::Backoff;

/// The time for which a wake-up that fails is retried, from its first attempt. After it, the wake-up is left to a worker
/// that looks at the store.
const PATIENCE: Duration = Duration::from_secs(30);
/// The maximum time for one attempt.
const ATTEMPT: Duration = Duration::from_secs(10);
/// The maximum number of attempts at once. An engine that gets a thousand at the same time answers most of them too late,
/// and their repeats keep it busy.
const AT_ONCE: usize = 32;
/// The maximum number of sessions with an open wake-up. Further sessions are left to the worker.
const OPEN_MAX: usize = 10_000;

/// The wake-ups that are under way. Cheap to clone.
///
/// A wake-up never delays a write, and its failure never reaches the caller of the write. At most one wake-up of each
/// session is under way. Writes that happen meanwhile cause one more wake-up after it.
#[derive(Clone)]
pub(crate) struct Nudges {
    shared: Arc<Shared>,
}

struct Shared {
    engine: Arc<dyn Engine>,
    desk: Desk,
    /// The store whose sessions the engine is told about.
    store: Arc<dyn StateStore>,
    /// The sessions with an open wake-up, and the writes since it began.
    open: Mutex<HashMap<SessionKey, Since>>,
    turns: Semaphore,
    count: watch::Sender<usize>,
    /// True if a wake-up was given up since the last call of [`Nudges::told`].
    given_up: AtomicBool,
}

/// The writes since a wake-up began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Since {
    Nothing,
    Written,
    Deleted,
}

impl Nudges {
    /// Creates a layer for `store` that wakes `engine`. The end of a run at `desk` needs no wake-up: the answer of
    /// [`Runtime::serve`](crate::Runtime::serve) tells the engine.
    pub(crate) fn new(engine: Arc<dyn Engine>, desk: Desk, store: Arc<dyn StateStore>) -> Self {
        let (open, count, given_up) = (Mutex::default(), watch::Sender::default(), AtomicBool::default());
        let turns = Semaphore::new(AT_ONCE);
        Self { shared: Arc::new(Shared { engine, desk, store, open, turns, count, given_up }) }
    }

    /// Waits until no wake-up is under way, at most `at_most`. Returns false if the time is over, or if a wake-up was given
    /// up since the last call.
    pub(crate) async fn told(&self, at_most: Duration) -> bool {
        let in_time =
            timeout(at_most, self.shared.count.subscribe().wait_for(|open| *open == 0)).await.is_ok();
        in_time && !self.shared.given_up.swap(false, Ordering::Relaxed)
    }

    /// Wakes the engine for a session, although nothing was written.
    pub(crate) fn wake(&self, key: &SessionKey) {
        self.nudge(key.clone(), Since::Written);
    }

    /// Wakes the engine for a session, in a task.
    fn nudge(&self, key: SessionKey, written: Since) {
        {
            let mut open = self.shared.open.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(since) = open.get_mut(&key) {
                *since = written.max(*since);
                return;
            }
            if open.len() >= OPEN_MAX {
                self.shared.given_up.store(true, Ordering::Relaxed);
                tracing::warn!(session = %key, "too many wake-ups are under way; left to a worker");
                return;
            }
            open.insert(key.clone(), Since::Nothing);
            self.shared.count.send_replace(open.len());
        }
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            let mut written = written;
            while written > Since::Nothing {
                if let Err(error) = shared.wake(&key, written).await {
                    shared.given_up.store(true, Ordering::Relaxed);
                    let engine = shared.engine.name();
                    tracing::warn!(session = %key, engine, %error, "the engine was not woken; left to a worker");
                }
                written = shared.written_since(&key);
            }
        });
    }
}

impl Shared {
    /// Wakes the engine, with repeats. Each attempt waits for its turn. The patience begins with the first attempt.
    async fn wake(&self, key: &SessionKey, written: Since) -> Result<(), EngineError> {
        let mut pause = Backoff::store();
        let mut began = None;
        loop {
            let turn = self.turns.acquire().await;
            let began = *began.get_or_insert_with(Instant::now);
            let error = match timeout(ATTEMPT, self.wake_once(key, written)).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(error)) => error,
                Err(_) => EngineError::new(format!("no answer in {} s", ATTEMPT.as_secs())),
            };
            drop(turn);
            if began.elapsed() >= PATIENCE {
                return Err(error);
            }
            sleep(pause.take()).await;
        }
    }

    async fn wake_once(&self, key: &SessionKey, written: Since) -> Result<(), EngineError> {
        let read = self.store.load_session(key).await;
        let session = read.map_err(|error| EngineError::new(error.to_string()))?;
        let session = session.as_ref().map(Known::from);
        // Also if a session of the same key was created since: the engine may keep the deleted one elsewhere, under the
        // queue of another agent. If that fails, the new session is woken all the same.
        let deleted = match written {
            Since::Deleted => self.engine.wake(&WakeUp::new(key.clone(), None)).await,
            Since::Nothing | Since::Written => Ok(()),
        };
        let created = match session {
            Some(session) => self.engine.wake(&WakeUp::new(key.clone(), Some(session))).await,
            // There is no such session. If there was one, the request that deleted it wakes the engine.
            None => Ok(()),
        };
        deleted.and(created)
    }

    /// Returns the writes since the wake-up began. If there are none, the wake-up is over.
    fn written_since(&self, key: &SessionKey) -> Since {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let since = match open.get_mut(key) {
            Some(since) => std::mem::replace(since, Since::Nothing),
            None => Since::Nothing,
        };
        if since == Since::Nothing {
            open.remove(key);
            self.count.send_replace(open.len());
        }
        since
    }
}

#[async_trait]
impl Layer for Nudges {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let woken = woken_by(&request);
        let releases = matches!(request, Request::Commit(..));
        let stop = stop_of(&request);
        // This may be the store of a transaction, which is of no use after its write.
        let answer = request.perform(&store).await;
        let Some((key, written)) = woken else { return answer };
        let changed = match &answer {
            // The same request is repeated because its sender may have died before it woke the engine. Another one is new:
            // the request that waits woke the engine, and callers that wait for a stop ask many times.
            Ok(Answer::Requested(InterruptOutcome::AlreadyWaiting { id })) => stop.as_ref() == Some(id),
            Ok(_) => true,
            Err(error) => error.retry == Retry::OutcomeUnknown,
        };
        // Whoever waits at the desk reads the session after this write. So this is asked after it, and not before.
        let told_anyway = releases && self.shared.desk.has(&key);
        if changed && !told_anyway {
            self.nudge(key, written);
        }
        answer
    }
}

/// Returns the id of a request to stop a session.
fn stop_of(request: &Request) -> Option<InterruptId> {
    if let Request::Interrupt(_, interrupt) = request { Some(interrupt.id.clone()) } else { None }
}

/// Returns the session that may need a run after the request. A repeated write counts too, although it changes nothing:
/// the wake-up of the first one may be lost.
fn woken_by(request: &Request) -> Option<(SessionKey, Since)> {
    if let Request::Fork(_, _, to) = request {
        return Some((to.key.clone(), Since::Written));
    }
    if let Request::Delete(key, _) = request {
        return Some((key.clone(), Since::Deleted));
    }
    let from_outside = matches!(
        request,
        Request::Create(_) | Request::Deliver(..) | Request::Interrupt(..) | Request::Move(..)
    );
    let brings_items = matches!(request, Request::Claim(_, claim) if !claim.items.is_empty());
    let releases = matches!(request, Request::Commit(_, commit) if commit.release.is_some());
    let wakes = from_outside || brings_items || releases;
    request.key().filter(|_| wakes).map(|key| (key.clone(), Since::Written))
}
