//! A store that lost acknowledged writes: a worker whose writes are lost gets an error.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use holdover_launcher::{Launcher, Redis};
use holdover_store::{
    ClaimOutcome, CommitOutcome, CreateOutcome, Deletion, Retry, StateStore, StoreError, StoreErrorKind,
};
use holdover_store_redis::{RedisOptions, RedisStore};
use support::{LEASE, answered, claim_one, claimed, cli, commit, key, new_session, options, said, saying};

fn assert_went_back(error: &StoreError) {
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Never), "{error}");
    assert!(error.to_string().contains("the store went back in time"), "{error}");
}

#[tokio::test]
async fn an_emptied_store_answers_an_error_until_it_is_opened_anew() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[]).unwrap();
    let options = options(&server.url());
    let store = RedisStore::open(options.clone()).await.unwrap();
    let claim = claimed(&store, "s").await;
    cli(&server.url(), &["FLUSHALL"]);
    let lost = store.commit(&claim.fence, saying("one", "said")).await;
    assert_went_back(&lost.unwrap_err());
    assert_went_back(&store.load_session(&claim.fence.key).await.unwrap_err());
    assert_went_back(&store.create_session(new_session(&key("t"))).await.unwrap_err());
    assert_eq!(cli(&server.url(), &["DBSIZE"]), "0", "nothing was written into the emptied store");

    let again = RedisStore::open(options).await.unwrap();
    assert_eq!(again.load_session(&claim.fence.key).await.unwrap(), None);
    assert_went_back(&store.load_session(&claim.fence.key).await.unwrap_err());
}

/// A server whose log can be put back to an older state.
struct Rewound {
    server: Redis,
    kept: std::path::PathBuf,
}

impl Rewound {
    /// Keeps a copy of the current log.
    fn keep(mut server: Redis) -> Self {
        let folder = server.process().folder().to_owned();
        let kept = folder.with_extension("kept");
        copy(&folder.join("appendonlydir"), &kept);
        Self { server, kept }
    }

    /// Kills the server and starts it with the kept log.
    fn rewind(&mut self) {
        self.server.process().kill();
        let log = self.server.process().folder().join("appendonlydir");
        std::fs::remove_dir_all(&log).unwrap();
        copy(&self.kept, &log);
        self.server.start().unwrap();
    }
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[tokio::test]
async fn a_commit_on_an_older_state_is_refused_though_its_fence_is_the_newest() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[]).unwrap();
    let store = RedisStore::open(options(&server.url())).await.unwrap();
    let claim = claimed(&store, "s").await;
    store.commit(&claim.fence, saying("one", "first")).await.unwrap();
    let mut rewound = Rewound::keep(server);
    store.commit(&claim.fence, saying("two", "lost")).await.unwrap();
    rewound.rewind();
    // The commit expects no version, so only the handle's memory reveals the loss.
    let third = async || store.commit(&claim.fence, saying("three", "third")).await;
    assert_went_back(&answered(third).await.unwrap_err());
    assert_eq!(said(&store, &claim.fence.key).await, ["first"], "and nothing was applied");
}

#[tokio::test]
async fn an_epoch_that_was_granted_anew_is_not_shared_by_two_runs() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[]).unwrap();
    let options: RedisOptions = options(&server.url());
    let (old, new) =
        (RedisStore::open(options.clone()).await.unwrap(), RedisStore::open(options).await.unwrap());
    let made = old.create_session(new_session(&key("s"))).await.unwrap();
    assert!(matches!(made, CreateOutcome::Created { .. }));
    let mut rewound = Rewound::keep(server);
    let claim = async |store: &RedisStore, run| {
        let claim = async || store.claim_session(&key("s"), claim_one(run)).await;
        let outcome = answered(claim).await.unwrap();
        let ClaimOutcome::Claimed(claim) = outcome else { panic!("not claimed: {outcome:?}") };
        *claim
    };
    let lost = claim(&old, "lost").await;
    rewound.rewind();
    let granted = claim(&new, "granted anew").await;
    assert_eq!(lost.fence, granted.fence, "the fence alone does not tell them apart");

    let late = async || old.commit(&lost.fence, saying("late", "late")).await;
    assert_went_back(&answered(late).await.unwrap_err());
    let good = new.commit(&granted.fence, saying("good", "good")).await.unwrap();
    assert!(matches!(good, CommitOutcome::Committed(_)));
    assert_eq!(said(&new, &granted.fence.key).await, ["good"]);
}

#[tokio::test]
async fn a_session_that_vanished_is_not_taken_for_one_that_another_run_owns() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[]).unwrap();
    let store = RedisStore::open(options(&server.url())).await.unwrap();
    let mut rewound = Rewound::keep(server);
    let claim = claimed(&store, "s").await;
    store.commit(&claim.fence, saying("one", "lost")).await.unwrap();
    rewound.rewind();
    let commit = async || store.commit(&claim.fence, saying("two", "said")).await;
    assert_went_back(&answered(commit).await.unwrap_err());
    assert_went_back(&store.renew_lease(&claim.fence, LEASE).await.unwrap_err());
    assert_went_back(&store.take_interrupt(&claim.fence).await.unwrap_err());
    // The same holds after another process, which never saw the first life, has created the session again.
    let made = store.create_session(new_session(&key("s"))).await.unwrap();
    assert!(matches!(made, CreateOutcome::Created { .. }), "{made:?}");
    assert_went_back(&commit().await.unwrap_err());

    // A deleted session is reported as deleted, not as lost.
    let deleted = claimed(&store, "deleted").await;
    store.delete_session(&deleted.fence.key, Deletion::FORCE).await.unwrap();
    let stale = store.commit(&deleted.fence, saying("late", "late")).await.unwrap();
    assert!(matches!(stale, CommitOutcome::StaleFence { .. }), "{stale:?}");
    store.create_session(new_session(&key("deleted"))).await.unwrap();
    let stale = store.commit(&deleted.fence, saying("late", "late")).await.unwrap();
    assert!(matches!(stale, CommitOutcome::StaleFence { .. }), "{stale:?}");
}

#[tokio::test]
async fn a_cluster_that_lost_a_node_is_refused_unless_the_loss_is_accepted() {
    let launcher = Launcher::new().unwrap();
    let mut cluster = launcher.redis_cluster().unwrap();
    let (url, nodes) = (cluster.url(), cluster.nodes().iter().map(|node| node.url()).collect::<Vec<_>>());
    // One of the nodes holds the fixed parameters of the whole store.
    for node in nodes {
        let options = options(&url);
        let store = RedisStore::open(options.clone()).await.unwrap();
        let mut claims = Vec::new();
        for number in 0..32 {
            claims.push(claimed(&store, &format!("s{number}")).await);
        }
        cli(&node, &["FLUSHALL"]);
        for _ in 0..2 {
            let error = RedisStore::open(options.clone()).await.err().unwrap();
            assert_went_back(&error);
        }
        let again = RedisStore::open(options.accept_loss()).await.unwrap();
        let mut left = 0;
        for claim in &claims {
            left += usize::from(again.load_session(&claim.fence.key).await.unwrap().is_some());
            let late = store.commit(&claim.fence, commit("late")).await;
            assert_went_back(&late.unwrap_err());
        }
        assert!(0 < left && left < claims.len(), "{left} of 32 lie on the other nodes");
    }
}
