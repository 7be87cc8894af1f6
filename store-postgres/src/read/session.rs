//! One session.

use holdover_store::Session;
use holdover_store::ids::SessionKey;
use sqlx::postgres::PgRow;

use crate::call::{Call, Values};
use crate::columns::Columns;
use crate::error::Fault;
use crate::rows::{self, Extras, extras_columns, session_columns};

/// The session with what is staged.
pub(crate) struct LoadSession(pub(crate) SessionKey);

impl Call for LoadSession {
    type Outcome = Option<Session>;
    const OPERATION: &'static str = "load_session";
    const PARAMETERS: usize = 2;
    const COLUMNS: &'static str = concat!(session_columns!(), ", ", extras_columns!());
    const WRITES: bool = false;

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.0)
    }

    fn bind(&self, to: &mut Values<'_>) {
        to.key(&self.0);
    }

    fn answer(&self, rows: &[PgRow]) -> Result<Option<Session>, Fault> {
        let Some(row) = rows.first() else { return Ok(None) };
        let mut c = Columns::of(row);
        let row = rows::session_row(&mut c)?;
        Ok(Some(Extras::read(&mut c, &row)?.into_session(row)))
    }
}
