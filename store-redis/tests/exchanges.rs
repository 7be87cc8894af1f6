//! The number of exchanges and scripts that each operation takes.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use holdover_launcher::{Launcher, Relay};
use holdover_store::ids::CallId;
use holdover_store::payload::Payload;
use holdover_store::time::Timestamp;
use holdover_store::{
    Commit, CommitOutcome, LeaseOutcome, NewMessage, NewSession, NewState, StageOutcome, StagedResult,
    Staging, Start, StateStore,
};
use holdover_store_redis::RedisStore;
use support::{LEASE, calls, claim_due, claimed, commit, key, new_session, options};

/// The number of times each counted operation is performed.
const TIMES: u64 = 20;

/// Returns the number of scripts that a server has run.
fn scripts(url: &str) -> u64 {
    calls(url, "evalsha") + calls(url, "eval")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_writes_is_one_exchange_and_one_script_each() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[]).unwrap();
    let url = server.url();
    let relay = Relay::to(url.trim_start_matches("redis://")).unwrap();
    let store = RedisStore::open(options(&format!("redis://{}", relay.address()))).await.unwrap();
    let claim = claimed(&store, "s").await;
    let call = |nth: u64| CallId::new(format!("call-{nth}")).unwrap();
    let stage = async |nth: u64| {
        let results = vec![StagedResult { call: call(nth), payload: Payload::new("{}") }];
        let staging = Staging { results, starts: vec![call(nth)] };
        let staged = store.stage_result(&claim.fence, staging).await.unwrap();
        assert!(matches!(staged, StageOutcome::Staged(_)), "{staged:?}");
    };
    let save = async |nth: u64| {
        let saved = Commit {
            messages: vec![NewMessage::Promote(call(nth)), NewMessage::Inline(Payload::new("said"))],
            events: vec![Payload::new("event")],
            state: Some(NewState { format: claim.session.format, payload: Payload::new("state") }),
            checkpoint: true,
            ..commit(&format!("commit-{nth}"))
        };
        let saved = store.commit(&claim.fence, saved).await.unwrap();
        assert!(matches!(saved, CommitOutcome::Committed(_)), "{saved:?}");
    };
    let renew = async || {
        let renewed = store.renew_lease(&claim.fence, LEASE).await.unwrap();
        assert!(matches!(renewed, LeaseOutcome::Renewed(_)), "{renewed:?}");
    };
    stage(0).await;
    save(0).await;

    let counts = || (relay.exchanges(), scripts(&url));
    let since = |(exchanges, run): (u64, u64)| (relay.exchanges() - exchanges, scripts(&url) - run);
    let before = counts();
    for nth in 1..=TIMES {
        stage(nth).await;
    }
    assert_eq!(since(before), (TIMES, TIMES), "a staging");
    let before = counts();
    for nth in 1..=TIMES {
        save(nth).await;
    }
    assert_eq!(since(before), (TIMES, TIMES), "a commit");
    let before = counts();
    for _ in 0..TIMES {
        renew().await;
    }
    assert_eq!(since(before), (TIMES, TIMES), "a renewal");
}

#[tokio::test(flavor = "multi_thread")]
async fn looking_for_what_is_due_is_one_exchange_and_claiming_it_two_more() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[]).unwrap();
    let url = server.url();
    let relay = Relay::to(url.trim_start_matches("redis://")).unwrap();
    let store = RedisStore::open(options(&format!("redis://{}", relay.address()))).await.unwrap();
    let due = |id: &str, ms| NewSession { start: Start::At(Timestamp::from_ms(ms)), ..new_session(&key(id)) };
    // There are sessions, but none of them is due.
    for number in 0..TIMES {
        store.create_session(due(&format!("late{number}"), 1 << 50)).await.unwrap();
    }
    assert_eq!(store.claim_due(claim_due(8)).await.unwrap(), []);
    let before = (relay.exchanges(), scripts(&url));
    for _ in 0..TIMES {
        assert_eq!(store.claim_due(claim_due(8)).await.unwrap(), []);
    }
    assert_eq!(relay.exchanges() - before.0, TIMES, "one for all partitions");
    assert_eq!(scripts(&url) - before.1, TIMES);

    let make_due = async |round: i64, number: i64| {
        for number in 0..number {
            let id = format!("due{round}-{number}");
            store.create_session(due(&id, number)).await.unwrap();
        }
    };
    // After the first claims the server knows the scripts.
    make_due(0, 2).await;
    for _ in 0..2 {
        assert_eq!(store.claim_due(claim_due(1)).await.unwrap().len(), 1);
    }
    make_due(1, 8).await;
    let before = (relay.exchanges(), scripts(&url));
    assert_eq!(store.claim_due(claim_due(8)).await.unwrap().len(), 8);
    assert_eq!(scripts(&url) - before.1, 1 + 2 * 8, "a look, and of each a read and a write");
    assert!(relay.exchanges() - before.0 <= 1 + 2 * 8);
    make_due(2, 12).await;
    let before = scripts(&url);
    assert_eq!(store.claim_due(claim_due(8)).await.unwrap().len(), 8);
    assert_eq!(scripts(&url) - before, 1 + 2 * 8, "the look also finds whose turn it is");
}

#[tokio::test(flavor = "multi_thread")]
async fn looking_for_what_is_due_in_a_cluster_asks_each_partition_once() {
    let launcher = Launcher::new().unwrap();
    let mut cluster = launcher.redis_cluster().unwrap();
    let store = RedisStore::open(options(&cluster.url()).partitions(64)).await.unwrap();
    assert_eq!(store.claim_due(claim_due(8)).await.unwrap(), []);
    let urls: Vec<String> = cluster.nodes().iter().map(|node| node.url()).collect();
    let all = || urls.iter().map(|url| scripts(url)).sum::<u64>();
    let before = all();
    assert_eq!(store.claim_due(claim_due(8)).await.unwrap(), []);
    // The partitions are asked in parallel, each once.
    assert_eq!(all() - before, 64);
}
