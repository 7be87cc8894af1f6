//! Creates a session from the prefix of another one, in one transaction.

use async_trait::async_trait;
use holdover_store::ids::{CheckpointId, SessionKey};
use holdover_store::payload::Payload;
use holdover_store::rules::{SessionRow, was_deleted};
use holdover_store::{Checkpoint, ForkOutcome, NewFork};

use crate::columns::int;
use crate::error::Fault;
use crate::job::{Tx, Write};
use crate::rows::{self, Sid, Single};

// In the write transaction that has found the source, its checkpoint, and no session of the fork's key.
const COPY: [&str; 3] = [
    "INSERT INTO message (sid, seq, at, digest, payload) SELECT ?1, seq, at, digest, payload \
     FROM message WHERE sid = ?2 AND seq <= ?3 ORDER BY seq",
    "INSERT INTO event (sid, seq, at, digest, payload, sizes) SELECT ?1, seq, at, digest, payload, sizes \
     FROM event WHERE sid = ?2 AND seq <= ?3 ORDER BY seq",
    "INSERT INTO checkpoint (sid, id, epoch, last_message, last_event, at, format, digest, payload) \
     SELECT ?1, id, epoch, last_message, last_event, at, format, digest, payload \
     FROM checkpoint WHERE sid = ?2 AND id <= ?3 ORDER BY id",
];

pub(crate) struct ForkSession {
    pub(crate) from: SessionKey,
    pub(crate) at: CheckpointId,
    pub(crate) to: NewFork,
}

#[async_trait]
impl Write for ForkSession {
    type Outcome = ForkOutcome;
    const OPERATION: &'static str = "fork_session";

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.from)
    }

    fn bytes(&self) -> usize {
        self.to.payloads().map(|(_, payload)| payload.len()).sum()
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<ForkOutcome, Fault> {
        let new = &self.to;
        let there = rows::find(tx.conn(), &new.key).await?.map(|(_, row)| row);
        let named = rows::tombstone_names(tx.conn(), &new.key, new.incarnation, &new.operation).await?;
        if was_deleted(&new.operation, there.as_ref(), named) {
            return Ok(ForkOutcome::Deleted);
        }
        if let Some(row) = there {
            return Ok(row.forked_before(new, self.at));
        }
        let source = rows::find(tx.conn(), &self.from).await?;
        let Some((source, _)) = source.filter(|(_, row)| row.is_source(&self.from, new)) else {
            return Ok(ForkOutcome::NoSource);
        };
        let Some(checkpoint) = rows::read_checkpoint(tx.conn(), source, new.source, self.at).await? else {
            return Ok(ForkOutcome::NoCheckpoint);
        };
        let now = tx.now();
        let row = SessionRow::fork(&checkpoint, new, now);
        let sid = rows::insert(tx, &row).await?;
        copy_prefix(tx, source, sid, &checkpoint).await?;
        rows::append_labels(tx, sid, &new.labels).await?;
        rows::put_payload(tx, Single::Definition, sid, &new.definition).await?;
        rows::put_payload(tx, Single::State, sid, &new.state.payload).await?;
        let messages: Vec<&Payload> = new.messages.iter().collect();
        rows::append_messages(tx, sid, checkpoint.last_message.0, &messages, now).await?;
        rows::append_events(tx, sid, checkpoint.last_event.0, &new.events, now).await?;
        rows::append_checkpoint(tx, sid, &row.checkpoint(new.state.payload.clone(), now)).await?;
        Ok(ForkOutcome::Forked { version: row.version })
    }
}

async fn copy_prefix(tx: &mut Tx<'_>, from: Sid, to: Sid, at: &Checkpoint) -> Result<(), Fault> {
    for (sql, last) in COPY.into_iter().zip([at.last_message.0, at.last_event.0, at.id.0]) {
        tx.write(sqlx::query(sql).bind(to.0).bind(from.0).bind(int(last))).await?;
    }
    Ok(())
}
