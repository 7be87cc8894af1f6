//! Programs of several versions with one schema open, and whoever brings it up to date is killed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::process::{Child, Command, Stdio};

use holdover_launcher::Launcher;
use holdover_store::{CommitOutcome, Retry, StateStore, StoreErrorKind};
use holdover_store_postgres::conformance::Server;
use holdover_store_postgres::{PostgresOptions, PostgresStore};
use support::{Admin, commit, key, options, running, schema_of};

/// The variable that names the store to this program as an opener: URL, schema, version, name of a session.
const PLACE: &str = "HOLDOVER_OPENER_PLACE";
/// So many processes open at once.
const OPENERS: usize = 16;

/// How many sets of functions a schema has.
async fn programs(admin: &mut Admin, schema: &str) -> i64 {
    let places = format!("pronamespace = '{schema}'::regnamespace AND proname LIKE 'deliver\\_%'");
    admin.number(&format!("SELECT count(*) FROM pg_proc WHERE {places}")).await
}

/// Lets programs of two versions commit in turn to the same sessions, each opened again and again beside the other.
async fn side_by_side(options: PostgresOptions) {
    let versions = [options.clone(), options.as_version("next")];
    let first = PostgresStore::open(versions[0].clone()).await.unwrap();
    let claim = running(&first, "s").await;
    let second = PostgresStore::open(versions[1].clone()).await.unwrap();
    for nth in 1..=12 {
        let store = [&first, &second][nth as usize % 2];
        let saved = store.commit(&claim.fence, commit(nth)).await.unwrap();
        assert!(
            matches!(saved, CommitOutcome::Committed(receipt) if receipt.version.0 == 2 + nth),
            "{saved:?}"
        );
        let again = versions[nth as usize % 2].clone();
        let again = if nth % 3 == 0 { again.as_it_is() } else { again };
        let again = PostgresStore::open(again).await.unwrap();
        assert_eq!(again.load_session(&key("s")).await.unwrap().unwrap().version.0, 2 + nth);
        again.close().await;
    }
    for store in [first, second] {
        store.close().await;
    }
}

#[tokio::test]
async fn two_versions_work_on_one_store_at_once() {
    let options = options(Server::shared().url());
    side_by_side(options.clone()).await;
    let mut admin = Admin::at(Server::shared().url()).await;
    assert_eq!(programs(&mut admin, &schema_of(&options)).await, 2);
}

#[tokio::test]
async fn two_versions_work_on_one_store_at_once_behind_a_pooler() {
    let launcher = Launcher::new().unwrap();
    let postgres = launcher.postgres(&[]).unwrap();
    let pooler = launcher.pgbouncer(&postgres).unwrap();
    let options = options(&pooler.url()).transaction_pooler(true);
    side_by_side(options.clone()).await;
    // Functions that are missed are made again there too.
    let (mut admin, schema) = (Admin::at(&postgres.url()).await, schema_of(&options));
    let store = PostgresStore::open(options).await.unwrap();
    admin.run(&format!("SELECT {schema}.remove_program(tag) FROM {schema}.program")).await;
    assert_eq!(programs(&mut admin, &schema).await, 0);
    assert!(store.load_session(&key("s")).await.unwrap().is_some());
    assert_eq!(programs(&mut admin, &schema).await, 1);
    store.close().await;
}

#[tokio::test]
async fn functions_are_removed_when_long_unused_and_made_again_by_whoever_misses_them() {
    let url = Server::shared().url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    let old = PostgresStore::open(options.clone()).await.unwrap();
    let claim = running(&old, "s").await;
    let looks = PostgresStore::open(options.clone().as_it_is()).await.unwrap();
    assert!(looks.load_session(&key("s")).await.unwrap().is_some());
    let age = async |admin: &mut Admin, days: u32| {
        let opened = format!("opened_at = clock_timestamp() - interval '{days} days'");
        admin.run(&format!("UPDATE {schema}.program SET {opened}")).await;
    };
    age(&mut admin, 29).await;
    PostgresStore::open(options.clone().as_version("2")).await.unwrap().close().await;
    assert_eq!(programs(&mut admin, &schema).await, 2, "not yet");
    age(&mut admin, 31).await;
    PostgresStore::open(options.clone()).await.unwrap().close().await;
    PostgresStore::open(options.clone().as_version("3")).await.unwrap().close().await;
    assert_eq!(programs(&mut admin, &schema).await, 2, "an opening was noted, so that one was kept");
    age(&mut admin, 31).await;
    PostgresStore::open(options.clone().as_version("4")).await.unwrap().close().await;
    assert_eq!(programs(&mut admin, &schema).await, 1);

    let error = looks.load_session(&key("s")).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Later), "{error}");
    let saved = old.commit(&claim.fence, commit(1)).await.unwrap();
    assert!(matches!(saved, CommitOutcome::Committed(_)), "{saved:?}");
    assert_eq!(looks.load_session(&key("s")).await.unwrap().unwrap().version.0, 3);
    assert_eq!(programs(&mut admin, &schema).await, 2);

    // A newer program changed the tables, and removed what does not fit them.
    admin.run(&format!("UPDATE {schema}.mark SET version = 99")).await;
    admin.run(&format!("SELECT {schema}.remove_program(tag) FROM {schema}.program")).await;
    let error = old.commit(&claim.fence, commit(2)).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Newer, Retry::Never), "{error}");
    assert_eq!(error.key.as_deref(), Some(&key("s")), "{error}");
    for store in [old, looks] {
        store.close().await;
    }
}

/// No test, unless this program was started to open a store.
#[test]
fn opener() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let [url, schema, version, session]: [&str; 4] = place.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let options = PostgresOptions::from_url(url).unwrap().schema(schema).unwrap().as_version(version);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = PostgresStore::open(options.application("opener").connections_max(2)).await.unwrap();
        running(&store, session).await;
        store.close().await;
    });
}

#[tokio::test]
async fn sixteen_processes_of_two_versions_open_a_new_schema_at_once() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.postgres(&[]).unwrap();
    let (url, options) = (server.url(), options(&server.url()));
    let schema = schema_of(&options);
    let (mut first, mut admin) = (Admin::at(&url).await, Admin::at(&url).await);
    // All have come before one can go on.
    first.run(&format!("BEGIN; CREATE SCHEMA {schema}")).await;
    let openers: Vec<Child> = (0..OPENERS)
        .map(|nth| {
            let place = format!("{url} {schema} version-{} s{nth}", nth % 2);
            let mut opener = Command::new(std::env::current_exe().unwrap());
            opener.args(["--exact", "opener"]).env(PLACE, place).stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    admin.until_waiting("opener", OPENERS as i64).await;
    first.run("ROLLBACK").await;
    for mut opener in openers {
        assert!(tokio::task::spawn_blocking(move || opener.wait()).await.unwrap().unwrap().success());
    }
    assert_eq!(programs(&mut admin, &schema).await, 2);
    let store = PostgresStore::open(options).await.unwrap();
    for nth in 0..OPENERS {
        assert!(store.load_session(&key(&format!("s{nth}"))).await.unwrap().is_some());
    }
    store.close().await;
}

/// Ends the connection of whoever is `to be killed` after the statement of this number that changes the schema.
const KILLS: &str = "CREATE TABLE public.kill (nth int); INSERT INTO public.kill VALUES (0); \
     CREATE FUNCTION public.kill() RETURNS event_trigger LANGUAGE plpgsql AS $$ \
     DECLARE nth int := coalesce(nullif(current_setting('test.nth', true), ''), '0')::int + 1; \
     BEGIN \
        IF current_setting('application_name') <> 'to be killed' THEN RETURN; END IF; \
        PERFORM set_config('test.nth', nth::text, true); \
        IF nth = (SELECT k.nth FROM public.kill k) THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; \
     END $$; \
     CREATE EVENT TRIGGER kill ON ddl_command_end EXECUTE FUNCTION public.kill()";

/// Opens again and again, killed after the first statement, the second, and so on, until no statement is left: what
/// `looks` says of the schema stays as it was until then. Answers how often it was killed.
async fn killed_at_each_statement(url: &str, options: &PostgresOptions, looks: &str) -> i64 {
    let mut admin = Admin::at(url).await;
    let before = admin.text(looks).await;
    for nth in 1.. {
        admin.run(&format!("UPDATE public.kill SET nth = {nth}")).await;
        match PostgresStore::open(options.clone().application("to be killed")).await {
            Ok(store) => {
                store.close().await;
                return nth - 1;
            }
            Err(error) => assert_eq!(error.kind, StoreErrorKind::Unavailable, "killed after {nth}: {error}"),
        }
        assert_eq!(admin.text(looks).await, before, "killed after {nth}");
    }
    unreachable!("there are fewer statements than numbers")
}

#[tokio::test]
async fn whoever_makes_a_store_is_killed_after_each_statement_and_leaves_nothing() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.postgres(&[]).unwrap();
    let (url, options) = (server.url(), options(&server.url()));
    Admin::at(&url).await.run(KILLS).await;
    let schema = schema_of(&options);
    let looks = format!("SELECT coalesce(to_regnamespace('{schema}')::text, 'nothing')");
    let kills = killed_at_each_statement(&url, &options, &looks).await;
    assert!(kills > 90, "{kills} statements");
    let store = PostgresStore::open(options).await.unwrap();
    running(&store, "s").await;
    store.close().await;
}

#[tokio::test]
async fn whoever_updates_a_store_is_killed_after_each_statement_and_leaves_the_old() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.postgres(&[]).unwrap();
    let (url, options) = (server.url(), options(&server.url()));
    let (mut admin, schema) = (Admin::at(&url).await, schema_of(&options));
    let store = PostgresStore::open(options.clone()).await.unwrap();
    let claim = running(&store, "s").await;
    store.commit(&claim.fence, commit(1)).await.unwrap();
    store.close().await;
    // As version 1 left it.
    let version_1 = format!(
        "DROP VIEW {schema}.transcript; SELECT {schema}.remove_program(tag) FROM {schema}.program; \
         DROP FUNCTION {schema}.remove_program; DROP TABLE {schema}.program; \
         ALTER TABLE {schema}.mark ADD COLUMN functions bytea NOT NULL DEFAULT 'old'; \
         UPDATE {schema}.mark SET version = 1; CREATE TYPE {schema}.surroundings AS (sound boolean); \
         CREATE FUNCTION {schema}.deliver() RETURNS {schema}.surroundings LANGUAGE sql AS 'SELECT true'; \
         CREATE VIEW {schema}.transcript AS SELECT {schema}.deliver()"
    );
    admin.run(&version_1).await;
    admin.run(KILLS).await;
    let own = format!("'{schema}'::regnamespace");
    let looks = format!(
        "SELECT concat_ws(' ', (SELECT m::text FROM {schema}.mark m), \
         (SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_class WHERE relnamespace = {own}), \
         (SELECT string_agg(proname, ',' ORDER BY proname) FROM pg_proc WHERE pronamespace = {own}))"
    );
    let before = admin.text(&looks).await;
    let kills = killed_at_each_statement(&url, &options, &looks).await;
    assert!(kills > 70, "{kills} statements");
    assert_ne!(admin.text(&looks).await, before);
    let store = PostgresStore::open(options.as_it_is()).await.unwrap();
    let saved = store.commit(&claim.fence, commit(2)).await.unwrap();
    assert!(matches!(saved, CommitOutcome::Committed(receipt) if receipt.version.0 == 4), "{saved:?}");
    store.close().await;
}
