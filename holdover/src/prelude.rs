//! The names that most embedding programs use: `use holdover::prelude::*;`.
//!
//! ```
//! use holdover::model::{Script, ScriptedModel};
//! use holdover::prelude::*;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ScriptedModel::new("desk", Script::from_toml("[[turns]]\nsay = 'Good day.'")?);
//! let agent = std::sync::Arc::new(Agent::builder("clerk").model(model).build()?);
//! let agents = Agents::new().with(agent.clone());
//! let runtime = Runtime::new(MemoryStore::new(), agents, RuntimeOptions::default());
//! let run = runtime.execute(Execute::new(TenantId::new("acme")?, agent, "Hello?")).await?;
//! assert_eq!(run.text().await?, "Good day.");
//! # Ok(())
//! # }
//! ```
//!
//! Each name is documented in one of the modules. A program that implements a tool, a gate, a hook or a model imports
//! the other types from the module for it.

pub use crate::agent::{Agent, Agents};
pub use crate::events::{EventCursor, Follow, Shown};
pub use crate::gates::{ApprovalRule, RuleAction, RuleGate};
pub use crate::pending::{Approval, Denial};
pub use crate::runtime::{CancellationToken, Runtime, RuntimeError, RuntimeOptions, Worker, WorkerOptions};
pub use crate::session::{Deliver, Execute, ItemKey, SessionId, SessionKey, TenantId};
#[cfg(feature = "memory")]
pub use crate::store::MemoryStore;
#[cfg(feature = "sqlite")]
pub use crate::store::SqliteStore;
#[cfg(feature = "tools")]
pub use crate::tools::FunctionTool;
pub use crate::tools::{EffectClass, ToolCall, ToolError, ToolName, ToolOutput};
