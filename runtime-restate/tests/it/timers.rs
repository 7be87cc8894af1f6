//! Timers of sessions.

use std::sync::Arc;

use holdover_runtime_restate::RestateOptions;
use serde_json::{Value, json};

use crate::bench::{Program, begin, front, memory, pending, shared, sql, until};
use crate::clerk::Desk;

/// Returns the only timer in the state of an object, once there is one that `is` what the test waits for.
async fn timer(restate: &RestateOptions, is: impl Fn(&Value) -> bool) -> Value {
    let query = format!(
        "SELECT value_utf8 FROM state WHERE key = 'timer' AND service_name LIKE '{}.%'",
        restate.service
    );
    until(async || {
        let rows = sql(restate, &query).await;
        let timer: Value = serde_json::from_str(rows.first()?["value_utf8"].as_str()?).unwrap();
        is(&timer).then_some(timer)
    })
    .await
}

/// The clock of Restate is ahead of the worker's, so the timer calls before its time. A timer that calls is spent: without
/// another one, nobody would serve the session at its deadline.
#[tokio::test]
async fn a_timer_that_calls_too_early_is_set_again() {
    let (restate, store, desk) = (shared(), memory(), Desk::open());
    let agent = Arc::new(desk.clerk().build().unwrap());
    let front = front(&store, &agent, &restate);
    let _program = Program::start(&store, &agent, &restate).await;
    let key = begin(&front, &agent, "parked", "pay").await;
    pending(&front, &key).await;
    let first = timer(&restate, |_| true).await;
    assert_eq!(first.get("ahead_ms"), None);
    // The same call as that of the timer, which is far from its time. Returns when the handler has ended.
    let url = format!("{}/{}.clerk/acme%2Fparked/wake", restate.ingress_url, restate.service);
    let call = json!({ "timer": first["by"] }).to_string();
    let request = reqwest::Client::new().post(url).header("content-type", "application/json").body(call);
    assert!(request.send().await.unwrap().status().is_success());
    let second = timer(&restate, |timer| timer["by"] != first["by"]).await;
    assert!(second["ahead_ms"].as_u64().unwrap() > 0, "{first} {second}");
    let apart = second["at_ms"].as_u64().unwrap().abs_diff(first["at_ms"].as_u64().unwrap());
    assert!(apart < 1000, "the same deadline: {first} {second}");
}
