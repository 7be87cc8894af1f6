//! Reads a row from left to right, as typed values. What cannot be read is a corrupt record, never a panic.

use std::fmt::Display;

use holdover_store::ids::Incarnation;
use holdover_store::payload::{Digest, Payload};
use holdover_store::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{Column, Decode, Postgres, Row, Type};
use uuid::Uuid;

use crate::error::Fault;

pub(crate) struct Columns<'r> {
    row: &'r PgRow,
    next: usize,
}

impl<'r> Columns<'r> {
    pub(crate) fn of(row: &'r PgRow) -> Self {
        Self { row, next: 0 }
    }

    /// The first row of an answer that has one.
    pub(crate) fn first(rows: &'r [PgRow]) -> Result<Self, Fault> {
        rows.first().map(Self::of).ok_or_else(|| Fault::Corrupt("the database answered nothing".into()))
    }

    fn take<T: Decode<'r, Postgres> + Type<Postgres>>(&mut self) -> Result<T, Fault> {
        let at = self.next;
        self.next += 1;
        self.row.try_get(at).map_err(|error| Fault::Corrupt(format!("{}: {error}", self.name(at))))
    }

    fn name(&self, at: usize) -> &str {
        self.row.columns().get(at).map_or("a missing column", |column| column.name())
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

    /// A number that is never negative.
    pub(crate) fn count<T: TryFrom<i64, Error: Display>>(&mut self) -> Result<T, Fault> {
        let value: i64 = self.take()?;
        self.check(T::try_from(value))
    }

    pub(crate) fn count_or_null<T: TryFrom<i64, Error: Display>>(&mut self) -> Result<Option<T>, Fault> {
        let value: Option<i64> = self.take()?;
        self.check(value.map(T::try_from).transpose())
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Fault> {
        self.take()
    }

    pub(crate) fn flag_or_null(&mut self) -> Result<Option<bool>, Fault> {
        self.take()
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

    pub(crate) fn bytes_or_null(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        self.take()
    }

    /// An id, checked again as it was when it came in.
    pub(crate) fn id<T: TryFrom<String, Error: Display>>(&mut self) -> Result<T, Fault> {
        let text = self.text()?;
        self.check(T::try_from(text))
    }

    pub(crate) fn id_or_null<T: TryFrom<String, Error: Display>>(&mut self) -> Result<Option<T>, Fault> {
        let text = self.text_or_null()?;
        self.check(text.map(T::try_from).transpose())
    }

    /// A word of one of the contract's closed lists.
    pub(crate) fn word<T>(&mut self, from_wire: impl Fn(&str) -> Option<T>) -> Result<T, Fault> {
        let text = self.text()?;
        self.check(from_wire(&text).ok_or_else(|| unknown(&text)))
    }

    pub(crate) fn word_or_null<T>(
        &mut self,
        from_wire: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        let Some(text) = self.text_or_null()? else { return Ok(None) };
        self.check(from_wire(&text).ok_or_else(|| unknown(&text)).map(Some))
    }

    pub(crate) fn incarnation(&mut self) -> Result<Incarnation, Fault> {
        let bytes: Vec<u8> = self.take()?;
        self.check(Uuid::from_slice(&bytes)).map(Incarnation)
    }

    pub(crate) fn incarnation_or_null(&mut self) -> Result<Option<Incarnation>, Fault> {
        let bytes = self.bytes_or_null()?;
        self.check(bytes.map(|bytes| Uuid::from_slice(&bytes).map(Incarnation)).transpose())
    }

    /// A digest column and the payload column after it, checked against each other.
    pub(crate) fn payload(&mut self) -> Result<Payload, Fault> {
        let payload = self.payload_or_null()?;
        self.check(payload.ok_or("it is missing"))
    }

    pub(crate) fn payload_or_null(&mut self) -> Result<Option<Payload>, Fault> {
        let (digest, bytes) = (self.bytes_or_null()?, self.bytes_or_null()?);
        match (digest, bytes) {
            (Some(digest), Some(bytes)) => self.check(payload(digest, bytes)).map(Some),
            (None, None) => Ok(None),
            (Some(_), None) | (None, Some(_)) => self.check(Err("payload and digest do not go together")),
        }
    }

    /// An array; empty if there is none.
    pub(crate) fn list<T>(&mut self) -> Result<std::vec::IntoIter<T>, Fault>
    where
        Vec<T>: Decode<'r, Postgres> + Type<Postgres>,
    {
        Ok(self.take::<Option<Vec<T>>>()?.unwrap_or_default().into_iter())
    }

    /// An array of digests and the array of payloads after it, checked against each other.
    pub(crate) fn payloads(&mut self) -> Result<std::vec::IntoIter<Payload>, Fault> {
        let digests = self.list::<Vec<u8>>()?;
        let bytes = self.list::<Vec<u8>>()?;
        if digests.len() != bytes.len() {
            return self.check(Err("payloads and digests do not go together"));
        }
        let payloads: Result<Vec<_>, _> =
            digests.zip(bytes).map(|(digest, bytes)| payload(digest, bytes)).collect();
        Ok(self.check(payloads)?.into_iter())
    }
}

fn payload(digest: Vec<u8>, bytes: Vec<u8>) -> Result<Payload, String> {
    let digest: [u8; 32] = digest.try_into().map_err(|_| "a digest has 32 bytes".to_owned())?;
    Payload::from_stored(bytes, Digest(digest)).map_err(|error| error.to_string())
}

pub(crate) fn unknown(word: &str) -> String {
    format!("unknown word {word:?}")
}

/// An id out of an array.
pub(crate) fn id<T: TryFrom<String, Error: Display>>(
    text: Option<String>,
    column: &'static str,
) -> Result<T, Fault> {
    let text = next(text, column)?;
    T::try_from(text).map_err(|error| Fault::Corrupt(format!("{column}: {error}")))
}

/// The next value of one of several arrays that go together.
pub(crate) fn next<T>(value: Option<T>, column: &'static str) -> Result<T, Fault> {
    value.ok_or_else(|| Fault::Corrupt(format!("{column}: the arrays do not go together")))
}

/// A number out of an array that is never negative.
pub(crate) fn count<T: TryFrom<i64, Error: Display>>(
    value: Option<i64>,
    column: &'static str,
) -> Result<T, Fault> {
    T::try_from(next(value, column)?).map_err(|error| Fault::Corrupt(format!("{column}: {error}")))
}
