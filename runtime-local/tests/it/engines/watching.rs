//! A runtime that runs nothing itself: it leaves runs to workers or to an engine, and watches.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::model::{ModelError, ModelErrorKind};
use holdover_core::store::{OutcomeKind, PageRequest};
use holdover_runtime_local::{Agents, Execute, Runtime, RuntimeError, WorkerOptions};

use crate::bench::{agent, options, runtime, say, store, tenant, worker};
use crate::script::{Say, Script};

#[tokio::test(start_paused = true)]
async fn execute_resume_retry_and_compact_leave_their_runs_to_others() {
    let model = Script::new(|request| match request.messages.len() {
        1 => Say::Fail(ModelError::new(ModelErrorKind::Auth, "no")),
        _ => Say::Text("ok"),
    });
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let front =
        Runtime::new(store.clone(), Agents::new().with(Arc::clone(&agent)), options().run_here(false));
    let run = front
        .execute(say(&agent, "go").once("k".parse::<holdover_core::ids::ItemKey>().unwrap()))
        .await
        .unwrap();
    let key = run.key().clone();
    assert_eq!((run.epoch(), run.is_duplicate(), run.item().map(|item| item.0)), (None, false, Some(1)));
    assert!(front.wait_at_most(&key, Duration::from_secs(60)).await.unwrap().is_none());
    assert_eq!(model.asked().len(), 0, "nobody runs it");

    let process = runtime(&store, &agent);
    let _worker = worker(&process, WorkerOptions::default());
    assert_eq!(run.outcome().await.unwrap().kind(), OutcomeKind::Failed);
    let again = front
        .execute(say(&agent, "go").once("k".parse::<holdover_core::ids::ItemKey>().unwrap()))
        .await
        .unwrap();
    assert!(again.is_duplicate());

    let retried = front.retry(&key).await.unwrap();
    assert_eq!(retried.epoch(), None);
    assert_eq!(retried.outcome().await.unwrap().kind(), OutcomeKind::Failed);
    let Err(refused) = front.compact(&tenant_session("nobody")).await else { panic!("no such session") };
    assert!(matches!(refused, RuntimeError::NotFound { .. }), "{refused}");
    let more = Execute::new(tenant(), Arc::clone(&agent), "more").in_session(key.id.clone());
    assert_eq!(front.execute(more).await.unwrap().outcome().await.unwrap().kind(), OutcomeKind::Completed);
    front.compact(&key).await.unwrap().outcome().await.unwrap();
    let Err(refused) = front.retry(&key).await else { panic!("there is nothing to retry") };
    assert!(matches!(refused, RuntimeError::NotResumable { .. }), "{refused}");

    let runs = front.runs(&key, PageRequest::default()).await.unwrap().items;
    assert!(runs.iter().all(|run| run.worker == *process.worker_id()), "{runs:?}");
    assert!(runs.len() >= 4, "{runs:?}");
}

fn tenant_session(id: &str) -> holdover_core::ids::SessionKey {
    holdover_core::ids::SessionKey::new(tenant(), holdover_core::ids::SessionId::new(id).unwrap())
}
