//! The results of actions that were in flight.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::engine::{ActionId, CallOut, Reply};
use holdover_core::ids::CallId;
use holdover_core::model::{ModelAnswer, ModelError};
use holdover_core::plan::{Plan as Code, PlanError, Planned};
use holdover_core::store::{LeaseOutcome, Receipt, StateStore, StoreError};
use holdover_core::tool::{ToolError, ToolReturn};
use tokio::time::Instant;

use super::Driver;
use super::transactions::Lender;

/// The result of an action that was in flight.
pub(super) enum Done {
    /// An answer for core.
    Reply(Reply),
    /// The model answered, or failed.
    ModelAnswered {
        /// The id of the model call.
        id: ActionId,
        /// The answer or the error.
        result: Result<ModelAnswer, ModelError>,
    },
    /// The code that plans the session waits again.
    Planned {
        /// The id of the question.
        id: ActionId,
        /// The code, unless it panicked.
        code: Option<Box<dyn Code>>,
        /// Its decisions.
        result: Result<Planned, PlanError>,
    },
    /// A write to the store came back.
    Written {
        /// The instant before the first request.
        asked: Instant,
        /// True if the request was repeated, so that the answer may be an old one.
        repeated: bool,
        /// The receipt, if the write was accepted.
        receipt: Option<Receipt>,
        /// True if the write was to release the session.
        releases: bool,
        /// The transaction of a call, if it is still open because the write was refused and is to be made again.
        again: Option<(CallId, Arc<dyn StateStore>)>,
        /// The reply for core.
        reply: Reply,
    },
    /// A renewal of the lease came back.
    Renewed {
        /// The instant before the request.
        asked: Instant,
        /// The store's answer.
        outcome: Result<LeaseOutcome, StoreError>,
    },
    /// A tool call came back.
    CallEnded {
        /// The id of the call.
        call: CallId,
        /// The result or the error.
        result: Result<ToolReturn, ToolError>,
        /// The time for which the call was in flight.
        took: Duration,
    },
    /// A look at the store came back.
    Looked {
        /// True if something has come for the session, or if that is not known.
        changed: bool,
    },
    /// A call was not sent, because the lease had ended or no call is sent any more.
    CallHeld(CallOut),
    /// The lease is lost, or may be lost.
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
            Done::Planned { id, code, result } => {
                self.code = code;
                self.apply(Reply::Planned { id, result });
            }
            Done::Written { asked, repeated, receipt, releases, again, reply } => {
                self.writes_out -= 1;
                if let Some((call, store)) = again {
                    self.keep_for_next_write(call, store);
                }
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
                if let Some(line) = self.calls.over(&call) {
                    self.tell_over(&call);
                    let left = line.lender().and_then(Lender::close);
                    let result = self.end_transaction(&call, left, result);
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
