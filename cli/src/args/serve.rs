//! The arguments of `serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::Work;

#[derive(Debug, Args)]
#[command(after_help = "\
Other programs give tasks to the agents of these files: POST /agents/NAME/tasks. Each task is a session of the tenant, which this process, or any worker on the store, runs. For a session here, an [[agent]] with url is an agent of another program.

Without --token-env everybody who reaches the address may give tasks; so it must then be one of this machine. On an address of this machine only requests that name it (localhost, 127.0.0.1) are answered: a proxy in front sets the header Host. An outcome is sent to addresses that begin with one of --replies-to, and to no others; the program that gave the task can ask for it in any case. With --address the agents that get tasks from here are told where to send the outcomes.

It ends as holdover work does.

Examples:
  holdover serve geologist.toml
  holdover serve geologist.toml --listen 0.0.0.0:8420 --token-env TOKEN
  holdover serve geologist.toml --replies-to https://mine.example
  holdover serve --address https://mine.example")]
pub(crate) struct Serve {
    /// The agent files (TOML) whose agents take tasks; none: only outcomes are taken
    pub(crate) agents: Vec<PathBuf>,
    /// Where to listen for requests
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8420")]
    pub(crate) listen: SocketAddr,
    /// The URL under which other programs reach this one, to send it the outcomes of tasks
    #[arg(long, value_name = "URL")]
    pub(crate) address: Option<String>,
    /// The environment variable with a token that callers must send; may be said several times, while one is replaced
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) token_env: Vec<String>,
    /// Send outcomes to addresses that begin with this URL; may be said several times
    #[arg(long, value_name = "URL")]
    pub(crate) replies_to: Vec<String>,
    #[command(flatten)]
    pub(crate) work: Work,
}
