//! The results of actions that were out.

use std::time::Duration;

use holdover_core::engine::{ActionId, CallOut, Reply};
use holdover_core::ids::CallId;
use holdover_core::model::{ModelAnswer, ModelError};
use holdover_core::store::{LeaseOutcome, Receipt, StoreError};
use holdover_core::tool::{ToolError, ToolReturn};
use tokio::time::Instant;

use super::Driver;

/// The result of an action that was out.
pub(super) enum Done {
    /// An answer for core.
    Reply(Reply),
    /// The model answered, or failed.
    ModelAnswered {
        /// Which call of it.
        id: ActionId,
        /// With what.
        result: Result<ModelAnswer, ModelError>,
    },
    /// A write was answered.
    Written {
        /// Before the first request.
        asked: Instant,
        /// Whether the request was repeated, so that the answer may be an old one.
        repeated: bool,
        /// What it brought.
        receipt: Option<Receipt>,
        /// Whether it was to release the session.
        releases: bool,
        /// For core.
        reply: Reply,
    },
    /// The lease was to be renewed.
    Renewed {
        /// Before the request.
        asked: Instant,
        /// What became of it.
        outcome: Result<LeaseOutcome, StoreError>,
    },
    /// A call came back.
    CallEnded {
        /// Which.
        call: CallId,
        /// With what.
        result: Result<ToolReturn, ToolError>,
        /// How long it was out.
        took: Duration,
    },
    /// The store was looked at.
    Looked {
        /// Whether something came, or it cannot be told.
        changed: bool,
    },
    /// A call was not sent, because the lease had ended or nothing starts any more.
    CallHeld(CallOut),
    /// The lease is lost, or it is not known whether it is.
    LeaseLost,
}

impl Driver {
    pub(super) fn take(&mut self, done: Done) {
        match done {
            Done::Reply(reply) => self.apply(reply),
            Done::ModelAnswered { id, result } => {
                let result = result.map_err(|error| ModelError {
                    retry_after: error.retry_after.map(|wait| self.clock.at_least(wait)),
                    ..error
                });
                self.apply(Reply::ModelAnswered { id, result });
            }
            Done::Written { asked, repeated, receipt, releases, reply } => {
                self.writes_out -= 1;
                self.releasing -= usize::from(releases);
                if let Some(receipt) = receipt {
                    self.renewal.wrote(asked);
                    self.hear(asked, repeated, &receipt);
                    if !releases {
                        self.renewal.heard(&receipt);
                    }
                }
                self.apply(reply);
            }
            Done::Renewed { asked, outcome } => self.renewed(asked, outcome),
            Done::Looked { changed } => {
                if changed {
                    self.renewal.now();
                }
            }
            Done::CallEnded { call, result, took } => {
                if self.calls.over(&call) {
                    self.tell_over(&call);
                    let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
                    let result = result.map_err(|error| match error {
                        ToolError::Transient { detail, wait } => {
                            ToolError::Transient { detail, wait: wait.map(|wait| self.clock.at_least(wait)) }
                        }
                        other @ (ToolError::Failed(_) | ToolError::NotRun(_) | ToolError::Lost(_)) => other,
                    });
                    self.apply(Reply::CallEnded { call, result, duration_ms });
                } else {
                    tracing::warn!(run = %self.fence, %call, "what came back of a call that is not out is ignored");
                }
            }
            Done::CallHeld(call) => self.came_back_unsent(call),
            Done::LeaseLost => self.apply(Reply::LeaseLost),
        }
    }
}
