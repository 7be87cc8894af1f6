//! The check for sessions that a new version would break, made before it serves anything.
//!
//! Requirements: U09.

use std::sync::Arc;

use holdover_core::ids::{Incarnation, OperationId, QueueLabel, SessionId, SessionKey, StateFormat};
use holdover_core::store::{Labels, NewSession, SessionQuery, SessionStatus, Start, StateStore};
use holdover_runtime_local::{Agent, Agents, Breaks, Changed, Runtime};
use holdover_store_layers::{Encrypted, EncryptionKey, KeyId, Keyring, PayloadCodec};

use crate::bench::{agent, asking_for, finish, options, runtime, say, store, tenant};
use crate::script::Script;
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

    // With the current version, or a better one under the same number, only the state from a newer release breaks.
    for same in [&old, &payer(Some("1"), &["pay", "tip"], "Pay well.")] {
        let found = would_break(Agents::new().with(Arc::clone(same))).await;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].key, new);
        assert!(matches!(found[0].why[..], [Breaks::NewerFormat { found: StateFormat(99), .. }]));
    }
    // The agent's version is missing.
    let found = would_break(Agents::new().with(payer(Some("2"), &["pay"], "Pay."))).await;
    assert_eq!((&found[0].key, found[0].status), (&parked, SessionStatus::Suspended));
    assert!(matches!(&found[0].why[..], [Breaks::NoAgent { .. }]), "{found:?}");
    // The tool of the waiting call is missing.
    let found = would_break(Agents::new().with(payer(Some("1"), &["tip"], "Pay."))).await;
    assert!(matches!(&found[0].why[..], [Breaks::MissingTool { tool, .. }] if tool == "pay"), "{found:?}");
    let line = found[0].to_string();
    assert!(!line.contains('\n'), "{line}");
    for named in ["tester@1 (waiting)", parked.id.as_str(), "call c1-0", "no tool pay"] {
        assert!(line.contains(named), "{line} names {named}");
    }
    // A tool of the agent has become a tool of the client.
    let model = Script::calling(vec![("pay", "{}")]);
    let moved = agent(&model).version("1").client_tool(spec("pay")).build().unwrap();
    let found = would_break(Agents::new().with(Arc::new(moved))).await;
    assert!(matches!(&found[0].why[..], [Breaks::ToolMoved { .. }]), "{found:?}");
    // The instructions changed, where changes are refused.
    let strict = Agents::new().with(payer(Some("1"), &["pay"], "Pay well.")).changed(Changed::IsRefused);
    let found = would_break(strict).await;
    assert!(
        matches!(&found[0].why[..], [Breaks::NoAgent { why }] if why.code == "agent.changed"),
        "{found:?}"
    );
    // The check touched nothing.
    assert_eq!(serving.session(&parked).await.unwrap().unwrap().epoch.0, 1);
}

/// Only sessions that match the query are checked.
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

/// A process that lacks the key of one session reports that session, and checks all the others.
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
    // With the agent missing too, every session is reported.
    let candidate = Runtime::new(under(1), Agents::new(), options());
    assert_eq!(candidate.would_break(&SessionQuery::all(tenant())).await.unwrap().len(), 3);
}
