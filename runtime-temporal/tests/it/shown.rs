//! What Temporal shows and stores, and what sessions that wait cost.

use std::collections::BTreeMap;

use holdover_core::gate::{ApprovalRule, RuleAction};
use holdover_core::store::SessionStatus;
use holdover_core::tool::EffectClass;
use holdover_runtime_local::Approval;
use holdover_runtime_temporal::workflow_id_of;
use tokio::runtime::Handle;

use crate::bench::{Server, Serving, begin, file_store, key, pending, runtime, runtime_with, shared, until};
use crate::cast::{Caller, Pay, SECRET, agent};

/// The sessions that wait in a test of many.
const MANY: usize = 10;

#[tokio::test(flavor = "multi_thread")]
async fn temporal_shows_the_status_that_the_store_has() {
    let server = shared();
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let store = file_store(folder.path()).await;
    let (tool, asked) = (Pay::held(EffectClass::AtMostOnce), vec![ApprovalRule::new("pay", RuleAction::Ask)]);
    let broken = Caller { broken: true, ..Caller::default() };
    let agents = [
        agent("shown.parked", Caller::default(), &tool, asked),
        agent("shown.busy", Caller::default(), &tool, vec![]),
        agent("shown.broken", broken, &tool, vec![]),
    ];
    // One worker serves the queues of all three.
    let runtime = runtime_with(&store, &agents, &temporal);
    let serving = Serving::begin(&runtime, &temporal);
    let mut keys = Vec::new();
    for agent in &agents {
        for number in 0..2 {
            let key = key("shown", &format!("{}-{number}", agent.label()));
            begin(&runtime, agent, &key).await;
            keys.push(key);
        }
    }
    tool.called(2).await;
    for (status, count) in [("suspended", 2), ("active", 2), ("failed", 2)] {
        server
            .counts(&format!("WorkflowId STARTS_WITH 'holdover:shown/' AND HoldoverStatus='{status}'"), count)
            .await;
    }
    let listed =
        server.ask(&["workflow", "list", "--query", "WorkflowId STARTS_WITH 'holdover:shown/'"]).unwrap();
    let listed = listed.as_array().unwrap().iter().map(|workflow| {
        let id = workflow["execution"]["workflowId"].as_str().unwrap().to_owned();
        (id, Server::status_attribute(workflow))
    });
    let mut stored = BTreeMap::new();
    for key in &keys {
        let session = store.load_session(key).await.unwrap().unwrap();
        stored.insert(workflow_id_of(key), session.status.to_string());
    }
    assert_eq!(listed.collect::<BTreeMap<_, _>>(), stored);
    tool.let_go();
    serving.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_the_conversation_reaches_temporal() {
    let mut server = Server::new();
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let tool = Pay::new(EffectClass::AtMostOnce);
    let agent = agent("secret", Caller::default(), &tool, vec![ApprovalRule::new("pay", RuleAction::Ask)]);
    let runtime = runtime(&file_store(folder.path()).await, &agent, &temporal);
    let serving = Serving::begin(&runtime, &temporal);
    let key = key("secret", "one");
    begin(&runtime, &agent, &key).await;
    let asked = pending(&runtime, &key).await;
    runtime
        .approve(&key, &asked, Approval::by("ada").reason(Some(format!("we like a {SECRET}"))))
        .await
        .unwrap();
    server.becomes(&key, "COMPLETED").await;
    serving.end().await;
    let contains = |folder: &std::path::Path, word: &str| {
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.is_file()).map(|path| std::fs::read(path).unwrap());
        files.into_iter().any(|bytes| bytes.windows(word.len()).any(|window| window == word.as_bytes()))
    };
    // Everything that Temporal stores is in its files: the key of the session is, and no word of it.
    let stored = server.temporal.process().folder().to_owned();
    assert!(contains(&stored, &workflow_id_of(&key)) && contains(&stored, r#""id":"one""#));
    assert!(!contains(&stored, SECRET));
    assert!(contains(folder.path(), SECRET), "the word is in the store");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_wait_have_no_activity_and_no_task() {
    let server = shared();
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let rules = vec![ApprovalRule::new("pay", RuleAction::Ask)];
    let agent = agent("many", Caller::default(), &Pay::new(EffectClass::AtMostOnce), rules);
    let runtime = runtime(&file_store(folder.path()).await, &agent, &temporal);
    let serving = Serving::begin(&runtime, &temporal);
    begin(&runtime, &agent, &key("many", "first")).await;
    let parked = "TaskQueue='holdover:many' AND HoldoverStatus='suspended'";
    server.counts(parked, 1).await;
    assert!(runtime.tell_engine(std::time::Duration::from_secs(10)).await);
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let keys: Vec<_> = (0..MANY).map(|number| key("many", &number.to_string())).collect();
    for key in &keys {
        begin(&runtime, &agent, key).await;
    }
    server.counts(parked, 1 + MANY as u64).await;
    until("the end of the tasks", async || (tasks() <= before).then_some(())).await;
    for key in [&keys[0], &keys[MANY / 2], &keys[MANY - 1]] {
        let workflow = server.workflow(key).unwrap();
        assert_eq!(workflow["pendingActivities"].as_array().map_or(0, Vec::len), 0, "{workflow}");
        assert_eq!(runtime.session(key).await.unwrap().unwrap().status, SessionStatus::Suspended);
    }
    serving.end().await;
}
