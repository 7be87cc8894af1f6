//! What Temporal shows and stores, and what sessions that wait cost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use holdover_core::gate::{ApprovalRule, RuleAction};
use holdover_core::image::{Image, Images};
use holdover_core::store::{OutcomeKind, SessionStatus};
use holdover_core::tool::EffectClass;
use holdover_runtime_local::{Approval, EDIT_BYTES_MAX, Engine, Execute, Seen};
use holdover_runtime_temporal::{TemporalEngine, workflow_id_of};
use tokio::runtime::Handle;

use crate::bench::{
    PATIENCE, Server, Serving, begin, ends, file_store, key, pending, runtime, runtime_leasing, runtime_with,
    shared, until,
};
use crate::cast::{Caller, Pay, SECRET, agent};
use crate::program::Program;

/// A word that only an edit contains.
const EDITED: &str = "glockenspiel";

/// The sessions that wait in a test of many, unless `HOLDOVER_PARKED` sets another number.
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

/// A message with a picture, and an approval that edits the arguments to as many bytes as an edit may have: both reach the
/// tool and the model, and nothing of them reaches Temporal.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_the_conversation_reaches_temporal() {
    let mut server = Server::new();
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let (tool, model) = (Pay::new(EffectClass::AtMostOnce), Caller::default());
    let agent = agent("secret", model.clone(), &tool, vec![ApprovalRule::new("pay", RuleAction::Ask)]);
    // A debug build works for seconds on the long edit.
    let store = file_store(folder.path()).await;
    let runtime = runtime_leasing(&store, &[Arc::clone(&agent)], &temporal, Duration::from_secs(60));
    let serving = Serving::begin(&runtime, &temporal);
    let key = key("secret", "one");
    let message = Execute::new(key.tenant.clone(), Arc::clone(&agent), format!("buy a {SECRET}"));
    let picture = Image::new(&[b"\x89PNG\r\n\x1a\n.", SECRET.as_bytes()].concat()).unwrap();
    // The word is on a boundary of the code, so it can be found in it.
    let drawn = STANDARD.encode(SECRET);
    assert!(picture.base64().contains(&drawn));
    let message = message.in_session(key.id.clone()).showing(Images::of([picture]).unwrap());
    drop(runtime.execute(message).await.unwrap());
    let asked = pending(&runtime, &key).await;
    let for_what = format!("{EDITED} {}", "x".repeat(EDIT_BYTES_MAX - EDITED.len() - r#"{"for":" "}"#.len()));
    let edit = format!(r#"{{"for":"{for_what}"}}"#);
    assert_eq!(edit.len(), EDIT_BYTES_MAX);
    let approval = Approval::by("ada").reason(Some(format!("we like a {SECRET}"))).editing(edit);
    runtime.approve(&key, &asked, approval).await.unwrap();
    server.becomes(&key, "COMPLETED").await;
    assert_eq!(ends(&runtime, &key).await, OutcomeKind::Completed);
    assert!(tool.paid_for() == [for_what], "the tool gets the whole edit");
    // Because of the long arguments, the conversation may be summarised in between.
    let shown = model.pictures.lock().unwrap().clone();
    assert_eq!((shown.first(), shown.last()), (Some(&1), Some(&1)), "the model sees the picture: {shown:?}");
    serving.end().await;
    let contains = |folder: &std::path::Path, word: &str| {
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files = files.filter(|path| path.is_file()).map(|path| std::fs::read(path).unwrap());
        // The words are ASCII, and remain.
        files.any(|bytes| String::from_utf8_lossy(&bytes).contains(word))
    };
    // Everything that Temporal stores is in its files: the key of the session is, and no word of it.
    let stored = server.temporal.process().folder().to_owned();
    assert!(contains(&stored, &workflow_id_of(&key)) && contains(&stored, r#""id":"one""#));
    for word in [SECRET, EDITED, &drawn] {
        assert!(!contains(&stored, word), "{word}");
        assert!(contains(folder.path(), word), "{word} is in the store");
    }
}

/// `HOLDOVER_PARKED=1000 cargo test -p holdover-runtime-temporal --test it shown` runs this test with more sessions.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_wait_have_no_activity_and_no_task() {
    let many = std::env::var("HOLDOVER_PARKED").map_or(MANY, |count| count.parse().unwrap());
    let server = shared();
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let rules = vec![ApprovalRule::new("pay", RuleAction::Ask)];
    let agent = agent("many", Caller::default(), &Pay::new(EffectClass::AtMostOnce), rules);
    let store = file_store(folder.path()).await;
    let program = Program::start(&store, &agent, &temporal);
    let front = runtime(&store, &agent, &temporal);
    begin(&front, &agent, &key("many", "first")).await;
    let parked = "TaskQueue='holdover:many' AND HoldoverStatus='suspended'";
    server.counts(parked, 1).await;
    assert!(front.tell_engine(Duration::from_secs(10)).await);
    // The tasks of the program that writes, and those of the program that serves.
    let tasks = || [Handle::current().metrics().num_alive_tasks(), program.tasks()];
    let before = tasks();
    let keys: Vec<_> = (0..many).map(|number| key("many", &number.to_string())).collect();
    for key in &keys {
        begin(&front, &agent, key).await;
    }
    let patience = PATIENCE + Duration::from_secs(many as u64);
    server.counts_within(patience, parked, 1 + many as u64).await;
    until("the end of the tasks", async || {
        tasks().iter().zip(before).all(|(now, before)| *now <= before).then_some(())
    })
    .await;
    let engine = TemporalEngine::new(temporal);
    let waits = Some(Seen::new(Some(SessionStatus::Suspended), false));
    for key in &keys {
        // The workflow waits for a timer and for a signal, without an activity and without a task.
        assert_eq!(engine.look(key).await.unwrap(), waits, "{key}");
        assert_eq!(front.session(key).await.unwrap().unwrap().status, SessionStatus::Suspended);
    }
}
