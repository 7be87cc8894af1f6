//! Checks that refuse arguments that are too large or make no sense, before the store reads or changes
//! anything (INV-38).

use std::time::Duration;

use crate::payload::Payload;
use crate::{
    Capabilities, ClaimOne, Commit, DeltaBatch, InboxItem, Interrupt, ItemKind, LEASE_MAX, Labels, NewFork,
    NewSession, Staging, Start, StoreError, StoreErrorKind,
};

/// The limits of one call, from the store's capabilities. They are the same for every write:
///
/// - Each payload, and the reason of an interrupt, has at most `payload_bytes_max` bytes. A layer that keeps
///   the reason as encoded text may allow less for the reason, but at least half of that.
/// - All payloads of the call together have at most `commit_bytes_max` bytes. Only the payloads that the call
///   carries count. A staged result that a commit promotes and the prefix that a fork copies do not.
///
/// A lease is at most [`LEASE_MAX`] long.
///
/// Larger calls fail with [`TooLarge`](StoreErrorKind::TooLarge), and calls that make no sense with
/// [`InvalidArgument`](StoreErrorKind::InvalidArgument). Both are refused before anything is read or changed. The error
/// names the operation and, unless the sum is too large, the field.
#[derive(Debug)]
pub struct Limits<'a> {
    capabilities: &'a Capabilities,
    operation: &'static str,
    total: usize,
}

impl<'a> Limits<'a> {
    /// Returns the limits for `operation`, the name of a method of [`StateStore`](crate::StateStore).
    pub fn of(capabilities: &'a Capabilities, operation: &'static str) -> Self {
        Self { capabilities, operation, total: 0 }
    }

    /// Returns the number of rows to read: `asked`, but at most `most`. Refuses 0.
    pub fn rows(operation: &'static str, asked: u32, most: u32) -> Result<u32, StoreError> {
        match asked {
            0 => Err(StoreError::invalid(operation, "limit: 0 asks for nothing")),
            asked => Ok(asked.min(most)),
        }
    }

    /// Adds `payload` to the sum. Fails if the payload or the sum is too large.
    pub fn take(&mut self, field: &str, payload: &Payload) -> Result<(), StoreError> {
        self.take_bytes(field, payload.len())
    }

    fn take_bytes(&mut self, field: &str, bytes: usize) -> Result<(), StoreError> {
        let most = self.capabilities.payload_bytes_max;
        if bytes > most {
            return Err(self.too_large(format!("{field} has {bytes} bytes, at most {most} are allowed")));
        }
        self.total = self.total.saturating_add(bytes);
        let (total, most) = (self.total, self.capabilities.commit_bytes_max);
        if total > most {
            let detail = format!("its payloads have {total} bytes together, at most {most} are allowed");
            return Err(self.too_large(detail));
        }
        Ok(())
    }

    /// Refuses a delivery that is too large, or whose kind is [`Other`](crate::ItemKind::Other) under the
    /// name of a known kind.
    pub fn delivery(mut self, item: &InboxItem) -> Result<(), StoreError> {
        self.kind("kind", &item.kind)?;
        self.take("payload", &item.payload)
    }

    fn kind(&self, field: &str, kind: &ItemKind) -> Result<(), StoreError> {
        match kind.is_itself() {
            true => Ok(()),
            false => Err(StoreError::invalid(
                self.operation,
                format!("{field}: {} is no other kind", kind.as_str()),
            )),
        }
    }

    /// Refuses items of a creation, a claim or a move if they are too large, are answers, or have the kind
    /// [`Other`](crate::ItemKind::Other) under the name of a known kind.
    pub fn items(&mut self, items: &[InboxItem]) -> Result<(), StoreError> {
        for item in items {
            if let ItemKind::Answer { .. } = item.kind {
                let detail =
                    format!("items {}: an answer is delivered, it does not come with a move", item.key);
                return Err(StoreError::invalid(self.operation, detail));
            }
            self.kind("items", &item.kind)?;
            self.take("items", &item.payload)?;
        }
        Ok(())
    }

    /// Refuses a claim whose lease is too long, or whose items are refused by [`items`](Self::items).
    pub fn claim(&mut self, claim: &ClaimOne) -> Result<(), StoreError> {
        self.lease(claim.lease)?;
        self.items(&claim.items)
    }

    /// Refuses a lease that is longer than [`LEASE_MAX`].
    pub fn lease(&self, lease: Duration) -> Result<(), StoreError> {
        if lease <= LEASE_MAX {
            return Ok(());
        }
        let (ms, most) = (lease.as_millis(), LEASE_MAX.as_millis());
        let detail = format!("lease: it is {ms} ms long, at most {most} ms are allowed");
        Err(StoreError::invalid(self.operation, detail))
    }

    /// Refuses results that are too large, each alone or all together.
    pub fn staging(mut self, staging: &Staging) -> Result<(), StoreError> {
        staging.results.iter().try_for_each(|result| self.take("results", &result.payload))
    }

    /// Refuses a commit that is too large. [`Commit::check`] also refuses a commit that makes no sense.
    pub fn commit(mut self, commit: &Commit) -> Result<(), StoreError> {
        commit.payloads().try_for_each(|(field, payload)| self.take(field, payload))
    }

    /// Refuses deltas that are too large. [`DeltaBatch::check`] also refuses a batch that makes no sense.
    pub fn deltas(mut self, batch: &DeltaBatch) -> Result<(), StoreError> {
        batch.deltas.iter().try_for_each(|delta| self.take("deltas", delta))
    }

    /// Refuses an interrupt whose reason is too large.
    pub fn interrupt(mut self, interrupt: &Interrupt) -> Result<(), StoreError> {
        self.take_bytes("reason", interrupt.reason.len())
    }

    /// Refuses a creation that is too large, that has too many or too long labels, whose claim or items are refused,
    /// or that has an item for another incarnation.
    pub fn creation(mut self, new: &NewSession) -> Result<(), StoreError> {
        self.labels(&new.labels)?;
        self.take("definition", &new.definition)?;
        self.items(&new.items)?;
        let foreign = |item: &InboxItem| item.incarnation.is_some_and(|named| named != new.incarnation);
        let claimed = match &new.start {
            Start::Claimed(claim) => {
                self.claim(claim)?;
                claim.items.as_slice()
            }
            Start::WithItems | Start::At(_) => &[],
        };
        match new.items.iter().chain(claimed).find(|item| foreign(item)) {
            Some(item) => {
                let detail = format!("items {}: is meant for another incarnation", item.key);
                Err(StoreError::invalid(self.operation, detail))
            }
            None => Ok(()),
        }
    }

    /// Refuses a fork that is too large, or that has too many or too long labels.
    pub fn fork(mut self, new: &NewFork) -> Result<(), StoreError> {
        self.labels(&new.labels)?;
        new.payloads().try_for_each(|(field, payload)| self.take(field, payload))
    }

    fn labels(&self, labels: &Labels) -> Result<(), StoreError> {
        let (count, most) = (labels.0.len(), Labels::LABELS_MAX);
        if count > most {
            return Err(self.too_large(format!("labels: there are {count}, at most {most} are allowed")));
        }
        let most = Labels::TEXT_BYTES_MAX;
        match labels.0.iter().find(|(name, value)| name.len() > most || value.len() > most) {
            Some(_) => Err(self.too_large(format!("labels: a text has more than {most} bytes"))),
            None => Ok(()),
        }
    }

    fn too_large(&self, detail: String) -> StoreError {
        StoreError::new(StoreErrorKind::TooLarge, self.operation, detail)
    }
}
