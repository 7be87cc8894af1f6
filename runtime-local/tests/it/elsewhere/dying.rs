//! One of the two programs dies at each of its writes, and another process of it takes over. In some stories the parent
//! is aborted then.
//!
//! Requirements: H21.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::message::ResultStatus;
use holdover_core::store::{
    Answer, Layer, Layered, Request, SessionQuery, SessionStatus, StateStore, StoreError,
};
use holdover_runtime_local::{Runtime, WorkerOptions};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::world::{Wire, World, digger, on_the_wire, tenant_there};
use super::{BOTH, FOUND};
use crate::bench::{only_result, say, tenant, worker};

/// A process that dies at its write number `at`, counted from 1.
#[derive(Clone)]
struct Mortal {
    at: usize,
    /// True if the write is applied before the process dies.
    after: bool,
    writes: Arc<AtomicUsize>,
    died: CancellationToken,
}

impl Mortal {
    fn at(at: usize, after: bool) -> Self {
        Self { at, after, writes: Arc::default(), died: CancellationToken::new() }
    }
}

#[async_trait]
impl Layer for Mortal {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if self.died.is_cancelled() {
            return pending().await;
        }
        let counts = request.writes() && !matches!(request, Request::ClaimDue(_) | Request::Renew(..));
        if counts && self.writes.fetch_add(1, Ordering::SeqCst) + 1 == self.at {
            self.died.cancel();
            if self.after {
                drop(request.perform(&store).await);
            }
            return pending().await;
        }
        request.perform(&store).await
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dies {
    Here,
    There,
}

/// Runs a worker of one program until the returned guard is dropped.
fn works(runtime: &Runtime) -> DropGuard {
    worker(runtime, WorkerOptions::default().poll(Duration::from_millis(100)))
}

/// Runs a story in which one program dies, and in which the parent may then be aborted.
async fn story(dies: Dies, mortal: &Mortal, aborted: bool, tells: bool) {
    let told = format!("{dies:?} at {}, after {}, aborted {aborted}, tells {tells}", mortal.at, mortal.after);
    let world = World::new(Wire { tells, ..Wire::default() }, BOTH, digger());
    let (there, agent) = world.wire.there();
    let person = &world.here;
    let mortal_process = || match dies {
        Dies::Here => {
            on_the_wire(&Layered::new(world.store.clone(), mortal.clone()), &world.chief, &world.wire)
        }
        Dies::There => {
            on_the_wire(&Layered::new(world.store_there.clone(), mortal.clone()), &agent, &world.wire)
        }
    };
    let key = person.start(say(&world.chief, "go")).await.unwrap().key;
    let first = works(&mortal_process());
    let _other = works(if dies == Dies::Here { &there } else { person });
    let ended = async || {
        loop {
            let session = person.session(&key).await.unwrap().unwrap();
            // An aborted session does not read what is delivered to it.
            let is_read = session.unread == 0 || session.status == SessionStatus::Aborted;
            if session.status.at_rest() && is_read && session.epoch.0 > 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        () = mortal.died.cancelled() => {}
        () = ended() => assert!(!mortal.died.is_cancelled() || mortal.at > mortal.writes.load(Ordering::SeqCst)),
    }
    let died = mortal.died.is_cancelled();
    if died {
        drop(first);
        if aborted {
            person.abort(&key, "enough").await.unwrap();
        }
        let _heir = works(if dies == Dies::Here { person } else { &there });
        ended().await;
        until_all_rest(&there).await;
    }
    let status = person.session(&key).await.unwrap().unwrap().status;
    if aborted && died && status == SessionStatus::Aborted {
        return;
    }
    assert_eq!(status, SessionStatus::Idle, "{told}");
    assert_eq!(only_result(person, &key).await, (ResultStatus::Done, FOUND.to_owned()), "{told}");
    // The process that takes over may ask the model again.
    let most = if dies == Dies::There { 4 } else { 2 };
    let asked = world.digger.asked().len();
    assert!((2..=most).contains(&asked), "{told}: its agent was asked {asked} times");
    assert_eq!(there.list(&SessionQuery::all(tenant_there())).await.unwrap().items.len(), 2, "{told}");
    assert_eq!(person.list(&SessionQuery::all(tenant())).await.unwrap().items.len(), 1, "{told}");
}

/// Waits until all sessions of the other program rest without an alarm.
async fn until_all_rest(there: &Runtime) {
    loop {
        let all = there.list(&SessionQuery::all(tenant_there())).await.unwrap().items;
        if all.iter().all(|session| session.status.at_rest() && session.alarm.is_none()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Runs the story with a death at each write in turn, until a story ends before its death.
async fn sweep(dies: Dies, aborted: bool, tells: bool) {
    for after in [false, true] {
        let mut at = 1;
        loop {
            let mortal = Mortal::at(at, after);
            story(dies, &mortal, aborted, tells).await;
            if !mortal.died.is_cancelled() {
                break;
            }
            at += 1;
        }
        assert!(at > 4, "{at} writes: the story has become shorter");
    }
}

#[tokio::test(start_paused = true)]
async fn h21_the_caller_dies_at_every_write() {
    sweep(Dies::Here, false, true).await;
    sweep(Dies::Here, false, false).await;
}

#[tokio::test(start_paused = true)]
async fn h21_the_agent_elsewhere_dies_at_every_write() {
    sweep(Dies::There, false, true).await;
    sweep(Dies::There, false, false).await;
}

#[tokio::test(start_paused = true)]
async fn h21_nothing_goes_on_elsewhere_once_the_caller_is_aborted_at_every_death() {
    sweep(Dies::Here, true, true).await;
    sweep(Dies::There, true, false).await;
}
