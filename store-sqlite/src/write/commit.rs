//! The one atomic write by which a run makes progress.

use async_trait::async_trait;
use holdover_store::ids::{CallId, Fence, InboxSeq, PendingId, SessionKey};
use holdover_store::rules::{CommitFacts, SessionRow, Unseen};
use holdover_store::time::Timestamp;
use holdover_store::{Applied, Commit, CommitOutcome, NewMessage, RunEnd, StagedResult};
use sqlx::SqliteConnection;

use crate::columns::{Columns, int};
use crate::error::Fault;
use crate::job::{Tx, Write};
use crate::rows::{self, Sid, Single, json_list};

// All of these run in the write transaction that has read the session row.
const READ_CONSUMABLE: &str = "SELECT seq FROM item WHERE sid = ? AND payload IS NOT NULL \
     AND seq IN (SELECT value FROM json_each(?))";
const COUNT_UNSEEN: &str = "SELECT count(*) FILTER (WHERE wake = 'count'), \
     count(*) FILTER (WHERE wake = 'now') FROM item WHERE sid = ? AND seq > ? AND payload IS NOT NULL";
// And these after the rules have applied the commit to it.
const DROP_MARKS: &str = "DELETE FROM start_mark WHERE sid = ?";
const DROP_STAGED: &str = "DELETE FROM staged WHERE sid = ? AND call IN (SELECT value FROM json_each(?))";
const CLOSE_PENDING: &str = "DELETE FROM pending WHERE sid = ? AND id IN (SELECT value FROM json_each(?))";
const CONSUME: &str = "UPDATE item SET digest = NULL, payload = NULL WHERE sid = ? AND payload IS NOT NULL \
     AND seq IN (SELECT value FROM json_each(?))";
/// The first end of a run is kept.
const END_RUN: &str = "UPDATE run SET ended_at = ?, outcome = ?, digest = ?, detail = ? \
     WHERE sid = ? AND epoch = ? AND ended_at IS NULL";

pub(crate) struct SaveState {
    pub(crate) fence: Fence,
    pub(crate) commit: Commit,
}

#[async_trait]
impl Write for SaveState {
    type Outcome = CommitOutcome;
    const OPERATION: &'static str = "commit";

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.fence.key)
    }

    fn bytes(&self) -> usize {
        self.commit.payloads().map(|(_, payload)| payload.len()).sum()
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<CommitOutcome, Fault> {
        let commit = &self.commit;
        let Some((sid, before)) = rows::find(tx.conn(), &self.fence.key).await? else {
            return Ok(CommitOutcome::StaleFence { applied: Applied::Unknown });
        };
        if let Some(answer) = before.admit(&self.fence, commit) {
            return Ok(answer);
        }
        let facts = read_facts(tx.conn(), sid, &before, commit).await?;
        let now = tx.now();
        let mut after = before.clone();
        let receipt = match after.apply(commit, &facts, now) {
            Ok(receipt) => receipt,
            Err(refused) => return Ok(refused),
        };

        rows::save(tx, sid, &before, &after).await?;
        if let Some(state) = &commit.state {
            rows::put_payload(tx, Single::State, sid, &state.payload).await?;
            if commit.checkpoint {
                let checkpoint = after.checkpoint(state.payload.clone(), now);
                rows::append_checkpoint(tx, sid, &checkpoint).await?;
            }
            tx.write(sqlx::query(DROP_MARKS).bind(sid.0)).await?;
        }
        write_messages(tx, sid, &before, commit, &facts, now).await?;
        rows::append_events(tx, sid, before.last_event.0, &commit.events, now).await?;
        if !commit.close.is_empty() {
            let ids = json_list(commit.close.iter().map(|id| id.as_str()))?;
            tx.write(sqlx::query(CLOSE_PENDING).bind(sid.0).bind(ids)).await?;
        }
        rows::append_pending(tx, sid, &after, &commit.open, now).await?;
        if !commit.consumed.is_empty() {
            let places = json_list(commit.consumed.iter().map(|seq| seq.0))?;
            tx.write(sqlx::query(CONSUME).bind(sid.0).bind(places)).await?;
        }
        if let Some(end) = &commit.run {
            end_run(tx, sid, &before, end, now).await?;
        }
        Ok(CommitOutcome::Committed(receipt))
    }
}

/// Reads what the rules need to know, and only what the commit names.
async fn read_facts(
    conn: &mut SqliteConnection,
    sid: Sid,
    row: &SessionRow,
    commit: &Commit,
) -> Result<CommitFacts, Fault> {
    let mut facts = CommitFacts { unseen: row.unseen, ..CommitFacts::default() };
    let calls: Vec<&CallId> =
        promoted(commit).chain(commit.stage.iter().map(|result| &result.call)).collect();
    if !calls.is_empty() {
        facts.staged = rows::read_staged_of(conn, sid, &calls).await?;
    }
    if !commit.close.is_empty() {
        let closed: Vec<&PendingId> = commit.close.iter().collect();
        facts.pending = rows::read_pending_ids(conn, sid, &closed).await?;
    }
    if !commit.open.is_empty() {
        let opened: Vec<&PendingId> = commit.open.iter().map(|new| &new.id).collect();
        let before = rows::read_opened(conn, sid, &opened).await?;
        facts.pending.extend(before.into_iter().map(|id| (id, InboxSeq(0))));
    }
    if !commit.consumed.is_empty() {
        let places = json_list(commit.consumed.iter().map(|seq| seq.0))?;
        let found = sqlx::query(READ_CONSUMABLE).bind(sid.0).bind(places).fetch_all(&mut *conn).await?;
        facts.consumable =
            found.iter().map(|row| Columns::of(row).count().map(InboxSeq)).collect::<Result<_, _>>()?;
    }
    // What a commit consumes lies at or before what it has seen, so only a step forward changes the rest.
    if let Some(seen) = commit.inbox_seen.filter(|seen| *seen > row.inbox_seen) {
        let row = sqlx::query(COUNT_UNSEEN).bind(sid.0).bind(int(seen.0)).fetch_one(conn).await?;
        let mut columns = Columns::of(&row);
        facts.unseen = Unseen { counted: columns.count()?, urgent: columns.int()? > 0 };
    }
    Ok(facts)
}

fn promoted(commit: &Commit) -> impl Iterator<Item = &CallId> {
    commit.messages.iter().filter_map(|message| match message {
        NewMessage::Promote(call) => Some(call),
        NewMessage::Inline(_) => None,
    })
}

/// Appends the messages, promoted results among them, and stages what this commit stages and does not
/// promote itself.
async fn write_messages(
    tx: &mut Tx<'_>,
    sid: Sid,
    before: &SessionRow,
    commit: &Commit,
    facts: &CommitFacts,
    now: Timestamp,
) -> Result<(), Fault> {
    let result = |call: &CallId| facts.staged.iter().chain(&commit.stage).find(|staged| staged.call == *call);
    let mut messages = Vec::with_capacity(commit.messages.len());
    for message in &commit.messages {
        messages.push(match message {
            NewMessage::Inline(payload) => payload,
            NewMessage::Promote(call) => match result(call) {
                Some(staged) => &staged.payload,
                None => return Err(Fault::Corrupt(format!("staged {call}: it was there a moment ago"))),
            },
        });
    }
    rows::append_messages(tx, sid, before.last_message.0, &messages, now).await?;

    let mut fresh: Vec<&StagedResult> = Vec::new();
    for staged in &commit.stage {
        let there = facts.staged.iter().chain(fresh.iter().copied()).any(|first| first.call == staged.call);
        if !there && !promoted(commit).any(|call| *call == staged.call) {
            fresh.push(staged);
        }
    }
    rows::append_staged(tx, sid, &fresh).await?;
    if promoted(commit).next().is_some() {
        let calls = json_list(promoted(commit).map(CallId::as_str))?;
        tx.write(sqlx::query(DROP_STAGED).bind(sid.0).bind(calls)).await?;
    }
    Ok(())
}

async fn end_run(
    tx: &mut Tx<'_>,
    sid: Sid,
    before: &SessionRow,
    end: &RunEnd,
    now: Timestamp,
) -> Result<(), Fault> {
    let query = sqlx::query(END_RUN)
        .bind(now.as_ms())
        .bind(end.outcome.as_str())
        .bind(end.detail.digest().0.to_vec())
        .bind(end.detail.bytes().to_vec())
        .bind(sid.0)
        .bind(int(before.epoch.0));
    tx.write(query).await?;
    Ok(())
}
