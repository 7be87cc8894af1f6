//! A flow that waits while its program is replaced: it goes on with the code of its version, or with patched code.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::error::ErrorInfo;
use holdover_core::ids::{QueueLabel, SessionKey};
use holdover_core::payload::Payload;
use holdover_core::store::{SessionQuery, SessionStatus, StateStore};
use holdover_core::tool::ToolError;
use holdover_flow::{Cx, Flow, Step, StepCx, Stop};
use holdover_runtime_local::{Agent, AgentSource, Runtime, RuntimeOptions};
use holdover_store_memory::MemoryStore;

use crate::bench::{self, runtime, start, store, tenant, until, work};

const CHARGE: Step<u32, u32> = Step::idempotent("charge");
const TAX: Step<u32, u32> = Step::idempotent("tax");
const PACK: Step<u32, u32> = Step::idempotent("pack");
const SHIP: Step<u32, u32> = Step::idempotent("ship");

/// The first version: charge, wait, ship.
async fn first(cx: Cx, order: u32) -> Result<Vec<u32>, Stop> {
    let paid = cx.step(&CHARGE, &order).await?;
    cx.approve("ship", &order).await?;
    Ok(vec![paid, cx.step(&SHIP, &paid).await?])
}

/// The second version: it also taxes before the wait, and packs after it.
async fn second(cx: Cx, order: u32) -> Result<Vec<u32>, Stop> {
    let mut paid = cx.step(&CHARGE, &order).await?;
    paid = cx.step(&TAX, &paid).await?;
    cx.approve("ship", &order).await?;
    paid = cx.step(&PACK, &paid).await?;
    Ok(vec![paid, cx.step(&SHIP, &paid).await?])
}

/// The second version, as a patch of the first.
async fn patched(cx: Cx, order: u32) -> Result<Vec<u32>, Stop> {
    let mut paid = cx.step(&CHARGE, &order).await?;
    if cx.patched("tax") {
        paid = cx.step(&TAX, &paid).await?;
    }
    cx.approve("ship", &order).await?;
    if cx.patched("pack") {
        paid = cx.step(&PACK, &paid).await?;
    }
    Ok(vec![paid, cx.step(&SHIP, &paid).await?])
}

/// Counts the charges of all orders.
type Charges = Arc<AtomicU32>;

/// Builds the flow with this code under this version.
fn flow<Fut>(
    version: &str,
    code: impl Fn(Cx, u32) -> Fut + Send + Sync + 'static,
    charges: &Charges,
) -> Flow<u32, Vec<u32>>
where
    Fut: Future<Output = Result<Vec<u32>, Stop>> + Send + 'static,
{
    async fn charge(cx: StepCx, order: u32) -> Result<u32, ToolError> {
        cx.get::<Charges>()?.fetch_add(1, Ordering::SeqCst);
        Ok(order)
    }
    let plus = |more: u32| move |paid: u32| async move { Ok::<u32, ToolError>(paid + more) };
    Flow::builder("order", code)
        .version(version)
        .on(&CHARGE, charge)
        .on(&TAX, plus(1_000))
        .on(&PACK, plus(100))
        .on(&SHIP, plus(10))
        .with(Arc::clone(charges))
        .build()
        .unwrap()
}

/// Starts an order under the first version, which waits for its approval, and stops its program.
async fn parked(store: &MemoryStore, charges: &Charges) -> SessionKey {
    let old = flow("1", first, charges);
    let runtime = runtime(store.clone(), &[old.agent()]);
    let _works = work(&runtime);
    let key = start(&runtime, &old, &1).await;
    until(&runtime, &key, SessionStatus::Suspended, "waits").await;
    key
}

async fn approve(runtime: &Runtime, key: &SessionKey) {
    let asked = bench::pending_of(runtime, key).await.remove(0);
    runtime.approve(key, &asked, "ann").await.unwrap();
}

/// Runs a new order of this flow to its end.
async fn fresh(runtime: &Runtime, flow: &Flow<u32, Vec<u32>>) -> String {
    let key = start(runtime, flow, &2).await;
    until(runtime, &key, SessionStatus::Suspended, "fresh").await;
    approve(runtime, &key).await;
    until(runtime, &key, SessionStatus::Idle, "fresh").await;
    bench::text(runtime, &key).await
}

#[tokio::test(start_paused = true)]
async fn a_flow_goes_on_with_the_code_of_its_version_beside_a_new_version() {
    let (store, charges) = (store(), Charges::default());
    let key = parked(&store, &charges).await;
    let (old, new) = (flow("1", first, &charges), flow("2", second, &charges));

    // A program that has only the new version takes the approval, and leaves the session to others.
    let only_new = runtime(store.clone(), &[new.agent()]);
    let broken = only_new.would_break(&SessionQuery::all(tenant())).await.unwrap();
    assert_eq!(broken.len(), 1, "{broken:?}");
    let works = work(&only_new);
    approve(&only_new, &key).await;
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!(only_new.session(&key).await.unwrap().unwrap().status, SessionStatus::Suspended);
    drop(works);

    let both = runtime(store.clone(), &[old.agent(), new.agent()]);
    assert!(both.would_break(&SessionQuery::all(tenant())).await.unwrap().is_empty());
    let _works = work(&both);
    until(&both, &key, SessionStatus::Idle, "old").await;
    assert_eq!(bench::text(&both, &key).await, "[1,11]");
    assert_eq!(fresh(&both, &new).await, "[1102,1112]");
    assert_eq!(fresh(&both, &old).await, "[2,12]");
    assert_eq!(charges.load(Ordering::SeqCst), 3, "each order was charged once");
}

/// Runs the sessions of every version with one agent.
struct Newest(Arc<Agent>);

#[async_trait]
impl AgentSource for Newest {
    async fn agent(&self, _queue: &QueueLabel, _definition: &Payload) -> Result<Arc<Agent>, ErrorInfo> {
        Ok(Arc::clone(&self.0))
    }
}

fn with_newest(store: impl StateStore, flow: &Flow<u32, Vec<u32>>) -> Runtime {
    let options = RuntimeOptions::default().effects_override(Some("memory".into()));
    Runtime::new(store, Newest(Arc::clone(flow.agent())), options)
}

/// The order had gone past the tax, and comes to the packing only now.
#[tokio::test(start_paused = true)]
async fn a_flow_of_the_first_version_goes_on_with_the_patched_code_of_the_second() {
    let (store, charges) = (store(), Charges::default());
    let key = parked(&store, &charges).await;

    // Without the patch, the code of the second version does not fit.
    let unpatched = flow("2", second, &charges);
    let broken =
        with_newest(store.clone(), &unpatched).would_break(&SessionQuery::all(tenant())).await.unwrap();
    assert_eq!(broken.len(), 1, "{broken:?}");

    let new = flow("2", patched, &charges);
    let runtime = with_newest(store.clone(), &new);
    assert!(runtime.would_break(&SessionQuery::all(tenant())).await.unwrap().is_empty());
    let _works = work(&runtime);
    approve(&runtime, &key).await;
    until(&runtime, &key, SessionStatus::Idle, "patched").await;
    assert_eq!(bench::text(&runtime, &key).await, "[101,111]", "no tax, and packed");
    assert_eq!(fresh(&runtime, &new).await, "[1102,1112]");
    assert_eq!(charges.load(Ordering::SeqCst), 2, "each order was charged once");
    new.check(&runtime.messages(&key).await.unwrap()).unwrap();
}
