//! The settings of the server that the store's promises rest on, read back when it is opened.

use holdover_core::store::{Capabilities, CommitSurvives, Retry, SharedBy, StoreError, StoreErrorKind};
use sqlx::PgConnection;

use crate::columns::Columns;
use crate::error::Fault;
use crate::options::PostgresOptions;

/// The oldest version whose behaviour is known, as the server counts them.
const VERSION_MIN: u64 = 150_000;

const READ: &str = "SELECT current_setting('server_version_num')::bigint, pg_is_in_recovery(), s.name, \
     current_setting(s.name, true) FROM unnest($1) WITH ORDINALITY AS s (name, nth) ORDER BY s.nth";

/// What is read, by the names that Postgres has for it.
const NAMES: [&str; 11] = [
    "server_version",
    "server_encoding",
    "fsync",
    "full_page_writes",
    "synchronous_commit",
    "synchronous_standby_names",
    "default_transaction_read_only",
    "default_transaction_isolation",
    "statement_timeout",
    "lock_timeout",
    "idle_in_transaction_session_timeout",
];

/// What a server says of itself.
pub(crate) struct Settings {
    version: u64,
    in_recovery: bool,
    by_name: Vec<(String, String)>,
}

impl Settings {
    /// As this connection has them.
    pub(crate) async fn read(conn: &mut PgConnection) -> Result<Self, Fault> {
        let names: Vec<&str> = NAMES.to_vec();
        let rows = sqlx::query(READ).bind(names).persistent(false).fetch_all(conn).await?;
        let mut settings = Self { version: 0, in_recovery: false, by_name: Vec::new() };
        for row in &rows {
            let mut c = Columns::of(row);
            (settings.version, settings.in_recovery) = (c.count()?, c.flag()?);
            settings.by_name.push((c.text()?, c.text_or_null()?.unwrap_or_default()));
        }
        Ok(settings)
    }

    fn get(&self, name: &str) -> &str {
        let found = self.by_name.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// Refuses a server that the store cannot work on.
    pub(crate) fn check(&self, options: &PostgresOptions) -> Result<(), StoreError> {
        let refuse = |why: &str| {
            let detail = format!("{}: {why}", options.place());
            Err(StoreError::new(StoreErrorKind::Unavailable, "open", detail).retry(Retry::Never))
        };
        let isolation = self.get("default_transaction_isolation");
        if self.version < VERSION_MIN {
            return refuse(&format!("Postgres {} is too old, 15 is needed", self.get("server_version")));
        }
        if self.in_recovery {
            return refuse("the server is a standby: it takes no writes, and a read may lag behind");
        }
        if self.get("default_transaction_read_only") == "on" {
            return refuse("default_transaction_read_only is on");
        }
        if self.get("server_encoding") != "UTF8" {
            return refuse(&format!(
                "the database has encoding {}, UTF8 is needed",
                self.get("server_encoding")
            ));
        }
        if !options.transaction_pooler && isolation != "read committed" {
            return refuse(&format!(
                "default_transaction_isolation is {isolation}, read committed was asked for"
            ));
        }
        Ok(())
    }

    /// What the store promises on this server.
    pub(crate) fn capabilities(mut self, options: &PostgresOptions) -> Capabilities {
        let backend = format!("Postgres {}", self.get("server_version"));
        let commit_survives = self.commit_survives();
        let own = [
            ("connections_max", options.connections_max.to_string()),
            ("change_hints", options.change_hints.to_string()),
            ("transaction_pooler", options.transaction_pooler.to_string()),
        ];
        self.by_name.extend(own.map(|(name, value)| (name.to_owned(), value)));
        Capabilities {
            backend,
            commit_survives,
            shared_by: SharedBy::Network,
            change_hints_across_processes: options.listens(),
            forks: true,
            retention: true,
            payload_bytes_max: options.payload_bytes_max,
            commit_bytes_max: options.commit_bytes_max,
            settings: self.by_name,
        }
    }

    /// Without `synchronous_commit` the server acknowledges what only its memory holds: its death loses it, so
    /// nothing is promised. Without `fsync` or whole pages that is so of a power cut alone.
    fn commit_survives(&self) -> CommitSurvives {
        if self.get("synchronous_commit") == "off" {
            CommitSurvives::Nothing
        } else if self.get("fsync") == "off" || self.get("full_page_writes") == "off" {
            CommitSurvives::ProcessKill
        } else {
            CommitSurvives::PowerCut
        }
    }
}
