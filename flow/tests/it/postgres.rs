//! Transactional steps on Postgres.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use holdover_core::store::{Layered, SessionStatus};
use holdover_core::tool::ToolError;
use holdover_flow::{CommitWith, Cx, Flow, Stop, TxCx};
use holdover_launcher::shared;
use holdover_store_postgres::{PostgresOptions, PostgresStore, PostgresTransaction, sqlx};
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::bench::{start, until, work, work_on_one};
use crate::databases::{
    NOTE, PAY, Site, Spoil, dies_anywhere, flow, nothing_blocks, runtime, statements_fail,
};
use crate::places::new_name;
use crate::zombie::Zombie;

#[derive(Clone)]
struct Postgres {
    schema: String,
    store: PostgresStore,
}

impl Postgres {
    async fn run(&self, sql: String) -> Vec<sqlx::postgres::PgRow> {
        use sqlx::Connection as _;
        let mut conn = sqlx::PgConnection::connect(shared::postgres_url()).await.unwrap();
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql)).fetch_all(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        rows
    }
}

#[async_trait]
impl Site for Postgres {
    type Store = PostgresStore;

    async fn new() -> Self {
        let schema = new_name();
        let options = PostgresOptions::from_url(shared::postgres_url()).unwrap().schema(&schema).unwrap();
        let store = PostgresStore::open(
            options.connections_max(3).transactions_max(3).operation_timeout(Duration::from_secs(60)),
        )
        .await
        .unwrap();
        let site = Self { schema, store };
        site.run(format!(
            "CREATE TABLE {}_paid (number bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)",
            site.schema
        ))
        .await;
        site
    }

    fn store(&self) -> PostgresStore {
        self.store.clone()
    }

    async fn rows(&self) -> Vec<u32> {
        use sqlx::Row as _;
        let rows = self.run(format!("SELECT number FROM {}_paid ORDER BY number", self.schema)).await;
        rows.iter().map(|row| u32::try_from(row.get::<i64, _>(0)).unwrap()).collect()
    }

    fn pay(&self, cx: TxCx, row: u32, ms: u64) -> BoxFuture<'static, Result<CommitWith<u32>, ToolError>> {
        let insert = format!("INSERT INTO {}_paid VALUES ({row})", self.schema);
        Box::pin(async move {
            let mut tx = cx.begin::<PostgresTransaction>().await?;
            let insert = sqlx::query(sqlx::AssertSqlSafe(insert));
            insert.execute(tx.connection()?).await.map_err(ToolError::failed)?;
            sleep(Duration::from_millis(ms)).await;
            Ok(tx.commit_with(row))
        })
    }

    const SPOILS: &[Spoil] = &[
        Spoil::new("INSERT INTO nowhere VALUES (9)", true, "\"nowhere\" does not exist"),
        Spoil::new("INSERT INTO nowhere VALUES (9)", false, "current transaction is aborted"),
        Spoil::new("INSERT INTO SCHEMA_paid VALUES (9)", false, "duplicate key value"),
    ];

    fn spoil(
        &self,
        cx: TxCx,
        row: u32,
        how: &'static Spoil,
    ) -> BoxFuture<'static, Result<CommitWith<u32>, ToolError>> {
        let spoil = how.sql.replace("SCHEMA", &self.schema);
        let insert = format!("INSERT INTO {}_paid VALUES ({row})", self.schema);
        Box::pin(async move {
            let mut tx = cx.begin::<PostgresTransaction>().await?;
            sqlx::query(sqlx::AssertSqlSafe(insert))
                .execute(tx.connection()?)
                .await
                .map_err(ToolError::failed)?;
            let spoilt = sqlx::query(sqlx::AssertSqlSafe(spoil)).execute(tx.connection()?).await;
            let spoilt = spoilt.map_err(ToolError::failed);
            if how.returned { Err(spoilt.unwrap_err()) } else { Ok(tx.commit_with(row)) }
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_row_is_there_once_whatever_dies_on_postgres() {
    dies_anywhere::<Postgres>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_while_a_transaction_is_open_blocks_nothing_on_postgres() {
    nothing_blocks::<Postgres>().await;
}

/// The lease of a run is taken while its transaction is open. It stays open until the other run has ended.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_lease_was_taken_writes_nothing_on_postgres() {
    async fn once(cx: Cx, row: u32) -> Result<u32, Stop> {
        Ok(cx.step(&PAY, &(row, 0)).await?)
    }
    let site = Postgres::new().await;
    let quick = flow(&site, once);
    let (of_zombie, taken_over) = (site.clone(), CancellationToken::new());
    let over = taken_over.clone();
    let slow = move |cx: TxCx, (row, _): (u32, u64)| {
        let (paid, over) = (of_zombie.pay(cx, row + 100, 0), over.clone());
        async move {
            let paid = paid.await;
            over.cancelled().await;
            paid
        }
    };
    let slow = Flow::builder("shop", once)
        .on(&PAY, slow)
        .on(&NOTE, |number: u32| async move { Ok::<u32, ToolError>(number) });
    let slow = slow.build().unwrap();
    let zombie = Arc::new(Zombie::default());
    let first = runtime(Layered::<PostgresStore, Zombie>::new(site.store(), Arc::clone(&zombie)), &slow);
    let heir = runtime(site.store(), &quick);
    let key = start(&heir, &quick, &1).await;
    let _first_works = work_on_one(&first);
    zombie.renewed.cancelled().await;
    let _heir_works = work(&heir);
    until(&heir, &key, SessionStatus::Idle, "taken over").await;
    assert_eq!(site.rows().await, [1], "the heir has written");
    taken_over.cancel();
    timeout(Duration::from_secs(60), zombie.refused.cancelled()).await.expect("the zombie is refused");
    assert_eq!(site.rows().await, [1], "the zombie has written nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_fails_leaves_nothing_on_postgres() {
    statements_fail::<Postgres>().await;
}
