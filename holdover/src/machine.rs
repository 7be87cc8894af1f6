//! The state machine of a session, as data, and its history.
//!
//! ```
//! use holdover::machine::{diagram, table};
//! use holdover::model::{Script, ScriptedModel};
//! use holdover::prelude::*;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! table::validate()?;
//! assert!(diagram::mermaid().starts_with("stateDiagram"));
//! # let model = ScriptedModel::new("desk", Script::from_toml("[[turns]]\nsay = 'Good day.'")?);
//! # let agent = std::sync::Arc::new(Agent::builder("clerk").model(model).build()?);
//! # let agents = Agents::new().with(agent.clone());
//! # let runtime = Runtime::new(MemoryStore::new(), agents, RuntimeOptions::default());
//! # let run = runtime.execute(Execute::new(TenantId::new("acme")?, agent, "Hello?")).await?;
//! # let key = run.key().clone();
//! # run.outcome().await?;
//! for moved in runtime.moves(&key).await? {
//!     println!("{}: {} -> {}", moved.number, moved.from.as_str(), moved.to.as_str());
//! }
//! assert!(runtime.replay(&key).await?.agrees());
//! # Ok(())
//! # }
//! ```
//!
//! [`table`] lists every transition, [`diagram`] draws the transitions, and [`paths`] follows them until a session
//! rests. A [`Move`] is one row of a session's history, and a [`Machine`] is the state of a session, for example after
//! such a row. A [`Replay`] says whether the history alone leads to the stored state. The machine is the same for all
//! agents and cannot be changed.

pub use holdover_core::machine::history::Broken;
pub use holdover_core::machine::replay::Difference;
pub use holdover_core::machine::{
    AgentState, Input, InputKind, Machine, StateKind, diagram, paths, procedure, table,
};
pub use holdover_runtime_local::{Move, Replay};
