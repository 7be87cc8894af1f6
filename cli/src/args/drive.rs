//! The arguments of the commands that drive sessions.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use holdover_core::engine::Drain;
use holdover_core::ids::{ItemKey, MessageSeq, QueueLabel, SessionId};
use holdover_core::message::MessagePolicy;
use holdover_core::mode::Mode;
use holdover_core::signal::SignalName;
use holdover_models::ModelRef;

use super::Due;
use super::branch::label;

/// The options for running a session in this process.
#[derive(Debug, Clone, Args)]
pub(crate) struct Drive {
    /// Lease: if a run does not renew its claim for this time, others may take over the session
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = lease, display_order = 800)]
    pub(crate) lease: Duration,
    /// Model to use instead, as PROVIDER:NAME (openai:NAME, anthropic:NAME, scripted:FILE)
    #[arg(long, value_name = "PROVIDER:NAME", value_parser = model, display_order = 801)]
    pub(crate) model: Option<ModelRef>,
    /// Address to use for the model's server instead, such as http://127.0.0.1:8080/v1
    #[arg(long, value_name = "URL", display_order = 802)]
    pub(crate) base_url: Option<String>,
}

/// The options that leave the work to a worker.
#[derive(Debug, Clone, Args)]
pub(crate) struct Leave {
    /// Leave the work to a worker (holdover work) instead of running it here
    #[arg(long, alias = "no-wait")]
    pub(crate) detach: bool,
    /// Leave the work to a worker, and wait for its outcome for at most TIME; defaults to 120s
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "120s", conflicts_with = "detach", value_parser = humantime::parse_duration)]
    pub(crate) wait: Option<Duration>,
}

impl Leave {
    /// Returns true if the work is left to a worker.
    pub(crate) fn is_asked(&self) -> bool {
        self.detach || self.wait.is_some()
    }
}

/// The settings of the agent from a message on.
#[derive(Debug, Clone, Args)]
pub(crate) struct Briefing {
    /// Mode from this message on: plan, ask (both change nothing) or agent
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// System prompt from this message on; an empty text restores that of the agent
    #[arg(long, value_name = "TEXT")]
    pub(crate) system_prompt: Option<String>,
    /// Picture to show to the agent (PNG, JPEG, GIF or WebP, at most 1 MiB); may be repeated
    #[arg(long = "image", value_name = "FILE")]
    pub(crate) images: Vec<PathBuf>,
    /// File that the message mentions, as a path beneath the folder of the agent's file tools; may be repeated
    #[arg(long = "mention", value_name = "PATH")]
    pub(crate) mentions: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
If MESSAGE is missing or -, it is read from standard input.

Examples:
  holdover run agent.toml \"Tidy up the notes\"
  git diff | holdover run reviewer.toml -
  holdover run agent.toml --wait=2m \"Tidy up\"     leave it to a worker, and wait at most 2 minutes
  holdover run agent.toml --session notes --key 2024-05-01 \"The daily round\"
  holdover run agent.toml --image plan.png \"What is wrong with this?\"
  holdover run agent.toml --mention src/main.rs \"Why does this not compile?\"
  holdover run agent.toml --model openai:qwen3 --base-url http://127.0.0.1:8080/v1 \"Hello\"")]
pub(crate) struct Run {
    /// The agent file (TOML)
    pub(crate) agent: PathBuf,
    /// The message to the agent
    pub(crate) message: Option<String>,
    /// Session to use, created if it does not exist [default: that of --key, else a new one]
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<SessionId>,
    /// Label of a new session (see sessions list --label); may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    pub(crate) label: Vec<(String, String)>,
    /// Idempotency key: the same key starts at most one turn
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<ItemKey>,
    /// Policy if a turn runs: reject, enqueue, steer, interrupt, rollback [default: agent's, else refused]
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Option<MessagePolicy>,
    /// Take the message not before WHEN: a time from now (+2h), or an instant (2050-05-01T12:00:00Z)
    #[arg(long, value_name = "WHEN", conflicts_with_all = ["wait"])]
    pub(crate) at: Option<Due>,
    /// Folder that the file tools see [default: the root in the agent file, else the current folder]
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
  holdover send notes --correction-by reviewer \"Say which invoice each number is from\"
  holdover send notes --at +2h \"Is the build through?\"     a worker takes it up then
  holdover send notes --note \"I ran cargo fmt by hand\"")]
pub(crate) struct Send {
    /// The session to send to
    pub(crate) session: SessionId,
    /// The message; read from standard input if it is missing or -
    pub(crate) message: Option<String>,
    /// Idempotency key: the same key is accepted at most once
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<ItemKey>,
    #[command(flatten)]
    pub(crate) briefing: Briefing,
    /// Policy if a turn runs: reject, enqueue, steer, interrupt, rollback [default: agent's, else steer]
    #[arg(long, value_name = "POLICY", conflicts_with = "instead_of")]
    pub(crate) policy: Option<MessagePolicy>,
    /// Replace the earlier message with this number; everything after it is taken back
    #[arg(long, value_name = "MESSAGE", value_parser = message_seq)]
    pub(crate) instead_of: Option<MessageSeq>,
    /// Send the message as a correction by NAME: the model is told that the user did not say it
    #[arg(long, value_name = "NAME", conflicts_with_all = ["instead_of", "note"])]
    pub(crate) correction_by: Option<String>,
    /// Take the message not before WHEN: a time from now (+2h), or an instant (2050-05-01T12:00:00Z)
    #[arg(long, value_name = "WHEN", conflicts_with_all = ["instead_of", "note", "wait"])]
    pub(crate) at: Option<Due>,
    /// Only leave a note: it starts and stops nothing, and the model sees it when it next runs
    #[arg(long, conflicts_with_all = ["policy", "instead_of", "wait", "detach"])]
    pub(crate) note: bool,
    #[command(flatten)]
    pub(crate) leave: Leave,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

#[derive(Debug, Args)]
#[command(after_help = "\
If a call waits for the name (tool wait_for), it returns the body; holdover work or holdover resume continues the session. Otherwise, the session holds the signal until a call waits for it, and nothing runs. A session holds at most 256 signals.

Examples:
  holdover signal notes paid
  holdover signal notes paid --body '{\"sum\": 12}' --key payment-7
  holdover signal notes report --body @report.json")]
pub(crate) struct Signal {
    /// The session to signal
    pub(crate) session: SessionId,
    /// The name of the signal: letters, digits, _ and -, at most 64
    pub(crate) name: SignalName,
    /// The body, as JSON of at most 64 KiB; - reads it from standard input, @FILE from a file
    #[arg(long, value_name = "JSON", default_value = "null")]
    pub(crate) body: String,
    /// Idempotency key: the same key is accepted at most once
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<ItemKey>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  holdover resume notes
  holdover resume notes --detach          leave it to a worker")]
pub(crate) struct Again {
    /// The session to continue
    pub(crate) session: SessionId,
    #[command(flatten)]
    pub(crate) leave: Leave,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The session's model writes the summary. From then on, the model sees the summary in place of the messages before it; the messages themselves are kept (holdover sessions messages). The newest turns are not summarised; [compaction] in the agent file sets their number. If nothing is old enough, nothing is changed.

Examples:
  holdover compact notes
  holdover sessions checkpoints notes     a fork can start before a summary, too")]
pub(crate) struct Compact {
    /// The session to summarise
    pub(crate) session: SessionId,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Runs the sessions of one tenant that this program made, whatever their agent: each session stores its agent. Sessions of other programs are left to those programs; a worker only ends those that somebody asked to stop.

On Ctrl-C or SIGTERM, the worker starts nothing new and waits for running calls (--drain). Then it leaves its sessions due, so that other workers continue them at once. A second signal ends the worker at once. Runs that are still going then, or after --grace, are dropped, and other workers take over their sessions; the exit code is 130 or 143.

Exit code 0 means that the worker has done its work, with --until-idle too. A turn that failed is not a failure of the worker. The last line counts the runs by how they ended, and holdover sessions list --status failed lists failed sessions.

Examples:
  holdover work --max-running 4
  holdover work --until-idle && holdover sessions list")]
pub(crate) struct Work {
    /// Maximum number of sessions that run at once
    #[arg(long, value_name = "N", default_value = "16")]
    pub(crate) max_running: NonZeroUsize,
    /// Exit with 0 once no served session is due or held, even if sessions failed or wait for somebody
    #[arg(long)]
    pub(crate) until_idle: bool,
    /// Also serve this agent queue, left by an older version (holdover doctor names it); may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) queue: Vec<QueueLabel>,
    /// Serve all tenants
    #[arg(long, conflicts_with_all = ["until_idle", "tenant"])]
    pub(crate) all_tenants: bool,
    /// After a stop signal: start no more calls (calls), finish the step (step) or the turn (turn)
    #[arg(long, value_name = "HOW", default_value = "calls")]
    pub(crate) drain: HowFar,
    /// Time limit for --drain; runs that are still going then are dropped
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = humantime::parse_duration)]
    pub(crate) grace: Duration,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

/// The point at which runs stop after a stop signal.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum HowFar {
    /// Start no model call and no tool call; wait for those that run
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
