//! Tools: functions and programs that a model may call, with the rule for a crash during a call.
//!
//! ```
//! use holdover::model::{Script, ScriptedModel};
//! use holdover::prelude::*;
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct City {
//!     /// The name of the city.
//!     name: String,
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let weather = FunctionTool::new(ToolName::new("weather")?, "Says the weather", |city: City, _call| async move {
//!     Ok::<_, ToolError>(ToolOutput::text(format!("It rains in {}.", city.name)))
//! });
//! # let model = ScriptedModel::new("desk", Script::from_toml("[[turns]]\nsay = 'Good day.'")?);
//! let agent = Agent::builder("clerk").model(model).tool(weather.effect(EffectClass::ReadOnly)).build()?;
//! # let _ = agent;
//! # Ok(())
//! # }
//! ```
//!
//! A [`FunctionTool`] is an async function with typed arguments, a [`CommandTool`] is a program, and [`built_in`]
//! returns tools for files, commands, questions and waiting. All three need the feature `tools`. [`Tool`] is the trait
//! behind all of them. Each tool declares an [`EffectClass`], which says whether a call that a crash interrupted may
//! run again.
//!
//! Also here: [`Skills`], folders of instructions that the model reads when it needs them; [`Sandboxes`], which give
//! each turn an isolated folder for its commands and files; [`CustomState`], the values that tools remember for a
//! session.

pub use holdover_core::custom::{
    CustomState, STATE_BYTES_MAX, STATE_DEPTH_MAX, StateChange, StateCheck, StateRules,
};
pub use holdover_core::ids::{CallId, ToolName};
pub use holdover_core::provision::Provisioner;
pub use holdover_core::skill::{SkillEntry, SkillSet};
pub use holdover_core::tool::{
    Access, Bound, CLEANUP_MAX, CallHandle, CallLink, EffectClass, NotRunTool, Progress, ResourceProfile,
    RunsOn, StopRequest, Stopped, Tool, ToolCall, ToolError, ToolOutput, ToolReturn, ToolSpec,
};
pub use holdover_runtime_local::ClientTool;
#[cfg(feature = "tools")]
pub use holdover_tools::{
    BUILT_IN, CommandCarrier, CommandTool, Exit, FunctionTool, InvalidCommandTool, Job, LocalSandboxes,
    MENTIONED_BYTES_MAX, MENTIONED_FILE_BYTES_MAX, NoProgram, Ran, Root, RootError, SANDBOX_TOOLS, Sandbox,
    SandboxError, SandboxOptions, SandboxProvider, Sandboxes, SkillCache, SkillCatalog, SkillError,
    SkillErrorKind, SkillPin, SkillPlace, SkillSource, Skills, ToolSet, Walls, WallsPolicy, built_in,
    check_declaration, no_parameters,
};
