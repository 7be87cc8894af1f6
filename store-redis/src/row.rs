//! The row under a session's key, as the fields of a hash.
//!
//! A version before tokens wrote the field `version` and no `token`. It could write a session unnoticed. So the
//! first write of a newer version renames that field to `session_version`. For the older version the row is
//! corrupt from then on, except that it can still delete the row by force.

use std::collections::HashMap;

use bytes::Bytes;
use holdover_store::ids::{
    Epoch, EventSeq, InboxSeq, Incarnation, InterruptId, MessageSeq, OperationId, QueueLabel, RunId,
    SessionId, SessionKey, StateFormat, TenantId, Version, WorkerId,
};
use holdover_store::rows::{Slot, Token, interrupt_named};
use holdover_store::rules::{LastCommit, SessionRow, Stream, Unseen};
use holdover_store::time::Timestamp;
use holdover_store::{Interrupt, Lease, Receipt, SessionStatus, StreamId, Tombstone};

use crate::error::Fault;
use crate::reply::{self, Packed, Reply, pack};

/// The token of a row from a version before tokens. A write that was decided on it is lost: the row gets a token
/// first.
pub(crate) const NO_TOKEN: Token = Token(0);

/// Returns the stored form of a token.
pub(crate) fn token_text(token: Token) -> String {
    format!("{:016x}", token.0)
}

/// Returns the stored form of the incarnations that were deleted under a key.
pub(crate) fn lives_text(lives: &[Tombstone]) -> Vec<u8> {
    let texts = lives.iter().flat_map(|life| {
        [life.incarnation.to_string(), life.operation.to_string(), life.at.as_ms().to_string()]
    });
    pack(&texts.collect::<Vec<_>>())
}

/// The fields of a row, by name.
pub(crate) struct Fields(HashMap<Bytes, Bytes>);

impl Fields {
    pub(crate) fn read(reply: &mut Reply) -> Result<Self, Fault> {
        Ok(Self(reply.pairs()?.into_iter().collect()))
    }

    /// Returns true if there is no row at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn optional(&self, name: &str) -> Option<&Bytes> {
        self.0.get(name.as_bytes())
    }

    fn field(&self, name: &str) -> Result<&Bytes, Fault> {
        self.optional(name).ok_or_else(|| Fault::Corrupt(format!("{name}: it is missing")))
    }

    fn read_as<T>(&self, name: &str, read: impl Fn(&[u8]) -> Result<T, Fault>) -> Result<T, Fault> {
        named(name, read(self.field(name)?))
    }

    fn read_optional<T>(
        &self,
        name: &str,
        read: impl Fn(&[u8]) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        self.optional(name).map(|value| named(name, read(value))).transpose()
    }

    fn number(&self, name: &str) -> Result<u64, Fault> {
        self.read_as(name, reply::number)
    }

    fn small(&self, name: &str) -> Result<u32, Fault> {
        self.read_as(name, reply::small)
    }

    fn instant(&self, name: &str) -> Result<Timestamp, Fault> {
        self.read_as(name, reply::instant)
    }

    fn flag(&self, name: &str) -> Result<bool, Fault> {
        Ok(self.field(name)?.as_ref() == b"1")
    }

    fn status(&self, name: &str) -> Result<SessionStatus, Fault> {
        self.read_as(name, |value| reply::word(value, SessionStatus::from_wire))
    }

    fn lease(&self) -> Result<Option<Lease>, Fault> {
        let fields = ["lease_worker", "lease_ends", "lease_granted_ms"];
        match fields.iter().filter(|name| self.optional(name).is_some()).count() {
            0 => Ok(None),
            3 => Ok(Some(Lease {
                worker: self.read_as("lease_worker", reply::id::<WorkerId>)?,
                ends: self.instant("lease_ends")?,
                granted_ms: self.number("lease_granted_ms")?,
            })),
            _ => Err(Fault::Corrupt("lease: it is not whole".into())),
        }
    }

    /// Reads the waiting interrupt. A version before tokens stored its reason outside the row.
    fn interrupt(&self, reason: &[u8]) -> Result<Option<Interrupt>, Fault> {
        let Some(id) = self.read_optional("interrupt_id", reply::id::<InterruptId>)? else { return Ok(None) };
        let own = self.optional("interrupt_reason").map(AsRef::as_ref);
        Ok(Some(Interrupt {
            id,
            kind: self.read_as("interrupt_kind", |value| reply::word(value, interrupt_named))?,
            reason: reply::text(own.unwrap_or(reason))?,
            at: self.instant("interrupt_at")?,
            incarnation: self.read_optional("interrupt_incarnation", reply::incarnation)?,
        }))
    }

    fn last_commit(&self) -> Result<Option<LastCommit>, Fault> {
        let operation = self.read_optional("last_commit_operation", reply::id::<OperationId>)?;
        let Some(operation) = operation else { return Ok(None) };
        Ok(Some(LastCommit {
            operation,
            epoch: Epoch(self.number("last_commit_epoch")?),
            receipt: self.read_as("last_commit_receipt", receipt)?,
        }))
    }

    pub(crate) fn incarnation(&self) -> Result<Incarnation, Fault> {
        self.read_as("incarnation", reply::incarnation)
    }

    pub(crate) fn created_by(&self) -> Result<OperationId, Fault> {
        self.read_as("created_by", reply::id::<OperationId>)
    }

    pub(crate) fn created_at(&self) -> Result<Timestamp, Fault> {
        self.instant("created_at")
    }

    pub(crate) fn updated_at(&self) -> Result<Timestamp, Fault> {
        self.instant("updated_at")
    }

    pub(crate) fn alarm(&self) -> Result<Option<Timestamp>, Fault> {
        self.read_optional("alarm", reply::instant)
    }

    pub(crate) fn queue(&self) -> Result<QueueLabel, Fault> {
        self.read_as("queue", reply::id::<QueueLabel>)
    }

    pub(crate) fn format(&self) -> Result<StateFormat, Fault> {
        self.small("format").map(StateFormat)
    }

    pub(crate) fn session_status(&self) -> Result<SessionStatus, Fault> {
        self.status("status")
    }

    pub(crate) fn life(&self) -> Result<u64, Fault> {
        self.number("life")
    }

    /// Returns the token in its stored form.
    pub(crate) fn token_text(&self) -> Result<Option<String>, Fault> {
        self.read_optional("token", reply::text)
    }

    pub(crate) fn lives(&self, key: &SessionKey) -> Result<Vec<Tombstone>, Fault> {
        let Some(packed) = self.optional("lives") else { return Ok(Vec::new()) };
        let mut packed = Packed::new(packed.clone());
        let mut lives = Vec::new();
        while !packed.is_empty() {
            lives.push(Tombstone {
                key: key.clone(),
                incarnation: reply::incarnation(&packed.next()?)?,
                operation: reply::id::<OperationId>(&packed.next()?)?,
                at: reply::instant(&packed.next()?)?,
            });
        }
        Ok(lives)
    }

    /// Returns the slot; none if there are no fields. `reason` is the reason of the interrupt, if the row does not
    /// contain it.
    pub(crate) fn slot(&self, key: &SessionKey, reason: &[u8]) -> Result<Option<Slot>, Fault> {
        if self.is_empty() {
            return Ok(None);
        }
        let token = match self.token_text()? {
            Some(text) => u64::from_str_radix(&text, 16)
                .map(Token)
                .map_err(|_| Fault::Corrupt(format!("token: {text:?} is none")))?,
            None => NO_TOKEN,
        };
        let lives = self.lives(key)?;
        let only_lives =
            !lives.is_empty() && ["life", "incarnation"].iter().all(|name| self.optional(name).is_none());
        if only_lives {
            return Ok(Some(Slot { token, place: 0, row: None, lives }));
        }
        Ok(Some(Slot { token, place: self.life()?, row: Some(self.row(reason)?), lives }))
    }

    /// Returns the row in the form of the contract.
    fn row(&self, reason: &[u8]) -> Result<SessionRow, Fault> {
        let tenant = self.read_as("tenant", reply::id::<TenantId>)?;
        let version = if self.optional("session_version").is_some() { "session_version" } else { "version" };
        let stream =
            StreamId { run: Epoch(self.number("stream_run")?), number: self.small("stream_number")? };
        Ok(SessionRow {
            key: SessionKey::new(tenant, self.read_as("id", reply::id::<SessionId>)?),
            incarnation: self.incarnation()?,
            created_by: self.created_by()?,
            status: self.session_status()?,
            version: Version(self.number(version)?),
            epoch: Epoch(self.number("epoch")?),
            queue: self.queue()?,
            format: self.format()?,
            lease: self.lease()?,
            last_claim: self.read_optional("last_claim", reply::id::<RunId>)?,
            found: self.status("found")?,
            last_commit: self.last_commit()?,
            run_open: self.flag("run_open")?,
            alarm: self.alarm()?,
            attempts: self.small("attempts")?,
            interrupt: self.interrupt(reason)?,
            interrupt_handed_to: self.read_optional("interrupt_handed_to", reply::number)?.map(Epoch),
            last_interrupt: self.read_optional("last_interrupt", reply::id::<InterruptId>)?,
            stream: Stream { id: stream, last: self.number("stream_last")?, open: self.flag("stream_open")? },
            last_message: MessageSeq(self.number("last_message")?),
            last_event: EventSeq(self.number("last_event")?),
            last_item: InboxSeq(self.number("last_item")?),
            unread: self.number("unread")?,
            inbox_seen: InboxSeq(self.number("inbox_seen")?),
            unseen: Unseen { counted: self.number("unseen_counted")?, urgent: self.flag("unseen_urgent")? },
            wake_on: self.small("wake_on")?,
            created_at: self.created_at()?,
            updated_at: self.updated_at()?,
        })
    }
}

fn named<T>(name: &str, read: Result<T, Fault>) -> Result<T, Fault> {
    read.map_err(|fault| {
        if let Fault::Corrupt(detail) = fault { Fault::Corrupt(format!("{name}: {detail}")) } else { fault }
    })
}

/// Reads a stored receipt: its parts, separated by spaces.
fn receipt(text: &[u8]) -> Result<Receipt, Fault> {
    let text = reply::text(text)?;
    let torn = || Fault::Corrupt(format!("{text:?} is no receipt"));
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

fn receipt_text(receipt: &Receipt) -> String {
    let Receipt { version, last_message, last_item, unread, interrupt, now, lease_ends } = receipt;
    let (interrupt, now, lease_ends) = (u8::from(*interrupt), now.as_ms(), lease_ends.as_ms());
    format!("{} {} {} {unread} {interrupt} {now} {lease_ends}", version.0, last_message.0, last_item.0)
}

/// Returns the fields that store a session's row, in a fixed order.
pub(crate) fn fields(row: &SessionRow) -> Vec<(&'static str, String)> {
    let flag = |flag: bool| if flag { "1".to_owned() } else { "0".to_owned() };
    let ms = |at: Timestamp| at.as_ms().to_string();
    let mut fields = vec![
        ("tenant", row.key.tenant.to_string()),
        ("id", row.key.id.to_string()),
        ("incarnation", row.incarnation.to_string()),
        ("created_by", row.created_by.to_string()),
        ("status", row.status.as_str().to_owned()),
        ("session_version", row.version.0.to_string()),
        ("epoch", row.epoch.0.to_string()),
        ("queue", row.queue.to_string()),
        ("format", row.format.0.to_string()),
        ("found", row.found.as_str().to_owned()),
        ("run_open", flag(row.run_open)),
        ("attempts", row.attempts.to_string()),
        ("stream_run", row.stream.id.run.0.to_string()),
        ("stream_number", row.stream.id.number.to_string()),
        ("stream_last", row.stream.last.to_string()),
        ("stream_open", flag(row.stream.open)),
        ("last_message", row.last_message.0.to_string()),
        ("last_event", row.last_event.0.to_string()),
        ("last_item", row.last_item.0.to_string()),
        ("unread", row.unread.to_string()),
        ("inbox_seen", row.inbox_seen.0.to_string()),
        ("unseen_counted", row.unseen.counted.to_string()),
        ("unseen_urgent", flag(row.unseen.urgent)),
        ("wake_on", row.wake_on.to_string()),
        ("created_at", ms(row.created_at)),
        ("updated_at", ms(row.updated_at)),
    ];
    if let Some(lease) = &row.lease {
        fields.push(("lease_worker", lease.worker.to_string()));
        fields.push(("lease_ends", ms(lease.ends)));
        fields.push(("lease_granted_ms", lease.granted_ms.to_string()));
    }
    fields.extend(row.last_claim.iter().map(|run| ("last_claim", run.to_string())));
    fields.extend(row.alarm.map(|at| ("alarm", ms(at))));
    if let Some(last) = &row.last_commit {
        fields.push(("last_commit_operation", last.operation.to_string()));
        fields.push(("last_commit_epoch", last.epoch.0.to_string()));
        fields.push(("last_commit_receipt", receipt_text(&last.receipt)));
    }
    if let Some(interrupt) = &row.interrupt {
        fields.push(("interrupt_id", interrupt.id.to_string()));
        fields.push(("interrupt_kind", interrupt.kind.as_str().to_owned()));
        fields.push(("interrupt_reason", interrupt.reason.clone()));
        fields.push(("interrupt_at", ms(interrupt.at)));
        fields.extend(interrupt.incarnation.map(|life| ("interrupt_incarnation", life.to_string())));
    }
    fields.extend(row.last_interrupt.as_ref().map(|id| ("last_interrupt", id.to_string())));
    fields.extend(row.interrupt_handed_to.map(|run| ("interrupt_handed_to", run.0.to_string())));
    fields
}
