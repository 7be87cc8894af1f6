//! The usage of sessions, turns and runs, also of incomplete answers and of runs that died.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::agent::{Limits, Prices};
use holdover_core::engine::{RunKind, RunOutcome};
use holdover_core::ids::SessionKey;
use holdover_core::machine::{DoneReason, Usage};
use holdover_core::model::{ModelError, ModelErrorKind, TokenUsage};
use holdover_core::store::{Answer, EventPage, Layer, Layered, OutcomeKind, Request, StateStore, StoreError};
use holdover_runtime_local::{RunReport, Runtime, WorkerOptions};

use crate::bench::{agent, finish, runtime, say, settle, store, worker};
use crate::script::{Say, Script};
use crate::tools::Fake;

const TEXT: &str =
    "First of all, it must be said that there are many things to be looked at before a word is spoken. ";

fn counted() -> TokenUsage {
    TokenUsage { input: 1_000, cached: 600, output: 1, ..TokenUsage::default() }
}

fn prices() -> Limits {
    let prices =
        Prices::default().input_microusd(1_000_000).output_microusd(2_000_000).cached_microusd(Some(100_000));
    Limits::default().prices(prices)
}

/// Returns the usage of one answer cut off after this text: the provider's count, and an estimate for the text not
/// counted yet.
fn of_one() -> Usage {
    let output = TEXT.len().div_ceil(4) as u64;
    Usage {
        tokens: TokenUsage { output, ..counted() },
        cost_microusd: 400 + 60 + 2 * output,
        estimated_tokens: output - 1,
        model_calls: 1,
        tool_calls: 0,
    }
}

async fn reports(runtime: &Runtime, key: &SessionKey) -> Vec<RunReport> {
    let runs = runtime.runs(key, Default::default()).await.unwrap().items;
    runtime.run_reports(key, &runs).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_interrupted_has_used_what_its_provider_counted_and_what_came() {
    let model = Script::new(|_| Say::Begins { text: TEXT, counted: counted(), then: None });
    let agent = Arc::new(agent(&model).limits(prices()).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let mut run = runtime.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    let mut whole = Usage::default();
    for turns in 1..=2 {
        while model.asked().len() < turns {
            settle().await;
        }
        // The beginning of the answer has arrived by now.
        tokio::time::sleep(Duration::from_millis(1)).await;
        runtime.interrupt(&key, "enough").await.unwrap();
        assert_eq!(finish(run).await.1.kind(), OutcomeKind::Interrupted);
        whole.add(of_one());
        let standing = runtime.standing(&key).await.unwrap();
        assert_eq!(standing.usage, whole);
        let response = runtime.response(&key).await.unwrap().unwrap();
        assert_eq!((response.usage, response.session_usage), (Some(of_one()), whole));
        let used: Vec<_> =
            reports(&runtime, &key).await.iter().map(|run| (run.usage, run.is_whole)).collect();
        assert_eq!(used, vec![(Some(of_one()), true); turns]);
        assert_eq!(serde_json::to_value(&standing).unwrap()["usage"]["tokens"]["input"], 1_000 * turns);
        run = runtime.resume(&key).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn answers_that_break_off_are_counted_until_the_budget_ends_their_turn() {
    let model = Script::new(|_| {
        let cut = ModelError::new(ModelErrorKind::Incomplete, "the stream was cut");
        Say::Begins { text: TEXT, counted: counted(), then: Some(cut) }
    });
    let limits = prices().max_tokens(Some(1_500));
    let agent = Arc::new(agent(&model).limits(limits).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let RunOutcome::Ended(ending) = outcome else { panic!("{outcome:?}") };
    assert_eq!(ending.reason, DoneReason::BudgetExceeded);
    assert_eq!(model.asked().len(), 2, "the second has used up what there was");
    let used = runtime.standing(&key).await.unwrap().usage;
    assert_eq!((used.model_calls, used.tokens.input), (2, 2_000));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_died_has_used_what_its_last_commit_says_and_the_rest_is_not_known() {
    let model = Script::new(|request| match request.messages.len() {
        1 => Say::Calls(vec![("act", "{}")]),
        _ => Say::Text("done"),
    });
    let tool = Fake::new("act", |_| std::future::pending());
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let store = store();
    let first = runtime(&store, &agent);
    let run = first.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    while tool.calls().is_empty() {
        settle().await;
    }
    let asked = TokenUsage { input: 1, output: 1, ..TokenUsage::default() };
    let report = |kind, usage, is_whole| RunReport { kind, usage: Some(usage), is_whole };
    assert!(matches!(reports(&first, &key).await[..], [RunReport { is_whole: false, .. }]), "it goes on");
    drop((run, first));
    let looks = runtime(&store, &agent);
    let _working = worker(&looks, WorkerOptions::default());
    while looks.response(&key).await.unwrap().is_none() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let reports = reports(&looks, &key).await;
    // No commit of the first run says that its call was sent: the next run reports that.
    let of_first = Usage { tokens: asked, model_calls: 1, ..Usage::default() };
    assert_eq!(reports[0], report(RunKind::Execute, of_first, false));
    assert_eq!(reports[1].kind, RunKind::Recovery);
    assert!(reports[1..].iter().all(|report| report.is_whole), "{reports:?}");
    let mut whole = Usage::default();
    reports.iter().filter_map(|report| report.usage).for_each(|used| whole.add(used));
    assert_eq!(looks.standing(&key).await.unwrap().usage, whole, "the runs add up to the session");
}

/// A layer that counts the events that are read.
#[derive(Default)]
struct EventsRead(AtomicUsize);

#[async_trait]
impl Layer for EventsRead {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let answer = request.perform(&store).await?;
        if let Answer::Events(EventPage::Events { events, .. }) = &answer {
            self.0.fetch_add(events.len(), Ordering::SeqCst);
        }
        Ok(answer)
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_said_of_a_run_that_died_costs_no_more_in_a_long_session() {
    let model = Script::new(|request| match crate::script::results(request).len() {
        0 if request.messages.len() > 20 => Say::Calls(vec![("act", "{}")]),
        _ => Say::Text("done"),
    });
    let tool = Fake::stuck("act");
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let store = Layered::new(store(), EventsRead::default());
    let runtime = runtime(&store, &agent);
    let key = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await.0;
    for _ in 0..9 {
        let next = say(&agent, "go on").in_session(key.id.clone());
        finish(runtime.execute(next).await.unwrap()).await;
    }
    let run = runtime.execute(say(&agent, "act").in_session(key.id.clone())).await.unwrap();
    while tool.calls().is_empty() {
        settle().await;
    }
    drop(run);
    let runs = runtime.runs(&key, Default::default()).await.unwrap().items;
    assert_eq!(runs.len(), 11);
    let last_event = runtime.session(&key).await.unwrap().unwrap().last_event.0;
    let before = store.layer().0.load(Ordering::SeqCst);
    let report = runtime.run_reports(&key, &runs[10..]).await.unwrap().remove(0);
    let read = store.layer().0.load(Ordering::SeqCst) - before;
    assert!(last_event > 60 && read < 15, "{read} of {last_event}");
    let of_the_others = runtime.run_reports(&key, &runs[..10]).await.unwrap();
    assert!(of_the_others.iter().all(|run| run.is_whole));
    assert_eq!(store.layer().0.load(Ordering::SeqCst) - before, read, "their records say it");
    let used = report.usage.expect("the events say so");
    // The run's last commit was made before the call was sent.
    assert_eq!((used.model_calls, used.tool_calls, report.kind), (1, 0, RunKind::Execute));
}
