//! The plans and page counts of statements, from the server's log.

use holdover_launcher::{Launcher, Postgres};
use holdover_store_postgres::PostgresOptions;

use super::{Admin, options};

/// A server that logs the plan of each statement.
pub(crate) struct Watched {
    pub(crate) server: Postgres,
    pub(crate) options: PostgresOptions,
    pub(crate) admin: Admin,
    read: usize,
}

impl Watched {
    pub(crate) async fn new(launcher: &Launcher) -> Self {
        let log = [
            ("shared_preload_libraries", "auto_explain"),
            ("auto_explain.log_min_duration", "0"),
            ("auto_explain.log_analyze", "on"),
            ("auto_explain.log_buffers", "on"),
            ("auto_explain.log_timing", "off"),
            ("autovacuum", "off"),
        ];
        let server = launcher.postgres(&log).unwrap();
        let (options, admin) = (options(&server.url()).connections_max(1), Admin::at(&server.url()).await);
        Self { server, options, admin, read: 0 }
    }

    /// Returns the plans of all statements since the last call.
    pub(crate) fn plans(&mut self) -> Vec<String> {
        let log = std::fs::read_to_string(self.server.log()).unwrap();
        let new = log[self.read..].split("Query Text: ").skip(1);
        let plans = new.filter(|plan| plan.contains("(actual ")).map(str::to_owned).collect();
        self.read = log.len();
        plans
    }
}

/// Returns how many pages a statement read.
pub(crate) fn pages(plan: &str) -> u64 {
    let buffers = plan.lines().find_map(|line| line.trim().strip_prefix("Buffers: shared ")).unwrap();
    let counts = buffers.split(' ').filter_map(|count| count.split_once('='));
    counts
        .filter(|(what, _)| ["hit", "read"].contains(what))
        .map(|(_, count)| count.parse::<u64>().unwrap())
        .sum()
}
