//! Decodes every payload of every answer, and bounds decoded pages.
//!
//! The code destructures most types without `..`, so that a new field does not compile until it is handled
//! here.

use std::fmt::Display;

use holdover_store::ids::SessionKey;
use holdover_store::payload::Payload;
use holdover_store::rules::PageRoom;
use holdover_store::{
    Checkpoint, Claim, EventPage, Interrupt, PendingCall, RunRecord, Session, Staged, StoreError,
    StoreErrorKind, StoredItem, StoredMessage,
};

use super::{CodecError, PayloadCodec, PayloadContext, PayloadKind, reason};

/// A decoder for the answer of one operation.
pub(super) struct Decoder<'a, C> {
    codec: &'a C,
    operation: &'static str,
    bytes_max: usize,
}

/// The rows of a page that still fit after decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// All rows.
    Whole,
    /// This number of rows, at least one. Rows after the first that does not fit are not decoded.
    Rows(usize),
}

impl<'a, C: PayloadCodec> Decoder<'a, C> {
    /// Makes a decoder for an answer of `operation`. It refuses payloads that would become larger than
    /// `bytes_max`.
    pub(super) fn new(codec: &'a C, operation: &'static str, bytes_max: usize) -> Self {
        Self { codec, operation, bytes_max }
    }

    pub(super) fn claim(&self, claim: &mut Claim) -> Result<(), StoreError> {
        let Claim { fence: _, run: _, found: _, session, pending, inbox, now: _, lease_ends: _ } = claim;
        self.session(session)?;
        for pending in pending {
            self.pending(pending).map_err(|why| self.pending_error(pending, &why))?;
        }
        if let Fit::Rows(rows) = self.items(&session.key, inbox)? {
            inbox.truncate(rows);
        }
        Ok(())
    }

    pub(super) fn session(&self, session: &mut Session) -> Result<(), StoreError> {
        let Session {
            key,
            incarnation: _,
            status: _,
            version: _,
            epoch: _,
            queue: _,
            labels: _,
            definition,
            format: _,
            state,
            last_message: _,
            last_event: _,
            last_item: _,
            unread: _,
            inbox_seen: _,
            alarm: _,
            lease: _,
            interrupt,
            attempts: _,
            staged: Staged { results, starts: _ },
            created_at: _,
            updated_at: _,
        } = session;
        self.payload(key, PayloadKind::Definition, &"definition", definition)?;
        if let Some(state) = state {
            self.payload(key, PayloadKind::State, &"state", state)?;
        }
        if let Some(interrupt) = interrupt {
            self.interrupt(key, interrupt)?;
        }
        for result in results {
            let field = format_args!("staged {}", result.call);
            self.payload(key, PayloadKind::Message, &field, &mut result.payload)?;
        }
        Ok(())
    }

    pub(super) fn interrupt(&self, key: &SessionKey, interrupt: &mut Interrupt) -> Result<(), StoreError> {
        let Interrupt { id: _, kind: _, reason, at: _, incarnation: _ } = interrupt;
        *reason = reason::decode(self.codec, &key.tenant, reason, self.bytes_max)
            .map_err(|why| self.error(key, &"reason", &why))?;
        Ok(())
    }

    fn pending(&self, call: &mut PendingCall) -> Result<usize, CodecError> {
        let PendingCall {
            key,
            incarnation: _,
            id: _,
            call: _,
            kind: _,
            needed: _,
            answered: _,
            last_answer: _,
            deadline: _,
            body,
            opened_at: _,
        } = call;
        self.decode(key, PayloadKind::Pending, body)
    }

    fn pending_error(&self, call: &PendingCall, why: &CodecError) -> StoreError {
        self.error(&call.key, &format_args!("pending {}", call.id), why)
    }

    // Pages

    pub(super) fn messages(
        &self,
        key: &SessionKey,
        messages: &mut [StoredMessage],
    ) -> Result<Fit, StoreError> {
        page(messages, |StoredMessage { seq, at: _, payload }| {
            self.payload(key, PayloadKind::Message, &format_args!("message {seq}"), payload)
        })
    }

    pub(super) fn items(&self, key: &SessionKey, items: &mut [StoredItem]) -> Result<Fit, StoreError> {
        page(items, |StoredItem { seq, key: _, kind: _, payload, at: _ }| {
            self.payload(key, PayloadKind::Message, &format_args!("item {seq}"), payload)
        })
    }

    pub(super) fn events(&self, key: &SessionKey, read: &mut EventPage) -> Result<Fit, StoreError> {
        let EventPage::Events { events, stream, next: _, more: _ } = read else { return Ok(Fit::Whole) };
        let deltas = stream.iter_mut().flat_map(|page| &mut page.deltas);
        let deltas = deltas.map(|delta| (PayloadKind::Delta, delta.place, &mut delta.payload));
        let events = events.iter_mut().map(|event| (PayloadKind::Event, event.seq.0, &mut event.payload));
        page(events.chain(deltas), |(kind, place, payload)| {
            self.payload(key, kind, &format_args!("{} {place}", kind.as_str()), payload)
        })
    }

    pub(super) fn runs(&self, key: &SessionKey, runs: &mut [RunRecord]) -> Result<Fit, StoreError> {
        page(runs, |run| {
            let detail = run.end.as_mut().and_then(|end| end.detail.as_mut());
            detail.map_or(Ok(0), |detail| {
                self.payload(key, PayloadKind::Run, &format_args!("run {}", run.epoch), detail)
            })
        })
    }

    pub(super) fn pending_calls(&self, calls: &mut [PendingCall]) -> Result<Fit, StoreError> {
        page(calls, |call| match self.pending(call) {
            // The body stays encoded, and does not block the other calls.
            Err(why) if why.needs_key() => Ok(call.body.len()),
            decoded => decoded.map_err(|why| self.pending_error(call, &why)),
        })
    }

    pub(super) fn checkpoints(
        &self,
        key: &SessionKey,
        checkpoints: &mut [Checkpoint],
    ) -> Result<Fit, StoreError> {
        page(checkpoints, |Checkpoint { id, state, .. }| {
            self.payload(key, PayloadKind::State, &format_args!("checkpoint {id}"), state)
        })
    }

    /// Decodes one payload in place and returns its new size in bytes.
    fn payload(
        &self,
        key: &SessionKey,
        kind: PayloadKind,
        field: &dyn Display,
        payload: &mut Payload,
    ) -> Result<usize, StoreError> {
        self.decode(key, kind, payload).map_err(|why| self.error(key, field, &why))
    }

    fn decode(
        &self,
        key: &SessionKey,
        kind: PayloadKind,
        payload: &mut Payload,
    ) -> Result<usize, CodecError> {
        let of = PayloadContext { tenant: &key.tenant, kind };
        let plain = self.codec.decode(&of, payload.bytes().clone(), self.bytes_max)?;
        *payload = Payload::new(plain);
        Ok(payload.len())
    }

    fn error(&self, key: &SessionKey, field: &dyn Display, why: &CodecError) -> StoreError {
        let kind = if why.needs_key() { StoreErrorKind::KeyMissing } else { StoreErrorKind::Corrupt };
        StoreError::new(kind, self.operation, format!("{field}: {why}")).on(key)
    }
}

/// Decodes rows as long as they fit into one page. Returns how many of them fit.
fn page<R>(
    rows: impl IntoIterator<Item = R>,
    mut decode: impl FnMut(R) -> Result<usize, StoreError>,
) -> Result<Fit, StoreError> {
    let mut room = PageRoom::new(usize::MAX);
    for (place, row) in rows.into_iter().enumerate() {
        if !room.takes(decode(row)?) {
            return Ok(Fit::Rows(place));
        }
    }
    Ok(Fit::Whole)
}
