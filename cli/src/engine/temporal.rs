//! Temporal as the engine.

use std::sync::Arc;

use async_trait::async_trait;
use holdover_runtime_local::{CancellationToken, Engine, Runtime};
use holdover_runtime_temporal::{TemporalEngine, TemporalOptions, TemporalWorker};

use super::{EngineUrl, HowToWork, Scheduler};
use crate::exit::Failure;

struct Temporal {
    options: TemporalOptions,
}

/// Prepares the namespace that `url` names.
pub(super) fn prepare(url: &EngineUrl) -> Result<Arc<dyn Scheduler>, Failure> {
    let options = TemporalOptions::new(url.secret()).map_err(|error| url.wrong(&error))?;
    Ok(Arc::new(Temporal { options: options.api_key(EngineUrl::token()) }))
}

#[async_trait]
impl Scheduler for Temporal {
    fn engine(&self) -> Arc<dyn Engine> {
        Arc::new(TemporalEngine::new(self.options.clone()))
    }

    async fn work(
        &self,
        runtime: Runtime,
        how: &HowToWork,
        stop: CancellationToken,
    ) -> Result<usize, Failure> {
        let options = self.options.clone().max_running(how.max_running);
        let options = options.drain(how.drain).shutdown_grace(how.grace);
        let worker = TemporalWorker::new(runtime, options);
        let worker = worker.map_err(|error| Failure::failed(format!("engine {error}")))?;
        Ok(worker.run(stop).await)
    }
}
