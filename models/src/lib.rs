//! Model adapters behind core's `Model` trait.
//!
//! - [`OpenAi`]: any server that speaks OpenAI's chat completions, hosted or local.
//! - [`ScriptedModel`]: no model at all, and named so: it answers from a file. For tests and demos.
//!
//! [`ModelRef`] names one of them as `PROVIDER:NAME`, and [`connect`] makes it.
//!
//! An adapter never retries by itself. What a provider's library thinks of types and errors stays in here.

mod openai;
mod reference;
mod scripted;
#[cfg(test)]
mod testing;

pub use openai::{ApiKey, OpenAi, OpenAiSettings};
pub use reference::{InvalidModelRef, ModelRef, Provider, connect};
pub use scripted::{Script, ScriptError, ScriptedModel};
