//! The schedules of the store, and the agent that runs them.

use std::sync::Arc;

use holdover_core::ids::QueueLabel;
use holdover_core::payload::Payload;
use holdover_core::store::StateStore;
use holdover_runtime_local::{Agent, Definition, RuntimeOptions};
use holdover_schedules::{AGENT, Schedules};

use crate::exit::Failure;
use crate::source::QUEUE;

/// The schedules of a store. Their sessions wait in the queue of this program.
#[derive(Debug, Clone)]
pub(crate) struct Timetable(pub(crate) Schedules);

impl Timetable {
    /// Returns the schedules of the store. `options` are those of the runtime on it.
    pub(crate) fn of(store: Arc<dyn StateStore>, options: RuntimeOptions) -> Result<Self, Failure> {
        let queue = QueueLabel::new(QUEUE).map_err(|error| Failure::failed(error.to_string()))?;
        let schedules = Schedules::in_queue(store, options, queue);
        schedules.map(Self).map_err(|error| Failure::failed(error.to_string()))
    }

    /// Returns the agent that runs schedules.
    pub(crate) fn agent(&self) -> Result<Arc<Agent>, String> {
        Ok(Arc::clone(self.0.agent()))
    }
}

/// Returns true if this is the definition of a session that runs a schedule.
pub(crate) fn is_schedule(definition: &Payload) -> bool {
    Definition::read(definition)
        .is_ok_and(|definition| definition.spec.planned && definition.spec.name == AGENT)
}
