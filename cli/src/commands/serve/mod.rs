//! `serve`: serves sessions over HTTP, accepts tasks and outcomes of other programs, and runs sessions.

mod demo;
mod link;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use holdover_elsewhere::{Callers, HttpElsewhere};
use holdover_front::{Access, FrontOptions, Guard, Server, StoredTokens, Tokens};
use holdover_runtime_local::Agent;
use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::demo::Demo;
use self::link::{link, only_here};
use super::run::{agent_of, instead_of};
use super::work::{Around, works};
use crate::args::{Common, Drive, Serve};
use crate::exit::{Exit, Failure};
use crate::front::Front;
use crate::print::inline;

/// The most connections at once.
const CONNECTIONS_MAX: u64 = 4_096;

/// Serves sessions over HTTP, accepts tasks for the agents of some files, and runs sessions.
pub(crate) async fn serve(common: &Common, args: &Serve) -> Result<Exit, Failure> {
    if !args.demo {
        return serve_agents(common, args, &args.agents).await;
    }
    let demo = Demo::new()?;
    let served = serve_agents(&demo.store(common), args, &[demo.agent()]).await;
    demo.end().await?;
    served
}

async fn serve_agents(common: &Common, args: &Serve, files: &[PathBuf]) -> Result<Exit, Failure> {
    let callers = callers(common, args)?;
    let agents = agents_of(files, &args.work.drive).await?;
    let (wire, guard) = (wire(args)?, guard(args)?);
    // The address is bound before the store is opened: if it is in use, nothing has been started.
    let listener = TcpListener::bind(args.listen).await;
    let listener = listener.map_err(|error| Failure::failed(format!("--listen {}: {error}", args.listen)))?;
    let listens =
        async |front: &Front, leaves| listen(front, args, listener, agents, callers, guard, leaves).await;
    let around = Around { elsewhere: Some(Arc::new(wire)), linger: args.linger, ..Around::default() };
    works(common, &args.work, around, listens).await
}

/// Returns the agents of some files. Each has a name of its own.
pub(super) async fn agents_of(files: &[PathBuf], drive: &Drive) -> Result<Vec<Arc<Agent>>, Failure> {
    let mut agents: Vec<Arc<Agent>> = Vec::new();
    for file in files {
        let agent = agent_of(file, instead_of(drive, None)).await?;
        let name = &agent.spec().name;
        if agents.iter().any(|other| other.spec().name == *name) {
            let why = format!("{}: name: {name:?}: another file names its agent so", file.display());
            return Err(Failure::wrong_use(why));
        }
        agents.push(agent);
    }
    Ok(agents)
}

/// Returns the callers that may give tasks.
fn callers(common: &Common, args: &Serve) -> Result<Callers, Failure> {
    if args.agents.is_empty() {
        return Ok(Callers::nobody());
    }
    if args.token_env.is_empty() {
        // Whoever reaches the address could give tasks, so only programs of this machine may.
        return Ok(if only_here(args) { Callers::anyone(common.tenant.clone()) } else { Callers::nobody() });
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

/// Returns the hosts and sites from which requests may come. An address of this machine is for this machine alone, unless
/// hosts are named.
fn guard(args: &Serve) -> Result<Guard, Failure> {
    let anywhere = args.host.is_empty() && !args.listen.ip().is_loopback();
    let guard = if anywhere { Guard::any_host() } else { Guard::this_machine() };
    let mut guard = args.host.iter().fold(guard, |guard, host| guard.host(host));
    for origin in &args.origin {
        guard = guard.origin(origin).map_err(|error| Failure::wrong_use(format!("--origin: {error}")))?;
    }
    Ok(guard)
}

/// Accepts requests until the returned future is awaited. That future then answers the requests that have already
/// arrived. Once `leaves` is cancelled, load balancers are told to send requests elsewhere.
async fn listen(
    front: &Front,
    args: &Serve,
    listener: TcpListener,
    agents: Vec<Arc<Agent>>,
    callers: Callers,
    guard: Guard,
    leaves: CancellationToken,
) -> Result<impl Future<Output = ()> + use<>, Failure> {
    let at = listener.local_addr().map_err(|error| Failure::failed(format!("--listen: {error}")))?;
    front.out.passing(front.out.dim(&format!(
        "sessions are served at http://{at}/v1 and, over MCP, at http://{at}/mcp (holdover tokens create)"
    )));
    for agent in &agents {
        front.out.passing(front.out.dim(&told(at, &agent.spec().name)));
    }
    if agents.is_empty() {
        front.out.passing(front.out.dim(&format!("outcomes are taken at http://{at}/outcomes")));
    }
    // The worker runs the sessions of this tenant only, so others are not served either.
    let tenant = (!args.work.all_tenants).then(|| front.tenant().clone());
    let tokens = StoredTokens::new(front.runtime.clone()).only(tenant);
    let link = link(front, args, tokens.clone()).await?;
    say(front, args, &format!("http://{at}"), &agents, link.as_ref().map(|(_, path)| path.as_str()));
    let stop = CancellationToken::new();
    let link = link.map(|(link, _)| link);
    let access = match &link {
        Some(link) => Access::Tokens(Arc::clone(link) as Arc<dyn Tokens>),
        None => Access::Tokens(Arc::new(tokens)),
    };
    let options = FrontOptions::new(access).leaves(leaves).stop(stop.clone());
    // The agents of files have one queue, so they are no `Agents`.
    let options = agents.iter().cloned().fold(options, FrontOptions::agent);
    let sessions = holdover_front::router(front.runtime.clone(), options);
    let sessions = match link {
        Some(link) => sessions.merge(link.router()),
        None => sessions,
    };
    let app = sessions.merge(holdover_elsewhere::router(front.runtime.clone(), agents, callers));
    let server = Server::default().connections_max(connections_max());
    let serving = tokio::spawn(server.serve(listener, guard.layer(app), stop.clone()));
    Ok(async move {
        stop.cancel();
        // It ends by itself, in a bounded time.
        if let Err(error) = serving.await {
            tracing::error!(%error, "the server ended early");
        }
    })
}

/// Says where the server listens, and how the person at the terminal gets in.
fn say(front: &Front, args: &Serve, base: &str, agents: &[Arc<Agent>], link: Option<&str>) {
    let names: Vec<&str> = agents.iter().map(|agent| agent.spec().name.as_str()).collect();
    let mut object = json!({ "listens": base, "agents": names });
    if let Some(path) = link {
        let url = format!("{base}{path}");
        object["link"] = json!(url);
        front.out.passing(format!("{url} gives a token to whoever opens it first"));
        if args.demo {
            front.out.passing("\nThis is a demo: it is all removed when you stop it. In another terminal:\n");
            for line in demo::commands(base, &url) {
                front.out.passing(format!("  {line}"));
            }
            front.out.passing("");
        }
    }
    front.out.object(&object);
}

/// Returns the most connections for which this process has descriptors, besides those of its store and its models. Asks for as
/// many as the system grants.
fn connections_max() -> usize {
    let mut limits = getrlimit(Resource::Nofile);
    limits.current = limits.maximum.or(limits.current);
    if let Err(error) = setrlimit(Resource::Nofile, limits) {
        tracing::debug!(%error, "the number of descriptors stays as it is");
    }
    let most = getrlimit(Resource::Nofile).current.map_or(CONNECTIONS_MAX, |most| most / 2);
    usize::try_from(most.min(CONNECTIONS_MAX)).unwrap_or(usize::MAX)
}

fn told(at: SocketAddr, agent: &str) -> String {
    format!("agent {agent} takes tasks at http://{at}/agents/{agent}/tasks")
}
