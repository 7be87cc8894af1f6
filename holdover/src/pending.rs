//! Pending calls: calls of tools that wait for an approval or an answer from outside.
//!
//! ```
//! use holdover::model::{Script, ScriptedModel};
//! use holdover::prelude::*;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let script = "[[turns]]\nwhen = { nth = 1 }\ncalls = [{ tool = 'greet', arguments = {} }]\n[[turns]]\nsay = 'Done.'";
//! # let model = ScriptedModel::new("desk", Script::from_toml(script)?);
//! # #[derive(serde::Deserialize, schemars::JsonSchema)]
//! # struct Nobody {}
//! # let greet = FunctionTool::new(ToolName::new("greet")?, "Greets", |_: Nobody, _| async {
//! #     Ok::<_, ToolError>(ToolOutput::text("Good day."))
//! # });
//! # let greet = greet.effect(EffectClass::ReadOnly);
//! # let ask = RuleGate::new(vec![ApprovalRule::new("greet", RuleAction::Ask)]);
//! # let agent = std::sync::Arc::new(Agent::builder("clerk").model(model).tool(greet).gate(ask).build()?);
//! # let agents = Agents::new().with(agent.clone());
//! # let runtime = Runtime::new(MemoryStore::new(), agents, RuntimeOptions::default());
//! let run = runtime.execute(Execute::new(TenantId::new("acme")?, agent, "Greet me.")).await?;
//! let session = run.key().clone();
//! run.outcome().await?;
//! // The session waits, and nothing runs. Show the call to Ada, and take her decision.
//! let asked = runtime.pending(&session).await?.remove(0);
//! println!("{} {}", asked.body.tool, asked.body.arguments);
//! runtime.approve(&session, asked.id(), "ada").await?;
//! runtime.resume(&session).await?.outcome().await?;
//! assert_eq!(runtime.last_text(&session).await?.as_deref(), Some("Done."));
//! # Ok(())
//! # }
//! ```
//!
//! A [`PendingEntry`] is one such call with its arguments and the state of its approvals. A person's name is enough to
//! approve or deny a call. An [`Approval`] or a [`Denial`] can also give a reason. An approval can also edit the
//! arguments, or cover later calls. A [`ClientAnswer`] is the result of a tool that runs outside. An approval is bound
//! to the exact arguments that were shown. [`gates`](crate::gates) decide which calls need an approval, and whose.
//!
//! If the agent [asks](crate::agent::OnDoubt::Ask), a call that ended in doubt is listed with the kind
//! [`InDoubt`](PendingKind::InDoubt), and a [`Settlement`] says what became of it. No turn waits for that.
//!
//! A [`DeadLetter`] is about a session whose turn was given up although it may succeed later.
//! [`Runtime::dead_letters`](crate::runtime::Runtime::dead_letters) lists them, and
//! [`Runtime::replay_letter`](crate::runtime::Runtime::replay_letter) tries again.

pub use holdover_core::engine::DOUBTS_OPEN_MAX;
pub use holdover_core::ids::PendingId;
pub use holdover_core::letter::{Letter, LetterCause};
pub use holdover_core::message::{
    ClientAnswer, Decision, DecisionRecord, PendingBody, SETTLEMENT_BYTES_MAX, Settlement, SettlementRecord,
};
pub use holdover_core::payload::Digest;
pub use holdover_core::store::{PendingCall, PendingKind, PendingQuery};
pub use holdover_runtime_local::{
    Answered, Approval, DeadLetter, DeadLetterPage, Deciders, Denial, Later, PendingEntry, PendingPage,
    UnreadablePending,
};
