//! The agents with which sessions can be started.

use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::axum::routing::get_with;
use axum::Json;
use axum::extract::State;

use super::{Answer, Here, operation};
use crate::access::{By, ToRead};
use crate::desk::Desk;
use crate::wire::{AgentView, Page};

pub(super) fn routes() -> ApiRouter<Arc<Desk>> {
    ApiRouter::new()
        .api_route("/agents", get_with(list, operation!("listAgents", "agents", "Lists the agents.")))
}

async fn list(State(desk): Here, _: By<ToRead>) -> Answer<Json<Page<AgentView>>> {
    let agents = desk.offered().map(|agent| AgentView::from(&**agent));
    Ok(Json(Page { items: agents.collect(), next: None }))
}
