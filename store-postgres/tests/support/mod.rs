//! Helpers for the store's own tests.
#![allow(dead_code, reason = "each test uses some of it")]

mod relay;
pub(crate) mod watched;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use holdover_store::ids::*;
use holdover_store::payload::Payload;
use holdover_store::{
    Claim, ClaimDue, ClaimOne, Commit, CreateOutcome, Labels, NewMessage, NewSession, NewState, Queues,
    Start, StateStore,
};
use holdover_store_postgres::PostgresOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

#[allow(unused_imports, reason = "each test uses some of it")]
pub(crate) use relay::Relay;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Returns a number that no other test of this process gets.
pub(crate) fn unique() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Returns options for a new schema.
pub(crate) fn options(url: &str) -> PostgresOptions {
    let schema = format!("own_{}_{}", std::process::id(), unique());
    PostgresOptions::from_url(url).unwrap().schema(&schema).unwrap().connections_max(4)
}

/// Returns the name of the schema in these options.
pub(crate) fn schema_of(options: &PostgresOptions) -> String {
    format!("{options:?}").split("schema ").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

/// Returns SQL that creates sessions with an alarm. `select` returns for each session: tenant, id, queue, format,
/// alarm, and the id of an interrupt or null.
pub(crate) fn insert_waiting(schema: &str, select: &str) -> String {
    let more = |table: &str| {
        format!(
            "INSERT INTO {schema}.{table} (sid, digest, payload) SELECT s.sid, sha256('{{}}'), '{{}}' FROM {schema}.session s \
             ON CONFLICT DO NOTHING"
        )
    };
    format!(
        "INSERT INTO {schema}.session (tenant, id, incarnation, created_by, queue, created_at, status, version, epoch, format, \
             found, updated_at, token, alarm, interrupt_id, interrupt_kind, interrupt_reason, interrupt_at) \
         SELECT x.tenant, x.id, decode(repeat('07', 16), 'hex'), 'create', x.queue, 5, 'idle', 1, 0, x.format, 'idle', 5, 7, \
             x.alarm, x.interrupt, CASE WHEN x.interrupt <> '' THEN 'soft' END, \
             CASE WHEN x.interrupt <> '' THEN ''::bytea END, CASE WHEN x.interrupt <> '' THEN 5 END \
         FROM ({select}) AS x (tenant, id, queue, format, alarm, interrupt); {}; {}",
        more("definition"),
        more("state")
    )
}

/// Returns SQL that creates a schema as version 2 left it, with the functions of two programs.
pub(crate) fn as_version_2(schema: &str) -> String {
    let steps = [include_str!("../../schema/0001.sql"), include_str!("../../schema/0002.sql")];
    let mark = "CREATE TABLE holdover.mark (one boolean PRIMARY KEY DEFAULT true CHECK (one), version bigint NOT NULL);";
    let programs = ["0123456789ab", "ba9876543210"].map(|tag| {
        format!(
            "CREATE TYPE holdover.page_{tag} AS (sound boolean); \
             CREATE FUNCTION holdover.deliver_{tag}() RETURNS holdover.page_{tag} LANGUAGE sql AS 'SELECT true'; \
             INSERT INTO holdover.program VALUES ('{tag}', clock_timestamp());"
        )
    });
    let view = "CREATE VIEW holdover.transcript AS SELECT holdover.deliver_ba9876543210();";
    let [first, second] = steps;
    let set = "INSERT INTO holdover.mark (version) VALUES (2);";
    let sql = format!("CREATE SCHEMA {schema}; {mark} {first} {second} {} {view} {set}", programs.join(" "));
    sql.replace("holdover.", &format!("{schema}."))
}

/// Returns SQL that creates a schema as version 3 left it.
pub(crate) fn as_version_3(schema: &str) -> String {
    let third = include_str!("../../schema/0003.sql").replace("holdover.", &format!("{schema}."));
    format!("{}; {third} UPDATE {schema}.mark SET version = 3", as_version_2(schema))
}

/// Returns SQL that creates a schema as version 4 left it.
pub(crate) fn as_version_4(schema: &str) -> String {
    let fourth = include_str!("../../schema/0004.sql").replace("holdover.", &format!("{schema}."));
    format!("{}; {fourth} UPDATE {schema}.mark SET version = 4", as_version_3(schema))
}

/// Returns SQL that creates a schema as version 5 left it.
pub(crate) fn as_version_5(schema: &str) -> String {
    let fifth = include_str!("../../schema/0005.sql").replace("holdover.", &format!("{schema}."));
    format!("{}; {fifth} UPDATE {schema}.mark SET version = 5", as_version_4(schema))
}

/// Returns a claim of up to `runs` due sessions from any queue.
pub(crate) fn due(runs: usize) -> ClaimDue {
    ClaimDue {
        runs: (0..runs).map(|_| id(&format!("due-{}", unique()))).collect(),
        worker: id("worker"),
        lease: Duration::from_secs(600),
        queues: Queues::All,
        newest_format: StateFormat(1),
        tenant: None,
    }
}

/// A connection to the database that bypasses the store.
pub(crate) struct Admin(PgConnection);

impl Admin {
    pub(crate) async fn at(url: &str) -> Self {
        Self(PgConnection::connect(url).await.unwrap())
    }

    pub(crate) async fn run(&mut self, sql: &str) {
        let run = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut self.0).await;
        run.unwrap_or_else(|error| panic!("{error}: {sql}"));
    }

    /// Returns the single number that `sql` selects.
    pub(crate) async fn number(&mut self, sql: &str) -> i64 {
        let query = sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).persistent(false);
        query.fetch_one(&mut self.0).await.unwrap_or_else(|error| panic!("{error}: {sql}"))
    }

    /// Returns the single text that `sql` selects.
    pub(crate) async fn text(&mut self, sql: &str) -> String {
        let query = sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).persistent(false);
        query.fetch_one(&mut self.0).await.unwrap_or_else(|error| panic!("{error}: {sql}"))
    }

    /// Returns once exactly `connections` connections with this application name wait for a lock.
    pub(crate) async fn until_waiting(&mut self, application: &str, connections: i64) {
        let waiting = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = '{application}' \
             AND wait_event_type = 'Lock'"
        );
        while self.number(&waiting).await != connections {
            tokio::task::yield_now().await;
        }
    }

    /// Returns the time of the server's clock, in milliseconds since 1970.
    pub(crate) async fn clock(&mut self) -> i64 {
        self.number("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint").await
    }
}

pub(crate) fn id<T: std::str::FromStr<Err = InvalidId>>(text: &str) -> T {
    text.parse().unwrap()
}

pub(crate) fn key(name: &str) -> SessionKey {
    SessionKey::new(id("acme"), id(name))
}

pub(crate) fn claim_one(run: &str) -> ClaimOne {
    ClaimOne {
        run: id(run),
        worker: id("worker"),
        lease: Duration::from_secs(600),
        expected_version: None,
        items: Vec::new(),
    }
}

pub(crate) fn new_session(name: &str) -> NewSession {
    NewSession {
        key: key(name),
        incarnation: Incarnation(uuid::Uuid::from_u128(u128::from(unique()) + 1)),
        operation: id("create"),
        queue: id("queue"),
        labels: Labels::default(),
        definition: Payload::new("{}"),
        format: StateFormat(1),
        items: Vec::new(),
        start: Start::Claimed(claim_one("run")),
    }
}

/// Creates a session that a run has claimed.
pub(crate) async fn running(store: &impl StateStore, name: &str) -> Claim {
    let created = store.create_session(new_session(name)).await.unwrap();
    let CreateOutcome::Created { claim: Some(claim), .. } = created else { panic!("{created:?}") };
    *claim
}

/// Returns a commit that writes to several tables. Equal numbers give equal commits.
pub(crate) fn commit(nth: u64) -> Commit {
    let state = NewState { format: StateFormat(1), payload: Payload::new(format!("{{\"state\":{nth}}}")) };
    Commit {
        state: Some(state),
        messages: vec![NewMessage::Inline(Payload::new(format!("{{\"message\":{nth}}}")))],
        events: vec![Payload::new(format!("{{\"event\":{nth}}}")), Payload::new("[]")],
        checkpoint: true,
        ..Commit::new(id(&format!("commit-{nth}")))
    }
}
