//! Helpers for lists. A cursor names the last row of its page, so rows that are added or removed do not
//! disturb a walk.

use super::super::index::{PendingPlace, SessionPlace};
use super::super::read::Found;
use super::super::row::{Row, picked};
use crate::payload::Digest;
use crate::rules::PageRoom;
use crate::{PAGE_BYTES_MAX, Page, PageCursor, PageRequest, PendingCall, PendingQuery, StoreError};

/// A place that a cursor can name.
pub(in super::super) trait Place: Sized {
    fn read(bytes: &[u8]) -> Option<Self>;
}

impl Place for SessionPlace {
    fn read(bytes: &[u8]) -> Option<Self> {
        Self::from_bytes(bytes)
    }
}

impl Place for PendingPlace {
    fn read(bytes: &[u8]) -> Option<Self> {
        Self::from_bytes(bytes)
    }
}

impl Place for u64 {
    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self::from_be_bytes)
    }
}

/// Decodes the place that the cursor of a request names, if it has a cursor.
pub(in super::super) fn after<P: Place>(
    request: &PageRequest,
    query: Digest,
    operation: &'static str,
) -> Result<Option<P>, StoreError> {
    request.position(operation, query)?.map(|bytes| place(&bytes, operation)).transpose()
}

/// Decodes the place that the bytes of a cursor name.
pub(in super::super) fn place<P: Place>(bytes: &[u8], operation: &'static str) -> Result<P, StoreError> {
    P::read(bytes).ok_or_else(|| StoreError::invalid(operation, "after: it names no place"))
}

/// Returns the pending calls that were read of a session and whose places `is_meant` accepts, in the order of
/// their list.
pub(in super::super) fn pending(found: Found, is_meant: impl Fn(&PendingPlace) -> bool) -> Vec<PendingCall> {
    let rows = found.rows.into_iter().flatten();
    let calls = rows.filter_map(|row| picked!(row, Row::Pending { call, .. } => call));
    let mut calls: Vec<_> = calls.map(|call| (PendingPlace::of(&call), call)).collect();
    calls.retain(|(place, _)| is_meant(place));
    calls.sort_by(|(a, _), (b, _)| a.cmp(b));
    calls.into_iter().map(|(_, call)| call).collect()
}

/// Returns true if `query` includes this pending call.
pub(in super::super) fn is_asked(call: &PendingCall, query: &PendingQuery) -> bool {
    call.key.tenant == query.tenant
        && query.session.as_ref().is_none_or(|id| *id == call.key.id)
        && query.kind.as_ref().is_none_or(|kind| *kind == call.kind)
}

/// Returns the page of `rows`, each given with its place. If all rows fit but the read reached its limit of bytes,
/// `goes_on` tells for the last row whether more rows may follow it.
pub(in super::super) fn page<T>(
    request: &PageRequest,
    query: Digest,
    rows: Vec<(Vec<u8>, T)>,
    bytes: impl Fn(&T) -> usize,
    goes_on: impl Fn(&T) -> bool,
) -> Page<T> {
    let (count, read) = (rows.len(), rows.iter().map(|(_, row)| bytes(row)).sum::<usize>());
    let mut room = PageRoom::new(request.rows() as usize);
    let shown: Vec<(Vec<u8>, T)> = rows.into_iter().take_while(|(_, row)| room.takes(bytes(row))).collect();
    // A read that reached its limit of bytes may have left rows out.
    let cut = read >= PAGE_BYTES_MAX && shown.last().is_some_and(|(_, last)| goes_on(last));
    let last = shown.last().filter(|_| shown.len() < count || cut);
    let next = last.map(|(place, _)| PageCursor::at(query, place));
    Page { items: shown.into_iter().map(|(_, row)| row).collect(), next }
}
