//! Layers between a runtime and its store. Needs the feature `layers`.
//!
//! ```
//! use holdover::model::{Script, ScriptedModel};
//! use holdover::prelude::*;
//! use holdover::store::layers::{Compressed, PayloadCodec};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let model = ScriptedModel::new("desk", Script::from_toml("[[turns]]\nsay = 'Good day.'")?);
//! # let agent = std::sync::Arc::new(Agent::builder("clerk").model(model).build()?);
//! # let agents = Agents::new().with(agent.clone());
//! let store = Compressed::new().around(MemoryStore::new());
//! let runtime = Runtime::new(store, agents, RuntimeOptions::default());
//! let run = runtime.execute(Execute::new(TenantId::new("acme")?, agent, "Hello?")).await?;
//! assert_eq!(run.text().await?, "Good day.");
//! # Ok(())
//! # }
//! ```
//!
//! [`Encoded`] stores payloads [`Compressed`], [`Encrypted`], or encoded by a [`PayloadCodec`] of your own. [`Faulty`]
//! injects the faults that a test plans, and [`Recording`] keeps each request with its answer. If a store passes the
//! conformance suite, each of these layers around that store passes it too, as long as no fault is planned.

pub use holdover_store_layers::{
    CodecError, Compressed, DECODED_BYTES_MAX, Encoded, Encoding, Encrypted, EncryptionKey, Entry, Fault,
    Faults, Faulty, InvalidKey, InvalidKeyring, KeyId, Keyring, OrPlain, PayloadCodec, PayloadContext,
    PayloadKind, Planned, Recorder, Recording, Then, encoding_of_reason,
};
