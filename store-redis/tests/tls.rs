//! Servers that are reached over TLS.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::time::{Duration, Instant};

use holdover_launcher::Launcher;
use holdover_store::{StateStore, StoreErrorKind, Watch};
use holdover_store_redis::{RedisOptions, RedisStore};
use support::{claimed, options, said, saying};

async fn works(options: RedisOptions) {
    let (store, other) =
        (RedisStore::open(options.clone()).await.unwrap(), RedisStore::open(options).await.unwrap());
    let claim = claimed(&store, "s").await;
    store.commit(&claim.fence, saying("one", "said")).await.unwrap();
    assert_eq!(said(&other, &claim.fence.key).await, ["said"]);
    // Change hints use a connection of their own. The wait returns once that connection listens.
    let (at_most, began) = (Duration::from_secs(60), Instant::now());
    other.wait_for_change(Watch::Session(claim.fence.key), at_most).await.unwrap();
    assert!(began.elapsed() < at_most, "nothing was heard");
}

/// Asserts that the server is trusted only if the options name the authority that signed its certificate.
async fn is_proved(url: &str, pem: Vec<u8>, stranger: Vec<u8>) {
    works(options(url).authority(pem).unwrap()).await;
    for doubtful in [options(url), options(url).authority(stranger).unwrap()] {
        let error = RedisStore::open(doubtful).await.err().unwrap();
        assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
    }
}

#[tokio::test]
async fn a_server_that_proves_who_it_is_is_believed() {
    let launcher = Launcher::new().unwrap();
    let (server, other) = (launcher.redis_with_tls().unwrap(), launcher.redis_with_tls().unwrap());
    let pem = |server: &holdover_launcher::Redis| std::fs::read(server.authority().unwrap()).unwrap();
    is_proved(&server.tls_url().unwrap(), pem(&server), pem(&other)).await;
    let plain = options(&server.url()).authority(pem(&server)).err().unwrap();
    assert_eq!(plain.kind, StoreErrorKind::InvalidArgument, "{plain}");
}

#[tokio::test]
async fn a_cluster_that_proves_who_it_is_is_believed() {
    let launcher = Launcher::new().unwrap();
    let (mut cluster, other) =
        (launcher.redis_cluster_with_tls().unwrap(), launcher.redis_with_tls().unwrap());
    let authority = cluster.nodes()[0].authority().unwrap();
    let pem = |path| std::fs::read(path).unwrap();
    is_proved(&cluster.tls_url().unwrap(), pem(authority), pem(other.authority().unwrap())).await;
}
