//! Followers of a session learn of a call when it starts, not only when it is over.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use holdover_core::delta::Delta;
use holdover_core::event::Event;
use holdover_core::store::{Answer, EventCursor, Layer, Layered, Request, StateStore, StoreError};
use holdover_core::tool::{EffectClass, ToolOutput};
use holdover_runtime_local::{Follow, Runtime, RuntimeError, Shown};
use tokio::time::{Instant, sleep};

use crate::bench::{agent, completes, runtime, say, store};
use crate::script::{Say, Script};
use crate::tools::Fake;

/// Returns a tool whose calls take this long.
fn lasting(name: &str, effect: EffectClass, takes: Duration) -> Fake {
    Fake::new(name, move |_| async move {
        tokio::time::sleep(takes).await;
        Ok(ToolOutput::text("done").into())
    })
    .effect(effect)
    .serial()
}

/// Returns the reports about calls until the turn is over, each with its time in milliseconds since `began`.
async fn told(
    mut shown: BoxStream<'static, Result<Shown, RuntimeError>>,
    began: Instant,
) -> Vec<(u128, String)> {
    let mut told = Vec::new();
    while let Some(shown) = shown.next().await {
        let at = began.elapsed().as_millis();
        match shown.unwrap() {
            Shown::Event(entry) => {
                if let Event::Call { call, is, .. } = &entry.event {
                    told.push((at, format!("{call} {is}")));
                } else if let Event::Done { .. } = entry.event {
                    return told;
                }
            }
            Shown::Delta(entry) => {
                if let Delta::CallRunning { call, tool } = entry.delta {
                    told.push((at, format!("{call} of {tool} runs, perhaps")));
                }
            }
            Shown::Dropped { .. } => told.push((at, "no more of that".into())),
            other => panic!("{other:?}"),
        }
    }
    told
}

/// Returns the reports that a follower in another process gets while these calls of one step run one after the other.
async fn followed(tools: Vec<Fake>, calls: Vec<(&'static str, &'static str)>) -> Vec<(u128, String)> {
    let model = Script::new(move |request| match crate::script::results(request).len() {
        0 => Say::Calls(calls.clone()),
        _ => Say::Text("done"),
    });
    let built = tools.into_iter().fold(agent(&model), |agent, tool| agent.tool(tool));
    let agent = Arc::new(built.build().unwrap());
    let store = store();
    let (runner, reader): (Runtime, Runtime) = (runtime(&store, &agent), runtime(&store, &agent));
    let run = runner.execute(say(&agent, "go")).await.unwrap();
    let shown = reader.follow(run.key(), EventCursor::START, Follow::Forever);
    let telling = tokio::spawn(told(shown, Instant::now()));
    completes(run).await;
    telling.await.unwrap()
}

/// Returns the time of the only report with these words, in milliseconds.
fn when(told: &[(u128, String)], what: &str) -> u128 {
    let found: Vec<u128> = told.iter().filter(|(_, said)| said == what).map(|(at, _)| *at).collect();
    assert_eq!(found.len(), 1, "{what}: {told:?}");
    found[0]
}

#[tokio::test(start_paused = true)]
async fn a_call_with_an_effect_is_told_of_when_it_starts() {
    let pay = lasting("pay", EffectClass::AtMostOnce, Duration::from_secs(20));
    let told = followed(vec![pay], vec![("pay", "{}")]).await;
    assert!(when(&told, "c1-0 executing") < 100, "{told:?}");
    assert!(when(&told, "c1-0 done") >= 20_000, "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_told_of_later_is_shown_as_running_once_it_lasts() {
    let pay = lasting("pay", EffectClass::AtMostOnce, Duration::from_secs(20));
    let look = lasting("look", EffectClass::ReadOnly, Duration::from_millis(600));
    // The start mark of the second call travels with the result of the first, so no event reports it before the step is
    // over.
    let told = followed(vec![pay.clone()], vec![("pay", "{}"), ("pay", "{}")]).await;
    let (runs, done) = (when(&told, "c1-1 of pay runs, perhaps"), when(&told, "c1-1 done"));
    assert!((20_000..20_500).contains(&runs) && done >= 40_000, "{told:?}");
    // A read is shown in the stream of its answer before that answer is durable. A read that starts later, after
    // another call, is shown too.
    let told = followed(vec![look.clone()], vec![("look", "{}")]).await;
    assert!((150..400).contains(&when(&told, "c1-0 of look runs, perhaps")), "{told:?}");
    assert!(when(&told, "c1-0 executing") >= 600, "in no write of its own: {told:?}");
    let told = followed(vec![pay, look], vec![("pay", "{}"), ("look", "{}")]).await;
    assert!((20_150..20_500).contains(&when(&told, "c1-1 of look runs, perhaps")), "{told:?}");
}

/// A layer that delays each commit by this long before it reaches the store.
struct SlowCommits(Duration);

#[async_trait]
impl Layer for SlowCommits {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if matches!(request, Request::Commit(..)) {
            sleep(self.0).await;
        }
        request.perform(&store).await
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_whose_commit_is_slow_is_not_said_to_be_void_for_a_read_that_is_sent_meanwhile() {
    let model = Script::new(|request| match crate::script::results(request).len() {
        0 => Say::SlowlyCalls {
            pieces: vec!["let ".into(), "me".into()],
            apart: Duration::from_secs(1),
            calls: vec![("look", "{}"), ("stare", "{}")],
        },
        _ => Say::Text("done"),
    });
    let look = lasting("look", EffectClass::ReadOnly, Duration::from_millis(1_200));
    let stare = lasting("stare", EffectClass::ReadOnly, Duration::from_secs(6));
    let agent = Arc::new(agent(&model).tool(look).tool(stare).build().unwrap());
    let store = Layered::new(store(), SlowCommits(Duration::from_secs(3)));
    let (runner, reader) = (runtime(&store, &agent), runtime(&store, &agent));
    let run = runner.execute(say(&agent, "go")).await.unwrap();
    let shown = reader.follow(run.key(), EventCursor::START, Follow::Forever);
    let telling = tokio::spawn(told(shown, Instant::now()));
    completes(run).await;
    let told = telling.await.unwrap();
    assert!(
        when(&told, "c1-0 of look runs, perhaps") < when(&told, "c1-1 of stare runs, perhaps"),
        "{told:?}"
    );
    assert!(when(&told, "no more of that") >= when(&told, "c1-1 done"), "of the stream of calls: {told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_read_that_is_over_soon_is_not_worth_a_write() {
    let look = lasting("look", EffectClass::ReadOnly, Duration::from_millis(100));
    let told = followed(vec![look], vec![("look", "{}")]).await;
    assert!(!told.iter().any(|(_, said)| said.contains("perhaps")), "{told:?}");
}
