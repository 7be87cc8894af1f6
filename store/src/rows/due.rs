//! The choice of due sessions for a worker, and of the order in which tenants take turns.
//!
//! The due sessions of each tenant are claimed soonest alarm first. If more are due than the worker asks for,
//! tenants take turns, so that a tenant with many due sessions does not block others. Two indexes serve this:
//! one by alarm, which finds due sessions directly, and one by tenant, which gives the next tenant. The
//! number of index queries grows with the number of queues and formats that the worker serves. It does not
//! grow with the number of sessions or tenants.

use std::collections::{BTreeSet, VecDeque};

use crate::Queues;
use crate::ids::{SessionKey, StateFormat, TenantId};
use crate::rules::SessionRow;
use crate::time::Timestamp;

/// The number of index queries after which a query for due sessions gives no further tenant a turn. If many tenants
/// have alarms, a tenant may therefore have its turn only in a later query.
const PROBES_MAX: usize = 256;

/// A query for the sessions that are due for a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueQuery {
    /// The queues of the sessions. A session with a waiting interrupt is found in any queue.
    pub queues: Queues,
    /// The newest state format that the worker can read. A session with a waiting interrupt is found with any format.
    pub newest_format: StateFormat,
    /// The tenant of the sessions; all tenants if none.
    pub tenant: Option<TenantId>,
    /// The tenant that had the last turn. The next turn belongs to the next tenant by name; after the last
    /// name, the first name follows.
    pub after: Option<TenantId>,
    /// The most sessions to find.
    pub limit: usize,
}

/// The result of a query for due sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due<F> {
    /// The due sessions.
    pub found: Vec<F>,
    /// The tenant that had the last turn. Pass it as [`DueQuery::after`] to the next query.
    pub after: Option<TenantId>,
}

/// A group of sessions that are stored together in the indexes of sessions with an alarm.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum DueGroup {
    /// Sessions with a waiting interrupt, of every queue and format.
    Interrupted,
    /// Sessions of one queue with one format.
    Queue {
        /// The name of the queue.
        queue: Vec<u8>,
        /// The format of the sessions' state.
        format: StateFormat,
    },
}

/// The place of a session with an alarm in an index. The names are bytes, because stored bytes may not be
/// valid names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DuePlace {
    /// The alarm of the session.
    pub alarm: Timestamp,
    /// The tenant of the session.
    pub tenant: Vec<u8>,
    /// The id of the session.
    pub id: Vec<u8>,
}

/// The two indexes of sessions with an alarm, by alarm and by tenant, at one instant of the store's clock.
pub trait DueIndex {
    /// The data that the index returns for a session.
    type Found;
    /// The error of the backend.
    type Error;

    /// Returns the groups that match the queues and the format of `query` and are not empty.
    fn groups(&self, query: &DueQuery) -> Result<Vec<DueGroup>, Self::Error>;

    /// Returns the first sessions of a group after a place whose alarm has rung, soonest first, ties by
    /// tenant and id. Returns at most `limit`.
    fn rung(
        &self,
        group: &DueGroup,
        after: Option<&DuePlace>,
        limit: usize,
    ) -> Result<Vec<DuePlace>, Self::Error>;

    /// Returns the first sessions of one tenant in a group after a place whose alarm has rung, soonest first,
    /// ties by id. Returns at most `limit`.
    fn rung_of(
        &self,
        group: &DueGroup,
        tenant: &[u8],
        after: Option<&DuePlace>,
        limit: usize,
    ) -> Result<Vec<DuePlace>, Self::Error>;

    /// Returns the next tenant that has a session in the group: the first whose name follows `after`, in byte order.
    /// If `after` is `None`, returns the first tenant of the group.
    fn next_tenant(&self, group: &DueGroup, after: Option<&[u8]>) -> Result<Option<Vec<u8>>, Self::Error>;

    /// Reads the data of the session at a place. Returns none if the session is not due. An error fails the
    /// whole query, so an unreadable session must be returned as a `Found`.
    fn find(&self, place: &DuePlace) -> Result<Option<Self::Found>, Self::Error>;

    /// Returns true if the session can be read. A session that cannot be read does not count towards the
    /// limit.
    fn is_sound(found: &Self::Found) -> bool;
}

impl DueGroup {
    /// Returns the group of a session that has an alarm.
    pub fn of(row: &SessionRow) -> Self {
        match &row.interrupt {
            Some(_) => Self::Interrupted,
            None => Self::Queue { queue: row.queue.as_str().as_bytes().to_vec(), format: row.format },
        }
    }
}

impl DuePlace {
    /// Returns the place of a session with an alarm.
    pub fn new(alarm: Timestamp, key: &SessionKey) -> Self {
        let [tenant, id] = [key.tenant.as_str(), key.id.as_str()].map(|name| name.as_bytes().to_vec());
        Self { alarm, tenant, id }
    }

    /// Returns the key of the session, or none if its names are not valid.
    pub fn key(&self) -> Option<SessionKey> {
        let [tenant, id] = [&self.tenant, &self.id].map(|name| std::str::from_utf8(name).ok());
        Some(SessionKey::new(tenant?.parse().ok()?, id?.parse().ok()?))
    }
}

/// Finds due sessions. If at most as many are due as the query asks for, or if the query names a tenant, returns the
/// soonest. Otherwise returns the soonest session of each tenant in turn, and then the soonest of the remaining
/// sessions.
pub fn find_due<I: DueIndex>(index: &I, query: &DueQuery) -> Result<Due<I::Found>, I::Error> {
    let groups = index.groups(query)?;
    let mut taken = Taken { index, limit: query.limit, found: Vec::new(), sound: 0, seen: BTreeSet::new() };
    let mut after = query.after.clone();
    let tenant = query.tenant.as_ref().map(|tenant| tenant.as_str().as_bytes());
    let mut soonest = Soonest::new(index, groups.clone(), tenant);
    if tenant.is_none() && soonest.has_more_than(query.limit)? {
        after = Turns { index, groups: &groups, probes: 0 }.take(query.after.as_ref(), &mut taken)?;
    }
    while !taken.is_full()
        && let Some(place) = soonest.next()?
    {
        taken.take(place)?;
    }
    Ok(Due { found: taken.found, after })
}

/// The sessions taken so far.
struct Taken<'a, I: DueIndex> {
    index: &'a I,
    limit: usize,
    found: Vec<I::Found>,
    sound: usize,
    seen: BTreeSet<DuePlace>,
}

impl<I: DueIndex> Taken<'_, I> {
    fn is_full(&self) -> bool {
        self.sound >= self.limit
    }

    /// Takes the session at a place, unless that place was looked at before. Returns true if the session is
    /// taken and can be read.
    fn take(&mut self, place: DuePlace) -> Result<bool, I::Error> {
        if self.seen.contains(&place) {
            return Ok(false);
        }
        let found = self.index.find(&place)?;
        self.seen.insert(place);
        let sound = found.as_ref().is_some_and(I::is_sound);
        self.sound += usize::from(sound);
        self.found.extend(found);
        Ok(sound)
    }
}

/// Places of several groups, soonest alarm first.
struct Soonest<'a, I> {
    index: &'a I,
    tenant: Option<&'a [u8]>,
    groups: Vec<Stream>,
}

/// The places of one group.
struct Stream {
    group: DueGroup,
    ahead: VecDeque<DuePlace>,
    last: Option<DuePlace>,
    ended: bool,
}

impl<'a, I: DueIndex> Soonest<'a, I> {
    fn new(index: &'a I, groups: Vec<DueGroup>, tenant: Option<&'a [u8]>) -> Self {
        let stream = |group| Stream { group, ahead: VecDeque::new(), last: None, ended: false };
        Self { index, tenant, groups: groups.into_iter().map(stream).collect() }
    }

    fn has_more_than(&mut self, count: usize) -> Result<bool, I::Error> {
        self.fill(count.saturating_add(1))?;
        Ok(self.groups.iter().map(|stream| stream.ahead.len()).sum::<usize>() > count)
    }

    fn next(&mut self) -> Result<Option<DuePlace>, I::Error> {
        // Sessions that cannot be claimed are rare, so fetch only one at a time.
        self.fill(1)?;
        let streams = self.groups.iter_mut().filter(|stream| !stream.ahead.is_empty());
        let first = streams.min_by(|a, b| a.ahead.front().cmp(&b.ahead.front()));
        Ok(first.and_then(|stream| stream.ahead.pop_front()))
    }

    /// Fetches at most `count` more places of each group that has none left.
    fn fill(&mut self, count: usize) -> Result<(), I::Error> {
        for stream in self.groups.iter_mut().filter(|stream| stream.ahead.is_empty() && !stream.ended) {
            let (group, last) = (&stream.group, stream.last.as_ref());
            let places = match self.tenant {
                Some(tenant) => self.index.rung_of(group, tenant, last, count)?,
                None => self.index.rung(group, last, count)?,
            };
            stream.ended = places.len() < count;
            stream.last = places.last().cloned().or(stream.last.take());
            stream.ahead.extend(places);
        }
        Ok(())
    }
}

/// The turns of tenants, one after the other.
struct Turns<'a, I> {
    index: &'a I,
    groups: &'a [DueGroup],
    probes: usize,
}

impl<I: DueIndex> Turns<'_, I> {
    /// Takes the soonest session of each tenant after `after`, then of the tenants up to `after`. Returns the
    /// tenant that had the last turn.
    fn take(
        mut self,
        after: Option<&TenantId>,
        taken: &mut Taken<'_, I>,
    ) -> Result<Option<TenantId>, I::Error> {
        let began = after.map(|tenant| tenant.as_str().as_bytes().to_vec());
        let mut last = after.cloned();
        let mut at = began.clone();
        let mut wrapped = began.is_none();
        let mut served = false;
        // At least one tenant has a turn, even if there are many groups to query.
        while !taken.is_full() && (!served || self.probes < PROBES_MAX) {
            let next = self.next(at.as_deref())?;
            let Some(tenant) =
                next.filter(|next| !wrapped || began.is_none() || Some(next) <= began.as_ref())
            else {
                if wrapped {
                    break;
                }
                (wrapped, at) = (true, None);
                continue;
            };
            self.take_soonest(&tenant, taken)?;
            served = true;
            // An invalid name is skipped and does not count as a turn.
            last = std::str::from_utf8(&tenant).ok().and_then(|name| name.parse().ok()).or(last);
            at = Some(tenant);
        }
        Ok(last)
    }

    fn next(&mut self, after: Option<&[u8]>) -> Result<Option<Vec<u8>>, I::Error> {
        let mut next: Option<Vec<u8>> = None;
        for group in self.groups {
            self.probes += 1;
            let tenant = self.index.next_tenant(group, after)?;
            next = [next, tenant].into_iter().flatten().min();
        }
        Ok(next)
    }

    /// Takes sessions of one tenant, soonest first, until one of them can be read.
    fn take_soonest(&mut self, tenant: &[u8], taken: &mut Taken<'_, I>) -> Result<(), I::Error> {
        self.probes += self.groups.len();
        let mut soonest = Soonest::new(self.index, self.groups.to_vec(), Some(tenant));
        while let Some(place) = soonest.next()? {
            if taken.take(place)? {
                break;
            }
        }
        Ok(())
    }
}
