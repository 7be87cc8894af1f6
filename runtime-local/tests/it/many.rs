//! Many calls that wait for people, and the timeout of those that get no answer.
//!
//! `HOLDOVER_PENDING=100000 cargo test -p holdover-runtime-local --test it many` runs this test with more calls.
//!
//! Requirements: U05.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::agent::Limits;
use holdover_core::message::ResultStatus;
use holdover_core::store::{PendingQuery, SessionStatus};
use holdover_runtime_local::WorkerOptions;

use crate::bench::{
    REAL_TIME_MAX, agent, asking_for, finish, only_result, runtime, say, store_for, tenant, worker,
};
use crate::script::Script;
use crate::tools::Fake;

/// The real time that one call may take of the whole test.
const EACH: Duration = Duration::from_millis(30);

fn pending() -> usize {
    std::env::var("HOLDOVER_PENDING").map_or(1_000, |count| count.parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn u05_of_many_calls_that_nobody_answers_each_expires_no_more_than_a_second_late() {
    let model = Script::calling(vec![("pay", "{}")]);
    let limits = Limits::default().answer_timeout_ms(Some(30 * 60 * 1000));
    let agent = agent(&model).limits(limits).tool(Fake::echo("pay")).gate(asking_for("pay"));
    let agent = Arc::new(agent.build().unwrap());
    let store = store_for(REAL_TIME_MAX + EACH * u32::try_from(pending()).unwrap());
    let runtime = runtime(&store, &agent);
    let mut keys = Vec::new();
    for _ in 0..pending() {
        keys.push(finish(runtime.execute(say(&agent, "go")).await.unwrap()).await.0);
        // Each call gets another deadline.
        tokio::time::sleep(Duration::from_millis(13)).await;
    }
    // All of them are listed, page by page, across sessions.
    let (mut query, mut deadlines) = (PendingQuery::all(tenant()), std::collections::BTreeMap::new());
    loop {
        let page = runtime.list_pending(&query).await.unwrap();
        deadlines
            .extend(page.items.iter().map(|entry| (entry.call.key.clone(), entry.call.deadline.unwrap())));
        let Some(next) = page.next else { break };
        query.page.after = Some(next);
    }
    assert_eq!(deadlines.len(), pending());

    let _worker = worker(&runtime, WorkerOptions::default());
    let last = deadlines.values().max().copied().unwrap();
    tokio::time::sleep(runtime.now().until(last) + Duration::from_secs(5)).await;
    let mut latest = Duration::ZERO;
    for key in &keys {
        let runs = runtime.runs(key, Default::default()).await.unwrap().items;
        let deadline = deadlines[key];
        let (expired, late) = (runs[1].started_at, deadline.until(runs[1].started_at));
        assert!(expired >= deadline && late <= Duration::from_secs(1), "{key}: {late:?} late");
        latest = latest.max(late);
        assert_eq!(runtime.session(key).await.unwrap().unwrap().status, SessionStatus::Idle);
    }
    assert_eq!(only_result(&runtime, &keys[0]).await.0, ResultStatus::Error);
    assert!(latest > Duration::ZERO, "some wait for the next look");
}
