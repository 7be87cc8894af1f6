//! Change hints: which changes end a wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use holdover_store::Watch;

use super::prelude::*;

cases! {
    hint.whoever_watches_a_session_is_told_of_every_change: Distributed Property needs ChangeHints,
        "whoever watches a session hears of its creation, deliveries, claims, commits, deltas, stops, moves and removal",
        "whoever follows a session that was deleted would wait for it as if it were busy",
        "wait_for_change: returns when what is watched may have changed";
    hint.whoever_waits_for_work_is_told_of_it: Distributed Property needs ChangeHints,
        "whoever waits for work hears of everything that makes a session due",
        "an answer, a retry or a stop would lie until the next look",
        "Watch::Due: any session may have become due";
}

/// The time for which a waiter waits without a hint. It is far longer than a hint takes to arrive.
const AT_MOST: Duration = Duration::from_secs(10);
/// The number of reads by another handle between the start of the wait and the change. A store may read something
/// before it listens, and would miss an earlier hint; the reads give it time, measured by the store's own speed. If a
/// hint is missed, the test is repeated with another session and more reads.
const HEAD_STARTS: [usize; 3] = [64, 256, 1024];

/// A change to a session while another handle waits.
#[derive(Debug, Clone, Copy)]
enum Change {
    Creation,
    CreationThatIsDue,
    Delivery,
    Answer,
    Claim,
    ClaimOfWhatIsDue,
    Deltas,
    Commit,
    Stop,
    Release,
    ReleaseWithNews,
    GivingBack,
    Move,
    Fork,
    Deletion,
    Retention,
}

/// The changes that must end a wait that watches the session.
const OF_A_SESSION: [Change; 12] = [
    Change::Creation,
    Change::Delivery,
    Change::Claim,
    Change::ClaimOfWhatIsDue,
    Change::Deltas,
    Change::Commit,
    Change::Stop,
    Change::Release,
    Change::Move,
    Change::Fork,
    Change::Deletion,
    Change::Retention,
];

/// The changes that make a session due, and so must end a wait for due sessions.
const OF_WORK: [Change; 7] = [
    Change::CreationThatIsDue,
    Change::Delivery,
    Change::Answer,
    Change::Stop,
    Change::ReleaseWithNews,
    Change::GivingBack,
    Change::Move,
];

impl Change {
    /// Prepares the session of this key. The returned future makes the change.
    async fn ready<'a>(self, t: &'a Bench, key: &'a SessionKey) -> CaseResult<BoxFuture<'a, CaseResult>> {
        let new = NewSession { key: key.clone(), ..new_session("s") };
        Ok(match self {
            Self::Creation => create(t, new).boxed(),
            Self::CreationThatIsDue => {
                let start = Start::At(t.now().await?);
                create(t, NewSession { start, ..new }).boxed()
            }
            Self::Delivery => {
                create(t, new).await?;
                async move { t.deliver(key, message("m")).await.map(drop) }.boxed()
            }
            Self::Answer => {
                let asks = Commit { open: vec![approval("p")], release: suspended(None, 0), ..commit() };
                let fence = left(t, new, asks).await?;
                async move { t.deliver(key, answer(&fence, "p", "yes")).await.map(drop) }.boxed()
            }
            Self::Claim => {
                create(t, new).await?;
                async move { t.claim(key).await.map(drop) }.boxed()
            }
            Self::ClaimOfWhatIsDue => {
                create(t, NewSession { items: vec![message("m")], ..new }).await?;
                async move {
                    let tenant = Some(key.tenant.clone());
                    let due = ClaimDue { tenant, ..t.due(1) };
                    ensure_eq!(t.store.claim_due(due).await?.len(), 1, "what was due");
                    Ok(())
                }
                .boxed()
            }
            Self::Deltas => {
                let fence = t.create_claimed(new).await?.fence;
                async move { t.append(&fence, deltas(1, 1, ["word"])).await.map(drop) }.boxed()
            }
            Self::Commit => {
                let fence = t.create_claimed(new).await?.fence;
                async move { t.commit(&fence, commit()).await.map(drop) }.boxed()
            }
            Self::Stop => {
                left(t, new, Commit { release: suspended(None, 0), ..commit() }).await?;
                async move { t.interrupt(key, soft("stop")).await }.boxed()
            }
            Self::Release | Self::ReleaseWithNews => {
                let fence = t.create_claimed(new).await?.fence;
                if let Self::ReleaseWithNews = self {
                    t.deliver(key, message("meanwhile")).await?;
                }
                let parts = Commit { release: suspended(None, 0), ..commit() };
                async move { t.commit(&fence, parts).await.map(drop) }.boxed()
            }
            Self::GivingBack => {
                t.create_claimed(new).await?;
                let fence = t.take_over(key).await?.fence;
                let back = Commit { release: Some(Release::GiveBack { alarm: None }), ..commit() };
                async move { t.commit(&fence, back).await.map(drop) }.boxed()
            }
            Self::Move => {
                let fence = t.create_claimed(new).await?.fence;
                let expected_version = t.release(&fence, SessionStatus::Failed).await?.version;
                let to = SessionStatus::Suspended;
                let cas = StatusCas { incarnation: None, expected_version, to, items: Vec::new() };
                async move {
                    want!(t.store.compare_and_set_status(key, cas).await?, CasOutcome::Moved { .. });
                    Ok(())
                }
                .boxed()
            }
            Self::Fork => {
                let source = SessionKey::new(key.tenant.clone(), fresh_id("source"));
                let fence = t.create_claimed(NewSession { key: source, ..new }).await?.fence;
                let at = t.commit(&fence, checkpoint("state")).await?.version;
                let fork = NewFork { key: key.clone(), ..new_fork(fence.incarnation, "fork") };
                async move { t.fork(&fence.key, at, fork).await.map(drop) }.boxed()
            }
            Self::Deletion => {
                create(t, new).await?;
                async move {
                    let gone = t.store.delete_session(key, Deletion::FORCE).await?;
                    ensure_eq!(gone, DeleteOutcome::Deleted, "the deletion");
                    Ok(())
                }
                .boxed()
            }
            Self::Retention => {
                create(t, new).await?;
                async move {
                    let tenant = Some(key.tenant.clone());
                    let rule = RetentionRule { tenant, ..retention(Remove::Sessions) };
                    ensure_eq!(removed(&t.store, &rule).await?.sessions, 1, "sessions removed");
                    Ok(())
                }
                .boxed()
            }
        })
    }

    /// Returns true if the run that holds the session must notice the change.
    fn is_news(self) -> bool {
        matches!(
            self,
            Self::Delivery
                | Self::Claim
                | Self::ClaimOfWhatIsDue
                | Self::Stop
                | Self::Deletion
                | Self::Retention
        )
    }

    /// Returns true if the store declares that it supports the change.
    fn is_known_to(self, t: &Bench) -> bool {
        let capabilities = t.store.capabilities();
        let missing = match self {
            Self::Fork => !capabilities.forks,
            Self::Retention => !capabilities.retention,
            Self::Creation
            | Self::CreationThatIsDue
            | Self::Delivery
            | Self::Answer
            | Self::Claim
            | Self::ClaimOfWhatIsDue
            | Self::Deltas
            | Self::Commit
            | Self::Stop
            | Self::Release
            | Self::ReleaseWithNews
            | Self::GivingBack
            | Self::Move
            | Self::Deletion => false,
        };
        !missing
    }
}

async fn create(t: &Bench, new: NewSession) -> CaseResult {
    t.store.create_session(new).await?;
    Ok(())
}

/// Creates a session and releases it with this commit.
async fn left(t: &Bench, new: NewSession, parting: Commit) -> CaseResult<Fence> {
    let fence = t.create_claimed(new).await?.fence;
    t.commit(&fence, parting).await?;
    Ok(fence)
}

/// Makes a change while another handle waits. Fails unless the wait ends because of the change.
async fn told_of(t: &Bench, change: Change, who: &str, watched: fn(&SessionKey) -> Watch) -> CaseResult {
    for (attempt, reads) in HEAD_STARTS.into_iter().enumerate() {
        // Each attempt uses its own tenant, so that only this session is due or at rest.
        let key = key_of(&format!("{change:?}-{who}-{attempt}"), "s");
        let made = change.ready(t, &key).await?;
        let waiter = Waiter::begin(t.peer().await, watched(&key)).await;
        for _ in 0..reads {
            t.store.load_session(&key).await?;
            // Meanwhile, the waiter receives the hints of earlier steps.
            tokio::task::yield_now().await;
        }
        waiter.changes.store(true, Ordering::SeqCst);
        made.await?;
        if waiter.hears().await? {
            return Ok(());
        }
    }
    let waited = AT_MOST;
    ensure!(false, "expected whoever waits to be told of {change:?}", found = "nothing in {waited:?}");
    Ok(())
}

/// A handle that waits for a change, as a client that follows a session does. A hint before the change does not count,
/// and the wait begins again.
struct Waiter {
    /// Set when the change is being made.
    changes: Arc<AtomicBool>,
    waiting: JoinHandle<CaseResult<bool>>,
}

impl Waiter {
    /// Begins to wait. When this returns, the store has been asked; it has not answered, or has answered before the
    /// change.
    async fn begin(handle: Handle, watch: Watch) -> Self {
        let changes = Arc::new(AtomicBool::new(false));
        let waits = Arc::new(Notify::new());
        let (changing, waiting) = (Arc::clone(&changes), Arc::clone(&waits));
        let waiting = tokio::spawn(async move {
            loop {
                let began = Instant::now();
                let mut wait = std::pin::pin!(handle.wait_for_change(watch.clone(), AT_MOST));
                let first = futures::poll!(wait.as_mut());
                waiting.notify_one();
                match first {
                    Poll::Ready(answer) => answer?,
                    Poll::Pending => wait.await?,
                }
                if changing.load(Ordering::SeqCst) {
                    return Ok(began.elapsed() < AT_MOST);
                }
                tokio::task::yield_now().await;
            }
        });
        waits.notified().await;
        Self { changes, waiting }
    }

    /// Returns true if the wait ended early after the change began.
    async fn hears(mut self) -> CaseResult<bool> {
        (&mut self.waiting).await.map_err(|panicked| Failure::panicked(panicked.to_string()))?
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.waiting.abort();
    }
}

async fn whoever_watches_a_session_is_told_of_every_change(t: Bench) -> CaseResult {
    for change in OF_A_SESSION.into_iter().filter(|change| change.is_known_to(&t)) {
        told_of(&t, change, "follower", |key| Watch::Session(key.clone())).await?;
        if change.is_news() {
            told_of(&t, change, "run", |key| Watch::News(key.clone())).await?;
        }
    }
    Ok(())
}

async fn whoever_waits_for_work_is_told_of_it(t: Bench) -> CaseResult {
    for change in OF_WORK {
        told_of(&t, change, "worker", |_| Watch::Due).await?;
    }
    Ok(())
}
