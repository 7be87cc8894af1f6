//! The commits that a failover of a Redis Cluster loses. The store's capabilities promise nothing, and the worker
//! whose commits are lost gets an error.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use holdover_launcher::Launcher;
use holdover_store::{CommitSurvives, Retry, StateStore, StoreErrorKind};
use holdover_store_redis::RedisStore;
use support::{answered, claimed, cli, key, options, said, saying, setting, wait_until};

/// The number of commits that the replica does not receive, and their size. Together they exceed the buffers between
/// master and replica.
const UNHEARD: usize = 48;
const UNHEARD_BYTES: usize = 1 << 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_failover_loses_is_a_suffix_and_noticed() {
    let launcher = Launcher::new().unwrap();
    let mut cluster = launcher.redis_cluster_with_replicas().unwrap();
    let options = options(&cluster.url()).namespace("failover").unwrap().partitions(1);
    let store = RedisStore::open(options.clone()).await.unwrap();
    assert_eq!(store.capabilities().commit_survives, CommitSurvives::Nothing);
    assert_eq!(setting(&store, "failover").as_deref(), Some("possible"));

    let claim = claimed(&store, "s").await;
    let holds = |url: &str| cli(url, &["--scan", "--pattern", "{failover:0}:s:*"]).ends_with("tenants");
    let master = (0..3).find(|node| holds(&cluster.nodes()[*node].url())).unwrap();
    let heard = saying("heard", "heard");
    store.commit(&claim.fence, heard).await.unwrap();
    let replica = cluster.replicas()[master].url();
    wait_until(|| cli(&replica, &["INFO", "replication"]).contains("master_link_status:up"));
    let offset = |url: &str, name: &str| {
        let info = cli(url, &["INFO", "replication"]);
        info.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned())).unwrap()
    };
    let at = offset(&cluster.nodes()[master].url(), "master_repl_offset:").parse::<u64>().unwrap();
    wait_until(|| offset(&replica, "slave_repl_offset:").parse::<u64>().unwrap() >= at);

    // The replica receives nothing for a while, and then its master dies.
    cluster.replicas()[master].process().pause();
    let text = "x".repeat(UNHEARD_BYTES);
    for number in 0..UNHEARD {
        let commit = saying(&format!("unheard-{number}"), &text);
        store.commit(&claim.fence, commit).await.unwrap();
    }
    cluster.nodes()[master].process().kill();
    cluster.replicas()[master].process().resume();
    wait_until(|| cli(&replica, &["ROLE"]).starts_with("master"));
    cluster.wait_until_whole().unwrap();

    // The worker whose commits were acknowledged gets an error that says they are lost.
    let next = async || store.commit(&claim.fence, saying("next", "next")).await;
    let error = answered(next).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Never), "{error}");
    assert!(error.to_string().contains("the store went back in time"), "{error}");

    let left = answered(async || store.load_session(&key("s")).await).await.unwrap().unwrap();
    let there = said(&store, &key("s")).await;
    let lost = UNHEARD + 1 - there.len();
    assert!(0 < lost && lost <= UNHEARD, "{lost} of {UNHEARD} commits lost");
    assert_eq!(there.len() as u64, left.last_message.0, "no half of a commit, no hole");
    assert_eq!(there[0], "heard", "what the replica had heard of is there");
}
