//! Agents: their parts, and the sources from which a program loads them.
//!
//! ```
//! use holdover::agent::Limits;
//! use holdover::model::{Script, ScriptedModel};
//! use holdover::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ScriptedModel::new("desk", Script::from_toml("[[turns]]\nsay = 'Good day.'")?);
//! let agent = Agent::builder("clerk")
//!     .version("2")
//!     .instructions("You are a clerk.")
//!     .model(model)
//!     .limits(Limits::default().max_steps(20))
//!     .build()?;
//! assert_eq!(agent.label().as_str(), "clerk@2");
//! # Ok(())
//! # }
//! ```
//!
//! [`Agent::builder`] makes an [`Agent`] from a model, tools, a gate and hooks, and checks that they fit together.
//! [`Agents`] holds all agents of a program by name and version; an [`AgentSource`] of your own can load them from
//! elsewhere. A [`SubAgent`] is an agent to which the model of another agent may give tasks. Most of the other types
//! are settings of an agent, such as limits, retries, fallbacks, loops, summaries, modes, the value that a turn
//! returns, and a [`Procedure`], which says what an agent may do in which state of its work.

pub use holdover_core::agent::{
    AgentSpec, AtMax, BreakerRules, CHILDREN_MAX, ChildRules, ChildTool, Compaction, Durability,
    EARLY_READS_MAX, FAN_OUT_MAX, Fallback, Limits, LoopDetection, OnDenial, OnDoubt, OnTrip,
    PROVISION_RETRIES_MAX, PROVISION_WAIT_MAX, Prices, Retries, StopCondition, StopSignals,
    TOOL_FALLBACKS_MAX,
};
pub use holdover_core::background::BACKGROUND_MAX;
pub use holdover_core::children::Tasks;
pub use holdover_core::compaction::{OutsideSummariser, ResultSummariser, SUMMARISE_RESULT};
pub use holdover_core::message::{MessagePolicy, WhileAsking};
pub use holdover_core::mode::{Briefing, Mode, UnknownMode};
pub use holdover_core::output::{OutputPlace, OutputSpec};
pub use holdover_core::procedure::{
    InputName, Procedure, ProcedureAnswer, ProcedureMove, ProcedureNature, ProcedureState, ProcedureWait,
    Source, StateName,
};
pub use holdover_runtime_local::{
    Agent, AgentBuilder, AgentError, AgentSource, Agents, Changed, Definition, SUB_AGENT_DEPTH_MAX, SubAgent,
    agent_label,
};
