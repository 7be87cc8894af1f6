//! Indexes over sessions and their pending calls: their places, and what a backend keeps that has no indexes of its own.

use crate::ids::{PendingId, SessionId, SessionKey, StateFormat, TenantId};
use crate::rules::SessionRow;
use crate::time::Timestamp;
use crate::{PendingCall, Queues};

/// Which sessions are due for a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueQuery {
    /// Those of these queues; one with an interrupt waiting in every queue.
    pub queues: Queues,
    /// Those with a state of at most this format; one with an interrupt waiting whatever its format.
    pub newest_format: StateFormat,
    /// Those of this tenant; of all if none.
    pub tenant: Option<TenantId>,
    /// At most so many.
    pub limit: usize,
}

/// The place of a session in an index by time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionPlace {
    /// The instant by which it stands there.
    pub at: Timestamp,
    /// Its key.
    pub key: SessionKey,
}

impl SessionPlace {
    /// The place in a list of sessions, which begins with the greatest.
    pub fn created(row: &SessionRow) -> Self {
        Self { at: row.created_at, key: row.key.clone() }
    }

    /// The place among sessions that rest.
    pub fn changed(row: &SessionRow) -> Self {
        Self { at: row.updated_at, key: row.key.clone() }
    }

    /// In ascending order byte by byte.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = instant(self.at).to_vec();
        // Ids hold no control character, so NUL ends the first.
        bytes.extend_from_slice(self.key.tenant.as_str().as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(self.key.id.as_str().as_bytes());
        bytes
    }

    /// Reads it back.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (at, ids) = bytes.split_first_chunk()?;
        let (tenant, id) = std::str::from_utf8(ids).ok()?.split_once('\0')?;
        let key = SessionKey::new(tenant.parse().ok()?, id.parse().ok()?);
        Some(Self { at: instant_of(*at), key })
    }
}

/// The place of an open pending call in the list of its tenant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PendingPlace {
    /// Those without a deadline come last.
    pub endless: bool,
    /// Its deadline; whatever it is if it has none.
    pub deadline: Timestamp,
    /// Its session.
    pub session: SessionId,
    /// Its id.
    pub id: PendingId,
}

impl PendingPlace {
    /// The place of a call.
    pub fn of(call: &PendingCall) -> Self {
        Self {
            endless: call.deadline.is_none(),
            deadline: call.deadline.unwrap_or_default(),
            session: call.key.id.clone(),
            id: call.id.clone(),
        }
    }

    /// In ascending order byte by byte.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.endless)];
        bytes.extend_from_slice(&instant(self.deadline));
        // Ids hold no control character, so NUL ends the first.
        bytes.extend_from_slice(self.session.as_str().as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(self.id.as_str().as_bytes());
        bytes
    }

    /// Reads it back.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (endless, rest) = bytes.split_first()?;
        let (at, ids) = rest.split_first_chunk()?;
        let (session, id) = std::str::from_utf8(ids).ok()?.split_once('\0')?;
        Some(Self {
            endless: *endless != 0,
            deadline: instant_of(*at),
            session: session.parse().ok()?,
            id: id.parse().ok()?,
        })
    }
}

/// An index that a backend without indexes of its own keeps: sorted byte strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Index {
    /// Sessions with an alarm, by alarm and key.
    Due,
    /// Sessions by tenant, creation and id.
    Sessions,
    /// Sessions that are [`quiet`](SessionRow::quiet), by their last change and key.
    Resting,
    /// Open pending calls by tenant, deadline, session and id.
    Pending,
    /// Keys with nothing but lives that ended, by when the newest did.
    Dead,
}

/// Where a session's row stands in the indexes: all that changes with the row. Old entries go, new ones come.
pub fn index_entries(row: &SessionRow) -> Vec<(Index, Vec<u8>)> {
    let mut entries =
        vec![(Index::Sessions, of_tenant(&row.key.tenant, &SessionPlace::created(row).to_bytes()))];
    if let Some(at) = row.alarm {
        entries.push((Index::Due, SessionPlace { at, key: row.key.clone() }.to_bytes()));
    }
    if row.quiet() {
        entries.push((Index::Resting, SessionPlace::changed(row).to_bytes()));
    }
    entries
}

/// Where an open pending call stands.
pub fn pending_entry(call: &PendingCall) -> Vec<u8> {
    of_tenant(&call.key.tenant, &PendingPlace::of(call).to_bytes())
}

/// The entries of a tenant begin with its name.
fn of_tenant(tenant: &TenantId, place: &[u8]) -> Vec<u8> {
    let mut bytes = tenant.as_str().as_bytes().to_vec();
    bytes.push(0);
    bytes.extend_from_slice(place);
    bytes
}

/// Big-endian, with the sign turned, so that byte order is the order of time.
fn instant(at: Timestamp) -> [u8; 8] {
    (at.as_ms() ^ i64::MIN).to_be_bytes()
}

fn instant_of(bytes: [u8; 8]) -> Timestamp {
    Timestamp::from_ms(i64::from_be_bytes(bytes) ^ i64::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_read_back_and_their_bytes_are_in_their_order() {
        let place = |ms, id: &str| SessionPlace {
            at: Timestamp::from_ms(ms),
            key: SessionKey::new("t".parse().unwrap(), id.parse().unwrap()),
        };
        let places =
            [place(i64::MIN, "a"), place(-1, "b"), place(0, "a"), place(0, "b"), place(i64::MAX, "a")];
        assert!(places.is_sorted());
        assert!(places.iter().map(SessionPlace::to_bytes).is_sorted());
        for one in places {
            assert_eq!(SessionPlace::from_bytes(&one.to_bytes()), Some(one));
        }
    }
}
