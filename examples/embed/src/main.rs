//! A desk that answers customers: a small web service that embeds Holdover.
//!
//! Everything it must not forget is in the store: it may be killed at any instant, started again, or run
//! several times on one file.

mod agent;
mod api;
mod errors;
mod events;

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use holdover::models::ModelRef;
use holdover::{
    Agents, CancellationToken, Queues, Runtime, RuntimeOptions, SqliteOptions, SqliteStore, TenantId, Worker,
    WorkerOptions,
};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::agent::{Bank, clerk};
use crate::api::Desk;

#[derive(Parser)]
struct Options {
    /// Where to listen. Whoever reaches it may do everything: put what asks for a name before it.
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Holds the sessions and the bank's ledger; created if it is not there.
    #[arg(long, default_value = "desk")]
    folder: PathBuf,
    /// Whose sessions are served.
    #[arg(long, default_value = "acme")]
    tenant: TenantId,
    /// The model: openai:NAME, scripted:FILE, … Left out: the script that the README plays.
    #[arg(long)]
    model: Option<ModelRef>,
    /// What a dead process held is taken over after this many milliseconds.
    #[arg(long, default_value_t = 3000)]
    lease_ms: u64,
    /// The bank takes this long to answer, in milliseconds: time for you to kill the service meanwhile.
    #[arg(long, default_value_t = 3000)]
    bank_ms: u64,
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "a program says why it ends")]
async fn main() -> ExitCode {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    match serve(Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(options: Options) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(&options.folder)?;
    let bank = Bank::new(options.folder.join("ledger.txt"), Duration::from_millis(options.bank_ms));
    let agent = clerk(options.model.as_ref(), bank)?;
    let store = SqliteStore::open(SqliteOptions::new(options.folder.join("sessions.db"))).await?;
    let agents = Agents::new().with(Arc::clone(&agent));
    let settings =
        RuntimeOptions { lease: Duration::from_millis(options.lease_ms), ..RuntimeOptions::default() };
    let runtime = Runtime::new(Arc::new(store), Arc::new(agents), settings);

    // The routes put work into the store, the worker takes it from there: the two may be different processes.
    let stop = told_to_stop()?;
    let served = WorkerOptions {
        tenant: Some(options.tenant.clone()),
        queues: Queues::Named(vec![agent.queue().clone()]),
        ..WorkerOptions::default()
    };
    let worker = Worker::new(runtime.clone(), served);
    let working = tokio::spawn({
        let stop = stop.clone();
        async move { worker.run(stop).await }
    });

    let listener = TcpListener::bind(options.listen).await?;
    announce(listener.local_addr()?);
    let desk = Desk { runtime, agent, tenant: options.tenant, stop: stop.clone() };
    let served =
        axum::serve(listener, api::routes(desk)).with_graceful_shutdown(stop.clone().cancelled_owned());
    let ended = served.await;
    // What runs may come to its end. What does not in time is taken over once its lease has ended.
    stop.cancel();
    working.await?;
    Ok(ended?)
}

/// Cancelled by Ctrl-C and by SIGTERM.
fn told_to_stop() -> std::io::Result<CancellationToken> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let stop = CancellationToken::new();
    let told = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        told.cancel();
    });
    Ok(stop)
}

#[expect(clippy::print_stdout, reason = "whoever asked for port 0 reads it here")]
fn announce(address: SocketAddr) {
    println!("listening on http://{address}");
}
