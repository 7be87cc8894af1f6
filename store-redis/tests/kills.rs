//! A server that is killed in the middle of commits, a server that does not answer, a script that is forgotten.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use holdover_core::ids::OperationId;
use holdover_core::payload::Payload;
use holdover_core::store::{
    Claim, Commit, CommitOutcome, NewMessage, NewState, Retry, StateStore, StoreErrorKind,
};
use holdover_launcher::Launcher;
use holdover_store_redis::RedisStore;
use support::{claimed, cli, options, redis_url, said, saying};

/// How often the server is killed, unless `HOLDOVER_SERVER_KILLS` says otherwise.
const KILLS: usize = 10;

fn kills() -> usize {
    std::env::var("HOLDOVER_SERVER_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS)
}

/// How many sessions commit at once.
const SESSIONS: usize = 8;

/// Commits until it is told to stop: each time a message and the state that names it. What was acknowledged.
async fn commits(
    store: RedisStore,
    claim: Claim,
    acknowledged: Arc<AtomicUsize>,
    stop: Arc<AtomicUsize>,
) -> (usize, usize) {
    let (mut done, mut unknown) = (0, 0);
    while stop.load(Ordering::SeqCst) == 0 {
        let text = format!("{}", done + 1);
        let commit = Commit {
            messages: vec![NewMessage::Inline(Payload::new(text.clone()))],
            state: Some(NewState { format: claim.session.format, payload: Payload::new(text.clone()) }),
            ..Commit::new(OperationId::new(format!("commit-{text}")).unwrap())
        };
        // The same commit until it is answered, as its owner does.
        loop {
            match store.save_state_and_promote_staging(&claim.fence, commit.clone()).await {
                Ok(CommitOutcome::Committed(_)) => break,
                Ok(other) => panic!("{other:?}"),
                Err(error) if error.retry == Retry::OutcomeUnknown => unknown += 1,
                Err(error) => assert_eq!(error.retry, Retry::Later, "{error}"),
            }
        }
        done += 1;
        acknowledged.fetch_add(1, Ordering::SeqCst);
    }
    (done, unknown)
}

/// Kills `kill` again and again while sessions commit, and looks at what is there in the end.
async fn survives(store: RedisStore, mut kill: impl FnMut(usize) + Send + 'static) {
    let mut claims = Vec::new();
    for number in 0..SESSIONS {
        claims.push(claimed(&store, &format!("s{number}")).await);
    }
    let (acknowledged, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let tasks: Vec<_> = claims
        .iter()
        .map(|claim| tokio::spawn(commits(store.clone(), claim.clone(), acknowledged.clone(), stop.clone())))
        .collect();
    let (seen, end) = (acknowledged.clone(), stop.clone());
    let killer = tokio::task::spawn_blocking(move || {
        for round in 0..kills() {
            // Each time in the middle of the work: some more commits were acknowledged since the last.
            let before = seen.load(Ordering::SeqCst);
            while seen.load(Ordering::SeqCst) < before + SESSIONS * 2 {
                std::thread::yield_now();
            }
            kill(round);
        }
        let before = seen.load(Ordering::SeqCst);
        while seen.load(Ordering::SeqCst) < before + SESSIONS {
            std::thread::yield_now();
        }
        end.store(1, Ordering::SeqCst);
        // The server lives in it.
        kill
    });
    let kill = killer.await.unwrap();
    let mut unknown_of_all = 0;
    for (task, claim) in tasks.into_iter().zip(&claims) {
        let (done, unknown) = task.await.unwrap();
        unknown_of_all += unknown;
        let all: Vec<String> = (1..=done).map(|number| number.to_string()).collect();
        assert_eq!(said(&store, &claim.fence.key).await, all, "every acknowledged commit once, none half");
        let session = store.load_session(&claim.fence.key).await.unwrap().unwrap();
        assert_eq!(session.state.unwrap().bytes(), all.last().unwrap().as_bytes(), "and its state with it");
    }
    assert!(unknown_of_all > 0, "no kill met a commit on its way");
    drop(kill);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_acknowledged_commit_is_there_after_kills_of_the_server() {
    let launcher = Launcher::new().unwrap();
    let mut server = launcher.redis(&[]).unwrap();
    let store = RedisStore::open(options(&server.url())).await.unwrap();
    survives(store, move |_| {
        server.process().kill();
        server.start().unwrap();
    })
    .await;
    drop(launcher);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_acknowledged_commit_is_there_after_kills_of_nodes_of_a_cluster() {
    let launcher = Launcher::new().unwrap();
    let mut cluster = launcher.redis_cluster().unwrap();
    let store = RedisStore::open(options(&cluster.url())).await.unwrap();
    survives(store, move |round| {
        let node = &mut cluster.nodes()[round % 3];
        node.process().kill();
        node.start().unwrap();
        cluster.wait_until_whole().unwrap();
    })
    .await;
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
    let error = store.save_state_and_promote_staging(&claim.fence, saying("one", "said")).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::OutcomeUnknown), "{error}");
    assert!(began.elapsed() >= TIMEOUT, "it waited as long as it may");
    let read = store.load_session(&claim.fence.key).await.unwrap_err();
    assert_eq!(read.retry, Retry::Later, "{read}");
    server.process().resume();
    loop {
        match store.save_state_and_promote_staging(&claim.fence, saying("one", "said")).await {
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
async fn a_script_that_the_server_forgot_is_sent_again() {
    let url = redis_url();
    let store = RedisStore::open(options(&url)).await.unwrap();
    let claim = claimed(&store, "s").await;
    cli(&url, &["SCRIPT", "FLUSH"]);
    let outcomes = join_all((0..4).map(|_| store.load_session(&claim.fence.key))).await;
    assert!(outcomes.into_iter().all(|session| session.unwrap().is_some()));
}
