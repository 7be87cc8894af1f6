//! The arguments of the commands that only read.

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
    /// Show how one session stands, and what it waits for
    #[command(after_help = help::SHOW)]
    Show(Show),
    /// Show a session with the children that it waits for or that work in the background, and with theirs
    Tree(Tree),
    /// List the children of a session that work in the background, and the newest of those that have ended
    #[command(after_help = help::CHILDREN)]
    Children(One),
    /// Begin a child of a session in the background
    Begin(Begin),
    /// Print the transcript
    #[command(after_help = help::MESSAGES)]
    Messages(One),
    /// List the runs of a session: who worked on it, when, and how each ended
    #[command(after_help = help::RUNS)]
    Runs(One),
    /// List the calls that somebody owes an answer, soonest deadline first
    Pending(Pending),
    /// List the messages that no turn has taken yet
    #[command(after_help = help::QUEUE)]
    Queue(One),
    /// Take back a message that no turn has taken yet
    Withdraw(Withdraw),
    /// Let a message that no turn has taken yet say something else
    Replace(Replace),
    /// Print every move of a session's machine: from where, on what, to where, when
    #[command(after_help = help::HISTORY)]
    History(History),
    /// Rebuild a session from its history alone, and say where its state differs
    #[command(after_help = help::REPLAY)]
    Replay(One),
    /// Say which sessions would not go on with this version of the program, or with an agent as its file has it now
    Check(Check),
    /// List the places from which a fork can begin, newest first
    #[command(after_help = help::CHECKPOINTS)]
    Checkpoints(One),
    /// Set the mode of a session from its next step on: plan, ask or agent
    Mode(ModeOf),
    /// Begin a session as another one was at a checkpoint
    Fork(Fork),
    /// Begin a session that works on a goal, with what of another one matters for it
    Handoff(Handoff),
    /// Delete a session with all that belongs to it
    Delete(Delete),
    /// Delete all sessions that have rested for long, or their old checkpoints
    Purge(Purge),
}

#[derive(Debug, Args)]
#[command(after_help = "\
TIME is how long ago (90s, 2h, 7d), or an instant: 2024-05-01T12:00:00Z, 2024-05-01T14:00:00+02:00, 2024-05-01, or milliseconds as --json prints them. What is since holds the instant, what is before does not. A session is listed that fits all that is asked for; of several --status it has one, of several --label all.

A fork has the label forked_from: what it was forked from.

Where --limit ends a list, the command is printed that goes on there; with --json the last line is then {\"next\": CURSOR}. A list looks at every session of the tenant that was created in the time that is asked for, so that --created-since is what makes one short where there are very many.

Examples:
  holdover sessions list
  holdover sessions list --status suspended --status failed --agent clerk
  holdover sessions list --label user=ada --label urgent= --changed-since 2h
  holdover sessions list --created-since 2024-05-01 --created-before 2024-06-01
  holdover sessions list --label forked_from=notes --json")]
pub(crate) struct List {
    /// Only with this status
    #[arg(long, value_name = "STATUS", value_parser = status(SessionStatus::ALL))]
    pub(crate) status: Vec<SessionStatus>,
    /// Only of the agent with this name
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Only with this label
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    pub(crate) label: Vec<(String, String)>,
    /// Only created then or later
    #[arg(long, value_name = "TIME")]
    pub(crate) created_since: Option<When>,
    /// Only created before
    #[arg(long, value_name = "TIME")]
    pub(crate) created_before: Option<When>,
    /// Only with a change then or later
    #[arg(long, value_name = "TIME")]
    pub(crate) changed_since: Option<When>,
    /// Only without a change since: the last one came before
    #[arg(long, value_name = "TIME")]
    pub(crate) changed_before: Option<When>,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = NonZeroUsize::new(LIST_LIMIT).unwrap_or(NonZeroUsize::MIN))]
    pub(crate) limit: NonZeroUsize,
    /// Go on where another list ended, with the same filters
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<PageCursor>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
In plan and ask the model is told of tools that are read_only and of no others: it looks, and changes nothing. Nobody is woken; the mode counts from the next step on, also of a turn that runs.

Examples:
  holdover sessions mode notes plan
  holdover send notes \"Do it\" --mode agent     with a message")]
pub(crate) struct ModeOf {
    /// Which session
    pub(crate) session: SessionId,
    /// Which mode
    pub(crate) mode: Mode,
}

#[derive(Debug, Args)]
pub(crate) struct One {
    /// Which session
    pub(crate) session: SessionId,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Which session
    pub(crate) session: SessionId,
    /// Only its machine in short, and again whenever that has changed, until it rests or Ctrl-C
    #[arg(long)]
    pub(crate) follow: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A child is a session that answers a call of another session: the call of a sub-agent. The usage of a session holds that of the children whose outcomes it has. The last line adds the children that are still waited for. With --json each session is a line, and the last line is {\"usage\": ...}.

Examples:
  holdover sessions tree notes
  holdover sessions tree notes --all --json")]
pub(crate) struct Tree {
    /// Which session
    pub(crate) session: SessionId,
    /// Also the children of earlier calls
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct History {
    /// Which session
    pub(crate) session: SessionId,
    /// Only the machine as it was after this move, as JSON
    #[arg(long, value_name = "MOVE")]
    pub(crate) after: Option<usize>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  holdover sessions pending
  holdover sessions pending notes --json")]
pub(crate) struct Pending {
    /// Of this session alone
    pub(crate) session: Option<SessionId>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Without a file: every session, with the agent that it was created with, as this version of the program reads and builds it. With one: the sessions of the agent of that name, as if they went on with what the file says. Claims none and changes nothing. Exit code 1 if something would break.

Examples:
  holdover sessions check
  holdover sessions check agent.toml --json")]
pub(crate) struct Check {
    /// Instead of what is stored with them: the agent in this file
    #[arg(value_name = "AGENT_FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) agent: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  holdover sessions queue notes
  holdover sessions withdraw notes 7")]
pub(crate) struct Withdraw {
    /// Which session
    pub(crate) session: SessionId,
    /// Which message: its number in the queue
    #[arg(value_parser = item)]
    pub(crate) item: InboxSeq,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  holdover sessions queue notes
  holdover sessions replace notes 7 \"The invoices of May\"")]
pub(crate) struct Replace {
    /// Which session
    pub(crate) session: SessionId,
    /// Which message: its number in the queue
    #[arg(value_parser = item)]
    pub(crate) item: InboxSeq,
    /// What it says now
    pub(crate) text: String,
}

fn item(text: &str) -> Result<InboxSeq, String> {
    text.parse()
        .map(InboxSeq)
        .map_err(|_| String::from("a waiting message is a number (holdover sessions queue)"))
}

#[derive(Debug, Args)]
#[command(after_help = "\
It is gone at once, and for good: transcript, events, runs, what it waits for.

Examples:
  holdover sessions delete notes
  holdover sessions delete notes --force     also while a run holds it; the run learns so")]
pub(crate) struct Delete {
    /// Which session
    pub(crate) session: SessionId,
    /// Also if a run holds it
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
With --json each line carries its cursor; with --after it goes on after that one, without gap or repeat.

Examples:
  holdover events notes
  holdover events notes --follow --json
  holdover events notes --follow --deltas")]
pub(crate) struct Events {
    /// Which session
    pub(crate) session: SessionId,
    /// Only what comes after this cursor
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<TreeCursor>,
    /// Go on as events come, until Ctrl-C
    #[arg(long)]
    pub(crate) follow: bool,
    /// Also what the model says while it says it: provisional, until its message comes
    #[arg(long)]
    pub(crate) deltas: bool,
    /// Also the events of its children, and of theirs
    #[arg(long)]
    pub(crate) tree: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Says what the store promises, which settings weaken it, how many sessions it holds, and which of them are stuck: each with a reason and the commands that help. Changes nothing. Exit code 1 if something is stuck, or if this user cannot write the store. docs/command-line.md lists the reasons.

Examples:
  holdover doctor
  holdover doctor --store sqlite:/var/lib/clerk/sessions.db --patience 10m --json
  holdover doctor --store postgres://clerk@db.internal/clerk?schema=sessions")]
pub(crate) struct Doctor {
    /// How long something may be overdue before it counts as stuck
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = humantime::parse_duration)]
    pub(crate) patience: Duration,
}

/// The keys of a store.
#[derive(Debug, Subcommand)]
pub(crate) enum Keys {
    /// Count the payloads under each key: an old one can go once it has none
    #[command(after_help = super::help::KEYS)]
    Status,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  holdover machine
  holdover machine --mermaid > machine.mmd
  holdover machine --paths 6
  holdover machine --paths --from confirming")]
pub(crate) struct Machine {
    /// As a Mermaid state diagram
    #[arg(long, conflicts_with = "json")]
    pub(crate) mermaid: bool,
    /// List every path to a state of rest, up to MOVES moves (at most 12); longer paths are cut off. Without MOVES: 5
    #[arg(long, value_name = "MOVES", num_args = 0..=1, default_missing_value = "5", conflicts_with = "mermaid", value_parser = clap::value_parser!(u8).range(1..=12))]
    pub(crate) paths: Option<u8>,
    /// From this state; left out: idle
    #[arg(long, value_name = "STATE", requires = "paths", value_parser = state())]
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
    /// Which shell
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
