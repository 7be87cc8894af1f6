//! Opens the way to the database and says what it promises.

use std::sync::Arc;

use holdover_core::store::{Capabilities, Retry, StoreError, StoreErrorKind};
use log::LevelFilter;
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::call::Caller;
use crate::error::Fault;
use crate::hints::{self, Hints};
use crate::migration;
use crate::options::{Opening, PostgresOptions};
use crate::settings::Settings;
use crate::sql::{Schema, Statements};

/// A connection that has been idle for so long is asked whether it is still there before it is used.
const IDLE_TRUSTED: std::time::Duration = std::time::Duration::from_secs(5);

/// How long is asked for the reason.
const REASON_MAX: std::time::Duration = std::time::Duration::from_secs(1);

/// What an open store has.
pub(crate) struct Opened {
    pub(crate) caller: Caller,
    pub(crate) capabilities: Capabilities,
    pub(crate) hints: Hints,
    pub(crate) schema: Schema,
}

pub(crate) async fn open(options: &PostgresOptions) -> Result<Opened, StoreError> {
    let listener = u32::from(options.listens());
    let pool = pool(options, options.connections_max - listener);
    let failed = |error: sqlx::Error| migration::failed(Fault::from(error), options);
    let mut conn = match pool.acquire().await {
        Ok(conn) => conn,
        Err(error) => return Err(failed(reason(options).await.unwrap_or(error))),
    };
    // Behind a pooler a statement outside a transaction may be another client's.
    let mut look = conn.begin_with(AssertSqlSafe(options.begin())).await.map_err(failed)?;
    let settings = Settings::read(&mut look).await.map_err(|fault| migration::failed(fault, options))?;
    settings.check(options)?;
    let found = migration::inspect(&mut look, options).await?;
    look.rollback().await.map_err(failed)?;
    if !found.is_current() {
        let refused = match options.opening {
            Opening::Makes => None,
            Opening::Updates => found.is_nothing().then_some("none was to be made"),
            Opening::Looks => Some("nothing was to be changed"),
        };
        if let Some(why) = refused {
            let detail = format!("{}: {found}, and {why}", options.place());
            return Err(StoreError::new(StoreErrorKind::Unavailable, "open", detail).retry(Retry::Never));
        }
        migration::migrate(&mut conn, options).await?;
    }
    drop(conn);
    let channel: Arc<str> = hints::channel(&options.schema).into();
    let hints = Hints::new(options.listens().then(|| self::pool(options, 1)), channel.clone());
    let caller = Caller {
        pool,
        statements: Arc::new(Statements::new(&options.schema)),
        channel: options.change_hints.then_some(channel),
        begin: options.transaction_pooler.then(|| options.begin().into()),
        statement_timeout: options.statement_timeout,
    };
    let capabilities = settings.capabilities(options);
    Ok(Opened { caller, capabilities, hints, schema: options.schema.clone() })
}

/// Why no connection can be made. The pool tries again and again, and keeps no reason.
async fn reason(options: &PostgresOptions) -> Option<sqlx::Error> {
    let options = options.connect_options();
    match tokio::time::timeout(REASON_MAX, PgConnection::connect_with(&options)).await {
        Ok(Err(error)) => Some(error),
        Ok(Ok(_)) | Err(_) => None,
    }
}

/// Opens connections when they are needed.
fn pool(options: &PostgresOptions, connections: u32) -> PgPool {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(options.wait_max)
        .acquire_slow_level(LevelFilter::Off)
        .test_before_acquire(false)
        .before_acquire(|conn, meta| {
            Box::pin(async move {
                if meta.idle_for > IDLE_TRUSTED {
                    conn.ping().await?;
                }
                Ok(true)
            })
        })
        .connect_lazy_with(options.connect_options())
}
