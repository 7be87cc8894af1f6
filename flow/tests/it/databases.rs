//! Transactional steps on real databases, with a table of the program beside the store. Here is SQLite.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::{BoxFuture, join_all};
use holdover_core::ids::SessionKey;
use holdover_core::message::ResultStatus;
use holdover_core::store::{SessionStatus, StateStore};
use holdover_core::tool::ToolError;
use holdover_flow::{CommitWith, Cx, Flow, Step, StepError, Stop, TxCx};
use holdover_runtime_local::{Agents, Runtime, RuntimeOptions, Signal};
use holdover_store_sqlite::{SqliteOptions, SqliteStore, SqliteTransaction, rusqlite};
use tokio::time::{Instant, sleep};

use crate::bench::{self, Process, mortal_on, start, tenant, until, work};

/// The time for which SQLite lets a transaction stay open. A run that waited for its own transaction would take as long.
const OPEN_MAX: Duration = Duration::from_secs(120);

/// Writes a row, and waits for some milliseconds.
pub(crate) const PAY: Step<(u32, u64), u32> = Step::transactional("pay").timeout(Duration::from_secs(300));
pub(crate) const NOTE: Step<u32, u32> = Step::idempotent("note");

/// A database with a store and a table of the program.
#[async_trait]
pub(crate) trait Site: Clone + Send + Sync + 'static {
    type Store: StateStore + Clone;
    async fn new() -> Self;
    fn store(&self) -> Self::Store;
    /// Returns the rows of the table, in order.
    async fn rows(&self) -> Vec<u32>;
    /// Writes a row in the transaction of a step, and waits.
    fn pay(&self, cx: TxCx, row: u32, ms: u64) -> BoxFuture<'static, Result<CommitWith<u32>, ToolError>>;
    /// Statements after which nothing that was written in a transaction may be left.
    const SPOILS: &[Spoil];
    /// Writes a row in the transaction of a step, and then spoils the transaction.
    fn spoil(
        &self,
        cx: TxCx,
        row: u32,
        how: &'static Spoil,
    ) -> BoxFuture<'static, Result<CommitWith<u32>, ToolError>>;
}

/// A statement that spoils a transaction which has written row 9 of a table whose rows are unique.
pub(crate) struct Spoil {
    pub(crate) sql: &'static str,
    /// True if the step returns the error of the statement. False if it goes on as if all were well.
    pub(crate) returned: bool,
    /// A part of the error with which the step fails.
    why: &'static str,
}

impl Spoil {
    pub(crate) const fn new(sql: &'static str, returned: bool, why: &'static str) -> Self {
        Self { sql, returned, why }
    }
}

#[derive(Clone)]
struct Sqlite {
    folder: Arc<tempfile::TempDir>,
    store: SqliteStore,
}

#[async_trait]
impl Site for Sqlite {
    type Store = SqliteStore;

    async fn new() -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let file = folder.path().join("shop.db");
        let store = SqliteStore::open(SqliteOptions::new(&file).operation_timeout(OPEN_MAX)).await.unwrap();
        let tables = rusqlite::Connection::open(&file).unwrap();
        tables.busy_timeout(OPEN_MAX).unwrap();
        tables.execute("CREATE TABLE paid (number INTEGER UNIQUE)", []).unwrap();
        Self { folder, store }
    }

    fn store(&self) -> SqliteStore {
        self.store.clone()
    }

    async fn rows(&self) -> Vec<u32> {
        let tables = rusqlite::Connection::open(self.folder.path().join("shop.db")).unwrap();
        let mut rows = tables.prepare("SELECT number FROM paid ORDER BY number").unwrap();
        rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    fn pay(&self, cx: TxCx, row: u32, ms: u64) -> BoxFuture<'static, Result<CommitWith<u32>, ToolError>> {
        Box::pin(async move {
            let mut tx = cx.begin::<SqliteTransaction>().await?;
            let paid = tx.run(move |db| db.execute("INSERT INTO paid VALUES (?1)", [row])).await?;
            paid.map_err(ToolError::failed)?;
            sleep(Duration::from_millis(ms)).await;
            Ok(tx.commit_with(row))
        })
    }

    const SPOILS: &[Spoil] = &[
        Spoil::new("INSERT INTO paid VALUES (9)", true, "UNIQUE constraint failed"),
        Spoil::new("INSERT INTO nowhere VALUES (9)", true, "no such table"),
        Spoil::new(
            "INSERT OR ROLLBACK INTO paid VALUES (9)",
            false,
            "SQLite undid it over a statement in it",
        ),
    ];

    fn spoil(
        &self,
        cx: TxCx,
        row: u32,
        how: &'static Spoil,
    ) -> BoxFuture<'static, Result<CommitWith<u32>, ToolError>> {
        Box::pin(async move {
            let mut tx = cx.begin::<SqliteTransaction>().await?;
            let spoilt = tx.run(move |db| {
                db.execute("INSERT INTO paid VALUES (?1)", [row]).unwrap();
                db.execute(how.sql, [])
            });
            let spoilt = spoilt.await?.map_err(ToolError::failed);
            if how.returned { Err(spoilt.unwrap_err()) } else { Ok(tx.commit_with(row)) }
        })
    }
}

/// Returns a runtime whose leases are short, so that others take over soon.
pub(crate) fn runtime(store: impl StateStore, flow: &Flow<u32, u32>) -> Runtime {
    let options = RuntimeOptions::default().lease(Duration::from_secs(2));
    Runtime::new(store, Agents::new().with(flow.agent().clone()), options)
}

pub(crate) fn flow<Fut>(site: &impl Site, function: fn(Cx, u32) -> Fut) -> Flow<u32, u32>
where
    Fut: Future<Output = Result<u32, Stop>> + Send + 'static,
{
    let site = site.clone();
    let pay = move |cx: TxCx, (row, ms): (u32, u64)| site.pay(cx, row, ms);
    let note = |number: u32| async move { Ok::<u32, ToolError>(number) };
    Flow::builder("shop", function).on(&PAY, pay).on(&NOTE, note).build().unwrap()
}

/// Returns the rows that the transcript says were written.
async fn told(runtime: &Runtime, key: &SessionKey) -> Vec<u32> {
    let results = bench::results(runtime, key).await;
    let done = results.iter().filter(|result| result.tool == "pay" && result.status == ResultStatus::Done);
    let mut rows: Vec<u32> = done.map(|result| result.content.parse().unwrap()).collect();
    rows.sort_unstable();
    rows
}

async fn shop(cx: Cx, _: u32) -> Result<u32, Stop> {
    let paid = cx.step(&PAY, &(1, 0)).await?;
    let in_a_row = async {
        cx.step(&PAY, &(11, 30)).await?;
        cx.step(&PAY, &(12, 0)).await
    };
    let around = async {
        cx.step(&PAY, &(21, 0)).await?;
        cx.sleep(Duration::from_millis(100)).await?;
        cx.step(&PAY, &(22, 30)).await
    };
    let beside = async {
        for number in 0..3 {
            cx.step(&NOTE, &number).await?;
        }
        Ok::<(), StepError>(())
    };
    let (one, two, three) = holdover_flow::join!(in_a_row, around, beside);
    three?;
    Ok(paid + one? + two?)
}

async fn dies<S: Site>(at: usize, after: bool) -> bool {
    let told_as = format!("dies at {at}, after {after}");
    let site = S::new().await;
    let flow = flow(&site, shop);
    let process = Process::dying(at, after);
    let first = runtime(mortal_on(site.store(), &process), &flow);
    let heir = runtime(site.store(), &flow);
    let key = start(&heir, &flow, &0).await;
    let works = work(&first);
    let ends = until(&heir, &key, SessionStatus::Idle, &told_as);
    let takes_over = async {
        process.died.cancelled().await;
        drop(works);
        let heir_works = work(&heir);
        std::future::pending::<()>().await;
        drop(heir_works);
    };
    tokio::select! {
        () = ends => {}
        () = takes_over => {}
    }
    assert_eq!(site.rows().await, [1, 11, 12, 21, 22], "{told_as}");
    assert_eq!(told(&heir, &key).await, [1, 11, 12, 21, 22], "{told_as}");
    process.died.is_cancelled()
}

/// Plays all deaths at the same time, because each waits for the end of a lease.
pub(crate) async fn dies_anywhere<S: Site>() {
    const WRITES_MAX: usize = 20;
    for after in [false, true] {
        let died = join_all((1..=WRITES_MAX).map(|at| dies::<S>(at, after))).await;
        assert!(died[7] && !died[WRITES_MAX - 1], "{died:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_row_is_there_once_whatever_dies_on_sqlite() {
    dies_anywhere::<Sqlite>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transactional_step_is_one_synced_transaction_of_sqlite() {
    async fn row(cx: Cx, steps: u32) -> Result<u32, Stop> {
        for number in 0..steps {
            cx.step(&PAY, &(number, 0)).await?;
        }
        Ok(steps)
    }
    let mut synced = Vec::new();
    for steps in [5, 45] {
        let site = Sqlite::new().await;
        let flow = flow(&site, row);
        let options = RuntimeOptions::default().lease(Duration::from_secs(3_600)).delta_interval(None);
        let runtime = Runtime::new(site.store(), Agents::new().with(flow.agent().clone()), options);
        let run = runtime.execute(flow.execute(tenant(), &steps).unwrap()).await.unwrap();
        assert_eq!(run.output::<u32>().await.unwrap(), steps);
        assert_eq!(site.rows().await.len(), steps as usize);
        synced.push(site.store.writer_counts().groups);
    }
    // A renewal may come in between if the machine is slow.
    assert!((40..48).contains(&(synced[1] - synced[0])), "{synced:?}");
}

/// An approval, a signal and the end of another step come while a transaction is open.
pub(crate) async fn nothing_blocks<S: Site>() {
    async fn all(cx: Cx, _: u32) -> Result<u32, Stop> {
        let approval = async {
            cx.approve("it", &1).await?;
            cx.step(&PAY, &(2, 0)).await
        };
        let signal = async {
            cx.signal::<u32>("go").await?;
            cx.step(&PAY, &(3, 0)).await
        };
        let step = async {
            cx.step(&NOTE, &4).await?;
            cx.step(&PAY, &(4, 0)).await
        };
        let (one, two, three, four) = holdover_flow::join!(cx.step(&PAY, &(1, 500)), approval, signal, step);
        Ok(one? + two? + three? + four?)
    }
    let site = S::new().await;
    let flow = flow(&site, all);
    let runtime = runtime(site.store(), &flow);
    let began = Instant::now();
    let key = start(&runtime, &flow, &0).await;
    let _works = work(&runtime);
    let asked = loop {
        match bench::pending_of(&runtime, &key).await.pop() {
            Some(asked) => break asked,
            None => sleep(Duration::from_millis(5)).await,
        }
    };
    let signal = Signal::new("go").unwrap().with(&7).unwrap();
    let (approved, sent) = tokio::join!(runtime.approve(&key, &asked, "ann"), runtime.signal(&key, signal));
    approved.unwrap();
    sent.unwrap();
    until(&runtime, &key, SessionStatus::Idle, "all").await;
    assert!(began.elapsed() < OPEN_MAX / 2, "{:?}", began.elapsed());
    assert_eq!(site.rows().await, [1, 2, 3, 4]);
    assert_eq!(bench::text(&runtime, &key).await, "10");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_while_a_transaction_is_open_blocks_nothing_on_sqlite() {
    nothing_blocks::<Sqlite>().await;
}

/// Statements of the program fail, or leave what cannot be committed. Nothing of their steps is left, and the flow goes on.
pub(crate) async fn statements_fail<S: Site>() {
    async fn around(cx: Cx, spoils: u32) -> Result<u32, Stop> {
        let mut paid = cx.step(&PAY, &(0, 0)).await?;
        for how in 0..spoils {
            match cx.step(&PAY, &(9, how.into())).await {
                Err(StepError::Failed { .. }) => paid += cx.step(&PAY, &(how + 1, 0)).await?,
                other => panic!("spoilt by {how}: {other:?}"),
            }
        }
        Ok(paid)
    }
    let site = S::new().await;
    let inner = site.clone();
    let pay = move |cx: TxCx, (row, how): (u32, u64)| match row {
        9 => inner.spoil(cx, row, &S::SPOILS[usize::try_from(how).unwrap()]),
        row => inner.pay(cx, row, 0),
    };
    let note = |number: u32| async move { Ok::<u32, ToolError>(number) };
    let flow = Flow::builder("shop", around).on(&PAY, pay).on(&NOTE, note).build().unwrap();
    let runtime = runtime(site.store(), &flow);
    let spoils = u32::try_from(S::SPOILS.len()).unwrap();
    let run = runtime.execute(flow.execute(tenant(), &spoils).unwrap()).await.unwrap();
    let key = run.key().clone();
    assert_eq!(run.output::<u32>().await.unwrap(), (0..=spoils).sum::<u32>());
    assert_eq!(site.rows().await, (0..=spoils).collect::<Vec<_>>());
    let results = bench::results(&runtime, &key).await;
    let failed = results.iter().filter(|result| result.status == ResultStatus::Error);
    let whys: Vec<&str> = failed.map(|result| result.content.as_str()).collect();
    assert_eq!(whys.len(), S::SPOILS.len(), "{whys:?}");
    for (why, how) in whys.iter().zip(S::SPOILS) {
        assert!(why.contains(how.why), "{}: {why}", how.sql);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_fails_leaves_nothing_on_sqlite() {
    statements_fail::<Sqlite>().await;
}
