//! Every move of a session's machine is kept on every store: when it happened, from which state, on which input, to
//! which state, and the machine afterwards.
//!
//! Requirements: D16, D19.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::sync::Arc;

use holdover::machine::{Machine, StateKind};
use holdover::model::{Script, ScriptedModel};
use holdover::prelude::*;
use holdover::runtime::Timestamp;
use holdover::store::{SqliteOptions, StateStore};
use holdover_launcher::Launcher;
use holdover_store_postgres::PostgresStore;
use holdover_store_redis::RedisStore;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Bill {
    #[allow(dead_code, reason = "the tool does nothing")]
    amount: u32,
}

const SCRIPT: &str = r#"
[[turns]]
when = { result_of = "pay" }
say = "Paid."

[[turns]]
calls = [{ tool = "pay", arguments = { amount = 12 } }]
"#;

fn agent() -> Arc<Agent> {
    let pay = FunctionTool::new(ToolName::new("pay").unwrap(), "Pays a bill", |_: Bill, _: ToolCall| async {
        Ok::<_, ToolError>(ToolOutput::text("paid"))
    });
    let ask = ApprovalRule::new("pay", RuleAction::Ask);
    let agent = Agent::builder("payer").model(ScriptedModel::new("pay", Script::from_toml(SCRIPT).unwrap()));
    Arc::new(agent.tool(pay).gate(RuleGate::new(vec![ask])).build().unwrap())
}

fn runtime(store: &Arc<dyn StateStore>) -> Runtime {
    // No payment is real, so the store need not be durable.
    let backend = store.capabilities().backend.split(' ').next().map(str::to_owned);
    let options = RuntimeOptions::default().effects_override(backend);
    Runtime::new(Arc::clone(store), Agents::new().with(agent()), options)
}

/// Runs a turn that waits for an approval through one handle of a store. Returns its moves, as read through the other
/// handle.
async fn moves_of(
    makes: Arc<dyn StateStore>,
    reads: Arc<dyn StateStore>,
) -> Vec<(StateKind, &'static str, StateKind)> {
    let backend = makes.capabilities().backend;
    let (makes, reads) = (runtime(&makes), runtime(&reads));
    let key = SessionKey::new(TenantId::new("acme").unwrap(), SessionId::new("s").unwrap());
    let request = Execute::new(key.tenant.clone(), agent(), "pay").in_session(key.id.clone());
    makes.execute(request).await.unwrap().outcome().await.unwrap();
    let asked = makes.pending(&key).await.unwrap().remove(0);
    makes.approve(&key, &asked.call.id, Approval::default()).await.unwrap();
    makes.resume(&key).await.unwrap().outcome().await.unwrap();

    let moves = reads.moves(&key).await.unwrap();
    let mut before = Timestamp::EPOCH;
    let mut was = Machine::default();
    for (at, row) in moves.iter().enumerate() {
        assert_eq!((row.number, row.from), (at + 1, was.state.kind()), "{backend}: {row:?}");
        assert!(row.at >= before, "{backend}: {row:?}");
        was = reads.machine_after(&key, row.number).await.unwrap().unwrap();
        assert_eq!(was.state.kind(), row.to, "{backend}: {row:?}");
        before = row.at;
    }
    let replay = reads.replay(&key).await.unwrap();
    assert!(replay.agrees(), "{backend}: {:?}", replay.differences);
    assert_eq!(replay.rebuilt.ok(), Some(was), "{backend}: what is stored is what they fold to");
    moves.iter().map(|row| (row.from, row.on.kind().as_str(), row.to)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d16_the_moves_of_a_session_are_kept_alike_on_every_store() {
    let memory: Arc<dyn StateStore> = Arc::new(MemoryStore::new());
    let expected = moves_of(Arc::clone(&memory), memory).await;
    assert_eq!(expected.first().map(|row| row.0), Some(StateKind::Idle));
    assert!(expected.iter().any(|row| row.2 == StateKind::Confirming), "{expected:?}");

    let folder = tempfile::tempdir().unwrap();
    let sqlite = async || {
        Arc::new(SqliteStore::open(SqliteOptions::new(folder.path().join("sessions.db"))).await.unwrap())
    };
    assert_eq!(moves_of(sqlite().await, sqlite().await).await, expected);

    let launcher = Launcher::new().unwrap();
    let server = launcher.postgres(&[]).unwrap();
    let postgres = async || Arc::new(PostgresStore::open_url(&server.url()).await.unwrap());
    assert_eq!(moves_of(postgres().await, postgres().await).await, expected);

    let server = launcher.redis(&[]).unwrap();
    let redis = async || Arc::new(RedisStore::open_url(&server.url()).await.unwrap());
    assert_eq!(moves_of(redis().await, redis().await).await, expected);
}
