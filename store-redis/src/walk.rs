//! Walks along the indexes of partitions, and the lists that come of them.
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "Redis may answer, push or fail in ways that are not known yet"
)]

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::try_join_all;
use holdover_store::ids::{SessionKey, TenantId};
use holdover_store::rows::{DueQuery, Kind, PendingPlace, Row, Scanned, SessionPlace, Want, Which};
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;
use holdover_store::{
    Labels, PendingCall, PendingQuery, Queues, RetentionRule, SessionQuery, SessionSummary,
};
use redis::Value;

use crate::error::Fault;
use crate::merge::{Found, Merge, Order};
use crate::place;
use crate::read;
use crate::reply::{self, Reply};
use crate::row::Fields;
use crate::store::Shared;

/// How many members of an index one look at a partition finds at most, once the first look was not enough.
const LOOKED_AT_MAX: usize = 256;

/// So many pending calls are read at once.
const PENDING_AT_ONCE: usize = 64;

/// What is read of the row behind each member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    Nothing,
    Row,
    RowAndLabels,
}

/// A walk along one index of a partition.
#[derive(Debug, Clone)]
pub(crate) struct Walk {
    /// The end of the index's key.
    pub(crate) index: String,
    pub(crate) low: Vec<u8>,
    /// Or "now": up to now.
    pub(crate) high: Vec<u8>,
    pub(crate) down: bool,
    pub(crate) most: usize,
}

impl Walk {
    /// Upwards after a place; empty: from the start.
    pub(crate) fn upwards(
        index: impl Into<String>,
        after: &[u8],
        high: impl Into<Vec<u8>>,
        most: usize,
    ) -> Self {
        Self { index: index.into(), low: behind(after, b"-"), high: high.into(), down: false, most }
    }
}

/// A bound behind a place; without one, `open`.
fn behind(place: &[u8], open: &[u8]) -> Vec<u8> {
    if place.is_empty() { open.to_vec() } else { [b"(", place].concat() }
}

/// What was found in one partition.
pub(crate) struct Walked {
    /// The members, by walk.
    pub(crate) members: Vec<Vec<Bytes>>,
    /// What stands behind a member. None: it cannot be read.
    pub(crate) rows: HashMap<Bytes, Option<(Fields, Labels)>>,
}

impl Shared {
    /// Walks in several partitions, in one exchange with each server. `tenant`: the members name none.
    pub(crate) async fn walk(
        &self,
        beside: Beside,
        tenant: Option<&TenantId>,
        walks: &[(u16, Vec<Walk>)],
    ) -> Result<Vec<Walked>, Fault> {
        if !self.apart.load(Relaxed) {
            match self.walk_together(beside, tenant, walks).await {
                Err(Fault::Redis(error, _)) if error.code() == Some("CROSSSLOT") => {
                    self.apart.store(true, Relaxed);
                }
                walked => return walked,
            }
        }
        let each = walks.chunks(1).map(|one| self.walk_together(beside, tenant, one));
        Ok(try_join_all(each).await?.into_iter().flatten().collect())
    }

    async fn walk_together(
        &self,
        beside: Beside,
        tenant: Option<&TenantId>,
        walks: &[(u16, Vec<Walk>)],
    ) -> Result<Vec<Walked>, Fault> {
        let beside = match beside {
            Beside::Nothing => "",
            Beside::Row => "row",
            Beside::RowAndLabels => "labels",
        };
        let mut args = self.args().text(beside).text(tenant.map_or("", TenantId::as_str));
        for (_, walks) in walks {
            args = args.size(walks.len());
            for walk in walks {
                args = args.text(&walk.index).bytes(walk.low.as_slice()).bytes(walk.high.as_slice());
                args = args.text(if walk.down { "1" } else { "0" }).size(walk.most);
            }
        }
        let stores: Vec<String> = walks.iter().map(|(partition, _)| self.keys.store(*partition)).collect();
        let keys: Vec<&str> = stores.iter().map(String::as_str).collect();
        let sent = Instant::now();
        let mut reply = self.run_on(&self.scripts.walk, &keys, &args).await?;
        let now = reply::instant(&reply.bytes()?)?;
        if let Some((first, _)) = walks.first() {
            self.clocks.heard(self.clock_of(*first), sent, now);
        }
        walks.iter().map(|_| walked(&mut reply.list()?)).collect()
    }

    /// Sessions that may be due, of these partitions, each after a place: in due order.
    async fn look_for_due(
        &self,
        query: &DueQuery,
        most: usize,
        asked: Vec<(u16, Bytes)>,
    ) -> Result<Vec<Found<SessionKey>>, Fault> {
        let indexes: Vec<String> = match &query.queues {
            Queues::All => vec!["alarms".to_owned()],
            Queues::Named(queues) => {
                let named = queues.iter().map(|queue| format!("alarms:{queue}"));
                named.chain(["interrupted".to_owned()]).collect()
            }
        };
        let walks = |after: &[u8]| {
            let most = if after.is_empty() { most } else { LOOKED_AT_MAX };
            let walk = |index: &String| Walk::upwards(index.as_str(), after, "now", most);
            (most, indexes.iter().map(walk).collect::<Vec<_>>())
        };
        let asked: Vec<(u16, (usize, Vec<Walk>))> =
            asked.into_iter().map(|(partition, after)| (partition, walks(&after))).collect();
        let all: Vec<_> = asked.iter().map(|(partition, (_, walks))| (*partition, walks.clone())).collect();
        let walked = self.walk(Beside::Row, None, &all).await?;
        let found = asked.into_iter().zip(walked).map(|((_, (most, _)), walked)| {
            let last = |members: &Vec<Bytes>| members.last().filter(|_| members.len() == most).cloned();
            let looked = walked.members.iter().filter_map(last).min();
            let mut members: Vec<&Bytes> = walked.members.iter().flatten().collect();
            members.sort();
            members.dedup();
            let rows = members
                .into_iter()
                .filter(|member| looked.as_ref().is_none_or(|looked| *member <= looked))
                .filter_map(|member| {
                    let place = place::session(member)?;
                    may_be_due(query, &place, walked.rows.get(member)?.as_ref())
                        .then_some((member.clone(), place.key))
                })
                .collect();
            Found { rows, looked }
        });
        Ok(found.collect())
    }

    /// Calls `look` with sessions that may be due, soonest alarm first, until it has enough.
    pub(crate) fn due<'a>(&'a self, query: &'a DueQuery) -> DueWalk<'a> {
        let merge = Merge::new(&self.keys, Order::Upwards, b"");
        let most = merge.share(query.limit);
        DueWalk { shared: self, query, most, merge }
    }

    /// Rows of sessions behind the members of an index, in its order, until `limit` of them are wanted.
    async fn sessions_along<T>(
        &self,
        mut merge: Merge<Option<T>>,
        limit: usize,
        look: &crate::merge::Look<'_, Option<T>>,
    ) -> Result<(Vec<(Bytes, T)>, bool), Fault> {
        let mut rows = Vec::new();
        let mut left_out = 0;
        loop {
            let Some(_) = merge.peek(look).await? else { break };
            if rows.len() == limit {
                return Ok((rows, true));
            }
            match merge.take() {
                Some((place, Some(row))) => rows.push((place, row)),
                Some((_, None)) => left_out += 1,
                None => break,
            }
        }
        if left_out > 0 {
            tracing::warn!(left_out, "a list leaves out what cannot be read");
        }
        Ok((rows, false))
    }

    pub(crate) async fn sessions(
        &self,
        query: &SessionQuery,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionSummary, SessionPlace>, Fault> {
        let tenant = &query.tenant;
        let after = after.map(|after| place::of_tenant(after.at, &after.key.id)).unwrap_or_default();
        let merge = Merge::new(&self.keys, Order::Downwards, &after);
        let most = merge.share(limit);
        // Only those of the range of creation are looked at.
        let low = query.created.since.map_or_else(|| b"-".to_vec(), |since| bound(b"[", since));
        let top = query.created.before.map_or_else(|| b"+".to_vec(), |before| bound(b"(", before));
        let look = |asked: Vec<(u16, Bytes)>| {
            let (low, top) = (low.clone(), top.clone());
            async move {
                let walk = |after: &Bytes| {
                    let index = format!("sessions:{tenant}");
                    let high = if after.is_empty() { top.clone() } else { behind(after, b"+") };
                    vec![Walk { index, low: low.clone(), high, down: true, most }]
                };
                let walks: Vec<_> =
                    asked.iter().map(|(partition, after)| (*partition, walk(after))).collect();
                let walked = self.walk(Beside::RowAndLabels, Some(tenant), &walks).await?;
                let wanted = |member: &Bytes, read: Option<(Fields, Labels)>| {
                    let place = place::listed(member, tenant)?;
                    // One that cannot be read is shown by nobody, and counted.
                    let Some((fields, labels)) = read else { return Some(None) };
                    let row = match fields.slot(&place.key, &[]) {
                        Ok(slot) => slot?.row?,
                        Err(_) => return Some(None),
                    };
                    let stands =
                        row.key == place.key && place::of_tenant(row.created_at, &row.key.id) == *member;
                    let summary = row.summary(labels);
                    (stands && summary.listed(query)).then_some(Some(summary))
                };
                Ok(each_found(walked, most, wanted))
            }
            .boxed()
        };
        let (rows, more) = self.sessions_along(merge, limit, &look).await?;
        let rows: Vec<SessionSummary> = rows.into_iter().map(|(_, summary)| summary).collect();
        let next = rows.last().filter(|_| more).map(SessionPlace::listed);
        Ok(Scanned { rows, next })
    }

    pub(crate) async fn resting(
        &self,
        rule: &RetentionRule,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionRow, SessionPlace>, Fault> {
        let after = after.map(|after| place::of_all(after.at, &after.key)).unwrap_or_default();
        let merge = Merge::new(&self.keys, Order::Upwards, &after);
        let most = merge.share(limit).max(LOOKED_AT_MAX / 16);
        let before = bound(b"(", rule.unchanged_since);
        let look = |asked: Vec<(u16, Bytes)>| {
            let before = before.clone();
            async move {
                let walk = |after: &Bytes| vec![Walk::upwards("resting", after, before.clone(), most)];
                let walks: Vec<_> =
                    asked.iter().map(|(partition, after)| (*partition, walk(after))).collect();
                let walked = self.walk(Beside::Row, None, &walks).await?;
                let wanted = |member: &Bytes, read: Option<(Fields, Labels)>| {
                    let place = place::session(member)?;
                    // No rule is about what cannot be read.
                    let row = read?.0.slot(&place.key, &[]).ok()??.row?;
                    (row.key == place.key && row.purgeable(rule)).then_some(Some(row))
                };
                Ok(each_found(walked, most, wanted))
            }
            .boxed()
        };
        let (rows, more) = self.sessions_along(merge, limit, &look).await?;
        let rows: Vec<SessionRow> = rows.into_iter().map(|(_, row)| row).collect();
        let next = rows.last().filter(|_| more).map(SessionPlace::changed);
        Ok(Scanned { rows, next })
    }

    pub(crate) async fn pending(
        &self,
        query: &PendingQuery,
        after: Option<&PendingPlace>,
        limit: usize,
        bytes: usize,
    ) -> Result<Scanned<PendingCall, PendingPlace>, Fault> {
        let tenant = &query.tenant;
        let after = after.map(place::pending_place).unwrap_or_default();
        let mut merge = Merge::new(&self.keys, Order::Upwards, &after);
        let most = merge.share(limit).max(PENDING_AT_ONCE / 4);
        let look = |asked: Vec<(u16, Bytes)>| {
            async move {
                let index = format!("pending:{tenant}");
                let walk = |after: &Bytes| vec![Walk::upwards(index.as_str(), after, "+", most)];
                let walks: Vec<_> =
                    asked.iter().map(|(partition, after)| (*partition, walk(after))).collect();
                let walked = self.walk(Beside::Nothing, Some(tenant), &walks).await?;
                let of_session =
                    |place: &PendingPlace| query.session.as_ref().is_none_or(|id| *id == place.session);
                let found = walked.into_iter().map(|walked| {
                    let members = walked.members.into_iter().flatten().collect::<Vec<_>>();
                    let looked = members.last().filter(|_| members.len() == most).cloned();
                    let places =
                        members.into_iter().filter_map(|member| Some((place::pending(&member)?, member)));
                    let rows =
                        places.filter(|(place, _)| of_session(place)).map(|(place, member)| (member, place));
                    Found { rows: rows.collect(), looked }
                });
                Ok(found.collect())
            }
            .boxed()
        };
        let (mut rows, mut read) = (Vec::new(), 0);
        loop {
            let mut places = Vec::new();
            let wanted = PENDING_AT_ONCE.min(limit - rows.len());
            while places.len() < wanted && merge.peek(&look).await?.is_some() {
                places.extend(merge.take());
            }
            if places.is_empty() {
                return Ok(Scanned { rows, next: None });
            }
            let calls = places.iter().map(|(member, place)| self.pending_at(tenant, member, place));
            for ((_, place), call) in places.iter().zip(futures::future::join_all(calls).await) {
                match call {
                    Ok(Some(call)) if query.kind.as_ref().is_none_or(|kind| *kind == call.kind) => {
                        read += call.body.len();
                        rows.push(call);
                    }
                    Ok(_) => {}
                    Err(Fault::Corrupt(detail)) => {
                        tracing::warn!(detail, "a list leaves out what cannot be read");
                    }
                    Err(fault) => return Err(fault),
                }
                if rows.len() == limit || read >= bytes {
                    return Ok(Scanned { rows, next: Some(place.clone()) });
                }
            }
        }
    }

    /// The pending call at a place, if it stands there.
    async fn pending_at(
        &self,
        tenant: &TenantId,
        member: &[u8],
        place: &PendingPlace,
    ) -> Result<Option<PendingCall>, Fault> {
        let key = SessionKey::new(tenant.clone(), place.session.clone());
        let want = Want { which: Which::Names(vec![place.id.to_string()]), ..Want::all(Kind::Pending) };
        let found = self.read_rows(&key, &[want]).await?;
        let rows = found.rows.into_iter().flatten();
        let call = rows.filter_map(|row| if let Row::Pending { call, .. } = row { Some(call) } else { None });
        Ok(call.filter(|call| place::of_pending(call) == member).last())
    }

    pub(crate) async fn dead(&self, before: Timestamp, limit: usize) -> Result<Vec<SessionKey>, Fault> {
        let walk = Walk::upwards("dead", b"", bound(b"(", before), limit);
        let walks: Vec<_> = self.keys.partitions().map(|partition| (partition, vec![walk.clone()])).collect();
        let walked = self.walk(Beside::Nothing, None, &walks).await?;
        let mut members: Vec<Bytes> =
            walked.into_iter().flat_map(|walked| walked.members).flatten().collect();
        members.sort();
        let places = members.iter().filter_map(|member| place::session(member));
        Ok(places.map(|place| place.key).take(limit).collect())
    }
}

/// A walk over the sessions that may be due, soonest alarm first.
pub(crate) struct DueWalk<'a> {
    shared: &'a Shared,
    query: &'a DueQuery,
    most: usize,
    merge: Merge<SessionKey>,
}

impl DueWalk<'_> {
    /// The next of them, at most so many. None are left if there are fewer.
    pub(crate) async fn next(&mut self, count: usize) -> Result<Vec<SessionKey>, Fault> {
        let (shared, query, most) = (self.shared, self.query, self.most);
        let look = move |asked: Vec<(u16, Bytes)>| shared.look_for_due(query, most, asked).boxed();
        let mut keys = Vec::new();
        while keys.len() < count && self.merge.peek(&look).await?.is_some() {
            keys.extend(self.merge.take().map(|(_, key)| key));
        }
        Ok(keys)
    }
}

/// Whether what stands behind an alarm may be due: what cannot be read may.
fn may_be_due(query: &DueQuery, place: &SessionPlace, read: Option<&(Fields, Labels)>) -> bool {
    let Some((fields, _)) = read else { return true };
    let Ok(slot) = fields.slot(&place.key, &[]) else { return true };
    let Some(row) = slot.and_then(|slot| slot.row) else { return false };
    // It was found up to now, by the clock of its server.
    row.alarm.is_some_and(|alarm| {
        let now = row.lease.as_ref().map_or(alarm, |lease| alarm.max(lease.ends));
        row.is_due(&query.queues, query.newest_format, query.tenant.as_ref(), now)
    })
}

/// A bound at an instant.
fn bound(kind: &[u8], at: Timestamp) -> Vec<u8> {
    [kind, place::instant(at).as_bytes()].concat()
}

/// What is wanted of one walk in each partition.
fn each_found<T>(
    walked: Vec<Walked>,
    most: usize,
    wanted: impl Fn(&Bytes, Option<(Fields, Labels)>) -> Option<T>,
) -> Vec<Found<T>> {
    let each = walked.into_iter().map(|mut walked| {
        let members: Vec<Bytes> = walked.members.into_iter().flatten().collect();
        let looked = members.last().filter(|_| members.len() == most).cloned();
        let rows = members.into_iter().filter_map(|member| {
            let row = wanted(&member, walked.rows.remove(&member)?)?;
            Some((member, row))
        });
        Found { rows: rows.collect(), looked }
    });
    each.collect()
}

fn walked(reply: &mut Reply) -> Result<Walked, Fault> {
    let (mut walks, mut list) = (reply.list()?, reply.list()?);
    let mut members = Vec::with_capacity(walks.left());
    while walks.left() > 0 {
        let mut found = walks.list()?;
        let mut walk = Vec::with_capacity(found.left());
        while found.left() > 0 {
            walk.push(found.bytes()?);
        }
        members.push(walk);
    }
    let mut rows = HashMap::new();
    while list.left() > 0 {
        let member = list.bytes()?;
        let (fields, labels) = (list.value()?, list.value()?);
        let row = match fields {
            Value::Array(fields) => {
                let fields = Fields::read(&mut Reply::new(Value::Array(vec![Value::Array(fields)]))?)?;
                // Labels that are no text are those of a row that cannot be read.
                Reply::new(labels)
                    .and_then(|mut labels| read::labels(&mut labels))
                    .ok()
                    .map(|labels| (fields, labels))
            }
            _ => None,
        };
        rows.insert(member, row);
    }
    Ok(Walked { members, rows })
}
