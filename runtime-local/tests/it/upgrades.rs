//! What a new version would break, and what an old one has left: asked before, and gone on with after.
//!
//! `HOLDOVER_CORPUS=write cargo test -p holdover-runtime-local --test it corpus` writes the store of this release into
//! `tests/corpus`, unless one of its name is there. A store that is there is never written again.
//!
//! Requirements: U09.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use holdover_core::agent::Limits;
use holdover_core::ids::{Incarnation, OperationId, QueueLabel, SessionId, SessionKey, StateFormat};
use holdover_core::message::{ClientAnswer, Message, ResultStatus};
use holdover_core::model::{ModelError, ModelErrorKind};
use holdover_core::store::{Labels, NewSession, OutcomeKind, SessionQuery, SessionStatus, Start, StateStore};
use holdover_core::tool::{EffectClass, ToolOutput, ToolReturn};
use holdover_runtime_local::{Agent, Agents, Breaks, Changed, Deliver, Runtime, RuntimeOptions};
use holdover_store_layers::{Encrypted, EncryptionKey, KeyId, Keyring, PayloadCodec};
use holdover_store_sqlite::{SqliteOptions, SqliteStore};

use crate::bench::{agent, asking_for, completes, finish, options, runtime, say, store, tenant, transcript};
use crate::script::{Say, Script, results};
use crate::tools::{Fake, spec};

fn payer(version: Option<&str>, tools: &[&str], words: &str) -> Arc<Agent> {
    let model = Script::calling(vec![("pay", "{}")]);
    let mut agent = agent(&model).instructions(words).gate(asking_for("pay"));
    for tool in tools {
        agent = agent.tool(Fake::echo(tool));
    }
    if let Some(version) = version {
        agent = agent.version(version);
    }
    Arc::new(agent.build().unwrap())
}

#[tokio::test(start_paused = true)]
async fn u09_before_a_deployment_the_sessions_that_it_would_break_are_listed() {
    let store = store();
    let old = payer(Some("1"), &["pay"], "Pay.");
    let serving = runtime(&store, &old);
    let (parked, _) = finish(serving.execute(say(&old, "go")).await.unwrap()).await;
    let stopped = finish(serving.execute(say(&old, "go")).await.unwrap()).await.0;
    serving.abort(&stopped, "never mind").await.unwrap();
    let new = SessionKey::new(tenant(), SessionId::new("from-tomorrow").unwrap());
    let ahead = NewSession {
        key: new.clone(),
        incarnation: Incarnation(uuid::Uuid::from_u128(3)),
        operation: OperationId::new("create").unwrap(),
        queue: old.queue().clone(),
        labels: Labels::default(),
        definition: old.definition().clone(),
        format: StateFormat(99),
        items: Vec::new(),
        start: Start::WithItems,
    };
    store.create_session(ahead).await.unwrap();
    let all = SessionQuery::all(tenant());
    let would_break = async |agents: Agents| {
        let candidate = Runtime::new(store.clone(), agents, options());
        let mut found = candidate.would_break(&all).await.unwrap();
        found.sort_by_key(|breaking| breaking.key != parked);
        found
    };

    // The version that is there, and a better one of the same name: only the state of tomorrow breaks.
    for same in [&old, &payer(Some("1"), &["pay", "tip"], "Pay well.")] {
        let found = would_break(Agents::new().with(Arc::clone(same))).await;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].key, new);
        assert!(matches!(found[0].why[..], [Breaks::NewerFormat { found: StateFormat(99), .. }]));
    }
    // The version is left out.
    let found = would_break(Agents::new().with(payer(Some("2"), &["pay"], "Pay."))).await;
    assert_eq!((&found[0].key, found[0].status), (&parked, SessionStatus::Suspended));
    assert!(matches!(&found[0].why[..], [Breaks::NoAgent { .. }]), "{found:?}");
    // The tool of the call that waits is left out.
    let found = would_break(Agents::new().with(payer(Some("1"), &["tip"], "Pay."))).await;
    assert!(matches!(&found[0].why[..], [Breaks::MissingTool { tool, .. }] if tool == "pay"), "{found:?}");
    let line = found[0].to_string();
    assert!(!line.contains('\n'), "{line}");
    for named in ["tester@1", parked.id.as_str(), "call c1-0", "no tool pay"] {
        assert!(line.contains(named), "{line} names {named}");
    }
    // A tool that was ours is the client's.
    let model = Script::calling(vec![("pay", "{}")]);
    let moved = agent(&model).version("1").client_tool(spec("pay")).build().unwrap();
    let found = would_break(Agents::new().with(Arc::new(moved))).await;
    assert!(matches!(&found[0].why[..], [Breaks::ToolMoved { .. }]), "{found:?}");
    // Its words changed, where that is refused.
    let strict = Agents::new().with(payer(Some("1"), &["pay"], "Pay well.")).changed(Changed::IsRefused);
    let found = would_break(strict).await;
    assert!(
        matches!(&found[0].why[..], [Breaks::NoAgent { why }] if why.code == "agent.changed"),
        "{found:?}"
    );
    // Nothing was touched.
    assert_eq!(serving.session(&parked).await.unwrap().unwrap().epoch.0, 1);
}

/// The sessions of the corpus: each is named by what it waits for.
const WAITING: [&str; 8] =
    ["rests", "approval", "client", "sleeps", "backs-off", "failed", "interrupted", "in-the-middle"];

/// What the agent of the corpus does is what it is told last.
fn corpus_agent(pays: &Fake, in_old_times: bool) -> Arc<Agent> {
    let model = Script::new(move |request| {
        let told = request.messages.iter().rev().find_map(|message| match &**message {
            Message::User(said) => Some(said.text.clone()),
            Message::Assistant(_)
            | Message::Tool(_)
            | Message::Decision(_)
            | Message::Notice(_)
            | Message::Summary(_) => None,
        });
        if !results(request).is_empty() {
            return Say::Text("done");
        }
        match told.as_deref() {
            Some("approval" | "in-the-middle") => Say::Calls(vec![("look", "{}"), ("pay", r#"{"n":7}"#)]),
            Some("client") => Say::Calls(vec![("ask", "{}")]),
            Some("sleeps") => Say::Calls(vec![("sleep", "{}")]),
            Some("backs-off") if in_old_times => {
                Say::Fail(ModelError::new(ModelErrorKind::RateLimited, "slow down"))
            }
            Some("failed") if in_old_times => Say::Fail(ModelError::new(ModelErrorKind::Auth, "no key")),
            Some("interrupted") if in_old_times => Say::Nothing,
            Some(_) | None => Say::Text("done"),
        }
    });
    let sleep = Fake::new("sleep", |_| async {
        Ok(ToolReturn::After { delay: Duration::from_secs(60), output: ToolOutput::text("slept") })
    });
    let agent = agent(&model)
        .limits(Limits { answer_timeout_ms: None, ..Limits::default() })
        .tool(pays.clone())
        .tool(Fake::echo("look").effect(EffectClass::ReadOnly))
        .tool(sleep)
        .client_tool(spec("ask"));
    Arc::new(agent.gate(asking_for("pay")).build().unwrap())
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

async fn open(file: &Path, agent: &Arc<Agent>) -> (Runtime, SqliteStore) {
    let store = SqliteStore::open(SqliteOptions::new(file)).await.unwrap();
    let options = RuntimeOptions { lease: Duration::from_secs(1), ..RuntimeOptions::default() };
    (Runtime::new(store.clone(), Agents::new().with(Arc::clone(agent)), options), store)
}

fn named(id: &str) -> SessionKey {
    SessionKey::new(tenant(), SessionId::new(id).unwrap())
}

/// Writes the store of this release.
async fn write_corpus(file: &Path) {
    let pays = Fake::stuck("pay").effect(EffectClass::AtMostOnce);
    let agent = corpus_agent(&pays, true);
    let (runtime, store) = open(file, &agent).await;
    for id in WAITING {
        let request = say(&agent, id).in_session(named(id).id);
        let mut run = runtime.execute(request).await.unwrap();
        match id {
            "interrupted" => {
                runtime.interrupt(&named(id), "enough").await.unwrap();
                run.first_outcome().await.unwrap();
            }
            "in-the-middle" => {
                run.first_outcome().await.unwrap();
                let pending = runtime.pending(&named(id)).await.unwrap();
                runtime.approve(&named(id), pending[0].id(), Default::default()).await.unwrap();
                let run = runtime.resume(&named(id)).await.unwrap();
                while pays.calls().is_empty() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                // Its process dies while the call is out.
                drop(run);
            }
            _ => drop(run.first_outcome().await.unwrap()),
        }
    }
    drop(runtime);
    store.close().await;
}

/// A session of an old release goes on to the end of its turn, and its rows still make its state.
async fn goes_on(runtime: &Runtime, agent: &Arc<Agent>, pays: &Fake, id: &str) {
    let key = named(id);
    assert!(runtime.replay(&key).await.unwrap().agrees(), "{id}: as it was left");
    let before = transcript(runtime, &key).await;
    match id {
        "rests" => drop(
            completes(runtime.execute(say(agent, "more").in_session(key.id.clone())).await.unwrap()).await,
        ),
        "approval" => {
            let pending = runtime.pending(&key).await.unwrap();
            runtime.approve(&key, pending[0].id(), Default::default()).await.unwrap();
        }
        "client" => {
            let pending = runtime.pending(&key).await.unwrap();
            let answer = ClientAnswer::done("42");
            runtime.deliver(&key, Deliver::client_answer(&pending[0].call, answer)).await.unwrap();
        }
        "failed" | "interrupted" => drop(completes(runtime.retry(&key).await.unwrap()).await),
        _ => {}
    }
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed, "{id}");
    let after = transcript(runtime, &key).await;
    assert_eq!(after[..before.len()], before[..], "{id}: what was said stays");
    let paid: Vec<_> = after
        .iter()
        .filter_map(|message| match message {
            Message::Tool(result) if result.tool == "pay" => Some(result.status),
            Message::Tool(_)
            | Message::User(_)
            | Message::Assistant(_)
            | Message::Decision(_)
            | Message::Notice(_)
            | Message::Summary(_) => None,
        })
        .collect();
    let expected: &[ResultStatus] = match id {
        "approval" => &[ResultStatus::Done],
        "in-the-middle" => &[ResultStatus::InDoubt],
        _ => &[],
    };
    assert_eq!(paid, expected, "{id}");
    assert_eq!(pays.calls().len(), usize::from(id == "approval"), "{id}: what had begun is not begun again");
    assert!(runtime.replay(&key).await.unwrap().agrees(), "{id}: at the end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u09_the_corpus_of_every_release_is_resumed() {
    let release = corpus().join(format!("v{}.sqlite", env!("CARGO_PKG_VERSION")));
    if std::env::var("HOLDOVER_CORPUS").as_deref() == Ok("write") && !release.exists() {
        std::fs::create_dir_all(corpus()).unwrap();
        write_corpus(&release).await;
    }
    let mut releases: Vec<PathBuf> = std::fs::read_dir(corpus())
        .expect("a corpus")
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sqlite"))
        .collect();
    releases.sort();
    assert!(releases.contains(&release), "{}: this release has left no store", release.display());
    for release in releases {
        // A copy: the corpus is never written again.
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("holdover.db");
        std::fs::copy(&release, &file).unwrap();
        for id in WAITING {
            let pays = Fake::echo("pay").effect(EffectClass::AtMostOnce);
            let agent = corpus_agent(&pays, false);
            let (runtime, store) = open(&file, &agent).await;
            if id == WAITING[0] {
                let breaking = runtime.would_break(&SessionQuery::all(tenant())).await.unwrap();
                assert_eq!(breaking, [], "{}: nothing of it breaks", release.display());
            }
            goes_on(&runtime, &agent, &pays, id).await;
            drop(runtime);
            store.close().await;
        }
    }
}

/// State that was stored under another release's queue is found by its queue.
#[tokio::test(start_paused = true)]
async fn u09_only_the_sessions_that_are_asked_for_are_looked_at() {
    let store = store();
    let old = payer(Some("1"), &["pay"], "Pay.");
    finish(runtime(&store, &old).execute(say(&old, "go")).await.unwrap()).await;
    let candidate = Runtime::new(store.clone(), Agents::new(), options());
    let other =
        SessionQuery { queue: Some(QueueLabel::new("other@1").unwrap()), ..SessionQuery::all(tenant()) };
    assert_eq!(candidate.would_break(&other).await.unwrap(), []);
    assert_eq!(candidate.would_break(&SessionQuery::all(tenant())).await.unwrap().len(), 1);
}

/// A worker whose keys cannot read one session says so of that one, and looks at all the others.
#[tokio::test(start_paused = true)]
async fn u09_a_session_whose_key_is_missing_is_one_answer_and_not_the_end_of_them() {
    let store = store();
    let ring = |id: u32| Keyring::of(KeyId(id), EncryptionKey::new([7; EncryptionKey::BYTES]));
    let under = |id: u32| Arc::new(Encrypted::new(ring(id)).around(store.clone()));
    let payer = payer(None, &["pay"], "Pay.");
    let mut keys = Vec::new();
    for id in [1, 2, 1] {
        let runtime = Runtime::new(under(id), Agents::new().with(Arc::clone(&payer)), options());
        keys.push(finish(runtime.execute(say(&payer, "go")).await.unwrap()).await.0);
    }
    let candidate = Runtime::new(under(1), Agents::new().with(Arc::clone(&payer)), options());
    let found = candidate.would_break(&SessionQuery::all(tenant())).await.unwrap();
    assert_eq!(found.iter().map(|found| &found.key).collect::<Vec<_>>(), [&keys[1]]);
    assert_eq!((found[0].agent.as_str(), found[0].status), ("tester", SessionStatus::Suspended));
    assert!(
        matches!(&found[0].why[..], [Breaks::Unreadable { detail }] if detail.contains("key 2 is not here")),
        "{found:?}"
    );
    // With the agent left out, too, each has its answer.
    let candidate = Runtime::new(under(1), Agents::new(), options());
    assert_eq!(candidate.would_break(&SessionQuery::all(tenant())).await.unwrap().len(), 3);
}
