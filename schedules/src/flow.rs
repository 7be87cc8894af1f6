//! The flow that runs a schedule.

use holdover_core::ids::{InvalidId, QueueLabel};
use holdover_core::time::Timestamp;
use holdover_core::tool::ToolError;
use holdover_flow::{Cx, Flow, FlowError, Step, StepCx, StepError, Stop};
use holdover_runtime_local::{Runtime, RuntimeError};

use crate::place::{Born, Place};
use crate::rules::Input;
use crate::schedules::AGENT;
use crate::starting::{Outcome, StartTick, StartedTick, start};

/// The version of the code. Raise it with a change that decides otherwise than recorded schedules.
const VERSION: &str = "1";

/// Finds out when the schedule was added.
const BORN: Step<(), Born> = Step::read_only("begin");
/// Starts the target of one instant.
const START: Step<StartTick, StartedTick> = Step::idempotent("start");

/// Builds the flow, whose sessions wait under `queue` if one is given.
pub(crate) fn build(runtime: Runtime, queue: Option<QueueLabel>) -> Result<Flow<Input, ()>, FlowError> {
    let flow = Flow::builder(AGENT, schedule)
        .version(VERSION)
        .on(&BORN, born)
        .on(&START, |cx: StepCx, tick: StartTick| async move { start(&cx, &tick).await })
        .with(runtime);
    match queue {
        Some(queue) => flow.queue(queue).build(),
        None => flow.build(),
    }
}

/// Starts the target at the next instant, and carries on with the one after it.
///
/// The input with which it carries on records the next instant. A crash between the start and this record makes the start
/// again, under the same key.
async fn schedule(cx: Cx, input: Input) -> Result<(), Stop> {
    let Input { rules, from, paused, place, .. } = input;
    if paused {
        return Ok(());
    }
    let Some(mut place) = place else {
        let born = cx.step(&BORN, &()).await?;
        let ticks = rules.ticks(born).map_err(Stop::failed)?;
        let place = Place::begin(&ticks, from.unwrap_or(born.at));
        return cx.carry_on(&Input { place: Some(place), ..Input::begin(rules, None, None) });
    };
    let ticks = rules.ticks(place.born).map_err(Stop::failed)?;
    let Some(wakes) = place.wakes(&ticks) else { return Ok(()) };
    cx.sleep_until(wakes).await?;
    let now: Timestamp = cx.now();
    for tick in place.take_due(&ticks, now, rules.catch_up) {
        if place.gives_way(tick, &rules) {
            continue;
        }
        let asked = StartTick {
            instant: tick.instant,
            life: place.born.life,
            overlap: rules.overlap,
            stops: tick.since.is_none(),
            since: place.since,
        };
        let started = match cx.step(&START, &asked).await {
            Ok(started) => started,
            Err(stopped) if cx.is_stopping() => return Err(stopped.into()),
            Err(failed) => Outcome::Failed { why: why(&failed) }.alone(),
        };
        place.since = started.since.or(place.since);
        place.note(tick, started.outcome, now, &rules);
    }
    cx.carry_on(&Input { place: Some(place), ..Input::begin(rules, None, None) })
}

fn why(error: &StepError) -> String {
    error.to_string()
}

/// Returns the life of this session, and the instant at which it was created.
async fn born(cx: StepCx, (): ()) -> Result<Born, ToolError> {
    let runtime = cx.get::<Runtime>()?;
    let session = runtime.session(cx.session()).await.map_err(|error| lost(&error))?;
    let session = session.ok_or_else(|| ToolError::failed("the session of the schedule is gone"))?;
    Ok(Born { life: session.incarnation, at: session.created_at })
}

/// Returns the error of a step that is sent again.
pub(crate) fn lost(error: &RuntimeError) -> ToolError {
    ToolError::Lost(error.to_string())
}

/// Returns the reason why a name does not fit.
pub(crate) fn unfit(error: &InvalidId) -> ToolError {
    ToolError::failed(error)
}
