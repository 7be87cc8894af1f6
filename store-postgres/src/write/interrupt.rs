//! Requests to stop, and their handing over.

use holdover_store::ids::{Fence, SessionKey};
use holdover_store::{Interrupt, InterruptCheck, InterruptOutcome};
use sqlx::postgres::PgRow;

use super::unknown_outcome;
use crate::call::{Call, Values};
use crate::columns::Columns;
use crate::error::Fault;
use crate::rows::{self, session_columns};

pub(crate) struct RequestInterrupt {
    pub(crate) key: SessionKey,
    pub(crate) interrupt: Interrupt,
}

impl Call for RequestInterrupt {
    type Outcome = InterruptOutcome;
    const OPERATION: &'static str = "request_interrupt";
    const PARAMETERS: usize = 8;
    const COLUMNS: &'static str = "a.outcome, a.waiting";
    const WRITES: bool = true;

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.key)
    }

    fn bind(&self, to: &mut Values<'_>) {
        let interrupt = &self.interrupt;
        to.key(&self.key)
            .add(interrupt.id.as_str())
            .add(interrupt.kind.as_str())
            .add(interrupt.reason.as_bytes())
            .add(interrupt.at.as_ms())
            .add(interrupt.incarnation.as_ref().map(|incarnation| incarnation.0.as_bytes().as_slice()))
            .channel();
    }

    fn answer(&self, rows: &[PgRow]) -> Result<InterruptOutcome, Fault> {
        let mut c = Columns::first(rows)?;
        let (outcome, waiting) = (c.text()?, c.id_or_null()?);
        match (outcome.as_str(), waiting) {
            ("requested", _) => Ok(InterruptOutcome::Requested),
            ("already_waiting", Some(id)) => Ok(InterruptOutcome::AlreadyWaiting { id }),
            ("at_rest", _) => Ok(InterruptOutcome::AtRest),
            ("aborted", _) => Ok(InterruptOutcome::Aborted),
            ("not_found", _) => Ok(InterruptOutcome::NotFound),
            (other, _) => Err(unknown_outcome(other)),
        }
    }
}

pub(crate) struct HandInterrupt(pub(crate) Fence);

impl Call for HandInterrupt {
    type Outcome = InterruptCheck;
    const OPERATION: &'static str = "take_interrupt";
    const PARAMETERS: usize = 5;
    const COLUMNS: &'static str = concat!("a.outcome, ", session_columns!());
    const WRITES: bool = true;

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.0.key)
    }

    fn bind(&self, to: &mut Values<'_>) {
        to.fence(&self.0).channel();
    }

    fn answer(&self, rows: &[PgRow]) -> Result<InterruptCheck, Fault> {
        let mut c = Columns::first(rows)?;
        match c.text()?.as_str() {
            "clear" => Ok(InterruptCheck::Clear),
            "waiting" => match rows::session_row(&mut c)?.interrupt {
                Some(interrupt) => Ok(InterruptCheck::Waiting(interrupt)),
                None => Err(Fault::Corrupt("interrupt: it waits and is not there".into())),
            },
            "stale_fence" => Ok(InterruptCheck::StaleFence),
            other => Err(unknown_outcome(other)),
        }
    }
}
