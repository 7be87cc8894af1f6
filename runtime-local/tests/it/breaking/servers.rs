//! Models with one name at several servers or under several accounts: a failure at one does not affect the others.
//!
//! Requirements: C53, U10.

use super::*;

/// Returns an agent that asks `own` once per step, and then `spare`.
fn chain(own: Script, spare: Script, failures: u32) -> Arc<Agent> {
    let rules = BreakerRules::default().failures(failures);
    let agent = agent(&own).retries(Retries::none()).breaker(rules).fallback(spare);
    Arc::new(agent.build().unwrap())
}

#[tokio::test(start_paused = true)]
async fn u10_a_server_that_fails_holds_none_of_the_others_that_have_a_model_of_its_name() {
    let (first, second) = (Provider::is_out(), Provider::default());
    let agent = chain(first.model().at("one"), second.model().at("two"), 1);
    let process = runtime(&store(), &agent);
    // The first failure opens the breaker, and the next model answers in the same step.
    for _ in 0..3 {
        assert_eq!(ends(&process, &agent).await, "completed");
    }
    assert_eq!((first.asked(), second.asked()), (1, 3));
    assert_eq!(records(&process).await, 1);
}

#[tokio::test(start_paused = true)]
async fn u10_a_server_that_answers_closes_no_breaker_of_another() {
    let (first, second) = (Provider::is_out(), Provider::default());
    let agent = chain(first.model().at("one"), second.model().at("two"), 3);
    let store = store();
    let processes = [(); 2].map(|()| runtime(&store, &agent));
    // Each answer of the second server comes between two failures of the first. The failures still count as
    // consecutive.
    for round in 0..6 {
        assert_eq!(ends(&processes[round % 2], &agent).await, "completed");
        sleep(Duration::from_secs(1)).await;
    }
    assert_eq!((first.asked(), second.asked()), (3, 6));
}
