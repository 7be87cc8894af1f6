//! The removal of a session whose row cannot be read. It uses only those parts of the row that can be read.

use std::sync::Arc;

use holdover_store::Tombstone;
use holdover_store::ids::{Incarnation, SessionKey};
use holdover_store::rows::{Slot, Token, Write};
use holdover_store::time::Timestamp;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::session::lives;
use crate::call::Call;
use crate::columns::Columns;
use crate::error::Fault;
use crate::sql::{Sql, push};

/// A call that reads the readable parts of a session's row. If `life` is set, only that incarnation is read.
pub(super) struct Told {
    pub(super) key: SessionKey,
    pub(super) life: Option<Incarnation>,
}

/// The readable parts of an existing session.
pub(super) struct There {
    now: Timestamp,
    place: u64,
    token: Token,
    lives: Vec<Tombstone>,
}

impl Call for Told {
    type Outcome = Option<There>;

    fn operation(&self) -> &'static str {
        "remove_unreadable"
    }

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.key)
    }

    fn statement(&self, sql: &mut Sql<'_>) {
        let (tenant, id) = (sql.bind(self.key.tenant.as_str()), sql.bind(self.key.id.as_str()));
        let life = sql.bind(self.life.as_ref().map(|life| life.0.as_bytes().as_slice()));
        let (schema, clock) = (&sql.names.schema, &sql.names.clock);
        push!(
            sql,
            "SELECT {clock}, s.sid, s.token, s.lives::text, s.incarnation, s.created_by FROM {schema}session s \
             WHERE s.tenant = {tenant} AND s.id = {id} AND s.dead_since IS NULL \
             AND ({life} IS NULL OR s.incarnation = {life})"
        );
    }

    fn answer(&self, rows: &[PgRow]) -> Result<Option<There>, Fault> {
        let Some(row) = rows.first() else { return Ok(None) };
        let mut c = Columns::of(row);
        let (now, place, token): (i64, u64, i64) = (c.take()?, c.count()?, c.take()?);
        let (earlier, incarnation, operation): (Option<String>, Vec<u8>, String) =
            (c.take()?, c.take()?, c.take()?);
        let now = Timestamp::from_ms(now);
        let mut lives = lives(&self.key, earlier.as_deref()).unwrap_or_default();
        if let (Ok(incarnation), Ok(operation)) = (Uuid::from_slice(&incarnation), operation.parse()) {
            lives.push(Tombstone {
                key: self.key.clone(),
                incarnation: Incarnation(incarnation),
                operation,
                at: now,
            });
        }
        lives.retain(|life| !life.is_old(now));
        Ok(Some(There { now, place, token: Token(token.cast_unsigned()), lives }))
    }
}

impl There {
    /// Returns the write that removes everything of the session but its tombstones.
    pub(super) fn write(self, key: &SessionKey) -> Write {
        let Self { now, place, token, lives } = self;
        let left = |lives| Arc::new(Slot { token: Token::random(), place, row: None, lives });
        Write {
            key: key.clone(),
            before: Some(Arc::new(Slot { token, place, row: None, lives: Vec::new() })),
            after: (!lives.is_empty()).then(|| left(lives)),
            ops: Vec::new(),
            copy: None,
            from: now,
            until: Timestamp::from_ms(i64::MAX),
            provisional: false,
            skip_held: false,
            within: None,
        }
    }
}
