//! The soonest due sessions over all partitions.

use std::collections::BTreeSet;

use bytes::Bytes;
use holdover_store::Queues;
use holdover_store::rows::{DuePlace, DueQuery};
use holdover_store::time::Timestamp;

use super::turns::{self, Turns, TurnsOfGroup, VISITS_MAX, VISITS_OF_GROUP};
use crate::args::Args;
use crate::error::Fault;
use crate::merge::share;
use crate::place;
use crate::reply::Reply;
use crate::store::Shared;
use crate::walk::{Beside, Walk};

/// The least number of members of a group that a further look asks for.
const FURTHER: usize = 256;

/// The due places found so far.
pub(super) struct Soonest {
    index: Index,
    places: BTreeSet<DuePlace>,
    /// The groups in which an alarm has rung.
    pub(super) groups: Vec<Group>,
}

/// One group of one partition.
pub(super) struct Group {
    pub(super) partition: u16,
    /// The beginning of its members.
    pub(super) head: Bytes,
    /// A bound behind all members that had rung at the first look.
    ends: Vec<u8>,
    /// The last member that was looked at, and its place. None if no further member had rung.
    last: Option<(Bytes, DuePlace)>,
}

/// The index that is read.
#[derive(Clone, Copy)]
enum Index {
    /// By alarm.
    Due,
    /// By tenant, for a query that names one.
    Turns,
}

impl Index {
    fn name(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Turns => "turns",
        }
    }

    fn place(self, member: &[u8]) -> Option<DuePlace> {
        match self {
            Self::Due => place::due(member),
            Self::Turns => place::turn(member),
        }
    }
}

impl Shared {
    /// Makes the first look, in one round of requests. Also finds the tenants whose turn is next, if more sessions
    /// may be due than are asked for.
    pub(super) async fn look_for_due(&self, query: &DueQuery) -> Result<(Soonest, Option<Turns>), Fault> {
        let index = if query.tenant.is_some() { Index::Turns } else { Index::Due };
        let partitions = self.keys.partitions().len();
        let most = share(query.limit, partitions);
        let tenant = query.tenant.as_ref().map_or("", |tenant| tenant.as_str());
        let after = query.after.as_ref().map_or("", |after| after.as_str());
        let [visits_least, visits_most] = VISITS_OF_GROUP;
        let mut args = self.args().text(tenant).number(query.newest_format.0).size(most);
        args = args.size(query.limit).text(after).size(partitions);
        args = args.size(VISITS_MAX).size(visits_least).size(visits_most);
        match &query.queues {
            Queues::All => args.push_size(0),
            Queues::Named(queues) => {
                // Sessions with an interrupt waiting are in no queue.
                let queues: BTreeSet<&str> = queues.iter().map(|queue| queue.as_str()).chain([""]).collect();
                args.push_size(queues.len());
                queues.into_iter().for_each(|queue| args.push(queue));
            }
        }
        let each: Vec<_> = self.keys.partitions().map(|partition| (partition, Args::default())).collect();
        let looked = self.over(&self.scripts.due, args, &each, looked).await?;
        let mut soonest = Soonest { index, places: BTreeSet::new(), groups: Vec::new() };
        let mut turns = Vec::new();
        for ((partition, _), (now, looked)) in each.into_iter().zip(looked) {
            for (head, members) in looked.groups {
                let ends = ends(&head, tenant, now);
                soonest.groups.push(Group { partition, head, ends, last: None });
                soonest.take(soonest.groups.len() - 1, members, most);
            }
            turns.extend(looked.turns);
        }
        let has_turns = !turns.is_empty() && turns.len() == soonest.groups.len();
        let turns = has_turns.then(|| Turns::of(turns, after.as_bytes(), &BTreeSet::new()));
        Ok((soonest, turns))
    }

    /// Looks further until more than `count` places are known or no more exist, not counting those in `gone`.
    pub(super) async fn look_further(
        &self,
        soonest: &mut Soonest,
        count: usize,
        gone: &BTreeSet<DuePlace>,
    ) -> Result<(), Fault> {
        let most = share(count, self.keys.partitions().len()).max(FURTHER);
        while !soonest.is_more_than(count, gone) {
            let open = soonest.open_before(count, gone);
            if open.is_empty() {
                return Ok(());
            }
            let walk = |group: &Group| {
                let after = group.last.as_ref().map_or(&[][..], |(member, _)| member);
                (group.partition, vec![Walk::upwards(soonest.index.name(), after, group.ends.clone(), most)])
            };
            let walks: Vec<_> = open.iter().filter_map(|at| soonest.groups.get(*at)).map(walk).collect();
            let walked = self.walk(Beside::Nothing, None, &walks).await?;
            for (at, walked) in open.into_iter().zip(walked) {
                soonest.take(at, walked.members.into_iter().flatten().collect(), most);
            }
        }
        Ok(())
    }
}

impl Soonest {
    /// Adds members of a group, from a look for at most `most` of them.
    fn take(&mut self, at: usize, members: Vec<Bytes>, most: usize) {
        let Some(group) = self.groups.get_mut(at) else { return };
        let is_cut = members.len() == most;
        // A member that no store writes has no place. It counts as the first place, so nothing behind it is known.
        let place = |member: &Bytes| self.index.place(member);
        let first = || DuePlace { alarm: Timestamp::from_ms(i64::MIN), tenant: Vec::new(), id: Vec::new() };
        let last = |member: &Bytes| (member.clone(), place(member).unwrap_or_else(first));
        group.last = members.last().filter(|_| is_cut).map(last);
        self.places.extend(members.iter().filter_map(place));
    }

    /// Returns the place up to which all places are known. Returns none if all places are known.
    fn known(&self) -> Option<&DuePlace> {
        self.groups.iter().filter_map(|group| Some(&group.last.as_ref()?.1)).min()
    }

    /// Returns the places before which no unknown one can lie, soonest first.
    pub(super) fn places(&self) -> impl Iterator<Item = &DuePlace> {
        let known = self.known();
        self.places.iter().take_while(move |place| known.is_none_or(|known| *place <= known))
    }

    /// Returns true if more than `count` places are known, not counting those in `gone`.
    pub(super) fn is_more_than(&self, count: usize, gone: &BTreeSet<DuePlace>) -> bool {
        self.places().filter(|place| !gone.contains(place)).nth(count).is_some()
    }

    /// Returns the groups that may still have one of the first `count` places, or the next place after them.
    fn open_before(&self, count: usize, gone: &BTreeSet<DuePlace>) -> Vec<usize> {
        let last = self.places.iter().filter(|place| !gone.contains(place)).nth(count);
        let is_open = |group: &Group| {
            group.last.as_ref().is_some_and(|(_, known)| last.is_none_or(|last| known < last))
        };
        let open = self.groups.iter().enumerate().filter(|(_, group)| is_open(group));
        open.map(|(at, _)| at).collect()
    }
}

/// Returns the bound behind all members of a group, or of one tenant in it, that have rung by `now`.
fn ends(head: &[u8], tenant: &str, now: Timestamp) -> Vec<u8> {
    let next = place::instant(Timestamp::from_ms(now.as_ms().saturating_add(1)));
    let of_tenant = if tenant.is_empty() { Vec::new() } else { [tenant.as_bytes(), &[0]].concat() };
    [b"(", head, &of_tenant, next.as_bytes()].concat()
}

/// The result of the first look in one partition.
struct Looked {
    /// The heads of the groups, each with its members.
    groups: Vec<(Bytes, Vec<Bytes>)>,
    /// The turns of each group; empty if they were not looked for.
    turns: Vec<TurnsOfGroup>,
}

fn looked(reply: &mut Reply) -> Result<Looked, Fault> {
    let mut looked = reply.list()?;
    let mut list = looked.list()?;
    let mut groups = Vec::with_capacity(list.left() / 2);
    while list.left() > 0 {
        groups.push((list.bytes()?, list.list()?.texts()?));
    }
    Ok(Looked { groups, turns: turns::of_groups(&mut looked)? })
}

#[cfg(test)]
mod tests {
    use holdover_store::ids::StateFormat;
    use holdover_store::rows::DueGroup;

    use super::*;

    fn member(ms: i64) -> Bytes {
        let group = DueGroup::Queue { queue: b"q".to_vec(), format: StateFormat(1) };
        let place = DuePlace { alarm: Timestamp::from_ms(ms), tenant: b"t".to_vec(), id: b"s".to_vec() };
        place::of_due(&group, &place).into()
    }

    /// Creates groups, each from the members found and the number that was looked for.
    fn soonest(groups: &[(&[i64], usize)]) -> Soonest {
        let mut soonest = Soonest { index: Index::Due, places: BTreeSet::new(), groups: Vec::new() };
        for (at, (members, most)) in groups.iter().enumerate() {
            soonest.groups.push(Group { partition: 0, head: Bytes::new(), ends: Vec::new(), last: None });
            soonest.take(at, members.iter().copied().map(member).collect(), *most);
        }
        soonest
    }

    #[test]
    fn nothing_is_known_behind_the_end_of_a_look_that_was_cut() {
        let none = BTreeSet::new();
        let looked = soonest(&[(&[1, 2], 2), (&[3, 9], 2), (&[4], 2)]);
        let known: Vec<i64> = looked.places().map(|place| place.alarm.as_ms()).collect();
        assert_eq!(known, [1, 2], "before 3 may come more of the first");
        assert!(looked.is_more_than(1, &none) && !looked.is_more_than(2, &none));
        assert_eq!(looked.open_before(2, &none), [0]);
        assert_eq!(looked.open_before(9, &none), [0, 1], "the last has no more");
        let gone = looked.places().take(1).cloned().collect();
        assert!(!looked.is_more_than(1, &gone));

        let whole = soonest(&[(&[1, 2], 3), (&[3], 2)]);
        assert_eq!((whole.places().count(), whole.open_before(9, &none)), (3, vec![]));
    }
}
