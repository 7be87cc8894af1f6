//! Work W on durare: a workflow whose model and tool calls are steps. Prints the same line as the other peers' programs.
//! The modes are `work`, for the workload, `doomed` and `successor`, for the time until a killed session continues, and
//! `finish`, which ends such a session.
//!
//! A runtime with one thread was not faster than tokio's default.

mod store;
#[path = "../../programs/w.rs"]
mod w;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use durare::{DurableContext, DurableEngine, Error, StateProvider, WorkflowHandle, WorkflowOptions};
use serde_json::json;

use w::{Failure, KILLED_AT, Watch, Work, payload};

const VERSION: &str = "0.5.0";

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let work = Arc::new(Work::from_arguments()?);
    let effects = Arc::new(AtomicUsize::new(0));
    let (provider, pool) = store::open(&work).await?;
    let settings = pool.settings().await?;
    let engine = engine(provider, &work, &effects).await?;
    // Continues the sessions that a killed process left.
    engine.recover().await?;
    let watch = Watch::start()?;
    let mut handles: Vec<WorkflowHandle<usize>> = Vec::new();
    for number in 0..work.sessions {
        // A session that exists is not started again: its handle waits for its end.
        handles.push(engine.start("agent", (), WorkflowOptions::with_id(session(number))).await?);
    }
    for handle in handles {
        assert_eq!(handle.await?, 2 * work.steps);
    }
    let numbers = watch.measured(&work)?;
    check(&engine, &work, effects.load(Ordering::Relaxed)).await?;
    pool.close().await;
    w::say(json!({ "system": "durare", "version": VERSION, "settings": settings }), &numbers);
    Ok(())
}

fn session(number: usize) -> String {
    format!("session-{number}")
}

/// Builds the engine. With a version of its own, it does not hash the executable.
async fn engine(
    provider: Arc<dyn StateProvider>,
    work: &Arc<Work>,
    effects: &Arc<AtomicUsize>,
) -> durare::Result<DurableEngine> {
    let (work, effects) = (work.clone(), effects.clone());
    let mut builder = DurableEngine::builder(provider);
    builder.app_version("1");
    builder.register("agent", move |context: DurableContext, (): ()| {
        agent(context, work.clone(), effects.clone())
    });
    builder.build().await
}

/// Runs a session, and counts the calls of model and tool that ended.
async fn agent(context: DurableContext, work: Arc<Work>, effects: Arc<AtomicUsize>) -> durare::Result<usize> {
    let session = context.workflow_id();
    let mut messages = Vec::new();
    for step in 0..work.steps {
        let model = async || {
            let answer = work.model(session, step).await;
            effects.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Error>(answer)
        };
        messages.push(context.step("model", model).await?);
        let tool = async || {
            effects.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Error>(payload(session, step, "tool"))
        };
        messages.push(context.step("tool", tool).await?);
    }
    Ok(messages.len())
}

/// Checks that every answer and result is stored, in order, and that this process made each only once. A process that
/// finishes a session makes only those that the killed process had not made.
async fn check(engine: &DurableEngine, work: &Work, effects: usize) -> Result<(), Failure> {
    let first = if work.mode == "finish" { KILLED_AT } else { 0 };
    assert_eq!(effects, 2 * work.sessions * (work.steps - first));
    for number in 0..work.sessions {
        let stored = engine.get_workflow_steps(&session(number)).await?;
        assert_eq!(stored.len(), 2 * work.steps);
        for (position, checkpoint) in stored.iter().enumerate() {
            let part = if position % 2 == 0 { "model" } else { "tool" };
            assert_eq!(checkpoint.name, part);
            assert_eq!(checkpoint.output, Some(payload(&session(number), position / 2, part).into()));
        }
    }
    Ok(())
}
