//! Lists: of one session, and over the sessions of a tenant in all partitions.

use bytes::Bytes;
use futures::FutureExt;
use holdover_store::ids::{CheckpointId, SessionId, SessionKey};
use holdover_store::payload::Digest;
use holdover_store::rules::PageRoom;
use holdover_store::{
    Checkpoint, CheckpointQuery, PAGE_BYTES_MAX, Page, PageCursor, PageRequest, PendingCall, PendingQuery,
    RunRecord, SessionQuery, SessionSummary, StoreError, runs_digest,
};

use crate::columns;
use crate::error::{Call, Fault};
use crate::merge::{Found, Look, Merge, Order};
use crate::place;
use crate::read::{number_at, position};
use crate::reply::{self, Reply};
use crate::store::{Shared, unknown};

/// How many entries of an index one script looks at.
const LOOKED_AT_MAX: u64 = 256;

/// How many bytes one partition may answer for one page, unless one row is larger.
const PARTITION_BYTES_MAX: usize = 256 * 1024;

impl Shared {
    pub(crate) async fn list_runs(
        &self,
        key: &SessionKey,
        page: &PageRequest,
    ) -> Result<Option<Page<RunRecord>>, StoreError> {
        const OPERATION: &str = "list_runs";
        let after = number_at(page, runs_digest(key), OPERATION).map_err(|error| error.on(key))?;
        let args = self.args().number(after.unwrap_or(0)).number(page.rows()).size(PAGE_BYTES_MAX);
        self.ask(OPERATION, &self.scripts.list_runs, key, Ok(args), |word, reply| match word {
            "found" => run_page(reply, page, runs_digest(key)).map(Some),
            "not_found" => Ok(None),
            other => unknown(other),
        })
        .await
    }

    pub(crate) async fn list_checkpoints(
        &self,
        query: &CheckpointQuery,
    ) -> Result<Option<Page<Checkpoint>>, StoreError> {
        const OPERATION: &str = "list_checkpoints";
        let (key, digest) = (&query.key, query.digest());
        let before = number_at(&query.page, digest, OPERATION).map_err(|error| error.on(key))?;
        let args = self
            .args()
            .optional_number(before)
            .optional_number(query.id.map(|id| id.0))
            .number(query.page.rows())
            .size(PAGE_BYTES_MAX);
        self.ask(OPERATION, &self.scripts.list_checkpoints, key, Ok(args), |word, reply| match word {
            "found" => checkpoint_page(reply, &query.page, digest).map(Some),
            "not_found" => Ok(None),
            other => unknown(other),
        })
        .await
    }

    pub(crate) async fn list_sessions(
        &self,
        query: &SessionQuery,
    ) -> Result<Page<SessionSummary>, StoreError> {
        const OPERATION: &str = "list_sessions";
        let after =
            position(&query.page, query.digest(), OPERATION, place::is_of_tenant)?.unwrap_or_default();
        let merge = Merge::new(&self.keys, Order::Downwards, &after);
        let most = merge.share(query.page.rows() as usize);
        let look = |partition, after: Bytes| {
            let args = self
                .args()
                .text(query.tenant.as_str())
                .bytes(after)
                .each(&query.status, |args, status| args.text(status.as_str()))
                .optional(query.queue.as_ref().map(|queue| queue.as_str()))
                .each(&query.labels.0, |args, (name, value)| args.text(name).text(value))
                .range(query.created)
                .range(query.changed)
                .size(most)
                .number(LOOKED_AT_MAX)
                .size(PARTITION_BYTES_MAX);
            async move {
                let mut reply = self.run(&self.scripts.list_sessions, partition, None, &args).await?;
                found(&mut reply, columns::summary)
            }
            .boxed()
        };
        let page = page(merge, &look, &query.page, query.digest(), |_| 0).await;
        page.map_err(|fault| fault.of(Call::Read, OPERATION, None))
    }

    pub(crate) async fn list_pending(&self, query: &PendingQuery) -> Result<Page<PendingCall>, StoreError> {
        const OPERATION: &str = "list_pending";
        let after =
            position(&query.page, query.digest(), OPERATION, place::is_of_pending)?.unwrap_or_default();
        let merge = Merge::new(&self.keys, Order::Upwards, &after);
        let most = merge.share(query.page.rows() as usize);
        let look = |partition, after: Bytes| {
            let args = self
                .args()
                .text(query.tenant.as_str())
                .bytes(after)
                .optional(query.session.as_ref().map(SessionId::as_str))
                .optional(query.kind.map(|kind| kind.as_str()))
                .size(most)
                .number(LOOKED_AT_MAX)
                .size(PARTITION_BYTES_MAX);
            async move {
                let mut reply = self.run(&self.scripts.list_pending, partition, None, &args).await?;
                found(&mut reply, |reply| pending_at(reply, query))
            }
            .boxed()
        };
        let page = page(merge, &look, &query.page, query.digest(), |pending| pending.body.len()).await;
        page.map_err(|fault| fault.of(Call::Read, OPERATION, None))
    }
}

/// Up to where a script has looked, and the rows that it found with their places. What cannot be read holds up no
/// other: it is left out, and logged.
fn found<T>(reply: &mut Reply, row: impl Fn(&mut Reply) -> Result<T, Fault>) -> Result<Found<T>, Fault> {
    let looked = reply.bytes()?;
    let mut list = reply.list()?;
    let mut left_out = reply.number()?;
    let mut rows = Vec::with_capacity(list.left() / 2);
    while list.left() > 0 {
        let place = list.bytes()?;
        match row(&mut list) {
            Ok(row) => rows.push((place, row)),
            Err(Fault::Corrupt(_)) => left_out += 1,
            Err(fault) => return Err(fault),
        }
    }
    if left_out > 0 {
        tracing::warn!(left_out, "a list leaves out what cannot be read");
    }
    Ok(Found { rows, looked: Some(looked).filter(|looked| !looked.is_empty()) })
}

/// A pending call of a tenant.
fn pending_at(reply: &mut Reply, query: &PendingQuery) -> Result<PendingCall, Fault> {
    let mut reply = reply.list()?;
    let id = reply::id::<SessionId>(&reply.bytes()?)?;
    let key = SessionKey::new(query.tenant.clone(), id);
    let incarnation = reply::incarnation(&reply.bytes()?)?;
    columns::pending(&mut reply.list()?, &key, incarnation)
}

/// One page of a walk over all partitions.
async fn page<T>(
    mut merge: Merge<T>,
    look: &Look<'_, T>,
    request: &PageRequest,
    query: Digest,
    bytes: impl Fn(&T) -> usize,
) -> Result<Page<T>, Fault> {
    let mut room = PageRoom::new(request.rows() as usize);
    let (mut items, mut last) = (Vec::new(), Bytes::new());
    let next = loop {
        match merge.peek(look).await? {
            None => break merge.looked(),
            Some((_, row)) if !room.takes(bytes(row)) => break Some(last),
            Some(_) => {}
        }
        if let Some((place, row)) = merge.take() {
            last = place;
            items.push(row);
        }
    };
    Ok(Page { items, next: next.map(|place| PageCursor::at(query, &place)) })
}

fn run_page(reply: &mut Reply, request: &PageRequest, query: Digest) -> Result<Page<RunRecord>, Fault> {
    let mut list = reply.list()?;
    let mut more = reply.boolean()?;
    let mut room = PageRoom::new(request.rows() as usize);
    let mut items: Vec<RunRecord> = Vec::new();
    while list.left() > 0 {
        let run = columns::run(&mut list.list()?)?;
        let detail = run.end.as_ref().and_then(|end| end.detail.as_ref());
        if !room.takes(detail.map_or(0, |detail| detail.len())) {
            more = true;
            break;
        }
        items.push(run);
    }
    let next = items.last().filter(|_| more).map(|last| PageCursor::at(query, &last.epoch.0.to_be_bytes()));
    Ok(Page { items, next })
}

fn checkpoint_page(
    reply: &mut Reply,
    request: &PageRequest,
    query: Digest,
) -> Result<Page<Checkpoint>, Fault> {
    let incarnation = reply::incarnation(&reply.bytes()?)?;
    let rows = reply.pairs()?;
    let mut more = !reply.boolean()?;
    let mut room = PageRoom::new(request.rows() as usize);
    let mut items: Vec<Checkpoint> = Vec::new();
    for (id, record) in rows {
        let checkpoint = columns::checkpoint(reply::number(&id)?, incarnation, record)?;
        if !room.takes(checkpoint.state.len()) {
            more = true;
            break;
        }
        items.push(checkpoint);
    }
    let last = items.last().filter(|_| more).map(|last| last.id);
    let next = last.map(|CheckpointId(id)| PageCursor::at(query, &id.to_be_bytes()));
    Ok(Page { items, next })
}
