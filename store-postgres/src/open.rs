//! Opens the way to the database and says what it promises.

use std::sync::Arc;

use holdover_store::{Capabilities, Retry, StoreError, StoreErrorKind};
use log::LevelFilter;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Postgres};

use crate::call::Caller;
use crate::error::Fault;
use crate::hints::{self, Hints};
use crate::migration::{self, failed};
use crate::options::{Opening, PostgresOptions};
use crate::server::Server;
use crate::sql::{Schema, Statements};

/// A connection that has been idle for so long is asked whether it is still there before it is used.
const IDLE_TRUSTED: std::time::Duration = std::time::Duration::from_secs(5);

/// How long is asked for the reason.
const REASON_MAX: std::time::Duration = std::time::Duration::from_secs(1);

/// What an open store has.
pub(crate) struct Opened {
    pub(crate) caller: Caller,
    /// As it was opened; its limits never change.
    pub(crate) capabilities: Capabilities,
    pub(crate) hints: Hints,
    pub(crate) schema: Schema,
}

pub(crate) async fn open(options: &PostgresOptions) -> Result<Opened, StoreError> {
    let options = Arc::new(options.clone());
    let server = Arc::new(Server::new(Arc::clone(&options)));
    let listener = u32::from(options.listens());
    let pool = pool(&options, options.connections_max - listener, &server);
    let mut conn = connect(&pool, &server, &options).await?;
    make(&mut conn, &options).await?;
    drop(conn);
    let channel: Arc<str> = hints::channel(&options.schema).into();
    let listens = options.listens().then(|| self::pool(&options, 1, &server));
    let (schema, capabilities) = (options.schema.clone(), server.capabilities());
    let caller = Caller {
        pool,
        statements: Arc::new(Statements::new(&schema, &options.functions)),
        channel: options.change_hints.then(|| channel.clone()),
        options,
        server,
    };
    Ok(Opened { caller, capabilities, hints: Hints::new(listens, channel), schema })
}

/// The first connection, to a server that the store can work on.
async fn connect(
    pool: &PgPool,
    server: &Server,
    options: &PostgresOptions,
) -> Result<PoolConnection<Postgres>, StoreError> {
    let acquired = tokio::select! {
        acquired = pool.acquire() => acquired,
        why = server.is_refused() => {
            let detail = format!("{}: {why}", options.place());
            return Err(StoreError::new(StoreErrorKind::Unavailable, "open", detail).retry(Retry::Never));
        }
    };
    match acquired {
        Ok(conn) => Ok(conn),
        Err(error) => Err(failed(reason(options).await.unwrap_or(error).into(), options)),
    }
}

/// Makes what is missing, as far as that was asked for.
async fn make(conn: &mut PgConnection, options: &PostgresOptions) -> Result<(), StoreError> {
    let sql_failed = |error: sqlx::Error| failed(Fault::from(error), options);
    // Behind a pooler a statement outside a transaction may be another client's.
    let mut look =
        conn.begin_with(AssertSqlSafe(options.begin(options.statement_max()))).await.map_err(sql_failed)?;
    let found = migration::inspect(&mut look, options).await?;
    look.rollback().await.map_err(sql_failed)?;
    let refused = match options.opening {
        Opening::Looks if found.is_current() => return Ok(()),
        Opening::Makes | Opening::Updates if found.is_current() => {
            migration::note_opening(conn, options).await;
            return Ok(());
        }
        Opening::Makes => None,
        Opening::Updates => found.is_nothing().then_some("none was to be made"),
        Opening::Looks => Some("nothing was to be changed"),
    };
    match refused {
        None => migration::migrate(conn, options).await,
        Some(why) => {
            let detail = format!("{}: {found}, and {why}", options.place());
            Err(StoreError::new(StoreErrorKind::Unavailable, "open", detail).retry(Retry::Never))
        }
    }
}

/// Why no connection can be made. The pool tries again and again, and keeps no reason.
async fn reason(options: &PostgresOptions) -> Option<sqlx::Error> {
    let options = options.connect_options();
    match tokio::time::timeout(REASON_MAX, PgConnection::connect_with(&options)).await {
        Ok(Err(error)) => Some(error),
        Ok(Ok(_)) | Err(_) => None,
    }
}

/// Opens connections when they are needed, to a server that the store can work on.
fn pool(options: &PostgresOptions, connections: u32, server: &Arc<Server>) -> PgPool {
    let (at_first, later) = (Arc::clone(server), Arc::clone(server));
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(options.wait_max)
        .acquire_slow_level(LevelFilter::Off)
        .test_before_acquire(false)
        .after_connect(move |conn, _| {
            let server = Arc::clone(&at_first);
            Box::pin(async move { server.meet(conn).await })
        })
        .before_acquire(move |conn, meta| {
            let server = Arc::clone(&later);
            Box::pin(async move {
                if server.is_to_be_asked() {
                    server.meet(conn).await?;
                } else if meta.idle_for > IDLE_TRUSTED {
                    conn.ping().await?;
                }
                Ok(true)
            })
        })
        .connect_lazy_with(options.connect_options())
}
