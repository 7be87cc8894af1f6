//! Binds the values of the row under a session's key, for one session or for several at once.

use std::fmt;

use holdover_store::ids::OperationId;
use holdover_store::rows::Slot;
use holdover_store::rules::{LastCommit, SessionRow};
use holdover_store::time::Timestamp;
use holdover_store::{Interrupt, Lease, Receipt, SessionStatus, Tombstone};
use sqlx::postgres::PgHasArrayType;
use sqlx::{Encode, Postgres, Type};

use super::session::lives_text;
use crate::sql::{Commas, Param, Sql, int};

/// The status column of a row that holds only tombstones.
const DELETED: &str = "deleted";

/// The number of columns with a plain value.
const COLUMNS: usize = 41;

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

/// The expression of a value.
#[derive(Clone, Copy)]
enum Value {
    Bound(Param),
    /// A column of `v`.
    Column(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bound(param) => param.fmt(f),
            Self::Column(name) => write!(f, "v.{name}"),
        }
    }
}

/// The new values of the row of a session, except its key.
pub(super) struct Values<'n> {
    schema: &'n str,
    plain: Vec<(&'static str, Value)>,
    lives: Value,
    /// The members of the column `last_receipt`, in the order of its type.
    receipt: [Value; 7],
}

/// A column, and its new value.
#[derive(Clone)]
enum Column<'v> {
    Plain(&'static str, Value),
    Lives(Value),
    Receipt(&'v str, &'v [Value; 7]),
}

impl Values<'_> {
    fn columns(&self) -> impl Iterator<Item = Column<'_>> + Clone {
        let plain = self.plain.iter().map(|(name, value)| Column::Plain(name, *value));
        plain.chain([Column::Lives(self.lives), Column::Receipt(self.schema, &self.receipt)])
    }

    /// Returns the names of the columns.
    pub(super) fn names(&self) -> impl fmt::Display {
        Commas(self.columns().map(|column| column.name()))
    }

    /// Returns the values, in the order of the names.
    pub(super) fn values(&self) -> impl fmt::Display {
        Commas(self.columns())
    }

    /// Returns the columns, each with `=` and its value.
    pub(super) fn assignments(&self) -> impl fmt::Display {
        Commas(self.columns().map(Assignment))
    }
}

impl Column<'_> {
    fn name(&self) -> &'static str {
        match self {
            Self::Plain(name, _) => name,
            Self::Lives(_) => "lives",
            Self::Receipt(..) => "last_receipt",
        }
    }
}

impl fmt::Display for Column<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(_, value) => value.fmt(f),
            Self::Lives(value) => write!(f, "{value}::json"),
            Self::Receipt(schema, members) => {
                let (version, members) = (members[0], Commas(members.iter()));
                write!(f, "CASE WHEN {version} IS NOT NULL THEN ROW({members})::{schema}receipt END")
            }
        }
    }
}

struct Assignment<'v>(Column<'v>);

impl fmt::Display for Assignment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.0.name(), self.0)
    }
}

/// Binds one value of each slot, and returns the expression that stands for it.
trait Binder<'s> {
    fn bind<'q, T>(&mut self, name: &'static str, of: impl Fn(&Seen<'s>) -> T) -> Value
    where
        T: Encode<'q, Postgres> + Type<Postgres> + PgHasArrayType;
}

/// Binds the values of one slot.
struct One<'b, 'n, 's> {
    sql: &'b mut Sql<'n>,
    seen: Seen<'s>,
}

impl<'s> Binder<'s> for One<'_, '_, 's> {
    fn bind<'q, T>(&mut self, _name: &'static str, of: impl Fn(&Seen<'s>) -> T) -> Value
    where
        T: Encode<'q, Postgres> + Type<Postgres> + PgHasArrayType,
    {
        Value::Bound(self.sql.bind(of(&self.seen)))
    }
}

/// Binds an array of values for each column, which becomes a column of `v`.
struct Each<'b, 'n, 's> {
    sql: &'b mut Sql<'n>,
    seen: Vec<Seen<'s>>,
    names: Vec<&'static str>,
    arrays: Vec<Param>,
}

impl<'s> Binder<'s> for Each<'_, '_, 's> {
    fn bind<'q, T>(&mut self, name: &'static str, of: impl Fn(&Seen<'s>) -> T) -> Value
    where
        T: Encode<'q, Postgres> + Type<Postgres> + PgHasArrayType,
    {
        let values: Vec<T> = self.seen.iter().map(of).collect();
        self.arrays.push(self.sql.bind(values));
        self.names.push(name);
        Value::Column(name)
    }
}

/// Binds the values of a slot's row, except its key. Returns none if the slot holds neither a session nor tombstones.
pub(super) fn bind_slot<'n>(sql: &mut Sql<'n>, slot: &Slot) -> Option<Values<'n>> {
    let names = sql.names;
    Some(bind(&mut One { sql, seen: Seen::of(slot)? }, &names.schema))
}

/// Binds the values of the rows of several sessions, at these places. Returns the columns with their values in a row of
/// `v`, and the source of these rows, which also have the place as `sid`.
pub(super) fn bind_sessions<'n, 's>(
    sql: &mut Sql<'n>,
    slots: impl Iterator<Item = (i64, &'s Slot)>,
) -> (Values<'n>, String) {
    let seen = slots.filter_map(|(place, slot)| Some((place, Seen::of(slot)?)));
    let (places, seen): (Vec<i64>, Vec<_>) = seen.unzip();
    let (names, place) = (sql.names, sql.bind(places));
    let mut each = Each { sql, seen, names: vec!["sid"], arrays: vec![place] };
    let values = bind(&mut each, &names.schema);
    let (arrays, names) = (Commas(each.arrays.iter()), Commas(each.names.iter()));
    (values, format!("unnest({arrays}) AS v ({names})"))
}

fn bind<'n, 's>(to: &mut impl Binder<'s>, schema: &'n str) -> Values<'n> {
    let mut plain = Vec::with_capacity(COLUMNS);
    macro_rules! add {
        ($name:literal, $of:expr) => {
            plain.push(($name, to.bind($name, $of)));
        };
    }
    add!("token", |seen| seen.slot.token.0.cast_signed());
    let lives = to.bind("lives", |seen| lives_text(&seen.slot.lives));
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
    let receipt = [
        to.bind("receipt_version", |seen| seen.receipt().map(|receipt| int(receipt.version.0))),
        to.bind("receipt_message", |seen| seen.receipt().map(|receipt| int(receipt.last_message.0))),
        to.bind("receipt_item", |seen| seen.receipt().map(|receipt| int(receipt.last_item.0))),
        to.bind("receipt_unread", |seen| seen.receipt().map(|receipt| int(receipt.unread))),
        to.bind("receipt_interrupt", |seen| seen.receipt().map(|receipt| receipt.interrupt)),
        to.bind("receipt_now", |seen| seen.receipt().map(|receipt| receipt.now.as_ms())),
        to.bind("receipt_lease_ends", |seen| seen.receipt().map(|receipt| receipt.lease_ends.as_ms())),
    ];
    Values { schema, plain, lives, receipt }
}
