//! The command line: global options and commands.

mod answers;
mod branch;
#[cfg(feature = "conformance")]
mod conformance;
mod dead;
mod drive;
mod help;
mod look;
#[cfg(feature = "serve")]
mod mcp;
#[cfg(feature = "schedules")]
mod schedules;
#[cfg(feature = "serve")]
mod serve;
mod skills;
#[cfg(feature = "serve")]
mod tokens;
mod when;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use holdover_core::ids::TenantId;

pub(crate) use answers::{Answer, Approve, Decide, Deny, Interrupt, Settle, Stop};
pub(crate) use branch::{Begin, Fork, Handoff, Purge};
#[cfg(feature = "conformance")]
pub(crate) use conformance::{Conformance, Form};
pub(crate) use dead::{Dead, ReplayLetters};
pub(crate) use drive::{Again, Briefing, Compact, Drive, Run, Send, Signal, Work};
pub(crate) use look::{
    Check, Completions, Delete, Demo, Doctor, Events, History, Keys, LIST_LIMIT, List, Machine, ModeOf, One,
    Pending, Replace, Sessions, Show, Tree, TurnOf, Withdraw,
};
#[cfg(feature = "serve")]
pub(crate) use mcp::Mcp;
#[cfg(feature = "schedules")]
pub(crate) use schedules::{AddSchedule, Schedules, Trigger};
#[cfg(feature = "serve")]
pub(crate) use serve::Serve;
pub(crate) use skills::{OfAgent, Skills};
#[cfg(feature = "serve")]
pub(crate) use tokens::{CreateToken, RevokeTokens, Tokens};
pub(crate) use when::{Due, When};

use crate::engine::{self, EngineUrl};
use crate::exit::Failure;
use crate::left_out;
use crate::store::{DEFAULT_STORE, StoreUrl, VARIABLE, forms};

/// The arguments of `holdover`.
#[derive(Debug, Parser)]
#[command(name = "holdover", version, about = "Run agents whose sessions survive crashes and restarts", after_help = help::AFTER)]
#[command(propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Parses the command line of this process. If there is nothing to run, prints help or an error and exits. Fails
    /// for a command that this build leaves out.
    pub(crate) fn read() -> Result<Self, Failure> {
        let matches = Self::described().try_get_matches();
        let read = matches.and_then(|matches| Self::from_arg_matches(&matches));
        read.map_err(|error| left_out::command(&error).unwrap_or_else(|| error.exit()))
    }

    /// Returns the command line with its commands in groups.
    pub(crate) fn described() -> clap::Command {
        help::grouped(help::only_what_is_here(Self::command()))
    }
}

/// The options of every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    // The help lists the kinds of stores of this build.
    #[arg(help = format!("The store to open: {}", forms()))]
    #[arg(long, global = true, value_name = "URL", env = VARIABLE, hide_env_values = true, default_value = DEFAULT_STORE, display_order = 900)]
    pub(crate) store: StoreUrl,
    /// The engine that decides when sessions run: temporal://HOST:PORT/NAMESPACE or restate://HOST:PORT
    #[arg(long, global = true, value_name = "URL", env = engine::VARIABLE, hide_env_values = true, display_order = 901)]
    pub(crate) engine: Option<EngineUrl>,
    /// The tenant that owns the sessions
    #[arg(long, global = true, value_name = "NAME", default_value = "default", display_order = 902)]
    pub(crate) tenant: TenantId,
    /// Print JSON, one object per line
    #[arg(long, global = true, display_order = 903)]
    pub(crate) json: bool,
    /// Hide progress: print only the answer, or the outcome if there is no answer
    #[arg(long, short, global = true, conflicts_with = "json", display_order = 904)]
    pub(crate) quiet: bool,
}

/// The commands. Their order is that of their groups.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a turn of an agent, and run it here until it ends or waits for an answer
    Run(Run),
    /// Send a message to a session, and run the session here
    Send(Send),
    /// Resume a suspended, interrupted, failed or abandoned session
    Resume(Again),
    /// Continue a failed or interrupted turn, or make a waiting retry happen now
    #[command(after_help = help::RETRY)]
    Retry(Again),
    /// Summarise the old messages of a session at rest, so that its model can go on
    Compact(Compact),
    /// Start a worker: run the sessions that are due, until stopped
    Work(Work),
    /// Serve sessions over HTTP, take tasks from other programs, and run a worker, until stopped
    #[cfg(feature = "serve")]
    Serve(Serve),
    /// Serve sessions over MCP on standard input and output, and run a worker, until the client ends
    #[cfg(feature = "serve")]
    Mcp(Mcp),
    /// Make, list and revoke the tokens with which callers reach a server
    #[cfg(feature = "serve")]
    #[command(subcommand)]
    Tokens(Tokens),
    /// Start agents at the times of cron lines or at intervals, and change such schedules
    #[cfg(feature = "schedules")]
    #[command(subcommand)]
    Schedules(Schedules),
    /// Approve calls that wait for a person, and continue the session
    Approve(Approve),
    /// Deny calls that wait for a person, and continue the session
    Deny(Deny),
    /// Answer a call that waits for its result (ask_user), and continue the session
    Answer(Answer),
    /// Send a named signal to a session; a call that waits for it goes on (wait_for)
    Signal(Signal),
    /// Settle a call that ended in doubt: say that it was done, or that it was not
    Settle(Settle),
    /// Stop the turn of a session; the session stays usable
    #[command(after_help = help::INTERRUPT)]
    Interrupt(Interrupt),
    /// Stop a session for ever
    #[command(after_help = help::ABORT)]
    Abort(Stop),
    /// Look at sessions, and begin, change or delete them
    #[command(subcommand)]
    Sessions(Sessions),
    /// List dead letters (sessions that were given up), and let their sessions try again
    #[command(subcommand)]
    Dead(Dead),
    /// Print the events of a session, each with the cursor to continue after it
    Events(Events),
    /// List the skills of an agent, and fetch them into the cache
    #[command(subcommand)]
    Skills(Skills),
    /// Check a store: its promises, its contents, and its stuck sessions
    Doctor(Doctor),
    /// Show the keys with which a store's payloads are encrypted
    #[command(subcommand)]
    Keys(Keys),
    /// Run the conformance suite against a store, on new data that is separate from yours
    #[cfg(feature = "conformance")]
    Conformance(Conformance),
    /// Demonstrate approval, kill -9 and recovery of a session, in a temporary folder
    Demo(Demo),
    /// Show the state machine that every session follows
    Machine(Machine),
    /// Print a completion script for a shell
    Completions(Completions),
}

impl Command {
    /// Returns true if the command can print JSON.
    pub(crate) fn speaks_json(&self) -> bool {
        match self {
            Self::Demo(_) | Self::Completions(_) => false,
            // Its standard output belongs to the protocol.
            #[cfg(feature = "serve")]
            Self::Mcp(_) => false,
            Self::Run(_)
            | Self::Send(_)
            | Self::Resume(_)
            | Self::Retry(_)
            | Self::Compact(_)
            | Self::Work(_)
            | Self::Approve(_)
            | Self::Deny(_)
            | Self::Answer(_)
            | Self::Signal(_)
            | Self::Settle(_)
            | Self::Interrupt(_)
            | Self::Abort(_)
            | Self::Sessions(_)
            | Self::Dead(_)
            | Self::Events(_)
            | Self::Skills(_)
            | Self::Doctor(_)
            | Self::Keys(_)
            | Self::Machine(_) => true,
            #[cfg(feature = "conformance")]
            Self::Conformance(_) => true,
            #[cfg(feature = "schedules")]
            Self::Schedules(_) => true,
            #[cfg(feature = "serve")]
            Self::Serve(_) | Self::Tokens(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::described().debug_assert();
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
