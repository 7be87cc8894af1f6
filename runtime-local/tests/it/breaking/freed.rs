//! Sessions that the breaker holds go on soon after it has closed, or after the probe has died.
//!
//! Requirements: U10.

use holdover_runtime_local::RunHandle;

use super::*;

/// The time for which the breaker first stays open, in milliseconds.
const OPEN_MS: u64 = 1_500;

/// The time that the provider takes to answer: one second each for the text and the end.
const ANSWER: Duration = Duration::from_secs(2);

/// The tolerance for clocks and for the rest of the turn, in addition to the wait.
const SLACK: Duration = Duration::from_millis(100);

/// Returns an agent that waits less than `OPEN_MS` after a failure, so no longer than a held session.
fn patient(model: &Script) -> Arc<Agent> {
    let retries = Retries::default().model_waits_ms(vec![1_400; 20]);
    let rules = BreakerRules::default().failures(3).open_ms(OPEN_MS);
    Arc::new(agent(model).retries(retries).breaker(rules).build().unwrap())
}

/// Starts `many` sessions, each of which is held once the breaker is open.
async fn held(process: &Runtime, agent: &Arc<Agent>, many: usize) -> Vec<SessionKey> {
    let mut keys = Vec::new();
    for _ in 0..many {
        let mut run: RunHandle = process.execute(say(agent, "go")).await.unwrap();
        assert_eq!(run.first_outcome().await.unwrap().unwrap().kind(), OutcomeKind::SuspendedUntil);
        keys.push(run.key().clone());
    }
    keys
}

/// Returns the instants at which the sessions complete, in order.
async fn complete(process: &Runtime, keys: &[SessionKey]) -> Vec<Instant> {
    let ends = keys.iter().map(async |key| {
        assert_eq!(process.wait(key).await.unwrap().kind(), OutcomeKind::Completed);
        Instant::now()
    });
    let mut ends = futures::future::join_all(ends).await;
    ends.sort();
    ends
}

#[tokio::test(start_paused = true)]
async fn u10_five_that_are_held_go_on_within_open_ms_after_the_first_good_probe() {
    let provider = Provider::is_out();
    let store = store();
    let agent = patient(&provider.model());
    let process = runtime(&store, &agent);
    let keys = held(&process, &agent, 6).await;
    // The first three failures open the breaker. Some probes fail, and each failed probe doubles the hold.
    let back = async {
        sleep(Duration::from_secs(20)).await;
        let asked_in_vain = provider.asked();
        assert!(asked_in_vain >= 4, "a probe failed: {asked_in_vain}");
        provider.is_back();
    };
    let (ends, ()) = tokio::join!(complete(&process, &keys), back);
    let others = Duration::from_millis(OPEN_MS) + ANSWER + SLACK;
    for end in &ends[1..] {
        assert!(end.duration_since(ends[0]) <= others, "{:?}", end.duration_since(ends[0]));
    }
}

#[tokio::test(start_paused = true)]
async fn u10_looks_at_a_circuit_use_up_no_tries() {
    // The probe takes longer than a session would wait if each look at the breaker used up a try.
    let out = Arc::new(AtomicBool::new(true));
    let slow = Duration::from_secs(50);
    let model = Script::new({
        let out = Arc::clone(&out);
        move |_| match out.load(Ordering::SeqCst) {
            true => Say::Fail(ModelError::new(ModelErrorKind::Provider, "out")),
            false => Say::Slowly { pieces: vec!["hello".into()], apart: slow / 2, whole: true },
        }
    });
    let agent = patient(&model);
    let process = runtime(&store(), &agent);
    let keys = held(&process, &agent, 6).await;
    out.store(false, Ordering::SeqCst);
    let ends = complete(&process, &keys).await;
    let others = ends[5].duration_since(ends[0]);
    assert!(others <= Duration::from_millis(OPEN_MS) + slow + SLACK, "{others:?}");
}

#[tokio::test(start_paused = true)]
async fn u10_a_dead_probe_is_followed_by_another_within_open_ms() {
    let provider = Provider::is_out();
    let store = store();
    let agent = patient(&provider.model());
    let process = runtime(&store, &agent);
    let keys = held(&process, &agent, 5).await;
    sleep(Duration::from_secs(2)).await;
    let hangs = patient(&Script::new(|_| Say::Nothing).silent_for(Duration::from_secs(600)));
    let other = runtime(&store, &hangs);
    let probe = tokio::spawn(async move { other.execute(say(&hangs, "go")).await.unwrap().outcome().await });
    sleep(Duration::from_secs(20)).await;
    provider.is_back();
    assert_eq!(provider.asked(), 3, "the hanging probe holds all the others");
    // The probe's process dies without warning.
    probe.abort();
    let died = Instant::now();
    let ends = complete(&process, &keys).await;
    let open = Duration::from_millis(OPEN_MS);
    assert!(ends[0].duration_since(died) <= open + ANSWER + SLACK, "{:?}", ends[0].duration_since(died));
    assert!(ends[4].duration_since(ends[0]) <= open + ANSWER + SLACK);
}
