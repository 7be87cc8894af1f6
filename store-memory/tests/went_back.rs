//! A store that went back in time grants the same epoch twice.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail where it stands")]

use std::sync::Arc;
use std::time::Duration;

use holdover_store::ids::*;
use holdover_store::payload::Payload;
use holdover_store::rows::{Op, Row, RowStore, Rows, Slot, Token, Verdict, Write};
use holdover_store::time::Timestamp;
use holdover_store::*;
use holdover_store_memory::{Limits, MemoryRows, SystemClock};
use uuid::Uuid;

const LEASE: Duration = Duration::from_secs(600);

fn key() -> SessionKey {
    SessionKey::new("tenant".parse().unwrap(), "s".parse().unwrap())
}

fn claim_one(run: &str) -> ClaimOne {
    ClaimOne {
        run: RunId::new(run).unwrap(),
        worker: WorkerId::new("worker").unwrap(),
        lease: LEASE,
        expected_version: None,
        items: vec![],
    }
}

async fn claimed(store: &impl StateStore, run: &str) -> Claim {
    let outcome = store.claim_session(&key(), claim_one(run)).await.unwrap();
    let ClaimOutcome::Claimed(claim) = outcome else { panic!("{outcome:?}") };
    *claim
}

async fn slot(store: &RowStore<MemoryRows>) -> Arc<Slot> {
    store.rows().read(&key(), &[]).await.unwrap().slot.unwrap()
}

/// Puts the session back to an older state, like a failover that loses the newest commits.
async fn bring_back(store: &RowStore<MemoryRows>, was: &Slot, lost: Epoch) {
    let write = Write {
        key: key(),
        before: Some(slot(store).await),
        after: Some(Arc::new(Slot { token: Token::random(), ..was.clone() })),
        ops: vec![Op::Delete(Row::run(lost))],
        copy: None,
        from: Timestamp::from_ms(i64::MIN),
        until: Timestamp::from_ms(i64::MAX),
        provisional: false,
        skip_held: false,
        within: None,
    };
    let verdict = store.rows().apply(vec![Arc::new(write)]).await.remove(0).unwrap();
    assert!(matches!(verdict, Verdict::Applied { .. }), "{verdict:?}");
}

fn saying(operation: &str) -> Commit {
    let messages = vec![NewMessage::Inline(Payload::new(operation.to_owned()))];
    Commit { messages, ..Commit::new(OperationId::new(operation).unwrap()) }
}

#[tokio::test]
async fn a_run_whose_epoch_was_granted_to_another_writes_nothing() {
    let one = RowStore::new(MemoryRows::new(SystemClock, Limits::default()));
    let two = one.peer();
    let new = NewSession {
        key: key(),
        incarnation: Incarnation(Uuid::from_u128(1)),
        operation: OperationId::new("create").unwrap(),
        queue: QueueLabel::new("queue").unwrap(),
        labels: Labels::default(),
        definition: Payload::new("definition"),
        format: StateFormat(1),
        items: vec![],
        start: Start::WithItems,
    };
    one.create_session(new).await.unwrap();
    let before = slot(&one).await;
    let lost = claimed(&one, "lost").await;
    bring_back(&one, &before, lost.fence.epoch).await;
    let found = claimed(&two, "found").await;
    assert_eq!(found.fence, lost.fence, "nothing but the run tells them apart");

    // The first round uses rows held from before the loss; the second uses rows that were read after it.
    for _ in 0..2 {
        let staging = Staging { results: vec![], starts: vec![CallId::new("call").unwrap()] };
        assert_eq!(one.stage_result(&lost.fence, staging).await.unwrap(), StageOutcome::StaleFence);
        assert_eq!(one.renew_lease(&lost.fence, LEASE).await.unwrap(), LeaseOutcome::StaleFence);
        assert_eq!(one.take_interrupt(&lost.fence).await.unwrap(), InterruptCheck::StaleFence);
        let deltas = DeltaBatch { stream: 1, first: 1, deltas: vec![Payload::new("said")] };
        assert_eq!(one.append_deltas(&lost.fence, deltas).await.unwrap(), DeltaOutcome::StaleFence);
        let stale = one.commit(&lost.fence, saying("c1")).await.unwrap();
        assert_eq!(stale, CommitOutcome::StaleFence { applied: Applied::Unknown });
    }
    assert_eq!(two.load_session(&key()).await.unwrap().unwrap(), found.session, "untouched");
    let committed = two.commit(&found.fence, saying("c1")).await.unwrap();
    assert!(matches!(committed, CommitOutcome::Committed(_)), "{committed:?}");
}
