//! Reads a row of an answer as typed values. An unreadable value is a corrupt record, never a panic.

use std::fmt::Display;

use holdover_store::ids::Incarnation;
use holdover_store::payload::{Digest, Payload};
use holdover_store::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{Column, Decode, Postgres, Row, Type};
use uuid::Uuid;

use crate::error::Fault;

/// The columns of a row, read from left to right.
pub(crate) struct Columns<'r> {
    row: &'r PgRow,
    next: usize,
}

impl<'r> Columns<'r> {
    pub(crate) fn of(row: &'r PgRow) -> Self {
        Self { row, next: 0 }
    }

    /// Returns the first row of an answer. Fails if there is none.
    pub(crate) fn first(rows: &'r [PgRow]) -> Result<Self, Fault> {
        rows.first().map(Self::of).ok_or_else(|| Fault::Corrupt("the database answered nothing".into()))
    }

    pub(crate) fn take<T: Decode<'r, Postgres> + Type<Postgres>>(&mut self) -> Result<T, Fault> {
        let at = self.next;
        self.next += 1;
        self.row.try_get(at).map_err(|error| Fault::Corrupt(format!("{}: {error}", self.name(at))))
    }

    fn name(&self, at: usize) -> &str {
        self.row.columns().get(at).map_or("a missing column", |column| column.name())
    }

    /// Reads a number that is never negative.
    pub(crate) fn count<T: TryFrom<i64, Error: Display>>(&mut self) -> Result<T, Fault> {
        let value: i64 = self.take()?;
        T::try_from(value).map_err(|error| Fault::Corrupt(format!("{}: {error}", self.name(self.next - 1))))
    }
}

/// One stored row, in the form that every reading statement returns: numbers, texts and bytes in three arrays,
/// then digest and payload. So rows of every kind fit into one answer.
pub(crate) struct Packed {
    /// The kind of row, for errors; empty for the row of a session.
    of: &'static str,
    numbers: std::vec::IntoIter<Option<i64>>,
    texts: std::vec::IntoIter<Option<String>>,
    bytes: std::vec::IntoIter<Option<Vec<u8>>>,
    digest: Option<Vec<u8>>,
    payload: Option<Vec<u8>>,
}

/// Nulls for the columns that [`Packed::read`] reads after `n`, for a statement that selects only numbers.
pub(crate) const PACKED: &str =
    "NULL::text[] AS t, NULL::bytea[] AS b, NULL::bytea AS digest, NULL::bytea AS payload";

impl Packed {
    /// Reads the columns n, t, b, digest, payload.
    pub(crate) fn read(c: &mut Columns<'_>, of: &'static str) -> Result<Self, Fault> {
        Ok(Self {
            of,
            numbers: c.take::<Option<Vec<Option<i64>>>>()?.unwrap_or_default().into_iter(),
            texts: c.take::<Option<Vec<Option<String>>>>()?.unwrap_or_default().into_iter(),
            bytes: c.take::<Option<Vec<Option<Vec<u8>>>>>()?.unwrap_or_default().into_iter(),
            digest: c.take()?,
            payload: c.take()?,
        })
    }

    /// Returns the fault of an unreadable column.
    pub(crate) fn corrupt(&self, column: &str, why: impl Display) -> Fault {
        Fault::Corrupt(match self.of {
            "" => format!("{column}: {why}"),
            of => format!("{of}: {column}: {why}"),
        })
    }

    fn there<T>(&self, value: Option<T>, column: &str) -> Result<T, Fault> {
        value.ok_or_else(|| self.corrupt(column, "it is missing"))
    }

    pub(crate) fn int_or_null(&mut self) -> Option<i64> {
        self.numbers.next().flatten()
    }

    pub(crate) fn int(&mut self, column: &str) -> Result<i64, Fault> {
        let value = self.int_or_null();
        self.there(value, column)
    }

    /// Reads a number that is never negative.
    pub(crate) fn count<T: TryFrom<i64, Error: Display>>(&mut self, column: &str) -> Result<T, Fault> {
        let value = self.int(column)?;
        T::try_from(value).map_err(|why| self.corrupt(column, why))
    }

    pub(crate) fn count_or_null<T: TryFrom<i64, Error: Display>>(
        &mut self,
        column: &str,
    ) -> Result<Option<T>, Fault> {
        let value = self.int_or_null();
        value.map(T::try_from).transpose().map_err(|why| self.corrupt(column, why))
    }

    pub(crate) fn flag(&mut self, column: &str) -> Result<bool, Fault> {
        Ok(self.int(column)? != 0)
    }

    pub(crate) fn at(&mut self, column: &str) -> Result<Timestamp, Fault> {
        self.int(column).map(Timestamp::from_ms)
    }

    pub(crate) fn at_or_null(&mut self) -> Option<Timestamp> {
        self.int_or_null().map(Timestamp::from_ms)
    }

    /// Reads the remaining numbers.
    pub(crate) fn sizes(&mut self) -> Vec<usize> {
        self.numbers.by_ref().flatten().map(|size| usize::try_from(size).unwrap_or(usize::MAX)).collect()
    }

    pub(crate) fn text_or_null(&mut self) -> Option<String> {
        self.texts.next().flatten()
    }

    /// Reads an id and checks the rules for every id.
    pub(crate) fn id<T: TryFrom<String, Error: Display>>(&mut self, column: &str) -> Result<T, Fault> {
        let id = self.id_or_null(column)?;
        self.there(id, column)
    }

    /// Reads the last text as an id.
    pub(crate) fn last_id<T: TryFrom<String, Error: Display>>(&mut self, column: &str) -> Result<T, Fault> {
        let text = self.texts.next_back().flatten();
        let id = text.map(T::try_from).transpose().map_err(|why| self.corrupt(column, why))?;
        self.there(id, column)
    }

    pub(crate) fn id_or_null<T: TryFrom<String, Error: Display>>(
        &mut self,
        column: &str,
    ) -> Result<Option<T>, Fault> {
        let text = self.text_or_null();
        text.map(T::try_from).transpose().map_err(|why| self.corrupt(column, why))
    }

    /// Reads a word and converts it with `from_wire`, which returns none for an unknown word.
    pub(crate) fn word<T>(
        &mut self,
        column: &str,
        from_wire: impl Fn(&str) -> Option<T>,
    ) -> Result<T, Fault> {
        let word = self.word_or_null(column, from_wire)?;
        self.there(word, column)
    }

    pub(crate) fn word_or_null<T>(
        &mut self,
        column: &str,
        from_wire: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        let Some(text) = self.text_or_null() else { return Ok(None) };
        match from_wire(&text) {
            Some(word) => Ok(Some(word)),
            None => Err(self.corrupt(column, format_args!("unknown word {text:?}"))),
        }
    }

    pub(crate) fn bytes_or_null(&mut self) -> Option<Vec<u8>> {
        self.bytes.next().flatten()
    }

    /// Reads text that is stored as bytes, because it may hold any character.
    pub(crate) fn utf8(&mut self, column: &str) -> Result<String, Fault> {
        let bytes = self.bytes_or_null();
        String::from_utf8(self.there(bytes, column)?).map_err(|why| self.corrupt(column, why))
    }

    pub(crate) fn digest(&mut self, column: &str) -> Result<Digest, Fault> {
        let bytes = self.bytes_or_null();
        let digest = <[u8; 32]>::try_from(self.there(bytes, column)?);
        digest.map(Digest).map_err(|_| self.corrupt(column, "a digest has 32 bytes"))
    }

    pub(crate) fn incarnation(&mut self, column: &str) -> Result<Incarnation, Fault> {
        let incarnation = self.incarnation_or_null(column)?;
        self.there(incarnation, column)
    }

    pub(crate) fn incarnation_or_null(&mut self, column: &str) -> Result<Option<Incarnation>, Fault> {
        let bytes = self.bytes_or_null();
        let incarnation = bytes.map(|bytes| Uuid::from_slice(&bytes).map(Incarnation)).transpose();
        incarnation.map_err(|why| self.corrupt(column, why))
    }

    /// Reads the payload and checks it against its digest.
    pub(crate) fn payload(&mut self) -> Result<Payload, Fault> {
        let payload = self.payload_or_null()?;
        self.there(payload, "payload")
    }

    pub(crate) fn payload_or_null(&mut self) -> Result<Option<Payload>, Fault> {
        match (self.digest.take(), self.payload.take()) {
            (Some(digest), Some(bytes)) => {
                let digest = <[u8; 32]>::try_from(digest);
                let digest = digest.map_err(|_| self.corrupt("digest", "a digest has 32 bytes"))?;
                let payload = Payload::from_stored(bytes, Digest(digest));
                payload.map(Some).map_err(|why| self.corrupt("payload", why))
            }
            (None, None) => Ok(None),
            (Some(_), None) | (None, Some(_)) => {
                Err(self.corrupt("payload", "payload and digest do not go together"))
            }
        }
    }
}
