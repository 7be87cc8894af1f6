//! What may stand on the command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use holdover_conformance_tests::Level;
use holdover_core::ids::{ItemKey, SessionId, TenantId};
use holdover_core::store::{EventCursor, SessionStatus};
use holdover_models::ModelRef;

use crate::store::DEFAULT_STORE;

const EXAMPLES: &str = "\
Examples:
  holdover demo                                    see a crash and its recovery, with no model and no key
  holdover run agent.toml \"Tidy up the notes\"      start a session and run it here
  holdover sessions list --status suspended        who waits for an answer?
  holdover approve 01kaw3v9x2c4q8mn                let the one call run that waits, and go on
  holdover work                                    serve every session that is due

Exit codes:
   0  completed        10  suspended, somebody owes something
   1  failed           20  interrupted or aborted
   2  wrong use

With --json each line is one object; the last one of a command that drives a session is
{\"session\": …, \"outcome\": {\"kind\": …}}. Instants are milliseconds since 1970-01-01T00:00:00Z.
HOLDOVER_LOG sets what is logged to standard error: error, warn, info, debug, or a tracing filter.";

/// Runs agents whose sessions survive.
#[derive(Debug, Parser)]
#[command(name = "holdover", version, about = "Runs agents whose sessions survive.", after_help = EXAMPLES)]
#[command(propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// Where sessions are kept: sqlite:PATH
    #[arg(long, global = true, value_name = "URL", env = "HOLDOVER_STORE", default_value = DEFAULT_STORE)]
    pub(crate) store: String,
    /// Whose sessions
    #[arg(long, global = true, value_name = "NAME", default_value = "default")]
    pub(crate) tenant: TenantId,
    /// Print JSON, one object a line
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a turn of an agent and run it here until it ends or somebody owes something
    Run(Run),
    /// Say something to a session, and run it here
    Send(Send),
    /// Take a session up again: a suspended, interrupted, failed or abandoned one
    Resume(Again),
    /// Serve the sessions that are due, until stopped
    Work(Work),
    /// Let a call run that waits for a person, and go on
    Approve(Approve),
    /// Refuse a call that waits for a person, and go on
    Deny(Deny),
    /// Answer a call that waits for its result (ask_user), and go on
    Answer(Answer),
    /// Stop the turn of a session; the session stays usable
    Interrupt(Stop),
    /// Stop a session for ever
    Abort(Stop),
    /// Take up the turn of a failed or interrupted session again
    Retry(Again),
    /// Look at sessions
    #[command(subcommand)]
    Sessions(Sessions),
    /// Show the machine by which every session moves
    Machine(Machine),
    /// Run the conformance suite against a store, on fresh data of its own
    Conformance(Conformance),
    /// Play a session through approval, kill -9 and recovery, in a temporary folder
    Demo(Demo),
}

/// How a session is driven in this process.
#[derive(Debug, Clone, Args)]
pub(crate) struct Drive {
    /// How long a claim holds before others may try
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = lease)]
    pub(crate) lease: Duration,
    /// The model to ask instead, as PROVIDER:NAME (openai:NAME, anthropic:NAME, scripted:FILE)
    #[arg(long, value_name = "PROVIDER:NAME", value_parser = model)]
    pub(crate) model: Option<ModelRef>,
    /// Where the model's server is instead: http://127.0.0.1:8080/v1
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
MESSAGE may be - : it is then read from standard input, as it is when left out and standard input is no terminal.

Examples:
  holdover run agent.toml \"Tidy up the notes\"
  git diff | holdover run reviewer.toml -
  holdover run agent.toml --session notes --key 2024-05-01 \"The daily round\"
  holdover run agent.toml --model openai:qwen3 --base-url http://127.0.0.1:8080/v1 \"Hello\"")]
pub(crate) struct Run {
    /// The agent file (TOML)
    pub(crate) agent: PathBuf,
    /// What is said to the agent
    pub(crate) message: Option<String>,
    /// The session to say it in, created if there is none; left out: a new one
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<SessionId>,
    /// Idempotency key: the same key starts at most one turn
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<ItemKey>,
    /// The folder that the file tools see; left out: what the agent file says, else the current folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) root: Option<PathBuf>,
    /// Leave the work to a worker (holdover work)
    #[arg(long, alias = "no-wait")]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

#[derive(Debug, Args)]
pub(crate) struct Send {
    /// Which session
    pub(crate) session: SessionId,
    /// What is said; - reads it from standard input
    pub(crate) message: Option<String>,
    /// Idempotency key: the same key is accepted at most once
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<ItemKey>,
    /// Leave the work to a worker (holdover work)
    #[arg(long, alias = "no-wait")]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

#[derive(Debug, Args)]
pub(crate) struct Again {
    /// Which session
    pub(crate) session: SessionId,
    /// Leave the work to a worker (holdover work)
    #[arg(long, alias = "no-wait")]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Serves the sessions of one tenant, whatever their agent: each session carries its agent with it. Ctrl-C or
SIGTERM lets what runs come to its end; a second one stops at once, and others take the sessions over.

Examples:
  holdover work --max-running 4
  holdover work --until-idle && holdover sessions list")]
pub(crate) struct Work {
    /// How many sessions run at once
    #[arg(long, value_name = "N", default_value = "16")]
    pub(crate) max_running: NonZeroUsize,
    /// Exit once nothing is due and no session is held by anybody
    #[arg(long)]
    pub(crate) until_idle: bool,
    /// Serve every tenant
    #[arg(long, conflicts_with_all = ["until_idle", "tenant"])]
    pub(crate) all_tenants: bool,
    /// How long runs may go on after a stop was asked for
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = humantime::parse_duration)]
    pub(crate) grace: Duration,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

/// Which call is answered, and what happens then.
#[derive(Debug, Clone, Args)]
pub(crate) struct Decide {
    /// Which session
    pub(crate) session: SessionId,
    /// Which call; may be left out when one alone waits
    pub(crate) call: Option<String>,
    /// Who decides
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Leave the work to a worker (holdover work)
    #[arg(long, alias = "no-wait")]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

#[derive(Debug, Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    pub(crate) decide: Decide,
    /// Arguments to run with instead, as JSON
    #[arg(long, value_name = "JSON")]
    pub(crate) arguments: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Deny {
    #[command(flatten)]
    pub(crate) decide: Decide,
}

#[derive(Debug, Args)]
#[command(override_usage = "holdover answer [OPTIONS] <SESSION> [CALL] <TEXT>")]
pub(crate) struct Answer {
    /// Which session
    pub(crate) session: SessionId,
    /// Which call (may be left out when one alone waits), and the answer; - reads it from standard input
    #[arg(required = true, num_args = 1..=2, value_names = ["CALL", "TEXT"])]
    pub(crate) words: Vec<String>,
    /// The answer says that it could not be done
    #[arg(long)]
    pub(crate) error: bool,
    /// Leave the work to a worker (holdover work)
    #[arg(long, alias = "no-wait")]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

impl Answer {
    /// The call, if it is named, and the text.
    pub(crate) fn call_and_text(&self) -> (Option<&str>, &str) {
        match self.words.as_slice() {
            [call, text] => (Some(call), text),
            [text] => (None, text),
            // clap lets no other number through.
            _ => (None, ""),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Stop {
    /// Which session
    pub(crate) session: SessionId,
    /// Why
    #[arg(long, value_name = "TEXT", default_value = "asked for on the command line")]
    pub(crate) reason: String,
    /// Do not wait until whoever runs the session has stopped
    #[arg(long, alias = "no-wait")]
    pub(crate) detach: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// List sessions, newest first
    List(List),
    /// Show how one session stands, and what it waits for
    Show(One),
    /// Print the transcript
    Messages(One),
    /// Print the events, each with the cursor to go on after it
    Events(Events),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only with this status: idle, active, suspended, interrupted, failed, aborted
    #[arg(long, value_name = "STATUS", value_parser = status)]
    pub(crate) status: Vec<SessionStatus>,
    /// Only of the agent with this name
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct One {
    /// Which session
    pub(crate) session: SessionId,
}

#[derive(Debug, Args)]
pub(crate) struct Events {
    /// Which session
    pub(crate) session: SessionId,
    /// Only what comes after this cursor
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<EventCursor>,
    /// Go on as events come
    #[arg(long)]
    pub(crate) follow: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Machine {
    /// As a Mermaid state diagram
    #[arg(long, conflicts_with = "json")]
    pub(crate) mermaid: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Your data is never touched. --store sqlite:PATH says where to test, not what: every case has new databases in
a temporary folder beside the file PATH (inside PATH if it is a folder), so that the same file system is
tested, and the folder is removed at the end. --store memory tests the reference store. The clock is moved by
the cases, and payload limits are lowered to a size that a case can reach.

The tree goes to standard output, or to standard error when a report goes to standard output. Exit codes: 0
only if every case of the asked level, and of those below it, was run and passed; 1 if not, and so always
with --filter; 2 wrong use.

Examples:
  holdover conformance --store sqlite:holdover.db
  holdover conformance --store memory --level core --report md
  holdover conformance --filter fence --report json --out fence.json --report junit --out fence.xml")]
pub(crate) struct Conformance {
    /// The level to be judged: core, durable, distributed; left out: the highest that the store claims
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub(crate) level: Option<Level>,
    /// Only the case, the category, or the cases whose id contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// The order in which cases begin, and what they draw at random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// How many cases run at once; left out: one for each processor
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Report in this form; may be given several times, each with its --out
    #[arg(long, value_name = "FORM")]
    pub(crate) report: Vec<Form>,
    /// Where the report goes, in the order of --report; left out: standard output
    #[arg(long, value_name = "FILE", requires = "report")]
    pub(crate) out: Vec<PathBuf>,
    /// Write into this file until killed: how the suite starts what it kills
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) child: Option<PathBuf>,
}

/// A form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Everything, for programs
    Json,
    /// JUnit XML, for build servers
    Junit,
    /// A page without times, for a repository
    Md,
    /// A badge, for shields.io
    Badge,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Keep the temporary folder
    #[arg(long)]
    pub(crate) keep: bool,
}

fn model(text: &str) -> Result<ModelRef, holdover_models::InvalidModelRef> {
    text.parse()
}

fn lease(text: &str) -> Result<Duration, String> {
    let lease = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if lease < Duration::from_secs(1) || lease > Duration::from_secs(3600) {
        return Err(String::from("a lease takes between 1s and 1h"));
    }
    Ok(lease)
}

fn level(text: &str) -> Result<Level, String> {
    let level = Level::ALL.into_iter().find(|level| level.to_string() == text);
    level.ok_or_else(|| format!("known are {}", Level::ALL.map(|level| level.to_string()).join(", ")))
}

fn status(text: &str) -> Result<SessionStatus, String> {
    SessionStatus::from_wire(text).ok_or_else(|| {
        let known: Vec<&str> = SessionStatus::ALL.iter().map(|status| status.as_str()).collect();
        format!("known are {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn an_answer_is_the_last_word() {
        let parse = |words: &[&str]| {
            let command = Cli::try_parse_from(words).unwrap().command;
            let Command::Answer(answer) = command else { panic!("{command:?}") };
            let (call, text) = answer.call_and_text();
            (call.map(str::to_owned), text.to_owned())
        };
        assert_eq!(parse(&["holdover", "answer", "s", "blue"]), (None, "blue".into()));
        assert_eq!(parse(&["holdover", "answer", "s", "c1-0", "blue"]), (Some("c1-0".into()), "blue".into()));
        assert!(Cli::try_parse_from(["holdover", "answer", "s"]).is_err());
        assert!(Cli::try_parse_from(["holdover", "answer", "s", "a", "b", "c"]).is_err());
    }
}
