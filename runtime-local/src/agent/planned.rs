//! Agents whose calls are planned by code, in place of a model.

use std::sync::Arc;

use async_trait::async_trait;
use holdover_core::model::{Model, ModelError, ModelErrorKind, ModelRequest, ModelStream};
use holdover_core::plan::Planner;

use super::AgentBuilder;

impl AgentBuilder {
    /// Sets the code that plans the calls of the agent's sessions, in place of a model. See
    /// [`plan`](holdover_core::plan). The crate `holdover-flow` builds such agents from ordinary functions.
    pub fn planner(mut self, planner: impl Planner) -> Self {
        self.planner = Some(Arc::new(planner));
        self.spec.planned = true;
        if self.model.is_none() {
            self.model = Some(Arc::new(NoModel));
        }
        self
    }
}

/// The model of an agent whose calls are planned by code. It is never asked.
struct NoModel;

#[async_trait]
impl Model for NoModel {
    fn name(&self) -> &str {
        "code"
    }

    async fn stream(&self, _request: ModelRequest) -> Result<ModelStream, ModelError> {
        Err(ModelError::new(ModelErrorKind::Denied, "the calls of this agent are planned by code"))
    }
}
