//! Lists. A cursor names the last row of its page, so rows that are added or removed do not disturb a walk.

use std::cmp::Reverse;

use holdover_store::ids::{CheckpointId, Epoch, PendingId, SessionId, SessionKey, TenantId};
use holdover_store::payload::{Digest, Payload};
use holdover_store::rules::PageRoom;
use holdover_store::time::Timestamp;
use holdover_store::{
    Checkpoint, CheckpointQuery, Page, PageCursor, PageRequest, PendingCall, PendingQuery, RunRecord,
    SessionQuery, SessionSummary, StoreError, runs_digest,
};

use super::read::find;
use crate::table::{Record, Sessions};

/// A place in a list. Places sort in the order of the list.
pub(super) trait Place: Ord + Sized {
    fn to_bytes(&self) -> Vec<u8>;
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

/// Lists sessions of a tenant, newest first, ties by descending id.
pub fn list_sessions(sessions: &Sessions, query: &SessionQuery) -> Result<Page<SessionSummary>, StoreError> {
    let wanted = |record: &&Record| record.row.listed(&record.labels, query);
    let rows = sessions.values().filter(wanted).map(|record| {
        let place = (Reverse(record.row.created_at), Reverse(record.row.key.id.clone()));
        (place, record.summary())
    });
    page("list_sessions", query.digest(), &query.page, rows.collect(), |_| 0)
}

/// Lists open pending calls of a tenant, soonest deadline first.
pub fn list_pending(sessions: &Sessions, query: &PendingQuery) -> Result<Page<PendingCall>, StoreError> {
    let of_session = |key: &SessionKey| {
        key.tenant == query.tenant && query.session.as_ref().is_none_or(|id| *id == key.id)
    };
    let rows = sessions
        .values()
        .filter(|record| of_session(&record.row.key))
        .flat_map(|record| &record.pending)
        .filter(|pending| query.kind.as_ref().is_none_or(|kind| *kind == pending.kind))
        .map(|pending| {
            let no_deadline = pending.deadline.is_none();
            let place = (no_deadline, pending.deadline, pending.key.id.clone(), pending.id.clone());
            (place, pending.clone())
        });
    page("list_pending", query.digest(), &query.page, rows.collect(), |pending| pending.body.len())
}

/// Lists the runs of a session, in the order in which they began.
pub fn list_runs(
    sessions: &Sessions,
    key: &SessionKey,
    request: &PageRequest,
) -> Result<Page<RunRecord>, StoreError> {
    let record = find(sessions, "list_runs", key)?;
    let rows = record.runs.iter().map(|run| (run.epoch, run.clone()));
    let page = page("list_runs", runs_digest(key), request, rows.collect(), |run| {
        run.end.as_ref().and_then(|end| end.detail.as_ref()).map_or(0, Payload::len)
    });
    page.map_err(|error| error.on(key))
}

/// Lists the checkpoints of a session, newest first.
pub fn list_checkpoints(
    sessions: &Sessions,
    query: &CheckpointQuery,
) -> Result<Page<Checkpoint>, StoreError> {
    let record = find(sessions, "list_checkpoints", &query.key)?;
    let wanted = |checkpoint: &&Checkpoint| query.id.is_none_or(|id| id == checkpoint.id);
    let rows = record.checkpoints.iter().filter(wanted);
    let rows = rows.map(|checkpoint| (Reverse(checkpoint.id), checkpoint.clone())).collect();
    let page = page("list_checkpoints", query.digest(), &query.page, rows, |one| one.state.len());
    page.map_err(|error| error.on(&query.key))
}

fn page<P: Place, T>(
    operation: &'static str,
    query: Digest,
    request: &PageRequest,
    mut rows: Vec<(P, T)>,
    bytes: impl Fn(&T) -> usize,
) -> Result<Page<T>, StoreError> {
    let after = match &request.after {
        None => None,
        Some(cursor) => {
            let position = cursor.position_in(query);
            let position = position.map_err(|why| StoreError::invalid(operation, format!("after: {why}")))?;
            Some(place(operation, &position)?)
        }
    };
    rows.retain(|(place, _)| after.as_ref().is_none_or(|after| place > after));
    rows.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut room = PageRoom::new(request.rows() as usize);
    let shown = rows.iter().take_while(|(_, row)| room.takes(bytes(row))).count();
    let more = rows.len() > shown;
    rows.truncate(shown);
    let next = rows.last().filter(|_| more).map(|(place, _)| PageCursor::at(query, &place.to_bytes()));
    Ok(Page { items: rows.into_iter().map(|(_, row)| row).collect(), next })
}

/// Decodes the place that the bytes of a cursor name.
pub(super) fn place<P: Place>(operation: &'static str, position: &[u8]) -> Result<P, StoreError> {
    P::from_bytes(position).ok_or_else(|| StoreError::invalid(operation, "after: it names no place"))
}

impl Place for Epoch {
    fn to_bytes(&self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(u64::from_be_bytes(bytes.try_into().ok()?)))
    }
}

impl Place for Reverse<CheckpointId> {
    fn to_bytes(&self) -> Vec<u8> {
        self.0.0.to_be_bytes().to_vec()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(CheckpointId(u64::from_be_bytes(bytes.try_into().ok()?))))
    }
}

impl Place for (Reverse<Timestamp>, Reverse<SessionId>) {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.0.0.as_ms().to_be_bytes().to_vec();
        bytes.extend_from_slice(self.1.0.as_str().as_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (at, id) = bytes.split_first_chunk()?;
        let id = std::str::from_utf8(id).ok()?.parse::<SessionId>().ok()?;
        Some((Reverse(Timestamp::from_ms(i64::from_be_bytes(*at))), Reverse(id)))
    }
}

impl Place for (Timestamp, SessionKey) {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.0.as_ms().to_be_bytes().to_vec();
        // Ids contain no control character, so NUL separates them.
        bytes.extend_from_slice(self.1.tenant.as_str().as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(self.1.id.as_str().as_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (at, ids) = bytes.split_first_chunk()?;
        let (tenant, id) = std::str::from_utf8(ids).ok()?.split_once('\0')?;
        let key = SessionKey::new(tenant.parse::<TenantId>().ok()?, id.parse().ok()?);
        Some((Timestamp::from_ms(i64::from_be_bytes(*at)), key))
    }
}

/// The place of a pending call: whether it has no deadline, its deadline, its session and its id.
impl Place for (bool, Option<Timestamp>, SessionId, PendingId) {
    fn to_bytes(&self) -> Vec<u8> {
        let (no_deadline, deadline, session, id) = self;
        let mut bytes = vec![u8::from(*no_deadline)];
        bytes.extend_from_slice(&deadline.unwrap_or_default().as_ms().to_be_bytes());
        // Ids contain no control character, so NUL separates them.
        bytes.extend_from_slice(session.as_str().as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(id.as_str().as_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (no_deadline, rest) = bytes.split_first()?;
        let (at, ids) = rest.split_first_chunk()?;
        let (session, id) = std::str::from_utf8(ids).ok()?.split_once('\0')?;
        let deadline = (*no_deadline == 0).then(|| Timestamp::from_ms(i64::from_be_bytes(*at)));
        Some((*no_deadline != 0, deadline, session.parse().ok()?, id.parse().ok()?))
    }
}
