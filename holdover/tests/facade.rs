//! A service can name the types that it passes to the runtime or gets from it through the facade alone.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use holdover::agent::Changed;
use holdover::prelude::*;
use holdover::session::{
    Deletion, Fork, HandOff, HandedOff, Interaction, Message, MessageEntry, MessageSeq, OperationId,
    PageRequest, ResultStatus, RunRecord, SignalBody, ToolResult, Wake,
};

/// Uses many of these types. It is never run: the test is that it compiles.
async fn everything(runtime: Runtime, key: SessionKey) -> Result<(), RuntimeError> {
    let runs: Vec<RunRecord> = runtime.runs(&key, PageRequest::default()).await?.items;
    let newest: Vec<MessageEntry> = runtime.messages_after(&key, MessageSeq(0), 10).await?;
    for entry in newest {
        if let Message::Tool(ToolResult { status: ResultStatus::InDoubt, .. }) = entry.message {
            runtime.deliver(&key, Deliver::signal(SignalBody::Resume)).await?;
        }
    }
    runtime.deliver(&key, Deliver::message_that(format!("{} runs", runs.len()), Wake::Quiet)).await?;
    runtime.fork(&key, Fork::newest().once("once".parse::<OperationId>()?)).await?;
    let goal = HandOff::for_goal("go on elsewhere").draft().once("key".parse::<ItemKey>()?);
    let HandedOff { key: handed, .. } = runtime.hand_off(&key, goal).await?;
    let prepared: bool = runtime.glance(&handed).await?.interaction != Interaction::Handoff;
    runtime.deliver(&key, Deliver::message_that(format!("prepared: {prepared}"), Wake::Quiet)).await?;
    runtime.delete(&key, Deletion::UNLESS_ACTIVE).await
}

#[test]
fn a_service_names_what_it_uses() {
    let _ = everything;
    let _ = Agents::new().changed(Changed::IsRefused);
}
