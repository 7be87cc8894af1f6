//! Measures the cost of Holdover: `cargo run --release -p holdover-benchmarks -- all`.
//!
//! It uses the engine as a service would, through the `holdover` facade, and in the same run measures the cost of
//! bare writes of the same bytes. It asserts no times, because machines differ.

#[cfg(feature = "engines")]
mod engines;
mod flows;
mod growth;
mod machine;
mod raw;
mod report;
mod scaling;
mod scene;
mod schedules;
mod sessions;
mod stats;
mod stores;
mod streams;
mod timed;
mod work;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;

/// The allocator of the `holdover` command.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// An error, reported in one line.
pub(crate) type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Measures the cost of a step on SQLite, with a sync for each transaction, and of a commit on each store.
#[derive(Parser)]
#[command(name = "holdover-benchmarks", version)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// One session, with its early and its late steps.
    Growth(Page),
    /// A model that answers word by word.
    Streams(Page),
    /// Many sessions at once.
    Sessions(Page),
    /// Commits of each store beside bare inserts: SQLite, and each server whose URL is given.
    Stores(Page),
    /// All parts above.
    All(Page),
    /// Flows: steps early and late, and the time for which a new run tells the code what was.
    Flows(flows::Flows),
    /// How late schedules start their targets: SQLite, and each server whose URL is given.
    Schedules(schedules::Lateness),
    /// The waits of workers and people beside many sessions: SQLite, and each server whose URL is given.
    Scaling(scaling::Scaling),
    /// Turns that Temporal and Restate decide on, beside a worker alone.
    #[cfg(feature = "engines")]
    Engines(engines::Engines),
    /// The workload for comparisons with other engines, once, as a line of JSON.
    Work(work::Work),
    /// The time after which a new process continues after a kill, as a line of JSON.
    Resume(work::Resume),
}

/// The arguments of a report.
#[derive(clap::Args)]
struct Page {
    /// Writes the report to this file too.
    #[arg(long, value_name = "FILE.md")]
    report: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
}

#[derive(clap::Args)]
struct Settings {
    #[command(flatten)]
    places: Places,
    /// The number of repetitions of each measurement.
    #[arg(long, value_name = "N", default_value_t = 5)]
    repetitions: u32,
    /// The steps of one session around which measurements are made.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "10,100,1000,10000")]
    steps: Vec<u64>,
    /// The numbers of sessions that run at once.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,8,32,128")]
    sessions: Vec<usize>,
}

/// The places that are measured.
#[derive(clap::Args)]
struct Places {
    /// The folder for the databases. Its file system is part of the measurement.
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir())]
    folder: PathBuf,
    /// The URL of a Postgres server. `stores`, `all` and `scaling` measure it too, in a schema of its own.
    #[arg(long, value_name = "URL", env = "HOLDOVER_POSTGRES_URL", hide_env_values = true)]
    postgres: Option<String>,
    /// The URL of a Redis server. `stores`, `all` and `scaling` measure it too, in a namespace of its own.
    #[arg(long, value_name = "URL", env = "HOLDOVER_REDIS_URL", hide_env_values = true)]
    redis: Option<String>,
    /// The URL of a Redis Cluster. `stores`, `all` and `scaling` measure it too, in a namespace of its own.
    #[arg(long, value_name = "URL", env = "HOLDOVER_REDIS_CLUSTER_URL", hide_env_values = true)]
    redis_cluster: Option<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell_wrong(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), Failed> {
    let line = match arguments.what {
        What::Work(work) => Some(work.measure().await?),
        What::Resume(resume) => resume.measure().await?,
        What::Growth(page) => return page.write([true, false, false, false]).await,
        What::Streams(page) => return page.write([false, true, false, false]).await,
        What::Sessions(page) => return page.write([false, false, true, false]).await,
        What::Stores(page) => return page.write([false, false, false, true]).await,
        What::Flows(flows) => {
            let text = flows.measure(&command()).await?;
            return keep(&text, flows.page.report.as_deref());
        }
        What::Schedules(lateness) => {
            let text = lateness.measure(&command()).await?;
            return keep(&text, lateness.report.as_deref());
        }
        What::All(page) => return page.write([true; 4]).await,
        #[cfg(feature = "engines")]
        What::Engines(engines) => {
            let text = engines.measure(&command()).await?;
            return keep(&text, engines.report.as_deref());
        }
        What::Scaling(scaling) => {
            let text = scaling.measure(&command()).await?;
            return keep(&text, scaling.report.as_deref());
        }
    };
    if let Some(line) = line {
        tell(&line.to_string());
    }
    Ok(())
}

impl Page {
    /// Makes the chosen measurements, prints the page, and writes it to the report file if one is given.
    async fn write(&self, [growth, streams, together, stores]: [bool; 4]) -> Result<(), Failed> {
        let settings = &self.settings;
        if !settings.places.folder.is_dir() {
            return Err(format!("{}: is no folder", settings.places.folder.display()).into());
        }
        let facts = machine::facts(&settings.places.folder).await?;
        let growth = if growth { Some(growth::measure(settings).await?) } else { None };
        let streamed = if streams { streams::measure(settings).await? } else { Vec::new() };
        let together = if together { sessions::measure(settings).await? } else { Vec::new() };
        let stores = if stores { stores::measure(settings).await? } else { Vec::new() };
        let text = report::write(&command(), &facts, growth.as_ref(), &streamed, &together, &stores);
        keep(&text, self.report.as_deref())
    }
}

/// Prints a page, and writes it to a file if one is given.
fn keep(page: &str, file: Option<&Path>) -> Result<(), Failed> {
    tell(page);
    if let Some(file) = file {
        std::fs::write(file, page).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// The environment variables that hold the URLs of servers. Each comes with the launcher's name for a server of this
/// kind.
const SERVERS: [(&str, &str); 5] = [
    ("HOLDOVER_POSTGRES_URL", "postgres"),
    ("HOLDOVER_REDIS_URL", "redis"),
    ("HOLDOVER_REDIS_CLUSTER_URL", "redis-cluster"),
    ("HOLDOVER_TEMPORAL_URL", "temporal"),
    ("HOLDOVER_RESTATE_INGRESS_URL", "restate"),
];

/// Returns the command that repeats this run, without the addresses of servers, which may hold a password.
fn command() -> String {
    let shown = |given: String| if given.contains("://") { "URL".to_owned() } else { given };
    let given = std::env::args().skip(1).map(shown).collect::<Vec<_>>().join(" ");
    let profile = if cfg!(debug_assertions) { "" } else { " --release" };
    let is_named = |variable: &str| std::env::var_os(variable).is_some();
    let servers: Vec<&str> =
        SERVERS.iter().filter(|(variable, _)| is_named(variable)).map(|(_, server)| *server).collect();
    let launched = match servers[..] {
        [] => String::new(),
        _ => format!("cargo run -p holdover-launcher -- {} -- ", servers.join(" ")),
    };
    let features = if cfg!(feature = "engines") { " --features engines" } else { "" };
    format!("{launched}cargo run{profile} -p holdover-benchmarks{features} -- {given}")
}

#[allow(clippy::print_stdout, reason = "a program that tells what it measured")]
fn tell(text: &str) {
    println!("{text}");
}

#[allow(clippy::print_stderr, reason = "a program that tells what went wrong")]
fn tell_wrong(text: &str) {
    eprintln!("{text}");
}
