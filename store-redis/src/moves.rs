//! Moves the entries of format 1, which kept sessions with an alarm in `alarms`, `alarms:QUEUE` and `interrupted`.
//!
//! Nobody uses the sessions until all are moved: older versions have lost access, and no handle of this version opens
//! before that. One script moves each session. So if a process is interrupted, the next one moves the rest, and
//! several processes may move sessions at once.

use bytes::Bytes;
use futures::TryStreamExt;
use futures::future::join_all;
use holdover_store::rows::{DueGroup, DuePlace, SessionPlace};
use holdover_store::time::Timestamp;

use crate::apply::{Outcome, Plan, due_entries, entries};
use crate::error::Fault;
use crate::place;
use crate::store::Shared;
use crate::torn::{Looked, possible_groups};
use crate::walk::{Beside, Walk};

/// The number of members that one step of the walk looks at.
const STEP: usize = 1_000;

/// The number of sessions that are moved at once in each partition, and the number of partitions in which that is
/// done at once.
const AT_ONCE: usize = 64;
const PARTITIONS_AT_ONCE: usize = 4;

/// The most attempts to move a session that is written in between. After these, another process has moved it, because
/// only a process that has moved all sessions writes to them.
const TRIES_MAX: usize = 10;

impl Shared {
    /// Moves every session of `alarms`, the old index of all sessions with an alarm.
    pub(crate) async fn move_alarms(&self) -> Result<(), Fault> {
        let first = Walk::upwards("alarms", b"", "+", 1);
        let walks: Vec<_> =
            self.keys.partitions().map(|partition| (partition, vec![first.clone()])).collect();
        let walked = self.walk(Beside::Nothing, None, &walks).await?;
        let left =
            walks.iter().zip(walked).filter(|(_, walked)| walked.members.iter().any(|it| !it.is_empty()));
        let left: Vec<u16> = left.map(|((partition, _), _)| *partition).collect();
        let left = futures::stream::iter(left.into_iter().map(Ok));
        left.try_for_each_concurrent(PARTITIONS_AT_ONCE, |partition| self.move_partition(partition)).await
    }

    async fn move_partition(&self, partition: u16) -> Result<(), Fault> {
        let mut from = Bytes::new();
        loop {
            let walk = Walk::upwards("alarms", &from, "+", STEP);
            let walked = self.walk(Beside::Nothing, None, &[(partition, vec![walk])]).await?;
            let members: Vec<Bytes> =
                walked.into_iter().flat_map(|walked| walked.members).flatten().collect();
            for members in members.chunks(AT_ONCE) {
                let moves = members.iter().map(|member| self.move_one(partition, member));
                join_all(moves).await.into_iter().collect::<Result<(), Fault>>()?;
            }
            match members.last().filter(|_| members.len() == STEP) {
                Some(last) => from = last.clone(),
                None => return Ok(()),
            }
        }
    }

    /// Moves the session that an entry names. If the entry names no session, only removes it.
    async fn move_one(&self, partition: u16, member: &[u8]) -> Result<(), Fault> {
        let place = place::session(member).filter(|place| self.keys.partition_of(&place.key) == partition);
        let row =
            place.as_ref().map_or_else(|| self.keys.unused(partition), |place| self.keys.row(&place.key));
        for _ in 0..TRIES_MAX {
            let there = match &place {
                Some(_) => self.look(partition, &row).await?,
                None => Looked::nothing(Timestamp::EPOCH),
            };
            let mut plan = Plan::new(&self.keys, partition, there.expected.clone());
            // The move frees memory when it is done, so it may run even if no memory is left.
            plan.removes = true;
            if let Some(place) = &place {
                for (index, member) in belongs(place, &there)? {
                    plan.index("ZADD", &index, &member);
                }
            }
            let queue = there.fields.as_ref().and_then(|fields| fields.queue().ok());
            let of_queue = queue.map(|queue| format!("alarms:{queue}"));
            for index in ["alarms".to_owned(), "interrupted".to_owned()].into_iter().chain(of_queue) {
                plan.index("ZREM", &index, member);
            }
            if let (_, Outcome::Applied(_)) = self.run_plan_on(partition, &row, &plan).await? {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Returns the new index entries of a session that had an alarm. A session that cannot be read gets entries by
/// which workers find it and report it.
fn belongs(place: &SessionPlace, there: &Looked) -> Result<Vec<(String, Vec<u8>)>, Fault> {
    match there.slot(&place.key) {
        Ok(slot) => Ok(entries(slot.as_ref())),
        Err(Fault::Corrupt(_)) => {
            let groups = there.fields.as_ref().map_or_else(|| vec![DueGroup::Interrupted], possible_groups);
            let place = DuePlace::new(place.at, &place.key);
            Ok(groups.last().map(|group| due_entries(group, &place)).into_iter().flatten().collect())
        }
        Err(fault) => Err(fault),
    }
}
