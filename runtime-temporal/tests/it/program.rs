//! A program with a worker. It has a tokio runtime of its own, so that it can die at any instruction, and its tasks can be
//! counted.

use std::sync::Arc;

use holdover_core::store::StateStore;
use holdover_runtime_local::{Agent, CancellationToken};
use holdover_runtime_temporal::{TemporalOptions, TemporalWorker};
use tokio::runtime::Builder;
use tokio::task::JoinHandle;

use crate::bench::runtime;

/// A program that serves sessions for Temporal.
pub(crate) struct Program {
    tokio: Option<tokio::runtime::Runtime>,
    worker: JoinHandle<usize>,
}

impl Program {
    pub(crate) fn start(store: &Arc<dyn StateStore>, agent: &Arc<Agent>, temporal: &TemporalOptions) -> Self {
        let tokio = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (store, agent, temporal) = (Arc::clone(store), Arc::clone(agent), temporal.clone());
        let worker = tokio.spawn(async move {
            let runtime = runtime(&store, &agent, &temporal);
            TemporalWorker::new(runtime, temporal).unwrap().run(CancellationToken::new()).await
        });
        Self { tokio: Some(tokio), worker }
    }

    /// Returns the number of tasks of the program.
    pub(crate) fn tasks(&self) -> usize {
        self.tokio.as_ref().unwrap().metrics().num_alive_tasks()
    }

    /// Kills the program: nothing of it runs on, and it tells nobody.
    pub(crate) async fn kill(mut self) {
        self.worker.abort();
        assert!((&mut self.worker).await.unwrap_err().is_cancelled());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(tokio) = self.tokio.take() {
            tokio.shutdown_background();
        }
    }
}
