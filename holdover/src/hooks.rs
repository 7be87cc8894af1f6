//! Hooks: code of yours that runs at certain points of a turn.
//!
//! ```
//! use holdover::model::{Script, ScriptedModel};
//! use holdover::prelude::*;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ScriptedModel::new("desk", Script::from_toml("[[turns]]\nsay = 'Good day.'")?);
//! let agent = Agent::builder("clerk")
//!     .model(model)
//!     .stop_if("enough", |step| (step.step.0 > 10).then(|| "ten steps are enough".to_owned()))
//!     .build()?;
//! let agent = std::sync::Arc::new(agent);
//! let agents = Agents::new().with(agent.clone());
//! let runtime = Runtime::new(MemoryStore::new(), agents, RuntimeOptions::default());
//! let run = runtime.execute(Execute::new(TenantId::new("acme")?, agent, "Hello?")).await?;
//! assert_eq!(run.text().await?, "Good day.");
//! # Ok(())
//! # }
//! ```
//!
//! A [`Hook`] names the [`HookPoint`]s at which it is called. It can deny, delay or rewrite requests to the model,
//! deny, hold, rewrite or answer calls of tools, change their results, correct the model, or stop the turn.
//! [`OnFailure`] says what happens if the hook itself fails. The types whose names end in a verb, such as
//! [`TurnBegins`] and [`ToolEnded`], are inputs of a hook; [`BeforeModel`], [`BeforeTool`], [`BeforeSubAgent`],
//! [`AfterTool`] and [`AfterStep`] are its answers.
//!
//! An [`OutsideHook`] is a program or a server that is asked in JSON. Its [`Carrier`] carries the requests:
//! `tools::CommandCarrier` to a program (feature `tools`), `gates::HttpCarrier` to a server (feature `gates`), or one of
//! yours.

pub use holdover_core::hook::{
    AfterStep, AfterTool, BeforeModel, BeforeSubAgent, BeforeTool, Carrier, HOOK_NAME_BYTES_MAX,
    HOOK_TIMEOUT, Hook, HookError, HookPoint, HookSettings, InvalidHook, ModelAsked, Moved, MovesMissed,
    OUTSIDE_ANSWER_BYTES_MAX, OUTSIDE_VERSION, OnFailure, OutsideHook, StepEnded, StopIf, SubAgentAsked,
    ToolEnded, TurnBegins, TurnEnds,
};
