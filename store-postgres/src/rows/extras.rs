//! What belongs to a session beside its row.

use std::time::Duration;

use holdover_store::ids::{Fence, InboxSeq};
use holdover_store::payload::Payload;
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;
use holdover_store::{Claim, Labels, PendingCall, PendingKind, Session, Staged, StagedResult, StoredItem};

use super::{inbox_page, session_row};
use crate::columns::{Columns, count, id, next, unknown};
use crate::error::Fault;

/// Everything that a claim brings beside the row.
pub(crate) struct Extras {
    labels: Labels,
    definition: Payload,
    state: Option<Payload>,
    staged: Staged,
    pending: Vec<PendingCall>,
    inbox: Vec<StoredItem>,
}

impl Extras {
    /// Reads the columns of `extras_columns!`.
    pub(crate) fn read(c: &mut Columns<'_>, session: &SessionRow) -> Result<Self, Fault> {
        let labels = labels(c)?;
        let (definition, state) = (c.payload()?, c.payload_or_null()?);
        let staged = staged(c)?;
        let pending = pending(c, session)?;
        Ok(Self { labels, definition, state, staged, pending, inbox: inbox_page(c)?.items })
    }

    /// The session as it stands.
    pub(crate) fn into_session(self, row: SessionRow) -> Session {
        row.session(self.labels, self.definition, self.state, self.staged)
    }
}

/// Reads a claim: the columns of `session_columns!`, then those of `extras_columns!`.
pub(crate) fn claim(c: &mut Columns<'_>, now: Timestamp) -> Result<Claim, Fault> {
    let row = session_row(c)?;
    let mut extras = Extras::read(c, &row)?;
    let (Some(run), Some(lease_ends)) = (row.last_claim.clone(), row.lease.as_ref().map(|lease| lease.ends))
    else {
        return Err(Fault::Corrupt("session: it is claimed without a run or a lease".into()));
    };
    let fence = Fence { key: row.key.clone(), incarnation: row.incarnation, epoch: row.epoch };
    let found = row.found;
    let (pending, inbox) = (std::mem::take(&mut extras.pending), std::mem::take(&mut extras.inbox));
    let session = extras.into_session(row);
    Ok(Claim { fence, run, found, session, pending, inbox, now, lease_ends })
}

/// Whether the lease of a claim is over, so long after it was asked for.
pub(crate) fn is_over(claim: &Claim, waited: Duration) -> bool {
    claim.now.until(claim.lease_ends) <= waited
}

/// Reads names and values.
pub(crate) fn labels(c: &mut Columns<'_>) -> Result<Labels, Fault> {
    let text =
        |bytes: Vec<u8>| String::from_utf8(bytes).map_err(|error| Fault::Corrupt(format!("label: {error}")));
    let (names, values) = (c.list::<Vec<u8>>()?, c.list::<Vec<u8>>()?);
    let pairs = names.zip(values).map(|(name, value)| Ok((text(name)?, text(value)?)));
    pairs.collect::<Result<Vec<_>, Fault>>().map(|labels| labels.into_iter().collect())
}

fn staged(c: &mut Columns<'_>) -> Result<Staged, Fault> {
    let (calls, mut payloads) = (c.list::<String>()?, c.payloads()?);
    let mut results = Vec::with_capacity(calls.len());
    for call in calls {
        results.push(StagedResult {
            call: id(Some(call), "staged_call")?,
            payload: next(payloads.next(), "staged")?,
        });
    }
    let starts = c.list::<String>()?.map(|call| id(Some(call), "starts")).collect::<Result<_, _>>()?;
    Ok(Staged { results, starts })
}

fn pending(c: &mut Columns<'_>, session: &SessionRow) -> Result<Vec<PendingCall>, Fault> {
    let ids = c.list::<String>()?;
    let (mut calls, mut kinds) = (c.list::<String>()?, c.list::<String>()?);
    let (mut needed, mut answered) = (c.list::<i64>()?, c.list::<i64>()?);
    let (mut last, mut endless) = (c.list::<i64>()?, c.list::<bool>()?);
    let (mut deadlines, mut opened_at) = (c.list::<i64>()?, c.list::<i64>()?);
    let mut bodies = c.payloads()?;
    let mut pending = Vec::with_capacity(ids.len());
    for name in ids {
        let kind = next(kinds.next(), "pending_kind")?;
        let deadline = Timestamp::from_ms(next(deadlines.next(), "pending_deadline")?);
        pending.push(PendingCall {
            key: session.key.clone(),
            incarnation: session.incarnation,
            id: id(Some(name), "pending_id")?,
            call: id(calls.next(), "pending_call")?,
            kind: PendingKind::from_wire(&kind)
                .ok_or_else(|| Fault::Corrupt(format!("pending_kind: {}", unknown(&kind))))?,
            needed: count(needed.next(), "pending_needed")?,
            answered: count(answered.next(), "pending_answered")?,
            last_answer: InboxSeq(count(last.next(), "pending_last")?),
            deadline: (!next(endless.next(), "pending_endless")?).then_some(deadline),
            opened_at: Timestamp::from_ms(next(opened_at.next(), "pending_opened_at")?),
            body: next(bodies.next(), "pending")?,
        });
    }
    Ok(pending)
}
