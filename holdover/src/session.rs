//! Sessions: the types with which you begin, read, list, branch and remove sessions, and send to them.
//!
//! ```
//! use holdover::model::{Script, ScriptedModel};
//! use holdover::prelude::*;
//! use holdover::session::Message;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let model = ScriptedModel::new("desk", Script::from_toml("[[turns]]\nsay = 'Good day.'")?);
//! # let agent = std::sync::Arc::new(Agent::builder("clerk").model(model).build()?);
//! # let agents = Agents::new().with(agent.clone());
//! # let runtime = Runtime::new(MemoryStore::new(), agents, RuntimeOptions::default());
//! let first = Execute::new(TenantId::new("acme")?, agent, "Hello?").once(ItemKey::new("mail-42")?);
//! let run = runtime.execute(first).await?;
//! let session = run.key().clone();
//! assert_eq!(run.text().await?, "Good day.");
//!
//! runtime.deliver(&session, Deliver::message("And today?")).await?;
//! runtime.resume(&session).await?.outcome().await?;
//! let said = runtime.messages(&session).await?;
//! assert!(matches!(said[0].message, Message::User(_)));
//! # Ok(())
//! # }
//! ```
//!
//! | you want to | types |
//! |---|---|
//! | begin a session, or a turn of it | [`Execute`], [`Started`], [`Response`], [`RunOutcome`] |
//! | send it something | [`Deliver`], [`Delivered`], [`SignalBody`], [`Wake`], [`QueuedMessage`], [`Signal`], [`HeldSignal`] |
//! | read it | [`Session`], [`Standing`], [`Glance`], [`Message`], [`RunRecord`], [`Usage`] |
//! | branch off it | [`Fork`], [`HandOff`], [`Checkpoint`] |
//! | find it | [`SessionQuery`], [`Labels`], [`PageRequest`] |
//! | remove it | [`Deletion`], [`Retention`] |
//!
//! A [`SessionKey`] names a session by its tenant and id. A request with an [`ItemKey`] or [`OperationId`] takes
//! effect once, however often it is sent.

pub use holdover_core::ending::{CancelReason, DoneReason, Ending, StopCause};
pub use holdover_core::engine::{RunDetail, RunKind, RunOutcome};
pub use holdover_core::error::ErrorInfo;
pub use holdover_core::handoff::{GOAL_BYTES_MAX, InvalidGoal};
pub use holdover_core::ids::{
    CheckpointId, Epoch, EventSeq, Fence, InboxSeq, Incarnation, InvalidId, ItemKey, MessageSeq, OperationId,
    RunId, SessionId, SessionKey, StepNumber, TenantId, TurnNumber, Version,
};
pub use holdover_core::image::{
    IMAGE_BYTES_MAX, IMAGES_BYTES_MAX, IMAGES_MAX, Image, ImageType, Images, InvalidImage,
};
pub use holdover_core::machine::glance::{CallCounts, Ended, Glance, Interaction, LastSaid, OpenCalls};
pub use holdover_core::message::{
    AssistantMessage, AssistantPart, CallRequest, CallSignal, InvalidMention, MENTION_PATH_BYTES_MAX,
    MENTIONS_MAX, Mention, Mentions, Message, NotRead, Notice, ResultStatus, Said, SignalBody, ToolResult,
    UserMessage,
};
pub use holdover_core::signal::{SIGNAL_BODY_BYTES_MAX, SIGNALS_HELD_MAX, SignalName};
pub use holdover_core::store::{
    Checkpoint, DeleteMode, Deletion, InterruptOutcome, Labels, OutcomeKind, Page, PageCursor, PageRequest,
    PurgeReport, Remove, RunEnded, RunRecord, Session, SessionQuery, SessionStatus, SessionSummary,
    TimeRange, Wake,
};
pub use holdover_core::suspension::{Owed, OwedKind, Suspension};
pub use holdover_core::usage::Usage;
pub use holdover_runtime_local::{
    AgentRecord, BeginChild, CheckpointEntry, ChildEntry, ChildPlace, ChildStanding, Deliver, Delivered,
    DeliveredItem, EDIT_BYTES_MAX, Execute, Fork, Forked, HandOff, HandedOff, HeldSignal, MessageEntry,
    MessagesPage, QueuedMessage, Response, Retention, RunReport, Signal, SignalError, Standing,
    StartRecorded, Started, Taken, Tree, TreeEntry, glance_of, machine_of, outcome_of,
};
