//! Rebuilds a session's machine from the rows of its history.

use futures::TryStreamExt;
use holdover_core::event::Event;
use holdover_core::history::HistoryRow;
use holdover_core::ids::SessionKey;
use holdover_core::machine::history::{Broken, rebuild};
use holdover_core::machine::replay::{Difference, differences};
use holdover_core::machine::{Machine, StateKind};
use holdover_core::store::EventCursor;

use super::{Follow, Runtime, machine_of};
use crate::error::RuntimeError;

/// The maximum number of attempts to read a session that changes while it is read.
const TRIES_MAX: u32 = 8;

/// The result of rebuilding a session from its history rows.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Replay {
    /// The number of rows.
    pub rows: usize,
    /// The rebuilt machine, or the reason why the rows do not form one.
    pub rebuilt: Result<Machine, Broken>,
    /// The differences between the rebuilt machine and the stored state. Empty if no machine could be
    /// rebuilt.
    pub differences: Vec<Difference>,
}

impl Replay {
    /// Returns true if the machine rebuilt from the rows alone equals the stored state.
    pub fn agrees(&self) -> bool {
        self.rebuilt.is_ok() && self.differences.is_empty()
    }

    /// Returns the state of the rebuilt machine, or `None` if no machine could be rebuilt.
    pub fn ends_in(&self) -> Option<StateKind> {
        self.rebuilt.as_ref().ok().map(|machine| machine.state.kind())
    }
}

impl Runtime {
    /// Rebuilds a session from its history rows alone, and compares the result with the stored state. Changes
    /// nothing.
    ///
    /// Errors: there is no such [session](RuntimeError::NotFound), it cannot be [read](RuntimeError::Unreadable),
    /// or it [changed](RuntimeError::Contended) during every attempt.
    pub async fn replay(&self, key: &SessionKey) -> Result<Replay, RuntimeError> {
        for _ in 0..TRIES_MAX {
            let before = self.existing(key).await?;
            let rows = self.history(key).await?;
            let session = self.existing(key).await?;
            if (before.incarnation, before.version) != (session.incarnation, session.version) {
                continue;
            }
            let stored = machine_of(&session)?.unwrap_or_default();
            let rebuilt = rebuild(&rows);
            let differences = match &rebuilt {
                Ok(machine) => differences(machine, &stored)
                    .map_err(|error| RuntimeError::unreadable(key, "state", error))?,
                Err(_) => Vec::new(),
            };
            return Ok(Replay { rows: rows.len(), rebuilt, differences });
        }
        Err(RuntimeError::Contended { key: key.clone(), tries: TRIES_MAX })
    }

    async fn history(&self, key: &SessionKey) -> Result<Vec<HistoryRow>, RuntimeError> {
        let mut events = self.stored_events(key, EventCursor::START, Follow::Available);
        let mut all = Vec::new();
        while let Some(entry) = events.try_next().await? {
            if let Event::History { rows } = entry.event {
                all.extend(rows);
            }
        }
        Ok(all)
    }
}
