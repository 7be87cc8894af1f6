//! The arguments of `serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::Work;

#[derive(Debug, Args)]
#[command(after_help = "\
Sessions are served over HTTP: the API is described at /openapi.json, and MCP clients use /mcp. Each request needs a token (holdover tokens create); with it, a caller starts sessions of the agents of these files, and sees all sessions of the tenant of the token.

Other programs give tasks to the agents of these files with POST /agents/NAME/tasks. Each task is a session of the tenant; this process or any worker on the store runs it. To give tasks to an agent of another program, name its url in an [[agent]] of the agent file.

Without --token-env, tasks are taken only on an address of this machine without --host and --origin, from every program there. On such an address, only requests whose header Host names this machine (localhost, 127.0.0.1 or [::1]) or a host of --host are answered. With --host or --origin, this holds on every address. Requests of pages of other sites are refused, except those of --origin. Outcomes are sent only to addresses that begin with a URL of --replies-to; the program that gave the task can ask for its outcome in any case. With --address, the agents that get tasks from here are told where to send the outcomes.

The command stops in the same way as holdover work. From the signal on, /v1/ready answers 503; other requests are answered, and streams go on, until the running calls have returned and --linger is over.

On an address of this machine, a link is printed while the tenant has no tokens: whoever opens it first gets a token that holds until the process ends.

Examples:
  holdover serve --demo
  holdover serve geologist.toml
  holdover serve geologist.toml --listen 0.0.0.0:8420 --token-env TOKEN --host agents.example
  holdover serve geologist.toml --replies-to https://mine.example
  holdover serve --address https://mine.example")]
pub(crate) struct Serve {
    /// Agent files (TOML) whose agents take tasks; without any, only outcomes are taken
    pub(crate) agents: Vec<PathBuf>,
    /// Serve an agent whose model is a script, without a key, and remove everything at the end
    #[arg(long, conflicts_with_all = ["agents", "host", "origin", "all_tenants"])]
    pub(crate) demo: bool,
    /// Address to listen on for requests
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8420")]
    pub(crate) listen: SocketAddr,
    /// URL at which other programs reach this one, to send it the outcomes of tasks
    #[arg(long, value_name = "URL")]
    pub(crate) address: Option<String>,
    /// Host that requests may name, besides those of this machine; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// Site whose pages may send requests, by its origin; may be repeated
    #[arg(long, value_name = "URL")]
    pub(crate) origin: Vec<String>,
    /// Environment variable with a token that programs must send with tasks; may be repeated, to replace a token
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) token_env: Vec<String>,
    /// Send outcomes to addresses that begin with this URL; may be repeated
    #[arg(long, value_name = "URL")]
    pub(crate) replies_to: Vec<String>,
    /// After a stop signal, go on answering for at least this long, so that load balancers learn that the process stops
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = humantime::parse_duration)]
    pub(crate) linger: Duration,
    #[command(flatten)]
    pub(crate) work: Work,
}
