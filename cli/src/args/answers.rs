//! The arguments of the commands that decide, answer and stop.

use std::path::PathBuf;

use clap::Args;
use holdover_core::ids::{CallId, SessionId};

use super::Drive;

/// Which calls are decided on, and what happens then.
#[derive(Debug, Clone, Args)]
pub(crate) struct Decide {
    /// The session, and which of its calls (may be left out when one alone waits); or the ids of pending
    /// calls, of any sessions (holdover sessions pending)
    #[arg(required = true, value_name = "SESSION [CALL]...|PENDING")]
    pub(crate) which: Vec<String>,
    /// Who decides; where several must approve, each is counted by this name
    #[arg(long, visible_alias = "as", value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// Why; of a refusal the model is told
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Leave the work to a worker (holdover work)
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
With --edit the call runs with other arguments. Arguments that do not fit the tool's schema or that a rule denies are refused before anything is stored; a gate that is a server is asked when the call is about to run, and if it denies them the exit code is 1.
With --always its tool is not asked about again in this session, with --only where its arguments match, as those of this call must; what the policy denies stays denied. Where it is laid down who approves, each call is approved by itself.

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
    /// Arguments to run with instead, as JSON; - reads them from standard input, @FILE from a file
    #[arg(long, value_name = "JSON")]
    pub(crate) edit: Option<String>,
    /// Approve this tool for the rest of the session
    #[arg(long)]
    pub(crate) always: bool,
    /// With --always: only calls whose argument NAME matches PATTERN, in which * stands for anything
    #[arg(long, value_name = "NAME=PATTERN", requires = "always", value_parser = name_and_pattern)]
    pub(crate) only: Vec<(String, String)>,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "holdover deny [OPTIONS] <SESSION> [CALL]...\n       holdover deny [OPTIONS] <PENDING>..."
)]
#[command(after_help = "\
Examples:
  holdover deny notes --reason \"not today\"
  holdover deny notes c3-0 --by Ada")]
pub(crate) struct Deny {
    #[command(flatten)]
    pub(crate) decide: Decide,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "holdover answer [OPTIONS] <SESSION> [CALL] <TEXT>\n       holdover answer [OPTIONS] <PENDING> <TEXT>",
    after_help = "\
Examples:
  holdover answer notes \"the blue one\"
  holdover answer notes c2-0 --error \"nobody knows\"
  holdover answer notes --image screen.png \"this is what it shows\"
  holdover answer notes - < answer.txt"
)]
pub(crate) struct Answer {
    /// The session, or the id of a pending call (holdover sessions pending)
    #[arg(value_name = "SESSION|PENDING")]
    pub(crate) which: String,
    /// Which call of the session (may be left out when one alone waits), and the answer; - reads it from
    /// standard input
    #[arg(required = true, num_args = 1..=2, value_names = ["CALL", "TEXT"])]
    pub(crate) words: Vec<String>,
    /// The answer says that it could not be done
    #[arg(long)]
    pub(crate) error: bool,
    /// Show the agent this picture (PNG, JPEG, GIF, WebP; at most 1 MiB); may be said several times
    #[arg(long = "image", value_name = "FILE", conflicts_with = "error")]
    pub(crate) images: Vec<PathBuf>,
    /// Leave the work to a worker (holdover work)
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
pub(crate) struct Interrupt {
    #[command(flatten)]
    pub(crate) stop: Stop,
    /// Stop this call alone; its siblings and the turn go on
    #[arg(long, value_name = "CALL")]
    pub(crate) call: Option<CallId>,
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

/// Parses `NAME=PATTERN`.
fn name_and_pattern(word: &str) -> Result<(String, String), String> {
    match word.split_once('=') {
        Some((name, pattern)) if !name.is_empty() => Ok((name.to_owned(), pattern.to_owned())),
        _ => Err("write NAME=PATTERN".to_owned()),
    }
}
