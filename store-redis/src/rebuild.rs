//! Rebuilds the indexes from the sessions themselves.

use bytes::Bytes;
use futures::future::join_all;
use holdover_store::StoreError;
use holdover_store::ids::{PendingId, SessionKey, TenantId};
use holdover_store::rows::PendingPlace;
use holdover_store::time::Timestamp;

use crate::apply::{Outcome, Plan, entries, label_members, labels_index};
use crate::error::{Call, Fault};
use crate::place;
use crate::reply;
use crate::store::{RedisStore, Shared};
use crate::torn::{Looked, open_entries};
use crate::walk::{Beside, Walk};

const OPERATION: &str = "rebuild_indexes";

/// The number of keys that one step of the walk looks at.
const STEP: usize = 1000;

/// The number of sessions that are indexed at once.
const AT_ONCE: usize = 64;

/// The most attempts to index a session that others write in between. After these, the session is skipped, and the
/// indexes do not count as complete.
const TRIES_MAX: usize = 10;

/// The result of a rebuild.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// The number of sessions in the store, including unreadable and skipped ones.
    pub sessions: u64,
    /// The number of entries that were missing and were added.
    pub added: u64,
    /// The number of entries that pointed to nothing and were removed.
    pub removed: u64,
    /// The number of sessions that could not be read completely. Their entries stay, and they can be deleted. If
    /// the field `life` of a session cannot be read, a deletion removes only its row and its entries, because its
    /// messages, payloads and items cannot be identified.
    pub unreadable: u64,
    /// The number of sessions that were skipped, because others wrote them at every attempt to index them. Another
    /// rebuild may index them.
    pub skipped: u64,
}

impl RedisStore {
    /// Rebuilds all indexes: of alarms, of sessions, of labels, of pending calls and of their kinds. Missing entries
    /// are added, and entries that point to nothing are removed. Each session is handled at one instant, so workers
    /// may continue meanwhile. An unreadable session does not stop the rebuild. For each partition, the server walks
    /// over all of its keys, so the time grows with their number.
    ///
    /// In a store that an earlier version made, sessions are found by their labels in a walk over all sessions of
    /// their tenant, and pending calls by their kind in a walk over all pending calls. After a rebuild that indexed
    /// everything ([`unreadable`](Rebuilt::unreadable) and [`skipped`](Rebuilt::skipped) are 0), newly opened handles
    /// find both along an index. If sessions were skipped, repeat the rebuild.
    ///
    /// # Errors
    /// Errors have the operation `rebuild_indexes`. After an interruption, call it again from the start.
    pub async fn rebuild_indexes(&self) -> Result<Rebuilt, StoreError> {
        let rebuilt = self.shared.rebuild().await;
        rebuilt.map_err(|fault| fault.of(Call::Write, OPERATION, None))
    }
}

/// The result for one session.
#[derive(Default)]
struct Done {
    is_session: bool,
    added: u64,
    torn: bool,
    /// True if the session is skipped, because others wrote it at every attempt.
    is_skipped: bool,
}

impl Shared {
    async fn rebuild(&self) -> Result<Rebuilt, Fault> {
        let mut rebuilt = Rebuilt::default();
        for partition in self.keys.partitions() {
            self.rebuild_partition(partition, &mut rebuilt).await?;
        }
        // Sessions of both kinds may still be missing from an index.
        if rebuilt.unreadable == 0 && rebuilt.skipped == 0 {
            self.indexed().await?;
        }
        Ok(rebuilt)
    }

    /// Rebuilds one partition.
    async fn rebuild_partition(&self, partition: u16, rebuilt: &mut Rebuilt) -> Result<(), Fault> {
        let tag = self.keys.tag(partition);
        let mut cursor = "0".to_owned();
        loop {
            let args = self.args().text(&cursor).size(STEP);
            let mut step = self.run(&self.scripts.scan, partition, None, &args).await?;
            cursor = step.text()?;
            let mut keys = step.list()?;
            let mut rows = Vec::new();
            while keys.left() > 0 {
                let key = reply::text(&keys.bytes()?)?;
                let name = key.strip_prefix(&tag).and_then(|name| name.strip_prefix(':')).unwrap_or_default();
                if let Some(names) = name.strip_prefix("s:") {
                    rows.push((session_of(names), key));
                } else if let Some(kind) = index(name) {
                    rebuilt.removed += self.sweep(partition, name, kind).await?;
                }
            }
            for rows in rows.chunks(AT_ONCE) {
                let put = rows.iter().map(|(session, row)| self.reindex(partition, session.as_ref(), row));
                for done in join_all(put).await {
                    let done = done?;
                    rebuilt.added += done.added;
                    rebuilt.unreadable += u64::from(done.torn);
                    rebuilt.skipped += u64::from(done.is_skipped);
                    rebuilt.sessions += u64::from(done.is_session);
                }
            }
            if cursor == "0" {
                return Ok(());
            }
        }
    }

    /// Adds the missing index entries of one session.
    async fn reindex(&self, partition: u16, session: Option<&SessionKey>, row: &str) -> Result<Done, Fault> {
        let torn = Done { is_session: true, torn: true, ..Done::default() };
        let Some(key) = session else { return Ok(torn) };
        for _ in 0..TRIES_MAX {
            let there = self.look(partition, row).await?;
            let slot = match there.slot(key) {
                Ok(Some(slot)) => slot,
                Ok(None) => return Ok(Done::default()),
                Err(Fault::Corrupt(_)) => return Ok(torn),
                Err(fault) => return Err(fault),
            };
            let mut plan = Plan::new(&self.keys, partition, there.expected.clone());
            for (index, member) in entries(Some(&slot)) {
                plan.index("ZADD", &index, &member);
            }
            let is_session = slot.row.is_some();
            let (pending, all) = if is_session { open_entries(key, &there) } else { (Vec::new(), true) };
            pending.iter().for_each(|(index, member)| plan.index("ZADD", index, member));
            if let (Some(row), Some(labels)) = (&slot.row, &there.labels) {
                let index = labels_index(&key.tenant);
                label_members(row, labels).iter().for_each(|member| plan.index("ZADD", &index, member));
            }
            let all = all && (there.labels.is_some() || !is_session);
            if let (_, Outcome::Applied(added)) = self.run_plan(key, &plan).await? {
                return Ok(Done { is_session, added, torn: !all, is_skipped: false });
            }
        }
        Ok(Done { is_session: true, is_skipped: true, ..Done::default() })
    }

    /// Removes entries from one index if no row stands behind them. An entry stays if its row cannot be read,
    /// because it may be right.
    async fn sweep(&self, partition: u16, index: &str, kind: Indexes<'_>) -> Result<u64, Fault> {
        let (mut removed, mut from) = (0, Bytes::new());
        loop {
            let walk = Walk::upwards(index, &from, "+", STEP);
            let tenant = kind.tenant();
            let walked = self.walk(Beside::Nothing, tenant.as_ref(), &[(partition, vec![walk])]).await?;
            let members: Vec<Bytes> =
                walked.into_iter().flat_map(|walked| walked.members).flatten().collect();
            for members in members.chunks(AT_ONCE) {
                let swept = members.iter().map(|member| self.sweep_one(partition, index, kind, member));
                for swept in join_all(swept).await {
                    removed += swept?;
                }
            }
            match members.last().filter(|_| members.len() == STEP) {
                Some(last) => from = last.clone(),
                None => return Ok(removed),
            }
        }
    }

    async fn sweep_one(
        &self,
        partition: u16,
        index: &str,
        kind: Indexes<'_>,
        member: &[u8],
    ) -> Result<u64, Fault> {
        let (key, pending) = kind.names(member).map_or((None, None), |(key, pending)| (Some(key), pending));
        for _ in 0..TRIES_MAX {
            // A member that names no session points to nothing.
            let there = match &key {
                Some(key) => self.look(partition, &self.keys.row(key)).await?,
                None => Looked::nothing(Timestamp::EPOCH),
            };
            let stands = match &key {
                Some(key) => stands(key, &there, index, pending.as_ref(), member),
                None => Some(false),
            };
            if stands != Some(false) {
                return Ok(0);
            }
            let mut plan = Plan::new(&self.keys, partition, there.expected.clone());
            plan.index("ZREM", index, member);
            let row = key.as_ref().map_or_else(|| self.keys.unused(partition), |key| self.keys.row(key));
            if let (_, Outcome::Applied(removed)) = self.run_plan_on(partition, &row, &plan).await? {
                return Ok(removed);
            }
        }
        Ok(0)
    }
}

/// Returns true if an index entry matches its session. Returns none if that cannot be known.
fn stands(
    key: &SessionKey,
    there: &Looked,
    index: &str,
    pending: Option<&PendingId>,
    member: &[u8],
) -> Option<bool> {
    let slot = there.slot(key).ok()?;
    if index == labels_index(&key.tenant) {
        let Some(row) = slot.and_then(|slot| slot.row) else { return Some(false) };
        return Some(label_members(&row, there.labels.as_ref()?).iter().any(|place| place == member));
    }
    let Some(pending) = pending else {
        return Some(entries(slot.as_ref()).iter().any(|(own, place)| own == index && place == member));
    };
    if slot.is_none_or(|slot| slot.row.is_none()) {
        return Some(false);
    }
    let (entries, all) = open_entries(key, there);
    if entries.iter().any(|(own, place)| own == index && place == member) {
        return Some(true);
    }
    // If the call's facts cannot be read, its place is unknown.
    let open = there.pending.as_ref()?.iter().any(|(id, _)| id.as_ref() == pending.as_str().as_bytes());
    if open && !all { None } else { Some(false) }
}

/// The kinds of index in a partition.
#[derive(Clone, Copy)]
enum Indexes<'a> {
    /// Sessions of all tenants.
    All,
    /// Sessions with an alarm, by alarm.
    Due,
    /// Sessions with an alarm, by tenant.
    Turns,
    /// An index that only older versions use. Nothing belongs in it.
    Old,
    /// The sessions of one tenant.
    Sessions(&'a str),
    /// The sessions of one tenant, by incarnation.
    Lives(&'a str),
    /// The sessions of one tenant, by label.
    Labels(&'a str),
    /// The pending calls of one tenant.
    Pending(&'a str),
    /// The pending calls of one tenant, by kind.
    Kinds(&'a str),
}

impl Indexes<'_> {
    fn tenant(self) -> Option<TenantId> {
        match self {
            Self::All | Self::Due | Self::Turns | Self::Old => None,
            Self::Sessions(tenant)
            | Self::Lives(tenant)
            | Self::Labels(tenant)
            | Self::Pending(tenant)
            | Self::Kinds(tenant) => tenant.parse().ok(),
        }
    }

    /// Returns the session, and the pending call if any, that a member names.
    fn names(self, member: &[u8]) -> Option<(SessionKey, Option<PendingId>)> {
        match self {
            Self::All => place::session(member).map(|place| (place.key, None)),
            Self::Due => place::due(member)?.key().map(|key| (key, None)),
            Self::Turns => place::turn(member)?.key().map(|key| (key, None)),
            Self::Old => None,
            Self::Sessions(_) => place::listed(member, &self.tenant()?).map(|place| (place.key, None)),
            Self::Lives(_) => place::lived(member, &self.tenant()?).map(|place| (place.key, None)),
            Self::Labels(_) => place::labelled(member, &self.tenant()?).map(|place| (place.key, None)),
            Self::Pending(_) => self.call(place::pending(member)?),
            Self::Kinds(_) => self.call(place::pending_of_kind(member)?),
        }
    }

    /// Returns the names of a call of the tenant whose index this is.
    fn call(self, place: PendingPlace) -> Option<(SessionKey, Option<PendingId>)> {
        Some((SessionKey::new(self.tenant()?, place.session), Some(place.id)))
    }
}

/// Returns the kind of the index whose key ends with `name`. Returns none if there is no such index.
fn index(name: &str) -> Option<Indexes<'_>> {
    match name.split_once(':') {
        Some(("sessions", tenant)) => Some(Indexes::Sessions(tenant)),
        Some(("lives", tenant)) => Some(Indexes::Lives(tenant)),
        Some(("labels", tenant)) => Some(Indexes::Labels(tenant)),
        Some(("pending", tenant)) => Some(Indexes::Pending(tenant)),
        Some(("kinds", tenant)) => Some(Indexes::Kinds(tenant)),
        None if matches!(name, "resting" | "dead") => Some(Indexes::All),
        None if name == "due" => Some(Indexes::Due),
        None if name == "turns" => Some(Indexes::Turns),
        Some(("alarms", _)) => Some(Indexes::Old),
        None if matches!(name, "alarms" | "interrupted") => Some(Indexes::Old),
        Some(_) | None => None,
    }
}

/// Returns the session from the end of its row's key.
fn session_of(names: &str) -> Option<SessionKey> {
    let (length, names) = names.split_once(':')?;
    let (tenant, id) = names.split_at_checked(length.parse().ok()?)?;
    Some(SessionKey::new(tenant.parse().ok()?, id.parse().ok()?))
}
