//! Walks along the indexes of partitions, and the lists that they produce.
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "Redis may answer, push or fail in ways that are not known yet"
)]

mod pending;

use std::collections::HashMap;

use bytes::Bytes;
use futures::FutureExt;
use holdover_store::ids::{Incarnation, SessionKey, TenantId};
use holdover_store::rows::{Kind, Row, Scanned, SessionPlace, Want};
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;
use holdover_store::{Labels, RetentionRule, SessionQuery, SessionSummary};
use redis::Value;

use crate::apply::{labels_index, lives_index};
use crate::args::Args;
use crate::error::Fault;
use crate::merge::{Found, Merge, Order};
use crate::place;
use crate::read;
use crate::reply::Reply;
use crate::row::Fields;
use crate::store::Shared;

/// One look for sessions at rest asks each partition for at least a sixteenth of this number of members.
const LOOKED_AT_MAX: usize = 256;

/// The data that is read for each member.
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
    pub(crate) high: Vec<u8>,
    pub(crate) down: bool,
    pub(crate) most: usize,
    /// The beginning of the members, which is left out of the results. If several are given, each partition walks
    /// along the one with the fewest members. If none is given, members are returned whole.
    pub(crate) heads: Vec<Vec<u8>>,
}

impl Walk {
    /// Creates a walk upwards, after a place and up to the bound `high`. An empty place means the start.
    pub(crate) fn upwards(
        index: impl Into<String>,
        after: &[u8],
        high: impl Into<Vec<u8>>,
        most: usize,
    ) -> Self {
        Self {
            index: index.into(),
            low: behind(after, b"-"),
            high: high.into(),
            down: false,
            most,
            heads: Vec::new(),
        }
    }
}

/// Returns the bound after a place. If the place is empty, returns `open`.
fn behind(place: &[u8], open: &[u8]) -> Vec<u8> {
    if place.is_empty() { open.to_vec() } else { [b"(", place].concat() }
}

/// The result of walks in one partition.
pub(crate) struct Walked {
    /// The members found by each walk.
    pub(crate) members: Vec<Vec<Bytes>>,
    /// The row and the labels of each member, if they were wanted. None if they cannot be read.
    pub(crate) rows: HashMap<Bytes, Option<(Fields, Labels)>>,
}

impl Shared {
    /// Walks in several partitions, in one round of requests. `tenant` is needed if members do not name their tenant.
    pub(crate) async fn walk(
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
        let args = self.args().text(beside).text(tenant.map_or("", TenantId::as_str));
        let of_each = walks.iter().map(|(partition, walks)| {
            let own = walks.iter().fold(Args::default().size(walks.len()), |args, walk| {
                let args = args.text(&walk.index).bytes(walk.low.as_slice()).bytes(walk.high.as_slice());
                let args =
                    args.text(if walk.down { "1" } else { "0" }).size(walk.most).size(walk.heads.len());
                walk.heads.iter().fold(args, |args, head| args.bytes(head.as_slice()))
            });
            (*partition, own)
        });
        let of_each: Vec<_> = of_each.collect();
        let read = |reply: &mut Reply| walked(&mut reply.list()?);
        let walked = self.over(&self.scripts.walk, args, &of_each, read).await?;
        Ok(walked.into_iter().map(|(_, walked)| walked).collect())
    }

    /// Returns up to `limit` readable rows that the members of an index name, in its order, and whether there are more.
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
        if let Some(life) = query.life {
            let found = self.session_of_life(tenant, life).await?;
            // A session that format 1 left may be only in the list of all.
            if found.is_some() || self.has_all_lives {
                let is_meant = |(place, summary): &(SessionPlace, SessionSummary)| {
                    summary.listed(query) && after.is_none_or(|after| place < after)
                };
                let rows = found.filter(is_meant).map(|(_, summary)| summary).into_iter().collect();
                return Ok(Scanned { rows, next: None });
            }
        }
        let after = after.map(|after| place::of_tenant(after.at, &after.key.id)).unwrap_or_default();
        let merge = Merge::new(&self.keys, Order::Downwards, &after);
        let most = merge.share(limit);
        let labels = &query.labels.0;
        // Sessions of earlier formats may be only in the list of all.
        let (index, heads) = if labels.is_empty() || !self.has_all_labels {
            (format!("sessions:{tenant}"), Vec::new())
        } else {
            (
                labels_index(tenant),
                labels.iter().map(|(name, value)| place::label_head(name, value)).collect(),
            )
        };
        // Only sessions within the range of creation are looked at.
        let low = query.created.since.map_or_else(|| b"-".to_vec(), |since| bound(b"[", since));
        let top = query.created.before.map_or_else(|| b"+".to_vec(), |before| bound(b"(", before));
        let look = |asked: Vec<(u16, Bytes)>| {
            let (low, top, index, heads) = (low.clone(), top.clone(), index.clone(), heads.clone());
            async move {
                let walk = |after: &Bytes| {
                    let (index, heads) = (index.clone(), heads.clone());
                    let high = if after.is_empty() { top.clone() } else { behind(after, b"+") };
                    vec![Walk { index, low: low.clone(), high, down: true, most, heads }]
                };
                let walks: Vec<_> =
                    asked.iter().map(|(partition, after)| (*partition, walk(after))).collect();
                let walked = self.walk(Beside::RowAndLabels, Some(tenant), &walks).await?;
                let wanted = |member: &Bytes, read: Option<(Fields, Labels)>| {
                    let place = place::listed(member, tenant)?;
                    // An unreadable session is left out, and counted.
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

    /// Returns a tenant's session with this incarnation. Returns none if the index lacks it, or it cannot be read.
    async fn session_of_life(
        &self,
        tenant: &TenantId,
        life: Incarnation,
    ) -> Result<Option<(SessionPlace, SessionSummary)>, Fault> {
        let (low, high) = (format!("[{life}"), format!("({life}~"));
        let index = lives_index(tenant);
        let walk =
            Walk { index, low: low.into(), high: high.into(), down: false, most: 1, heads: Vec::new() };
        let walks: Vec<_> = self.keys.partitions().map(|partition| (partition, vec![walk.clone()])).collect();
        let walked = self.walk(Beside::Nothing, Some(tenant), &walks).await?;
        let members = walked.into_iter().flat_map(|walked| walked.members).flatten();
        for place in members.filter_map(|member| place::lived(&member, tenant)) {
            let found = match self.read_rows(&place.key, &[Want::all(Kind::Labels)]).await {
                Err(Fault::Corrupt(_)) => continue,
                found => found?,
            };
            let labels = found.rows.iter().flatten().find_map(|row| match row {
                Row::Labels(labels) => Some(labels.clone()),
                _ => None,
            });
            let lives = found.row().filter(|row| row.incarnation == life);
            if let Some(row) = lives {
                return Ok(Some((place, row.summary(labels.unwrap_or_default()))));
            }
        }
        Ok(None)
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
                    // No rule applies to an unreadable session.
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

/// Returns a bound at an instant.
fn bound(kind: &[u8], at: Timestamp) -> Vec<u8> {
    [kind, place::instant(at).as_bytes()].concat()
}

/// Selects the wanted rows of one walk in each partition.
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
        members.push(walks.list()?.texts()?);
    }
    let mut rows = HashMap::new();
    while list.left() > 0 {
        let member = list.bytes()?;
        let (fields, labels) = (list.value()?, list.value()?);
        let row = match fields {
            Value::Array(fields) => {
                let fields = Fields::read(&mut Reply::new(Value::Array(vec![Value::Array(fields)]))?)?;
                // If the labels cannot be read as text, the whole row counts as unreadable.
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
