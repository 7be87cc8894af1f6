//! The `holdover` command: runs agents from TOML files, and answers, stops and shows their sessions.

mod agent_file;
mod args;
mod commands;
mod engine;
mod exit;
mod follow;
mod front;
mod gate;
mod hooks;
mod http;
mod input;
mod left_out;
#[cfg(feature = "mcp")]
mod mcp;
mod mentions;
#[cfg(feature = "serve")]
mod other_programs;
mod owed;
mod pages;
mod print;
mod recipe;
#[cfg(feature = "schedules")]
mod schedules;
mod signals;
mod skills;
mod source;
mod store;
mod sub_agents;
mod temporary;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use holdover_core::message::SignalBody;
use holdover_core::store::InterruptKind;
use mimalloc::MiMalloc;
use tracing_subscriber::EnvFilter;

use crate::args::{Cli, Command};
use crate::exit::{Exit, Failure};
use crate::print::note;

/// mimalloc saves about a tenth of a step's CPU time: a step makes hundreds of small allocations, and many of them are
/// freed in another thread (docs/performance.md).
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The maximum wait for work that cannot be dropped, such as a read of a file.
const SHUTDOWN: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(Failure { exit, line }) => {
            note(&format!("error: {line}"));
            return exit.into();
        }
    };
    let ended = log(&cli.command).and_then(|()| {
        let runtime = tokio::runtime::Runtime::new().map_err(|error| Failure::failed(error.to_string()))?;
        let ended = runtime.block_on(perform(&cli));
        print::screen::clear();
        // Tasks that are still running are dropped, so that commands do not outlive this process.
        runtime.shutdown_timeout(SHUTDOWN);
        ended
    });
    let exit = ended.unwrap_or_else(|failure| {
        let Failure { exit, line } = failure.on_store(&cli.common.store);
        note(&format!("error: {line}"));
        exit
    });
    match print::lost() {
        Some(why) => {
            note(&format!("error: standard output: {why}"));
            exit.with_output_lost().into()
        }
        None => exit.into(),
    }
}

async fn perform(cli: &Cli) -> Result<Exit, Failure> {
    let common = &cli.common;
    if common.json && !cli.command.speaks_json() {
        return Err(Failure::wrong_use("--json: this command prints nothing for programs"));
    }
    match &cli.command {
        Command::Run(args) => commands::run::run(common, args).await,
        Command::Send(args) => commands::run::send(common, args).await,
        Command::Resume(args) => commands::run::again(common, args, SignalBody::Resume).await,
        Command::Retry(args) => commands::run::again(common, args, SignalBody::Retry).await,
        Command::Compact(args) => commands::run::compact(common, args).await,
        Command::Work(args) => commands::work::work(common, args).await,
        #[cfg(feature = "serve")]
        Command::Serve(args) => commands::serve::serve(common, args).await,
        #[cfg(feature = "serve")]
        Command::Mcp(args) => commands::mcp::mcp(common, args).await,
        #[cfg(feature = "serve")]
        Command::Tokens(what) => commands::tokens::tokens(common, what).await,
        Command::Approve(args) => commands::answer::approve(common, args).await,
        Command::Deny(args) => commands::answer::deny(common, args).await,
        Command::Answer(args) => commands::answer::answer(common, args).await,
        Command::Signal(args) => commands::signal::signal(common, args).await,
        Command::Settle(args) => commands::answer::settle::settle(common, args).await,
        Command::Interrupt(args) => commands::stop::interrupt(common, args).await,
        Command::Abort(args) => commands::stop::stop(common, args, InterruptKind::Abort).await,
        Command::Sessions(what) => commands::sessions::sessions(common, what).await,
        #[cfg(feature = "schedules")]
        Command::Schedules(what) => commands::schedules::schedules(common, what).await,
        Command::Dead(what) => commands::dead::dead(common, what).await,
        Command::Events(args) => commands::events::events(common, args).await,
        Command::Skills(what) => commands::skills::skills(common, what).await,
        Command::Doctor(args) => commands::doctor::doctor(common, args).await,
        Command::Keys(what) => commands::keys::keys(common, what).await,
        #[cfg(feature = "conformance")]
        Command::Conformance(args) => commands::conformance::conformance(common, args).await,
        Command::Demo(args) => commands::demo::demo(args).await,
        Command::Machine(args) => commands::machine::machine(common, args),
        Command::Completions(args) => Ok(commands::completions::completions(common, args)),
    }
}

/// Sets up the log to standard error. `HOLDOVER_LOG` selects the content. By default, workers log warnings and errors,
/// and other commands only errors, because they print their own results.
fn log(command: &Command) -> Result<(), Failure> {
    // The MCP library logs errors that this program reports itself.
    let works = matches!(command, Command::Work(_));
    #[cfg(feature = "serve")]
    let works = works || matches!(command, Command::Serve(_) | Command::Mcp(_));
    let default = if works { "warn,rmcp=off" } else { "error,rmcp=off" };
    let filter = match std::env::var("HOLDOVER_LOG") {
        Ok(filter) if !filter.trim().is_empty() => filter,
        Ok(_) | Err(_) => default.to_owned(),
    };
    let filter = EnvFilter::try_new(&filter)
        .map_err(|error| Failure::wrong_use(format!("HOLDOVER_LOG {filter:?}: {error}")))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| print::screen::Log)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    Ok(())
}
