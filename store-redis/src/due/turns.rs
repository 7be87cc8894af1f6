//! The turns of tenants, over all partitions.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use holdover_store::rows::{DuePlace, DueQuery};

use super::soonest::Soonest;
use crate::args::Args;
use crate::error::Fault;
use crate::place;
use crate::reply::Reply;
use crate::store::Shared;

/// The most tenants that one look visits over all partitions. Many groups may exceed it, because each has a least
/// number.
pub(super) const VISITS_MAX: usize = 2_048;

/// The least and the most tenants that one look visits in one group of a partition.
pub(super) const VISITS_OF_GROUP: [usize; 2] = [8, 128];

/// The most sessions of a tenant that are looked at, if its first ones cannot be claimed.
const EACH_MAX: usize = 512;

/// Tenants whose turn is next, each with its soonest due sessions. A tenant may have none, if its sessions have
/// alarms that have not rung.
#[derive(Default)]
pub(super) struct Turns {
    pub(super) tenants: BTreeMap<Vec<u8>, BTreeSet<DuePlace>>,
}

/// The turns in one group of a partition.
pub(super) struct TurnsOfGroup {
    is_cut: bool,
    tenants: Vec<(Bytes, Vec<Bytes>)>,
}

impl Shared {
    /// Looks for the tenants whose turn is next, in the groups in which an alarm has rung, and leaves out the
    /// sessions in `gone`. Takes one round of requests, and a bounded number of commands for each group.
    pub(super) async fn look_for_turns(
        &self,
        query: &DueQuery,
        soonest: &Soonest,
        gone: &BTreeSet<DuePlace>,
    ) -> Result<Turns, Fault> {
        let after = query.after.as_ref().map_or("", |after| after.as_str());
        let mut gone_of: BTreeMap<&[u8], usize> = BTreeMap::new();
        gone.iter().for_each(|place| *gone_of.entry(&place.tenant).or_default() += 1);
        let each = gone_of.values().max().map_or(1, |gone| (gone + 1).min(EACH_MAX));
        let [least, most] = VISITS_OF_GROUP;
        let visits = (VISITS_MAX / soonest.groups.len().max(1)).clamp(least, most);
        let enough = query.limit.saturating_add(gone_of.len());
        let args = self.args().text(after).size(enough).size(visits).size(each);
        let mut heads: BTreeMap<u16, Vec<&Bytes>> = BTreeMap::new();
        for group in &soonest.groups {
            heads.entry(group.partition).or_default().push(&group.head);
        }
        let of_each = heads.into_iter().map(|(partition, heads)| {
            let args = Args::default().size(heads.len());
            (partition, heads.into_iter().fold(args, |args, head| args.bytes(head.as_ref())))
        });
        let looked = self.over(&self.scripts.turns, args, &of_each.collect::<Vec<_>>(), of_groups).await?;
        let looked: Vec<TurnsOfGroup> = looked.into_iter().flat_map(|(_, groups)| groups).collect();
        Ok(Turns::of(looked, after.as_bytes(), gone))
    }
}

impl Turns {
    /// Keeps the tenants up to the earliest end of a look that was cut. After that end, an unknown tenant may come
    /// before those that were found.
    pub(super) fn of(looked: Vec<TurnsOfGroup>, after: &[u8], gone: &BTreeSet<DuePlace>) -> Self {
        let turn = |tenant: &Bytes| (!after.is_empty() && tenant.as_ref() <= after, tenant.clone());
        let end = |looked: &TurnsOfGroup| {
            looked.tenants.last().filter(|_| looked.is_cut).map(|(tenant, _)| turn(tenant))
        };
        let known = looked.iter().filter_map(end).min();
        let mut tenants: BTreeMap<Vec<u8>, BTreeSet<DuePlace>> = BTreeMap::new();
        for (tenant, members) in looked.into_iter().flat_map(|looked| looked.tenants) {
            if known.as_ref().is_none_or(|known| turn(&tenant) <= *known) {
                let places = members.iter().filter_map(|member| place::turn(member));
                tenants
                    .entry(tenant.to_vec())
                    .or_default()
                    .extend(places.filter(|place| !gone.contains(place)));
            }
        }
        Self { tenants }
    }
}

/// Reads the turns of the groups of one partition.
pub(super) fn of_groups(reply: &mut Reply) -> Result<Vec<TurnsOfGroup>, Fault> {
    let mut list = reply.list()?;
    let mut groups = Vec::with_capacity(list.left());
    while list.left() > 0 {
        let mut group = list.list()?;
        let is_cut = group.boolean()?;
        let mut found = group.list()?;
        let mut tenants = Vec::with_capacity(found.left() / 2);
        while found.left() > 0 {
            tenants.push((found.bytes()?, found.list()?.texts()?));
        }
        groups.push(TurnsOfGroup { is_cut, tenants });
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked(is_cut: bool, tenants: &[&'static str]) -> TurnsOfGroup {
        let tenants = tenants.iter().map(|tenant| (Bytes::from(*tenant), Vec::new()));
        TurnsOfGroup { is_cut, tenants: tenants.collect() }
    }

    fn known(after: &str, looked: Vec<TurnsOfGroup>) -> Vec<String> {
        let turns = Turns::of(looked, after.as_bytes(), &BTreeSet::new());
        turns.tenants.into_keys().map(|tenant| String::from_utf8(tenant).unwrap()).collect()
    }

    #[test]
    fn nobody_is_known_behind_the_end_of_a_look_that_was_cut() {
        let all = || vec![looked(false, &["a", "z"]), looked(true, &["b", "c"]), looked(true, &["b", "d"])];
        assert_eq!(known("", all()), ["a", "b", "c"]);
        // After "m", and from the last tenant back to the first.
        let one = || looked(false, &["n", "z", "a", "m"]);
        assert_eq!(known("m", vec![one(), looked(true, &["o", "p"])]), ["n", "o", "p"]);
        assert_eq!(known("m", vec![one(), looked(true, &["p", "c"])]), ["a", "c", "n", "p", "z"]);
        assert_eq!(known("m", vec![one(), looked(false, &["p", "c"])]), ["a", "c", "m", "n", "p", "z"]);
    }
}
