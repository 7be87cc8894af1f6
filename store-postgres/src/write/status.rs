//! Moves a resting session without claiming it.

use holdover_store::ids::{SessionKey, Version};
use holdover_store::{CasOutcome, SessionStatus, StatusCas};
use sqlx::postgres::PgRow;

use super::unknown_outcome;
use crate::call::{Call, Values, int};
use crate::columns::Columns;
use crate::error::Fault;
use crate::rows::{self, bind_items};

pub(crate) struct CompareAndSet {
    pub(crate) key: SessionKey,
    pub(crate) cas: StatusCas,
}

impl Call for CompareAndSet {
    type Outcome = CasOutcome;
    const OPERATION: &'static str = "compare_and_set_status";
    const PARAMETERS: usize = 13;
    const COLUMNS: &'static str = "a.outcome, a.refused, a.refusal, a.refusal_place, a.version, a.status";
    const WRITES: bool = true;

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.key)
    }

    fn bind(&self, to: &mut Values<'_>) {
        let cas = &self.cas;
        to.key(&self.key)
            .add(cas.incarnation.as_ref().map(|incarnation| incarnation.0.as_bytes().as_slice()))
            .add(int(cas.expected_version.0))
            .add(cas.to.as_str());
        bind_items(to, cas.items.iter());
        to.channel();
    }

    fn answer(&self, rows: &[PgRow]) -> Result<CasOutcome, Fault> {
        let mut c = Columns::first(rows)?;
        let outcome = c.text()?;
        let refused = rows::refusal(&mut c)?;
        match (outcome.as_str(), refused) {
            ("not_found", _) => return Ok(CasOutcome::NotFound),
            ("item_refused", Some((index, refusal))) => {
                return Ok(CasOutcome::ItemRefused { index, refusal });
            }
            (_, _) => {}
        }
        let (version, status) = (Version(c.count()?), c.word(SessionStatus::from_wire)?);
        match outcome.as_str() {
            "moved" => Ok(CasOutcome::Moved { version }),
            "version_conflict" => {
                let expected = self.cas.expected_version;
                Ok(CasOutcome::VersionConflict { expected, actual: version, status })
            }
            "not_allowed" => Ok(CasOutcome::NotAllowed { from: status, to: self.cas.to }),
            other => Err(unknown_outcome(other)),
        }
    }
}
