//! The server's settings, read on each new connection, because the server may have been restarted with other
//! settings or replaced by another one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use holdover_store::Capabilities;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::watch;

use crate::options::PostgresOptions;
use crate::settings::Settings;

/// The time after which the next call reads the settings again, because they may change without a restart.
const ASKED_EVERY: Duration = Duration::from_secs(60);

/// The settings that may change under an open handle, in the form of [`Settings::state`].
const IS: &str = "concat_ws(' ', pg_is_in_recovery()::text, current_setting('synchronous_commit'), \
     current_setting('fsync'), current_setting('full_page_writes'))";

/// The server, as it was when it was last asked.
pub(crate) struct Server {
    options: Arc<PostgresOptions>,
    met: watch::Sender<Met>,
}

#[derive(Default)]
struct Met {
    /// The settings of the last server on which the store can work; empty before the first.
    settings: Settings,
    /// The reason for which the store cannot work on the server that was asked last.
    refused: Option<String>,
    at: Option<Instant>,
}

impl Server {
    pub(crate) fn new(options: Arc<PostgresOptions>) -> Self {
        Self { options, met: watch::Sender::default() }
    }

    /// Asks the server at the other end of `conn` for its settings.
    ///
    /// # Errors
    /// Fails if the store cannot work on this server. The error says why.
    pub(crate) async fn meet(&self, conn: &mut PgConnection) -> Result<(), sqlx::Error> {
        let settings = self.ask(conn).await?;
        let refused = settings.refused(&self.options);
        let answer = refused.clone().map_or(Ok(()), |why| Err(sqlx::Error::Protocol(why)));
        self.met.send_modify(|met| {
            met.at = Some(Instant::now());
            if refused.is_none() {
                met.settings = settings;
            }
            met.refused = refused;
        });
        answer
    }

    async fn ask(&self, conn: &mut PgConnection) -> Result<Settings, sqlx::Error> {
        if !self.options.transaction_pooler {
            return Settings::read(conn).await;
        }
        // Behind a pooler, only the statements of one transaction surely reach the same connection.
        let mut look =
            conn.begin_with(AssertSqlSafe(self.options.begin(self.options.statement_max()))).await?;
        let settings = Settings::read(&mut look).await?;
        look.rollback().await?;
        Ok(settings)
    }

    /// Returns true if it is time to ask again.
    pub(crate) fn is_to_be_asked(&self) -> bool {
        self.met.borrow().at.is_none_or(|at| at.elapsed() > ASKED_EVERY)
    }

    /// Returns the promises of the store on this server.
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.met.borrow().settings.capabilities(&self.options)
    }

    /// Returns the reason why the store cannot work on the server that was asked last, or none if it can.
    pub(crate) fn refused(&self) -> Option<String> {
        self.met.borrow().refused.clone()
    }

    /// Waits until a server is refused, and returns the reason.
    pub(crate) async fn is_refused(&self) -> String {
        let mut met = self.met.subscribe();
        let refused = met.wait_for(|met| met.refused.is_some()).await;
        // The sender lives as long as `self`, so this wait does not end before.
        refused.ok().and_then(|met| met.refused.clone()).unwrap_or_default()
    }

    /// Extends the statement `begin` for use behind a pooler: the transaction fails if the server's settings have
    /// changed since they were read.
    pub(crate) fn only_if_same(&self, begin: &str) -> String {
        let was = self.met.borrow().settings.state();
        // Plain SQL cannot raise an error; the cast of a text that is not a number does.
        format!(
            "{begin}; SELECT CASE WHEN {IS} IS DISTINCT FROM '{was}' THEN ('the server is not as it was: ' || {IS})::int END",
            was = was.replace('\'', "''")
        )
    }
}
