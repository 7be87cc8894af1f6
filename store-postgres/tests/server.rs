//! A server that is restarted with other settings or replaced by another one, and the server's clock.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::time::{Duration, Instant};

use futures::future::join_all;
use holdover_launcher::shared;
use holdover_launcher::{Launcher, PgBouncer, Postgres};
use holdover_store::ids::{InboxSeq, SessionKey};
use holdover_store::payload::Payload;
use holdover_store::time::Timestamp;
use holdover_store::{
    ClaimOutcome, CommitOutcome, CommitSurvives, Delivery, InboxItem, ItemKind, NewSession, Retry, Start,
    StateStore, StoreErrorKind, Wake,
};
use holdover_store_postgres::{PostgresOptions, PostgresStore};
use support::{Admin, Relay, claim_one, commit, id, key, new_session, options, running, schema_of};

/// Returns a server, and the options of a store that reaches it directly or through a pooler.
fn place(launcher: &Launcher, pooled: bool) -> (Postgres, Option<PgBouncer>, PostgresOptions) {
    let server = launcher.postgres(&[]).unwrap();
    let pooler = pooled.then(|| launcher.pgbouncer(&server).unwrap());
    let url = pooler.as_ref().map_or_else(|| server.url(), PgBouncer::url);
    let options = options(&url)
        .transaction_pooler(pooled)
        .operation_timeout(Duration::from_secs(20))
        .wait_max(Duration::from_secs(20));
    (server, pooler, options)
}

fn restart(server: &mut Postgres) {
    tokio::task::block_in_place(|| {
        server.process().kill();
        server.start().unwrap();
    });
}

/// Reads until the server answers again. A pooler reports for a while that the server is gone.
async fn until_it_answers(store: &PostgresStore) {
    while let Err(error) = store.load_session(&key("s")).await {
        assert_eq!(error.retry, Retry::Later, "{error}");
    }
}

async fn promises_what_the_server_keeps_now(pooled: bool) {
    let launcher = Launcher::new().unwrap();
    let (mut server, _pooler, options) = place(&launcher, pooled);
    let store = PostgresStore::open(options).await.unwrap();
    let claim = running(&store, "s").await;
    let setting = |name: &str| {
        let settings = store.capabilities().settings;
        settings.into_iter().find(|(known, _)| known == name).unwrap().1
    };
    assert_eq!(store.capabilities().commit_survives, CommitSurvives::PowerCut);
    Admin::at(&server.url()).await.run("ALTER SYSTEM SET synchronous_commit = off").await;
    restart(&mut server);
    until_it_answers(&store).await;
    assert_eq!(store.capabilities().commit_survives, CommitSurvives::Nothing);
    assert_eq!(setting("synchronous_commit"), "off");
    Admin::at(&server.url()).await.run("ALTER SYSTEM RESET synchronous_commit").await;
    restart(&mut server);
    until_it_answers(&store).await;
    assert_eq!(store.capabilities().commit_survives, CommitSurvives::PowerCut);
    let saved = store.commit(&claim.fence, commit(1)).await.unwrap();
    assert!(matches!(saved, CommitOutcome::Committed(_)), "{saved:?}");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_with_other_settings_changes_what_is_promised() {
    promises_what_the_server_keeps_now(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_behind_a_pooler_changes_what_is_promised() {
    promises_what_the_server_keeps_now(true).await;
}

/// Behind a pooler, each transaction may reach a server with other settings on the same connection.
#[tokio::test(flavor = "multi_thread")]
async fn behind_a_pooler_no_commit_is_promised_more_than_it_has() {
    let launcher = Launcher::new().unwrap();
    let (server, _pooler, options) = place(&launcher, true);
    let store = PostgresStore::open(options.connections_max(2)).await.unwrap();
    let claim = running(&store, "s").await;
    // Opens all connections that there will be, so no new connection reveals the change.
    for found in join_all((0..16).map(|_| store.load_session(&claim.fence.key))).await {
        found.unwrap();
    }
    let mut admin = Admin::at(&server.url()).await;
    admin.run("ALTER SYSTEM SET synchronous_commit = off").await;
    admin.run("SELECT pg_reload_conf()").await;
    while Admin::at(&server.url()).await.text("SHOW synchronous_commit").await != "off" {}
    let mut nth = 0;
    // The reload reaches each process of the server at a different moment.
    while store.capabilities().commit_survives != CommitSurvives::Nothing {
        nth += 1;
        assert!(nth < 200, "the change goes unnoticed");
        let saved = store.commit(&claim.fence, commit(nth)).await.unwrap();
        assert!(matches!(saved, CommitOutcome::Committed(_)), "{saved:?}");
    }
    store.close().await;
}

async fn refuses_a_standby(pooled: bool) {
    let launcher = Launcher::new().unwrap();
    let (mut server, _pooler, options) = place(&launcher, pooled);
    let options = options.wait_max(Duration::from_secs(2));
    let store = PostgresStore::open(options.clone()).await.unwrap();
    running(&store, "s").await;
    let signal = server.process().folder().join("data/standby.signal");
    std::fs::write(&signal, "").unwrap();
    restart(&mut server);
    assert_eq!(Admin::at(&server.url()).await.text("SELECT pg_is_in_recovery()::text").await, "true");
    let error = loop {
        let error = store.load_session(&key("s")).await.unwrap_err();
        assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Later), "{error}");
        if error.to_string().contains("standby") {
            break error;
        }
    };
    assert_eq!(error.key.as_deref(), Some(&key("s")));
    // A store that is opened only for reading still reads.
    let looks = PostgresStore::open(options.clone().as_it_is()).await.unwrap();
    assert!(looks.load_session(&key("s")).await.unwrap().is_some());
    looks.close().await;
    let error = PostgresStore::open(options).await.err().unwrap();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Never), "{error}");
    assert!(error.to_string().contains("standby"), "{error}");
    std::fs::remove_file(signal).unwrap();
    restart(&mut server);
    until_it_answers(&store).await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_became_a_standby_is_refused_until_it_is_none() {
    refuses_a_standby(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_behind_a_pooler_is_refused_until_it_is_none() {
    refuses_a_standby(true).await;
}

#[tokio::test]
async fn whoever_drops_the_time_outs_on_the_way_is_refused_by_their_name() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.postgres(&[]).unwrap();
    let keeps = Relay::to(server.port(), true).await;
    PostgresStore::open(options(&keeps.url())).await.unwrap().close().await;
    let drops = Relay::to(server.port(), false).await;
    let error = PostgresStore::open(options(&drops.url())).await.err().unwrap();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Never), "{error}");
    assert!(error.to_string().contains("statement_timeout is 0, 8000ms was asked for"), "{error}");
    let store = PostgresStore::open(options(&drops.url()).transaction_pooler(true)).await.unwrap();
    running(&store, "s").await;
    store.close().await;
}

/// The relay drops the server's answers. All waits of a call share one deadline.
#[tokio::test]
async fn a_call_whose_answer_never_comes_ends_at_its_deadline_and_says_how_long_it_waited() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.postgres(&[]).unwrap();
    let relay = Relay::to(server.port(), true).await;
    let options = options(&relay.url()).operation_timeout(Duration::from_millis(700)).connections_max(2);
    let store = PostgresStore::open(options.change_hints(false)).await.unwrap();
    running(&store, "s").await;
    relay.hold();
    let began = Instant::now();
    let written = store.create_session(new_session("new")).await.unwrap_err();
    assert!(relay.holds(), "the fault fires");
    assert_eq!((written.kind, written.retry), (StoreErrorKind::Unavailable, Retry::OutcomeUnknown));
    let read = store.load_session(&key("s")).await.unwrap_err();
    assert_eq!((read.kind, read.retry), (StoreErrorKind::Unavailable, Retry::Later));
    for (error, what) in [(&written, "create_session"), (&read, "load_session")] {
        let said = error.to_string();
        assert!(said.contains(what) && said.contains(error.key.as_ref().unwrap().id.as_str()), "{said}");
        assert!(said.contains("after 0.7 s") || said.contains("after 0.8 s"), "{said}");
    }
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    relay.lose();
    until_it_answers(&store).await;
    store.close().await;
}

/// The server aborts a statement that waits too long for a lock, and reports it before the call times out. So
/// the caller knows that nothing was changed.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_gets_no_lock_in_time_is_known_to_have_changed_nothing() {
    let url = shared::postgres_url();
    let options = options(url).application("gets no lock").operation_timeout(Duration::from_secs(1));
    let schema = schema_of(&options);
    let store = PostgresStore::open(options.connections_max(2)).await.unwrap();
    let claim = running(&store, "s").await;
    let (mut holder, mut admin) = (Admin::at(url).await, Admin::at(url).await);
    holder.run(&format!("BEGIN; SELECT FROM {schema}.session FOR UPDATE")).await;
    let write = || {
        let (store, fence) = (store.clone(), claim.fence.clone());
        tokio::spawn(async move { store.commit(&fence, commit(1)).await })
    };
    // Both calls share one connection, as the other one listens: the second call has less time left.
    let (first, second) = (write(), write());
    admin.until_waiting("gets no lock", 1).await;
    for write in [first, second] {
        let error = write.await.unwrap().unwrap_err();
        assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Later), "{error}");
    }
    holder.run("ROLLBACK").await;
    let loaded = store.load_session(&claim.fence.key).await.unwrap().unwrap();
    assert_eq!(loaded.version.0, 2, "nothing was written");
    store.close().await;
}

/// Tests the store's own clock, which the suite replaces. Instants are read after a wait for a lock, not at
/// its beginning.
#[tokio::test(flavor = "multi_thread")]
async fn instants_come_from_the_servers_clock_after_the_wait_for_a_lock() {
    let url = shared::postgres_url();
    let options = options(url).application("waits for a row");
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    let due = NewSession { start: Start::At(Timestamp::EPOCH), ..new_session("s") };
    store.create_session(due).await.unwrap();
    let (mut holder, mut admin) = (Admin::at(url).await, Admin::at(url).await);
    let hold = format!("BEGIN; SELECT FROM {schema}.session FOR UPDATE");
    // Waits longer than the age at which the store discards an instant that was read before a wait. Then an
    // instant from before the wait cannot be used.
    let waited = async |admin: &mut Admin| {
        admin.until_waiting("waits for a row", 1).await;
        let seen = admin.clock().await;
        while admin.clock().await < seen + 20 {}
        admin.clock().await
    };

    holder.run(&hold).await;
    let delivers = tokio::spawn({
        let store = store.clone();
        async move { store.deliver(&key("s"), item("m")).await }
    });
    let earliest = waited(&mut admin).await;
    holder.run("COMMIT").await;
    assert!(matches!(delivers.await.unwrap().unwrap(), Delivery::Accepted { .. }));
    let latest = admin.clock().await;
    let page = store.read_inbox(&key("s"), InboxSeq(0), 1).await.unwrap();
    let at = page.items[0].at.as_ms();
    assert!((earliest..=latest).contains(&at), "delivered at {at}, between {earliest} and {latest}");

    holder.run(&hold).await;
    let claims = tokio::spawn({
        let store = store.clone();
        let s: SessionKey = key("s");
        async move { store.claim_session(&s, claim_one("run")).await }
    });
    let earliest = waited(&mut admin).await;
    holder.run("COMMIT").await;
    let ClaimOutcome::Claimed(claim) = claims.await.unwrap().unwrap() else { panic!("it is free") };
    let latest = admin.clock().await;
    let at = claim.now.as_ms();
    assert!((earliest..=latest).contains(&at), "claimed at {at}, between {earliest} and {latest}");
    assert_eq!(claim.lease_ends.as_ms() - at, 600_000);
    store.close().await;
}

fn item(key: &str) -> InboxItem {
    InboxItem {
        key: id(key),
        kind: ItemKind::Message { wake: Wake::Now },
        incarnation: None,
        payload: Payload::new("{}"),
    }
}
