//! A server that is killed during commits, one that does not answer, and one that has forgotten a script.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use futures::future::join_all;
use holdover_launcher::{Launcher, Redis, RedisCluster};
use holdover_store::{CommitOutcome, Retry, StateStore, StoreErrorKind};
use holdover_store_redis::RedisStore;
use support::work::{Seen, assert_kept, work};
use support::{claimed, cli, options, redis_url, said, saying, wait_until};

/// The number of kills that must meet unanswered writes, unless `HOLDOVER_SERVER_KILLS` sets another number.
const KILLS: usize = 10;

fn kills() -> usize {
    std::env::var("HOLDOVER_SERVER_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS)
}

/// The number of sessions that are written at once, enough for each node of a cluster to hold some.
const SESSIONS: usize = 24;

/// The namespace of the sessions. It is fixed, so that sessions always lie on the same nodes.
const NAMESPACE: &str = "kills";

/// The servers that are killed.
enum Servers {
    One(Redis),
    Cluster(RedisCluster),
}

impl Servers {
    fn victim(&mut self, round: usize) -> &mut Redis {
        match self {
            Self::One(server) => server,
            Self::Cluster(cluster) => &mut cluster.nodes()[round % 3],
        }
    }

    fn wait_until_whole(&mut self) {
        if let Self::Cluster(cluster) = self {
            cluster.wait_until_whole().unwrap();
        }
    }
}

/// Returns the numbers of the sessions whose rows lie on a server.
fn sessions_on(url: &str) -> Vec<usize> {
    let rows = cli(url, &["--scan", "--pattern", &format!("{{{NAMESPACE}:*}}:s:*")]);
    rows.lines().map(|row| row.rsplit_once("tenants").unwrap().1.parse().unwrap()).collect()
}

fn sum(seen: &[&Seen], of: impl Fn(&Seen) -> &AtomicUsize) -> usize {
    seen.iter().map(|seen| of(seen).load(SeqCst)).sum()
}

/// Kills a server while every session on it waits for the answer to a write. Returns how many writes got an
/// unknown outcome.
fn kill(server: &mut Redis, seen: &[&Seen]) -> usize {
    let got_on =
        |since: &[usize]| seen.iter().zip(since).all(|(seen, since)| seen.acknowledged.load(SeqCst) > *since);
    let acknowledged = || seen.iter().map(|seen| seen.acknowledged.load(SeqCst)).collect::<Vec<_>>();
    let before = acknowledged();
    wait_until(|| got_on(&before));
    // The server is paused at an arbitrary point, and dies there.
    server.process().pause();
    wait_until(|| seen.iter().all(|seen| seen.in_flight.load(SeqCst)));
    let (unknown, before) = (sum(seen, |seen| &seen.unknown), acknowledged());
    server.process().kill();
    server.start().unwrap();
    wait_until(|| got_on(&before));
    sum(seen, |seen| &seen.unknown) - unknown
}

/// Kills servers again and again while sessions are written, and checks the sessions at the end.
async fn survives(store: RedisStore, mut servers: Servers) {
    let mut claims = Vec::new();
    for number in 0..SESSIONS {
        claims.push(claimed(&store, &format!("s{number}")).await);
    }
    let seen: Vec<Arc<Seen>> = claims.iter().map(|_| Arc::default()).collect();
    let stop = Arc::new(AtomicBool::new(false));
    let working = claims.iter().zip(&seen);
    let tasks: Vec<_> = working
        .map(|(claim, seen)| {
            tokio::spawn(work(store.clone(), claim.clone(), Arc::clone(seen), Arc::clone(&stop)))
        })
        .collect();
    let (all, end) = (seen.clone(), Arc::clone(&stop));
    let killer = tokio::task::spawn_blocking(move || {
        let all: Vec<&Seen> = all.iter().map(AsRef::as_ref).collect();
        let both_fates = || sum(&all, |seen| &seen.applied) > 0 && sum(&all, |seen| &seen.not_applied) > 0;
        let (mut round, mut met) = (0, 0);
        // Both cases must occur: a request lost on the way in, and an answer lost on the way out. A kill does
        // not count if all writes were waiting for the settings to be read.
        while met < kills() || !both_fates() {
            assert!(round < kills() * 2, "{met} of {round} kills met writes");
            let victim = servers.victim(round);
            let here = sessions_on(&victim.url());
            let here: Vec<&Seen> = here.into_iter().map(|number| all[number]).collect();
            assert!(!here.is_empty());
            met += usize::from(kill(victim, &here) > 0);
            servers.wait_until_whole();
            round += 1;
        }
        end.store(true, SeqCst);
        // The killer returns the servers, which stop when they are dropped.
        servers
    });
    let servers = killer.await.unwrap();
    for (task, claim) in tasks.into_iter().zip(&claims) {
        assert_kept(&store, &claim.fence.key, task.await.unwrap()).await;
    }
    drop(servers);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_acknowledged_commit_is_there_after_kills_of_the_server() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[]).unwrap();
    let options = options(&server.url()).namespace(NAMESPACE).unwrap();
    let store = RedisStore::open(options).await.unwrap();
    survives(store, Servers::One(server)).await;
    drop(launcher);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_acknowledged_commit_is_there_after_kills_of_nodes_of_a_cluster() {
    let launcher = Launcher::new().unwrap();
    let cluster = launcher.redis_cluster().unwrap();
    let options = options(&cluster.url()).namespace(NAMESPACE).unwrap();
    let store = RedisStore::open(options).await.unwrap();
    survives(store, Servers::Cluster(cluster)).await;
    drop(launcher);
}

#[tokio::test]
async fn a_write_that_takes_too_long_has_an_unknown_outcome_and_may_be_repeated() {
    const TIMEOUT: Duration = Duration::from_millis(300);
    let launcher = Launcher::new().unwrap();
    let mut server = launcher.redis(&[]).unwrap();
    let store = RedisStore::open(options(&server.url()).operation_timeout(TIMEOUT)).await.unwrap();
    let claim = claimed(&store, "s").await;
    server.process().pause();
    let began = Instant::now();
    let error = store.commit(&claim.fence, saying("one", "said")).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::OutcomeUnknown), "{error}");
    assert!(began.elapsed() >= TIMEOUT, "it waited as long as it may");
    let read = store.load_session(&claim.fence.key).await.unwrap_err();
    assert_eq!(read.retry, Retry::Later, "{read}");
    server.process().resume();
    loop {
        match store.commit(&claim.fence, saying("one", "said")).await {
            Ok(outcome) => {
                assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
                break;
            }
            Err(error) => assert_ne!(error.retry, Retry::Never, "{error}"),
        }
    }
    assert_eq!(said(&store, &claim.fence.key).await, ["said"], "once");
}

#[tokio::test]
async fn a_node_that_hangs_holds_up_nobody_on_another() {
    const TIMEOUT: Duration = Duration::from_secs(4);
    let launcher = Launcher::new().unwrap();
    let mut cluster = launcher.redis_cluster().unwrap();
    let options = options(&cluster.url()).namespace(NAMESPACE).unwrap();
    let store = RedisStore::open(options.operation_timeout(TIMEOUT)).await.unwrap();
    let mut claims = Vec::new();
    for number in 0..SESSIONS {
        claims.push(claimed(&store, &format!("s{number}")).await);
    }
    for node in cluster.nodes() {
        cli(&node.url(), &["CONFIG", "SET", "cluster-require-full-coverage", "no"]);
    }
    let on = |node: &Redis| claims[sessions_on(&node.url())[0]].clone();
    let (hangs, lives) = (on(&cluster.nodes()[0]), on(&cluster.nodes()[1]));
    cluster.nodes()[0].process().pause();
    let lost = store.commit(&hangs.fence, saying("one", "lost")).await.unwrap_err();
    assert_eq!(lost.retry, Retry::OutcomeUnknown, "{lost}");
    assert!(lost.to_string().contains("after 4."), "it says how long it waited: {lost}");
    let began = Instant::now();
    for _ in 0..5 {
        assert!(store.load_session(&lives.fence.key).await.unwrap().is_some());
    }
    assert!(began.elapsed() < TIMEOUT * 2, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_script_that_the_server_forgot_is_sent_again() {
    let url = redis_url();
    let store = RedisStore::open(options(&url)).await.unwrap();
    let claim = claimed(&store, "s").await;
    cli(&url, &["SCRIPT", "FLUSH"]);
    let outcomes = join_all((0..4).map(|_| store.load_session(&claim.fence.key))).await;
    assert!(outcomes.into_iter().all(|session| session.unwrap().is_some()));
}
