//! What a script is given: bytes in a row, in the order in which it reads them.

use std::time::Duration;

use holdover_store::ids::Incarnation;
use holdover_store::payload::Payload;
use holdover_store::time::Timestamp;
use holdover_store::{InboxItem, ItemKind, TimeRange, Wake};

use crate::error::Fault;

/// No stored number reaches this; a script computes with doubles, which are exact below it.
pub(crate) const BEYOND: u64 = 1 << 53;

/// The arguments of one call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Args(Vec<Vec<u8>>);

impl Args {
    pub(crate) fn list(&self) -> &[Vec<u8>] {
        &self.0
    }

    pub(crate) fn bytes(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.0.push(bytes.into());
        self
    }

    pub(crate) fn text(self, text: impl AsRef<str>) -> Self {
        self.bytes(text.as_ref())
    }

    /// An id; nothing if none, since no id is empty.
    pub(crate) fn optional(self, text: Option<impl AsRef<str>>) -> Self {
        match text {
            Some(text) => self.text(text),
            None => self.bytes([]),
        }
    }

    /// A number or a place in a sequence. What lies beyond every stored number stays beyond it.
    pub(crate) fn number(self, number: impl Into<u64>) -> Self {
        self.text(number.into().min(BEYOND).to_string())
    }

    pub(crate) fn optional_number(self, number: Option<u64>) -> Self {
        match number {
            Some(number) => self.number(number),
            None => self.bytes([]),
        }
    }

    pub(crate) fn size(self, size: usize) -> Self {
        self.number(u64::try_from(size).unwrap_or(BEYOND))
    }

    pub(crate) fn boolean(self, value: bool) -> Self {
        self.text(if value { "1" } else { "0" })
    }

    /// How long; the last instant there is bounds what it is added to.
    pub(crate) fn duration(self, duration: Duration) -> Self {
        self.number(u64::try_from(duration.as_millis()).unwrap_or(BEYOND))
    }

    /// An instant that is kept. Refused beyond what a script computes exactly.
    pub(crate) fn instant(self, field: &str, at: Timestamp) -> Result<Self, Fault> {
        if at.as_ms().unsigned_abs() >= BEYOND {
            return Err(Fault::Invalid(format!("{field}: {at} lies beyond what Redis keeps exactly")));
        }
        Ok(self.text(at.as_ms().to_string()))
    }

    pub(crate) fn optional_instant(self, field: &str, at: Option<Timestamp>) -> Result<Self, Fault> {
        match at {
            Some(at) => self.instant(field, at),
            None => Ok(self.bytes([])),
        }
    }

    /// An instant that stored ones are compared with.
    pub(crate) fn bound(self, at: Timestamp) -> Self {
        let last = i64::try_from(BEYOND).unwrap_or(i64::MAX) - 1;
        self.text(at.as_ms().clamp(-last, last).to_string())
    }

    /// A range that stored instants are compared with.
    pub(crate) fn range(self, range: TimeRange) -> Self {
        let bound = |this: Self, at: Option<Timestamp>| match at {
            Some(at) => this.bound(at),
            None => this.bytes([]),
        };
        bound(bound(self, range.since), range.before)
    }

    pub(crate) fn incarnation(self, incarnation: Incarnation) -> Self {
        self.text(incarnation.to_string())
    }

    pub(crate) fn optional_incarnation(self, incarnation: Option<Incarnation>) -> Self {
        self.optional(incarnation.map(|incarnation| incarnation.to_string()))
    }

    /// The digest, then the bytes.
    pub(crate) fn payload(self, payload: &Payload) -> Self {
        self.bytes(sealed(payload))
    }

    pub(crate) fn optional_payload(self, payload: Option<&Payload>) -> Self {
        match payload {
            Some(payload) => self.payload(payload),
            None => self.bytes([]),
        }
    }

    /// How many, then each.
    pub(crate) fn each<T>(
        self,
        list: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
        put: impl Fn(Self, T) -> Self,
    ) -> Self {
        let list = list.into_iter();
        let this = self.size(list.len());
        list.fold(this, put)
    }

    pub(crate) fn item(self, item: &InboxItem) -> Self {
        let (wake, pending, settles) = match &item.kind {
            ItemKind::Message { wake } | ItemKind::Signal { wake } => (wake_name(*wake), None, false),
            ItemKind::Answer { pending, settles } => ("", Some(pending.as_str()), *settles),
        };
        self.text(item.key.as_str())
            .text(item.kind.as_str())
            .text(wake)
            .optional(pending)
            .boolean(settles)
            .optional_incarnation(item.incarnation)
            .bytes(item.digest().0)
            .payload(&item.payload)
    }
}

fn sealed(payload: &Payload) -> Vec<u8> {
    let mut sealed = Vec::with_capacity(32 + payload.len());
    sealed.extend_from_slice(&payload.digest().0);
    sealed.extend_from_slice(payload.bytes());
    sealed
}

fn wake_name(wake: Wake) -> &'static str {
    match wake {
        Wake::Now => "now",
        Wake::Count => "count",
        Wake::Quiet => "quiet",
    }
}
