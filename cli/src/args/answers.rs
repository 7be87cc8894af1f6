//! The arguments of the commands that decide, answer and stop.

use std::path::PathBuf;

use clap::Args;
use holdover_core::custom::StateChange;
use holdover_core::ids::{CallId, SessionId};

use super::Drive;

/// The calls to decide on, and the way to continue.
#[derive(Debug, Clone, Args)]
pub(crate) struct Decide {
    /// A session and its calls (optional if only one waits), or pending ids (holdover sessions pending)
    #[arg(required = true, value_name = "SESSION [CALL]...|PENDING")]
    pub(crate) which: Vec<String>,
    /// Name of the person who decides; if several must approve, each name counts once
    #[arg(long, visible_alias = "as", value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// Reason for the decision; the model is told the reason of a denial
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Leave the work to a worker (holdover work) instead of running it here
    #[arg(long, alias = "no-wait")]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "holdover approve [OPTIONS] <SESSION> [CALL]...\n       holdover approve [OPTIONS] <PENDING>..."
)]
#[command(after_help = "\
The ids of pending calls may belong to several sessions.

With --edit, one call runs with other arguments. Arguments that do not fit the tool's schema, or that a rule denies, are refused before anything is stored. A gate server is asked when the call is about to run; if it denies the arguments, the exit code is 1.

With --always, the tool needs no more approvals in this session. With --only, this applies only to calls whose arguments match; those of the approved call must match, too. A call that the policy denies stays denied. If approval terms name the approvers or require several, --always is refused and each call needs its own approval.

Examples:
  holdover approve notes
  holdover approve notes c3-0 c3-1 --as Ada
  holdover approve notes --always
  holdover approve notes --always --only 'path=drafts/*'
  holdover approve notes --edit '{\"path\": \"list.md\", \"content\": \"- tea\"}'
  holdover approve notes --edit @arguments.json")]
pub(crate) struct Approve {
    #[command(flatten)]
    pub(crate) decide: Decide,
    /// Run the call with these JSON arguments; - reads them from standard input, @FILE from a file
    #[arg(long, value_name = "JSON")]
    pub(crate) edit: Option<String>,
    /// Approve this tool for the rest of the session
    #[arg(long)]
    pub(crate) always: bool,
    /// With --always: only calls whose argument NAME matches PATTERN (* stands for any characters)
    #[arg(long, value_name = "NAME=PATTERN", requires = "always", value_parser = name_and_pattern)]
    pub(crate) only: Vec<(String, String)>,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "holdover deny [OPTIONS] <SESSION> [CALL]...\n       holdover deny [OPTIONS] <PENDING>..."
)]
#[command(after_help = "\
The ids of pending calls may belong to several sessions.

Examples:
  holdover deny notes --reason \"not today\"
  holdover deny notes c3-0 --abort --reason \"wrong customer\"
  holdover deny notes c3-0 --by Ada")]
pub(crate) struct Deny {
    #[command(flatten)]
    pub(crate) decide: Decide,
    /// Also cancel the other calls of the step; those that run are asked to stop
    #[arg(long)]
    pub(crate) abort: bool,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "holdover answer [OPTIONS] <SESSION> [CALL] <TEXT>\n       holdover answer [OPTIONS] <PENDING> <TEXT>",
    after_help = "\
Examples:
  holdover answer notes \"the blue one\"
  holdover answer notes c2-0 --error \"nobody knows\"
  holdover answer notes --image screen.png \"see the picture\"
  holdover answer notes --change '{\"does\": \"set\", \"key\": \"page\", \"value\": 7}' scanned
  holdover answer notes - < answer.txt"
)]
pub(crate) struct Answer {
    /// A session, or the id of a pending call (holdover sessions pending)
    #[arg(value_name = "SESSION|PENDING")]
    pub(crate) which: String,
    /// The call (optional if only one waits), then the answer; - reads the answer from standard input
    #[arg(required = true, num_args = 1..=2, value_names = ["CALL", "TEXT"])]
    pub(crate) words: Vec<String>,
    /// Report that the call failed; the model is told the text
    #[arg(long)]
    pub(crate) error: bool,
    /// Picture to show to the agent (PNG, JPEG, GIF or WebP, at most 1 MiB); may be repeated
    #[arg(long = "image", value_name = "FILE", conflicts_with = "error")]
    pub(crate) images: Vec<PathBuf>,
    /// Change of the session's custom state, as JSON (does: set, append or delete; key; value); may be repeated
    #[arg(long = "change", value_name = "JSON", conflicts_with = "error", value_parser = change)]
    pub(crate) changes: Vec<StateChange>,
    /// Leave the work to a worker (holdover work) instead of running it here
    #[arg(long, alias = "no-wait")]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) drive: Drive,
}

impl Answer {
    /// Returns the call, if one is named, and the text.
    pub(crate) fn call_and_text(&self) -> (Option<&str>, &str) {
        match self.words.as_slice() {
            [call, text] => (Some(call), text),
            [text] => (None, text),
            // clap accepts no other number of words.
            _ => (None, ""),
        }
    }
}

#[derive(Debug, Args)]
#[command(
    override_usage = "holdover settle [OPTIONS] <SESSION> [CALL] --done <RESULT>\n       holdover settle [OPTIONS] <PENDING> --not-done",
    after_help = "\
A call ended in doubt if it may have acted and its result is lost. It can be settled if its agent has in_doubt = \"ask\". The result of the call does not change: the model is told of the settlement before its next step. A session at rest takes the settlement and rests again, without asking its model.

Examples:
  holdover settle notes --done \"receipt 4711\" --as Ada
  holdover settle notes c2-0 --not-done --reason \"it is not on the statement\""
)]
#[command(group(clap::ArgGroup::new("outcome").required(true).args(["done", "not_done"])))]
pub(crate) struct Settle {
    /// A session, or the id of a pending call (holdover sessions pending)
    #[arg(value_name = "SESSION|PENDING")]
    pub(crate) which: String,
    /// The call, if several calls of the session are in doubt
    #[arg(value_name = "CALL")]
    pub(crate) call: Option<String>,
    /// The call was done, with this result; - reads the result from standard input, \"\" means that it is not known
    #[arg(long, value_name = "RESULT", allow_hyphen_values = true)]
    pub(crate) done: Option<String>,
    /// The call did not act
    #[arg(long)]
    pub(crate) not_done: bool,
    /// Name of the person who found this out
    #[arg(long, visible_alias = "as", value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// Reason: how this was found out; the model is told
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Leave it to a worker (holdover work) to tell the session
    #[arg(long, alias = "no-wait")]
    pub(crate) detach: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Interrupt {
    #[command(flatten)]
    pub(crate) stop: Stop,
    /// Ask only this call to stop; the other calls and the turn continue
    #[arg(long, value_name = "CALL")]
    pub(crate) call: Option<CallId>,
}

#[derive(Debug, Args)]
pub(crate) struct Stop {
    /// The session
    pub(crate) session: SessionId,
    /// Reason for the stop
    #[arg(long, value_name = "TEXT", default_value = "asked for on the command line")]
    pub(crate) reason: String,
    /// Do not wait until the session has stopped
    #[arg(long, alias = "no-wait")]
    pub(crate) detach: bool,
}

/// Parses a change of the custom state.
fn change(word: &str) -> Result<StateChange, String> {
    serde_json::from_str(word).map_err(|error| error.to_string())
}

/// Parses `NAME=PATTERN`.
fn name_and_pattern(word: &str) -> Result<(String, String), String> {
    match word.split_once('=') {
        Some((name, pattern)) if !name.is_empty() => Ok((name.to_owned(), pattern.to_owned())),
        _ => Err("write NAME=PATTERN".to_owned()),
    }
}
