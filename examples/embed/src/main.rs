//! A help desk for customers: a small web service that embeds Holdover.
//!
//! All durable state is in the store. The service can therefore be killed at any instant, restarted, or run several
//! times on one file.

mod agent;

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use clap::Parser;
use holdover::front::{Access, Caller, FrontOptions, Server, router};
use holdover::model::ModelRef;
use holdover::prelude::*;
use holdover::store::SqliteOptions;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::agent::{Bank, clerks};

#[derive(Parser)]
struct Options {
    /// The address to listen on. Anyone who can reach it may do everything, under any name: put a proxy in front that checks
    /// users, and sets the header `X-User`.
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// The folder of the sessions and the bank's ledger. It is created if it does not exist.
    #[arg(long, default_value = "desk")]
    folder: PathBuf,
    /// The tenant whose sessions are served.
    #[arg(long, default_value = "acme")]
    tenant: TenantId,
    /// The version of the clerk for new sessions. The default is the newest. Existing sessions keep their version.
    #[arg(long)]
    clerk: Option<String>,
    /// The model: openai:NAME, scripted:FILE, … The default is the script that the README uses.
    #[arg(long)]
    model: Option<ModelRef>,
    /// The time after which the sessions of a dead process are taken over, in milliseconds.
    #[arg(long, default_value_t = 3000)]
    lease_ms: u64,
    /// The time that the bank takes to answer, in milliseconds. It gives you time to kill the service.
    #[arg(long, default_value_t = 3000)]
    bank_ms: u64,
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "a program says why it ends")]
async fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let stop = CancellationToken::new();
    let ended = tokio::select! {
        ended = serve(Options::parse(), stop.clone()) => ended,
        told = told_twice(&stop) => told.map_err(Into::into).and(Err("told to stop at once".into())),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until `stop` is cancelled, then finishes the running calls and leaves the sessions to other workers.
async fn serve(options: Options, stop: CancellationToken) -> Result<(), Box<dyn Error>> {
    let Options { listen, folder, tenant, .. } = options;
    std::fs::create_dir_all(&folder).map_err(|error| format!("folder {}: {error}", folder.display()))?;
    let listener = TcpListener::bind(listen).await.map_err(|error| format!("listen {listen}: {error}"))?;

    let bank = Bank::new(folder.join("ledger.txt"), Duration::from_millis(options.bank_ms));
    let agents = clerks(options.model.as_ref(), &bank)?;
    // Callers start sessions of these agents. The worker serves all versions.
    let offered = match &options.clerk {
        Some(version) => {
            let clerk = agents.get("clerk", &**version);
            Agents::new()
                .with(Arc::clone(clerk.ok_or_else(|| format!("clerk {version}: there is no such version"))?))
        }
        None => agents.clone(),
    };
    let store = SqliteStore::open(SqliteOptions::new(folder.join("sessions.db"))).await?;
    let lease = Duration::from_millis(options.lease_ms);
    let runtime = Runtime::new(store, agents, RuntimeOptions::default().lease(lease));

    // The routes write work to the store and the worker takes it from there: the two may be different processes.
    let served = WorkerOptions::default().tenant(Some(tenant.clone()));
    let worker = Worker::new(runtime.clone(), served);
    announce(listener.local_addr()?);
    let front = FrontOptions::new(Access::Given).agents(offered).stop(stop.clone());
    let app: Router = router(runtime, front).layer(from_fn_with_state(tenant, named));
    // Sessions that could not be left in time are taken over after their leases end.
    let ((), _left) = tokio::join!(Server::default().serve(listener, app, stop.clone()), worker.run(stop));
    Ok(())
}

/// Names the caller of a request, as the proxy in front told it. A service of your own checks its users here.
async fn named(State(tenant): State<TenantId>, mut request: Request, next: Next) -> Response {
    let user = request.headers().get("x-user").and_then(|user| user.to_str().ok()).map(str::to_owned);
    let caller = Caller::of(tenant);
    let caller = user.into_iter().fold(caller, Caller::named);
    request.extensions_mut().insert(caller);
    next.run(request).await
}

/// Cancels `stop` at the first Ctrl-C or SIGTERM, and returns at the second.
async fn told_twice(stop: &CancellationToken) -> std::io::Result<()> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    for _ in 0..2 {
        tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
        stop.cancel();
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "whoever asked for port 0 reads it here")]
fn announce(address: SocketAddr) {
    println!("listening on http://{address}");
}
