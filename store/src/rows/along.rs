//! The search for due sessions in the indexes of sorted byte strings, [`Index::Alarms`] and [`Index::Turns`].

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use super::due::{Due, DueGroup, DueIndex, DuePlace, DueQuery, find_due};
use super::index::{Index, behind, instant, instant_of};
use crate::Queues;
use crate::ids::{SessionKey, StateFormat};
use crate::time::Timestamp;

/// A byte that is greater than every byte of a name.
const BEHIND_ALL: u8 = 0xff;

/// Implements [`Rows::due`](super::Rows::due) for a backend that keeps [`Index::Alarms`] and [`Index::Turns`].
/// `entries` returns the first entries of an index in a range, at most as many as the last argument says. `find`
/// returns the wanted rows of a session, or none if the session is not due at `now`. For a session that cannot be
/// read, `find` returns an error, which the result then holds.
pub fn due_along<F, E>(
    query: &DueQuery,
    now: Timestamp,
    entries: impl Fn(Index, &Range<Vec<u8>>, usize) -> Result<Vec<Vec<u8>>, E>,
    find: impl Fn(&SessionKey) -> Option<Result<F, E>>,
) -> Result<Due<Result<F, E>>, E> {
    find_due(&Along { now, entries, find }, query)
}

struct Along<N, L> {
    now: Timestamp,
    entries: N,
    find: L,
}

impl<F, E, N, L> DueIndex for Along<N, L>
where
    N: Fn(Index, &Range<Vec<u8>>, usize) -> Result<Vec<Vec<u8>>, E>,
    L: Fn(&SessionKey) -> Option<Result<F, E>>,
{
    type Found = Result<F, E>;
    type Error = E;

    fn groups(&self, query: &DueQuery) -> Result<Vec<DueGroup>, E> {
        let interrupted = head(&DueGroup::Interrupted);
        let mut within = match &query.queues {
            Queues::All => vec![behind_group(&DueGroup::Interrupted)..vec![BEHIND_ALL]],
            Queues::Named(named) => {
                let named: BTreeSet<_> = named.iter().collect();
                named.into_iter().map(|queue| queue_range(queue.as_str().as_bytes())).collect()
            }
        };
        within.insert(0, interrupted..behind_group(&DueGroup::Interrupted));
        let mut groups = Vec::new();
        for Range { mut start, end } in within {
            while start < end
                && let Some(entry) = (self.entries)(Index::Alarms, &(start.clone()..end.clone()), 1)?.pop()
            {
                let Some((group, _)) = group_of(&entry) else {
                    start = behind(entry);
                    continue;
                };
                start = behind_group(&group);
                match &group {
                    // The next groups of this queue have newer formats.
                    DueGroup::Queue { queue, format } if *format > query.newest_format => {
                        start = queue_range(queue).end;
                    }
                    DueGroup::Queue { .. } | DueGroup::Interrupted => groups.push(group),
                }
            }
        }
        Ok(groups)
    }

    fn rung(&self, group: &DueGroup, after: Option<&DuePlace>, limit: usize) -> Result<Vec<DuePlace>, E> {
        let head = head(group);
        let start = after.map_or_else(|| head.clone(), |place| behind(alarm_entry(group, place)));
        let range = start..[head.as_slice(), &instant(self.next_instant())].concat();
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let entries = (self.entries)(Index::Alarms, &range, limit)?;
        Ok(entries.iter().filter_map(|entry| alarm_place(entry)).collect())
    }

    fn rung_of(
        &self,
        group: &DueGroup,
        tenant: &[u8],
        after: Option<&DuePlace>,
        limit: usize,
    ) -> Result<Vec<DuePlace>, E> {
        let head = [head(group).as_slice(), tenant, &[0]].concat();
        let start = after.map_or_else(|| head.clone(), |place| behind(turn_entry(group, place)));
        let range = start..[head.as_slice(), &instant(self.next_instant())].concat();
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let entries = (self.entries)(Index::Turns, &range, limit)?;
        Ok(entries.iter().filter_map(|entry| turn_place(entry)).collect())
    }

    fn next_tenant(&self, group: &DueGroup, after: Option<&[u8]>) -> Result<Option<Vec<u8>>, E> {
        let head = head(group);
        let start = after.map_or_else(|| head.clone(), |tenant| [head.as_slice(), tenant, &[1]].concat());
        let next = (self.entries)(Index::Turns, &(start..behind_group(group)), 1)?.pop();
        Ok(next.and_then(|entry| turn_place(&entry)).map(|place| place.tenant))
    }

    fn find(&self, place: &DuePlace) -> Result<Option<Self::Found>, E> {
        Ok(place.key().and_then(|key| (self.find)(&key)))
    }

    fn is_sound(found: &Self::Found) -> bool {
        found.is_ok()
    }
}

impl<N, L> Along<N, L> {
    /// Returns the instant one millisecond after now, at which a range of rung alarms ends. An alarm at exactly now
    /// has rung.
    fn next_instant(&self) -> Timestamp {
        self.now.after(Duration::from_millis(1))
    }
}

/// Returns the entry of a session in [`Index::Alarms`].
pub(super) fn alarm_entry(group: &DueGroup, place: &DuePlace) -> Vec<u8> {
    [head(group).as_slice(), &instant(place.alarm), &place.tenant, &[0], &place.id].concat()
}

fn alarm_place(entry: &[u8]) -> Option<DuePlace> {
    let (_, place) = group_of(entry)?;
    let (alarm, names) = place.split_first_chunk()?;
    let (tenant, id) = split(names)?;
    Some(DuePlace { alarm: instant_of(*alarm), tenant: tenant.to_vec(), id: id.to_vec() })
}

/// Returns the entry of a session in [`Index::Turns`].
pub(super) fn turn_entry(group: &DueGroup, place: &DuePlace) -> Vec<u8> {
    [head(group).as_slice(), &place.tenant, &[0], &instant(place.alarm), &place.id].concat()
}

fn turn_place(entry: &[u8]) -> Option<DuePlace> {
    let (_, place) = group_of(entry)?;
    let (tenant, rest) = split(place)?;
    let (alarm, id) = rest.split_first_chunk()?;
    Some(DuePlace { alarm: instant_of(*alarm), tenant: tenant.to_vec(), id: id.to_vec() })
}

/// Returns the prefix of a group's entries. The group of interrupted sessions has an empty queue name, which no queue
/// has.
fn head(group: &DueGroup) -> Vec<u8> {
    let (queue, format) = match group {
        DueGroup::Interrupted => (&[][..], StateFormat(0)),
        DueGroup::Queue { queue, format } => (queue.as_slice(), *format),
    };
    [queue, &[0], &format.0.to_be_bytes()].concat()
}

/// Splits an entry into its group and the bytes after the group.
fn group_of(entry: &[u8]) -> Option<(DueGroup, &[u8])> {
    let (queue, rest) = split(entry)?;
    let (format, place) = rest.split_first_chunk()?;
    let format = StateFormat(u32::from_be_bytes(*format));
    let group = match queue {
        [] => DueGroup::Interrupted,
        queue => DueGroup::Queue { queue: queue.to_vec(), format },
    };
    Some((group, place))
}

/// Splits bytes at the first NUL. Ids and labels contain no control character, so NUL ends them.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((bytes.get(..end)?, bytes.get(end + 1..)?))
}

fn queue_range(queue: &[u8]) -> Range<Vec<u8>> {
    [queue, &[0]].concat()..[queue, &[1]].concat()
}

/// Returns the first bytes after all entries of a group.
fn behind_group(group: &DueGroup) -> Vec<u8> {
    let behind_format = |queue: &[u8], format: StateFormat| match format.0.checked_add(1) {
        Some(next) => [queue, &[0], &next.to_be_bytes()].concat(),
        None => queue_range(queue).end,
    };
    match group {
        DueGroup::Interrupted => behind_format(&[], StateFormat(0)),
        DueGroup::Queue { queue, format } => behind_format(queue, *format),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;
    use crate::ids::{QueueLabel, TenantId};
    use crate::rules::in_turn;

    /// A session with an alarm.
    #[derive(Debug, Clone)]
    struct Waiting {
        group: DueGroup,
        alarm: Timestamp,
        key: SessionKey,
    }

    #[derive(Default)]
    struct Entries {
        alarms: BTreeSet<Vec<u8>>,
        turns: BTreeSet<Vec<u8>>,
        sessions: BTreeMap<SessionKey, Waiting>,
        asked: Cell<usize>,
    }

    impl Entries {
        fn of(sessions: impl IntoIterator<Item = Waiting>) -> Self {
            let mut all = Self::default();
            for waiting in sessions {
                let place = DuePlace::new(waiting.alarm, &waiting.key);
                all.alarms.insert(alarm_entry(&waiting.group, &place));
                all.turns.insert(turn_entry(&waiting.group, &place));
                all.sessions.insert(waiting.key.clone(), waiting);
            }
            all
        }

        fn due(&self, query: &DueQuery, now: Timestamp) -> Due<Result<SessionKey, Infallible>> {
            let entries = |index, range: &Range<Vec<u8>>, limit| {
                self.asked.set(self.asked.get() + 1);
                let all = if index == Index::Alarms { &self.alarms } else { &self.turns };
                Ok(all.range(range.clone()).take(limit).cloned().collect())
            };
            let find = |key: &SessionKey| {
                assert!(self.is_due(&self.sessions[key], query, now), "{key} is not due");
                Some(Ok(key.clone()))
            };
            due_along(query, now, entries, find).unwrap()
        }

        fn is_due(&self, waiting: &Waiting, query: &DueQuery, now: Timestamp) -> bool {
            let serves = match &waiting.group {
                DueGroup::Interrupted => true,
                DueGroup::Queue { queue, format } => {
                    let queue: QueueLabel = String::from_utf8(queue.clone()).unwrap().parse().unwrap();
                    query.queues.serves(&queue) && *format <= query.newest_format
                }
            };
            let tenant = query.tenant.as_ref().is_none_or(|tenant| *tenant == waiting.key.tenant);
            serves && tenant && waiting.alarm <= now
        }
    }

    fn key(tenant: &str, id: usize) -> SessionKey {
        SessionKey::new(tenant.parse().unwrap(), format!("s{id}").parse().unwrap())
    }

    fn group() -> impl Strategy<Value = DueGroup> {
        prop_oneof![
            Just(DueGroup::Interrupted),
            ("[ab]{1,2}", prop_oneof![1..4_u32, Just(u32::MAX)]).prop_map(|(queue, format)| {
                DueGroup::Queue { queue: queue.into_bytes(), format: StateFormat(format) }
            }),
        ]
    }

    fn waiting() -> impl Strategy<Value = Vec<Waiting>> {
        let alarm = prop_oneof![8 => -2..6_i64, 1 => Just(i64::MAX), 1 => Just(i64::MIN)];
        let one = (group(), alarm, "[tu]{1,2}");
        prop::collection::vec(one, 0..24).prop_map(|all| {
            let waiting = |(at, (group, ms, tenant)): (usize, (DueGroup, i64, String))| Waiting {
                group,
                alarm: Timestamp::from_ms(ms),
                key: key(&tenant, at),
            };
            all.into_iter().enumerate().map(waiting).collect()
        })
    }

    fn query() -> impl Strategy<Value = DueQuery> {
        let tenant = || prop::option::of("[tu]{1,2}".prop_map(|name| name.parse::<TenantId>().unwrap()));
        let queue = "[ab]{1,2}".prop_map(|name| name.parse::<QueueLabel>().unwrap());
        let queues =
            prop_oneof![Just(Queues::All), prop::collection::vec(queue, 0..3).prop_map(Queues::Named),];
        let format = prop_oneof![3 => 0..4_u32, 1 => Just(u32::MAX)];
        (queues, format, tenant(), tenant(), 0..8_usize).prop_map(|(queues, format, tenant, after, limit)| {
            DueQuery { queues, newest_format: StateFormat(format), tenant, after, limit }
        })
    }

    proptest! {
        #[test]
        fn what_is_found_is_what_the_rule_chooses(waiting in waiting(), query in query(), now in -2..6_i64) {
            let entries = Entries::of(waiting.clone());
            let now = Timestamp::from_ms(now);
            let due: Vec<_> = waiting.iter().filter(|one| entries.is_due(one, &query, now)).collect();
            let due = due.into_iter().map(|one| (one.alarm, one.key.clone())).collect();
            let (chosen, _) = in_turn(due, query.after.as_ref(), query.limit);
            let found: Vec<_> = entries.due(&query, now).found.into_iter().map(Result::unwrap).collect();
            prop_assert_eq!(found, chosen);
        }
    }

    const QUERY: DueQuery =
        DueQuery { queues: Queues::All, newest_format: StateFormat(1), tenant: None, after: None, limit: 1 };

    fn in_queue(format: u32, tenant: &str, id: usize, ms: i64) -> Waiting {
        let group = DueGroup::Queue { queue: b"q".to_vec(), format: StateFormat(format) };
        Waiting { group, alarm: Timestamp::from_ms(ms), key: key(tenant, id) }
    }

    #[test]
    fn a_look_asks_a_bounded_number_of_times() {
        let now = Timestamp::from_ms(0);
        // Sessions that are not due, each of its own tenant; due sessions with a newer format; due sessions
        // of one tenant.
        let later = (0..5_000).map(|id| in_queue(1, &format!("t{id:05}"), id, 1));
        let newer = (0..5_000).map(|id| in_queue(2, "new", id, -2));
        let many = (0..5_000).map(|id| in_queue(1, "many", id, -1));
        let entries = Entries::of(later.chain(newer).chain(many));
        let found = entries.due(&QUERY, now);
        assert_eq!(found.found, [Ok(key("many", 0))]);
        assert!(entries.asked.get() < 2 * PROBES, "{}", entries.asked.get());

        // The next queries continue where that query ended, so every tenant has a turn.
        let (mut after, mut looks) = (found.after, 0);
        let small = in_queue(1, "t04999x", 1, 0);
        let entries = Entries::of(entries.sessions.into_values().chain([small.clone()]));
        loop {
            entries.asked.set(0);
            let found = entries.due(&DueQuery { after, ..QUERY }, now);
            assert!(entries.asked.get() < 2 * PROBES, "{}", entries.asked.get());
            looks += 1;
            if found.found == [Ok(small.key.clone())] {
                break;
            }
            assert!(looks < 100, "it has no turn");
            after = found.after;
        }
    }

    /// The number of index queries after which a query for due sessions gives no further tenant a turn.
    const PROBES: usize = 256;

    #[test]
    fn what_cannot_be_read_takes_no_turn() {
        let waiting = [in_queue(1, "t", 1, 0), in_queue(1, "t", 2, 1), in_queue(1, "u", 3, 2)];
        let entries = Entries::of(waiting);
        let find =
            |key: &SessionKey| Some(if key.id.as_str() == "s1" { Err("torn") } else { Ok(key.clone()) });
        let look = |index, range: &Range<Vec<u8>>, limit| {
            let all = if index == Index::Alarms { &entries.alarms } else { &entries.turns };
            Ok(all.range(range.clone()).take(limit).cloned().collect())
        };
        let due = due_along(&QUERY, Timestamp::from_ms(5), look, find).unwrap();
        assert_eq!(due.found, [Err("torn"), Ok(key("t", 2))]);
    }
}
