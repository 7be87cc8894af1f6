//! The server settings on which the store's promises depend, read back on each connection.

use std::time::Duration;

use holdover_store::{Capabilities, CommitSurvives, SharedBy};
use sqlx::{PgConnection, Row};

use crate::options::{Opening, PostgresOptions};

/// The oldest supported version, in the server's numbering.
const VERSION_MIN: i64 = 150_000;

/// Reads each setting twice: as a person writes it, and in Postgres's base unit.
const READ: &str = "SELECT current_setting('server_version_num')::bigint, pg_is_in_recovery(), s.name, \
     coalesce(current_setting(s.name, true), ''), coalesce(p.setting, '') \
     FROM unnest($1) WITH ORDINALITY AS s (name, nth) LEFT JOIN pg_settings p ON p.name = s.name ORDER BY s.nth";

/// The names of the settings that are read.
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

/// The settings of a server; empty before it was asked.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    version: i64,
    in_recovery: bool,
    by_name: Vec<Setting>,
}

#[derive(Debug)]
struct Setting {
    name: String,
    shown: String,
    counted: String,
}

impl Settings {
    /// Reads the settings of this connection.
    pub(crate) async fn read(conn: &mut PgConnection) -> Result<Self, sqlx::Error> {
        let rows = sqlx::query(READ).bind(NAMES.to_vec()).persistent(false).fetch_all(conn).await?;
        let mut settings = Self::default();
        for row in &rows {
            (settings.version, settings.in_recovery) = (row.try_get(0)?, row.try_get(1)?);
            let (name, shown, counted) = (row.try_get(2)?, row.try_get(3)?, row.try_get(4)?);
            settings.by_name.push(Setting { name, shown, counted });
        }
        Ok(settings)
    }

    fn find(&self, name: &str) -> Option<&Setting> {
        self.by_name.iter().find(|setting| setting.name == name)
    }

    fn get(&self, name: &str) -> &str {
        self.find(name).map_or("", |setting| setting.shown.as_str())
    }

    /// Returns the reason why the store cannot work on this server, or none if it can.
    pub(crate) fn refused(&self, options: &PostgresOptions) -> Option<String> {
        let isolation = self.get("default_transaction_isolation");
        if self.version < VERSION_MIN {
            return Some(format!("Postgres {} is too old, 15 is needed", self.get("server_version")));
        }
        // A store that only looks accepts a server that refuses writes.
        let writes = options.opening != Opening::Looks;
        if writes && self.in_recovery {
            return Some("the server is a standby: it takes no writes, and a read may lag behind".into());
        }
        if writes && self.get("default_transaction_read_only") == "on" {
            return Some("default_transaction_read_only is on".into());
        }
        if self.get("server_encoding") != "UTF8" {
            return Some(format!(
                "the database has encoding {}, UTF8 is needed",
                self.get("server_encoding")
            ));
        }
        // Behind a pooler each transaction sets its own values.
        if options.transaction_pooler {
            return None;
        }
        if isolation != "read committed" {
            return Some(format!(
                "default_transaction_isolation is {isolation}, read committed was asked for"
            ));
        }
        let times = [
            ("statement_timeout", options.statement_max()),
            ("lock_timeout", options.lock_max()),
            ("idle_in_transaction_session_timeout", options.statement_max()),
        ];
        times.into_iter().find_map(|(name, asked)| self.differs(name, asked))
    }

    /// Returns the reason to refuse the connection if a time-out is not the one that was asked for. Then something
    /// between store and server dropped the connection's options.
    fn differs(&self, name: &str, asked: Duration) -> Option<String> {
        let found = self.find(name)?;
        (found.counted != asked.as_millis().to_string()).then(|| {
            let (shown, asked) = (&found.shown, asked.as_millis());
            format!(
                "{name} is {shown}, {asked}ms was asked for: a pooler needs the option transaction_pooler"
            )
        })
    }

    /// Returns the settings that may change under an open handle. Behind a pooler, each transaction compares them.
    pub(crate) fn state(&self) -> String {
        let [commit, fsync, pages] =
            ["synchronous_commit", "fsync", "full_page_writes"].map(|name| self.get(name));
        format!("{} {commit} {fsync} {pages}", self.in_recovery)
    }

    /// Returns the promises of the store on this server.
    pub(crate) fn capabilities(&self, options: &PostgresOptions) -> Capabilities {
        let own = [
            ("connections_max", options.connections_max.to_string()),
            ("change_hints", options.change_hints.to_string()),
            ("transaction_pooler", options.transaction_pooler.to_string()),
        ];
        let read = self.by_name.iter().map(|setting| (setting.name.clone(), setting.shown.clone()));
        Capabilities {
            backend: format!("Postgres {}", self.get("server_version")),
            commit_survives: self.commit_survives(),
            shared_by: SharedBy::Network,
            change_hints_across_processes: options.listens(),
            forks: true,
            retention: true,
            payload_bytes_max: options.payload_bytes_max,
            commit_bytes_max: options.commit_bytes_max,
            settings: read.chain(own.map(|(name, value)| (name.to_owned(), value))).collect(),
        }
    }

    /// Returns the worst fault that a commit survives. Without `synchronous_commit` the server acknowledges commits
    /// that only its memory holds: they are lost if it dies, so nothing is promised. Without `fsync` or full-page
    /// writes, only a power cut can lose them.
    fn commit_survives(&self) -> CommitSurvives {
        if ["", "off"].contains(&self.get("synchronous_commit")) {
            CommitSurvives::Nothing
        } else if self.get("fsync") == "off" || self.get("full_page_writes") == "off" {
            CommitSurvives::ProcessKill
        } else {
            CommitSurvives::PowerCut
        }
    }
}
