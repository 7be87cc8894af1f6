#![doc = include_str!("docs/lib.md")]

pub mod guide;

pub use holdover_core as core;

pub use holdover_core::agent::BreakerRules;
pub use holdover_core::agent::{
    AgentSpec, AtMax, Compaction, Durability, EARLY_READS_MAX, Fallback, Limits, LoopDetection, OnDenial,
    OnTrip, Prices, Retries, StopCondition, StopSignals,
};
pub use holdover_core::breaker::Breaker;
pub use holdover_core::compaction::ResultSummariser;
pub use holdover_core::custom::{CustomState, STATE_BYTES_MAX, StateChange, StateCheck, StateRules};
pub use holdover_core::delta::Delta;
pub use holdover_core::engine::{Drain, RunDetail, RunKind, RunOutcome};
pub use holdover_core::error::ErrorInfo;
pub use holdover_core::event::{Event, SummaryCause};
pub use holdover_core::gate::{
    ApprovalRule, ApprovalTerms, Approvers, ArgumentPatterns, AtExpiry, DenialRecord, DeniedBy, Escalation,
    GateError, GateQuestion, PermissionMode, PolicyGate, RuleAction, RuleGate, StrictestGate, Verdict,
};
pub use holdover_core::handoff::{GOAL_BYTES_MAX, InvalidGoal};
pub use holdover_core::hook::{
    AfterStep, AfterTool, BeforeModel, BeforeTool, HOOK_TIMEOUT, Hook, HookError, HookPoint, ModelAsked,
    Moved, OnFailure, StepEnded, StopIf, ToolEnded, TurnBegins, TurnEnds,
};
pub use holdover_core::ids::{
    CallId, CheckpointId, InboxSeq, InvalidId, ItemKey, MessageSeq, OperationId, PendingId, QueueLabel,
    SessionId, SessionKey, TenantId, ToolName, WorkerId,
};
pub use holdover_core::image::{
    IMAGE_BYTES_MAX, IMAGES_BYTES_MAX, IMAGES_MAX, Image, ImageType, Images, InvalidImage,
};
pub use holdover_core::machine::glance::{Glance, Interaction};
pub use holdover_core::machine::{DoneReason, Ending, Owed, OwedKind, Suspension, Usage};
pub use holdover_core::message::{
    AssistantMessage, AssistantPart, ClientAnswer, Decision, Message, PendingBody, ResultStatus, Said,
    SignalBody, ToolResult, UserMessage,
};
pub use holdover_core::message::{MessagePolicy, WhileAsking};
pub use holdover_core::mode::{Briefing, Mode};
pub use holdover_core::model::{
    AnswerPart, Model, ModelAnswer, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream,
    ModelTool, StopReason, TokenUsage,
};
pub use holdover_core::output::{OutputPlace, OutputSpec};
pub use holdover_core::payload::Digest;
pub use holdover_core::provision::Provisioner;
pub use holdover_core::skill::{SkillEntry, SkillSet};
pub use holdover_core::store::{
    Capabilities, Checkpoint, DeleteMode, Deletion, EventCursor, InterruptOutcome, Labels, OutcomeKind, Page,
    PageCursor, PageRequest, PendingCall, PendingKind, PendingQuery, PurgeReport, Queues, Remove, RunRecord,
    Session, SessionQuery, SessionStatus, SessionSummary, StateStore, StoreError, StoreErrorKind, StreamId,
    TimeRange, Wake,
};
pub use holdover_core::time::{Clock, Timestamp};
pub use holdover_core::tool::{
    Access, Bound, EffectClass, ResourceProfile, RunsOn, Stopped, Tool, ToolCall, ToolError, ToolOutput,
    ToolReturn, ToolSpec,
};
pub use holdover_runtime_local::{
    Agent, AgentBuilder, AgentError, AgentSource, Agents, Answered, Approval, BREAKER_TENANT, Breaking,
    Breaks, CancellationToken, Changed, CheckpointEntry, ClientTool, Deciders, Definition, Deliver,
    Delivered, DeltaEntry, Denial, EventEntry, Execute, Follow, Fork, Forked, HandOff, HandedOff, Later,
    MessageEntry, Move, PendingEntry, PendingPage, Provisional, QueuedMessage, Replay, Response, Retention,
    RunHandle, RunObserver, RunReport, Runtime, RuntimeError, RuntimeErrorKind, RuntimeOptions, Shown,
    Snapshot, Standing, Started, StoreOutage, UnreadablePending, Worker, WorkerOptions, agent_label,
};
#[cfg(feature = "memory")]
pub use holdover_store_memory::{Limits as MemoryLimits, MemoryStore};
#[cfg(feature = "postgres")]
pub use holdover_store_postgres::{PostgresOptions, PostgresStore};
#[cfg(feature = "redis")]
pub use holdover_store_redis::{RedisOptions, RedisStore};
#[cfg(feature = "sqlite")]
pub use holdover_store_sqlite::{SqliteOptions, SqliteStore, Synchronous};

#[cfg(feature = "gates")]
pub use holdover_gates as gates;
#[cfg(feature = "mcp")]
pub use holdover_mcp as mcp;
#[cfg(feature = "models")]
pub use holdover_models as models;
#[cfg(feature = "layers")]
pub use holdover_store_layers as layers;
#[cfg(feature = "tools")]
pub use holdover_tools as tools;

#[cfg(all(doctest, feature = "sqlite", feature = "models", feature = "tools"))]
#[doc = include_str!("../../README.md")]
struct ReadMe;
