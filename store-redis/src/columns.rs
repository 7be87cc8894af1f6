//! From what a script answers to what the contract speaks of.

use std::collections::HashMap;

use bytes::Bytes;
use holdover_store::ids::{
    CallId, CheckpointId, Epoch, EventSeq, InboxSeq, Incarnation, InterruptId, ItemKey, MessageSeq,
    OperationId, PendingId, QueueLabel, RunId, SessionId, SessionKey, StateFormat, TenantId, Version,
    WorkerId,
};
use holdover_store::payload::Payload;
use holdover_store::rules::{PageRoom, SessionRow, Stream, Unseen};
use holdover_store::{
    Checkpoint, Claim, INBOX_PAGE, InboxPage, Interrupt, InterruptKind, ItemKind, Labels, Lease, OutcomeKind,
    PendingCall, PendingKind, Receipt, RunEnded, RunRecord, Session, SessionStatus, SessionSummary, Staged,
    StagedResult, StoredItem, StreamId, Wake,
};

use crate::error::Fault;
use crate::reply::{self, Packed, Reply};

/// The fields of a row, by name.
pub(crate) struct Fields(HashMap<Bytes, Bytes>);

impl Fields {
    pub(crate) fn read(reply: &mut Reply) -> Result<Self, Fault> {
        Ok(Self(reply.pairs()?.into_iter().collect()))
    }

    fn optional(&self, name: &str) -> Option<&Bytes> {
        self.0.get(name.as_bytes())
    }

    fn field(&self, name: &str) -> Result<&Bytes, Fault> {
        self.optional(name).ok_or_else(|| Fault::Corrupt(format!("{name}: it is missing")))
    }

    fn number(&self, name: &str) -> Result<u64, Fault> {
        reply::number(self.field(name)?)
    }

    fn flag(&self, name: &str) -> Result<bool, Fault> {
        Ok(self.field(name)?.as_ref() == b"1")
    }

    fn status(&self, name: &str) -> Result<SessionStatus, Fault> {
        reply::word(self.field(name)?, SessionStatus::from_wire)
    }

    fn key(&self) -> Result<SessionKey, Fault> {
        let tenant = reply::id::<TenantId>(self.field("tenant")?)?;
        Ok(SessionKey::new(tenant, reply::id::<SessionId>(self.field("id")?)?))
    }

    fn lease(&self) -> Result<Option<Lease>, Fault> {
        let Some(worker) = self.optional("lease_worker") else { return Ok(None) };
        Ok(Some(Lease {
            worker: reply::id::<WorkerId>(worker)?,
            ends: reply::instant(self.field("lease_ends")?)?,
            granted_ms: self.number("lease_granted_ms")?,
        }))
    }

    /// The interrupt that waits; its reason is kept beside the row.
    pub(crate) fn interrupt(&self, reason: &Bytes) -> Result<Option<Interrupt>, Fault> {
        let Some(id) = self.optional("interrupt_id") else { return Ok(None) };
        let incarnation = self.optional("interrupt_incarnation");
        Ok(Some(Interrupt {
            id: reply::id::<InterruptId>(id)?,
            kind: reply::word(self.field("interrupt_kind")?, interrupt_kind)?,
            reason: reply::text(reason)?,
            at: reply::instant(self.field("interrupt_at")?)?,
            incarnation: incarnation.map(|incarnation| reply::incarnation(incarnation)).transpose()?,
        }))
    }

    /// The row as the rules know it, without its newest commit: no reader decides on that.
    pub(crate) fn row(&self, reason: &Bytes) -> Result<SessionRow, Fault> {
        let last_claim = self.optional("last_claim").map(|run| reply::id::<RunId>(run)).transpose()?;
        let handed = self.optional("interrupt_handed_to").map(|run| reply::number(run)).transpose()?;
        let stream = StreamId {
            run: Epoch(self.number("stream_run")?),
            number: reply::small(self.field("stream_number")?)?,
        };
        Ok(SessionRow {
            key: self.key()?,
            incarnation: reply::incarnation(self.field("incarnation")?)?,
            created_by: reply::id::<OperationId>(self.field("created_by")?)?,
            status: self.status("status")?,
            version: Version(self.number("version")?),
            epoch: Epoch(self.number("epoch")?),
            queue: reply::id::<QueueLabel>(self.field("queue")?)?,
            format: StateFormat(reply::small(self.field("format")?)?),
            lease: self.lease()?,
            last_claim,
            found: self.status("found")?,
            last_commit: None,
            run_open: self.flag("run_open")?,
            alarm: self.optional("alarm").map(|alarm| reply::instant(alarm)).transpose()?,
            attempts: reply::small(self.field("attempts")?)?,
            interrupt: self.interrupt(reason)?,
            interrupt_handed_to: handed.map(Epoch),
            stream: Stream { id: stream, last: self.number("stream_last")?, open: self.flag("stream_open")? },
            last_message: MessageSeq(self.number("last_message")?),
            last_event: EventSeq(self.number("last_event")?),
            last_item: InboxSeq(self.number("last_item")?),
            unread: self.number("unread")?,
            inbox_seen: InboxSeq(self.number("inbox_seen")?),
            unseen: Unseen { counted: self.number("unseen_counted")?, urgent: self.flag("unseen_urgent")? },
            wake_on: reply::small(self.field("wake_on")?)?,
            created_at: reply::instant(self.field("created_at")?)?,
            updated_at: reply::instant(self.field("updated_at")?)?,
        })
    }
}

fn interrupt_kind(name: &str) -> Option<InterruptKind> {
    [InterruptKind::Soft, InterruptKind::Abort].into_iter().find(|kind| kind.as_str() == name)
}

fn labels(reply: &mut Reply) -> Result<Labels, Fault> {
    let pairs = reply.pairs()?.into_iter();
    pairs.map(|(name, value)| Ok((reply::text(&name)?, reply::text(&value)?))).collect()
}

/// A row with what is kept beside it.
struct Whole {
    row: SessionRow,
    session: Session,
}

/// The session of `rows.session`.
pub(crate) fn session(reply: &mut Reply) -> Result<Session, Fault> {
    Ok(whole(reply)?.session)
}

fn whole(reply: &mut Reply) -> Result<Whole, Fault> {
    let mut reply = reply.list()?;
    let fields = Fields::read(&mut reply)?;
    let labels = labels(&mut reply)?;
    let mut payloads: HashMap<Bytes, Bytes> = reply.pairs()?.into_iter().collect();
    let mut results = Vec::new();
    for (call, payload) in reply.pairs()? {
        results.push(StagedResult { call: reply::id::<CallId>(&call)?, payload: reply::payload(payload)? });
    }
    results.sort_by(|a, b| a.call.cmp(&b.call));
    let mut list = reply.list()?;
    let mut starts = Vec::new();
    while list.left() > 0 {
        starts.push(reply::id::<CallId>(&list.bytes()?)?);
    }
    starts.sort();
    let row = fields.row(&payloads.remove(&b"reason"[..]).unwrap_or_default())?;
    let definition = payloads.remove(&b"definition"[..]);
    let definition = definition.ok_or_else(|| Fault::Corrupt("definition: it is missing".into()))?;
    let state = payloads.remove(&b"state"[..]).map(reply::payload).transpose()?;
    let session = row.session(labels, reply::payload(definition)?, state, Staged { results, starts });
    Ok(Whole { row, session })
}

/// The session of `rows.summary`.
pub(crate) fn summary(reply: &mut Reply) -> Result<SessionSummary, Fault> {
    let mut reply = reply.list()?;
    let row = Fields::read(&mut reply)?.row(&Bytes::new())?;
    Ok(row.summary(labels(&mut reply)?))
}

/// The claim of `rows.claim`.
pub(crate) fn claim(reply: &mut Reply) -> Result<Claim, Fault> {
    let mut reply = reply.list()?;
    let now = reply::instant(&reply.bytes()?)?;
    let Whole { row, session } = whole(&mut reply)?;
    let mut list = reply.list()?;
    let mut open = Vec::new();
    while list.left() > 0 {
        open.push(pending(&mut list.list()?, &row.key, row.incarnation)?);
    }
    let inbox = inbox_page(&mut reply, INBOX_PAGE)?.items;
    let claim = row.newest_claim(session, open, inbox, now);
    claim.ok_or_else(|| Fault::Corrupt("last_claim: it is missing".into()))
}

/// An open pending call of `rows.pending`.
pub(crate) fn pending(
    reply: &mut Reply,
    key: &SessionKey,
    incarnation: Incarnation,
) -> Result<PendingCall, Fault> {
    let id = reply::id::<PendingId>(&reply.bytes()?)?;
    let facts = reply.text()?;
    let mut record = Packed::new(reply.bytes()?);
    let torn = || Fault::Corrupt(format!("pending {id}: {facts:?}"));
    let mut facts_of = facts.split(' ');
    let mut fact = || facts_of.next().map(str::as_bytes).ok_or_else(torn);
    Ok(PendingCall {
        key: key.clone(),
        incarnation,
        needed: reply::small(fact()?)?,
        answered: reply::small(fact()?)?,
        deadline: reply::optional_instant(fact()?)?,
        last_answer: InboxSeq(reply::number(fact()?)?),
        kind: reply::word(fact()?, PendingKind::from_wire)?,
        call: reply::id::<CallId>(&record.next()?)?,
        opened_at: reply::instant(&record.next()?)?,
        body: reply::payload(record.next()?)?,
        id,
    })
}

/// The items of `rows.inbox_page`, as far as they go into one page.
pub(crate) fn inbox_page(reply: &mut Reply, limit: u32) -> Result<InboxPage, Fault> {
    let mut reply = reply.list()?;
    let rows = reply.pairs()?;
    let there = usize::try_from(reply.number()?).unwrap_or(usize::MAX);
    let mut room = PageRoom::new(limit.min(INBOX_PAGE) as usize);
    let mut items = Vec::new();
    for (seq, record) in rows {
        let item = item(InboxSeq(reply::number(&seq)?), record)?;
        if !room.takes(item.payload.len()) {
            break;
        }
        items.push(item);
    }
    let more = there > items.len();
    Ok(InboxPage::new(items, more))
}

fn item(seq: InboxSeq, record: Bytes) -> Result<StoredItem, Fault> {
    let mut record = Packed::new(record);
    let key = reply::id::<ItemKey>(&record.next()?)?;
    let kind = reply::text(&record.next()?)?;
    let (wake, pending) = (record.next()?, record.next()?);
    let settles = record.next()?.as_ref() == b"1";
    let kind = match kind.as_str() {
        "message" => ItemKind::Message { wake: reply::word(&wake, wake_of)? },
        "signal" => ItemKind::Signal { wake: reply::word(&wake, wake_of)? },
        "answer" => ItemKind::Answer { pending: reply::id::<PendingId>(&pending)?, settles },
        other => return Err(Fault::Corrupt(format!("{other:?} is stored as the kind of an item"))),
    };
    let at = reply::instant(&record.next()?)?;
    Ok(StoredItem { seq, key, kind, payload: reply::payload(record.next()?)?, at })
}

fn wake_of(name: &str) -> Option<Wake> {
    match name {
        "now" => Some(Wake::Now),
        "count" => Some(Wake::Count),
        "quiet" => Some(Wake::Quiet),
        _ => None,
    }
}

/// The receipt of `rules.receipt`.
pub(crate) fn receipt(text: &str) -> Result<Receipt, Fault> {
    let torn = || Fault::Corrupt(format!("a receipt: {text:?}"));
    let mut fields = text.split(' ');
    let mut field = || fields.next().map(str::as_bytes).ok_or_else(torn);
    Ok(Receipt {
        version: Version(reply::number(field()?)?),
        last_message: MessageSeq(reply::number(field()?)?),
        last_item: InboxSeq(reply::number(field()?)?),
        unread: reply::number(field()?)?,
        interrupt: field()? == b"1",
        now: reply::instant(field()?)?,
        lease_ends: reply::instant(field()?)?,
    })
}

/// A run: its number, its record, and how it ended or nothing.
pub(crate) fn run(reply: &mut Reply) -> Result<RunRecord, Fault> {
    let epoch = Epoch(reply.number()?);
    let mut record = Packed::new(reply.bytes()?);
    let end = reply.bytes()?;
    let run = reply::id::<RunId>(&record.next()?)?;
    let worker = reply::id::<WorkerId>(&record.next()?)?;
    let found = reply::word(&record.next()?, SessionStatus::from_wire)?;
    let parent = record.next()?;
    let parent = if parent.is_empty() { None } else { Some(Epoch(reply::number(&parent)?)) };
    let started_at = reply::instant(&record.next()?)?;
    let end = if end.is_empty() { None } else { Some(run_end(end)?) };
    Ok(RunRecord { epoch, run, worker, found, parent, started_at, end })
}

fn run_end(record: Bytes) -> Result<RunEnded, Fault> {
    let mut record = Packed::new(record);
    let at = reply::instant(&record.next()?)?;
    let outcome = reply::word(&record.next()?, OutcomeKind::from_wire)?;
    let detail = record.next()?;
    let detail: Option<Payload> = if detail.is_empty() { None } else { Some(reply::payload(detail)?) };
    Ok(RunEnded { at, outcome, detail })
}

/// A checkpoint of a life of a session.
pub(crate) fn checkpoint(id: u64, incarnation: Incarnation, record: Bytes) -> Result<Checkpoint, Fault> {
    let mut record = Packed::new(record);
    Ok(Checkpoint {
        id: CheckpointId(id),
        incarnation,
        epoch: Epoch(reply::number(&record.next()?)?),
        last_message: MessageSeq(reply::number(&record.next()?)?),
        last_event: EventSeq(reply::number(&record.next()?)?),
        at: reply::instant(&record.next()?)?,
        format: StateFormat(reply::small(&record.next()?)?),
        state: reply::payload(record.next()?)?,
    })
}
