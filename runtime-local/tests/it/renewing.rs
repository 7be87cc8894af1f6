//! The number of lease renewals that a run makes. Its other writes cause none.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use holdover_core::agent::{Limits, LoopDetection};
use holdover_core::tool::ToolOutput;
use tokio::time::Instant;

use crate::bench::{agent, completes, runtime, say, store};
use crate::script::{Say, Script, results};
use crate::stub_store::stumbling;
use crate::tools::Fake;

/// The interval at which a run renews its lease while a call is out.
const RENEWS_EVERY: Duration = Duration::from_secs(5);

async fn check(steps: usize, call_takes: Duration) {
    let model = Script::new(move |request| match results(request).len() {
        done if done < steps => Say::Calls(vec![("work", "{}")]),
        _ => Say::Text("done"),
    });
    let work = Fake::new("work", move |_| async move {
        tokio::time::sleep(call_takes).await;
        Ok(ToolOutput::text("worked").into())
    });
    let limits = Limits::default().tool_timeout_ms(1_000_000);
    // The model repeats the same call, so loop detection is off.
    let agent = agent(&model).tool(work).limits(limits).loops(LoopDetection::OFF);
    let agent = Arc::new(agent.build().unwrap());
    let store = stumbling(store());
    let runtime = runtime(&store, &agent);
    let began = Instant::now();
    completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let took = began.elapsed();
    assert!(took >= call_takes * u32::try_from(steps).unwrap());
    let renewals = store.layer().renewals.load(Ordering::SeqCst);
    let needed = u32::try_from(took.as_secs() / RENEWS_EVERY.as_secs()).unwrap();
    assert!(renewals <= needed, "{renewals} renewals in {took:?}, {needed} were needed");
    assert!(needed > 3 && renewals + 1 >= needed, "{renewals} renewals in {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_long_call_costs_one_renewal_each_interval() {
    check(1, Duration::from_secs(61)).await;
}

#[tokio::test(start_paused = true)]
async fn the_writes_of_a_run_cause_no_renewals() {
    check(20, Duration::from_secs(1)).await;
}
