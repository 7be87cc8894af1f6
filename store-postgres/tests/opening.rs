//! Checks, reads and changes that happen when a store is opened.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use holdover_launcher::Launcher;
use holdover_launcher::shared;
use holdover_store::ids::MessageSeq;
use holdover_store::{
    CommitSurvives, Deletion, MessageRange, Retry, SessionQuery, StateStore, StoreErrorKind,
};
use holdover_store_postgres::{PostgresOptions, PostgresStore};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use support::{Admin, as_version_2, commit, key, options, running, schema_of};

async fn sql(url: &str, sql: &str) {
    Admin::at(url).await.run(sql).await;
}

#[tokio::test]
async fn settings_are_read_back_and_decide_what_is_promised() {
    let url = shared::postgres_url();
    let store = PostgresStore::open(options(url)).await.unwrap();
    let safe = store.capabilities();
    let setting = |name: &str| {
        let found = safe.settings.iter().find(|(known, _)| known == name);
        found.unwrap_or_else(|| panic!("{name} is not named")).1.clone()
    };
    assert_eq!(safe.commit_survives, CommitSurvives::PowerCut);
    assert_eq!(setting("fsync"), "on");
    assert_eq!(setting("full_page_writes"), "on");
    assert_eq!(setting("synchronous_commit"), "on");
    assert_eq!(setting("statement_timeout"), "8s", "what a call leaves the server");
    assert_eq!(setting("lock_timeout"), "8s");
    assert_eq!(setting("idle_in_transaction_session_timeout"), "8s");
    assert_eq!(setting("default_transaction_isolation"), "read committed");
    store.close().await;

    let lazy = format!("{url}?options=-c%20synchronous_commit%3Doff");
    let store = PostgresStore::open(options(&lazy)).await.unwrap();
    assert_eq!(store.capabilities().commit_survives, CommitSurvives::Nothing);
    assert!(store.capabilities().settings.contains(&("synchronous_commit".into(), "off".into())));
    store.close().await;
}

#[tokio::test]
async fn a_server_without_fsync_promises_less() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.postgres(&[("fsync", "off")]).unwrap();
    let store = PostgresStore::open(options(&server.url())).await.unwrap();
    assert_eq!(store.capabilities().commit_survives, CommitSurvives::ProcessKill);
    assert!(store.capabilities().settings.contains(&("fsync".into(), "off".into())));
}

#[tokio::test]
async fn what_is_newer_or_foreign_is_refused_and_left_alone() {
    let url = shared::postgres_url();
    let newer = options(url);
    let schema = schema_of(&newer);
    PostgresStore::open(newer.clone()).await.unwrap().close().await;
    sql(url, &format!("UPDATE {schema}.mark SET version = 99")).await;
    let error = PostgresStore::open(newer).await.err().unwrap();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Newer, Retry::Never), "{error}");
    assert!(error.to_string().contains(&schema), "{error}");

    let foreign = options(url);
    let schema = schema_of(&foreign);
    sql(url, &format!("CREATE SCHEMA {schema}; CREATE TABLE {schema}.session (n int)")).await;
    let error = PostgresStore::open(foreign).await.err().unwrap();
    assert_eq!(error.kind, StoreErrorKind::Corrupt, "{error}");
}

#[tokio::test]
async fn as_it_is_nothing_is_made_or_changed() {
    let url = shared::postgres_url();
    let options = options(url);
    let schema = schema_of(&options);
    let error = PostgresStore::open(options.clone().as_it_is()).await.err().unwrap();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Never), "{error}");
    PostgresStore::open(options.clone()).await.unwrap().close().await;
    PostgresStore::open(options.clone().as_it_is()).await.unwrap().close().await;
    // A schema of an earlier version: a normal open upgrades it, and `as_it_is` refuses it.
    let mut admin = Admin::at(url).await;
    admin.run(&format!("DROP SCHEMA {schema} CASCADE; {}", as_version_2(&schema))).await;
    let error = PostgresStore::open(options.clone().as_it_is()).await.err().unwrap();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Never), "{error}");
    assert!(error.to_string().contains("it has version 2"), "{error}");
    let store = PostgresStore::open(options).await.unwrap();
    running(&store, "s").await;
    store.close().await;
}

#[tokio::test]
async fn who_needs_a_store_makes_none() {
    let url = shared::postgres_url();
    let options = options(url);
    let schema = schema_of(&options);
    let there = async || {
        let mut conn = PgConnection::connect(url).await.unwrap();
        let query = sqlx::query_scalar("SELECT to_regnamespace($1) IS NOT NULL").bind(&schema);
        query.fetch_one(&mut conn).await.unwrap()
    };
    for refused in [options.clone().must_exist(), options.clone().as_it_is()] {
        let error = PostgresStore::open(refused).await.err().unwrap();
        assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Never), "{error}");
        assert!(error.to_string().contains("there is no store yet"), "{error}");
        assert!(!there().await);
    }
    PostgresStore::open(options.clone()).await.unwrap().close().await;
    let store = PostgresStore::open(options.must_exist()).await.unwrap();
    running(&store, "s").await;
    store.close().await;
}

#[tokio::test]
async fn the_url_may_name_the_schema() {
    let url = shared::postgres_url();
    let schema = schema_of(&options(url));
    let store = PostgresStore::open_url(&format!("{url}?schema={schema}")).await.unwrap();
    running(&store, "s").await;
    store.close().await;
    let named = PostgresOptions::from_url(url).unwrap().schema(&schema).unwrap().as_it_is();
    let store = PostgresStore::open(named).await.unwrap();
    assert!(store.load_session(&key("s")).await.unwrap().is_some());
    store.close().await;
}

#[tokio::test]
async fn a_user_who_may_only_read_is_told_so() {
    let url = shared::postgres_url();
    let options = options(url);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options.clone()).await.unwrap();
    assert_eq!(store.unwritable().await.unwrap(), None);
    running(&store, "s").await;
    let reader = format!("reader_{schema}");
    sql(url, &format!("CREATE USER {reader}; GRANT USAGE ON SCHEMA {schema} TO {reader}")).await;
    sql(url, &format!("GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {reader}")).await;
    let as_reader = url.replace("holdover@", &format!("{reader}@"));
    let read = PostgresOptions::from_url(&as_reader).unwrap().schema(&schema).unwrap().as_it_is();
    let read = PostgresStore::open(read).await.unwrap();
    let why = read.unwritable().await.unwrap().unwrap();
    assert!(why.contains(&format!("table {schema}.")) && why.contains(&reader), "{why}");
    let all = [MessageRange { from: MessageSeq(1), to: MessageSeq(9) }];
    assert!(read.load_session(&key("s")).await.unwrap().is_some());
    assert_eq!(read.list_sessions(&SessionQuery::all(key("s").tenant)).await.unwrap().items.len(), 1);
    assert_eq!(read.read_messages(&key("s"), &all).await.unwrap().messages.len(), 0);
    let deletion = Deletion::FORCE;
    let refused = read.delete_session(&key("s"), deletion).await.unwrap_err();
    assert_eq!(refused.retry, Retry::Never, "{refused}");
    assert!(refused.to_string().contains("permission denied"), "{refused}");
    sql(url, &format!("GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {reader}")).await;
    assert_eq!(read.unwritable().await.unwrap(), None);
    for store in [read, store] {
        store.close().await;
    }
}

#[tokio::test]
async fn a_person_reads_sessions_as_json() {
    let url = shared::postgres_url();
    let options = options(url);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    let claim = running(&store, "s").await;
    store.commit(&claim.fence, commit(1)).await.unwrap();
    let raw = holdover_store::Commit {
        messages: vec![holdover_store::NewMessage::Inline(holdover_store::payload::Payload::new(vec![
            0, 255,
        ]))],
        ..holdover_store::Commit::new(support::id("raw"))
    };
    store.commit(&claim.fence, raw).await.unwrap();
    let mut conn = PgConnection::connect(url).await.unwrap();
    let query = format!(
        "SELECT kind || ' ' || seq || ' ' || coalesce(content ->> 'unreadable', content::text) \
         FROM {schema}.transcript WHERE tenant = 'acme' AND session = 's' AND kind <> 'session' ORDER BY kind, seq"
    );
    let lines: Vec<String> = sqlx::query_scalar(AssertSqlSafe(query)).fetch_all(&mut conn).await.unwrap();
    let expected =
        ["event 1 {\"event\":1}", "event 2 []", "message 1 {\"message\":1}", "message 2 no UTF-8 JSON"];
    assert_eq!(lines, expected);
    let query =
        format!("SELECT content -> 'state' ->> 'state' FROM {schema}.transcript WHERE kind = 'session'");
    let state: String = sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(&mut conn).await.unwrap();
    assert_eq!(state, "1");
    let write = format!("DELETE FROM {schema}.transcript");
    assert!(sqlx::raw_sql(AssertSqlSafe(write)).execute(&mut conn).await.is_err(), "it cannot be written to");
    store.close().await;
}
