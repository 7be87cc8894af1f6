//! Change hints: of which changes those are told who wait.

use std::pin::pin;
use std::time::Duration;

use futures::poll;
use holdover_core::store::{
    CasOutcome, Commit, DeleteOutcome, Deletion, NewSession, Release, Remove, SessionStatus, Start,
    StateStore, StatusCas, Watch,
};

use crate::bench::{Bench, Handle};
use crate::case::cases;
use crate::failure::{CaseResult, Failure, ensure, ensure_eq, want};
use crate::fixture::{
    answer, approval, checkpoint, commit, deltas, key, message, new_fork, new_session, retention, soft,
    suspended,
};
use crate::snapshot::PAGES_MAX;
use crate::sweep::removed;

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

/// How long a waiter waits if nobody tells it.
const AT_MOST: Duration = Duration::from_secs(20);
/// How long nothing is heard when nothing is on its way any more.
const QUIET: Duration = Duration::from_millis(50);

/// One handle that waits and another that changes something.
struct Told {
    waiter: Handle,
    watch: Watch,
}

impl Told {
    /// Lets hints of earlier changes arrive, waits, makes a change, and fails unless the waiter hears of it.
    async fn of<T, E>(&self, what: &str, change: impl Future<Output = Result<T, E>>) -> CaseResult<T>
    where
        Failure: From<E>,
    {
        self.quiet().await?;
        let began = tokio::time::Instant::now();
        let mut waiting = pin!(self.waiter.wait_for_change(self.watch.clone(), AT_MOST));
        let early = poll!(waiting.as_mut());
        let answer = change.await?;
        if early.is_pending() {
            waiting.await?;
        }
        let took = began.elapsed();
        let watch = &self.watch;
        ensure!(took < AT_MOST / 2, "expected {watch:?} to be told of {what}", found = "nothing in {took:?}");
        Ok(answer)
    }

    /// Waits until nothing is heard for a while.
    async fn quiet(&self) -> CaseResult {
        for _ in 0..PAGES_MAX {
            let began = tokio::time::Instant::now();
            self.waiter.wait_for_change(self.watch.clone(), QUIET).await?;
            if began.elapsed() >= QUIET {
                return Ok(());
            }
        }
        Err(Failure::new("expected hints to end where nothing changes\n    found    no end"))
    }
}

async fn told(t: &Bench, watch: Watch) -> Told {
    Told { waiter: t.peer().await, watch }
}

async fn whoever_watches_a_session_is_told_of_every_change(t: Bench) -> CaseResult {
    let key = key("s");
    let told = told(&t, Watch::Session(key.clone())).await;
    told.of("the creation", t.create("s")).await?;
    told.of("a delivery", t.deliver(&key, message("m"))).await?;
    let claim = told.of("a claim", t.claim(&key)).await?;
    told.of("deltas", t.append(&claim.fence, deltas(1, 1, ["word"]))).await?;
    told.of("a commit", t.commit(&claim.fence, checkpoint("state"))).await?;
    told.of("a stop", t.interrupt(&key, soft("stop"))).await?;
    let receipt = told.of("a release", t.release(&claim.fence, SessionStatus::Failed)).await?;
    let cas = StatusCas {
        incarnation: None,
        expected_version: receipt.version,
        to: SessionStatus::Suspended,
        items: Vec::new(),
    };
    let moved = told.of("a move of the status", t.store.compare_and_set_status(&key, cas)).await?;
    want!(moved, CasOutcome::Moved { .. });
    let due = told.of("a claim of what was due", t.claim_due(1)).await?;
    ensure_eq!(due.len(), 1, "what was due");
    let gone = told.of("the deletion", t.store.delete_session(&key, Deletion::FORCE)).await?;
    ensure_eq!(gone, DeleteOutcome::Deleted, "the deletion");
    if t.store.capabilities().retention {
        t.left_as("s", SessionStatus::Idle).await?;
        let report = told.of("its removal", removed(&t.store, &retention(Remove::Sessions))).await?;
        ensure_eq!(report.sessions, 1, "sessions removed");
    }
    if t.store.capabilities().forks {
        let source = t.running("source").await?.fence;
        let version = t.commit(&source, checkpoint("state")).await?.version;
        let new = new_fork(source.incarnation, "s");
        told.of("a fork", t.fork(&source.key, version, new)).await?;
    }
    Ok(())
}

async fn whoever_waits_for_work_is_told_of_it(t: Bench) -> CaseResult {
    let told = told(&t, Watch::Due).await;
    let due = NewSession { start: Start::At(t.now().await?), ..new_session("created") };
    told.of("a creation that is due", t.store.create_session(due)).await?;
    let rests = t.left_as("rests", SessionStatus::Idle).await?;
    told.of("a message", t.deliver(&rests, message("m"))).await?;

    let asks = t.running("asks").await?.fence;
    let park = Commit { open: vec![approval("p")], release: suspended(None, 0), ..commit() };
    t.commit(&asks, park).await?;
    let yes = answer(&asks, "p", "yes");
    told.of("an answer", t.deliver(&asks.key, yes)).await?;
    let parked = t.left_as("parked", SessionStatus::Suspended).await?;
    told.of("a stop", t.interrupt(&parked, soft("stop"))).await?;

    let failed = t.left_as("failed", SessionStatus::Failed).await?;
    let expected_version = t.load(&failed).await?.version;
    let to = SessionStatus::Suspended;
    let cas = StatusCas { incarnation: None, expected_version, to, items: Vec::new() };
    let moved = told.of("a move of the status", t.store.compare_and_set_status(&failed, cas)).await?;
    want!(moved, CasOutcome::Moved { .. });

    let busy = t.running("busy").await?.fence;
    t.deliver(&busy.key, message("meanwhile")).await?;
    let park = Commit { release: suspended(None, 0), ..commit() };
    told.of("a release that an item waits for", t.commit(&busy, park)).await?;
    let back = t.take_over(&t.running("back").await?.fence.key).await?.fence;
    let back_now = Commit { release: Some(Release::GiveBack { alarm: None }), ..commit() };
    told.of("a claim that is given back", t.commit(&back, back_now)).await?;
    Ok(())
}
