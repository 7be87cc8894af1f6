//! The arguments of `sessions`, `events`, `doctor`, `keys`, `machine`, `demo` and `completions`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use clap_complete::Shell;
use holdover_core::ids::{InboxSeq, SessionId};
use holdover_core::machine::StateKind;
use holdover_core::mode::Mode;
use holdover_core::phrases;
use holdover_core::store::{PageCursor, SessionStatus};
use holdover_runtime_local::TreeCursor;

use super::branch::label;
use super::{Begin, Fork, Handoff, Purge, When, help};

/// The default number of sessions in a list.
pub(crate) const LIST_LIMIT: usize = 100;

#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// List sessions, newest first
    List(List),
    /// Show the state of a session, and what it waits for
    #[command(after_help = help::SHOW)]
    Show(Show),
    /// Show a session with the children that it waits for, its background children, and their children
    Tree(Tree),
    /// List the background children of a session: those that work, and the newest that have ended
    #[command(after_help = help::CHILDREN)]
    Children(One),
    /// Begin a child of a session in the background
    Begin(Begin),
    /// Print the transcript of a session
    #[command(after_help = help::MESSAGES)]
    Messages(One),
    /// List the runs of a session: who worked on it, when, and how each ended
    #[command(after_help = help::RUNS)]
    Runs(One),
    /// List the calls that wait for an answer, soonest deadline first
    Pending(Pending),
    /// List the queued messages of a session, which no turn has taken yet
    #[command(after_help = help::QUEUE)]
    Queue(One),
    /// Print the turn that took a message, by the number of the message in the queue
    Turn(TurnOf),
    /// Take back a queued message that no turn has taken yet
    Withdraw(Withdraw),
    /// Change the text of a queued message that no turn has taken yet
    Replace(Replace),
    /// Print every move of a session's state machine, with its states, its input and its time
    #[command(after_help = help::HISTORY)]
    History(History),
    /// Rebuild a session from its history alone, and report where its state differs
    #[command(after_help = help::REPLAY)]
    Replay(One),
    /// List sessions that could not continue with this version of the program, or with an agent file
    Check(Check),
    /// List the checkpoints of a session, where forks can begin, newest first
    #[command(after_help = help::CHECKPOINTS)]
    Checkpoints(One),
    /// Set the mode of a session from its next step on: plan, ask or agent
    Mode(ModeOf),
    /// Begin a new session from a checkpoint of another session
    Fork(Fork),
    /// Begin a new session for a goal, with what matters for the goal from another session
    Handoff(Handoff),
    /// Delete a session and everything that belongs to it
    Delete(Delete),
    /// Delete all sessions at rest that have not changed for a given time, or their old checkpoints
    Purge(Purge),
}

#[derive(Debug, Args)]
#[command(after_help = "\
TIME is an age (90s, 2h, 7d) or an instant: 2024-05-01T12:00:00Z, 2024-05-01T14:00:00+02:00, 2024-05-01, or milliseconds as --json prints them. A since option includes the instant; a before option excludes it. A session is listed if it matches all options: one of several --status, and all of several --label.

A fork has the label forked_from, which names its source.

If --limit ends the list, the command that continues it is printed; with --json, the last line is then {\"next\": CURSOR}. A list reads every session of the tenant that was created in the requested time. If there are very many, --created-since shortens the search.

Examples:
  holdover sessions list
  holdover sessions list --status suspended --status failed --agent clerk
  holdover sessions list --label user=ada --label urgent= --changed-since 2h
  holdover sessions list --created-since 2024-05-01 --created-before 2024-06-01
  holdover sessions list --label forked_from=notes --json")]
pub(crate) struct List {
    /// Only sessions with this status; may be repeated
    #[arg(long, value_name = "STATUS", value_parser = status(SessionStatus::ALL))]
    pub(crate) status: Vec<SessionStatus>,
    /// Only sessions of the agent with this name
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Only sessions with this label; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    pub(crate) label: Vec<(String, String)>,
    /// Only sessions that were created at this time or later
    #[arg(long, value_name = "TIME")]
    pub(crate) created_since: Option<When>,
    /// Only sessions that were created before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) created_before: Option<When>,
    /// Only sessions that last changed at this time or later
    #[arg(long, value_name = "TIME")]
    pub(crate) changed_since: Option<When>,
    /// Only sessions that last changed before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) changed_before: Option<When>,
    /// Maximum number of sessions to list
    #[arg(long, value_name = "N", default_value_t = NonZeroUsize::new(LIST_LIMIT).unwrap_or(NonZeroUsize::MIN))]
    pub(crate) limit: NonZeroUsize,
    /// Continue at the cursor where another list with the same filters ended
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<PageCursor>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
In plan and ask, the model sees only tools that are read_only, so it changes nothing. Setting the mode does not wake the session. The mode applies from the next step on, even in a running turn.

Examples:
  holdover sessions mode notes plan
  holdover send notes \"Do it\" --mode agent     set the mode with a message")]
pub(crate) struct ModeOf {
    /// The session
    pub(crate) session: SessionId,
    /// The new mode: plan, ask or agent
    pub(crate) mode: Mode,
}

#[derive(Debug, Args)]
pub(crate) struct One {
    /// The session
    pub(crate) session: SessionId,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The session to show
    pub(crate) session: SessionId,
    /// Print a one-line summary now and after each change, until the session rests or Ctrl-C
    #[arg(long)]
    pub(crate) follow: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A child is a session that works on a task of another session: it answers a call of a sub-agent, or works in the background. The usage of a session includes that of the children whose outcomes it has. The last line adds the children that it still waits for, and its running background children. With --json, each session is one line, and the last line is {\"usage\": ...}.

Examples:
  holdover sessions tree notes
  holdover sessions tree notes --all --json")]
pub(crate) struct Tree {
    /// The session
    pub(crate) session: SessionId,
    /// Also show the children of earlier calls
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct History {
    /// The session
    pub(crate) session: SessionId,
    /// Print only the machine as it was after this move, as JSON
    #[arg(long, value_name = "MOVE")]
    pub(crate) after: Option<usize>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  holdover sessions pending
  holdover sessions pending notes --json")]
pub(crate) struct Pending {
    /// Only calls of this session, of its children that have not ended, and of their children [default: all sessions]
    pub(crate) session: Option<SessionId>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Without a file, checks every session with its own agent, as this version of the program reads and builds it. With a file, checks the sessions of the agent with that name, as if they continued with the agent in the file. Aborted sessions are not checked. Claims no session and changes nothing. Exit code 1 if a session could not continue.

Examples:
  holdover sessions check
  holdover sessions check agent.toml --json")]
pub(crate) struct Check {
    /// Agent file to check with [default: the agents that are stored with the sessions]
    #[arg(value_name = "AGENT_FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) agent: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  holdover sessions queue notes
  holdover sessions withdraw notes 7")]
pub(crate) struct Withdraw {
    /// The session
    pub(crate) session: SessionId,
    /// Number of the message in the queue (holdover sessions queue)
    #[arg(value_parser = item)]
    pub(crate) item: InboxSeq,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  holdover send notes \"And the invoices\" --detach --json   # the line has \"item\": 7
  holdover sessions turn notes 7")]
pub(crate) struct TurnOf {
    /// The session
    pub(crate) session: SessionId,
    /// Number of the message: "item" in the JSON line of run, send and sessions queue
    #[arg(value_parser = item)]
    pub(crate) item: InboxSeq,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  holdover sessions queue notes
  holdover sessions replace notes 7 \"The invoices of May\"")]
pub(crate) struct Replace {
    /// The session
    pub(crate) session: SessionId,
    /// Number of the message in the queue (holdover sessions queue)
    #[arg(value_parser = item)]
    pub(crate) item: InboxSeq,
    /// The new text of the message
    pub(crate) text: String,
}

fn item(text: &str) -> Result<InboxSeq, String> {
    text.parse()
        .map(InboxSeq)
        .map_err(|_| String::from("a waiting message is a number (holdover sessions queue)"))
}

#[derive(Debug, Args)]
#[command(after_help = "\
Deletes everything at once and permanently: transcript, events, runs and pending calls.

Examples:
  holdover sessions delete notes
  holdover sessions delete notes --force     even while a run holds it; the run then stops")]
pub(crate) struct Delete {
    /// The session to delete
    pub(crate) session: SessionId,
    /// Delete the session even if a run holds it
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
With --json, each line has its cursor. With --after, the output continues after that cursor, without gaps or repeats.

Examples:
  holdover events notes
  holdover events notes --follow --json
  holdover events notes --follow --deltas")]
pub(crate) struct Events {
    /// The session
    pub(crate) session: SessionId,
    /// Only events after this cursor
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<TreeCursor>,
    /// Print new events as they come, until Ctrl-C
    #[arg(long)]
    pub(crate) follow: bool,
    /// Also print model output, running calls and their progress as they come; all of this is provisional
    #[arg(long)]
    pub(crate) deltas: bool,
    /// Also print the events of its children, and of their children
    #[arg(long)]
    pub(crate) tree: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Reports what the store promises, which settings weaken it, how many sessions it holds, and which of them are stuck, each with a reason and the commands that help. Changes nothing. Exit code 1 if a session is stuck, or if this user cannot write the store. docs/command-line.md lists the reasons.

Examples:
  holdover doctor
  holdover doctor --store sqlite:/var/lib/clerk/sessions.db --patience 10m --json
  holdover doctor --store postgres://clerk@db.internal/clerk?schema=sessions")]
pub(crate) struct Doctor {
    /// Time that something may be overdue before it counts as stuck
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = humantime::parse_duration)]
    pub(crate) patience: Duration,
}

/// The keys of a store.
#[derive(Debug, Subcommand)]
pub(crate) enum Keys {
    /// Count the payloads under each key, to find keys that are no longer used
    #[command(after_help = super::help::KEYS)]
    Status,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  holdover machine
  holdover machine --mermaid > machine.mmd
  holdover machine --paths 6
  holdover machine --paths --from confirming
  holdover machine order.toml --mermaid")]
pub(crate) struct Machine {
    /// An agent file: show the procedure of its agent instead
    #[arg(value_name = "AGENT")]
    pub(crate) agent: Option<PathBuf>,
    /// Print a Mermaid state diagram
    #[arg(long, conflicts_with = "json")]
    pub(crate) mermaid: bool,
    /// List every path to a state of rest, cut off after MOVES moves (1 to 12); defaults to 5
    #[arg(long, value_name = "MOVES", num_args = 0..=1, default_missing_value = "5", conflicts_with = "mermaid", value_parser = clap::value_parser!(u8).range(1..=12))]
    pub(crate) paths: Option<u8>,
    /// With --paths: the state where the paths begin [default: idle]
    #[arg(long, value_name = "STATE", requires = "paths", conflicts_with = "agent", value_parser = state())]
    pub(crate) from: Option<StateKind>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  holdover demo
  holdover demo --keep")]
pub(crate) struct Demo {
    /// Keep the temporary folder
    #[arg(long)]
    pub(crate) keep: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  holdover completions bash > ~/.local/share/bash-completion/completions/holdover
  holdover completions fish > ~/.config/fish/completions/holdover.fish")]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}

/// Parses a state of the machine by its name.
fn state() -> impl TypedValueParser<Value = StateKind> {
    PossibleValuesParser::new(StateKind::ALL.map(StateKind::as_str)).try_map(|name| {
        let named = |state: &StateKind| state.as_str() == name;
        StateKind::ALL.into_iter().find(named).ok_or("there is no such state")
    })
}

/// Parses one of these statuses by its name.
pub(super) fn status(
    known: impl IntoIterator<Item = SessionStatus>,
) -> impl TypedValueParser<Value = SessionStatus> {
    // Lists show another name for some statuses; it is also accepted.
    let named = |status: SessionStatus| PossibleValue::new(status.as_str()).alias(phrases::status(status));
    PossibleValuesParser::new(known.into_iter().map(named)).try_map(|name| {
        let is_meant = |status: &SessionStatus| [status.as_str(), phrases::status(*status)].contains(&&*name);
        SessionStatus::ALL.into_iter().find(is_meant).ok_or("there is no such status")
    })
}
