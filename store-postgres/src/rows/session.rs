//! The session row, and the receipt of a write.

use holdover_store::ids::{
    Epoch, EventSeq, InboxSeq, MessageSeq, SessionId, SessionKey, StateFormat, TenantId, Version,
};
use holdover_store::rules::{SessionRow, Stream, Unseen};
use holdover_store::{Interrupt, InterruptKind, Lease, Receipt, SessionStatus, StreamId};

use crate::columns::Columns;
use crate::error::Fault;

/// Reads the columns of `session_columns!`. The last commit stays with the database, which alone decides on it.
pub(crate) fn session_row(c: &mut Columns<'_>) -> Result<SessionRow, Fault> {
    let key = SessionKey::new(c.id::<TenantId>()?, c.id::<SessionId>()?);
    let (incarnation, created_by, queue, created_at) = (c.incarnation()?, c.id()?, c.id()?, c.at()?);
    let status = c.word(SessionStatus::from_wire)?;
    let (version, epoch, format) = (Version(c.count()?), Epoch(c.count()?), StateFormat(c.count()?));
    let lease = match (c.id_or_null()?, c.at_or_null()?, c.int_or_null()?) {
        (Some(worker), Some(ends), Some(ms)) => Some(Lease { worker, ends, granted_ms: ms.cast_unsigned() }),
        (None, None, None) => None,
        (_, _, _) => return Err(Fault::Corrupt("lease: its columns do not go together".into())),
    };
    let last_claim = c.id_or_null()?;
    let found = c.word(SessionStatus::from_wire)?;
    let (run_open, attempts) = (c.flag()?, c.count()?);
    let interrupt_handed_to = c.count_or_null()?.map(Epoch);
    let (last_message, last_event) = (MessageSeq(c.count()?), EventSeq(c.count()?));
    let (last_item, unread, inbox_seen) = (InboxSeq(c.count()?), c.count()?, InboxSeq(c.count()?));
    let unseen = Unseen { counted: c.count()?, urgent: c.flag()? };
    let wake_on = c.count()?;
    let stream = StreamId { run: Epoch(c.count()?), number: c.count()? };
    let stream = Stream { id: stream, last: c.count()?, open: c.flag()? };
    let updated_at = c.at()?;
    let (alarm, interrupt) = (c.at_or_null()?, interrupt(c)?);
    Ok(SessionRow {
        key,
        incarnation,
        created_by,
        status,
        version,
        epoch,
        queue,
        format,
        lease,
        last_claim,
        found,
        last_commit: None,
        run_open,
        alarm,
        attempts,
        interrupt,
        interrupt_handed_to,
        stream,
        last_message,
        last_event,
        last_item,
        unread,
        inbox_seen,
        unseen,
        wake_on,
        created_at,
        updated_at,
    })
}

fn interrupt(c: &mut Columns<'_>) -> Result<Option<Interrupt>, Fault> {
    let (id, kind) = (c.id_or_null()?, c.word_or_null(interrupt_kind)?);
    let (reason, at, incarnation) = (c.bytes_or_null()?, c.at_or_null()?, c.incarnation_or_null()?);
    match (id, kind, reason, at) {
        (Some(id), Some(kind), Some(reason), Some(at)) => {
            let reason = String::from_utf8(reason)
                .map_err(|error| Fault::Corrupt(format!("interrupt_reason: {error}")))?;
            Ok(Some(Interrupt { id, kind, reason, at, incarnation }))
        }
        (None, None, None, None) => Ok(None),
        (_, _, _, _) => Err(Fault::Corrupt("interrupt: its columns do not go together".into())),
    }
}

fn interrupt_kind(name: &str) -> Option<InterruptKind> {
    [InterruptKind::Soft, InterruptKind::Abort].into_iter().find(|kind| kind.as_str() == name)
}

/// Reads the columns of `receipt_columns!`.
pub(crate) fn receipt(c: &mut Columns<'_>) -> Result<Receipt, Fault> {
    Ok(Receipt {
        version: Version(c.count()?),
        last_message: MessageSeq(c.count()?),
        last_item: InboxSeq(c.count()?),
        unread: c.count()?,
        interrupt: c.flag()?,
        now: c.at()?,
        lease_ends: c.at()?,
    })
}
