//! A child that is aborted before its turn began answers its parent, even if the aborting run dies before it has done
//! so.
//!
//! Requirements: C48.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::children::{Allowance, Parent, ReplyBy, ReplyTo};
use holdover_core::engine::STATE_FORMAT;
use holdover_core::ids::{
    CallId, Incarnation, InterruptId, ItemKey, OperationId, PendingId, SessionId, SessionKey,
};
use holdover_core::message::Said;
use holdover_core::payload::Payload;
use holdover_core::store::{
    Answer, InboxItem, Interrupt, InterruptKind, ItemKind, Labels, Layer, Layered, NewSession, Request,
    SessionStatus, Start, StateStore, StoreError, Wake,
};
use holdover_core::time::Timestamp;
use holdover_runtime_local::WorkerOptions;

use crate::bench::{agent, runtime, store, tenant, worker};
use crate::script::{Say, Script};

/// A process that dies at its first commit: the commit is applied, and nothing more is answered.
#[derive(Clone, Default)]
struct Dies(Arc<AtomicUsize>);

#[async_trait]
impl Layer for Dies {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if self.0.load(Ordering::SeqCst) == 0 && !matches!(request, Request::Commit(..)) {
            return request.perform(&store).await;
        }
        if self.0.fetch_add(1, Ordering::SeqCst) == 0 {
            let _ = request.perform(&store).await;
        }
        std::future::pending().await
    }
}

fn task(parent: SessionKey) -> InboxItem {
    let life = Incarnation::derived([1; 16]);
    let parent = Parent {
        session: parent,
        incarnation: life,
        pending: PendingId::of(life, &CallId::new("c1-0").unwrap(), 1).unwrap(),
        index: 0,
        fail_fast: false,
        by: ReplyBy::Answer,
    };
    let reply = ReplyTo::parent(parent, Allowance::default());
    let said = Said { reply: Some(Box::new(reply)), ..Said::new("do it") };
    InboxItem {
        key: ItemKey::new("task").unwrap(),
        kind: ItemKind::Message { wake: Wake::Now },
        incarnation: None,
        payload: Payload::json(&said).unwrap(),
    }
}

#[tokio::test(start_paused = true)]
async fn c48_a_child_that_was_aborted_before_it_began_ends_also_where_its_run_dies_before_it_has_told() {
    let agent = Arc::new(agent(&Script::new(|_| Say::Text("never asked"))).build().unwrap());
    let (store, dies) = (store(), Dies::default());
    let mortal = runtime(&Layered::new(store.clone(), dies.clone()), &agent);
    let heir = runtime(&store, &agent);
    let key = SessionKey::new(tenant(), SessionId::new("child").unwrap());
    let incarnation = Incarnation::derived([2; 16]);
    let new = NewSession {
        key: key.clone(),
        incarnation,
        operation: OperationId::new("create").unwrap(),
        queue: agent.queue().clone(),
        labels: Labels::default(),
        definition: agent.definition().clone(),
        format: STATE_FORMAT,
        items: vec![task(SessionKey::new(tenant(), SessionId::new("parent").unwrap()))],
        start: Start::WithItems,
    };
    store.create_session(new).await.unwrap();
    let interrupt = Interrupt {
        id: InterruptId::new("abort").unwrap(),
        kind: InterruptKind::Abort,
        reason: "enough".to_owned(),
        at: Timestamp::EPOCH,
        incarnation: Some(incarnation),
    };
    store.request_interrupt(&key, interrupt).await.unwrap();
    let first = worker(&mortal, WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(5)).await;
    drop(first);
    assert!(dies.0.load(Ordering::SeqCst) > 0, "it died");
    assert_eq!(heir.session(&key).await.unwrap().unwrap().status, SessionStatus::Active);
    let _heir = worker(&heir, WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(120)).await;
    let child = heir.session(&key).await.unwrap().unwrap();
    assert_eq!((child.status, child.epoch.0, child.alarm), (SessionStatus::Aborted, 2, None));
}
