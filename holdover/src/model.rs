//! Models: adapters to model servers, a scripted model for tests, and the trait for a model of your own.
//!
//! ```
//! use std::sync::Arc;
//!
//! use holdover::model::{Model, ModelRef, Script, ScriptedModel, connect};
//! use holdover::prelude::*;
//!
//! /// Returns the model that the environment names, such as `openai:gpt-5`, or a script if it names none.
//! fn model() -> Result<Arc<dyn Model>, Box<dyn std::error::Error>> {
//!     match std::env::var("DESK_MODEL") {
//!         Ok(name) => Ok(connect(&name.parse::<ModelRef>()?)?),
//!         Err(_) => {
//!             let script = Script::from_toml("[[turns]]\nsay = 'Good day.'")?;
//!             Ok(Arc::new(ScriptedModel::new("desk", script)))
//!         }
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let clerk = Agent::builder("clerk").shared_model(model()?).build()?;
//! assert_eq!(clerk.label().as_str(), "clerk");
//! # Ok(())
//! # }
//! ```
//!
//! [`connect`] makes the model that a [`ModelRef`] names: [`OpenAi`] for servers that speak OpenAI's chat completions,
//! [`Anthropic`] for servers that speak Anthropic's messages, or a [`ScriptedModel`], which answers from a file. These
//! types need the feature `models`. A [`Model`] of your own gets a [`ModelRequest`] and returns a [`ModelStream`].

pub use holdover_core::list::SharedList;
pub use holdover_core::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream,
    ModelTool, PartialUse, StopReason, TokenUsage,
};
#[cfg(feature = "models")]
pub use holdover_models::{
    Anthropic, ApiKey, InvalidModelRef, ModelRef, OpenAi, Provider, Script, ScriptError, ScriptedModel,
    ServerSettings, connect,
};
