//! The row under a session's key, in the table `session`.

use holdover_store::ids::{
    Epoch, EventSeq, InboxSeq, Incarnation, MessageSeq, OperationId, SessionId, SessionKey, StateFormat,
    TenantId, Version,
};
use holdover_store::rows::{Slot, Token, interrupt_named};
use holdover_store::rules::{LastCommit, SessionRow, Stream, Unseen};
use holdover_store::time::Timestamp;
use holdover_store::{Interrupt, Lease, Receipt, SessionStatus, StreamId, Tombstone};
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgHasArrayType;
use sqlx::{Encode, Postgres, Type};

use crate::columns::Packed;
use crate::error::Fault;
use crate::sql::{Sql, int};

/// The status column of a row that holds only tombstones.
const DELETED: &str = "deleted";

/// The columns n, t, b, digest and payload of a session `s`, as [`slot`] reads them. The session's number comes
/// first.
pub(super) const SLOT: &str = "ARRAY[s.sid, s.token, s.dead_since, s.created_at, s.version, s.epoch, s.format, s.lease_ends, \
     s.lease_granted_ms, s.last_commit_epoch, (s.last_receipt).version, (s.last_receipt).last_message, \
     (s.last_receipt).last_item, (s.last_receipt).unread, (s.last_receipt).interrupt::int::bigint, \
     (s.last_receipt).now, (s.last_receipt).lease_ends, s.run_open::int::bigint, s.attempts, \
     s.interrupt_handed_to, s.last_message, s.last_event, s.last_item, s.unread, s.inbox_seen, s.unseen_counted, \
     s.unseen_urgent::int::bigint, s.wake_on, s.stream_run, s.stream_number, s.stream_last, \
     s.stream_open::int::bigint, s.updated_at, s.alarm, s.interrupt_at]::bigint[] AS n, \
     ARRAY[s.tenant, s.id, s.lives::text, s.created_by, s.queue, s.status, s.lease_worker, s.last_claim, s.found, \
     s.last_commit, s.interrupt_id, s.interrupt_kind, s.last_interrupt]::text[] AS t, \
     ARRAY[s.incarnation, s.interrupt_reason, s.interrupt_incarnation]::bytea[] AS b, \
     NULL::bytea AS digest, NULL::bytea AS payload";

/// An ended incarnation, as stored in the column `lives`.
#[derive(Serialize, Deserialize)]
struct Life {
    incarnation: Incarnation,
    operation: OperationId,
    at: Timestamp,
}

/// Returns the value of the column `lives`, or none if there are no ended incarnations.
fn lives_text(lives: &[Tombstone]) -> Option<String> {
    let lives: Vec<Life> = lives
        .iter()
        .map(|life| Life { incarnation: life.incarnation, operation: life.operation.clone(), at: life.at })
        .collect();
    // Ids and numbers can always be written as JSON.
    (!lives.is_empty()).then(|| serde_json::to_string(&lives).unwrap_or_default())
}

/// Reads the column `lives`.
pub(super) fn lives(key: &SessionKey, text: Option<&str>) -> Result<Vec<Tombstone>, serde_json::Error> {
    let lives: Vec<Life> = text.map_or_else(|| Ok(Vec::new()), serde_json::from_str)?;
    let life = |life: Life| {
        let Life { incarnation, operation, at } = life;
        Tombstone { key: key.clone(), incarnation, operation, at }
    };
    Ok(lives.into_iter().map(life).collect())
}

/// Reads the columns of [`SLOT`].
pub(super) fn slot(mut p: Packed) -> Result<Slot, Fault> {
    let (place, token) = (p.count("sid")?, Token(p.int("token")?.cast_unsigned()));
    let dead = p.int_or_null().is_some();
    let key = SessionKey::new(p.id::<TenantId>("tenant")?, p.id::<SessionId>("id")?);
    let text = p.text_or_null();
    let lives = lives(&key, text.as_deref()).map_err(|why| p.corrupt("lives", why))?;
    let row = if dead { None } else { Some(session_row(p, key)?) };
    Ok(Slot { token, place, row, lives })
}

fn session_row(mut p: Packed, key: SessionKey) -> Result<SessionRow, Fault> {
    let p = &mut p;
    Ok(SessionRow {
        key,
        incarnation: p.incarnation("incarnation")?,
        created_at: p.at("created_at")?,
        created_by: p.id("created_by")?,
        queue: p.id("queue")?,
        status: p.word("status", SessionStatus::from_wire)?,
        version: Version(p.count("version")?),
        epoch: Epoch(p.count("epoch")?),
        format: StateFormat(p.count("format")?),
        lease: lease(p)?,
        last_claim: p.id_or_null("last_claim")?,
        found: p.word("found", SessionStatus::from_wire)?,
        last_commit: last_commit(p)?,
        run_open: p.flag("run_open")?,
        attempts: p.count("attempts")?,
        interrupt_handed_to: p.count_or_null("interrupt_handed_to")?.map(Epoch),
        last_message: MessageSeq(p.count("last_message")?),
        last_event: EventSeq(p.count("last_event")?),
        last_item: InboxSeq(p.count("last_item")?),
        unread: p.count("unread")?,
        inbox_seen: InboxSeq(p.count("inbox_seen")?),
        unseen: Unseen { counted: p.count("unseen_counted")?, urgent: p.flag("unseen_urgent")? },
        wake_on: p.count("wake_on")?,
        stream: Stream {
            id: StreamId { run: Epoch(p.count("stream_run")?), number: p.count("stream_number")? },
            last: p.count("stream_last")?,
            open: p.flag("stream_open")?,
        },
        updated_at: p.at("updated_at")?,
        alarm: p.at_or_null(),
        interrupt: interrupt(p)?,
        last_interrupt: p.id_or_null("last_interrupt")?,
    })
}

fn lease(p: &mut Packed) -> Result<Option<Lease>, Fault> {
    match (p.id_or_null("lease_worker")?, p.at_or_null(), p.int_or_null()) {
        (Some(worker), Some(ends), Some(ms)) => {
            Ok(Some(Lease { worker, ends, granted_ms: ms.cast_unsigned() }))
        }
        (None, None, None) => Ok(None),
        (_, _, _) => Err(p.corrupt("lease", "its columns do not go together")),
    }
}

fn last_commit(p: &mut Packed) -> Result<Option<LastCommit>, Fault> {
    let operation = p.id_or_null("last_commit")?;
    let Some(operation) = operation else {
        // Skips the epoch and the receipt.
        for _ in 0..8 {
            p.int_or_null();
        }
        return Ok(None);
    };
    let epoch = Epoch(p.count("last_commit_epoch")?);
    let receipt = Receipt {
        version: Version(p.count("last_receipt")?),
        last_message: MessageSeq(p.count("last_receipt")?),
        last_item: InboxSeq(p.count("last_receipt")?),
        unread: p.count("last_receipt")?,
        interrupt: p.flag("last_receipt")?,
        now: p.at("last_receipt")?,
        lease_ends: p.at("last_receipt")?,
    };
    Ok(Some(LastCommit { operation, epoch, receipt }))
}

fn interrupt(p: &mut Packed) -> Result<Option<Interrupt>, Fault> {
    let at = p.at_or_null();
    let (id, kind) = (p.id_or_null("interrupt_id")?, p.word_or_null("interrupt_kind", interrupt_named)?);
    let (reason, incarnation) = (p.bytes_or_null(), p.incarnation_or_null("interrupt_incarnation")?);
    match (id, kind, reason, at) {
        (Some(id), Some(kind), Some(reason), Some(at)) => {
            let reason = String::from_utf8(reason).map_err(|why| p.corrupt("interrupt_reason", why))?;
            Ok(Some(Interrupt { id, kind, reason, at, incarnation }))
        }
        (None, None, None, None) => Ok(None),
        (_, _, _, _) => Err(p.corrupt("interrupt", "its columns do not go together")),
    }
}

/// A slot whose row is bound: that of a session or, if there is none, of the last of its tombstones.
struct Seen<'s> {
    slot: &'s Slot,
    row: Option<&'s SessionRow>,
    /// The last ended incarnation, if there is no session. The columns that only a session needs then have no meaning.
    dead: Option<&'s Tombstone>,
}

impl<'s> Seen<'s> {
    /// Returns none if the slot holds neither a session nor tombstones.
    fn of(slot: &'s Slot) -> Option<Self> {
        let row = slot.row.as_ref();
        let dead = if row.is_some() { None } else { Some(slot.lives.last()?) };
        Some(Self { slot, row, dead })
    }

    fn number(&self, of: fn(&SessionRow) -> u64) -> i64 {
        int(self.row.map_or(0, of))
    }

    fn instant(&self, of: fn(&SessionRow) -> Timestamp) -> Option<i64> {
        self.row.map(of).or(self.dead.map(|last| last.at)).map(Timestamp::as_ms)
    }

    fn lease(&self) -> Option<&'s Lease> {
        self.row.and_then(|row| row.lease.as_ref())
    }

    fn commit(&self) -> Option<&'s LastCommit> {
        self.row.and_then(|row| row.last_commit.as_ref())
    }

    fn receipt(&self) -> Option<&'s Receipt> {
        self.commit().map(|commit| &commit.receipt)
    }

    fn interrupt(&self) -> Option<&'s Interrupt> {
        self.row.and_then(|row| row.interrupt.as_ref())
    }
}

/// Binds one value of each slot, and returns the expression that stands for it.
trait Binder<'s> {
    fn bind<'q, T>(&mut self, name: &'static str, of: impl Fn(&Seen<'s>) -> T) -> String
    where
        T: Encode<'q, Postgres> + Type<Postgres> + PgHasArrayType;
}

/// Binds the values of one slot.
struct One<'b, 'n, 's> {
    sql: &'b mut Sql<'n>,
    seen: Seen<'s>,
}

impl<'s> Binder<'s> for One<'_, '_, 's> {
    fn bind<'q, T>(&mut self, _name: &'static str, of: impl Fn(&Seen<'s>) -> T) -> String
    where
        T: Encode<'q, Postgres> + Type<Postgres> + PgHasArrayType,
    {
        self.sql.bind(of(&self.seen)).to_string()
    }
}

/// Binds an array of values for each column, which becomes a column of `v`.
struct Each<'b, 'n, 's> {
    sql: &'b mut Sql<'n>,
    seen: Vec<Seen<'s>>,
    names: Vec<&'static str>,
    arrays: Vec<String>,
}

impl<'s> Binder<'s> for Each<'_, '_, 's> {
    fn bind<'q, T>(&mut self, name: &'static str, of: impl Fn(&Seen<'s>) -> T) -> String
    where
        T: Encode<'q, Postgres> + Type<Postgres> + PgHasArrayType,
    {
        let values: Vec<T> = self.seen.iter().map(of).collect();
        self.arrays.push(self.sql.bind(values).to_string());
        self.names.push(name);
        format!("v.{name}")
    }
}

/// Binds the values of a slot's row, except its key. Returns each column with its value, or none if the slot holds
/// neither a session nor tombstones.
pub(super) fn bind_slot(sql: &mut Sql<'_>, slot: &Slot) -> Option<Vec<(&'static str, String)>> {
    let names = sql.names;
    Some(columns(&mut One { sql, seen: Seen::of(slot)? }, &names.schema))
}

/// Binds the values of the rows of several sessions, at these places. Returns each column with its value in a row of `v`,
/// and the source of these rows, which also have the place as `sid`.
pub(super) fn bind_sessions<'s>(
    sql: &mut Sql<'_>,
    places: &[i64],
    slots: impl Iterator<Item = &'s Slot>,
) -> (Vec<(&'static str, String)>, String) {
    let (names, place) = (sql.names, sql.bind(places.to_vec()));
    let seen = slots.filter_map(Seen::of).collect();
    let mut each = Each { sql, seen, names: vec!["sid"], arrays: vec![place.to_string()] };
    let columns = columns(&mut each, &names.schema);
    (columns, format!("unnest({}) AS v ({})", each.arrays.join(", "), each.names.join(", ")))
}

fn columns<'s>(to: &mut impl Binder<'s>, schema: &str) -> Vec<(&'static str, String)> {
    let mut columns = Vec::with_capacity(46);
    macro_rules! add {
        ($name:literal, $of:expr) => {
            let value = to.bind($name, $of);
            columns.push(($name, value));
        };
    }
    add!("token", |seen| seen.slot.token.0.cast_signed());
    let lives = to.bind("lives", |seen| lives_text(&seen.slot.lives));
    columns.push(("lives", format!("{lives}::json")));
    add!("dead_since", |seen| seen.dead.map(|last| last.at.as_ms()));
    add!("incarnation", |seen| {
        let incarnation = seen.row.map(|row| &row.incarnation).or(seen.dead.map(|last| &last.incarnation));
        incarnation.map(|incarnation| incarnation.0.as_bytes().as_slice())
    });
    add!("created_by", |seen| {
        let created_by = seen.row.map(|row| &row.created_by).or(seen.dead.map(|last| &last.operation));
        created_by.map(OperationId::as_str)
    });
    add!("queue", |seen| seen.row.map_or("", |row| row.queue.as_str()));
    add!("created_at", |seen| seen.instant(|row| row.created_at));
    add!("status", |seen| seen.row.map_or(DELETED, |row| row.status.as_str()));
    add!("version", |seen| seen.number(|row| row.version.0));
    add!("epoch", |seen| seen.number(|row| row.epoch.0));
    add!("format", |seen| seen.number(|row| row.format.0.into()));
    add!("lease_worker", |seen| seen.lease().map(|lease| lease.worker.as_str()));
    add!("lease_ends", |seen| seen.lease().map(|lease| lease.ends.as_ms()));
    add!("lease_granted_ms", |seen| seen.lease().map(|lease| lease.granted_ms.cast_signed()));
    add!("last_claim", |seen| { seen.row.and_then(|row| row.last_claim.as_ref()).map(|run| run.as_str()) });
    add!("found", |seen| seen.row.map_or(SessionStatus::Idle, |row| row.found).as_str());
    add!("last_commit", |seen| seen.commit().map(|commit| commit.operation.as_str()));
    add!("last_commit_epoch", |seen| seen.commit().map(|commit| int(commit.epoch.0)));
    add!("run_open", |seen| seen.row.is_some_and(|row| row.run_open));
    add!("attempts", |seen| seen.number(|row| row.attempts.into()));
    add!("interrupt_handed_to", |seen| {
        seen.row.and_then(|row| row.interrupt_handed_to).map(|epoch| int(epoch.0))
    });
    add!("last_message", |seen| seen.number(|row| row.last_message.0));
    add!("last_event", |seen| seen.number(|row| row.last_event.0));
    add!("last_item", |seen| seen.number(|row| row.last_item.0));
    add!("unread", |seen| seen.number(|row| row.unread));
    add!("inbox_seen", |seen| seen.number(|row| row.inbox_seen.0));
    add!("unseen_counted", |seen| seen.number(|row| row.unseen.counted));
    add!("unseen_urgent", |seen| seen.row.is_some_and(|row| row.unseen.urgent));
    add!("wake_on", |seen| seen.number(|row| row.wake_on.into()));
    add!("stream_run", |seen| seen.number(|row| row.stream.id.run.0));
    add!("stream_number", |seen| seen.number(|row| row.stream.id.number.into()));
    add!("stream_last", |seen| seen.number(|row| row.stream.last));
    add!("stream_open", |seen| seen.row.is_some_and(|row| row.stream.open));
    add!("updated_at", |seen| seen.instant(|row| row.updated_at));
    add!("alarm", |seen| seen.row.and_then(|row| row.alarm).map(Timestamp::as_ms));
    add!("resting_since", |seen| { seen.row.filter(|row| row.quiet()).map(|row| row.updated_at.as_ms()) });
    add!("interrupt_id", |seen| seen.interrupt().map(|interrupt| interrupt.id.as_str()));
    add!("interrupt_kind", |seen| seen.interrupt().map(|interrupt| interrupt.kind.as_str()));
    add!("interrupt_reason", |seen| seen.interrupt().map(|interrupt| interrupt.reason.as_bytes()));
    add!("interrupt_at", |seen| seen.interrupt().map(|interrupt| interrupt.at.as_ms()));
    add!("interrupt_incarnation", |seen| {
        let named = seen.interrupt().and_then(|interrupt| interrupt.incarnation.as_ref());
        named.map(|incarnation| incarnation.0.as_bytes().as_slice())
    });
    add!("last_interrupt", |seen| {
        seen.row.and_then(|row| row.last_interrupt.as_ref()).map(|id| id.as_str())
    });
    columns.push(("last_receipt", bind_receipt(to, schema)));
    columns
}

fn bind_receipt<'s>(to: &mut impl Binder<'s>, schema: &str) -> String {
    let version = to.bind("receipt_version", |seen| seen.receipt().map(|receipt| int(receipt.version.0)));
    let rest = [
        to.bind("receipt_message", |seen| seen.receipt().map(|receipt| int(receipt.last_message.0))),
        to.bind("receipt_item", |seen| seen.receipt().map(|receipt| int(receipt.last_item.0))),
        to.bind("receipt_unread", |seen| seen.receipt().map(|receipt| int(receipt.unread))),
        to.bind("receipt_interrupt", |seen| seen.receipt().map(|receipt| receipt.interrupt)),
        to.bind("receipt_now", |seen| seen.receipt().map(|receipt| receipt.now.as_ms())),
        to.bind("receipt_lease_ends", |seen| seen.receipt().map(|receipt| receipt.lease_ends.as_ms())),
    ];
    let rest = rest.join(", ");
    format!("CASE WHEN {version} IS NOT NULL THEN ROW({version}, {rest})::{schema}receipt END")
}
