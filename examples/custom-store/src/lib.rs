//! Sessions in one redb file: a store that a stranger could have written. The guide beside it, `README.md`, leads
//! through this file.
//!
//! ```
//! use custom_store::{Options, RedbStore};
//! use holdover_store::{CommitSurvives, StateStore};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let file = folder.path().join("sessions.redb");
//! # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
//! # runtime.block_on(async {
//! let store = RedbStore::open(file, Options::default()).await.unwrap();
//! assert_eq!(store.capabilities().commit_survives, CommitSurvives::PowerCut);
//! # });
//! ```

use std::fmt::Display;
use std::ops::{Bound, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use holdover_store::ids::{
    CallId, CheckpointId, Epoch, EventSeq, Fence, InboxSeq, Incarnation, MessageSeq, OperationId, PendingId,
    RunId, SessionId, SessionKey, TenantId, Version, WorkerId,
};
use holdover_store::payload::{Digest, Payload};
use holdover_store::rules::{CommitFacts, Limits, PageRoom, PendingFacts, SessionRow, was_deleted};
use holdover_store::time::{Clock, Timestamp};
use holdover_store::{
    Applied, Capabilities, CasOutcome, Checkpoint, CheckpointQuery, Claim, ClaimDue, ClaimOne, ClaimOutcome,
    Commit, CommitOutcome, CommitSurvives, CreateOutcome, DeleteMode, DeleteOutcome, Deletion, Delivery,
    DeltaBatch, DeltaOutcome, EventCursor, EventPage, ForkOutcome, INBOX_PAGE, InboxItem, InboxPage,
    Interrupt, InterruptCheck, InterruptOutcome, ItemKind, Labels, LeaseOutcome, MessagePage, MessageRange,
    NewFork, NewMessage, NewSession, OutcomeKind, PAGE_ROWS_MAX, Page, PageCursor, PageRequest, PendingCall,
    PendingQuery, PurgeReport, Remove, RetentionRule, Retry, RunEnded, RunRecord, Session, SessionQuery,
    SessionSummary, SharedBy, StageOutcome, Staged, StagedResult, Staging, Start, StateStore, StatusCas,
    StoreError, StoreErrorKind, StoredDelta, StoredEvent, StoredItem, StoredMessage, TOMBSTONE_STANDS,
    Tombstone, Wake, Watch, runs_digest,
};
use redb::{
    Builder, ConcurrencyMode, Database, Durability, ReadOnlyTable, ReadableDatabase, ReadableTable, Table,
    TableDefinition,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

// ---- What lies in the file

/// The parts of a session. Those with a number are in its order, those with a name in the order of the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Part {
    /// The [`SessionRow`], on which every write decides.
    Row,
    Labels,
    Definition,
    State,
    /// By number.
    Message,
    /// By number.
    Event,
    /// By number: of the stream that runs.
    Delta,
    /// By number: the version.
    Checkpoint,
    /// By number: the epoch.
    Run,
    /// By number: items that are not consumed.
    Item,
    /// By name: every item key that was ever accepted.
    Key,
    /// By name: results that are not promoted, by call.
    Staged,
    /// By name: start marks, by call.
    Started,
    /// By name: open pending calls.
    Pending,
    /// By name: every pending call that was ever opened.
    Opened,
    /// By name: what is left of lives that were deleted, by incarnation. The last: it outlives the session.
    Tombstone,
}

/// The orders across sessions.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
enum List {
    /// By alarm: for `claim_due`.
    Due,
    /// By the newest change, those that are quiet: for `purge`.
    Quiet,
    /// By creation, in each tenant: for `list_sessions`.
    Created,
    /// Pending calls by deadline, in each tenant: for `list_pending`.
    Deadlines,
    /// Tombstones by age.
    Tombstones,
}

/// A row of a session, as it is found: the part, a number, a name.
type Spot<'s> = (Part, u64, &'s str);

fn only(part: Part) -> Spot<'static> {
    (part, 0, "")
}

fn nth(part: Part, number: u64) -> Spot<'static> {
    (part, number, "")
}

fn named(part: Part, name: &str) -> Spot<'_> {
    (part, 0, name)
}

/// A place in a list: an instant and two ids.
type Place = (i64, String, String);

/// A place in the index: which [`List`], tenant, instant, two ids.
type Entry<'e> = (u8, &'e str, i64, &'e str, &'e str);

/// The entries of a session. Each write of a row strikes the old ones and enters the new ones.
fn entries_of(row: &SessionRow) -> impl Iterator<Item = Entry<'_>> {
    let (tenant, session) = (row.key.tenant.as_str(), row.key.id.as_str());
    let due = row.alarm.map(|alarm| (List::Due as u8, "", alarm.as_ms(), tenant, session));
    let quiet = row.quiet().then(|| (List::Quiet as u8, "", row.updated_at.as_ms(), tenant, session));
    let created = (List::Created as u8, tenant, row.created_at.as_ms(), session, "");
    due.into_iter().chain(quiet).chain([created])
}

/// The entry of a pending call among the deadlines; without one, behind all.
fn deadline_of(pending: &PendingCall) -> Entry<'_> {
    let at = pending.deadline.map_or(i64::MAX, |deadline| deadline.as_ms().min(i64::MAX - 1));
    (List::Deadlines as u8, pending.key.tenant.as_str(), at, pending.key.id.as_str(), pending.id.as_str())
}

/// A row that was found, as it is stored.
struct Found {
    /// Where, for whoever must say that it cannot be read.
    place: String,
    number: u64,
    name: String,
    head: Vec<u8>,
    /// The payload, and the digest that it had when it was written.
    stored: Option<(Digest, Vec<u8>)>,
}

impl Found {
    fn head<T: DeserializeOwned>(&self) -> Done<T> {
        serde_json::from_slice(&self.head).map_err(|why| self.unreadable(why))
    }

    fn id<T: TryFrom<String, Error: Display>>(&self) -> Done<T> {
        T::try_from(self.name.clone()).map_err(|why| self.unreadable(why))
    }

    fn payload(&self) -> Done<Payload> {
        self.payload_if_any()?.ok_or_else(|| self.unreadable("it has no payload"))
    }

    fn payload_if_any(&self) -> Done<Option<Payload>> {
        let Some((digest, bytes)) = &self.stored else { return Ok(None) };
        Payload::from_stored(bytes.clone(), *digest).map(Some).map_err(|why| self.unreadable(why))
    }

    fn unreadable(&self, why: impl Display) -> Fault {
        unreadable(format_args!("{}: {why}", self.place))
    }
}

/// The session of two ids in a list.
fn key_of(tenant: &str, session: &str) -> Done<SessionKey> {
    let parsed = tenant.parse::<TenantId>();
    let key = parsed.and_then(|tenant| Ok(SessionKey::new(tenant, session.parse::<SessionId>()?)));
    key.map_err(|why| unreadable(format_args!("{tenant}/{session}: in a list: {why}")))
}

// ---- The database: whatever names redb stands here, up to the next such line

/// Everything that is kept of the sessions: tenant, session, which [`Part`], its number, its name.
type RowKey = (&'static str, &'static str, u8, u64, &'static str);
/// What this store reads of a row, as JSON; the payload, which it only keeps, with its digest. Both are bytes: redb
/// takes it for granted that a text is one, and panics where it was damaged.
type RowValue = (&'static [u8], Option<(&'static [u8; 32], &'static [u8])>);
const ROWS: TableDefinition<RowKey, RowValue> = TableDefinition::new("rows");

/// Where lists across sessions are read: which [`List`], tenant (if it is one of each tenant), instant, two ids.
type IndexKey = (u8, &'static str, i64, &'static str, &'static str);
const INDEX: TableDefinition<IndexKey, ()> = TableDefinition::new("index");

/// Two numbers: the [`FORMAT`] of the file, and how many writes have changed it.
const NUMBERS: TableDefinition<&str, u64> = TableDefinition::new("numbers");
const FORMAT: u64 = 1;

/// As [`Capabilities`] name it.
const BACKEND: &str = "redb 4";

/// What did not work.
#[derive(Debug)]
enum Fault {
    /// What is stored is not what was written. Whoever looks at many sessions passes over this one ([`readable`]).
    Unreadable(String),
    /// The database did not do it. Nothing was changed.
    Database(redb::Error),
    /// The database failed in the commit itself: all may have reached the disk, or nothing.
    Commit(redb::Error),
}

type Done<T> = Result<T, Fault>;

fn unreadable(what: impl Display) -> Fault {
    Fault::Unreadable(what.to_string())
}

impl<E: Into<redb::Error>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Database(error.into())
    }
}

/// The error that a fault in `operation` is.
fn failed(operation: &'static str, key: Option<&SessionKey>, fault: Fault) -> StoreError {
    let error = |kind| StoreError::new(kind, operation, "");
    let failed = match fault {
        Fault::Unreadable(what) => error(StoreErrorKind::Corrupt).because(what),
        Fault::Database(why) => error(kind_of(&why)).because(why),
        Fault::Commit(why) => error(kind_of(&why)).because(why).retry(Retry::OutcomeUnknown),
    };
    match key {
        Some(key) => failed.on(key),
        None => failed,
    }
}

fn kind_of(error: &redb::Error) -> StoreErrorKind {
    if let redb::Error::Corrupted(_) | redb::Error::TableTypeMismatch { .. } = error {
        StoreErrorKind::Corrupt
    } else if let redb::Error::Io(io) = error
        && io.kind() == std::io::ErrorKind::StorageFull
    {
        StoreErrorKind::Full
    } else {
        StoreErrorKind::Unavailable
    }
}

/// The file, and its format.
fn open(path: &Path, make: bool) -> Done<(Database, u64)> {
    let mut builder = Builder::new();
    builder.set_concurrency_mode(ConcurrencyMode::MultiWriter).set_cache_size(64 << 20);
    let database = if make { builder.create(path)? } else { builder.open(path)? };
    // A new file is durable when its folder is.
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::File::open(folder)?.sync_all()?;
    }
    let transaction = database.begin_write()?;
    let format = transaction.open_table(NUMBERS)?.get("format")?.map(|format| format.value());
    if let Some(format) = format {
        transaction.abort()?;
        return Ok((database, format));
    }
    if !make {
        transaction.abort()?;
        return Err(std::io::Error::new(std::io::ErrorKind::NotFound, "no store was made there").into());
    }
    transaction.open_table(NUMBERS)?.insert("format", FORMAT)?;
    transaction.open_table(ROWS)?;
    transaction.open_table(INDEX)?;
    transaction.commit()?;
    Ok((database, FORMAT))
}

/// What all clones of a handle share.
struct Shared {
    database: Database,
    options: Options,
}

/// What a read sees: the file at one instant.
struct Read {
    rows: ReadOnlyTable<RowKey, RowValue>,
    index: ReadOnlyTable<IndexKey, ()>,
    /// How many writes came before this instant.
    changes: u64,
}

/// A write on its way.
struct Write<'t> {
    rows: Table<'t, RowKey, RowValue>,
    index: Table<'t, IndexKey, ()>,
    now: Timestamp,
    /// Whether there is anything to commit.
    changed: bool,
}

impl Shared {
    /// Runs `job` on what the file holds at one instant.
    fn look<T>(&self, job: impl FnOnce(&Read) -> Done<T>) -> Done<T> {
        let transaction = self.database.begin_read()?;
        let changes = transaction.open_table(NUMBERS)?.get("changes")?.map_or(0, |changes| changes.value());
        job(&Read { rows: transaction.open_table(ROWS)?, index: transaction.open_table(INDEX)?, changes })
    }

    /// Runs `job` in one write transaction, and commits what it has changed. If that is nothing, or the job fails,
    /// the transaction is dropped, and with it all that was written in it.
    fn decide<T>(&self, job: impl FnOnce(&mut Write<'_>) -> Done<T>) -> Done<T> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        let (rows, index) = (transaction.open_table(ROWS)?, transaction.open_table(INDEX)?);
        // Nobody else writes from here on, so this is the instant of the write.
        let mut write = Write { rows, index, now: self.options.clock.now(), changed: false };
        let answer = job(&mut write)?;
        let changed = write.changed;
        drop(write);
        if changed {
            let mut numbers = transaction.open_table(NUMBERS)?;
            let changes = numbers.get("changes")?.map_or(0, |changes| changes.value());
            numbers.insert("changes", changes.wrapping_add(1))?;
            drop(numbers);
            transaction.commit().map_err(|error| Fault::Commit(error.into()))?;
        }
        Ok(answer)
    }
}

fn row_key<'k>(key: &'k SessionKey, (part, number, name): Spot<'k>) -> (&'k str, &'k str, u8, u64, &'k str) {
    (key.tenant.as_str(), key.id.as_str(), part as u8, number, name)
}

/// The rows, in both kinds of transaction.
trait Rows {
    fn one(&self, key: &SessionKey, spot: Spot<'_>) -> Done<Option<Found>>;

    /// The rows of a part with these numbers. Those of a part that goes by names have the number 0.
    fn all(
        &self,
        key: &SessionKey,
        part: Part,
        numbers: Range<u64>,
    ) -> Done<impl DoubleEndedIterator<Item = Done<Found>>>;
}

impl<T: ReadableTable<RowKey, RowValue>> Rows for T {
    fn one(&self, key: &SessionKey, spot: Spot<'_>) -> Done<Option<Found>> {
        let at = row_key(key, spot);
        Ok(self.get(at)?.map(|found| Found::new(at, found.value())))
    }

    fn all(
        &self,
        key: &SessionKey,
        part: Part,
        numbers: Range<u64>,
    ) -> Done<impl DoubleEndedIterator<Item = Done<Found>>> {
        let (from, to) = (numbers.start, numbers.end.max(numbers.start));
        let found = self.range(row_key(key, nth(part, from))..row_key(key, nth(part, to)))?;
        Ok(found.map(|found| {
            let (key, value) = found?;
            Ok(Found::new(key.value(), value.value()))
        }))
    }
}

impl Found {
    fn new(
        (tenant, session, part, number, name): (&str, &str, u8, u64, &str),
        (head, payload): <RowValue as redb::Value>::SelfType<'_>,
    ) -> Self {
        Self {
            place: format!("{tenant}/{session}: part {part}, row {number} {name:?}"),
            number,
            name: name.to_owned(),
            head: head.to_owned(),
            stored: payload.map(|(digest, bytes)| (Digest(*digest), bytes.to_owned())),
        }
    }
}

/// The places of a list, in its order or against it, after `after`.
fn places<'i>(
    index: &'i impl ReadableTable<IndexKey, ()>,
    list: List,
    tenant: &str,
    after: Option<&Place>,
    backwards: bool,
) -> Done<Box<dyn Iterator<Item = Done<Place>> + 'i>> {
    // No id holds a control character, so nothing lies between a tenant and this.
    let end = format!("{tenant}\u{1}");
    let mut from = Bound::Included((list as u8, tenant, i64::MIN, "", ""));
    let mut to = Bound::Excluded((list as u8, end.as_str(), i64::MIN, "", ""));
    if let Some((at, a, b)) = after {
        *(if backwards { &mut to } else { &mut from }) =
            Bound::Excluded((list as u8, tenant, *at, a.as_str(), b.as_str()));
    }
    let found = index.range::<Entry<'_>>((from, to))?.map(|found| {
        let (key, ()) = found.map(|(key, value)| (key, value.value()))?;
        let (_, _, at, a, b) = key.value();
        Ok((at, a.to_owned(), b.to_owned()))
    });
    Ok(if backwards { Box::new(found.rev()) } else { Box::new(found) })
}

impl Write<'_> {
    fn put_as_is(
        &mut self,
        key: &SessionKey,
        spot: Spot<'_>,
        head: &[u8],
        payload: Option<&Payload>,
    ) -> Done<()> {
        let digest = payload.map(|payload| payload.digest().0);
        let bytes = payload.map(|payload| payload.bytes().as_ref());
        self.rows.insert(row_key(key, spot), (head, digest.as_ref().zip(bytes)))?;
        self.changed = true;
        Ok(())
    }

    fn remove(&mut self, key: &SessionKey, spot: Spot<'_>) -> Done<()> {
        self.rows.remove(row_key(key, spot))?;
        self.changed = true;
        Ok(())
    }

    /// Removes every row from the first part on, and before the second.
    fn remove_all(&mut self, key: &SessionKey, from: u8, to: u8) -> Done<()> {
        let (tenant, session) = (key.tenant.as_str(), key.id.as_str());
        let rows = (tenant, session, from, 0, "")..(tenant, session, to, 0, "");
        self.rows.retain_in(rows, |_, _| false)?;
        self.changed = true;
        Ok(())
    }

    fn enter(&mut self, entry: Entry<'_>) -> Done<()> {
        self.index.insert(entry, ())?;
        self.changed = true;
        Ok(())
    }

    fn strike(&mut self, entry: Entry<'_>) -> Done<()> {
        self.index.remove(entry)?;
        self.changed = true;
        Ok(())
    }

    /// Strikes a session out of all lists but that of the tombstones, whatever its rows say: a walk over the whole
    /// index.
    fn strike_all(&mut self, key: &SessionKey) -> Done<()> {
        let (tenant, session) = (key.tenant.as_str(), key.id.as_str());
        self.index.retain(|(list, of, _, a, b), ()| {
            let there = if of.is_empty() { (a, b) } else { (of, a) };
            there != (tenant, session) || list == List::Tombstones as u8
        })?;
        self.changed = true;
        Ok(())
    }
}

// ---- The store

/// What a store is opened with.
#[derive(Clone)]
pub struct Options {
    /// Where every instant comes from.
    pub clock: Arc<dyn Clock>,
    /// The largest single payload, in bytes.
    pub payload_bytes_max: usize,
    /// The largest write, all payloads together, in bytes.
    pub commit_bytes_max: usize,
    /// Whether a file that is not there is made. If not, it is [`Unavailable`](StoreErrorKind::Unavailable).
    pub make: bool,
}

impl Default for Options {
    /// The clock of the machine, 16 MiB, 64 MiB; a file that is not there is made.
    fn default() -> Self {
        Self {
            clock: Arc::new(MachineClock),
            payload_bytes_max: 16 << 20,
            commit_bytes_max: 64 << 20,
            make: true,
        }
    }
}

struct MachineClock;

impl Clock for MachineClock {
    fn now(&self) -> Timestamp {
        Timestamp::EPOCH.after(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
    }
}

/// Sessions in one redb file. A clone is the same handle; any number of handles, in any number of processes of one
/// machine, may be open on a file.
#[derive(Clone)]
pub struct RedbStore(Arc<Shared>);

impl RedbStore {
    /// Opens the file, and makes it if there is none. A file of a newer format is
    /// [`Newer`](StoreErrorKind::Newer).
    pub async fn open(path: impl Into<PathBuf>, options: Options) -> Result<Self, StoreError> {
        const OPERATION: &str = "open";
        let (path, make) = (path.into(), options.make);
        let opened = tokio::task::spawn_blocking(move || open(&path, make)).await;
        let (database, format) =
            opened.map_err(|gone| lost(OPERATION, gone))?.map_err(|fault| failed(OPERATION, None, fault))?;
        if format > FORMAT {
            let detail = format!("format: it is {format}, this program knows {FORMAT}");
            return Err(StoreError::new(StoreErrorKind::Newer, OPERATION, detail));
        }
        Ok(Self(Arc::new(Shared { database, options })))
    }

    /// Whether a claim's lease has ended on its way here. Then it is no claim.
    fn is_over(&self, claim: &Claim) -> bool {
        claim.lease_ends <= self.0.options.clock.now()
    }

    /// Runs `job` in one write transaction, on a thread that may wait. Once begun it runs to its end, whether or
    /// not anybody still waits for the answer.
    async fn write<T: Send + 'static>(
        &self,
        operation: &'static str,
        key: Option<&SessionKey>,
        job: impl FnOnce(&mut Write<'_>) -> Done<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let shared = self.0.clone();
        let ended = tokio::task::spawn_blocking(move || shared.decide(job)).await;
        ended.map_err(|gone| lost(operation, gone))?.map_err(|fault| failed(operation, key, fault))
    }

    /// Runs `job` on what the file holds at one instant.
    async fn read<T: Send + 'static>(
        &self,
        operation: &'static str,
        key: Option<&SessionKey>,
        job: impl FnOnce(&Read) -> Done<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let shared = self.0.clone();
        let ended = tokio::task::spawn_blocking(move || shared.look(job)).await;
        ended.map_err(|gone| lost(operation, gone))?.map_err(|fault| failed(operation, key, fault))
    }
}

/// The thread of an operation ended without an answer.
fn lost(operation: &'static str, gone: tokio::task::JoinError) -> StoreError {
    StoreError::new(StoreErrorKind::Backend, operation, "").because(gone).retry(Retry::OutcomeUnknown)
}

/// What was found of one session among many. If it cannot be read, the log says so and it is passed over: it holds up
/// no other.
fn readable<T>(operation: &'static str, found: Done<Option<T>>) -> Done<Option<T>> {
    match found {
        Err(Fault::Unreadable(what)) => {
            tracing::error!(operation, what, "a session that cannot be read is passed over");
            Ok(None)
        }
        found @ (Ok(_) | Err(Fault::Database(_) | Fault::Commit(_))) => found,
    }
}

// ---- Reading: the same in both kinds of transaction

/// What is read of the sessions.
trait Sessions: Rows {
    fn row(&self, key: &SessionKey) -> Done<Option<SessionRow>> {
        let Some(found) = self.one(key, only(Part::Row))? else { return Ok(None) };
        let row: SessionRow = found.head()?;
        if row.key == *key {
            Ok(Some(row))
        } else {
            Err(found.unreadable("it is the row of another session"))
        }
    }

    /// What is left of a session when its rows are removed. Of its row no more is read than its names, which are there
    /// when another version wrote the rest.
    fn left(&self, key: &SessionKey, at: Timestamp) -> Done<Option<Tombstone>> {
        #[derive(Deserialize)]
        struct Names {
            incarnation: Incarnation,
            created_by: OperationId,
        }
        let Some(found) = self.one(key, only(Part::Row))? else { return Ok(None) };
        let Names { incarnation, created_by: operation } = found.head()?;
        Ok(Some(Tombstone { key: key.clone(), incarnation, operation, at }))
    }

    fn labels(&self, key: &SessionKey) -> Done<Labels> {
        self.one(key, only(Part::Labels))?.map_or(Ok(Labels::default()), |found| found.head())
    }

    fn session(&self, row: &SessionRow) -> Done<Session> {
        let definition = self.one(&row.key, only(Part::Definition))?;
        let definition =
            definition.ok_or_else(|| unreadable(format!("{}: no definition", row.key)))?.payload()?;
        let state = self.one(&row.key, only(Part::State))?.map(|state| state.payload()).transpose()?;
        let results =
            self.all(&row.key, Part::Staged, 0..1)?.map(|found| staged(&found?)).collect::<Done<_>>()?;
        let starts =
            self.all(&row.key, Part::Started, 0..1)?.map(|found| found?.id()).collect::<Done<_>>()?;
        Ok(row.session(self.labels(&row.key)?, definition, state, Staged { results, starts }))
    }

    /// The newest claim of a session, with all its news.
    fn claim(&self, row: &SessionRow, now: Timestamp) -> Done<Claim> {
        let mut pending: Vec<(Order, PendingCall)> = self
            .all(&row.key, Part::Pending, 0..1)?
            .map(|found| pending(row, &found?))
            .collect::<Done<_>>()?;
        pending.sort_by_key(|(order, _)| *order);
        let pending = pending.into_iter().map(|(_, pending)| pending).collect();
        let inbox = self.unread(&row.key, InboxSeq(0), INBOX_PAGE)?.items;
        let claim = row.newest_claim(self.session(row)?, pending, inbox, now);
        claim.ok_or_else(|| unreadable(format!("{}: nobody has claimed it", row.key)))
    }

    fn unread(&self, key: &SessionKey, after: InboxSeq, limit: u32) -> Done<InboxPage> {
        let items = self.all(key, Part::Item, after_number(after.0))?.map(|found| item(&found?));
        let mut room = PageRoom::new(limit.min(INBOX_PAGE) as usize);
        let (items, more) = room.fill(items, |(_, item)| item.payload.len())?;
        Ok(InboxPage::new(items.into_iter().map(|(_, item)| item).collect(), more.is_some()))
    }

    fn checkpoint(&self, row: &SessionRow, id: CheckpointId) -> Done<Option<Checkpoint>> {
        self.one(&row.key, nth(Part::Checkpoint, id.0))?.map(|found| checkpoint(row, &found)).transpose()
    }

    /// Whether a deletion has left the names of the session that `incarnation` or `operation` made.
    fn names_the_dead(
        &self,
        key: &SessionKey,
        incarnation: Incarnation,
        operation: &OperationId,
    ) -> Done<bool> {
        for found in self.all(key, Part::Tombstone, 0..1)? {
            if tombstone(key, &found?)?.names(incarnation, operation) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What the rules must know of the pending call that `item` answers.
    fn pending_facts(&self, row: &SessionRow, item: &InboxItem) -> Done<Option<PendingFacts>> {
        let ItemKind::Answer { pending: id, .. } = &item.kind else { return Ok(None) };
        let found = self.one(&row.key, named(Part::Pending, id.as_str()))?;
        found.map(|found| Ok(PendingFacts::from(&pending(row, &found)?.1))).transpose()
    }

    /// What the rules must know for `commit`, and no more than it names.
    fn commit_facts(&self, row: &SessionRow, commit: &Commit) -> Done<CommitFacts> {
        let key = &row.key;
        let mut facts = CommitFacts { unseen: row.unseen, ..CommitFacts::default() };
        let promoted = commit.messages.iter().filter_map(|message| match message {
            NewMessage::Promote(call) => Some(call),
            NewMessage::Inline(_) => None,
        });
        facts.staged = self.staged(key, promoted.chain(commit.stage.iter().map(|result| &result.call)))?;
        for id in &commit.close {
            if let Some(found) = self.one(key, named(Part::Pending, id.as_str()))? {
                facts.pending.push((id.clone(), pending(row, &found)?.1.last_answer));
            }
        }
        for new in &commit.open {
            if self.one(key, named(Part::Opened, new.id.as_str()))?.is_some() {
                facts.pending.push((new.id.clone(), InboxSeq(0)));
            }
        }
        for seq in &commit.consumed {
            if self.one(key, nth(Part::Item, seq.0))?.is_some() {
                facts.consumable.push(*seq);
            }
        }
        if let Some(seen) = commit.inbox_seen.filter(|seen| *seen > row.inbox_seen) {
            facts.unseen = Default::default();
            for found in self.all(key, Part::Item, after_number(seen.0))? {
                facts.unseen.add(item(&found?)?.0);
            }
        }
        Ok(facts)
    }

    fn staged<'c>(
        &self,
        key: &SessionKey,
        calls: impl Iterator<Item = &'c CallId>,
    ) -> Done<Vec<StagedResult>> {
        let found = calls.filter_map(|call| self.one(key, named(Part::Staged, call.as_str())).transpose());
        found.map(|found| staged(&found?)).collect()
    }
}

impl<T: Rows> Sessions for T {}

fn after_number(number: u64) -> Range<u64> {
    number.saturating_add(1)..u64::MAX
}

// What stands in the heads of the parts. Each is written once, in `Write`, and read here.

fn staged(found: &Found) -> Done<StagedResult> {
    Ok(StagedResult { call: found.id()?, payload: found.payload()? })
}

fn message(found: &Found) -> Done<StoredMessage> {
    Ok(StoredMessage { seq: MessageSeq(found.number), at: found.head()?, payload: found.payload()? })
}

fn event(found: &Found) -> Done<StoredEvent> {
    Ok(StoredEvent { seq: EventSeq(found.number), at: found.head()?, payload: found.payload()? })
}

fn delta(found: &Found) -> Done<StoredDelta> {
    Ok(StoredDelta { place: found.number, payload: found.payload()? })
}

fn item(found: &Found) -> Done<(Wake, StoredItem)> {
    let (wake, key, kind, at) = found.head()?;
    Ok((wake, StoredItem { seq: InboxSeq(found.number), key, kind, payload: found.payload()?, at }))
}

/// In which order pending calls were opened: the version of the commit, the place in it.
type Order = (Version, usize);

fn pending(row: &SessionRow, found: &Found) -> Done<(Order, PendingCall)> {
    let (order, call, kind, needed, answered, last_answer, deadline, opened_at) = found.head()?;
    let (key, incarnation, id, body) = (row.key.clone(), row.incarnation, found.id()?, found.payload()?);
    let pending = PendingCall {
        key,
        incarnation,
        id,
        call,
        kind,
        needed,
        answered,
        last_answer,
        deadline,
        body,
        opened_at,
    };
    Ok((order, pending))
}

fn checkpoint(row: &SessionRow, found: &Found) -> Done<Checkpoint> {
    let (epoch, last_message, last_event, at, format) = found.head()?;
    let (id, incarnation, state) = (CheckpointId(found.number), row.incarnation, found.payload()?);
    Ok(Checkpoint { id, incarnation, epoch, last_message, last_event, at, format, state })
}

fn run(found: &Found) -> Done<RunRecord> {
    let (run, worker, status, parent, started_at, end): (_, _, _, _, _, Option<(Timestamp, OutcomeKind)>) =
        found.head()?;
    let detail = found.payload_if_any()?;
    let end = end.map(|(at, outcome)| RunEnded { at, outcome, detail });
    Ok(RunRecord { epoch: Epoch(found.number), run, worker, found: status, parent, started_at, end })
}

fn tombstone(key: &SessionKey, found: &Found) -> Done<Tombstone> {
    let (incarnation, operation, at) = found.head()?;
    Ok(Tombstone { key: key.clone(), incarnation, operation, at })
}
// ---- Writing

/// A claim that is decided: all of it was read, nothing of it is written.
struct Decided {
    before: Option<SessionRow>,
    after: SessionRow,
    /// The one that it ends as lost, and the one that it begins.
    runs: Vec<RunRecord>,
    claim: Claim,
}

impl Write<'_> {
    fn put(
        &mut self,
        key: &SessionKey,
        spot: Spot<'_>,
        head: impl Serialize,
        payload: Option<&Payload>,
    ) -> Done<()> {
        let head = serde_json::to_vec(&head).map_err(unreadable)?;
        self.put_as_is(key, spot, &head, payload)
    }

    fn clear(&mut self, key: &SessionKey, part: Part) -> Done<()> {
        self.remove_all(key, part as u8, part as u8 + 1)
    }

    /// Takes back everything: the answer is a refusal that came when something was written already.
    fn undo<T>(&mut self, answer: T) -> Done<T> {
        self.changed = false;
        Ok(answer)
    }

    /// Writes a row that has changed: the only way. Its entries in the index go with it, and so do the deltas of
    /// a stream that is over.
    fn save(&mut self, before: Option<&SessionRow>, after: &SessionRow) -> Done<()> {
        for entry in before.into_iter().flat_map(entries_of) {
            self.strike(entry)?;
        }
        for entry in entries_of(after) {
            self.enter(entry)?;
        }
        if before.is_some_and(|before| before.stream.open) && !after.stream.open {
            self.clear(&after.key, Part::Delta)?;
        }
        self.put(&after.key, only(Part::Row), after, None)
    }

    fn put_message(&mut self, key: &SessionKey, seq: MessageSeq, payload: &Payload) -> Done<()> {
        self.put(key, nth(Part::Message, seq.0), self.now, Some(payload))
    }

    fn put_events(&mut self, key: &SessionKey, last: EventSeq, events: &[Payload]) -> Done<()> {
        for (number, event) in (last.0 + 1..).zip(events) {
            self.put(key, nth(Part::Event, number), self.now, Some(event))?;
        }
        Ok(())
    }

    fn put_checkpoint(&mut self, key: &SessionKey, one: &Checkpoint) -> Done<()> {
        let head = (one.epoch, one.last_message, one.last_event, one.at, one.format);
        self.put(key, nth(Part::Checkpoint, one.id.0), head, Some(&one.state))
    }

    fn put_run(&mut self, key: &SessionKey, run: &RunRecord) -> Done<()> {
        let end = run.end.as_ref().map(|end| (end.at, end.outcome));
        let head = (&run.run, &run.worker, run.found, run.parent, run.started_at, end);
        let detail = run.end.as_ref().and_then(|end| end.detail.as_ref());
        self.put(key, nth(Part::Run, run.epoch.0), head, detail)
    }

    /// The record of a run that ends; the first end is kept.
    fn ended(
        &self,
        key: &SessionKey,
        epoch: Epoch,
        outcome: OutcomeKind,
        detail: Option<Payload>,
    ) -> Done<Option<RunRecord>> {
        let Some(found) = self.rows.one(key, nth(Part::Run, epoch.0))? else { return Ok(None) };
        let mut run = run(&found)?;
        run.end.get_or_insert(RunEnded { at: self.now, outcome, detail });
        Ok(Some(run))
    }

    fn put_pending(&mut self, order: Order, one: &PendingCall) -> Done<()> {
        let counts = (one.needed, one.answered, one.last_answer);
        let head = (order, &one.call, one.kind, counts.0, counts.1, counts.2, one.deadline, one.opened_at);
        self.enter(deadline_of(one))?;
        self.put(&one.key, named(Part::Pending, one.id.as_str()), head, Some(&one.body))
    }

    fn remove_pending(&mut self, row: &SessionRow, id: &PendingId) -> Done<()> {
        let spot = named(Part::Pending, id.as_str());
        let Some(found) = self.rows.one(&row.key, spot)? else { return Ok(()) };
        self.strike(deadline_of(&pending(row, &found)?.1))?;
        self.remove(&row.key, spot)
    }

    /// Decides on an item and writes it; the row is written by the caller.
    fn accept(&mut self, row: &mut SessionRow, item: &InboxItem) -> Done<Result<InboxSeq, Delivery>> {
        let key = row.key.clone();
        let known = self.rows.one(&key, named(Part::Key, item.key.as_str()))?;
        let known = known.map(|known| known.head()).transpose()?;
        let facts = self.rows.pending_facts(row, item)?;
        let arrival = match row.accept(item, known, facts, self.now) {
            Ok(arrival) => arrival,
            Err(refused) => return Ok(Err(refused)),
        };
        if let (ItemKind::Answer { pending: id, .. }, Some(answered)) = (&item.kind, arrival.answered)
            && let Some(found) = self.rows.one(&key, named(Part::Pending, id.as_str()))?
        {
            let (order, open) = pending(row, &found)?;
            self.put_pending(order, &PendingCall { answered, last_answer: arrival.seq, ..open })?;
        }
        self.put(&key, named(Part::Key, item.key.as_str()), (arrival.seq, item.digest()), None)?;
        let head = (arrival.wake, &item.key, &item.kind, self.now);
        self.put(&key, nth(Part::Item, arrival.seq.0), head, Some(&item.payload))?;
        Ok(Ok(arrival.seq))
    }

    /// Accepts all, or says which one is refused; then the caller takes everything back.
    fn accept_all<'i>(
        &mut self,
        row: &mut SessionRow,
        items: impl IntoIterator<Item = &'i InboxItem>,
    ) -> Done<Result<(), (usize, Delivery)>> {
        for (index, item) in items.into_iter().enumerate() {
            if let Err(refusal) = self.accept(row, item)? {
                return Ok(Err((index, refusal)));
            }
        }
        Ok(Ok(()))
    }

    /// Decides a claim of a row that may be claimed: `before` is how it is written now, `row` how it has become
    /// since. A session of which anything cannot be read is not claimed, and nothing is written.
    fn decide_claim(
        &self,
        before: Option<SessionRow>,
        mut row: SessionRow,
        run: RunId,
        worker: WorkerId,
        lease: Duration,
    ) -> Done<Decided> {
        let claimed = row.claim(run.clone(), worker.clone(), lease, self.now);
        let lost = claimed.close_lost.map(|epoch| self.ended(&row.key, epoch, OutcomeKind::Lost, None));
        let begun = row.run_record(run, worker, claimed, self.now);
        let runs = lost.transpose()?.flatten().into_iter().chain([begun]).collect();
        let claim = self.rows.claim(&row, self.now)?;
        Ok(Decided { before, after: row, runs, claim })
    }

    /// Decides the claim of the session at a place in the list of alarms, if it is due for this worker.
    fn decide_due(&self, place: &Place, claim: &ClaimDue, run: &RunId) -> Done<Option<Decided>> {
        let Some(row) = self.rows.row(&key_of(&place.1, &place.2)?)? else { return Ok(None) };
        if !row.is_due(&claim.queues, claim.newest_format, claim.tenant.as_ref(), self.now) {
            return Ok(None);
        }
        let (run, worker) = (run.clone(), claim.worker.clone());
        self.decide_claim(Some(row.clone()), row, run, worker, claim.lease).map(Some)
    }

    fn write_claim(&mut self, decided: Decided) -> Done<Claim> {
        for run in &decided.runs {
            self.put_run(&decided.after.key, run)?;
        }
        self.save(decided.before.as_ref(), &decided.after)?;
        Ok(decided.claim)
    }

    /// Everything that an accepted commit names.
    fn write_commit(&mut self, before: &SessionRow, row: &SessionRow, commit: Commit) -> Done<()> {
        let key = &row.key;
        if let Some(state) = commit.state {
            self.put(key, only(Part::State), (), Some(&state.payload))?;
            self.clear(key, Part::Started)?;
            if commit.checkpoint {
                self.put_checkpoint(key, &row.checkpoint(state.payload, self.now))?;
            }
        }
        for result in &commit.stage {
            self.put(key, named(Part::Staged, result.call.as_str()), (), Some(&result.payload))?;
        }
        let mut seq = before.last_message;
        for message in &commit.messages {
            seq = seq.next();
            match message {
                NewMessage::Inline(payload) => self.put_message(key, seq, payload)?,
                NewMessage::Promote(call) => {
                    let spot = named(Part::Staged, call.as_str());
                    let found = self.rows.one(key, spot)?;
                    let found = found.ok_or_else(|| unreadable(format!("{key}: {call} was staged")))?;
                    self.put_message(key, seq, &found.payload()?)?;
                    self.remove(key, spot)?;
                }
            }
        }
        self.put_events(key, before.last_event, &commit.events)?;
        for id in &commit.close {
            self.remove_pending(row, id)?;
        }
        for (nth, new) in commit.open.into_iter().enumerate() {
            self.put(key, named(Part::Opened, new.id.as_str()), (), None)?;
            self.put_pending((row.version, nth), &row.opened(new, self.now))?;
        }
        for seq in &commit.consumed {
            self.remove(key, nth(Part::Item, seq.0))?;
        }
        if let Some(end) = commit.run
            && let Some(run) = self.ended(key, before.epoch, end.outcome, Some(end.detail))?
        {
            self.put_run(key, &run)?;
        }
        self.save(Some(before), row)
    }

    /// Removes a session, and leaves its tombstone.
    fn delete(&mut self, row: &SessionRow, left: &Tombstone) -> Done<()> {
        let open = self.rows.all(&row.key, Part::Pending, 0..1)?.map(|found| Ok(pending(row, &found?)?.1));
        match open.collect::<Done<Vec<_>>>() {
            Ok(open) => {
                for entry in open.iter().map(deadline_of).chain(entries_of(row)) {
                    self.strike(entry)?;
                }
            }
            Err(Fault::Unreadable(_)) => self.strike_all(&row.key)?,
            Err(fault @ (Fault::Database(_) | Fault::Commit(_))) => return Err(fault),
        }
        self.bury(&row.key, Some(left))
    }

    /// Removes a session whose row cannot be read, if it has the life that is meant.
    fn delete_unreadable(&mut self, key: &SessionKey, meant: Option<Incarnation>) -> Done<DeleteOutcome> {
        let left = match (self.rows.left(key, self.now), meant) {
            (Ok(Some(left)), Some(meant)) if left.incarnation != meant => return Ok(DeleteOutcome::NotFound),
            (Ok(Some(left)), _) => Some(left),
            (Ok(None), _) => return Ok(DeleteOutcome::NotFound),
            (Err(Fault::Unreadable(what)), None) => {
                tracing::warn!(what, "a session is removed that has no name left for a tombstone");
                None
            }
            (Err(fault), _) => return Err(fault),
        };
        self.strike_all(key)?;
        self.bury(key, left.as_ref())?;
        Ok(DeleteOutcome::Deleted)
    }

    /// Removes all rows of a session, and sets its tombstone.
    fn bury(&mut self, key: &SessionKey, left: Option<&Tombstone>) -> Done<()> {
        self.remove_all(key, 0, Part::Tombstone as u8)?;
        self.clear_tombstones(2)?;
        let Some(left) = left else { return Ok(()) };
        self.enter((List::Tombstones as u8, "", left.at.as_ms(), key.tenant.as_str(), key.id.as_str()))?;
        let (life, head) = (left.incarnation.to_string(), (left.incarnation, &left.operation, left.at));
        self.put(key, named(Part::Tombstone, &life), head, None)
    }

    /// Removes old tombstones: those of at most `most` places in their list.
    fn clear_tombstones(&mut self, most: usize) -> Done<()> {
        let oldest: Vec<Place> =
            places(&self.index, List::Tombstones, "", None, false)?.take(most).collect::<Done<_>>()?;
        let now = self.now;
        for (at, tenant, session) in oldest {
            if Timestamp::from_ms(at).until(now) <= TOMBSTONE_STANDS {
                break;
            }
            if let Ok(key) = key_of(&tenant, &session) {
                let of_key: Vec<Found> = self.rows.all(&key, Part::Tombstone, 0..1)?.collect::<Done<_>>()?;
                for found in of_key {
                    // One that cannot be read goes with the place that led to it.
                    if tombstone(&key, &found).is_ok_and(|tombstone| !tombstone.is_old(now)) {
                        continue;
                    }
                    self.remove(&key, named(Part::Tombstone, &found.name))?;
                }
            }
            self.strike((List::Tombstones as u8, "", at, tenant.as_str(), session.as_str()))?;
        }
        Ok(())
    }
}

// ---- The contract

#[async_trait]
impl StateStore for RedbStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            backend: BACKEND.to_owned(),
            commit_survives: CommitSurvives::PowerCut,
            shared_by: SharedBy::Machine,
            change_hints_across_processes: true,
            forks: true,
            retention: true,
            payload_bytes_max: self.0.options.payload_bytes_max,
            commit_bytes_max: self.0.options.commit_bytes_max,
            settings: vec![("durability".to_owned(), "immediate".to_owned())],
        }
    }

    async fn create_session(&self, new: NewSession) -> Result<CreateOutcome, StoreError> {
        const OPERATION: &str = "create_session";
        let key = new.key.clone();
        Limits::of(&self.capabilities(), OPERATION).creation(&new).map_err(|error| error.on(&key))?;
        let job = move |write: &mut Write<'_>| {
            let there = write.rows.row(&new.key)?;
            let named = write.rows.names_the_dead(&new.key, new.incarnation, &new.operation)?;
            if was_deleted(&new.operation, there.as_ref(), named) {
                return Ok(CreateOutcome::Deleted);
            }
            if let Some(row) = there {
                return Ok(match row.created_before(&new, write.now) {
                    Err(answer) => answer,
                    Ok((version, false)) => CreateOutcome::Created { version, claim: None },
                    Ok((version, true)) => {
                        let claim = Some(Box::new(write.rows.claim(&row, write.now)?));
                        CreateOutcome::Created { version, claim }
                    }
                });
            }
            let mut row = SessionRow::create(&new, write.now);
            write.put(&new.key, only(Part::Labels), &new.labels, None)?;
            write.put(&new.key, only(Part::Definition), (), Some(&new.definition))?;
            let claimed: &[InboxItem] = match &new.start {
                Start::Claimed(claim) => &claim.items,
                Start::WithItems | Start::At(_) => &[],
            };
            if let Err((index, _)) = write.accept_all(&mut row, new.items.iter().chain(claimed))? {
                return write.undo(CreateOutcome::ItemConflict { index });
            }
            row.set_start(&new.start);
            if let Start::Claimed(ClaimOne { run, worker, lease, .. }) = new.start {
                let decided = write.decide_claim(None, row, run, worker, lease)?;
                let claim = write.write_claim(decided)?;
                let version = claim.session.version;
                return Ok(CreateOutcome::Created { version, claim: Some(Box::new(claim)) });
            }
            write.save(None, &row)?;
            Ok(CreateOutcome::Created { version: row.version, claim: None })
        };
        let mut outcome = self.write(OPERATION, Some(&key), job).await?;
        if let CreateOutcome::Created { claim, .. } = &mut outcome {
            claim.take_if(|claim| self.is_over(claim));
        }
        Ok(outcome)
    }

    async fn load_session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        let of = key.clone();
        let job = move |read: &Read| read.rows.row(&of)?.map(|row| read.rows.session(&row)).transpose();
        self.read("load_session", Some(key), job).await
    }

    async fn list_sessions(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, StoreError> {
        const OPERATION: &str = "list_sessions";
        let end = query.created.before.map(|end| (end.as_ms(), String::new(), String::new()));
        let after: Option<Place> = place(OPERATION, &query.page, query.digest())?.or(end);
        let query = query.clone();
        let job = move |read: &Read| {
            let found = places(&read.index, List::Created, query.tenant.as_str(), after.as_ref(), true)?;
            let early = |at: i64| query.created.since.is_some_and(|since| at < since.as_ms());
            let found = found.take_while(|place| !place.as_ref().is_ok_and(|(at, ..)| early(*at)));
            let found = found.map(|place| readable(OPERATION, summary(read, &query, &place?)));
            let rows = found.filter_map(Result::transpose);
            Page::fill(&query.page, query.digest(), rows, |_| 0)
        };
        self.read(OPERATION, None, job).await
    }

    async fn delete_session(
        &self,
        key: &SessionKey,
        deletion: Deletion,
    ) -> Result<DeleteOutcome, StoreError> {
        let of = key.clone();
        let job = move |write: &mut Write<'_>| {
            let found = match (write.rows.row(&of), deletion.mode) {
                // It can always be removed.
                (Err(Fault::Unreadable(_)), DeleteMode::Force) => {
                    return write.delete_unreadable(&of, deletion.incarnation);
                }
                (found, DeleteMode::Force | DeleteMode::UnlessActive) => found?,
            };
            let Some(row) = found else { return Ok(DeleteOutcome::NotFound) };
            match row.delete(deletion, write.now) {
                Err(refused) => Ok(refused),
                Ok(left) => write.delete(&row, &left).map(|()| DeleteOutcome::Deleted),
            }
        };
        self.write("delete_session", Some(key), job).await
    }

    async fn claim_session(&self, key: &SessionKey, claim: ClaimOne) -> Result<ClaimOutcome, StoreError> {
        const OPERATION: &str = "claim_session";
        Limits::of(&self.capabilities(), OPERATION).items(&claim.items).map_err(|error| error.on(key))?;
        let of = key.clone();
        let job = move |write: &mut Write<'_>| {
            let Some(before) = write.rows.row(&of)? else { return Ok(ClaimOutcome::NotFound) };
            match before.repeated_claim(&claim.run, write.now) {
                Some(true) => {
                    return Ok(ClaimOutcome::Claimed(Box::new(write.rows.claim(&before, write.now)?)));
                }
                Some(false) => return Ok(ClaimOutcome::LeaseEnded),
                None => {}
            }
            if let Err(refused) = before.claimable(claim.expected_version, write.now) {
                return Ok(refused);
            }
            let mut row = before.clone();
            if let Err((index, refusal)) = write.accept_all(&mut row, &claim.items)? {
                return write.undo(ClaimOutcome::ItemRefused { index, refusal });
            }
            let decided = write.decide_claim(Some(before), row, claim.run, claim.worker, claim.lease)?;
            Ok(ClaimOutcome::Claimed(Box::new(write.write_claim(decided)?)))
        };
        let outcome = self.write(OPERATION, Some(key), job).await?;
        let over = matches!(&outcome, ClaimOutcome::Claimed(claim) if self.is_over(claim));
        Ok(if over { ClaimOutcome::LeaseEnded } else { outcome })
    }

    async fn claim_due(&self, claim: ClaimDue) -> Result<Vec<Claim>, StoreError> {
        const OPERATION: &str = "claim_due";
        let job = move |write: &mut Write<'_>| {
            let mut due = Vec::new();
            for place in places(&write.index, List::Due, "", None, false)? {
                let place = place?;
                let Some(run) = claim.runs.get(due.len()) else { break };
                if Timestamp::from_ms(place.0) > write.now {
                    break;
                }
                due.extend(readable(OPERATION, write.decide_due(&place, &claim, run))?);
            }
            due.into_iter().map(|decided| write.write_claim(decided)).collect()
        };
        let mut claims: Vec<Claim> = self.write(OPERATION, None, job).await?;
        claims.retain(|claim| !self.is_over(claim));
        Ok(claims)
    }

    async fn compare_and_set_status(
        &self,
        key: &SessionKey,
        cas: StatusCas,
    ) -> Result<CasOutcome, StoreError> {
        const OPERATION: &str = "compare_and_set_status";
        Limits::of(&self.capabilities(), OPERATION).items(&cas.items).map_err(|error| error.on(key))?;
        let of = key.clone();
        let job = move |write: &mut Write<'_>| {
            let Some(before) = write.rows.row(&of)? else { return Ok(CasOutcome::NotFound) };
            match before.clone().compare_and_set(&cas, write.now) {
                CasOutcome::Moved { .. } => {}
                refused @ (CasOutcome::VersionConflict { .. }
                | CasOutcome::NotAllowed { .. }
                | CasOutcome::ItemRefused { .. }
                | CasOutcome::NotFound) => return Ok(refused),
            }
            // The items are accepted by the session as it rests, then it is moved.
            let mut row = before.clone();
            if let Err((index, refusal)) = write.accept_all(&mut row, &cas.items)? {
                return write.undo(CasOutcome::ItemRefused { index, refusal });
            }
            let moved = row.compare_and_set(&cas, write.now);
            write.save(Some(&before), &row)?;
            Ok(moved)
        };
        self.write(OPERATION, Some(key), job).await
    }

    async fn renew_lease(&self, fence: &Fence, lease: Duration) -> Result<LeaseOutcome, StoreError> {
        let of = fence.clone();
        let job = move |write: &mut Write<'_>| {
            let Some(before) = write.rows.row(&of.key)? else { return Ok(LeaseOutcome::StaleFence) };
            let mut row = before.clone();
            let Some(receipt) = row.renew(&of, lease, write.now) else { return Ok(LeaseOutcome::StaleFence) };
            write.save(Some(&before), &row)?;
            Ok(LeaseOutcome::Renewed(receipt))
        };
        self.write("renew_lease", Some(&fence.key), job).await
    }

    async fn stage_result(&self, fence: &Fence, staging: Staging) -> Result<StageOutcome, StoreError> {
        const OPERATION: &str = "stage_result";
        Limits::of(&self.capabilities(), OPERATION)
            .staging(&staging)
            .map_err(|error| error.on(&fence.key))?;
        let of = fence.clone();
        let job = move |write: &mut Write<'_>| {
            let Some(row) = write.rows.row(&of.key)? else { return Ok(StageOutcome::StaleFence) };
            let there = write.rows.staged(&of.key, staging.results.iter().map(|result| &result.call))?;
            let fresh = match row.stage(&of, &staging, &there) {
                Ok(fresh) => fresh,
                Err(refused) => return Ok(refused),
            };
            for result in fresh {
                write.put(&of.key, named(Part::Staged, result.call.as_str()), (), Some(&result.payload))?;
            }
            for call in &staging.starts {
                write.put(&of.key, named(Part::Started, call.as_str()), (), None)?;
            }
            Ok(StageOutcome::Staged(row.receipt(write.now)))
        };
        self.write(OPERATION, Some(&fence.key), job).await
    }

    async fn commit(&self, fence: &Fence, commit: Commit) -> Result<CommitOutcome, StoreError> {
        commit.check(&self.capabilities()).map_err(|error| error.on(&fence.key))?;
        let of = fence.clone();
        let job = move |write: &mut Write<'_>| {
            let Some(before) = write.rows.row(&of.key)? else {
                return Ok(CommitOutcome::StaleFence { applied: Applied::Unknown });
            };
            if let Some(answer) = before.admit(&of, &commit) {
                return Ok(answer);
            }
            let facts = write.rows.commit_facts(&before, &commit)?;
            let mut row = before.clone();
            match row.apply(&commit, &facts, write.now) {
                Err(refused) => Ok(refused),
                Ok(receipt) => {
                    write.write_commit(&before, &row, commit)?;
                    Ok(CommitOutcome::Committed(receipt))
                }
            }
        };
        self.write("commit", Some(&fence.key), job).await
    }

    async fn append_deltas(&self, fence: &Fence, batch: DeltaBatch) -> Result<DeltaOutcome, StoreError> {
        batch.check(&self.capabilities()).map_err(|error| error.on(&fence.key))?;
        let of = fence.clone();
        let job = move |write: &mut Write<'_>| {
            let Some(before) = write.rows.row(&of.key)? else { return Ok(DeltaOutcome::StaleFence) };
            let mut row = before.clone();
            let streamed = match row.stream(&of, &batch) {
                Ok(streamed) => streamed,
                Err(refused) => return Ok(refused),
            };
            if streamed.replaces {
                write.clear(&of.key, Part::Delta)?;
            }
            for (place, payload) in (batch.first..).zip(&batch.deltas).skip(streamed.skip) {
                write.put(&of.key, nth(Part::Delta, place), (), Some(payload))?;
            }
            if row != before {
                write.save(Some(&before), &row)?;
            }
            Ok(DeltaOutcome::Appended(row.receipt(write.now)))
        };
        self.write("append_deltas", Some(&fence.key), job).await
    }

    async fn take_interrupt(&self, fence: &Fence) -> Result<InterruptCheck, StoreError> {
        let of = fence.clone();
        let job = move |write: &mut Write<'_>| {
            let Some(before) = write.rows.row(&of.key)? else { return Ok(InterruptCheck::StaleFence) };
            let mut row = before.clone();
            let check = row.hand_interrupt(&of);
            if row != before {
                write.save(Some(&before), &row)?;
            }
            Ok(check)
        };
        self.write("take_interrupt", Some(&fence.key), job).await
    }

    async fn deliver(&self, key: &SessionKey, item: InboxItem) -> Result<Delivery, StoreError> {
        const OPERATION: &str = "deliver";
        Limits::of(&self.capabilities(), OPERATION).delivery(&item).map_err(|error| error.on(key))?;
        let of = key.clone();
        let job = move |write: &mut Write<'_>| {
            let Some(before) = write.rows.row(&of)? else { return Ok(Delivery::NotFound) };
            let mut row = before.clone();
            match write.accept(&mut row, &item)? {
                Err(refused) => Ok(refused),
                Ok(seq) => {
                    write.save(Some(&before), &row)?;
                    Ok(Delivery::Accepted { seq })
                }
            }
        };
        self.write(OPERATION, Some(key), job).await
    }

    async fn request_interrupt(
        &self,
        key: &SessionKey,
        interrupt: Interrupt,
    ) -> Result<InterruptOutcome, StoreError> {
        const OPERATION: &str = "request_interrupt";
        Limits::of(&self.capabilities(), OPERATION).interrupt(&interrupt).map_err(|error| error.on(key))?;
        let of = key.clone();
        let job = move |write: &mut Write<'_>| {
            let Some(before) = write.rows.row(&of)? else { return Ok(InterruptOutcome::NotFound) };
            let mut row = before.clone();
            let outcome = row.request_interrupt(interrupt, write.now);
            if row != before {
                write.save(Some(&before), &row)?;
            }
            Ok(outcome)
        };
        self.write(OPERATION, Some(key), job).await
    }

    async fn read_messages(
        &self,
        key: &SessionKey,
        ranges: &[MessageRange],
    ) -> Result<MessagePage, StoreError> {
        const OPERATION: &str = "read_messages";
        let (of, ranges) = (key.clone(), ranges.to_vec());
        let job = move |read: &Read| {
            if read.rows.row(&of)?.is_none() {
                return Ok(None);
            }
            let mut room = PageRoom::new(usize::MAX);
            let mut messages = Vec::new();
            for (index, range) in ranges.iter().enumerate() {
                let numbers = range.from.0..range.to.0.saturating_add(1);
                let found = read.rows.all(&of, Part::Message, numbers)?.map(|found| message(&found?));
                let (taken, next) = room.fill(found, |message| message.payload.len())?;
                messages.extend(taken);
                if let Some(next) = next {
                    let rest = ranges.get(index..).unwrap_or_default();
                    return Ok(Some(MessagePage::cut(messages, rest, next.seq)));
                }
            }
            Ok(Some(MessagePage::whole(messages)))
        };
        self.read(OPERATION, Some(key), job).await?.ok_or_else(|| missing(OPERATION, key))
    }

    async fn read_inbox(
        &self,
        key: &SessionKey,
        after: InboxSeq,
        limit: u32,
    ) -> Result<InboxPage, StoreError> {
        const OPERATION: &str = "read_inbox";
        let limit = Limits::rows(OPERATION, limit, INBOX_PAGE).map_err(|error| error.on(key))?;
        let of = key.clone();
        let job = move |read: &Read| match read.rows.row(&of)? {
            None => Ok(None),
            Some(_) => read.rows.unread(&of, after, limit).map(Some),
        };
        self.read(OPERATION, Some(key), job).await?.ok_or_else(|| missing(OPERATION, key))
    }

    async fn read_events(
        &self,
        key: &SessionKey,
        after: &EventCursor,
        limit: u32,
    ) -> Result<EventPage, StoreError> {
        const OPERATION: &str = "read_events";
        let limit = Limits::rows(OPERATION, limit, PAGE_ROWS_MAX).map_err(|error| error.on(key))?;
        let (of, after) = (key.clone(), *after);
        let job = move |read: &Read| {
            let Some(row) = read.rows.row(&of)? else { return Ok(EventPage::NotFound) };
            let Some(place) = after.place_in(row.incarnation) else { return Ok(EventPage::Gone) };
            let mut room = PageRoom::new(limit as usize);
            let found = read.rows.all(&of, Part::Event, after_number(place.after.0))?;
            let (events, _) = room.fill(found.map(|found| event(&found?)), |event| event.payload.len())?;
            let last = events.last().map_or(place.after, |last| last.seq);
            let mut deltas = Vec::new();
            if let Some(shown) = row.deltas_after(&place, last) {
                let found = read.rows.all(&of, Part::Delta, after_number(shown))?;
                (deltas, _) = room.fill(found.map(|found| delta(&found?)), |delta| delta.payload.len())?;
            }
            Ok(row.event_page(&after, events, deltas))
        };
        self.read(OPERATION, Some(key), job).await
    }

    async fn list_runs(&self, key: &SessionKey, page: PageRequest) -> Result<Page<RunRecord>, StoreError> {
        const OPERATION: &str = "list_runs";
        let after: Option<u64> = place(OPERATION, &page, runs_digest(key)).map_err(|error| error.on(key))?;
        let of = key.clone();
        let job = move |read: &Read| {
            if read.rows.row(&of)?.is_none() {
                return Ok(None);
            }
            let found = read.rows.all(&of, Part::Run, after_number(after.unwrap_or_default()))?;
            let rows = found.map(|found| {
                let run = run(&found?)?;
                Ok((position(&run.epoch)?, run))
            });
            let bytes = |run: &RunRecord| {
                run.end.as_ref().and_then(|end| end.detail.as_ref()).map_or(0, Payload::len)
            };
            Page::fill(&page, runs_digest(&of), rows, bytes).map(Some)
        };
        self.read(OPERATION, Some(key), job).await?.ok_or_else(|| missing(OPERATION, key))
    }

    async fn list_pending(&self, query: &PendingQuery) -> Result<Page<PendingCall>, StoreError> {
        const OPERATION: &str = "list_pending";
        let after = place(OPERATION, &query.page, query.digest())?;
        let query = query.clone();
        let job = move |read: &Read| {
            let found = places(&read.index, List::Deadlines, query.tenant.as_str(), after.as_ref(), false)?;
            let found = found.map(|place| readable(OPERATION, owed(read, &query, &place?)));
            let rows = found.filter_map(Result::transpose);
            Page::fill(&query.page, query.digest(), rows, |pending| pending.body.len())
        };
        self.read(OPERATION, None, job).await
    }

    async fn list_checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>, StoreError> {
        const OPERATION: &str = "list_checkpoints";
        let before: Option<u64> =
            place(OPERATION, &query.page, query.digest()).map_err(|error| error.on(&query.key))?;
        let of = query.clone();
        let job = move |read: &Read| {
            let Some(row) = read.rows.row(&of.key)? else { return Ok(None) };
            let found = read.rows.all(&of.key, Part::Checkpoint, 0..before.unwrap_or(u64::MAX))?;
            let wanted = |found: &Done<Found>| match (found, of.id) {
                (Ok(found), Some(id)) => found.number == id.0,
                (Ok(_) | Err(_), _) => true,
            };
            let rows = found.rev().filter(wanted).map(|found| {
                let checkpoint = checkpoint(&row, &found?)?;
                Ok((position(&checkpoint.id)?, checkpoint))
            });
            Page::fill(&of.page, of.digest(), rows, |checkpoint| checkpoint.state.len()).map(Some)
        };
        let found = self.read(OPERATION, Some(&query.key), job).await?;
        found.ok_or_else(|| missing(OPERATION, &query.key))
    }

    /// Looks again and again whether anything was written, by whichever process.
    async fn wait_for_change(&self, _watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        const LOOK_EVERY: Duration = Duration::from_millis(20);
        let changes = || self.read("wait_for_change", None, |read| Ok(read.changes));
        let before = changes().await?;
        let news = async {
            while changes().await? == before {
                tokio::time::sleep(LOOK_EVERY).await;
            }
            Ok(())
        };
        tokio::time::timeout(at_most, news).await.unwrap_or(Ok(()))
    }

    async fn fork_session(
        &self,
        from: &SessionKey,
        at: CheckpointId,
        to: NewFork,
    ) -> Result<ForkOutcome, StoreError> {
        const OPERATION: &str = "fork_session";
        to.check(from).map_err(|error| error.on(from))?;
        Limits::of(&self.capabilities(), OPERATION).fork(&to).map_err(|error| error.on(from))?;
        let of = from.clone();
        let job = move |write: &mut Write<'_>| {
            let there = write.rows.row(&to.key)?;
            let named = write.rows.names_the_dead(&to.key, to.incarnation, &to.operation)?;
            if was_deleted(&to.operation, there.as_ref(), named) {
                return Ok(ForkOutcome::Deleted);
            }
            if let Some(row) = there {
                return Ok(row.forked_before(&to, at));
            }
            let Some(source) = write.rows.row(&of)?.filter(|row| row.is_source(&of, &to)) else {
                return Ok(ForkOutcome::NoSource);
            };
            let Some(checkpoint) = write.rows.checkpoint(&source, at)? else {
                return Ok(ForkOutcome::NoCheckpoint);
            };
            let lasts = [checkpoint.last_message.0, checkpoint.last_event.0, at.0];
            for (part, last) in [Part::Message, Part::Event, Part::Checkpoint].into_iter().zip(lasts) {
                for number in 1..=last {
                    if let Some(found) = write.rows.one(&of, nth(part, number))? {
                        let payload = found.payload_if_any()?;
                        write.put_as_is(&to.key, nth(part, number), &found.head, payload.as_ref())?;
                    }
                }
            }
            let row = SessionRow::fork(&checkpoint, &to, write.now);
            write.put(&to.key, only(Part::Labels), &to.labels, None)?;
            write.put(&to.key, only(Part::Definition), (), Some(&to.definition))?;
            write.put(&to.key, only(Part::State), (), Some(&to.state.payload))?;
            for (number, message) in (checkpoint.last_message.0 + 1..).zip(&to.messages) {
                write.put_message(&to.key, MessageSeq(number), message)?;
            }
            write.put_events(&to.key, checkpoint.last_event, &to.events)?;
            write.put_checkpoint(&to.key, &row.checkpoint(to.state.payload, write.now))?;
            write.save(None, &row)?;
            Ok(ForkOutcome::Forked { version: row.version })
        };
        self.write(OPERATION, Some(from), job).await
    }

    async fn purge(&self, rule: &RetentionRule) -> Result<PurgeReport, StoreError> {
        const OPERATION: &str = "purge";
        let after: Option<Place> = rule.check()?.map(|bytes| parse(OPERATION, &bytes)).transpose()?;
        let rule = rule.clone();
        let job = move |write: &mut Write<'_>| {
            let limit = rule.limit.get() as usize;
            let mut report = PurgeReport::default();
            let mut about = Vec::new();
            for place in places(&write.index, List::Quiet, "", after.as_ref(), false)? {
                let place = place?;
                if Timestamp::from_ms(place.0) >= rule.unchanged_since {
                    break;
                }
                let row = key_of(&place.1, &place.2).and_then(|key| write.rows.row(&key));
                let row = readable(OPERATION, row)?.filter(|row| row.purgeable(&rule));
                let Some(row) = row else { continue };
                if about.len() == limit {
                    let last = about.last().map(|(place, _)| position(place)).transpose()?;
                    report.next = last.map(|place| PageCursor::at(rule.digest(), &place));
                    break;
                }
                about.push((place, row));
            }
            for (_, row) in about {
                match rule.remove {
                    Remove::Sessions => {
                        write.delete(&row, &row.tombstone(write.now))?;
                        report.sessions += 1;
                    }
                    Remove::Checkpoints { keep } => {
                        let kept = write.rows.all(&row.key, Part::Checkpoint, 0..u64::MAX)?.rev();
                        let gone: Vec<Found> = kept.skip(keep.get() as usize).collect::<Done<_>>()?;
                        report.checkpoints += gone.len() as u64;
                        for found in gone {
                            write.remove(&row.key, nth(Part::Checkpoint, found.number))?;
                        }
                    }
                }
            }
            write.clear_tombstones(limit)?;
            Ok(report)
        };
        self.write(OPERATION, None, job).await
    }
}

/// The session at a place in the list of the newest, if the query is about it.
fn summary(read: &Read, query: &SessionQuery, place: &Place) -> Done<Option<(Vec<u8>, SessionSummary)>> {
    let key = key_of(query.tenant.as_str(), &place.1)?;
    let Some(row) = read.rows.row(&key)? else { return Ok(None) };
    let labels = read.rows.labels(&key)?;
    if row.listed(&labels, query) { Ok(Some((position(place)?, row.summary(labels)))) } else { Ok(None) }
}

/// The pending call at a place in the list of deadlines, if the query is about it.
fn owed(read: &Read, query: &PendingQuery, place: &Place) -> Done<Option<(Vec<u8>, PendingCall)>> {
    let key = key_of(query.tenant.as_str(), &place.1)?;
    if query.session.as_ref().is_some_and(|session| *session != key.id) {
        return Ok(None);
    }
    let Some(row) = read.rows.row(&key)? else { return Ok(None) };
    let Some(found) = read.rows.one(&key, named(Part::Pending, &place.2))? else { return Ok(None) };
    let (_, pending) = pending(&row, &found)?;
    let wanted = query.kind.is_none_or(|kind| kind == pending.kind);
    if wanted { Ok(Some((position(place)?, pending))) } else { Ok(None) }
}

fn missing(operation: &'static str, key: &SessionKey) -> StoreError {
    StoreError::new(StoreErrorKind::NotFound, operation, "no such session").on(key)
}

/// A place in a list, as the bytes that a cursor carries.
fn position(place: &impl Serialize) -> Done<Vec<u8>> {
    serde_json::to_vec(place).map_err(unreadable)
}

/// The place after which a page begins.
fn place<P: DeserializeOwned>(
    operation: &'static str,
    page: &PageRequest,
    query: Digest,
) -> Result<Option<P>, StoreError> {
    page.position(operation, query)?.map(|bytes| parse(operation, &bytes)).transpose()
}

fn parse<P: DeserializeOwned>(operation: &'static str, bytes: &[u8]) -> Result<P, StoreError> {
    serde_json::from_slice(bytes).map_err(|_| StoreError::invalid(operation, "after: it names no place"))
}
