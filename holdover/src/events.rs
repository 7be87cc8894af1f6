//! Events: the record of a session, and the model's text while it is being written.
//!
//! ```
//! use futures::StreamExt;
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
//! let mut shown = runtime.follow(run.key(), EventCursor::START, Follow::UntilRest);
//! while let Some(shown) = shown.next().await {
//!     println!("{}", shown?.kind());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`Runtime::follow`](crate::runtime::Runtime::follow) streams [`Shown`] values: events, which are durable; deltas,
//! which show answers and calls in progress; and notices that the deltas of an attempt are void. An [`EventCursor`]
//! continues a stream where it stopped, in any process. A page that opens in the middle begins with a [`Snapshot`].
//!
//! [`Runtime::follow_tree`](crate::runtime::Runtime::follow_tree) also streams the events and deltas of a session's
//! children.

pub use holdover_core::delta::Delta;
pub use holdover_core::event::{Event, SummaryCause};
pub use holdover_core::store::{EventCursor, EventPlace, InvalidCursor, StreamId};
pub use holdover_runtime_local::{
    DeltaEntry, EventEntry, Follow, Shown, Snapshot, TreeCursor, TreeMember, TreeShown,
};
