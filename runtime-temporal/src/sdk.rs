//! The thread of the SDK, whose workers cannot move between threads.

use std::io;
use std::time::Duration;

use futures::future::try_join_all;
use holdover_core::ids::QueueLabel;
use holdover_runtime_local::Runtime;
use temporalio_common::worker::{WorkerDeploymentOptions, WorkerDeploymentVersion};
use temporalio_sdk::runtime::worker_tuner::{FixedSizeSlotSupplier, TunerHolder};
use temporalio_sdk::{Worker, WorkerOptions};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::activities::Activities;
use crate::connect::{Connected, one_line};
use crate::ids::{interrupts_of, task_queue_of};
use crate::options::TemporalOptions;
use crate::workflow::SessionWorkflow;

/// The workflow tasks of one queue that are worked on at once. Each takes milliseconds.
const WORKFLOW_TASKS: usize = 32;

/// The interrupts of one queue that are carried out at once.
const INTERRUPTS: usize = 4;

/// The parts that the thread needs.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) runtime: Runtime,
    pub(crate) options: TemporalOptions,
    pub(crate) queues: Vec<QueueLabel>,
    /// No more work is accepted from then on. The thread ends when the activities have ended.
    pub(crate) stop: CancellationToken,
    /// The thread ends at once.
    pub(crate) abandon: CancellationToken,
}

/// Serves in a new thread until the plan says to stop. The runs are tasks of the caller's runtime, not of the thread.
pub(crate) async fn serve(plan: Plan) -> Result<(), String> {
    let program = Handle::current();
    let (tell, told) = oneshot::channel();
    let work = move || {
        let ended = Builder::new_current_thread().enable_all().build();
        let ended = ended.map_err(said).and_then(|own| {
            let abandon = plan.abandon.clone();
            let ended = own.block_on(async {
                let work = serve_all(plan, program);
                tokio::select! {
                    ended = work => ended,
                    () = abandon.cancelled() => Ok(()),
                }
            });
            own.shutdown_background();
            ended
        });
        // The receiver may have stopped listening.
        let _ = tell.send(ended);
    };
    std::thread::Builder::new().name("holdover-temporal".into()).spawn(work).map_err(said)?;
    told.await.unwrap_or_else(|_| Err("the thread of the SDK panicked".into()))
}

fn said(error: io::Error) -> String {
    error.to_string()
}

async fn serve_all(plan: Plan, program: Handle) -> Result<(), String> {
    let identity = plan.runtime.worker_id().to_string();
    let connected = tokio::select! {
        connected = Connected::new(&plan.options, &identity) => connected.map_err(|error| error.to_string())?,
        () = plan.stop.cancelled() => return Ok(()),
    };
    let own =
        temporalio_sdk::Runtime::from_current_tokio(Default::default()).map_err(|error| error.to_string())?;
    let mut workers = Vec::with_capacity(plan.queues.len());
    for queue in &plan.queues {
        for options in [options_of(&plan, queue, &program)?, interrupts(&plan, queue, &program)] {
            let worker = Worker::new(&own, connected.client.clone(), options);
            workers.push(worker.map_err(|error| one_line(&error.to_string()))?);
        }
    }
    let shut: Vec<_> = workers.iter().map(Worker::shutdown_handle).collect();
    let all = try_join_all(workers.iter_mut().map(Worker::run));
    let mut all = std::pin::pin!(all);
    tokio::select! {
        ended = &mut all => return ended.map(drop).map_err(|error| one_line(&error.to_string())),
        () = plan.stop.cancelled() => shut.iter().for_each(|shut| shut()),
    }
    all.await.map(drop).map_err(|error| one_line(&error.to_string()))
}

/// Returns the options of the worker that interrupts the sessions of a queue, also while all places for runs are taken.
fn interrupts(plan: &Plan, queue: &QueueLabel, program: &Handle) -> WorkerOptions {
    let slots = |number: usize| FixedSizeSlotSupplier::new(number);
    let tuner = TunerHolder::builder()
        .workflow_task_slot_supplier(slots(1))
        .activity_task_slot_supplier(slots(INTERRUPTS))
        .local_activity_task_slot_supplier(slots(1))
        .nexus_task_slot_supplier(slots(1))
        .build();
    WorkerOptions::new(interrupts_of(queue))
        .tuner(tuner)
        .register_activities(Activities::new(plan.runtime.clone(), program.clone()))
        .build()
}

fn options_of(plan: &Plan, queue: &QueueLabel, program: &Handle) -> Result<WorkerOptions, String> {
    let heartbeat = plan.runtime.options().lease.max(Duration::from_secs(1));
    let slots = |number: usize| FixedSizeSlotSupplier::new(number);
    let tuner = TunerHolder::builder()
        .workflow_task_slot_supplier(slots(WORKFLOW_TASKS))
        .activity_task_slot_supplier(slots(plan.options.max_running.get()))
        .local_activity_task_slot_supplier(slots(1))
        .nexus_task_slot_supplier(slots(1))
        .build();
    let version = WorkerDeploymentVersion::builder()
        .deployment_name("holdover")
        .build_id(env!("CARGO_PKG_VERSION"))
        .build();
    let activities = Activities::new(plan.runtime.clone(), program.clone());
    let options = WorkerOptions::new(task_queue_of(queue))
        .deployment_options(WorkerDeploymentOptions::new(version).build())
        .tuner(tuner)
        // Nothing of a session that waits stays in memory.
        .max_cached_workflows(0)
        .max_heartbeat_throttle_interval(heartbeat / 2)
        .register_activities(activities)
        .register_workflow_with_factory(move || SessionWorkflow::new(heartbeat))
        .map_err(|error| error.to_string())?;
    Ok(options.build())
}
