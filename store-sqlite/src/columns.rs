//! Reads the columns of a row from left to right, as typed values. An unreadable value gives an error,
//! [`Fault::Corrupt`], and never a panic.

use std::fmt::Display;

use holdover_store::ids::Incarnation;
use holdover_store::payload::{Digest, Payload};
use holdover_store::time::Timestamp;
use rusqlite::Row;
use rusqlite::types::FromSql;
use uuid::Uuid;

use crate::error::Fault;

pub(crate) struct Columns<'r> {
    row: &'r Row<'r>,
    next: usize,
}

impl<'r> Columns<'r> {
    pub(crate) fn of(row: &'r Row<'r>) -> Self {
        Self { row, next: 0 }
    }

    fn take<T: FromSql>(&mut self) -> Result<T, Fault> {
        let at = self.next;
        self.next += 1;
        self.row.get(at).map_err(|error| Fault::Corrupt(format!("{}: {error}", self.name(at))))
    }

    fn name(&self, at: usize) -> &str {
        self.row.as_ref().column_name(at).unwrap_or("a missing column")
    }

    fn check<T, E: Display>(&self, read: Result<T, E>) -> Result<T, Fault> {
        read.map_err(|error| Fault::Corrupt(format!("{}: {error}", self.name(self.next - 1))))
    }

    pub(crate) fn int(&mut self) -> Result<i64, Fault> {
        self.take()
    }

    pub(crate) fn int_or_null(&mut self) -> Result<Option<i64>, Fault> {
        self.take()
    }

    /// Reads a number of an unsigned type.
    pub(crate) fn count<T: TryFrom<i64, Error: Display>>(&mut self) -> Result<T, Fault> {
        let value: i64 = self.take()?;
        self.check(T::try_from(value))
    }

    pub(crate) fn count_or_null<T: TryFrom<i64, Error: Display>>(&mut self) -> Result<Option<T>, Fault> {
        let value: Option<i64> = self.take()?;
        self.check(value.map(T::try_from).transpose())
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Fault> {
        Ok(self.int()? != 0)
    }

    pub(crate) fn at(&mut self) -> Result<Timestamp, Fault> {
        self.int().map(Timestamp::from_ms)
    }

    pub(crate) fn at_or_null(&mut self) -> Result<Option<Timestamp>, Fault> {
        Ok(self.int_or_null()?.map(Timestamp::from_ms))
    }

    pub(crate) fn text(&mut self) -> Result<String, Fault> {
        self.take()
    }

    pub(crate) fn text_or_null(&mut self) -> Result<Option<String>, Fault> {
        self.take()
    }

    /// Reads an id and checks the rules for every id.
    pub(crate) fn id<T: TryFrom<String, Error: Display>>(&mut self) -> Result<T, Fault> {
        let text = self.text()?;
        self.check(T::try_from(text))
    }

    pub(crate) fn id_or_null<T: TryFrom<String, Error: Display>>(&mut self) -> Result<Option<T>, Fault> {
        let text = self.text_or_null()?;
        self.check(text.map(T::try_from).transpose())
    }

    /// Reads a word and converts it with `from_wire`, which returns none for an unknown word.
    pub(crate) fn word<T>(&mut self, from_wire: impl Fn(&str) -> Option<T>) -> Result<T, Fault> {
        let text = self.text()?;
        self.check(from_wire(&text).ok_or_else(|| format!("unknown word {text:?}")))
    }

    pub(crate) fn word_or_null<T>(
        &mut self,
        from_wire: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        let Some(text) = self.text_or_null()? else { return Ok(None) };
        self.check(from_wire(&text).ok_or_else(|| format!("unknown word {text:?}")).map(Some))
    }

    /// Reads a value that is stored as JSON.
    pub(crate) fn record_or_null<T: serde::de::DeserializeOwned>(&mut self) -> Result<Option<T>, Fault> {
        let text = self.text_or_null()?;
        self.check(text.map(|text| serde_json::from_str(&text)).transpose())
    }

    pub(crate) fn incarnation(&mut self) -> Result<Incarnation, Fault> {
        let bytes: Vec<u8> = self.take()?;
        self.check(Uuid::from_slice(&bytes)).map(Incarnation)
    }

    pub(crate) fn digest(&mut self) -> Result<Digest, Fault> {
        let bytes: Vec<u8> = self.take()?;
        self.digest_of(bytes)
    }

    /// Reads a digest column and the payload column after it, and checks one against the other.
    pub(crate) fn payload(&mut self) -> Result<Payload, Fault> {
        let digest = self.digest()?;
        let bytes: Vec<u8> = self.take()?;
        self.check(Payload::from_stored(bytes, digest))
    }

    pub(crate) fn payload_or_null(&mut self) -> Result<Option<Payload>, Fault> {
        let digest: Option<Vec<u8>> = self.take()?;
        let bytes: Option<Vec<u8>> = self.take()?;
        match (digest, bytes) {
            (Some(digest), Some(bytes)) => {
                let digest = self.digest_of(digest)?;
                self.check(Payload::from_stored(bytes, digest)).map(Some)
            }
            (None, None) => Ok(None),
            (Some(_), None) | (None, Some(_)) => Err(Fault::Corrupt(format!(
                "{}: payload and digest do not go together",
                self.name(self.next - 1)
            ))),
        }
    }

    fn digest_of(&self, bytes: Vec<u8>) -> Result<Digest, Fault> {
        let bytes: Result<[u8; 32], _> = bytes.try_into();
        self.check(bytes.map_err(|_| "a digest has 32 bytes")).map(Digest)
    }
}

/// Converts a number to SQLite's integer type; a number above `i64::MAX` becomes `i64::MAX`. Stored sequences,
/// versions and epochs never come near that limit, so a larger number from a caller lies beyond every stored row.
pub(crate) fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
