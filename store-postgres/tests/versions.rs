//! Schemas of earlier and newer versions, and upgrades that are killed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::num::NonZeroU32;
use std::process::{Child, Command, Stdio};

use holdover_launcher::Launcher;
use holdover_launcher::shared;
use holdover_store::ids::Incarnation;
use holdover_store::{
    ClaimOutcome, CommitOutcome, CreateOutcome, Deletion, NewSession, PageCursor, PendingKind, PendingQuery,
    Retry, SessionQuery, StateStore, StoreErrorKind,
};
use holdover_store_postgres::{PostgresOptions, PostgresStore};
use support::{
    Admin, as_version_2, as_version_3, as_version_4, as_version_5, claim_one, commit, due, id,
    insert_waiting, key, new_session, options, running, schema_of,
};

/// The environment variable that makes this program an opener. It holds the URL, the schema and the id of a
/// session.
const PLACE: &str = "HOLDOVER_OPENER_PLACE";
/// The number of processes that open the store at once.
const OPENERS: usize = 16;

/// Returns SQL that creates a session as a program of version 2 left it: claimed, with a message and a pending call,
/// and with tombstones for its key and for another key.
fn left_by_version_2(schema: &str) -> String {
    let incarnation = "decode(repeat('07', 16), 'hex')";
    format!(
        "INSERT INTO {schema}.session (tenant, id, incarnation, created_by, queue, created_at, status, version, epoch, \
             format, lease_worker, lease_ends, lease_granted_ms, last_claim, found, run_open, last_message, updated_at, \
             alarm) \
         VALUES ('acme', 's', {incarnation}, 'create', 'queue', 5, 'active', 2, 1, 1, 'worker', 32503680000000, 600000, \
             'run', 'idle', true, 1, 5, 32503680000000); \
         INSERT INTO {schema}.definition SELECT sid, sha256('{{}}'), '{{}}' FROM {schema}.session; \
         INSERT INTO {schema}.message SELECT sid, 1, 5, sha256('1'), '1' FROM {schema}.session; \
         INSERT INTO {schema}.run (sid, epoch, run, worker, found, started_at) \
             SELECT sid, 1, 'run', 'worker', 'idle', 5 FROM {schema}.session; \
         INSERT INTO {schema}.pending (sid, tenant, session, incarnation, id, call, kind, needed, endless, deadline, \
             opened_at, digest, payload) SELECT s.sid, s.tenant, s.id, s.incarnation, p.id, 'call', 'approval', 1, true, 0, 5, \
             sha256('{{}}'), '{{}}' FROM {schema}.session s, unnest(ARRAY['z', 'a']) AS p (id); \
         INSERT INTO {schema}.tombstone (tenant, id, incarnation, operation, at) VALUES \
             ('acme', 's', decode(repeat('01', 16), 'hex'), 'old', {now}), \
             ('acme', 'gone', decode(repeat('02', 16), 'hex'), 'create', {now}), \
             ('acme', 'gone', decode(repeat('03', 16), 'hex'), 'create again', {now} + 1)",
        now = "(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)"
    )
}

#[tokio::test]
async fn what_version_2_left_goes_on_and_its_programs_are_shut_out() {
    let url = shared::postgres_url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    admin.run(&as_version_2(&schema)).await;
    admin.run(&left_by_version_2(&schema)).await;
    let store = PostgresStore::open(options).await.unwrap();
    // The functions of earlier programs are gone, and rows that such a program would insert lack a token.
    let own = format!("'{schema}'::regnamespace");
    let functions = format!(
        "SELECT coalesce(string_agg(proname, ' ' ORDER BY proname), '') FROM pg_proc WHERE pronamespace = {own}"
    );
    assert_eq!(admin.text(&functions).await, "instant readable");
    let types = format!("SELECT count(*) FROM pg_class WHERE relnamespace = {own} AND relkind = 'c'");
    assert_eq!(admin.number(&types).await, 1, "receipts");
    let insert = format!(
        "DO $$ BEGIN INSERT INTO {schema}.session (tenant, id, incarnation, created_by, queue, created_at, status, version, \
         epoch, format, found, updated_at) VALUES ('acme', 'new', '', 'create', 'q', 0, 'idle', 1, 0, 1, 'idle', 0); \
         EXCEPTION WHEN not_null_violation THEN RETURN; END $$"
    );
    admin.run(&insert).await;
    assert_eq!(admin.number(&format!("SELECT count(*) FROM {schema}.session WHERE id = 'new'")).await, 0);

    let claim = store.claim_session(&key("s"), claim_one("run")).await.unwrap();
    let ClaimOutcome::Claimed(claim) = claim else { panic!("{claim:?}") };
    let asked: Vec<_> = claim.pending.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(asked, ["z", "a"], "in the order in which they were opened");
    let saved = store.commit(&claim.fence, commit(1)).await.unwrap();
    assert!(matches!(saved, CommitOutcome::Committed(receipt) if receipt.version.0 == 3), "{saved:?}");

    for (name, operation, life) in
        [("s", "old", 9), ("s", "new", 1), ("gone", "create", 9), ("gone", "new", 3)]
    {
        let incarnation = Incarnation(uuid::Uuid::from_bytes([life; 16]));
        let late = NewSession { operation: id(operation), incarnation, ..new_session(name) };
        assert_eq!(store.create_session(late).await.unwrap(), CreateOutcome::Deleted, "{name} {operation}");
    }
    let new = NewSession { operation: id("third"), ..new_session("gone") };
    let created = store.create_session(new).await.unwrap();
    assert!(matches!(created, CreateOutcome::Created { .. }), "{created:?}");
    store.close().await;
}

#[tokio::test]
async fn what_is_due_in_version_3_is_due_still() {
    let url = shared::postgres_url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    admin.run(&as_version_3(&schema)).await;
    let left = "VALUES ('t', 'second', 'queue', 1, 2000, NULL), ('t', 'later', 'queue', 1, 32503680000000, NULL), \
         ('t', 'first', 'other', 1, 1000, NULL), ('u', 'newer', 'queue', 2, 1000, NULL), \
         ('u', 'third', 'queue', 2, 3000, 'stop'), ('v', 'rests', 'queue', 1, NULL, NULL)";
    admin.run(&insert_waiting(&schema, left)).await;
    let store = PostgresStore::open(options).await.unwrap();
    let claimed = store.claim_due(due(9)).await.unwrap();
    let claimed: Vec<_> = claimed.iter().map(|claim| claim.fence.key.id.as_str()).collect();
    assert_eq!(claimed, ["first", "second", "third"]);
    store.close().await;
}

async fn labelled(store: &PostgresStore, labels: &[(&str, &str)]) -> Vec<String> {
    let mut query = SessionQuery::all(id("acme"));
    query.labels = labels.iter().copied().collect();
    let page = store.list_sessions(&query).await.unwrap();
    let mut ids: Vec<_> = page.items.iter().map(|summary| summary.key.id.to_string()).collect();
    ids.sort();
    ids
}

#[tokio::test]
async fn sessions_of_version_4_are_found_by_their_labels_and_its_programs_add_none() {
    let url = shared::postgres_url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    admin.run(&as_version_4(&schema)).await;
    let left = "SELECT 'acme', n, 'queue', 1, NULL, NULL FROM unnest(ARRAY['a', 'b', 'c']) AS x (n)";
    // A column that is null in all rows needs an explicit type.
    let left = left.replacen("NULL, NULL", "NULL::bigint, NULL::text", 1);
    admin.run(&insert_waiting(&schema, &left)).await;
    let label = |name: &str, value: &str, of: &str| {
        format!(
            "INSERT INTO {schema}.label (sid, name, value) SELECT sid, '{name}', {value} FROM {schema}.session {of}"
        )
    };
    admin.run(&label("agent", "'x'", "")).await;
    admin.run(&label("user", "CASE id WHEN 'b' THEN 'lee'::bytea ELSE 'kim' END", "")).await;
    // A row that belongs to no session.
    admin.run(&format!("INSERT INTO {schema}.label VALUES (999, 'user', 'kim')")).await;
    let store = PostgresStore::open(options).await.unwrap();
    assert_eq!(labelled(&store, &[("user", "kim")]).await, ["a", "c"]);
    assert_eq!(labelled(&store, &[("agent", "x")]).await, ["a", "b", "c"]);
    assert_eq!(labelled(&store, &[("agent", "x"), ("user", "lee")]).await, ["b"]);
    assert_eq!(labelled(&store, &[("agent", "x"), ("user", "nobody")]).await, Vec::<String>::new());

    // A program of version 4 that still runs cannot add labels that the index would miss.
    let late = label("late", "''", "WHERE id = 'a'");
    let refused = format!("DO $$ BEGIN {late}; EXCEPTION WHEN not_null_violation THEN RETURN; END $$");
    admin.run(&refused).await;
    assert_eq!(admin.number(&format!("SELECT count(*) FROM {schema}.label WHERE name = 'late'")).await, 0);

    // A deleted session is not found. A new session with the same key is found only by its own labels.
    store.delete_session(&key("a"), Deletion::FORCE).await.unwrap();
    assert_eq!(labelled(&store, &[("user", "kim")]).await, ["c"]);
    let labels = [("user", "lee")].into_iter().collect();
    let again = NewSession { labels, operation: id("again"), ..new_session("a") };
    let created = store.create_session(again).await.unwrap();
    assert!(matches!(created, CreateOutcome::Created { .. }), "{created:?}");
    assert_eq!(labelled(&store, &[("user", "kim")]).await, ["c"]);
    assert_eq!(labelled(&store, &[("user", "lee")]).await, ["a", "b"]);
    assert_eq!(labelled(&store, &[("agent", "x")]).await, ["b", "c"]);
    assert_eq!(admin.number(&format!("SELECT count(*) FROM {schema}.label")).await, 5);
    store.close().await;
}

/// The cursor that programs of version 5 give after the call `second` of the session `s` in a list of dead letters.
const CURSOR: &str = "022253bfe61f52a85960bc2d30213dd2e100800000000000000273007365636f6e64f5c92726";

#[tokio::test]
async fn calls_of_version_5_are_listed_by_kind_and_its_programs_go_on() {
    let url = shared::postgres_url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    admin.run(&as_version_5(&schema)).await;
    let left = "VALUES ('acme', 's', 'queue', 1, NULL::bigint, NULL::text)";
    admin.run(&insert_waiting(&schema, left)).await;
    let insert = |calls: &str| {
        format!(
            "INSERT INTO {schema}.pending (sid, place, tenant, session, incarnation, id, call, kind, needed, endless, deadline, \
                 opened_at, digest, payload) \
             SELECT s.sid, x.place, s.tenant, s.id, s.incarnation, x.id, 'call', x.kind, 1, x.deadline = 0, x.deadline, 5, \
                 sha256('{{}}'), '{{}}' FROM {schema}.session s, (VALUES {calls}) AS x (place, id, kind, deadline)"
        )
    };
    let calls = "(1, 'late', 'dead_letter', 0), (2, 'a', 'approval', 1), (3, 'third', 'dead_letter', 3), \
         (4, 'first', 'dead_letter', 1), (5, 'b', 'dead_letters', 1), (6, 'second', 'dead_letter', 2)";
    admin.run(&insert(calls)).await;
    let store = PostgresStore::open(options).await.unwrap();
    let mut letters = PendingQuery { kind: Some(PendingKind::DeadLetter), ..PendingQuery::all(id("acme")) };
    letters.page.limit = NonZeroU32::new(2);
    let listed = async |query: &PendingQuery| {
        let page = store.list_pending(query).await.unwrap();
        (page.items.iter().map(|call| call.id.to_string()).collect::<Vec<_>>(), page.next)
    };
    let (first, next) = listed(&letters).await;
    assert_eq!(first, ["first", "second"]);
    assert_eq!(next.as_ref().map(PageCursor::as_str), Some(CURSOR), "programs of version 5 give it, too");
    letters.page.after = next;
    assert_eq!(listed(&letters).await.0, ["third", "late"]);
    // A program of version 5 that still runs opens a call and closes another.
    admin.run(&insert("(7, 'new', 'dead_letter', 4)")).await;
    admin.run(&format!("DELETE FROM {schema}.pending WHERE id = 'third'")).await;
    assert_eq!(listed(&letters).await.0, ["new", "late"]);
    store.close().await;
}

#[tokio::test]
async fn whoever_works_on_while_the_tables_change_says_that_they_are_newer() {
    let url = shared::postgres_url();
    let (options, mut admin) = (options(url), Admin::at(url).await);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    let claim = running(&store, "s").await;
    // A newer program has changed the tables.
    admin.run(&format!("UPDATE {schema}.mark SET version = 99")).await;
    admin.run(&format!("ALTER TABLE {schema}.session RENAME COLUMN token TO proof")).await;
    for error in [
        store.commit(&claim.fence, commit(2)).await.unwrap_err(),
        store.load_session(&key("s")).await.unwrap_err(),
    ] {
        assert_eq!((error.kind, error.retry), (StoreErrorKind::Newer, Retry::Never), "{error}");
        assert_eq!(error.key.as_deref(), Some(&key("s")), "{error}");
    }
    store.close().await;
}

/// Does nothing unless this program was started as an opener of a store.
#[test]
fn opener() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let [url, schema, session]: [&str; 3] = place.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let options = PostgresOptions::from_url(url).unwrap().schema(schema).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = PostgresStore::open(options.application("opener").connections_max(2)).await.unwrap();
        running(&store, session).await;
        store.close().await;
    });
}

#[tokio::test]
async fn sixteen_processes_open_a_new_schema_at_once() {
    let launcher = Launcher::new().unwrap();
    let server = launcher.postgres(&[]).unwrap();
    let (url, options) = (server.url(), options(&server.url()));
    let schema = schema_of(&options);
    let (mut first, mut admin) = (Admin::at(&url).await, Admin::at(&url).await);
    // All openers have arrived before any of them can go on.
    first.run(&format!("BEGIN; CREATE SCHEMA {schema}")).await;
    let openers: Vec<Child> = (0..OPENERS)
        .map(|nth| {
            let place = format!("{url} {schema} s{nth}");
            let mut opener = Command::new(std::env::current_exe().unwrap());
            opener.args(["--exact", "opener"]).env(PLACE, place).stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    admin.until_waiting("opener", OPENERS as i64).await;
    first.run("ROLLBACK").await;
    for mut opener in openers {
        assert!(tokio::task::spawn_blocking(move || opener.wait()).await.unwrap().unwrap().success());
    }
    let store = PostgresStore::open(options).await.unwrap();
    for nth in 0..OPENERS {
        assert!(store.load_session(&key(&format!("s{nth}"))).await.unwrap().is_some());
    }
    store.close().await;
}

/// SQL for a trigger that ends the connection named `to be killed` after a given number of schema changes.
const KILLS: &str = "CREATE TABLE public.kill (nth int); INSERT INTO public.kill VALUES (0); \
     CREATE FUNCTION public.kill() RETURNS event_trigger LANGUAGE plpgsql AS $$ \
     DECLARE nth int := coalesce(nullif(current_setting('test.nth', true), ''), '0')::int + 1; \
     BEGIN \
        IF current_setting('application_name') <> 'to be killed' THEN RETURN; END IF; \
        PERFORM set_config('test.nth', nth::text, true); \
        IF nth = (SELECT k.nth FROM public.kill k) THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; \
     END $$; \
     CREATE EVENT TRIGGER kill ON ddl_command_end EXECUTE FUNCTION public.kill()";

/// Opens the store again and again, killed after the first schema change, then after the second, until an
/// open succeeds. Until then the result of the query `looks` must not change. Returns the number of kills.
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
    assert!(kills > 40, "{kills} statements");
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
    admin.run(&as_version_2(&schema)).await;
    admin.run(&left_by_version_2(&schema)).await;
    admin.run(KILLS).await;
    let own = format!("'{schema}'::regnamespace");
    let looks = format!(
        "SELECT concat_ws(' ', (SELECT m::text FROM {schema}.mark m), \
         (SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_class WHERE relnamespace = {own}), \
         (SELECT string_agg(proname, ',' ORDER BY proname) FROM pg_proc WHERE pronamespace = {own}), \
         (SELECT string_agg(attrelid::regclass || '.' || attname, ',' ORDER BY attrelid::regclass::text, attnum) \
             FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE relnamespace = {own}))"
    );
    let before = admin.text(&looks).await;
    let kills = killed_at_each_statement(&url, &options, &looks).await;
    assert!(kills > 15, "{kills} statements");
    assert_ne!(admin.text(&looks).await, before);
    let store = PostgresStore::open(options.as_it_is()).await.unwrap();
    let claim = store.claim_session(&key("s"), claim_one("run")).await.unwrap();
    assert!(matches!(claim, ClaimOutcome::Claimed(_)), "{claim:?}");
    store.close().await;
}
