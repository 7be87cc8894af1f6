//! The router and its routes.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use holdover_runtime_local::{Agent, Runtime};

use crate::callers::Callers;
use crate::problem::Problem;
use crate::words::BODY_BYTES_MAX;
use crate::{outcomes, tasks};

/// Returns a router that accepts tasks for `agents` from `callers`, and receives the outcomes of tasks that this
/// program gave. The [crate's documentation](crate) lists the routes. The router runs no sessions; workers run them.
///
/// An agent is offered under its name. If two agents have the same name, the last one is offered. The runtime's agent
/// source must also have the agent.
///
/// The router can be nested under a path without parameters, and merged with other routers. It sets no limits on time,
/// rate or connections: use those of your server. The paths under `/outcomes` contain secrets, so keep them out of
/// access logs.
///
/// ```
/// use std::sync::Arc;
///
/// use holdover_core::ids::TenantId;
/// use holdover_elsewhere::{Callers, router};
/// # use holdover_runtime_local::{Agent, Runtime};
///
/// # fn serve(runtime: Runtime, digger: Arc<Agent>, token: String) -> Result<(), Box<dyn std::error::Error>> {
/// let callers = Callers::with_tokens([(token, TenantId::new("acme")?)])?;
/// let app: axum::Router = axum::Router::new().nest("/holdover", router(runtime, [digger], callers));
/// # Ok(())
/// # }
/// ```
pub fn router(runtime: Runtime, agents: impl IntoIterator<Item = Arc<Agent>>, callers: Callers) -> Router {
    let agents = agents.into_iter().map(|agent| (agent.spec().name.clone(), agent)).collect();
    let desk = Arc::new(Desk { runtime, agents, callers });
    Router::new()
        .route("/agents/{agent}/tasks", post(tasks::take))
        .route("/agents/{agent}/tasks/{id}", get(tasks::look).delete(tasks::stop))
        .route("/outcomes/{token}", post(outcomes::take))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(desk)
}

/// The state that the routes share.
pub(crate) struct Desk {
    pub(crate) runtime: Runtime,
    pub(crate) callers: Callers,
    agents: BTreeMap<String, Arc<Agent>>,
}

impl Desk {
    /// Returns the agent with this name. Fails if it is not offered.
    pub(crate) fn agent(&self, name: &str) -> Result<&Arc<Agent>, Problem> {
        self.agents.get(name).ok_or_else(|| Problem::not_found("no agent of this name is offered"))
    }
}
