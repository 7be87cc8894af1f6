//! The arguments of the commands that drive sessions.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use holdover_core::engine::Drain;
use holdover_core::ids::{ItemKey, MessageSeq, QueueLabel, SessionId};
use holdover_core::message::MessagePolicy;
use holdover_core::mode::Mode;
use holdover_models::ModelRef;

use super::branch::label;

/// How a session is driven in this process.
#[derive(Debug, Clone, Args)]
pub(crate) struct Drive {
    /// How long a claim holds before others may try
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = lease, display_order = 800)]
    pub(crate) lease: Duration,
    /// The model to ask instead, as PROVIDER:NAME (openai:NAME, anthropic:NAME, scripted:FILE)
    #[arg(long, value_name = "PROVIDER:NAME", value_parser = model, display_order = 801)]
    pub(crate) model: Option<ModelRef>,
    /// Where the model's server is instead: http://127.0.0.1:8080/v1
    #[arg(long, value_name = "URL", display_order = 802)]
    pub(crate) base_url: Option<String>,
}

/// Whether the work is left to a worker.
#[derive(Debug, Clone, Args)]
pub(crate) struct Leave {
    /// Leave the work to a worker (holdover work)
    #[arg(long, alias = "no-wait")]
    pub(crate) detach: bool,
    /// Leave the work to a worker, and wait at most so long for how it ends
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "120s", conflicts_with = "detach", value_parser = humantime::parse_duration)]
    pub(crate) wait: Option<Duration>,
}

impl Leave {
    /// Returns true if the work is left to a worker.
    pub(crate) fn is_asked(&self) -> bool {
        self.detach || self.wait.is_some()
    }
}

/// How the agent is to work from a message on.
#[derive(Debug, Clone, Args)]
pub(crate) struct Briefing {
    /// From this message on in this mode: plan, ask (both change nothing) or agent
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// From this message on with this system prompt instead of the agent's; empty: with the agent's again
    #[arg(long, value_name = "TEXT")]
    pub(crate) system_prompt: Option<String>,
    /// Show the agent this picture (PNG, JPEG, GIF, WebP; at most 1 MiB); may be said several times
    #[arg(long = "image", value_name = "FILE")]
    pub(crate) images: Vec<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
MESSAGE may be - : it is then read from standard input, as it is when left out and standard input is no terminal.

Examples:
  holdover run agent.toml \"Tidy up the notes\"
  git diff | holdover run reviewer.toml -
  holdover run agent.toml --wait=2m \"Tidy up\"     a worker does it; says after 2 minutes if it still runs
  holdover run agent.toml --session notes --key 2024-05-01 \"The daily round\"
  holdover run agent.toml --image plan.png \"What is wrong with this?\"
  holdover run agent.toml --model openai:qwen3 --base-url http://127.0.0.1:8080/v1 \"Hello\"")]
pub(crate) struct Run {
    /// The agent file (TOML)
    pub(crate) agent: PathBuf,
    /// What is said to the agent
    pub(crate) message: Option<String>,
    /// The session to say it in, created if there is none; left out: a new one
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<SessionId>,
    /// A new session is listed by this label (sessions list --label)
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    pub(crate) label: Vec<(String, String)>,
    /// Idempotency key: the same key starts at most one turn
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<ItemKey>,
    /// What becomes of it while a turn of the session runs: reject, enqueue, steer, interrupt or rollback; left out:
    /// what the agent says, else it is refused
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Option<MessagePolicy>,
    /// The folder that the file tools see; left out: what the agent file says, else the current folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) root: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) briefing: Briefing,
    #[command(flatten)]
    pub(crate) leave: Leave,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  holdover send notes \"and the invoices too\"
  date | holdover send notes - --detach
  holdover send notes --policy interrupt \"Stop that, and look at the invoices\"
  holdover send notes --instead-of 3 \"No: the invoices of May\"
  holdover send notes --note \"I ran cargo fmt by hand\"")]
pub(crate) struct Send {
    /// Which session
    pub(crate) session: SessionId,
    /// What is said; - reads it from standard input
    pub(crate) message: Option<String>,
    /// Idempotency key: the same key is accepted at most once
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<ItemKey>,
    #[command(flatten)]
    pub(crate) briefing: Briefing,
    /// What becomes of it while a turn runs: reject, enqueue, steer, interrupt or rollback; left out: what the agent
    /// says, else steer
    #[arg(long, value_name = "POLICY", conflicts_with = "instead_of")]
    pub(crate) policy: Option<MessagePolicy>,
    /// Say it in place of this earlier message: what followed is taken back
    #[arg(long, value_name = "MESSAGE", value_parser = message_seq)]
    pub(crate) instead_of: Option<MessageSeq>,
    /// Only note it: nobody is woken and nothing is stopped, the model is told with whatever comes next
    #[arg(long, conflicts_with_all = ["policy", "instead_of", "wait", "detach"])]
    pub(crate) note: bool,
    #[command(flatten)]
    pub(crate) leave: Leave,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  holdover resume notes
  holdover resume notes --detach          a worker takes it up instead")]
pub(crate) struct Again {
    /// Which session
    pub(crate) session: SessionId,
    #[command(flatten)]
    pub(crate) leave: Leave,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The session's model writes the summary. It stands for what came before it as the model sees it; the messages stay as they are (holdover sessions messages). The newest turns, as many as the agent's [compaction] says, are left out. If nothing is old enough nothing is changed.

Examples:
  holdover compact notes
  holdover sessions checkpoints notes     forks go back behind a summary, too")]
pub(crate) struct Compact {
    /// Which session
    pub(crate) session: SessionId,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Serves the sessions of one tenant that this program made, whatever their agent: each session carries its agent with it. Sessions of other programs are left to them.

On Ctrl-C or SIGTERM the worker starts nothing new and waits for running calls. Then it leaves its sessions due, so that other workers go on with them at once (--drain). A second signal ends the worker at once. Runs that are still going then, or after --grace, are dropped, and other workers take their sessions over; the exit code is 130 or 143.

Exit code 0 says that the worker has done its work, with --until-idle too, however the turns ended that it ran: its last line counts them, and holdover sessions list --status failed lists sessions that failed. A turn that failed is no failure of the worker.

Examples:
  holdover work --max-running 4
  holdover work --until-idle && holdover sessions list")]
pub(crate) struct Work {
    /// How many sessions run at once
    #[arg(long, value_name = "N", default_value = "16")]
    pub(crate) max_running: NonZeroUsize,
    /// Exit with 0 once nothing is due and no session is held by anybody, also if sessions failed or wait for somebody
    #[arg(long)]
    pub(crate) until_idle: bool,
    /// Serve this queue, too: sessions that an older version of this program left in the queue of their agent (holdover
    /// doctor names it); may be said several times
    #[arg(long, value_name = "NAME")]
    pub(crate) queue: Vec<QueueLabel>,
    /// Serve every tenant
    #[arg(long, conflicts_with_all = ["until_idle", "tenant"])]
    pub(crate) all_tenants: bool,
    /// Where runs stop after the signal: calls = start no model call and no tool call; step, turn = finish it
    #[arg(long, value_name = "HOW", default_value = "calls")]
    pub(crate) drain: HowFar,
    /// Time limit for that; runs that are still going are dropped
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = humantime::parse_duration)]
    pub(crate) grace: Duration,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

/// Where runs stop after the signal.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum HowFar {
    /// Start no model call and no tool call. Wait for those that run
    Calls,
    /// Finish the step
    Step,
    /// Finish the turn
    Turn,
}

impl From<HowFar> for Drain {
    fn from(how_far: HowFar) -> Self {
        match how_far {
            HowFar::Calls => Self::Calls,
            HowFar::Step => Self::Step,
            HowFar::Turn => Self::Turn,
        }
    }
}

fn model(text: &str) -> Result<ModelRef, holdover_models::InvalidModelRef> {
    text.parse()
}

fn message_seq(text: &str) -> Result<MessageSeq, String> {
    text.parse()
        .map(MessageSeq)
        .map_err(|_| String::from("a message is a number (holdover sessions messages)"))
}

fn lease(text: &str) -> Result<Duration, String> {
    let lease = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if lease < Duration::from_secs(1) || lease > Duration::from_secs(3600) {
        return Err(String::from("a lease takes between 1s and 1h"));
    }
    Ok(lease)
}
