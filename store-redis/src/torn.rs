//! Sessions that are partly unreadable. They can be removed, and do not delay other sessions.
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "Redis may answer, push or fail in ways that are not known yet"
)]

use std::collections::BTreeSet;

use bytes::Bytes;
use holdover_store::hints::{Change, Named};
use holdover_store::ids::{PendingId, SessionKey};
use holdover_store::rows::{DueGroup, DuePlace, Slot, Token};
use holdover_store::time::Timestamp;
use holdover_store::{DeleteMode, DeleteOutcome, Deletion, Labels, SessionStatus};

use crate::apply::{Expected, Outcome, Plan, due_entries, life_entry, pending_entries, torn_tombstone};
use crate::error::Fault;
use crate::place;
use crate::read;
use crate::records;
use crate::reply::{self, Reply};
use crate::row::{Fields, lives_text, token_text};
use crate::store::Shared;

/// The most attempts at a removal, which others may disturb by writing the session.
const TRIES_MAX: usize = 100;

/// The readable parts of a session.
pub(crate) struct Looked {
    pub(crate) now: Timestamp,
    pub(crate) expected: Expected,
    /// The fields of the row. None if there is no row, or it is no hash.
    pub(crate) fields: Option<Fields>,
    /// The ids and facts of the session's open pending calls. None if they cannot be read.
    pub(crate) pending: Option<Vec<(Bytes, Bytes)>>,
    /// The labels of the session. None if they cannot be read.
    pub(crate) labels: Option<Labels>,
}

impl Looked {
    pub(crate) fn nothing(now: Timestamp) -> Self {
        Self { now, expected: Expected::Nothing, fields: None, pending: None, labels: None }
    }

    /// Returns the slot, if it can be read.
    pub(crate) fn slot(&self, key: &SessionKey) -> Result<Option<Slot>, Fault> {
        match (&self.fields, &self.expected) {
            (Some(fields), _) => fields.slot(key, &[]),
            (None, Expected::Nothing) => Ok(None),
            (None, _) => Err(Fault::Corrupt("the row is no hash".into())),
        }
    }
}

impl Shared {
    /// Reads as much as possible of the session whose row has this key.
    pub(crate) async fn look(&self, partition: u16, row: &str) -> Result<Looked, Fault> {
        let mut reply = self.run(&self.scripts.look, partition, Some(row), &self.args()).await?;
        looked(&mut reply)
    }

    /// Removes a partly unreadable session, with all its known parts. Entries at unknown places in an index then
    /// name no session, and a rebuild removes them. If the number of the incarnation cannot be read, the keys of
    /// that incarnation stay.
    pub(crate) async fn delete_torn(
        &self,
        key: &SessionKey,
        deletion: Deletion,
    ) -> Result<DeleteOutcome, Fault> {
        let (partition, row) = (self.keys.partition_of(key), self.keys.row(key));
        for _ in 0..TRIES_MAX {
            let there = self.look(partition, &row).await?;
            if there.expected == Expected::Nothing {
                return Ok(DeleteOutcome::NotFound);
            }
            let fields = there.fields.as_ref();
            let incarnation = fields.and_then(|fields| fields.incarnation().ok());
            if deletion.incarnation.is_some_and(|named| incarnation.is_some_and(|there| there != named)) {
                return Ok(DeleteOutcome::NotFound);
            }
            if deletion.mode == DeleteMode::UnlessActive {
                // A run may hold the session.
                let status = fields.map(Fields::session_status).transpose()?;
                match status {
                    Some(SessionStatus::Active) => return Ok(DeleteOutcome::Active),
                    Some(_) => {}
                    None => return Err(Fault::Corrupt("the row is no hash".into())),
                }
            }
            let plan = self.removal(partition, key, &row, &there);
            if let (_, Outcome::Applied(_)) = self.run_plan(key, &plan).await? {
                return Ok(DeleteOutcome::Deleted);
            }
        }
        Err(Fault::Corrupt("others wrote it as often as it was to be removed".into()))
    }

    fn removal(&self, partition: u16, key: &SessionKey, row: &str, there: &Looked) -> Plan {
        let mut plan = Plan::new(&self.keys, partition, there.expected.clone());
        plan.removes = true;
        let fields = there.fields.as_ref();
        let known = |read: &dyn Fn(&Fields) -> Option<Timestamp>| fields.and_then(read);
        plan.touch("EXISTS", row);
        plan.plain(["DEL".into(), row.into()]);
        let mut entries: BTreeSet<(String, Vec<u8>)> = BTreeSet::new();
        if let Some(alarm) = known(&|fields| fields.alarm().ok().flatten()) {
            let place = DuePlace::new(alarm, key);
            for group in fields.map(possible_groups).into_iter().flatten() {
                entries.extend(due_entries(&group, &place));
            }
        }
        if let Some(changed) = known(&|fields| fields.updated_at().ok()) {
            entries.insert(("resting".into(), place::of_all(changed, key)));
        }
        if let Some(created) = known(&|fields| fields.created_at().ok()) {
            entries.insert((format!("sessions:{}", key.tenant), place::of_tenant(created, &key.id)));
            let life = fields.and_then(|fields| fields.incarnation().ok());
            entries.extend(life.map(|life| life_entry(key, life, created)));
        }
        entries.extend(open_entries(key, there).0);
        entries.iter().for_each(|(index, member)| plan.index("ZREM", index, member));
        if let Some(life) = fields.and_then(|fields| fields.life().ok()) {
            let life = self.keys.life(partition, life);
            if let Some(created) = known(&|fields| fields.created_at().ok()) {
                plan.unlabel(&life, key, created);
            }
            plan.end_life(&life);
        }
        let mut lives = fields.and_then(|fields| fields.lives(key).ok()).unwrap_or_default();
        lives.retain(|life| !life.is_old(there.now));
        let incarnation = fields.and_then(|fields| fields.incarnation().ok());
        let operation = fields.and_then(|fields| fields.created_by().ok());
        lives.push(torn_tombstone(key, incarnation, operation, there.now));
        let token = token_text(Token::random()).into();
        plan.plain(["HSET".into(), row.into(), "token".into(), token, "lives".into(), lives_text(&lives)]);
        plan.index("ZADD", "dead", &place::of_all(there.now, key));
        plan.tell(Change { session: Named::of(key), news: true, due: false }.to_string().into());
        plan
    }
}

/// Returns the groups in which a partly unreadable session with an alarm may have entries. New entries belong in the
/// last group. If the queue or the format cannot be read, that is the group in which every worker looks.
pub(crate) fn possible_groups(fields: &Fields) -> Vec<DueGroup> {
    let queue = fields.queue().ok().zip(fields.format().ok());
    let of_queue = queue.map(|(queue, format)| DueGroup::Queue { queue: queue.as_str().into(), format });
    if fields.optional("interrupt_id").is_some() {
        return of_queue.into_iter().chain([DueGroup::Interrupted]).collect();
    }
    [DueGroup::Interrupted].into_iter().chain(of_queue).collect()
}

/// Returns the index entries of the session's open pending calls, and true if all of these could be read.
pub(crate) fn open_entries(key: &SessionKey, there: &Looked) -> (Vec<(String, Vec<u8>)>, bool) {
    let Some(pending) = &there.pending else { return (Vec::new(), false) };
    let of_call = |(id, facts): &(Bytes, Bytes)| {
        let id = reply::id::<PendingId>(id).ok()?;
        let (deadline, kind) = records::listed_in(facts).ok()?;
        Some(pending_entries(key, &id, deadline, &kind))
    };
    let entries: Vec<_> = pending.iter().filter_map(of_call).collect();
    let all = entries.len() == pending.len();
    (entries.into_iter().flatten().collect(), all)
}

fn looked(reply: &mut Reply) -> Result<Looked, Fault> {
    let now = reply::instant(&reply.bytes()?)?;
    let nothing = Looked::nothing(now);
    match reply.text()?.as_str() {
        "hash" => {}
        "none" => return Ok(nothing),
        _ => return Ok(Looked { expected: Expected::NoHash, ..nothing }),
    }
    let fields = Fields::read(reply)?;
    let expected = fields.token_text()?.map_or(Expected::NoToken, Expected::Token);
    let pending = match reply.value()? {
        list @ redis::Value::Array(_) => Some(Reply::new(redis::Value::Array(vec![list]))?.pairs()?),
        _ => None,
    };
    let labels = match reply.value()? {
        list @ redis::Value::Array(_) => read::labels(&mut Reply::new(list)?).ok(),
        _ => None,
    };
    Ok(Looked { now, expected, fields: Some(fields), pending, labels })
}
