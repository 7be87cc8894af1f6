//! Cursors: opaque positions in a log or a list. Callers keep them as text and pass them back.
//!
//! The text is lower-case hexadecimal: a kind byte, the fields, and a checksum. Parsing therefore refuses a text that
//! was truncated or changed by mistake. The checksum needs no secret, so it does not prevent forgery.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::StreamId;
use crate::ids::{Epoch, EventSeq, Incarnation};
use crate::payload::Digest;

/// The longest cursor text, in bytes. A longer text is refused before it is decoded.
pub const CURSOR_BYTES_MAX: usize = 2048;

const EVENTS: u8 = 1;
const PAGE: u8 = 2;
const CHECKSUM_BYTES: usize = 4;

/// The error for a text that is not a cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor: {0}")]
pub struct InvalidCursor(&'static str);

impl InvalidCursor {
    /// Returns an error with this reason. Used by parsers of other cursors, which contain [`EventCursor`]s.
    pub fn because(why: &'static str) -> Self {
        Self(why)
    }
}

/// A position in the event log of one incarnation, and in the stream of deltas that runs at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventCursor {
    /// The incarnation of the session. If none, the cursor is valid for any incarnation.
    incarnation: Option<Incarnation>,
    place: EventPlace,
}

/// The position of a reader within one incarnation of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct EventPlace {
    /// The place of the newest event that the reader has read; 0 before the first.
    pub after: EventSeq,
    /// The stream and the newest delta of it that the reader has read; none if the reader has read no delta
    /// of a running stream.
    pub within: Option<(StreamId, u64)>,
}

impl EventCursor {
    /// The position before the first event, in any incarnation.
    pub const START: Self =
        Self { incarnation: None, place: EventPlace { after: EventSeq(0), within: None } };

    /// Returns the position after event `after` of `incarnation`. Used by stores.
    pub fn after(incarnation: Incarnation, after: EventSeq) -> Self {
        Self::at(incarnation, EventPlace { after, within: None })
    }

    /// Returns the position `place` in `incarnation`. Used by stores.
    pub fn at(incarnation: Incarnation, place: EventPlace) -> Self {
        Self { incarnation: Some(incarnation), place }
    }

    /// Returns the incarnation that the cursor names, if any, and the position in it. Used by stores whose backend
    /// needs both.
    pub fn parts(&self) -> (Option<Incarnation>, EventPlace) {
        (self.incarnation, self.place)
    }

    /// Returns the position to continue from, or none if the cursor belongs to another incarnation. Used by
    /// stores.
    pub fn place_in(&self, incarnation: Incarnation) -> Option<EventPlace> {
        match self.incarnation {
            Some(own) if own != incarnation => None,
            Some(_) | None => Some(self.place),
        }
    }
}

impl fmt::Display for EventCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = vec![EVENTS];
        match self.incarnation {
            Some(incarnation) => {
                fields.extend_from_slice(incarnation.0.as_bytes());
                fields.extend_from_slice(&self.place.after.0.to_be_bytes());
                if let Some((stream, delta)) = self.place.within {
                    fields.extend_from_slice(&stream.run.0.to_be_bytes());
                    fields.extend_from_slice(&stream.number.to_be_bytes());
                    fields.extend_from_slice(&delta.to_be_bytes());
                }
            }
            None => fields.push(0),
        }
        f.write_str(&seal(&fields))
    }
}

impl FromStr for EventCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let fields = open(text, EVENTS)?;
        if fields == [0] {
            return Ok(Self::START);
        }
        let (id, rest) = fields.split_first_chunk::<16>().ok_or(InvalidCursor("too short"))?;
        let incarnation = Incarnation(Uuid::from_bytes(*id));
        let (after, rest) = rest.split_first_chunk().ok_or(InvalidCursor("too short"))?;
        let after = EventSeq(u64::from_be_bytes(*after));
        let within = if rest.is_empty() { None } else { Some(within(rest)?) };
        Ok(Self::at(incarnation, EventPlace { after, within }))
    }
}

fn within(fields: &[u8]) -> Result<(StreamId, u64), InvalidCursor> {
    let no_place = || InvalidCursor("no place");
    let (run, rest) = fields.split_first_chunk().ok_or_else(no_place)?;
    let (number, rest) = rest.split_first_chunk().ok_or_else(no_place)?;
    let delta = rest.try_into().map_err(|_| no_place())?;
    let stream = StreamId { run: Epoch(u64::from_be_bytes(*run)), number: u32::from_be_bytes(*number) };
    Ok((stream, u64::from_be_bytes(delta)))
}

impl Serialize for EventCursor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EventCursor {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A position in a list. It is valid only for the query that returned it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PageCursor(String);

impl PageCursor {
    /// Returns the cursor for `position`, in the store's own bytes, in the list of `query`. Used by stores.
    pub fn at(query: Digest, position: &[u8]) -> Self {
        let mut fields = vec![PAGE];
        fields.extend_from_slice(&query.0[..16]);
        fields.extend_from_slice(position);
        Self(seal(&fields))
    }

    /// Returns the position. Fails if the cursor belongs to another query. Used by stores.
    pub fn position_in(&self, query: Digest) -> Result<Vec<u8>, InvalidCursor> {
        let fields = open(&self.0, PAGE)?;
        match fields.split_at_checked(16) {
            Some((bound, position)) if bound == &query.0[..16] => Ok(position.to_vec()),
            Some(_) => Err(InvalidCursor("it belongs to another query")),
            None => Err(InvalidCursor("too short")),
        }
    }

    /// Returns the text of the cursor.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PageCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for PageCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        open(text, PAGE)?;
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for PageCursor {
    type Error = InvalidCursor;

    fn try_from(text: String) -> Result<Self, InvalidCursor> {
        text.parse()
    }
}

impl From<PageCursor> for String {
    fn from(cursor: PageCursor) -> Self {
        cursor.0
    }
}

fn seal(fields: &[u8]) -> String {
    let checksum = Digest::of(fields);
    let bytes = fields.iter().chain(&checksum.0[..CHECKSUM_BYTES]);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

fn open(text: &str, kind: u8) -> Result<Vec<u8>, InvalidCursor> {
    if text.len() > CURSOR_BYTES_MAX {
        return Err(InvalidCursor("too long"));
    }
    if !text.len().is_multiple_of(2)
        || !text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    {
        return Err(InvalidCursor("not lower-case hexadecimal"));
    }
    let digit = |b: u8| if b.is_ascii_digit() { b - b'0' } else { b - b'a' + 10 };
    let mut bytes: Vec<u8> =
        text.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect();
    let split = bytes.len().checked_sub(CHECKSUM_BYTES).ok_or(InvalidCursor("too short"))?;
    let checksum = bytes.split_off(split);
    if checksum != Digest::of(&bytes).0[..CHECKSUM_BYTES] {
        return Err(InvalidCursor("its checksum is wrong"));
    }
    match bytes.split_first() {
        Some((&first, fields)) if first == kind => Ok(fields.to_vec()),
        Some(_) => Err(InvalidCursor("it is of another kind")),
        None => Err(InvalidCursor("too short")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_cursor_reads_back_from_its_text() {
        let incarnation = Incarnation(Uuid::from_u128(7));
        let stream = StreamId { run: Epoch(3), number: 2 };
        let place = EventPlace { after: EventSeq(9), within: Some((stream, 5)) };
        let cursor = EventCursor::at(incarnation, place);
        for cursor in [EventCursor::START, EventCursor::after(incarnation, EventSeq(9)), cursor] {
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        assert_eq!(cursor.place_in(incarnation), Some(place));
        assert_eq!(cursor.place_in(Incarnation(Uuid::from_u128(8))), None);
    }

    #[test]
    fn a_text_that_is_no_cursor_is_refused() {
        let good = EventCursor::after(Incarnation(Uuid::from_u128(7)), EventSeq(9)).to_string();
        let page = PageCursor::at(Digest::of(b"q"), b"p").to_string();
        for bad in [
            "",
            "0",
            "zz",
            "é0",
            &seal(&[EVENTS; 30]),
            &good[..good.len() - 2],
            &good.replace('9', "8"),
            &page,
            &"00".repeat(2000),
        ] {
            assert!(bad.parse::<EventCursor>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_page_cursor_is_bound_to_its_query() {
        let cursor = PageCursor::at(Digest::of(b"q"), b"place");
        assert_eq!(cursor.position_in(Digest::of(b"q")), Ok(b"place".to_vec()));
        assert!(cursor.position_in(Digest::of(b"other")).is_err());
        let text = serde_json::to_value(&cursor).unwrap();
        assert_eq!(text, cursor.as_str());
        assert_eq!(serde_json::from_value::<PageCursor>(text).unwrap(), cursor);
        assert!(serde_json::from_str::<PageCursor>("\"00\"").is_err());
        assert_eq!(cursor.as_str().parse(), Ok(cursor));
    }
}
