//! Finds due sessions: chooses them, and reads their wanted rows.
//!
//! First the candidates are collected from the indexes of all partitions, usually in one look: the soonest of all
//! and, if more are due than are asked for, the soonest of the tenants whose turn is next. [`find_due`] chooses among
//! them as in every store. Then the rows of the chosen sessions are read. For a session that is no longer due or
//! cannot be read, another is chosen. Unreadable sessions are also reported as errors.

mod soonest;
mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::ops::Bound;

use futures::future::join_all;
use holdover_store::StoreError;
use holdover_store::ids::SessionKey;
use holdover_store::rows::{Due, DueGroup, DueIndex, DuePlace, DueQuery, Found, Want, find_due};

use self::soonest::Soonest;
use self::turns::Turns;
use crate::error::{Call, Fault};
use crate::row::NO_TOKEN;
use crate::store::Shared;

/// The most rounds of choosing, which is repeated if a chosen session was no longer due or could not be read.
const ROUNDS_MAX: usize = 256;

/// The most sessions that one round reads beyond the chosen ones, if sessions of earlier rounds were not due or could
/// not be read.
const AHEAD_MAX: usize = 512;

/// The rows of sessions that may be chosen.
#[derive(Default)]
struct Rows {
    /// Sessions that are due.
    sound: BTreeMap<DuePlace, Found>,
    keys: BTreeSet<SessionKey>,
    /// Errors of sessions that cannot be read.
    errors: Vec<StoreError>,
    /// Places of sessions that must not be chosen.
    gone: BTreeSet<DuePlace>,
}

impl Shared {
    /// Finds sessions that are due, each with its wanted rows.
    pub(crate) async fn due(
        &self,
        query: &DueQuery,
        wants: &[Want],
    ) -> Result<Due<Result<Found, StoreError>>, Fault> {
        if query.limit == 0 {
            return Ok(Due { found: Vec::new(), after: query.after.clone() });
        }
        let (mut soonest, mut turns) = self.look_for_due(query).await?;
        let (mut rows, mut rounds, mut ahead) = (Rows::default(), 0, 0);
        loop {
            let count = query.limit.saturating_add(ahead);
            self.look_further(&mut soonest, count, &rows.gone).await?;
            let turns = match turns.take() {
                _ if query.tenant.is_some() || !soonest.is_more_than(query.limit, &rows.gone) => {
                    Turns::default()
                }
                Some(turns) => turns,
                None => self.look_for_turns(query, &soonest, &rows.gone).await?,
            };
            let chosen = choose(&soonest, turns, query, &rows.gone);
            let mut places: BTreeSet<DuePlace> = chosen.found.iter().cloned().collect();
            if ahead > 0 {
                let left = soonest.places().filter(|place| !rows.gone.contains(place));
                places.extend(left.take(count).cloned());
            }
            self.read_places(query, wants, places, &mut rows).await?;
            rounds += 1;
            if rounds == ROUNDS_MAX || chosen.found.iter().all(|place| rows.sound.contains_key(place)) {
                return Ok(rows.answer(chosen));
            }
            ahead = (ahead * 2).clamp(1, AHEAD_MAX);
        }
    }

    /// Reads the sessions at places, except those that were read before.
    async fn read_places(
        &self,
        query: &DueQuery,
        wants: &[Want],
        places: BTreeSet<DuePlace>,
        rows: &mut Rows,
    ) -> Result<(), Fault> {
        let mut keys = Vec::new();
        for place in places.into_iter().filter(|place| !rows.sound.contains_key(place)) {
            // A session that moved in between is found at two places.
            match place.key().filter(|key| rows.keys.insert(key.clone())) {
                Some(key) => keys.push((place, key)),
                None => drop(rows.gone.insert(place)),
            }
        }
        let reads = join_all(keys.iter().map(|(_, key)| self.read_due(key, wants))).await;
        let mut failed = None;
        for (found, (place, key)) in reads.into_iter().zip(&keys) {
            let is_due = |found: &Found| {
                found.row().is_some_and(|row| {
                    row.is_due(&query.queues, query.newest_format, query.tenant.as_ref(), found.now)
                })
            };
            match found {
                Ok(found) if is_due(&found) => {
                    rows.sound.insert(place.clone(), found);
                    continue;
                }
                Ok(_) => {}
                Err(fault @ Fault::Corrupt(_)) => rows.errors.push(fault.of(Call::Read, "", None).on(key)),
                Err(fault) => failed = Some((fault, key)),
            }
            rows.gone.insert(place.clone());
        }
        match failed {
            // If a server cannot be asked, the answer must not be that nothing is due.
            Some((fault, _)) if rows.sound.is_empty() => return Err(fault),
            Some((fault, key)) => rows.errors.push(fault.of(Call::Read, "", None).on(key)),
            None => {}
        }
        Ok(())
    }

    /// Reads a session that may be due, and gives it its first token if it has none.
    async fn read_due(&self, key: &SessionKey, wants: &[Want]) -> Result<Found, Fault> {
        let found = self.read_rows(key, wants).await?;
        if found.slot.as_ref().is_none_or(|slot| slot.token != NO_TOKEN) {
            return Ok(found);
        }
        self.adopt(key).await?;
        self.read_rows(key, wants).await
    }
}

impl Rows {
    /// Returns the rows of the chosen sessions, and the errors of unreadable ones.
    fn answer(mut self, chosen: Due<DuePlace>) -> Due<Result<Found, StoreError>> {
        let found = chosen.found.iter().filter_map(|place| self.sound.remove(place)).map(Ok);
        let mut found: Vec<_> = found.collect();
        found.extend(self.errors.into_iter().map(Err));
        Due { found, after: chosen.after }
    }
}

/// Chooses among the collected places.
fn choose(soonest: &Soonest, turns: Turns, query: &DueQuery, gone: &BTreeSet<DuePlace>) -> Due<DuePlace> {
    let soonest: BTreeSet<DuePlace> =
        soonest.places().filter(|place| !gone.contains(place)).cloned().collect();
    let mut tenants = turns.tenants;
    if let Some(tenant) = &query.tenant {
        tenants.insert(tenant.as_str().as_bytes().to_vec(), soonest.clone());
    }
    let Ok(due) = find_due(&Gathered { soonest, tenants }, query);
    due
}

/// The places collected from all partitions, as a single group: the servers have already decided which may be due.
struct Gathered {
    soonest: BTreeSet<DuePlace>,
    tenants: BTreeMap<Vec<u8>, BTreeSet<DuePlace>>,
}

fn behind(places: &BTreeSet<DuePlace>, after: Option<&DuePlace>, limit: usize) -> Vec<DuePlace> {
    let from = after.map_or(Bound::Unbounded, Bound::Excluded);
    places.range((from, Bound::Unbounded)).take(limit).cloned().collect()
}

impl DueIndex for Gathered {
    type Found = DuePlace;
    type Error = Infallible;

    fn groups(&self, _: &DueQuery) -> Result<Vec<DueGroup>, Infallible> {
        Ok(vec![DueGroup::Interrupted])
    }

    fn rung(
        &self,
        _: &DueGroup,
        after: Option<&DuePlace>,
        limit: usize,
    ) -> Result<Vec<DuePlace>, Infallible> {
        Ok(behind(&self.soonest, after, limit))
    }

    fn rung_of(
        &self,
        _: &DueGroup,
        tenant: &[u8],
        after: Option<&DuePlace>,
        limit: usize,
    ) -> Result<Vec<DuePlace>, Infallible> {
        Ok(self.tenants.get(tenant).map_or_else(Vec::new, |places| behind(places, after, limit)))
    }

    fn next_tenant(&self, _: &DueGroup, after: Option<&[u8]>) -> Result<Option<Vec<u8>>, Infallible> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut behind = self.tenants.range::<[u8], _>((from, Bound::Unbounded));
        Ok(behind.next().map(|(tenant, _)| tenant.clone()))
    }

    fn find(&self, place: &DuePlace) -> Result<Option<DuePlace>, Infallible> {
        Ok(Some(place.clone()))
    }

    fn is_sound(_: &DuePlace) -> bool {
        true
    }
}
