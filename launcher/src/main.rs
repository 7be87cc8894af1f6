//! `holdover-launcher SERVER... -- COMMAND...`: starts servers, runs a command with their addresses in its environment,
//! and stops the servers. Exits with the exit code of the command, with 1 if a signal ended the command, or with 2 if
//! the arguments are invalid, or a server or the command could not be started.

use std::process::{Command, ExitCode};

use holdover_launcher::{LaunchError, Launcher, PgBouncer, Postgres, Redis, RedisCluster, Restate, Temporal};

const USAGE: &str = "usage: holdover-launcher SERVER... -- COMMAND [ARGUMENT]...

The servers are postgres, pgbouncer, redis, redis-cluster, temporal and restate. Each server's address is given to
the command as HOLDOVER_POSTGRES_URL, HOLDOVER_PGBOUNCER_URL, HOLDOVER_REDIS_URL, HOLDOVER_REDIS_CLUSTER_URL,
HOLDOVER_TEMPORAL_URL, or HOLDOVER_RESTATE_INGRESS_URL and HOLDOVER_RESTATE_ADMIN_URL.";

/// The servers that run during the command.
#[derive(Default)]
struct Servers {
    postgres: Option<Postgres>,
    pgbouncer: Option<PgBouncer>,
    redis: Option<Redis>,
    redis_cluster: Option<RedisCluster>,
    temporal: Option<Temporal>,
    restate: Option<Restate>,
}

impl Servers {
    /// Starts the server of this name, and Postgres too if it is `pgbouncer`. Returns false if there is no such server.
    fn start(&mut self, launcher: &Launcher, name: &str) -> Result<bool, LaunchError> {
        match name {
            "postgres" => {
                self.need_postgres(launcher)?;
            }
            "pgbouncer" => {
                let bouncer = launcher.pgbouncer(self.need_postgres(launcher)?)?;
                self.pgbouncer = Some(bouncer);
            }
            "redis" => self.redis = Some(launcher.redis(&[])?),
            "redis-cluster" => self.redis_cluster = Some(launcher.redis_cluster()?),
            "temporal" => self.temporal = Some(launcher.temporal(&["HoldoverStatus"])?),
            "restate" => self.restate = Some(launcher.restate()?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn need_postgres(&mut self, launcher: &Launcher) -> Result<&Postgres, LaunchError> {
        let postgres = match self.postgres.take() {
            Some(running) => running,
            None => launcher.postgres(&[])?,
        };
        Ok(self.postgres.insert(postgres))
    }

    /// Returns the environment variables with the addresses, for the command.
    fn addresses(&self) -> impl Iterator<Item = (&'static str, String)> {
        let all = [
            ("HOLDOVER_POSTGRES_URL", self.postgres.as_ref().map(Postgres::url)),
            ("HOLDOVER_PGBOUNCER_URL", self.pgbouncer.as_ref().map(PgBouncer::url)),
            ("HOLDOVER_REDIS_URL", self.redis.as_ref().map(Redis::url)),
            ("HOLDOVER_REDIS_CLUSTER_URL", self.redis_cluster.as_ref().map(RedisCluster::url)),
            ("HOLDOVER_TEMPORAL_URL", self.temporal.as_ref().map(Temporal::url)),
            ("HOLDOVER_RESTATE_INGRESS_URL", self.restate.as_ref().map(Restate::ingress_url)),
            ("HOLDOVER_RESTATE_ADMIN_URL", self.restate.as_ref().map(Restate::admin_url)),
        ];
        all.into_iter().filter_map(|(name, url)| Some((name, url?)))
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(message) => {
            #[expect(clippy::print_stderr, reason = "a program's last word")]
            {
                eprintln!("{message}");
            }
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<ExitCode, String> {
    let mut parts = arguments.splitn(2, |argument| argument == "--");
    let names = parts.next().unwrap_or_default();
    let (program, rest) = parts.next().and_then(<[String]>::split_first).ok_or(USAGE)?;
    let launcher = Launcher::new().map_err(|error| format!("error: {error}"))?;
    let mut servers = Servers::default();
    for name in names {
        if !servers.start(&launcher, name).map_err(|error| format!("error: {error}"))? {
            return Err(format!("error: {name}: there is no such server\n{USAGE}"));
        }
    }
    let status = Command::new(program)
        .args(rest)
        .envs(servers.addresses())
        .status()
        .map_err(|error| format!("error: {program}: {error}"))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}
