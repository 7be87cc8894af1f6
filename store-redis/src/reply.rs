//! Parses the answers of scripts.
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "Redis may answer, push or fail in ways that are not known yet"
)]

use bytes::Bytes;
use holdover_store::ids::{Incarnation, InvalidId};
use holdover_store::payload::{Digest, Payload};
use holdover_store::time::Timestamp;
use redis::Value;
use uuid::Uuid;

use crate::error::Fault;

const DIGEST_BYTES: usize = 32;

/// A list in an answer, read from its start.
#[derive(Debug)]
pub(crate) struct Reply(std::vec::IntoIter<Value>);

impl Reply {
    pub(crate) fn new(value: Value) -> Result<Self, Fault> {
        match value {
            Value::Array(values) => Ok(Self(values.into_iter())),
            _ => Err(Fault::Corrupt("the answer is no list".into())),
        }
    }

    pub(crate) fn left(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn value(&mut self) -> Result<Value, Fault> {
        self.0.next().ok_or_else(|| Fault::Corrupt("the answer is cut short".into()))
    }

    pub(crate) fn bytes(&mut self) -> Result<Bytes, Fault> {
        match self.value()? {
            Value::BulkString(bytes) => Ok(bytes.into()),
            Value::SimpleString(text) => Ok(text.into()),
            Value::Int(number) => Ok(number.to_string().into()),
            _ => Err(Fault::Corrupt("the answer holds no text".into())),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, Fault> {
        text(&self.bytes()?)
    }

    /// Reads a text, if there is one.
    pub(crate) fn optional_text(&mut self) -> Result<Option<String>, Fault> {
        match self.value()? {
            Value::Nil => Ok(None),
            value => Self(vec![value].into_iter()).text().map(Some),
        }
    }

    pub(crate) fn number(&mut self) -> Result<u64, Fault> {
        number(&self.bytes()?)
    }

    pub(crate) fn boolean(&mut self) -> Result<bool, Fault> {
        Ok(self.bytes()?.as_ref() == b"1")
    }

    pub(crate) fn list(&mut self) -> Result<Self, Fault> {
        let value = self.value()?;
        Self::new(value)
    }

    /// Reads all remaining values as texts.
    pub(crate) fn texts(mut self) -> Result<Vec<Bytes>, Fault> {
        let mut texts = Vec::with_capacity(self.left());
        while self.left() > 0 {
            texts.push(self.bytes()?);
        }
        Ok(texts)
    }

    /// Reads a list of alternating names and values.
    pub(crate) fn pairs(&mut self) -> Result<Vec<(Bytes, Bytes)>, Fault> {
        let mut list = self.list()?;
        let mut pairs = Vec::with_capacity(list.left() / 2);
        while list.left() > 0 {
            pairs.push((list.bytes()?, list.bytes()?));
        }
        Ok(pairs)
    }
}

pub(crate) fn text(bytes: &[u8]) -> Result<String, Fault> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(Fault::Corrupt("a stored text is not UTF-8".into())),
    }
}

pub(crate) fn number(bytes: &[u8]) -> Result<u64, Fault> {
    let text = text(bytes)?;
    text.parse().map_err(|_| Fault::Corrupt(format!("{text:?} is stored where a number belongs")))
}

pub(crate) fn small(bytes: &[u8]) -> Result<u32, Fault> {
    let number = number(bytes)?;
    u32::try_from(number).map_err(|_| Fault::Corrupt(format!("{number} is stored where a u32 belongs")))
}

pub(crate) fn instant(bytes: &[u8]) -> Result<Timestamp, Fault> {
    let text = text(bytes)?;
    let ms = text.parse().map_err(|_| Fault::Corrupt(format!("{text:?} is stored where an instant belongs")));
    ms.map(Timestamp::from_ms)
}

pub(crate) fn optional_instant(bytes: &[u8]) -> Result<Option<Timestamp>, Fault> {
    if bytes.is_empty() || bytes == b"-" { Ok(None) } else { instant(bytes).map(Some) }
}

pub(crate) fn incarnation(bytes: &[u8]) -> Result<Incarnation, Fault> {
    let text = text(bytes)?;
    let id = Uuid::parse_str(&text).map_err(|_| Fault::Corrupt(format!("{text:?} is no incarnation")));
    id.map(Incarnation)
}

/// Reads a text id of any kind.
pub(crate) fn id<T: TryFrom<String, Error = InvalidId>>(bytes: &[u8]) -> Result<T, Fault> {
    T::try_from(text(bytes)?).map_err(|why| Fault::Corrupt(format!("a stored id: {why}")))
}

/// Reads a word and converts it with `from_wire`, which returns none for an unknown word.
pub(crate) fn word<T>(bytes: &[u8], from_wire: impl Fn(&str) -> Option<T>) -> Result<T, Fault> {
    let text = text(bytes)?;
    from_wire(&text).ok_or_else(|| Fault::Corrupt(format!("{text:?} is stored where another word belongs")))
}

/// Reads a payload that follows its digest.
pub(crate) fn payload(mut sealed: Bytes) -> Result<Payload, Fault> {
    if sealed.len() < 32 {
        return Err(Fault::Corrupt(format!("a payload of {} bytes has no digest", sealed.len())));
    }
    let bytes = sealed.split_off(32);
    let mut digest = [0; 32];
    digest.copy_from_slice(&sealed);
    Payload::from_stored(bytes, Digest(digest)).map_err(|why| Fault::Corrupt(why.to_string()))
}

/// Reads an instant and the payload that follows it.
pub(crate) fn dated(mut stored: Bytes) -> Result<(Timestamp, Payload), Fault> {
    let Some(colon) = stored.iter().take(20).position(|byte| *byte == b':') else {
        return Err(Fault::Corrupt("a stored record has no date".into()));
    };
    let sealed = stored.split_off(colon + 1);
    let at = stored.get(..colon).unwrap_or_default();
    Ok((instant(at)?, payload(sealed)?))
}

/// Joins texts into one, each after its length.
pub(crate) fn pack<T: AsRef<[u8]>>(texts: &[T]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(texts.iter().map(|text| text.as_ref().len() + 4).sum());
    for text in texts {
        packed.extend_from_slice(format!("{}:", text.as_ref().len()).as_bytes());
        packed.extend_from_slice(text.as_ref());
    }
    packed
}

/// Returns the stored form of a payload: its digest, then its bytes.
pub(crate) fn sealed(payload: &Payload) -> Vec<u8> {
    let mut sealed = Vec::with_capacity(DIGEST_BYTES + payload.len());
    sealed.extend_from_slice(&payload.digest().0);
    sealed.extend_from_slice(payload.bytes());
    sealed
}

/// Returns the stored form of a dated payload: the instant at which it was appended, its digest, then its bytes.
pub(crate) fn dated_of(at: Timestamp, payload: &Payload) -> Vec<u8> {
    let mut dated = format!("{}:", at.as_ms()).into_bytes();
    dated.extend_from_slice(&payload.digest().0);
    dated.extend_from_slice(payload.bytes());
    dated
}

/// Several texts in one, each after its length.
#[derive(Debug)]
pub(crate) struct Packed(Bytes);

impl Packed {
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn next(&mut self) -> Result<Bytes, Fault> {
        let torn = || Fault::Corrupt("a stored record is torn".into());
        let colon = self.0.iter().take(20).position(|byte| *byte == b':').ok_or_else(torn)?;
        let length = usize::try_from(number(self.0.get(..colon).ok_or_else(torn)?)?).map_err(|_| torn())?;
        let mut field = self.0.split_off(colon + 1);
        if field.len() < length {
            return Err(torn());
        }
        self.0 = field.split_off(length);
        Ok(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_torn_is_corrupt_and_never_a_panic() {
        let all = |bytes: &'static [u8]| {
            let mut packed = Packed::new(Bytes::from_static(bytes));
            (packed.next(), packed.next())
        };
        let (first, second) = all(b"2:a:0:");
        assert_eq!((first.unwrap(), second.unwrap()), (Bytes::from("a:"), Bytes::new()));
        for torn in [&b""[..], b"2", b"2:a", b":", b"-1:", b"99999999999999999999:a", b"x:"] {
            assert!(all(Box::leak(torn.to_vec().into_boxed_slice())).0.is_err(), "{torn:?}");
        }
        assert!(payload(Bytes::from_static(b"short")).is_err());
        assert!(payload(Bytes::from(vec![0; 40])).is_err());
        assert!(dated(Bytes::from_static(b"12")).is_err());
    }
}
