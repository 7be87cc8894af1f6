//! Deltas: pieces of a model's answer, stored while the model writes it. They are provisional and are not
//! part of the event log.
//!
//! A session keeps only the deltas of the stream that runs. The next stream replaces them. The commit of the
//! message, a release and a claim remove them. Nothing else in the session depends on deltas.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::rules::Limits;
use super::{Capabilities, Receipt, StoreError};
use crate::ids::Epoch;
use crate::payload::Payload;

const OPERATION: &str = "append_deltas";

/// The id of a stream: the deltas that one run appends for one model call, or for the calls of one step.
/// Later streams of a session have greater ids, so a takeover never continues the numbers of a dead attempt.
/// The text of a stream id is `RUN.NUMBER`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StreamId {
    /// The run that appends the stream.
    pub run: Epoch,
    /// The number of the stream in the run, from 1.
    pub number: u32,
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.run, self.number)
    }
}

/// The error for a text that is not a stream id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a stream: write RUN.NUMBER")]
pub struct InvalidStreamId;

impl FromStr for StreamId {
    type Err = InvalidStreamId;

    fn from_str(text: &str) -> Result<Self, InvalidStreamId> {
        let (run, number) = text.split_once('.').ok_or(InvalidStreamId)?;
        let run = Epoch(run.parse().map_err(|_| InvalidStreamId)?);
        Ok(Self { run, number: number.parse().map_err(|_| InvalidStreamId)? })
    }
}

impl TryFrom<String> for StreamId {
    type Error = InvalidStreamId;

    fn try_from(text: String) -> Result<Self, InvalidStreamId> {
        text.parse()
    }
}

impl From<StreamId> for String {
    fn from(id: StreamId) -> Self {
        id.to_string()
    }
}

/// Deltas to append, in this order, to a stream of the run that holds the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeltaBatch {
    /// The number of the stream in the run, from 1. A stream with a greater number replaces the stream before
    /// it.
    pub stream: u32,
    /// The place of the batch's first delta in the stream, from 1. Deltas that are already stored do not
    /// change, so the caller may repeat a batch whose acknowledgement was lost.
    pub first: u64,
    /// The deltas; at least one.
    pub deltas: Vec<Payload>,
}

impl DeltaBatch {
    /// Refuses a batch that no store could keep: one without a delta, with a number of 0, or with a payload
    /// or a total size larger than `capabilities` allow. The error names the field.
    pub fn check(&self, capabilities: &Capabilities) -> Result<(), StoreError> {
        if self.deltas.is_empty() {
            return Err(StoreError::invalid(OPERATION, "deltas: there are none"));
        }
        if self.stream == 0 || self.first == 0 {
            let field = if self.stream == 0 { "stream" } else { "first" };
            return Err(StoreError::invalid(OPERATION, format!("{field}: numbers begin with 1")));
        }
        Limits::of(capabilities, OPERATION).deltas(self)
    }
}

/// The answer to [`append_deltas`](super::StateStore::append_deltas).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeltaOutcome {
    /// All deltas are stored, by this write or by an earlier one.
    Appended(Receipt),
    /// The stream has ended: its message was committed, or a later stream began. Nothing was changed.
    Ended,
    /// The batch would leave a gap. Nothing was changed.
    Gap {
        /// The place that the next delta of the stream must have.
        expected: u64,
    },
    /// Another run owns the session now, or the session was released or deleted. Nothing was changed.
    StaleFence,
}

/// A stored delta.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDelta {
    /// The place of the delta in its stream, from 1.
    pub place: u64,
    /// The bytes of the delta.
    pub payload: Payload,
}

/// The part of a page of events that holds deltas of the stream that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeltaPage {
    /// The stream that runs. If the reader was in another stream, that stream has ended. Discard the deltas
    /// of that stream, unless an event shows that its message was committed.
    pub stream: StreamId,
    /// The deltas after the reader's place in this stream. If the reader was not in this stream, they begin
    /// with the first.
    pub deltas: Vec<StoredDelta>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_reads_back_from_its_text_and_later_ones_are_greater() {
        let id = StreamId { run: Epoch(12), number: 3 };
        assert_eq!((id.to_string().as_str(), "12.3".parse()), ("12.3", Ok(id)));
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"12.3\"");
        assert!(StreamId { run: Epoch(13), number: 1 } > id && id > StreamId { run: Epoch(12), number: 2 });
        for bad in ["", "1", ".", "1.", ".1", "1.2.3", "-1.2", "1.4294967296"] {
            assert!(bad.parse::<StreamId>().is_err(), "{bad}");
        }
    }
}
