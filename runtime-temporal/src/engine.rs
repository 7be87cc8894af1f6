//! The engine: tells Temporal which sessions may have work.

use std::fmt;

use async_trait::async_trait;
use holdover_core::ids::SessionKey;
use holdover_runtime_local::{Engine, EngineError, Known, Seen, WakeUp};
use temporalio_client::errors::WorkflowInteractionError;
use temporalio_client::{
    WorkflowIdConflictPolicy, WorkflowIdReusePolicy, WorkflowSignalOptions, WorkflowStartOptions,
};
use temporalio_common::search_attributes::SearchAttributes;
use tokio::sync::OnceCell;

use crate::connect::{Connected, one_line};
use crate::ids::{task_queue_of, workflow_id_of};
use crate::look::look;
use crate::options::TemporalOptions;
use crate::words::Order;
use crate::workflow::{STATUS, SessionWorkflow};

/// Temporal as the engine of a runtime (`RuntimeOptions::engine`). Each wake-up of a session is the signal `wake` to the
/// session's workflow, which begins with it if it does not run.
///
/// The first request connects, so a program can begin while Temporal is down.
pub struct TemporalEngine {
    options: TemporalOptions,
    connected: OnceCell<Connected>,
}

impl TemporalEngine {
    /// Creates an engine. Connects to nothing yet.
    pub fn new(options: TemporalOptions) -> Self {
        Self { options, connected: OnceCell::new() }
    }

    async fn connected(&self) -> Result<&Connected, EngineError> {
        let identity = format!("holdover {}", std::process::id());
        let connect = || Connected::new(&self.options, &identity);
        self.connected.get_or_try_init(connect).await.map_err(|error| EngineError::new(error.to_string()))
    }

    /// Signals the session's workflow. Starts the workflow with the signal if it does not run.
    async fn signal_or_start(&self, key: &SessionKey, known: &Known) -> Result<(), EngineError> {
        let connected = self.connected().await?;
        let status = || SearchAttributes::new([STATUS.value_set(known.status.as_str().to_owned())]);
        let options = WorkflowStartOptions::new(task_queue_of(&known.queue), workflow_id_of(key))
            .id_reuse_policy(WorkflowIdReusePolicy::AllowDuplicate)
            .id_conflict_policy(WorkflowIdConflictPolicy::UseExisting)
            .maybe_search_attributes(connected.shows.then(status))
            .build();
        let order = Order::new(key.clone(), known.queue.clone(), connected.shows, self.options.events_max);
        let (workflow, wake) = (SessionWorkflow::run, SessionWorkflow::wake);
        let started = connected.client.signal_with_start_workflow(workflow, order, wake, (), options).await;
        started.map(drop).map_err(|error| self.failed(&error))
    }

    /// Signals the workflow of a deleted session, if it runs. It finds nothing to serve and ends.
    async fn signal(&self, key: &SessionKey) -> Result<(), EngineError> {
        let client = &self.connected().await?.client;
        let handle = client.get_workflow_handle::<SessionWorkflow>(workflow_id_of(key));
        match handle.signal(SessionWorkflow::wake, (), WorkflowSignalOptions::default()).await {
            Ok(()) | Err(WorkflowInteractionError::NotFound(_)) => Ok(()),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn failed(&self, error: &dyn fmt::Display) -> EngineError {
        EngineError::new(format!("{}: {}", self.options.address(), one_line(&error.to_string())))
    }
}

#[async_trait]
impl Engine for TemporalEngine {
    async fn wake(&self, wake: &WakeUp) -> Result<(), EngineError> {
        match &wake.session {
            Some(known) => self.signal_or_start(&wake.key, known).await,
            None => self.signal(&wake.key).await,
        }
    }

    async fn look(&self, key: &SessionKey) -> Result<Option<Seen>, EngineError> {
        look(&self.connected().await?.client, key).await.map_err(|error| self.failed(&error))
    }

    fn name(&self) -> String {
        self.options.address()
    }
}

impl fmt::Debug for TemporalEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TemporalEngine").field("options", &self.options).finish_non_exhaustive()
    }
}
