//! Steps that write a table of the program in the transaction that stores their result.

use std::collections::BTreeMap;
use std::future::IntoFuture;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::engine::RunOutcome;
use holdover_core::ids::{Fence, SessionKey};
use holdover_core::message::ResultStatus;
use holdover_core::store::{
    Answer, Layer, Layered, OpenTransaction, Request, Retry, SessionStatus, StateStore, StoreError,
    StoreErrorKind, StoreTransaction,
};
use holdover_core::tool::ToolError;
use holdover_flow::{CommitWith, Cx, Flow, FlowError, Step, StepCx, StepError, Stop, TxCx};
use holdover_runtime_local::{
    Agents, Engine, EngineError, Runtime, RuntimeOptions, Seen, Signal, WakeUp, Worker, WorkerOptions,
};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::bench::{self, Process, mortal_on, runtime, start, store, tenant, until, work};
use crate::tables::{OPEN_MAX, Tables, TablesTransaction};
use crate::zombie::Zombie;

/// Writes a row, after a time in the transaction.
const PAY: Step<(u32, u64), u32> = Step::transactional("pay").timeout(Duration::from_secs(60));
const NOTE: Step<u32, u32> = Step::idempotent("note");
const LOOK: Step<u64, u64> = Step::read_only("look");

async fn pay(cx: TxCx, (row, seconds): (u32, u64)) -> Result<CommitWith<u32>, ToolError> {
    let mut tx = cx.begin::<TablesTransaction>().await?;
    tx.insert(row)?;
    sleep(Duration::from_secs(seconds)).await;
    Ok(tx.commit_with(row))
}

async fn note(number: u32) -> Result<u32, ToolError> {
    Ok(number)
}

async fn look(seconds: u64) -> Result<u64, ToolError> {
    sleep(Duration::from_secs(seconds)).await;
    Ok(seconds)
}

/// Returns a flow with the steps of this file.
fn flow<O, Fut>(function: fn(Cx, u32) -> Fut) -> Flow<u32, O>
where
    O: serde::Serialize + serde::de::DeserializeOwned + Send + 'static,
    Fut: Future<Output = Result<O, Stop>> + Send + 'static,
{
    Flow::builder("shop", function).on(&PAY, pay).on(&NOTE, note).on(&LOOK, look).build().unwrap()
}

/// Returns the rows that the transcript says were written.
async fn told(runtime: &Runtime, key: &SessionKey) -> Vec<u32> {
    let results = bench::results(runtime, key).await;
    let done = results.iter().filter(|result| result.tool == "pay" && result.status == ResultStatus::Done);
    let mut rows: Vec<u32> = done.map(|result| result.content.parse().unwrap()).collect();
    rows.sort_unstable();
    rows
}

/// Three branches: one pays in a row, one pays around a wait, and one does other steps.
async fn shop(cx: Cx, _: u32) -> Result<u32, Stop> {
    let paid = cx.step(&PAY, &(1, 0)).await?;
    let in_a_row = async {
        cx.step(&PAY, &(11, 1)).await?;
        cx.step(&PAY, &(12, 0)).await
    };
    let around = async {
        cx.step(&PAY, &(21, 0)).await?;
        cx.sleep(Duration::from_secs(2)).await?;
        cx.step(&PAY, &(22, 1)).await
    };
    let beside = async {
        for number in 0..3 {
            cx.step(&NOTE, &number).await?;
            cx.step(&LOOK, &1).await?;
        }
        Ok::<(), StepError>(())
    };
    let (one, two, three) = holdover_flow::join!(in_a_row, around, beside);
    three?;
    Ok(paid + one? + two?)
}

const SHOP_ROWS: [u32; 5] = [1, 11, 12, 21, 22];

async fn dies(tables: Tables, at: usize, after: bool) -> bool {
    let told_as = format!("dies at {at}, after {after}");
    let flow = flow(shop);
    let process = Process::dying(at, after);
    let first = runtime(mortal_on(tables.clone(), &process), &[flow.agent()]);
    let heir = runtime(tables.clone(), &[flow.agent()]);
    let key = start(&heir, &flow, &0).await;
    let works = work(&first);
    let heir_works = tokio::spawn({
        let (heir, key, died) = (heir.clone(), key.clone(), process.died.clone());
        let (tables, told_as) = (tables.clone(), told_as.clone());
        async move {
            died.cancelled().await;
            drop(works);
            sleep(Duration::from_millis(10)).await;
            assert_eq!(tables.rows(), told(&heir, &key).await, "{told_as}: both or neither");
            let _works = work(&heir);
            std::future::pending::<()>().await
        }
    });
    until(&heir, &key, SessionStatus::Idle, &told_as).await;
    assert!(!heir_works.is_finished(), "{told_as}: a row is not beside its result");
    heir_works.abort();
    assert_eq!(tables.rows(), SHOP_ROWS, "{told_as}");
    assert_eq!(told(&heir, &key).await, SHOP_ROWS, "{told_as}");
    process.died.is_cancelled()
}

#[tokio::test(start_paused = true)]
async fn each_row_is_there_once_and_beside_its_result_whatever_dies() {
    for new in [Tables::with_one_writer, Tables::with_many_writers] {
        for after in [false, true] {
            let mut at = 1;
            while dies(new(), at, after).await {
                at += 1;
            }
            assert!(at > 8, "{at} writes: the story has become shorter");
        }
    }
}

/// Makes one write of a run fail, before or after it is applied.
struct Fails {
    at: usize,
    applied: bool,
    retry: Retry,
    writes: AtomicUsize,
}

#[async_trait]
impl Layer for Fails {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let writes = matches!(request, Request::Commit(..) | Request::Stage(..));
        if writes && self.writes.fetch_add(1, Ordering::SeqCst) + 1 == self.at {
            if self.applied {
                drop(request.perform(&store).await);
            }
            let error = StoreError::new(StoreErrorKind::Unavailable, "commit", "the line broke");
            return Err(error.retry(self.retry));
        }
        request.perform(&store).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_or_whose_answer_is_lost_leaves_both_or_neither() {
    for (applied, retry) in
        [(false, Retry::OutcomeUnknown), (true, Retry::OutcomeUnknown), (false, Retry::Later)]
    {
        for at in 1.. {
            let (tables, flow) = (Tables::with_one_writer(), flow(shop));
            let fails = Arc::new(Fails { at, applied, retry, writes: AtomicUsize::new(0) });
            let layered = Layered::<Tables, Fails>::new(tables.clone(), Arc::clone(&fails));
            let runtime = runtime(layered, &[flow.agent()]);
            let key = start(&runtime, &flow, &0).await;
            let _works = work(&runtime);
            let told_as = format!("fails at {at}, applied {applied}, {retry:?}");
            until(&runtime, &key, SessionStatus::Idle, &told_as).await;
            assert_eq!(tables.rows(), SHOP_ROWS, "{told_as}");
            assert_eq!(told(&runtime, &key).await, SHOP_ROWS, "{told_as}");
            if fails.writes.load(Ordering::SeqCst) < at {
                assert!(at > 8, "{at} writes: the story has become shorter");
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_transactional_step_in_a_row_is_one_write() {
    async fn row(cx: Cx, steps: u32) -> Result<u32, Stop> {
        for number in 0..steps {
            cx.step(&PAY, &(number, 0)).await?;
        }
        Ok(steps)
    }
    let mut counts = Vec::new();
    for steps in [10, 60] {
        let (tables, flow, process) = (Tables::with_one_writer(), flow(row), Arc::new(Process::default()));
        let runtime = runtime(mortal_on(tables.clone(), &process), &[flow.agent()]);
        let run = runtime.execute(flow.execute(tenant(), &steps).unwrap()).await.unwrap();
        assert_eq!(run.output::<u32>().await.unwrap(), steps);
        assert_eq!(tables.commits.load(Ordering::SeqCst), steps as usize);
        counts.push(process.writes.load(Ordering::SeqCst));
    }
    assert_eq!(counts[1] - counts[0], 50, "{counts:?}");
}

/// A signal, an approval and the end of another step come while a transaction is open.
#[tokio::test(start_paused = true)]
async fn what_comes_while_a_transaction_is_open_neither_blocks_it_nor_waits_for_long() {
    async fn all(cx: Cx, _: u32) -> Result<u32, Stop> {
        let approval = async {
            cx.approve("it", &1).await?;
            cx.step(&NOTE, &1).await
        };
        let signal = async {
            cx.signal::<u32>("go").await?;
            cx.step(&PAY, &(2, 0)).await
        };
        let step = async {
            cx.step(&LOOK, &2).await?;
            cx.step(&PAY, &(3, 0)).await
        };
        let (one, two, three, four) = holdover_flow::join!(cx.step(&PAY, &(1, 3)), approval, signal, step);
        Ok(one? + two? + three? + four?)
    }
    for new in [Tables::with_one_writer, Tables::with_many_writers] {
        let (tables, flow) = (new(), flow(all));
        let runtime = runtime(tables.clone(), &[flow.agent()]);
        let _works = work(&runtime);
        let key = start(&runtime, &flow, &0).await;
        until(&runtime, &key, SessionStatus::Active, "works").await;
        let began = Instant::now();
        let asked = loop {
            match bench::pending_of(&runtime, &key).await.pop() {
                Some(asked) => break asked,
                None => sleep(Duration::from_millis(10)).await,
            }
        };
        sleep(Duration::from_secs(1)).await;
        let sender = runtime.clone();
        let signal = Signal::new("go").unwrap().with(&7).unwrap();
        let (approved, sent) =
            tokio::join!(runtime.approve(&key, &asked, "ann"), sender.signal(&key, signal));
        approved.unwrap();
        sent.unwrap();
        until(&runtime, &key, SessionStatus::Idle, "all").await;
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        assert_eq!((tables.rows(), bench::text(&runtime, &key).await), (vec![1, 2, 3], "7".to_owned()));
    }
}

/// Two branches always have a transaction open or wait for one. Others still get their turn.
#[tokio::test(start_paused = true)]
async fn branches_with_many_transactions_let_others_go_on() {
    async fn busy(cx: Cx, _: u32) -> Result<u32, Stop> {
        let pays = async |from: u32| {
            for number in from..from + 20 {
                cx.step(&PAY, &(number, 1)).await?;
            }
            Ok::<(), StepError>(())
        };
        let notes = async {
            for number in 0..10 {
                cx.step(&NOTE, &number).await?;
            }
            Ok::<_, StepError>(cx.now())
        };
        let began = cx.now();
        let (one, two, three) = holdover_flow::join!(pays(0), pays(100), notes);
        one?;
        two?;
        Ok(u32::try_from(began.until(three?).as_secs()).unwrap())
    }
    let (tables, flow) = (Tables::with_one_writer(), flow(busy));
    let runtime = runtime(tables.clone(), &[flow.agent()]);
    let key = start(&runtime, &flow, &0).await;
    let _works = work(&runtime);
    until(&runtime, &key, SessionStatus::Idle, "busy").await;
    assert_eq!(tables.rows().len(), 40);
    let took: u32 = bench::text(&runtime, &key).await.parse().unwrap();
    assert!(took <= 15, "ten notes took {took} s");
}

#[tokio::test(start_paused = true)]
async fn a_stop_and_a_drain_wait_only_for_the_open_transaction() {
    async fn pays(cx: Cx, _: u32) -> Result<u32, Stop> {
        let branch = async |from: u32| {
            for number in from..from + 500 {
                cx.step(&PAY, &(number, 2)).await?;
            }
            Ok::<u32, StepError>(0)
        };
        let (one, two) = holdover_flow::join!(branch(0), branch(1_000));
        Ok(one? + two?)
    }
    let cases: [(bool, fn() -> Tables); 3] = [
        (true, Tables::with_one_writer),
        (true, Tables::with_many_writers),
        (false, Tables::with_one_writer),
    ];
    for (interrupts, new) in cases {
        let (tables, flow) = (new(), flow(pays));
        let runtime = runtime(tables.clone(), &[flow.agent()]);
        let leave = CancellationToken::new();
        let worker = Worker::new(runtime.clone(), WorkerOptions::default()).spawn(leave.clone());
        let key = start(&runtime, &flow, &0).await;
        sleep(Duration::from_secs(7)).await;
        let began = Instant::now();
        if interrupts {
            runtime.interrupt(&key, "enough").await.unwrap();
            until(&runtime, &key, SessionStatus::Interrupted, "stopped").await;
        } else {
            leave.cancel();
            worker.await.unwrap();
        }
        assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
        assert_eq!(tables.rows(), told(&runtime, &key).await);
        leave.cancel();
    }
}

/// A branch is dropped with its approval when the step of the other branch ends, just as the approval comes.
#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_before_the_write_is_read_and_the_transaction_stands() {
    async fn first(cx: Cx, _: u32) -> Result<u32, Stop> {
        Ok(holdover_flow::select! {
            paid = cx.step(&PAY, &(5, 3)) => paid?,
            approved = cx.approve("it", &1).into_future() => { approved?; 0 }
        })
    }
    let (tables, flow) = (Tables::with_many_writers(), flow(first));
    let runtime = runtime(tables.clone(), &[flow.agent()]);
    let key = start(&runtime, &flow, &0).await;
    let _works = work(&runtime);
    let asked = loop {
        match bench::pending_of(&runtime, &key).await.pop() {
            Some(asked) => break asked,
            None => sleep(Duration::from_millis(10)).await,
        }
    };
    let began = Instant::now();
    sleep(Duration::from_secs(1)).await;
    runtime.approve(&key, &asked, "ann").await.unwrap();
    until(&runtime, &key, SessionStatus::Idle, "first").await;
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!((tables.rows(), bench::text(&runtime, &key).await), (vec![5], "5".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_lease_was_taken_writes_nothing() {
    const LONG: Step<u32, u32> = Step::transactional("pay").timeout(Duration::from_secs(500));
    async fn once(cx: Cx, row: u32) -> Result<u32, Stop> {
        Ok(cx.step(&LONG, &row).await?)
    }
    let built = |seconds: u64| {
        let long = move |cx: TxCx, row: u32| async move {
            // The transaction is opened at the end, because the store limits its time.
            sleep(Duration::from_secs(seconds)).await;
            let mut tx = cx.begin::<TablesTransaction>().await?;
            tx.insert(row + u32::try_from(seconds).unwrap())?;
            sleep(Duration::from_secs(1)).await;
            Ok::<_, ToolError>(tx.commit_with(row))
        };
        Flow::builder("once", once).on(&LONG, long).build().unwrap()
    };
    let tables = Tables::with_many_writers();
    let (slow, quick) = (built(100), built(0));
    let zombie = Arc::new(Zombie::default());
    let first = runtime(Layered::<Tables, Zombie>::new(tables.clone(), Arc::clone(&zombie)), &[slow.agent()]);
    let heir = runtime(tables.clone(), &[quick.agent()]);
    let key = start(&heir, &quick, &1_000).await;
    let _first_works = bench::work_on_one(&first);
    until(&heir, &key, SessionStatus::Active, "claimed").await;
    sleep(Duration::from_secs(7)).await;
    let _heir_works = work(&heir);
    until(&heir, &key, SessionStatus::Idle, "taken over").await;
    assert_eq!(tables.rows(), [1_000], "the heir has written");
    zombie.refused.cancelled().await;
    sleep(Duration::from_secs(200)).await;
    assert_eq!(tables.rows(), [1_000], "the zombie has written nothing");
}

/// Returns what became of one step with this function, after which another step pays 7.
async fn ends<F, Fut>(store: impl StateStore, function: F) -> (String, Duration)
where
    F: Fn(TxCx, u32) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<CommitWith<u32>, ToolError>> + Send + 'static,
{
    const ODD: Step<u32, u32> = Step::transactional("odd").timeout(Duration::from_secs(3));
    async fn then(cx: Cx, row: u32) -> Result<String, Stop> {
        let odd = match cx.step(&ODD, &row).await {
            Ok(value) => value.to_string(),
            Err(error) => error.to_string(),
        };
        let paid = cx.step(&PAY, &(7, 0)).await.map_err(|error| error.to_string());
        Ok(format!("{odd}; {paid:?}"))
    }
    let flow = Flow::builder("odd", then).on(&ODD, function).on(&PAY, pay).build().unwrap();
    let runtime = runtime(store, &[flow.agent()]);
    let began = Instant::now();
    let run = runtime.execute(flow.execute(tenant(), &1).unwrap()).await.unwrap();
    (run.output().await.unwrap(), began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_function_that_gives_no_value_leaves_nothing() {
    async fn inserted(cx: &TxCx) -> Result<holdover_flow::Tx<TablesTransaction>, ToolError> {
        let mut tx = cx.begin::<TablesTransaction>().await?;
        tx.insert(1)?;
        Ok(tx)
    }
    type End = (
        &'static str,
        Box<
            dyn Fn(TxCx, u32) -> futures::future::BoxFuture<'static, Result<CommitWith<u32>, ToolError>>
                + Send
                + Sync,
        >,
    );
    let cases: Vec<End> = vec![
        (
            "step odd failed: no money; Ok(7)",
            Box::new(|cx, _| {
                Box::pin(async move {
                    let _tx = inserted(&cx).await?;
                    Err(ToolError::failed("no money"))
                })
            }),
        ),
        (
            "step odd failed: it panicked: oh; Ok(7)",
            Box::new(|cx, _| {
                Box::pin(async move {
                    let _tx = inserted(&cx).await?;
                    panic!("oh")
                })
            }),
        ),
        (
            "step odd failed: not run: no answer within 3000 ms",
            Box::new(|cx, _| {
                Box::pin(async move {
                    let _tx = inserted(&cx).await?;
                    std::future::pending().await
                })
            }),
        ),
        // The function gives its transaction up, begins another one, and goes on after it.
        (
            "step odd failed: later; Ok(7)",
            Box::new(|cx, _| {
                Box::pin(async move {
                    drop(inserted(&cx).await?);
                    drop(inserted(&cx).await?);
                    sleep(Duration::from_secs(1)).await;
                    Err(ToolError::failed("later"))
                })
            }),
        ),
        (
            "step odd failed: store: begin: invalid argument: the call has a transaction open",
            Box::new(|cx, _| {
                Box::pin(async move {
                    let _tx = inserted(&cx).await?;
                    Ok(inserted(&cx).await?.commit_with(1))
                })
            }),
        ),
    ];
    for (expected, function) in cases {
        let tables = Tables::with_one_writer();
        let (odd, took) = ends(tables.clone(), function).await;
        assert!(odd.contains(expected) && odd.ends_with("Ok(7)"), "{odd}");
        assert_eq!(tables.rows(), [7], "{odd}");
        assert!(took < Duration::from_secs(40), "{odd}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_value_that_is_no_json_leaves_nothing() {
    const ODD: Step<u32, BTreeMap<u32, u32>> = Step::transactional("odd");
    #[derive(serde::Deserialize)]
    struct NoJson;
    impl serde::Serialize for NoJson {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("never"))
        }
    }
    const NEVER: Step<u32, NoJson> = Step::transactional("never");
    async fn never(cx: TxCx, row: u32) -> Result<CommitWith<NoJson>, ToolError> {
        let mut tx = cx.begin::<TablesTransaction>().await?;
        tx.insert(row)?;
        Ok(tx.commit_with(NoJson))
    }
    async fn odd(cx: TxCx, row: u32) -> Result<CommitWith<BTreeMap<u32, u32>>, ToolError> {
        let mut tx = cx.begin::<TablesTransaction>().await?;
        tx.insert(row)?;
        Ok(tx.commit_with([(row, row)].into()))
    }
    async fn both(cx: Cx, _: u32) -> Result<String, Stop> {
        let never = cx.step(&NEVER, &1).await.map(|_| ()).unwrap_err();
        let odd = cx.step(&ODD, &2).await?;
        Ok(format!("{never}; {odd:?}"))
    }
    let tables = Tables::with_one_writer();
    let flow = Flow::builder("both", both).on(&NEVER, never).on(&ODD, odd).build().unwrap();
    let runtime = runtime(tables.clone(), &[flow.agent()]);
    let run = runtime.execute(flow.execute(tenant(), &1).unwrap()).await.unwrap();
    let said: String = run.output().await.unwrap();
    assert_eq!(said, "step never failed: its result is no JSON: never; {2: 2}");
    assert_eq!(tables.rows(), [2]);
}

#[tokio::test(start_paused = true)]
async fn a_store_without_transactions_or_with_others_says_so() {
    let (odd, _) = ends(store(), |cx: TxCx, _| async move {
        Ok::<_, ToolError>(cx.begin::<TablesTransaction>().await?.commit_with(1))
    })
    .await;
    let none = "store: begin: unsupported: this store has no transactions in which a caller can write its own tables";
    assert!(odd.starts_with(&format!("step odd failed: {none}; Err(\"step pay failed: {none}")), "{odd}");

    struct Other;
    impl StoreTransaction for Other {
        fn into_store(self: Box<Self>) -> Arc<dyn StateStore> {
            Arc::new(store())
        }
    }
    let (odd, _) = ends(Tables::with_one_writer(), |cx: TxCx, _| async move {
        Ok::<_, ToolError>(cx.begin::<Other>().await?.commit_with(1))
    })
    .await;
    assert!(odd.starts_with("step odd failed: the transactions of the store of this run are no "), "{odd}");
    assert!(odd.ends_with("Ok(7)"), "{odd}");
}

#[test]
fn a_transactional_step_has_a_function_that_returns_its_transaction() {
    async fn plain(cx: StepCx, row: (u32, u64)) -> Result<u32, ToolError> {
        Ok(row.0 + u32::from(cx.idempotency_key().is_empty()))
    }
    async fn in_tx(cx: TxCx, row: u32) -> Result<CommitWith<u32>, ToolError> {
        Ok(cx.begin::<TablesTransaction>().await?.commit_with(row))
    }
    async fn none(_: Cx, _: u32) -> Result<u32, Stop> {
        Ok(0)
    }
    let told = |error: FlowError| error.to_string();
    let built = Flow::builder("none", none).on(&PAY, plain).build().map(|_| ()).map_err(told);
    assert_eq!(
        built,
        Err("step \"pay\" is transactional, and its function returns no transaction".to_owned())
    );
    let built = Flow::builder("none", none).on(&NOTE, in_tx).build().map(|_| ()).map_err(told);
    assert_eq!(
        built,
        Err("step \"note\" is not transactional, and its function returns a transaction".to_owned())
    );
}

/// A function holds its transaction for longer than the store allows. If the step finds that, it fails. If only its write
/// does, the run dies of it each time, until the turn ends.
#[tokio::test(start_paused = true)]
async fn a_transaction_that_the_store_has_undone_is_never_told_as_done() {
    async fn long(cx: Cx, row: u32) -> Result<u32, Stop> {
        Ok(cx.step(&PAY, &(row, OPEN_MAX.as_secs() + 1)).await?)
    }
    let seen_late = Tables::with_one_writer().undone_after_checks();
    for (tables, ends) in [(Tables::with_one_writer(), "flow.failed"), (seen_late, "engine.poisoned")] {
        let flow = flow(long);
        let runtime = runtime(tables.clone(), &[flow.agent()]);
        let key = start(&runtime, &flow, &1).await;
        let _work = work(&runtime);
        until(&runtime, &key, SessionStatus::Failed, "too long").await;
        let RunOutcome::Ended(ending) = runtime.wait(&key).await.unwrap() else { panic!("not ended") };
        assert_eq!(ending.error.unwrap().code, ends);
        assert_eq!((tables.rows(), told(&runtime, &key).await), (vec![], vec![]));
    }
}

#[tokio::test(start_paused = true)]
async fn many_sessions_share_one_writer() {
    async fn two(cx: Cx, row: u32) -> Result<u32, Stop> {
        let first = cx.step(&PAY, &(row, 0)).await?;
        cx.step(&NOTE, &first).await?;
        Ok(cx.step(&PAY, &(row + 100, 0)).await?)
    }
    let (tables, flow) = (Tables::with_one_writer(), flow(two));
    let runtime = runtime(tables.clone(), &[flow.agent()]);
    let _works = work(&runtime);
    let mut keys = Vec::new();
    for row in 0..20 {
        keys.push(start(&runtime, &flow, &row).await);
    }
    for key in &keys {
        until(&runtime, key, SessionStatus::Idle, "two").await;
    }
    let rows: Vec<u32> = (0..20).chain(100..120).collect();
    assert_eq!(tables.rows(), rows);
}

/// A layer around the store stays around the write that commits a transaction.
#[tokio::test(start_paused = true)]
async fn layers_see_the_write_of_a_transaction() {
    #[derive(Default)]
    struct Seen(Mutex<Vec<Fence>>);
    #[async_trait]
    impl Layer for Seen {
        async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
            if let Request::Commit(fence, _) = &request {
                self.0.lock().unwrap().push(fence.clone());
            }
            request.perform(&store).await
        }
    }
    let (tables, inner, outer) =
        (Tables::with_one_writer(), Arc::new(Seen::default()), Arc::new(Seen::default()));
    let store: Arc<dyn StateStore> =
        Arc::new(Layered::<Tables, Seen>::new(tables.clone(), Arc::clone(&inner)));
    let store = Layered::<Arc<dyn StateStore>, Seen>::new(store, Arc::clone(&outer));
    let open: OpenTransaction = store.begin().await.unwrap();
    let mut open = open.downcast::<TablesTransaction>().unwrap();
    open.insert(3).unwrap();
    let flow = flow(shop);
    let runtime = runtime(tables.clone(), &[flow.agent()]);
    let opened =
        tokio::time::timeout(Duration::from_millis(1), runtime.start(flow.execute(tenant(), &1).unwrap()))
            .await;
    assert!(opened.is_err(), "the transaction keeps other writers out");
    drop(open);
    let _works = work(&runtime);
    let key = start(&runtime, &flow, &0).await;
    until(&runtime, &key, SessionStatus::Idle, "shop").await;
    assert_eq!(tables.rows(), SHOP_ROWS, "what was dropped is undone");
    assert!(inner.0.lock().unwrap().is_empty());

    let flow = Flow::builder("shop", shop).on(&PAY, pay).on(&NOTE, note).on(&LOOK, look).build().unwrap();
    let behind = bench::runtime(store, &[flow.agent()]);
    let run = behind.execute(flow.execute(tenant(), &0).unwrap()).await.unwrap();
    run.output::<u32>().await.unwrap();
    let (inner, outer) = (inner.0.lock().unwrap().len(), outer.0.lock().unwrap().len());
    assert!(inner == outer && inner >= 5, "{inner} {outer}");
}

/// An engine that notes the wake-ups of sessions that rest.
#[derive(Default)]
struct Bell(Mutex<Vec<SessionStatus>>);

#[async_trait]
impl Engine for Bell {
    async fn wake(&self, wake: &WakeUp) -> Result<(), EngineError> {
        self.0.lock().unwrap().extend(wake.session.as_ref().map(|session| session.status));
        Ok(())
    }

    async fn look(&self, _: &SessionKey) -> Result<Option<Seen>, EngineError> {
        Ok(None)
    }

    fn name(&self) -> String {
        "bell".to_owned()
    }
}

/// The write that commits a transaction also ends the run. The engine is told about it.
#[tokio::test(start_paused = true)]
async fn an_engine_hears_of_a_write_that_commits_a_transaction() {
    async fn pays_last(cx: Cx, row: u32) -> Result<u32, Stop> {
        Ok(cx.step(&PAY, &(row, 1)).await?)
    }
    let (tables, flow, bell) = (Tables::with_many_writers(), flow(pays_last), Arc::new(Bell::default()));
    let agents = Agents::new().with(flow.agent().clone());
    let options = RuntimeOptions::default().engine(Some(bell.clone()));
    let runtime = Runtime::new(tables.clone(), agents, options);
    let run = runtime.execute(flow.execute(tenant(), &5).unwrap()).await.unwrap();
    assert_eq!(run.output::<u32>().await.unwrap(), 5);
    sleep(Duration::from_secs(5)).await;
    let heard = bell.0.lock().unwrap().clone();
    assert_eq!(heard.last(), Some(&SessionStatus::Idle), "{heard:?}");
}
