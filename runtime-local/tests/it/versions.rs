//! An agent that changes while its sessions wait.
//!
//! Requirements: U09.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::store::{OutcomeKind, SessionQuery};
use holdover_runtime_local::{Agent, Agents, Approval, Changed, Runtime, RuntimeError, WorkerOptions};

use crate::bench::{
    agent, asking_for, finish, only_pending, only_result, options, runtime, say, store, tenant, worker,
};
use crate::script::Script;
use crate::tools::Fake;

/// Returns an agent with these instructions that asks before it pays, and its tool.
fn payer(words: &str, version: Option<&str>) -> (Arc<Agent>, Fake) {
    let tool = Fake::echo("pay");
    let model = Script::calling(vec![("pay", "{}")]);
    let agent = agent(&model).instructions(words).tool(tool.clone()).gate(asking_for("pay"));
    let agent = match version {
        Some(version) => agent.version(version),
        None => agent,
    };
    (Arc::new(agent.build().unwrap()), tool)
}

#[tokio::test(start_paused = true)]
async fn a_changed_agent_goes_on_with_a_waiting_session_or_leaves_it_alone_as_it_was_told() {
    let (before, _) = payer("Pay.", None);
    let (after, tool) = payer("Pay well.", None);
    let store = store();
    let first = runtime(&store, &before);
    let (key, _) = finish(first.execute(say(&before, "go")).await.unwrap()).await;
    let asked = only_pending(&first, &key).await;
    first.approve(&key, &asked, Approval::default()).await.unwrap();

    let strict = Agents::new().with(Arc::clone(&after)).changed(Changed::IsRefused);
    let strict = Runtime::new(store.clone(), strict, options());
    let refused = strict.resume(&key).await.map(drop).unwrap_err();
    assert!(matches!(refused, RuntimeError::AgentUnknown { .. }), "{refused}");
    assert!(refused.to_string().contains("changed since the session began"), "{refused}");
    let working = worker(&strict, WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(tool.calls(), [], "left alone");
    drop(working);

    let lenient = runtime(&store, &after);
    assert_eq!(lenient.resume(&key).await.unwrap().outcome().await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(tool.calls().len(), 1, "by the new agent");
}

/// Requirements: U09.
#[tokio::test(start_paused = true)]
async fn a_waiting_session_stays_with_its_version_while_new_ones_begin_with_the_next() {
    let (one, paid_by_one) = payer("Pay.", Some("1"));
    let (two, paid_by_two) = payer("Pay well.", Some("2"));
    let store = store();
    let first = runtime(&store, &one);
    let (old, _) = finish(first.execute(say(&one, "go")).await.unwrap()).await;

    let both = Agents::new().with(Arc::clone(&one)).with(Arc::clone(&two));
    let both = Runtime::new(store.clone(), both, options());
    let _worker = worker(&both, WorkerOptions::default());
    let new = both.start(say(&two, "go")).await.unwrap().key;
    assert_eq!(both.wait(&new).await.unwrap().kind(), OutcomeKind::SuspendedClientTool);
    for key in [&old, &new] {
        let asked = only_pending(&both, key).await;
        both.approve(key, &asked, Approval::default()).await.unwrap();
        assert_eq!(both.wait(key).await.unwrap().kind(), OutcomeKind::Completed);
        only_result(&both, key).await;
    }
    assert_eq!((paid_by_one.calls().len(), paid_by_two.calls().len()), (1, 1));

    // A message to the old session may come through the new version; the old version answers it.
    let more = both.execute(say(&two, "more").in_session(old.id.clone())).await.unwrap();
    more.outcome().await.unwrap();
    let of = async |agent: &Agent| {
        let query = SessionQuery { queue: Some(agent.queue().clone()), ..SessionQuery::all(tenant()) };
        both.list(&query).await.unwrap().items.into_iter().map(|session| session.key).collect::<Vec<_>>()
    };
    assert_eq!((of(&one).await, of(&two).await), (vec![old], vec![new]));
}

#[tokio::test(start_paused = true)]
async fn a_worker_serves_the_agents_that_are_here_and_touches_no_others() {
    let (one, _) = payer("Pay.", Some("1"));
    let (two, _) = payer("Pay well.", Some("2"));
    let store = store();
    let front = runtime(&store, &one);
    let old = front.start(say(&one, "go")).await.unwrap().key;
    let _worker = worker(&runtime(&store, &two), WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(front.session(&old).await.unwrap().unwrap().epoch.0, 0, "never claimed");
}
