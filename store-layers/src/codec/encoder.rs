//! Encodes every payload of every request.
//!
//! The code destructures every type without `..`, so that a new field does not compile until it is handled
//! here.

use holdover_store::ids::TenantId;
use holdover_store::payload::Payload;
use holdover_store::{
    ClaimOne, Commit, DeltaBatch, InboxItem, Interrupt, NewFork, NewMessage, NewPending, NewSession,
    NewState, Request, RunEnd, StagedResult, Staging, Start, StatusCas, StoreError, StoreErrorKind,
};

use super::ways::{Compared, Ways};
use super::{CodecError, PayloadCodec, PayloadContext, PayloadKind, reason};

/// An encoder for a request to one session.
pub(super) struct Encoder<'a, C> {
    codec: &'a C,
    operation: &'static str,
    tenant: &'a TenantId,
    ways: &'a Ways,
}

impl<'a, C: PayloadCodec> Encoder<'a, C> {
    /// Makes an encoder for a request of `operation` to a session of `tenant`.
    pub(super) fn new(codec: &'a C, operation: &'static str, tenant: &'a TenantId, ways: &'a Ways) -> Self {
        Self { codec, operation, tenant, ways }
    }

    /// Encodes every payload of `request`.
    pub(super) fn request(&self, request: &mut Request) -> Result<(), StoreError> {
        match request {
            Request::Create(new) => self.creation(new),
            Request::Claim(_, claim) => self.claim(claim, 0),
            Request::Move(_, StatusCas { incarnation: _, expected_version: _, to: _, items }) => {
                self.items(items, "items", 0)
            }
            Request::Stage(_, Staging { results, starts: _ }) => self.staged(results, "results"),
            Request::Commit(_, commit) => self.commit(commit),
            Request::Stream(_, DeltaBatch { stream: _, first: _, deltas }) => {
                self.each(PayloadKind::Delta, "deltas", deltas)
            }
            Request::Deliver(_, item) => self.items(std::slice::from_mut(item), "payload", 0),
            Request::Interrupt(_, Interrupt { id: _, kind: _, reason, at: _, incarnation: _ }) => {
                *reason = reason::encode(self.codec, self.tenant, reason)
                    .map_err(|why| self.error("reason", &why))?;
                Ok(())
            }
            Request::Fork(_, _, new) => self.fork(new),
            Request::Load(_)
            | Request::ListSessions(_)
            | Request::Delete(..)
            | Request::ClaimDue(_)
            | Request::Renew(..)
            | Request::TakeInterrupt(_)
            | Request::ReadMessages(..)
            | Request::ReadInbox(..)
            | Request::ReadEvents(..)
            | Request::ListRuns(..)
            | Request::ListPending(_)
            | Request::ListCheckpoints(_)
            | Request::Wait(..)
            | Request::Purge(_) => Ok(()),
            other => Err(unknown(other.operation())),
        }
    }

    fn creation(&self, new: &mut NewSession) -> Result<(), StoreError> {
        let NewSession {
            key: _,
            incarnation: _,
            operation: _,
            queue: _,
            labels: _,
            definition,
            format: _,
            items,
            start,
        } = new;
        self.payload(PayloadKind::Definition, "definition", definition)?;
        self.items(items, "items", 0)?;
        match start {
            Start::Claimed(claim) => self.claim(claim, items.len()),
            Start::WithItems | Start::At(_) => Ok(()),
        }
    }

    fn claim(&self, claim: &mut ClaimOne, from: usize) -> Result<(), StoreError> {
        let ClaimOne { run: _, worker: _, lease: _, expected_version: _, items } = claim;
        self.items(items, "items", from)
    }

    fn commit(&self, commit: &mut Commit) -> Result<(), StoreError> {
        let Commit {
            operation: _,
            expected_version: _,
            state,
            messages,
            stage,
            events,
            checkpoint: _,
            streamed: _,
            open,
            close: _,
            consumed: _,
            inbox_seen: _,
            interrupt_confirmed: _,
            run,
            release: _,
        } = commit;
        if let Some(state) = state {
            self.state(state)?;
        }
        for message in messages {
            match message {
                NewMessage::Inline(payload) => self.payload(PayloadKind::Message, "messages", payload)?,
                NewMessage::Promote(_) => {}
            }
        }
        self.staged(stage, "stage")?;
        self.each(PayloadKind::Event, "events", events)?;
        for pending in open {
            let NewPending { id: _, call: _, kind: _, needed: _, deadline: _, body } = pending;
            self.payload(PayloadKind::Pending, "open", body)?;
        }
        if let Some(RunEnd { outcome: _, detail }) = run {
            self.payload(PayloadKind::Run, "run", detail)?;
        }
        Ok(())
    }

    fn fork(&self, new: &mut NewFork) -> Result<(), StoreError> {
        let NewFork {
            source: _,
            key: _,
            incarnation: _,
            operation: _,
            queue: _,
            labels: _,
            definition,
            status: _,
            state,
            messages,
            events,
        } = new;
        self.payload(PayloadKind::Definition, "definition", definition)?;
        self.state(state)?;
        self.each(PayloadKind::Message, "messages", messages)?;
        self.each(PayloadKind::Event, "events", events)
    }

    fn state(&self, state: &mut NewState) -> Result<(), StoreError> {
        let NewState { format: _, payload } = state;
        self.payload(PayloadKind::State, "state", payload)
    }

    fn items(&self, items: &mut [InboxItem], field: &'static str, from: usize) -> Result<(), StoreError> {
        for (index, item) in items.iter_mut().enumerate() {
            let InboxItem { key: _, kind: _, incarnation: _, payload } = item;
            let way = self.ways.of(&Compared::Item(from + index));
            self.payload_in(way, PayloadKind::Message, field, payload)?;
        }
        Ok(())
    }

    fn staged(&self, results: &mut [StagedResult], field: &'static str) -> Result<(), StoreError> {
        for StagedResult { call, payload } in results {
            let way = self.ways.of(&Compared::Staged(call.clone()));
            self.payload_in(way, PayloadKind::Message, field, payload)?;
        }
        Ok(())
    }

    fn each(
        &self,
        kind: PayloadKind,
        field: &'static str,
        payloads: &mut [Payload],
    ) -> Result<(), StoreError> {
        payloads.iter_mut().try_for_each(|payload| self.payload(kind, field, payload))
    }

    fn payload(
        &self,
        kind: PayloadKind,
        field: &'static str,
        payload: &mut Payload,
    ) -> Result<(), StoreError> {
        self.payload_in(0, kind, field, payload)
    }

    fn payload_in(
        &self,
        way: usize,
        kind: PayloadKind,
        field: &'static str,
        payload: &mut Payload,
    ) -> Result<(), StoreError> {
        let of = PayloadContext { tenant: self.tenant, kind };
        let encoded = self.codec.encode(&of, payload.bytes().clone(), way);
        *payload = Payload::new(encoded.map_err(|why| self.error(field, &why))?);
        Ok(())
    }

    fn error(&self, field: &'static str, why: &CodecError) -> StoreError {
        StoreError::new(StoreErrorKind::Backend, self.operation, format!("{field}: {why}"))
    }
}

/// Returns the error for an unknown request. Such a request is refused, because it may hold a payload that
/// would pass unencoded.
pub(super) fn unknown(operation: &'static str) -> StoreError {
    StoreError::new(StoreErrorKind::Unsupported, operation, "the codec does not know this operation")
}
