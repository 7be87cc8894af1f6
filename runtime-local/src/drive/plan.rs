//! Asks the code that plans the session, in place of a model.

use std::sync::Arc;

use holdover_core::engine::ActionId;
use holdover_core::error::ErrorInfo;
use holdover_core::ids::MessageSeq;
use holdover_core::message::Message;
use holdover_core::plan::{Plan as Code, PlanError, PlanFacts, Planned};
use holdover_core::store::MessageRange;

use super::Driver;
use super::done::Done;
use super::transcript::Unread;
use crate::guard::guarded;

impl Driver {
    /// Tells the code the messages of the store and then the new ones, and reports its decisions.
    pub(super) fn plan(
        &mut self,
        id: ActionId,
        begins: bool,
        again: Option<MessageRange>,
        told: Vec<(MessageSeq, Arc<Message>)>,
        room: usize,
    ) {
        let code = if begins {
            self.agent.as_ref().and_then(|agent| agent.planner()).map(|planner| planner.begin())
        } else {
            self.code.take()
        };
        let Some(code) = code else {
            let missing = ErrorInfo::new("flow.no_code", "this process has no code for the flow");
            self.ask(async move { planned(id, None, Err(PlanError::Broken(missing))) });
            return;
        };
        let facts = PlanFacts { now: self.clock.facts().now, room };
        let reading = self.reading();
        self.ask(async move {
            let again = match again {
                None => Ok(Arc::from([])),
                Some(range) => reading.messages(&[range]).await,
            };
            match again {
                Ok(again) => {
                    let told = again.iter().cloned().chain(told).collect();
                    advance(id, code, told, facts).await
                }
                Err(Unread::LeaseEnded) => Done::LeaseLost,
                Err(Unread::Broken(error)) => {
                    let error = ErrorInfo::new("store.unreadable", error.to_string());
                    planned(id, None, Err(PlanError::Broken(error)))
                }
            }
        });
    }
}

/// Lets the code decide, in a task of its own.
async fn advance(
    id: ActionId,
    mut code: Box<dyn Code>,
    told: Vec<(MessageSeq, Arc<Message>)>,
    facts: PlanFacts,
) -> Done {
    let decides = async move {
        let result = code.advance(&told, facts);
        (code, result)
    };
    match guarded(decides).await {
        Ok((code, result)) => planned(id, Some(code), result),
        Err(panicked) => {
            planned(id, None, Err(PlanError::Broken(ErrorInfo::new("flow.panicked", panicked.0))))
        }
    }
}

fn planned(id: ActionId, code: Option<Box<dyn Code>>, result: Result<Planned, PlanError>) -> Done {
    Done::Planned { id, code, result }
}
