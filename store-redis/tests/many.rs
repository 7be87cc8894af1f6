//! Stores with many partitions, and sessions with many checkpoints.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use futures::future::join_all;
use holdover_store::payload::Payload;
use holdover_store::time::Timestamp;
use holdover_store::{
    CheckpointQuery, Claim, Commit, NewState, Release, Remove, RetentionRule, SessionStatus, StateStore,
    Watch,
};
use holdover_store_redis::RedisStore;
use support::{claimed, cli, cluster_url, commit, options, redis_url, saying};

/// The number of sessions that change, which is about the number of partitions with changes.
const HEARD: usize = 32;

#[tokio::test]
async fn a_handle_hears_all_partitions_however_short_its_first_waits_were() {
    for url in [redis_url(), cluster_url()] {
        let options = options(&url).partitions(1024);
        let opened = join_all((0..3).map(|_| RedisStore::open(options.clone()))).await;
        let [writer, waiter, late] =
            <[_; 3]>::try_from(opened).unwrap_or_else(|_| panic!()).map(Result::unwrap);
        let names: Vec<String> = (0..HEARD).map(|number| format!("s{number}")).collect();
        let claims = join_all(names.iter().map(|name| claimed(&writer, name))).await;
        let (at_most, began) = (Duration::from_secs(60), Instant::now());
        let wait = async |handle: &RedisStore, claim: &Claim, at_most| {
            handle.wait_for_change(Watch::Session(claim.fence.key.clone()), at_most).await.unwrap();
        };
        // Commits to one session until `done` is ready.
        let until = async |claim: &Claim, done: &mut (dyn Future<Output = ()> + Unpin)| {
            let told = async {
                for number in 0.. {
                    let saying = saying(&format!("commit-{number}"), "said");
                    writer.commit(&claim.fence, saying).await.unwrap();
                }
            };
            tokio::select! { () = done => {}, () = told => {} }
        };
        // The handle may have missed changes from before it listened, so the wait also returns when listening
        // begins.
        wait(&late, &claims[0], at_most).await;
        for _ in 0..10 {
            wait(&waiter, &claims[0], Duration::from_millis(1)).await;
        }
        // The first wait may return because listening begins; the second returns at a change.
        for _ in 0..2 {
            until(&claims[0], &mut Box::pin(wait(&waiter, &claims[0], at_most))).await;
        }
        // From now on a wait returns only at a change of its own session.
        for claim in claims.iter() {
            until(claim, &mut Box::pin(wait(&waiter, claim, at_most))).await;
            assert!(began.elapsed() < at_most, "{}: {url}", claim.fence.key);
        }
    }
}

#[tokio::test]
async fn more_checkpoints_than_one_script_removes_are_removed() {
    const OLD: usize = 10_000;
    let url = redis_url();
    let store = RedisStore::open(options(&url).namespace("many").unwrap().partitions(1)).await.unwrap();
    let claim = claimed(&store, "s").await;
    // Sets the session's version as if it had committed this often.
    let row = "{many:0}:s:6:tenants";
    cli(&url, &["HSET", row, "session_version", &(OLD + 1).to_string(), "token", "00000000000000ff"]);
    let state = Some(NewState { format: claim.session.format, payload: Payload::new("state") });
    let release = Some(Release::To { status: SessionStatus::Idle, deadline: None, wake_on: 0 });
    let resting = Commit { state, checkpoint: true, release, ..commit("one") };
    store.commit(&claim.fence, resting).await.unwrap();
    let life = cli(&url, &["HGET", row, "life"]);
    let add = format!(
        "for number = 1, {OLD} do
           redis.call('HSET', KEYS[1], number, ARGV[1]) redis.call('ZADD', KEYS[2], number, number)
         end"
    );
    let keys = ["checkpoints", "restorable"].map(|name| format!("{{many:0}}:{life}:{name}"));
    // The heads of the checkpoints: run, messages, events, instant, format, and a state.
    let old = "1:11:01:01:01:12:xx";
    cli(&url, &["EVAL", &add, "2", &keys[0], &keys[1], old]);
    assert_eq!(cli(&url, &["HLEN", &keys[0]]), (OLD + 1).to_string());
    let rule = RetentionRule {
        tenant: None,
        status: vec![],
        unchanged_since: Timestamp::from_ms(i64::MAX),
        remove: Remove::Checkpoints { keep: NonZeroU32::MIN },
        limit: NonZeroU32::MIN,
        after: None,
    };
    assert_eq!(store.purge(&rule).await.unwrap().checkpoints, OLD as u64);
    let left = store.list_checkpoints(&CheckpointQuery::all(claim.fence.key)).await.unwrap().items;
    assert_eq!(left.iter().map(|it| it.state.clone()).collect::<Vec<_>>(), [Payload::new("state")]);
    assert_eq!(store.purge(&rule).await.unwrap().checkpoints, 0);
}
