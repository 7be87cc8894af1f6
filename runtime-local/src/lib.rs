//! The runtime of Holdover: drives sessions on tokio, in one process or in many.
//!
//! > The core decides, the runtime performs, the store remembers.
//!
//! An embedding service builds [`Agent`]s, passes them with a store to a [`Runtime`], and calls
//! [`Runtime::execute`]. A process that only runs sessions uses a [`Worker`]. Both handle a session in the same
//! way: they claim it, ask core's `StepIterator` for the next action, perform the action, and report the result to
//! core. This crate is the only one that performs effects.
//!
//! While a session is suspended, no part of it is in memory: no task and no timer. A caller of [`Runtime::wait`]
//! waits in its own task; if that task dies, nothing is lost.

mod agent;
mod arguments;
mod backoff;
mod breaker;
mod clock;
mod drive;
mod elsewhere;
mod engine;
mod error;
mod gate;
mod guard;
mod hint;
mod hooks;
mod host;
mod observer;
mod outage;
mod runtime;
mod source;
mod worker;

pub use agent::{Agent, AgentBuilder, ClientTool, Definition, SUB_AGENT_DEPTH_MAX, SubAgent};
pub use arguments::{JSON_DEPTH_MAX, check_arguments};
pub use breaker::{BREAKER_QUEUE, BREAKER_TENANT, TOKEN_QUEUE};
pub use elsewhere::{Elsewhere, ElsewhereError};
pub use engine::{Engine, EngineError, Known, Seen, WakeUp};
pub use error::{AgentError, RuntimeError, RuntimeErrorKind, SignalError};
pub use observer::{Provisional, RunObserver, StoreOutage};
pub use runtime::{
    AgentRecord, Answered, Approval, BeginChild, Breaking, Breaks, CheckpointEntry, ChildEntry, ChildPlace,
    ChildStanding, DeadLetter, DeadLetterPage, Deciders, Deliver, Delivered, DeliveredItem, DeltaEntry,
    Denial, EDIT_BYTES_MAX, EventEntry, Execute, Follow, Fork, Forked, GIVE_BACK_FOR, HandOff, HandedOff,
    HeldSignal, Later, MessageEntry, MessagesPage, Move, Next, PendingEntry, PendingPage, QueuedMessage,
    Replay, Response, Retention, RunHandle, RunReport, Runtime, RuntimeOptions, Served, Shown, Signal,
    Snapshot, Standing, StartRecorded, Started, Taken, Tree, TreeCursor, TreeEntry, TreeMember, TreeShown,
    UnreadablePending, agent_label, glance_of, is_due, machine_of, only_looks, outcome_of,
};
pub use source::{AgentSource, Agents, Changed};
pub use worker::{Worker, WorkerOptions};

/// The token that stops [`Worker::run`].
pub use tokio_util::sync::CancellationToken;
