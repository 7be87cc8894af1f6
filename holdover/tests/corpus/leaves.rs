//! The sessions that a release leaves behind.

use std::sync::Arc;

use holdover::agent::MessagePolicy;
use holdover::prelude::*;
use holdover::session::{Deletion, Fork, MessageSeq, Wake};
use holdover::store::StateStore;
use holdover_core::store::EventPage;

use crate::agent::{Sent, When, agent};
use crate::cast::{CAST, FORK, SEALED, key, runtime, say, sealed};

pub(crate) async fn all<S: StateStore>(store: &Arc<S>) {
    for id in CAST {
        let sent = Sent::default();
        let agent = agent(When::Leaving, &sent);
        let runtime = runtime(store, &agent);
        let mut run = runtime.execute(say(&agent, id, id)).await.unwrap();
        match id {
            "interrupted" => {
                runtime.interrupt(&key(id), "enough").await.unwrap();
                run.first_outcome().await.unwrap();
            }
            // These sessions are left as by a process that dies while a call is running, or in the middle of an answer.
            "in-the-middle" => {
                run.first_outcome().await.unwrap();
                approve(&runtime, id, "ann").await;
                let run = runtime.resume(&key(id)).await.unwrap();
                until(async || !sent.lock().unwrap().iter().all(|tool| tool != "pay")).await;
                drop(run);
            }
            "staged" => {
                until(async || !loaded(&runtime, id).await.staged.results.is_empty()).await;
                drop(run);
            }
            "mid-answer" => {
                until(async || streams(&runtime, id).await).await;
                drop(run);
            }
            "to-abort" => {
                until(async || streams(&runtime, id).await).await;
                drop(run);
                runtime.abort(&key(id), "never mind").await.unwrap();
            }
            _ => drop(run.first_outcome().await.unwrap()),
        }
        after(&runtime, id).await;
    }
    let agent = agent(When::Leaving, &Sent::default());
    let run = sealed(store, &agent).execute(say(&agent, SEALED, "approval")).await.unwrap();
    run.outcome().await.unwrap();
}

/// Prepares the session further after its first run, according to its name.
async fn after(runtime: &Runtime, id: &str) {
    match id {
        "one-of-two" => approve(runtime, id, "ann").await,
        "queued" => {
            let later = Deliver::message_that("later", Wake::Quiet).under(MessagePolicy::Enqueue);
            runtime.deliver(&key(id), later).await.unwrap();
        }
        "aborted" => {
            runtime.abort(&key(id), "never mind").await.unwrap();
        }
        "forked" => {
            runtime.fork(&key(id), Fork::newest().to(key(FORK).id).label("from", id)).await.unwrap();
        }
        "edited" => {
            let instead = Deliver::instead_of(MessageSeq(1), "instead");
            runtime.deliver(&key(id), instead).await.unwrap();
            runtime.wait(&key(id)).await.unwrap();
        }
        "shortened" => {
            for text in ["more", "and more"] {
                runtime.deliver(&key(id), Deliver::message(text)).await.unwrap();
                runtime.wait(&key(id)).await.unwrap();
            }
            runtime.compact(&key(id)).await.unwrap().outcome().await.unwrap();
        }
        "deleted" => runtime.delete(&key(id), Deletion::UNLESS_ACTIVE).await.unwrap(),
        _ => {}
    }
}

pub(crate) async fn approve(runtime: &Runtime, id: &str, who: &str) {
    let pending = runtime.pending(&key(id)).await.unwrap();
    runtime.approve(&key(id), pending[0].id(), Approval::by(who)).await.unwrap();
}

async fn loaded(runtime: &Runtime, id: &str) -> holdover::session::Session {
    runtime.session(&key(id)).await.unwrap().expect("a session")
}

/// Returns true if a part of an answer is stored.
async fn streams(runtime: &Runtime, id: &str) -> bool {
    let page = runtime.store().read_events(&key(id), &EventCursor::START, 100).await.unwrap();
    matches!(page, EventPage::Events { stream: Some(_), .. })
}

/// Polls until the condition holds.
async fn until(so: impl AsyncFn() -> bool) {
    while !so().await {
        tokio::task::yield_now().await;
    }
}
