//! Adapters that implement core's `Model` trait.
//!
//! - [`OpenAi`]: any server that speaks OpenAI's chat completions API, hosted or local.
//! - [`Anthropic`]: any server that speaks Anthropic's messages API.
//! - [`ScriptedModel`]: no model at all. It plays answers from a script, for tests and demos.
//!
//! A [`ModelRef`] names a model as `PROVIDER:NAME`, and [`connect`] creates its adapter.
//!
//! An adapter does not retry a failed request, with one exception: if the server has closed the kept connection that a
//! request uses, the adapter sends the request once more, over a new connection. Types and errors of a provider's
//! library stay inside this crate.

mod anthropic;
mod openai;
mod reference;
mod scripted;
#[cfg(test)]
mod testing;
mod wire;

pub use anthropic::Anthropic;
pub use openai::OpenAi;
pub use reference::{InvalidModelRef, ModelRef, Provider, connect};
pub use scripted::{Script, ScriptError, ScriptedModel};
pub use wire::{ApiKey, ServerSettings};
