//! Summaries of old results, made while the run goes on, by the program's own summariser or by the agent's model.
//!
//! Requirements: A34, U10.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::agent::{BreakerRules, Compaction, LoopDetection, Retries};
use holdover_core::compaction::{CLEARED, CLEARED_BEGINNING, ResultSummariser};
use holdover_core::error::ErrorInfo;
use holdover_core::ids::SessionKey;
use holdover_core::message::{Message, ToolResult};
use holdover_core::model::{ModelError, ModelErrorKind, ModelRequest, StopReason};
use holdover_core::store::{SessionQuery, StateStore};
use holdover_core::tool::ToolOutput;
use holdover_runtime_local::BREAKER_TENANT;
use tokio::time::Instant;

use crate::bench::{agent, completes, finish, runtime, say, store, transcript};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

const LONG: &str = r#"{"of":"a result that is long enough to be worth a summary, since the marker in its place has many characters"}"#;

fn rules() -> Compaction {
    Compaction::default().clear_results_over(5).kept_results(1).summarise_results(true)
}

/// Returns a model that looks seven times at once, then once slowly, and is then done. `short` answers requests for
/// summaries.
fn looking(short: impl Fn(&ModelRequest) -> Say + Send + Sync + 'static) -> Script {
    Script::new(move |request| match (request.tools.is_empty(), request.step) {
        (true, _) => short(request),
        (false, 1) => Say::Calls(vec![("look", LONG); 7]),
        (false, 2) => {
            Say::SlowlyCall { pieces: vec!["so".into()], apart: Duration::from_secs(10), tool: "look" }
        }
        (false, _) => Say::Text("done"),
    })
}

fn is_marker(word: &String) -> bool {
    word == CLEARED
}

/// A summariser that sometimes hangs, fails or panics. It records its requests, how many were open at once, and how long
/// the hanging one was waited for.
#[derive(Default)]
struct Clumsy {
    now: AtomicUsize,
    most: AtomicUsize,
    asked: Mutex<Vec<(String, Instant)>>,
    given_up_after: Mutex<Vec<Duration>>,
}

/// A request that hangs until it is given up.
struct Hangs<'a>(&'a Clumsy, Instant);

impl Drop for Hangs<'_> {
    fn drop(&mut self) {
        self.0.given_up_after.lock().unwrap().push(self.1.elapsed());
    }
}

#[async_trait]
impl ResultSummariser for Clumsy {
    async fn summarise(&self, _session: &SessionKey, result: &ToolResult) -> Result<String, ErrorInfo> {
        let (call, began) = (result.call.to_string(), Instant::now());
        self.asked.lock().unwrap().push((call.clone(), began));
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        match call.as_str() {
            "c1-0" => {
                let _hangs = Hangs(self, began);
                std::future::pending().await
            }
            "c1-1" => Err(ErrorInfo::new("test.no", "not today")),
            "c1-2" => panic!("clumsy"),
            _ => Ok(format!("what {call} said")),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a34_four_at_once_are_put_in_short_and_what_hangs_or_fails_keeps_the_marker() {
    let (clumsy, model) = (Arc::new(Clumsy::default()), looking(|_| panic!("the program's own is asked")));
    let agent =
        agent(&model).tool(Fake::echo("look")).compaction(rules()).shared_result_summariser(clumsy.clone());
    let agent = agent.loops(LoopDetection::default().stop_at(0)).build().unwrap();
    let (store, agent) = (store(), Arc::new(agent));
    let began = Instant::now();
    completes(runtime(&store, &agent).execute(say(&agent, "go")).await.unwrap()).await;
    assert!(began.elapsed() < Duration::from_secs(21), "nobody waited for it: {:?}", began.elapsed());
    assert_eq!(clumsy.most.load(Ordering::SeqCst), 4);
    let asked = clumsy.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 6, "each once: {asked:?}");
    let waited: Vec<u64> = clumsy.given_up_after.lock().unwrap().iter().map(Duration::as_secs).collect();
    assert_eq!(waited, [5], "seconds");
    let second = &model.asked()[1];
    assert!(!results(second).iter().any(is_marker), "shown as they are until then");
    let last = results(model.asked().last().unwrap());
    assert_eq!(last.len(), 8);
    assert!(last[..3].iter().all(is_marker), "{last:?}");
    for (word, call) in last[3..6].iter().zip(3..) {
        assert!(word.starts_with(&format!("{CLEARED_BEGINNING}in short: what c1-{call} said")), "{word}");
    }
    assert_eq!(last[6], LONG);
}

#[tokio::test(start_paused = true)]
async fn a34_the_agents_model_puts_them_in_short_and_its_failure_leaves_the_marker() {
    let asked = Arc::new(AtomicUsize::new(0));
    let model = looking({
        let asked = Arc::clone(&asked);
        move |_| match asked.fetch_add(1, Ordering::SeqCst) {
            0 => Say::Fail(ModelError::new(ModelErrorKind::Auth, "no key")),
            1 => Say::Nothing,
            _ => Say::Text("in two words"),
        }
    });
    let agent = agent(&model).tool(Fake::echo("look")).compaction(rules());
    let agent = agent.loops(LoopDetection::default().stop_at(0)).build().unwrap();
    let (store, agent) = (store(), Arc::new(agent));
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let last = results(model.asked().iter().rfind(|request| !request.tools.is_empty()).unwrap());
    assert_eq!(last[..6].iter().filter(|word| is_marker(word)).count(), 2, "{last:?}");
    assert_eq!(
        last[..6].iter().filter(|word| word.contains("in short: in two words")).count(),
        4,
        "{last:?}"
    );
    assert_eq!(asked.load(Ordering::SeqCst), 6);
    assert!(model.asked().iter().all(|request| request.session == key));
    let glance = runtime.response(&key).await.unwrap().unwrap();
    assert_eq!(glance.steps, 3, "summaries are no steps");
    // The first request failed and is not counted. The second was read but never answered, so its input is estimated.
    // The others were answered.
    let used = runtime.replay(&key).await.unwrap().rebuilt.unwrap().usage;
    assert_eq!(used.model_calls, 3 + 5, "{used:?}");
    assert!((1..100).contains(&used.estimated_tokens), "what it was shown of one result: {used:?}");
}

#[tokio::test(start_paused = true)]
async fn a34_what_the_model_refuses_to_put_in_short_or_does_not_finish_keeps_the_marker_and_is_counted() {
    let asked = Arc::new(AtomicUsize::new(0));
    let model = looking({
        let asked = Arc::clone(&asked);
        move |_| match asked.fetch_add(1, Ordering::SeqCst) {
            0 => Say::Until("I can't help with that", StopReason::Refusal),
            1 => Say::Until("in two wo", StopReason::MaxTokens),
            _ => Say::Text("in two words"),
        }
    });
    let agent = agent(&model).tool(Fake::echo("look")).compaction(rules());
    let agent = agent.loops(LoopDetection::default().stop_at(0)).build().unwrap();
    let (store, agent) = (store(), Arc::new(agent));
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let last = results(model.asked().iter().rfind(|request| !request.tools.is_empty()).unwrap());
    assert_eq!(last[..6].iter().filter(|word| is_marker(word)).count(), 2, "{last:?}");
    let in_short = last[..6].iter().filter(|word| word.contains("in short: in two words"));
    assert_eq!(in_short.count(), 4, "{last:?}");
    let used = runtime.replay(&key).await.unwrap().rebuilt.unwrap().usage;
    assert_eq!(used.model_calls, 3 + 6, "{used:?}");
}

#[tokio::test(start_paused = true)]
async fn a69_a_summary_that_the_model_refuses_or_does_not_finish_replaces_nothing() {
    let asked = Arc::new(AtomicUsize::new(0));
    let model = Script::new({
        let asked = Arc::clone(&asked);
        move |request| match request.system.contains("keep the notes") {
            false => Say::Text("done"),
            true => match asked.fetch_add(1, Ordering::SeqCst) {
                0 => Say::Until("I can't help with that", StopReason::Refusal),
                1 => Say::Until("all that was do", StopReason::MaxTokens),
                _ => Say::Text("all that was done"),
            },
        }
    });
    let agent = agent(&model).compaction(Compaction::default().kept_turns(1));
    let (store, agent) = (store(), Arc::new(agent.build().unwrap()));
    let runtime = runtime(&store, &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "one")).await.unwrap()).await;
    completes(runtime.execute(say(&agent, "two").in_session(key.id.clone())).await.unwrap()).await;
    for summaries in [0, 0, 1] {
        runtime.compact(&key).await.unwrap().outcome().await.unwrap();
        let said = transcript(&runtime, &key).await;
        let found = said.iter().filter(|message| matches!(message, Message::Summary(_))).count();
        assert_eq!(found, summaries, "{said:?}");
    }
    assert!(runtime.replay(&key).await.unwrap().agrees());
}

#[tokio::test(start_paused = true)]
async fn u10_what_is_put_in_short_beside_a_run_says_nothing_of_the_model_and_is_no_probe() {
    let asked = Arc::new(AtomicUsize::new(0));
    let model = looking({
        let asked = Arc::clone(&asked);
        move |_| {
            asked.fetch_add(1, Ordering::SeqCst);
            Say::Fail(ModelError::new(ModelErrorKind::Provider, "out"))
        }
    });
    let slow = Fake::new("look", |call| async move {
        tokio::time::sleep(Duration::from_secs(20)).await;
        Ok(ToolOutput::text(call.arguments.to_string()).into())
    });
    let agent = agent(&model).tool(slow).compaction(rules()).breaker(BreakerRules::default());
    let agent = agent.loops(LoopDetection::default().stop_at(0)).build().unwrap();
    let (store, agent) = (store(), Arc::new(agent));
    let process = runtime(&store, &agent);
    let breakers = SessionQuery::all(BREAKER_TENANT.parse().unwrap());

    // Six requests for summaries fail.
    let run = process.execute(say(&agent, "go")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert_eq!(asked.load(Ordering::SeqCst), 6);
    assert_eq!(store.list_sessions(&breakers).await.unwrap().items, [], "nothing is known against the model");
    completes(run).await;

    // The breaker opens while calls of this run are out, and waits for a probe. The next step of the run is that probe.
    let run = process.execute(say(&agent, "go")).await.unwrap();
    let out = Script::new(|_| Say::Fail(ModelError::new(ModelErrorKind::Provider, "out")));
    let rules = BreakerRules::default().open_ms(10_000);
    let others = crate::bench::agent(&out).retries(Retries::none()).breaker(rules).build().unwrap();
    let others = Arc::new(others);
    let elsewhere = runtime(&store, &others);
    for _ in 0..5 {
        finish(elsewhere.execute(say(&others, "go")).await.unwrap()).await;
    }
    completes(run).await;
    assert_eq!(asked.load(Ordering::SeqCst), 6, "nobody is asked beside the probe");
    assert_eq!(store.list_sessions(&breakers).await.unwrap().items, [], "the probe was answered");
}
