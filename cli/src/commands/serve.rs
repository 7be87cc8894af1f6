//! `serve`: accepts tasks and outcomes from other programs, and runs sessions.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::HOST;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use holdover_elsewhere::{Callers, HttpElsewhere, router};
use holdover_runtime_local::Agent;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::run::{agent_of, instead_of};
use super::work::works;
use crate::args::{Common, Serve};
use crate::exit::{Exit, Failure};
use crate::front::Front;
use crate::print::inline;

/// The time limit for answering the last requests.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Accepts tasks for the agents of some files, and runs sessions.
pub(crate) async fn serve(common: &Common, args: &Serve) -> Result<Exit, Failure> {
    let callers = callers(common, args)?;
    let mut agents: Vec<Arc<Agent>> = Vec::new();
    for file in &args.agents {
        let agent = agent_of(file, instead_of(&args.work.drive, None)).await?;
        let name = &agent.spec().name;
        if agents.iter().any(|other| other.spec().name == *name) {
            let why = format!("{}: name: {name:?}: another file names its agent so", file.display());
            return Err(Failure::wrong_use(why));
        }
        agents.push(agent);
    }
    let wire = wire(args)?;
    // The address is bound before the store is opened: if it is in use, nothing has been started.
    let listener = TcpListener::bind(args.listen).await;
    let listener = listener.map_err(|error| Failure::failed(format!("--listen {}: {error}", args.listen)))?;
    works(common, &args.work, Some(Arc::new(wire)), |front| listen(front, listener, agents, callers)).await
}

/// Returns the callers that may give tasks.
fn callers(common: &Common, args: &Serve) -> Result<Callers, Failure> {
    if args.agents.is_empty() {
        return Ok(Callers::nobody());
    }
    if args.token_env.is_empty() {
        if !args.listen.ip().is_loopback() {
            let why = "everybody who reaches it could give tasks: name the token of callers with --token-env";
            return Err(Failure::wrong_use(format!("--listen {}: {why}", args.listen)));
        }
        return Ok(Callers::anyone(common.tenant.clone()));
    }
    let mut tokens = Vec::new();
    for variable in &args.token_env {
        let token = std::env::var(variable).ok().filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| Failure::wrong_use(format!("--token-env {variable}: is not set")))?;
        tokens.push((token, common.tenant.clone()));
    }
    Callers::with_tokens(tokens).map_err(|error| Failure::wrong_use(format!("--token-env: {error}")))
}

fn wire(args: &Serve) -> Result<HttpElsewhere, Failure> {
    let wrong = |option: &str, url: &str, error: &dyn std::fmt::Display| {
        Failure::wrong_use(format!("{option} {}: {error}", inline(url)))
    };
    let mut wire = HttpElsewhere::new();
    if let Some(url) = &args.address {
        wire = wire.reachable_at(url).map_err(|error| wrong("--address", url, &error))?;
    }
    for url in &args.replies_to {
        wire = wire.allow_replies_to(url).map_err(|error| wrong("--replies-to", url, &error))?;
    }
    Ok(wire)
}

/// Accepts requests until the returned future is awaited. That future then answers the requests that have already
/// arrived.
fn listen(
    front: &Front,
    listener: TcpListener,
    agents: Vec<Arc<Agent>>,
    callers: Callers,
) -> Result<impl Future<Output = ()> + use<>, Failure> {
    let at = listener.local_addr().map_err(|error| Failure::failed(format!("--listen: {error}")))?;
    for agent in &agents {
        front.out.passing(front.out.dim(&told(at, &agent.spec().name)));
    }
    if agents.is_empty() {
        front.out.passing(front.out.dim(&format!("outcomes are taken at http://{at}/outcomes")));
    }
    let names: Vec<&str> = agents.iter().map(|agent| agent.spec().name.as_str()).collect();
    front.out.object(&json!({ "listens": format!("http://{at}"), "agents": names }));
    let stop = CancellationToken::new();
    let mut app = router(front.runtime.clone(), agents, callers);
    if at.ip().is_loopback() {
        app = app.layer(from_fn(of_this_machine));
    }
    let serving = axum::serve(listener, app).with_graceful_shutdown(stop.clone().cancelled_owned());
    let serving = tokio::spawn(async move {
        if let Err(error) = serving.await {
            tracing::error!(%error, "no more requests are taken");
        }
    });
    Ok(async move {
        stop.cancel();
        if timeout(LAST_ANSWERS, serving).await.is_err() {
            tracing::warn!("some requests were not answered");
        }
    })
}

/// Refuses requests whose `Host` header names neither `localhost` nor a loopback address. Otherwise, a web page in a local
/// browser could send requests here by having its own name resolved to this machine (DNS rebinding).
async fn of_this_machine(request: Request, next: Next) -> Response {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    if name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback()) {
        return next.run(request).await;
    }
    (StatusCode::FORBIDDEN, "requests to this machine name it: localhost, 127.0.0.1 or [::1]\n")
        .into_response()
}

fn told(at: SocketAddr, agent: &str) -> String {
    format!("agent {agent} takes tasks at http://{at}/agents/{agent}/tasks")
}
