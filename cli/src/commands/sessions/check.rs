//! `sessions check`: finds sessions that could not continue.

use std::sync::Arc;

use async_trait::async_trait;
use holdover_core::error::ErrorInfo;
use holdover_core::ids::QueueLabel;
use holdover_core::payload::Payload;
use holdover_core::phrases;
use holdover_core::store::{Labels, SessionQuery};
use holdover_runtime_local::{Agent, AgentSource, Breaks, Runtime, RuntimeOptions};
use serde_json::{Value, json};

use crate::agent_file::{self, Instead};
use crate::args::Check;
use crate::exit::{Exit, Failure};
use crate::front::Front;
use crate::print::inline;
use crate::source::Blueprint;

/// Reports sessions that could not continue, with their own agents or with the agent of a file.
pub(super) async fn check(front: &Front, args: &Check) -> Result<Exit, Failure> {
    let all = SessionQuery::all(front.tenant().clone());
    let (runtime, sessions) = match &args.agent {
        None => (front.runtime.clone(), all),
        Some(file) => {
            let refuse = |why: String| Failure::wrong_use(format!("{}: {why}", file.display()));
            let mut blueprint = agent_file::read(file, &Instead::default())?;
            blueprint.discover().await.map_err(refuse)?;
            let agent = OfFile(blueprint.build().map_err(refuse)?);
            let labels = Labels::from_iter([(Labels::AGENT, blueprint.spec.name)]);
            let runtime = Runtime::new(front.store.shared(), agent, RuntimeOptions::default());
            (runtime, SessionQuery { labels, ..all })
        }
    };
    let breaking = runtime.would_break(&sessions).await?;
    for found in &breaking {
        let why: Vec<String> = found.why.iter().map(Breaks::to_string).collect();
        let session = &found.key.id;
        front.out.line(inline(&format!(
            "session {session} ({}): {}",
            phrases::status(found.status),
            why.join("; ")
        )));
        front.out.object(&json!({
            "session": session,
            "agent": found.agent,
            "status": found.status,
            "breaks": found.why.iter().map(|why| json!(why)).collect::<Vec<Value>>(),
            "says": why,
        }));
    }
    if breaking.is_empty() {
        front.out.line(front.out.dim("nothing would break"));
        return Ok(Exit::Completed);
    }
    Ok(Exit::Failed)
}

/// An agent source with the agent of a file. It serves sessions of that agent's version in any queue.
struct OfFile(Arc<Agent>);

#[async_trait]
impl AgentSource for OfFile {
    async fn agent(&self, _queue: &QueueLabel, definition: &Payload) -> Result<Arc<Agent>, ErrorInfo> {
        let stored = Blueprint::stored(definition).map_err(|why| ErrorInfo::new("agent.not_built", why))?;
        match stored.recipe.version.as_deref() {
            version if version == self.0.version() => {
                let mut agent = &self.0;
                for name in &stored.path {
                    let unknown = || ErrorInfo::new("agent.unknown", format!("no sub-agent {name} here"));
                    agent = agent.sub_agent(name).ok_or_else(unknown)?;
                }
                Ok(Arc::clone(agent))
            }
            version => {
                let name = &stored.spec.name;
                let called = version.map_or_else(|| name.clone(), |version| format!("{name}@{version}"));
                Err(ErrorInfo::new("agent.unknown", format!("no agent {called} here")))
            }
        }
    }
}
