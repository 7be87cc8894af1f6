//! Checks, reports and refusals when a store is opened.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::time::Duration;

use futures::future::join_all;
use holdover_launcher::Launcher;
use holdover_store::ids::MessageSeq;
use holdover_store::{
    CommitSurvives, Deletion, MessageRange, Retry, SessionQuery, StateStore, StoreErrorKind,
};
use holdover_store_redis::RedisStore;
use support::{answered, claimed, cli, cluster_url, options, redis_url, said, saying, setting, wait_until};

#[tokio::test]
async fn the_log_decides_what_a_commit_survives() {
    let launcher = Launcher::new().unwrap();
    for (settings, survives) in [
        (&[][..], CommitSurvives::PowerCut),
        (&[("appendfsync", "everysec")], CommitSurvives::Nothing),
        (&[("no-appendfsync-on-rewrite", "yes")], CommitSurvives::ProcessKill),
        (&[("appendonly", "no")], CommitSurvives::Nothing),
    ] {
        let server = launcher.redis(settings).unwrap();
        let store = RedisStore::open(options(&server.url())).await.unwrap();
        assert_eq!(store.capabilities().commit_survives, survives, "{settings:?}");
        for (name, value) in settings {
            assert_eq!(setting(&store, name).as_deref(), Some(*value));
        }
        assert!(store.capabilities().backend.starts_with("Redis 7"), "{}", store.capabilities().backend);
    }
}

#[tokio::test]
async fn where_a_replica_may_take_over_nothing_is_promised_and_the_reason_named() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[]).unwrap();
    let options = options(&server.url());
    let alone = RedisStore::open(options.clone()).await.unwrap();
    assert_eq!(setting(&alone, "failover").as_deref(), Some("none"));
    let _replica = launcher.redis_replica(&server).unwrap();
    cli(&server.url(), &["CONFIG", "SET", "min-replicas-to-write", "1"]);
    let store = RedisStore::open(options).await.unwrap();
    assert_eq!(store.capabilities().commit_survives, CommitSurvives::Nothing);
    let named = ["failover", "connected_slaves", "min-replicas-to-write", "appendfsync"];
    let named = named.map(|name| setting(&store, name).unwrap());
    assert_eq!(named, ["possible", "1", "1", "always"]);
}

#[tokio::test]
async fn a_server_that_forgets_is_refused() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[("maxmemory-policy", "allkeys-lru")]).unwrap();
    let error = RedisStore::open(options(&server.url())).await.err().unwrap();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Never));
    assert!(error.to_string().contains("maxmemory-policy is allkeys-lru"), "{error}");
}

#[tokio::test]
async fn where_config_is_forbidden_the_weakest_is_promised_and_the_reason_named() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[]).unwrap();
    cli(&server.url(), &["ACL", "SETUSER", "tenant", "on", ">secret", "~*", "&*", "+@all", "-config"]);
    let url = server.url().replace("redis://", "redis://tenant:secret@");
    let store = RedisStore::open(options(&url)).await.unwrap();
    assert_eq!(store.capabilities().commit_survives, CommitSurvives::Nothing);
    assert!(setting(&store, "appendfsync").unwrap().contains("CONFIG is forbidden"));
    assert_eq!(setting(&store, "maxmemory-policy").as_deref(), Some("noeviction"));
}

/// Breaks every connection to the server, and waits until an unused handle has reconnected by itself.
fn broken_and_back(url: &str) {
    cli(url, &["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    let others = || cli(url, &["CLIENT", "LIST", "TYPE", "normal"]).lines().count() - 1;
    wait_until(|| others() > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_handle_reads_the_settings_again_when_its_connection_was_lost() {
    let launcher = Launcher::new().unwrap();
    let mut server = launcher.redis(&[]).unwrap();
    let url = server.url();
    let store = RedisStore::open(options(&url)).await.unwrap();
    let claim = claimed(&store, "s").await;
    assert_eq!(store.capabilities().commit_survives, CommitSurvives::PowerCut);

    cli(&url, &["CONFIG", "SET", "appendfsync", "everysec"]);
    broken_and_back(&url);
    store.commit(&claim.fence, saying("one", "said")).await.unwrap();
    assert_eq!(
        store.capabilities().commit_survives,
        CommitSurvives::Nothing,
        "known before it is acknowledged"
    );

    cli(&url, &["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    broken_and_back(&url);
    let refused = store.commit(&claim.fence, saying("two", "lost")).await.unwrap_err();
    assert_eq!((refused.kind, refused.retry), (StoreErrorKind::Unavailable, Retry::Never));
    assert!(refused.to_string().contains("allkeys-lru"), "{refused}");

    // The server comes back with other settings.
    server.process().kill();
    server.set("no-appendfsync-on-rewrite", "yes");
    server.start().unwrap();
    let again = answered(async || store.load_session(&claim.fence.key).await).await.unwrap().unwrap();
    assert_eq!(again.last_message.0, 1, "what was refused was not run");
    assert_eq!(store.capabilities().commit_survives, CommitSurvives::ProcessKill);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_acknowledged_unchecked_after_a_server_hung() {
    let launcher = Launcher::new().unwrap();
    let mut server = launcher.redis(&[]).unwrap();
    let url = server.url();
    // Longer than the wait for a cluster, so that the first attempt to read the settings times out by itself.
    let options = options(&url).operation_timeout(Duration::from_millis(1500));
    let store = RedisStore::open(options).await.unwrap();
    let claim = claimed(&store, "s").await;
    cli(&url, &["CONFIG", "SET", "appendfsync", "everysec"]);
    broken_and_back(&url);
    server.process().pause();
    let hung = store.load_session(&claim.fence.key).await.unwrap_err();
    assert_eq!(hung.retry, Retry::Later, "{hung}");
    assert_eq!(store.capabilities().commit_survives, CommitSurvives::PowerCut, "nobody has said otherwise");
    server.process().resume();
    let commit = async || store.commit(&claim.fence, saying("one", "said")).await;
    answered(commit).await.unwrap();
    assert_eq!(
        store.capabilities().commit_survives,
        CommitSurvives::Nothing,
        "known before it is acknowledged"
    );
}

#[tokio::test]
async fn a_cluster_is_not_opened_while_a_master_is_away() {
    let launcher = Launcher::new().unwrap();
    let mut cluster = launcher.redis_cluster().unwrap();
    let urls: Vec<String> = cluster.nodes().iter().map(|node| node.url()).collect();
    for url in &urls {
        cli(url, &["CONFIG", "SET", "cluster-require-full-coverage", "no"]);
    }
    // All stored data lies on a node that stays alive.
    let options = options(&cluster.url()).namespace("whole").unwrap().partitions(1);
    drop(RedisStore::open(options.clone()).await.unwrap());
    let empty = urls.iter().rposition(|url| cli(url, &["DBSIZE"]) == "0").unwrap();
    assert_ne!(empty, 0, "the first is the one that is asked for the others");
    cluster.nodes()[empty].process().kill();
    let error = RedisStore::open(options.clone()).await.err().unwrap();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Later), "{error}");
    assert!(error.to_string().contains("the settings of a node could not be read"), "{error}");
    cluster.nodes()[empty].start().unwrap();
    cluster.wait_until_whole().unwrap();
    answered(async || RedisStore::open(options.clone()).await).await.unwrap();
}

#[tokio::test]
async fn where_a_cluster_does_not_name_its_nodes_nothing_is_promised() {
    let launcher = Launcher::new().unwrap();
    let mut cluster = launcher.redis_cluster().unwrap();
    for node in cluster.nodes() {
        let rights = ["on", ">secret", "~*", "&*", "+@all", "-cluster|nodes"];
        cli(&node.url(), &[&["ACL", "SETUSER", "tenant"], &rights[..]].concat());
    }
    let url = cluster.url().replace("://", "://tenant:secret@");
    let store = RedisStore::open(options(&url)).await.unwrap();
    assert_eq!(store.capabilities().commit_survives, CommitSurvives::Nothing);
    assert_eq!(setting(&store, "failover").as_deref(), Some("unknown"));
}

#[tokio::test]
async fn a_master_that_became_a_replica_is_refused_at_once() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[]).unwrap();
    let store = RedisStore::open(options(&server.url())).await.unwrap();
    let claim = claimed(&store, "s").await;
    // The change to a replica breaks no connection.
    cli(&server.url(), &["REPLICAOF", "127.0.0.1", "1"]);
    let refused = store.commit(&claim.fence, saying("one", "said")).await.unwrap_err();
    assert_eq!((refused.kind, refused.retry), (StoreErrorKind::Unavailable, Retry::Never));
    assert!(refused.to_string().contains("the server is a replica"), "{refused}");
}

#[tokio::test]
async fn a_server_that_has_too_many_clients_may_be_asked_later() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[("maxclients", "1")]).unwrap();
    let options = options(&server.url());
    let _only = RedisStore::open(options.clone()).await.unwrap();
    let error = RedisStore::open(options).await.err().unwrap();
    // The server sends the reason and closes the connection; the client may notice either first.
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Later), "{error}");
}

#[tokio::test]
async fn sixteen_handles_make_one_store() {
    for url in [redis_url(), cluster_url()] {
        let options = options(&url);
        let opened = join_all((0..16).map(|_| RedisStore::open(options.clone()))).await;
        let stores: Vec<RedisStore> = opened.into_iter().map(Result::unwrap).collect();
        for (number, store) in stores.iter().enumerate() {
            let claim = claimed(store, &format!("s{number}")).await;
            store.commit(&claim.fence, saying("one", "said")).await.unwrap();
            assert_eq!(said(&stores[15 - number], &claim.fence.key).await, ["said"]);
        }
    }
}

#[tokio::test]
async fn the_number_of_partitions_stays() {
    let options = options(&redis_url());
    drop(RedisStore::open(options.clone().partitions(16)).await.unwrap());
    let error = RedisStore::open(options.clone().partitions(64)).await.err().unwrap();
    assert_eq!(error.kind, StoreErrorKind::InvalidArgument);
    assert!(error.to_string().contains("made with 16, 64 were asked for"), "{error}");
    RedisStore::open(options).await.expect("whoever asks for no number takes what there is");
}

#[tokio::test]
async fn a_store_of_a_newer_version_is_left_alone() {
    let url = redis_url();
    let options = options(&url).namespace("newer").unwrap();
    drop(RedisStore::open(options.clone()).await.unwrap());
    cli(&url, &["HSET", "{newer}:meta", "format", "99"]);
    let error = RedisStore::open(options).await.err().unwrap();
    assert_eq!(error.kind, StoreErrorKind::Newer);
}

#[tokio::test]
async fn who_needs_a_store_makes_none() {
    for url in [redis_url(), cluster_url()] {
        let options = options(&url);
        for refused in [options.clone().must_exist(), options.clone().as_it_is()] {
            let error = RedisStore::open(refused).await.err().unwrap();
            assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Never), "{error}");
            assert!(error.to_string().contains("there is no store yet"), "{error}");
        }
        let made = RedisStore::open(options.clone()).await.unwrap();
        let claim = claimed(&made, "s").await;
        made.commit(&claim.fence, saying("one", "said")).await.unwrap();
        for there in [options.clone().must_exist(), options.as_it_is()] {
            let store = RedisStore::open(there).await.unwrap();
            assert_eq!(said(&store, &claim.fence.key).await, ["said"]);
        }
    }
}

#[tokio::test]
async fn looking_writes_no_key() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[]).unwrap();
    let options = options(&server.url());
    RedisStore::open(options.clone().as_it_is()).await.err().unwrap();
    RedisStore::open(options.clone().must_exist()).await.err().unwrap();
    assert_eq!(cli(&server.url(), &["DBSIZE"]), "0");
    let store = RedisStore::open(options.clone()).await.unwrap();
    let claim = claimed(&store, "s").await;
    // From now on the server refuses every script that may write.
    cli(&server.url(), &["CONFIG", "SET", "min-replicas-to-write", "1"]);
    let looking = RedisStore::open(options.as_it_is()).await.unwrap();
    assert!(looking.load_session(&claim.fence.key).await.unwrap().is_some());
    let why = looking.unwritable().await.unwrap().unwrap();
    assert!(why.contains("NOREPLICAS"), "{why}");
    cli(&server.url(), &["CONFIG", "SET", "min-replicas-to-write", "0"]);
    assert_eq!(looking.unwritable().await.unwrap(), None);
}

#[tokio::test]
async fn a_user_who_may_only_read_is_told_so() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.redis(&[]).unwrap();
    let options = options(&server.url());
    let store = RedisStore::open(options.clone()).await.unwrap();
    let key = claimed(&store, "s").await.fence.key;
    cli(&server.url(), &["ACL", "SETUSER", "reader", "on", ">secret", "~*", "&*", "+@all", "-@write"]);
    let url = server.url().replace("redis://", "redis://reader:secret@");
    let namespace = format!("{options:?}").split('"').nth(1).unwrap().to_owned();
    let reader = RedisStore::open_url(&format!("{url}?namespace={namespace}")).await.unwrap();
    let why = reader.unwritable().await.unwrap().unwrap();
    assert!(why.contains("can't run this command") && !why.contains("secret"), "{why}");
    let all = [MessageRange { from: MessageSeq(1), to: MessageSeq(9) }];
    assert!(reader.load_session(&key).await.unwrap().is_some());
    assert_eq!(reader.list_sessions(&SessionQuery::all(key.tenant.clone())).await.unwrap().items.len(), 1);
    assert_eq!(reader.read_messages(&key, &all).await.unwrap().messages.len(), 0);
    let deletion = Deletion::FORCE;
    let refused = reader.delete_session(&key, deletion).await.unwrap_err();
    assert_eq!(refused.retry, Retry::Never, "{refused}");
    assert!(refused.to_string().contains("can't run this command"), "{refused}");
}
