//! Opens connections to the database and reports what it promises.

use std::sync::Arc;

use holdover_store::{Retry, StoreError, StoreErrorKind};
use log::LevelFilter;
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::{Connection, Executor, PgConnection};

use crate::call::{Caller, GRACE};
use crate::clock::Heard;
use crate::connections::{Conn, Connections};
use crate::hints::{self, Hints};
use crate::migration::{self, failed};
use crate::options::{Opening, PostgresOptions};
use crate::server::Server;
use crate::sql::{Names, Schema};

/// The idle time after which a connection is checked before it is used.
pub(crate) const IDLE_TRUSTED: std::time::Duration = std::time::Duration::from_secs(5);

/// Ends a transaction that the driver does not count. Such a transaction is left if its beginning failed or was given
/// up.
const END: &str = "ROLLBACK";
/// Resets a session as `DISCARD ALL` does, but keeps prepared statements, because the driver counts on them.
const RESET: &str = "ROLLBACK; CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; UNLISTEN *; \
     SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES";

/// The longest time spent on finding out why no connection can be made.
const REASON_MAX: std::time::Duration = std::time::Duration::from_secs(1);

/// The parts of an open store.
pub(crate) struct Opened {
    pub(crate) caller: Caller,
    /// Connections that are lent to the caller's transactions.
    pub(crate) lent: PgPool,
    pub(crate) hints: Hints,
    pub(crate) heard: Heard,
    pub(crate) schema: Schema,
}

pub(crate) async fn open(options: &PostgresOptions) -> Result<Opened, StoreError> {
    let options = Arc::new(options.clone());
    let server = Arc::new(Server::new(Arc::clone(&options)));
    let listener = u32::from(options.listens());
    let pool = self::pool(&options, options.connections_max - listener, &server);
    let pool = pool.connect_lazy_with(options.connect_options());
    let pool = Connections::new(pool, Arc::clone(&server), options.wait_max);
    let mut conn = connect(&pool, &server, &options).await?;
    make(&mut conn, &options).await?;
    drop(conn);
    let channel: Arc<str> = hints::channel(&options.schema).into();
    let listens = options.listens().then(|| {
        let pool = self::pool(&options, 1, &server);
        pool.connect_lazy_with(options.connect_options())
    });
    let lent = self::lent(&options, &server);
    let told = options.change_hints.then(|| channel.clone());
    let (schema, heard) = (options.schema.clone(), Heard::new(options.clock.is_none()));
    let caller = Caller { pool, names: Arc::new(Names::new(&options, told)), options, server };
    let hints = Hints::new(listens, channel, caller.clone());
    Ok(Opened { caller, lent, hints, heard, schema })
}

/// Opens the first connection, to a server that the store can work on.
async fn connect(pool: &Connections, server: &Server, options: &PostgresOptions) -> Result<Conn, StoreError> {
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

/// Creates or migrates the schema, as far as the options allow.
async fn make(conn: &mut PgConnection, options: &PostgresOptions) -> Result<(), StoreError> {
    let found = migration::look_at(conn, options).await?;
    let refused = match options.opening {
        Opening::Looks | Opening::Makes | Opening::Updates if found.is_current() => return Ok(()),
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

/// Returns the reason why no connection can be made. The pool retries until its time is over, and keeps no reason.
async fn reason(options: &PostgresOptions) -> Option<sqlx::Error> {
    let options = options.connect_options();
    match tokio::time::timeout(REASON_MAX, PgConnection::connect_with(&options)).await {
        Ok(Err(error)) => Some(error),
        Ok(Ok(_)) | Err(_) => None,
    }
}

/// Returns the options of a pool, which opens connections when they are needed, to a server that the store can
/// work on.
fn pool(options: &PostgresOptions, connections: u32, server: &Arc<Server>) -> PgPoolOptions {
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
}

/// Opens connections for the caller's transactions. After a transaction, the settings that it made for its session are
/// reset, except behind a pooler.
fn lent(options: &PostgresOptions, server: &Arc<Server>) -> PgPool {
    let pool = pool(options, options.transactions_max, server);
    // Behind a pooler, sessions are shared with other clients.
    let reset = if options.transaction_pooler { END } else { RESET };
    let pool = pool.after_release(move |conn, _| {
        Box::pin(async move {
            // A connection that does not answer is closed.
            match tokio::time::timeout(GRACE, conn.execute(sqlx::raw_sql(reset))).await {
                Ok(reset) => reset.map(|_| true),
                Err(_) => Ok(false),
            }
        })
    });
    pool.connect_lazy_with(options.connect_options_for_caller())
}
