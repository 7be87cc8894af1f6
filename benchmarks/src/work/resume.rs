//! Measures how soon a new process continues a session whose process was killed in the middle of a turn: the time from
//! the start of the new process to its first call of the model.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use holdover::prelude::*;
use holdover::store::{PostgresStore, RedisStore, StateStore};
use serde_json::{Value, json};
use uuid::Uuid;

use super::turn;
use crate::Failed;
use crate::scene::{self, OnStep};
use crate::stats::ms;

/// The step at which the process is killed, when the model is called for it.
const KILLED_AT: u64 = 25;
const STEPS: u64 = 50;
/// The lease of a run. Other processes may continue once the dead process's lease has ended.
const LEASE: Duration = Duration::from_secs(1);

/// One run of the measurement.
#[derive(clap::Args)]
pub(crate) struct Resume {
    /// The place of the store: `sqlite:FILE`, a new file; `postgres://…`, a new schema; `redis://…`, a new
    /// namespace.
    #[arg(long, value_name = "URL")]
    store: String,
    /// The part of the measurement that this process plays.
    #[arg(long, hide = true)]
    part: Option<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Begins a session, and reports when the model is called for the step at which the process is killed.
    Begins,
    /// Continues the session, and reports when the model is called.
    GoesOn,
}

impl Resume {
    /// Runs the measurement. Returns `None` if this process was only a part of it, and another process reports.
    pub(crate) async fn measure(&self) -> Result<Option<Value>, Failed> {
        match self.part {
            Some(part) => part.play(&self.store).await.map(|()| None),
            None => self.compare().map(Some),
        }
    }

    fn compare(&self) -> Result<Value, Failed> {
        let store = own(&self.store);
        let (mut first, said) = started(&store, Part::Begins)?;
        first.kill()?;
        first.wait()?;
        let name = said.trim().to_owned();
        std::thread::sleep(LEASE);
        let began = Instant::now();
        let (mut second, _) = started(&store, Part::GoesOn)?;
        let took = began.elapsed();
        second.kill()?;
        second.wait()?;
        Ok(json!({
            "system": "holdover", "version": env!("CARGO_PKG_VERSION"), "store": name, "resume_ms": ms(took),
        }))
    }
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Begins => "begins",
            Self::GoesOn => "goes-on",
        }
    }

    async fn play(self, url: &str) -> Result<(), Failed> {
        let store = open(url).await?;
        let name = store.capabilities().backend;
        let on_step: OnStep = Arc::new(move |step| {
            let says = (self == Self::GoesOn || step >= KILLED_AT).then(|| name.clone());
            Box::pin(async move {
                if let Some(says) = says {
                    crate::tell(&says);
                    // Waits until this process is killed.
                    std::future::pending::<()>().await;
                }
            })
        });
        let mut turn = turn(STEPS, Duration::ZERO);
        turn.on_step = Some(on_step);
        let agent = scene::agent(turn)?;
        let options = RuntimeOptions::default().lease(LEASE);
        let runtime = Runtime::new(store, Arc::new(Agents::new().with(Arc::clone(&agent))), options);
        let key = SessionKey::new(TenantId::new("acme")?, SessionId::new("s")?);
        let run = match self {
            Self::Begins => {
                let begins = Execute::new(key.tenant, agent, "Begin.").in_session(key.id);
                runtime.execute(begins).await?
            }
            Self::GoesOn => runtime.resume(&key).await?,
        };
        let outcome = run.outcome().await?;
        Err(format!("it ended: {outcome:?}").into())
    }
}

/// Returns `url` with a new schema or namespace. A `sqlite:` URL stays as it is.
fn own(url: &str) -> String {
    let name = Uuid::new_v4().simple();
    let and = if url.contains('?') { '&' } else { '?' };
    match url.split(':').next() {
        Some("sqlite") => url.to_owned(),
        Some("postgres" | "postgresql") => format!("{url}{and}schema=benchmark_{name}"),
        _ => format!("{url}{and}namespace=benchmark:{name}"),
    }
}

async fn open(url: &str) -> Result<Arc<dyn StateStore>, Failed> {
    Ok(match url.split(':').next() {
        Some("sqlite") => Arc::new(SqliteStore::open_url(url).await?),
        Some("postgres" | "postgresql") => Arc::new(PostgresStore::open_url(url).await?),
        _ => Arc::new(RedisStore::open_url(url).await?),
    })
}

/// Starts a process of this program, and returns it with the first line that it prints.
fn started(store: &str, part: Part) -> Result<(Child, String), Failed> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["resume", "--store", store, "--part", part.name()])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut said = String::new();
    let out = child.stdout.take().ok_or("no output")?;
    if BufReader::new(out).read_line(&mut said)? == 0 {
        return Err(format!(
            "the process that {} ended before its model was asked: {}",
            part.name(),
            child.wait()?
        )
        .into());
    }
    Ok((child, said))
}
