//! The row under a session's key, in the table `session`.

use holdover_store::ids::{
    Epoch, EventSeq, InboxSeq, Incarnation, MessageSeq, OperationId, SessionId, SessionKey, StateFormat,
    TenantId, Version,
};
use holdover_store::rows::{Slot, Token, interrupt_named};
use holdover_store::rules::{LastCommit, SessionRow, Stream, Unseen};
use holdover_store::time::Timestamp;
use holdover_store::{Interrupt, Lease, Receipt, SessionStatus, StreamId, Tombstone};
use serde::{Deserialize, Serialize};

use crate::columns::Packed;
use crate::error::Fault;

/// The columns n, t, b, digest and payload of a session `s`, as [`slot`] reads them. The session's number comes
/// first.
pub(super) const SLOT: &str = "ARRAY[s.sid, s.token, s.dead_since, s.created_at, s.version, s.epoch, s.format, s.lease_ends, \
     s.lease_granted_ms, s.last_commit_epoch, (s.last_receipt).version, (s.last_receipt).last_message, \
     (s.last_receipt).last_item, (s.last_receipt).unread, (s.last_receipt).interrupt::int::bigint, \
     (s.last_receipt).now, (s.last_receipt).lease_ends, s.run_open::int::bigint, s.attempts, \
     s.interrupt_handed_to, s.last_message, s.last_event, s.last_item, s.unread, s.inbox_seen, s.unseen_counted, \
     s.unseen_urgent::int::bigint, s.wake_on, s.stream_run, s.stream_number, s.stream_last, \
     s.stream_open::int::bigint, s.updated_at, s.alarm, s.interrupt_at]::bigint[] AS n, \
     ARRAY[s.tenant, s.id, s.lives::text, s.created_by, s.queue, s.status, s.lease_worker, s.last_claim, s.found, \
     s.last_commit, s.interrupt_id, s.interrupt_kind, s.last_interrupt]::text[] AS t, \
     ARRAY[s.incarnation, s.interrupt_reason, s.interrupt_incarnation]::bytea[] AS b, \
     NULL::bytea AS digest, NULL::bytea AS payload";

/// An ended incarnation, as stored in the column `lives`.
#[derive(Serialize, Deserialize)]
struct Life {
    incarnation: Incarnation,
    operation: OperationId,
    at: Timestamp,
}

/// Returns the value of the column `lives`, or none if there are no ended incarnations.
pub(super) fn lives_text(lives: &[Tombstone]) -> Option<String> {
    let lives: Vec<Life> = lives
        .iter()
        .map(|life| Life { incarnation: life.incarnation, operation: life.operation.clone(), at: life.at })
        .collect();
    // Ids and numbers can always be written as JSON.
    (!lives.is_empty()).then(|| serde_json::to_string(&lives).unwrap_or_default())
}

/// Reads the column `lives`.
pub(super) fn lives(key: &SessionKey, text: Option<&str>) -> Result<Vec<Tombstone>, serde_json::Error> {
    let lives: Vec<Life> = text.map_or_else(|| Ok(Vec::new()), serde_json::from_str)?;
    let life = |life: Life| {
        let Life { incarnation, operation, at } = life;
        Tombstone { key: key.clone(), incarnation, operation, at }
    };
    Ok(lives.into_iter().map(life).collect())
}

/// Reads the columns of [`SLOT`].
pub(super) fn slot(mut p: Packed) -> Result<Slot, Fault> {
    let (place, token) = (p.count("sid")?, Token(p.int("token")?.cast_unsigned()));
    let dead = p.int_or_null().is_some();
    let key = SessionKey::new(p.id::<TenantId>("tenant")?, p.id::<SessionId>("id")?);
    let text = p.text_or_null();
    let lives = lives(&key, text.as_deref()).map_err(|why| p.corrupt("lives", why))?;
    let row = if dead { None } else { Some(session_row(p, key)?) };
    Ok(Slot { token, place, row, lives })
}

fn session_row(mut p: Packed, key: SessionKey) -> Result<SessionRow, Fault> {
    let p = &mut p;
    Ok(SessionRow {
        key,
        incarnation: p.incarnation("incarnation")?,
        created_at: p.at("created_at")?,
        created_by: p.id("created_by")?,
        queue: p.id("queue")?,
        status: p.word("status", SessionStatus::from_wire)?,
        version: Version(p.count("version")?),
        epoch: Epoch(p.count("epoch")?),
        format: StateFormat(p.count("format")?),
        lease: lease(p)?,
        last_claim: p.id_or_null("last_claim")?,
        found: p.word("found", SessionStatus::from_wire)?,
        last_commit: last_commit(p)?,
        run_open: p.flag("run_open")?,
        attempts: p.count("attempts")?,
        interrupt_handed_to: p.count_or_null("interrupt_handed_to")?.map(Epoch),
        last_message: MessageSeq(p.count("last_message")?),
        last_event: EventSeq(p.count("last_event")?),
        last_item: InboxSeq(p.count("last_item")?),
        unread: p.count("unread")?,
        inbox_seen: InboxSeq(p.count("inbox_seen")?),
        unseen: Unseen { counted: p.count("unseen_counted")?, urgent: p.flag("unseen_urgent")? },
        wake_on: p.count("wake_on")?,
        stream: Stream {
            id: StreamId { run: Epoch(p.count("stream_run")?), number: p.count("stream_number")? },
            last: p.count("stream_last")?,
            open: p.flag("stream_open")?,
        },
        updated_at: p.at("updated_at")?,
        alarm: p.at_or_null(),
        interrupt: interrupt(p)?,
        last_interrupt: p.id_or_null("last_interrupt")?,
    })
}

fn lease(p: &mut Packed) -> Result<Option<Lease>, Fault> {
    match (p.id_or_null("lease_worker")?, p.at_or_null(), p.int_or_null()) {
        (Some(worker), Some(ends), Some(ms)) => {
            Ok(Some(Lease { worker, ends, granted_ms: ms.cast_unsigned() }))
        }
        (None, None, None) => Ok(None),
        (_, _, _) => Err(p.corrupt("lease", "its columns do not go together")),
    }
}

fn last_commit(p: &mut Packed) -> Result<Option<LastCommit>, Fault> {
    let operation = p.id_or_null("last_commit")?;
    let Some(operation) = operation else {
        // Skips the epoch and the receipt.
        for _ in 0..8 {
            p.int_or_null();
        }
        return Ok(None);
    };
    let epoch = Epoch(p.count("last_commit_epoch")?);
    let receipt = Receipt {
        version: Version(p.count("last_receipt")?),
        last_message: MessageSeq(p.count("last_receipt")?),
        last_item: InboxSeq(p.count("last_receipt")?),
        unread: p.count("last_receipt")?,
        interrupt: p.flag("last_receipt")?,
        now: p.at("last_receipt")?,
        lease_ends: p.at("last_receipt")?,
    };
    Ok(Some(LastCommit { operation, epoch, receipt }))
}

fn interrupt(p: &mut Packed) -> Result<Option<Interrupt>, Fault> {
    let at = p.at_or_null();
    let (id, kind) = (p.id_or_null("interrupt_id")?, p.word_or_null("interrupt_kind", interrupt_named)?);
    let (reason, incarnation) = (p.bytes_or_null(), p.incarnation_or_null("interrupt_incarnation")?);
    match (id, kind, reason, at) {
        (Some(id), Some(kind), Some(reason), Some(at)) => {
            let reason = String::from_utf8(reason).map_err(|why| p.corrupt("interrupt_reason", why))?;
            Ok(Some(Interrupt { id, kind, reason, at, incarnation }))
        }
        (None, None, None, None) => Ok(None),
        (_, _, _, _) => Err(p.corrupt("interrupt", "its columns do not go together")),
    }
}
