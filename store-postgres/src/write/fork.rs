//! Creates a session from the prefix of another one.

use holdover_store::ids::{CheckpointId, SessionKey, Version};
use holdover_store::{ForkOutcome, NewFork};
use sqlx::postgres::PgRow;

use super::{bind_events, bind_labels, unknown_outcome};
use crate::call::{Call, Values, int};
use crate::columns::Columns;
use crate::error::Fault;
use crate::rows::{self, session_columns};

pub(crate) struct ForkSession {
    pub(crate) from: SessionKey,
    pub(crate) at: CheckpointId,
    pub(crate) to: NewFork,
}

impl Call for ForkSession {
    type Outcome = ForkOutcome;
    const OPERATION: &'static str = "fork_session";
    const PARAMETERS: usize = 23;
    const COLUMNS: &'static str = concat!("a.outcome, ", session_columns!());
    const WRITES: bool = true;
    const IS_LONG: bool = true;

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.from)
    }

    fn bind(&self, to: &mut Values<'_>) {
        let new = &self.to;
        to.key(&self.from)
            .add(new.source.0.as_bytes().as_slice())
            .add(int(self.at.0))
            .add(new.key.id.as_str())
            .add(new.incarnation.0.as_bytes().as_slice())
            .add(new.operation.as_str())
            .add(new.queue.as_str())
            .add(new.status.as_str())
            .add(i64::from(new.state.format.0));
        bind_labels(to, &new.labels);
        to.payload(&new.definition).payload(&new.state.payload).payloads(new.messages.iter().map(Some));
        bind_events(to, &new.events);
        to.channel();
    }

    fn answer(&self, rows: &[PgRow]) -> Result<ForkOutcome, Fault> {
        let mut c = Columns::first(rows)?;
        match c.text()?.as_str() {
            "forked" => Ok(ForkOutcome::Forked { version: Version(self.at.0.saturating_add(1)) }),
            "already_exists" => {
                let row = rows::session_row(&mut c)?;
                let (incarnation, status, version) = (row.incarnation, row.status, row.version);
                Ok(ForkOutcome::AlreadyExists { incarnation, status, version })
            }
            "deleted" => Ok(ForkOutcome::Deleted),
            "no_source" => Ok(ForkOutcome::NoSource),
            "no_checkpoint" => Ok(ForkOutcome::NoCheckpoint),
            other => Err(unknown_outcome(other)),
        }
    }
}
