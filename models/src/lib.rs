//! Adapters that implement core's `Model` trait.
//!
//! - [`OpenAi`]: any server that speaks OpenAI's chat completions API, hosted or local.
//! - [`Anthropic`]: any server that speaks Anthropic's messages API.
//! - [`ScriptedModel`]: no model at all. It plays answers from a script, for tests and demos.
//!
//! A [`ModelRef`] names a model as `PROVIDER:NAME`, and [`connect`] creates its adapter. Without the feature `http`, only
//! scripts can be played.
//!
//! An adapter does not retry a failed request, with one exception: if the server has closed the kept connection that a
//! request uses, the adapter sends the request once more, over a new connection. Types and errors of a provider's
//! library stay inside this crate.

#[cfg(feature = "http")]
mod anthropic;
#[cfg(feature = "http")]
mod openai;
mod reference;
mod scripted;
#[cfg(feature = "http")]
#[cfg(test)]
mod testing;
#[cfg(feature = "http")]
mod wire;

#[cfg(feature = "http")]
pub use anthropic::Anthropic;
#[cfg(feature = "http")]
pub use openai::OpenAi;
pub use reference::{InvalidModelRef, ModelRef, Provider, connect};
pub use scripted::{Script, ScriptError, ScriptedModel};
#[cfg(feature = "http")]
pub use wire::{ApiKey, ServerSettings};
