//! Sagas: steps with the steps that undo them.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::call::{Call, Kind};
use crate::cx::Cx;
use crate::error::{StepError, Stop};
use crate::step::Step;

/// Steps that were done, with the steps that undo them. An undo is a step of its own: it is durable, and it runs also
/// when the flow was told to stop. After an abort nothing runs.
pub struct Saga {
    cx: Cx,
    undos: Vec<(&'static str, Call<serde_json::Value>)>,
}

impl Saga {
    pub(crate) fn new(cx: Cx) -> Self {
        Self { cx, undos: Vec::new() }
    }

    /// Runs a step. Once it is done, or in doubt, `undo` is kept with the same argument as `step`. The undo of a step in
    /// doubt must find out whether there is something to undo.
    ///
    /// To limit the time of the step, [keep](Self::keep) its undo first, and run the step
    /// [within](crate::Call::within) a time. The undo then has to find out whether the step has acted.
    ///
    /// # Errors
    /// As for the step.
    pub async fn step<A, R, U>(
        &mut self,
        step: &Step<A, R>,
        argument: &A,
        undo: &Step<A, U>,
    ) -> Result<R, StepError>
    where
        A: Serialize,
        R: DeserializeOwned,
        U: DeserializeOwned,
    {
        let done = self.cx.step(step, argument).await;
        if matches!(done, Ok(_) | Err(StepError::InDoubt { .. })) {
            self.keep(undo, argument);
        }
        done
    }

    /// Keeps a step that undoes something that the flow has done otherwise.
    pub fn keep<A: Serialize, U: DeserializeOwned>(&mut self, undo: &Step<A, U>, argument: &A) {
        let call = Call::new(&self.cx, undo.name, argument, Kind::Value).undoing();
        self.undos.push((undo.name, call));
    }

    /// Undoes everything, the newest first, and returns the end of the flow. If an undo fails, the others still run, and
    /// the flow fails with all reasons.
    ///
    /// # Errors
    /// Always: `why`, or the failures of the undoing.
    pub async fn undo<T>(self, why: impl Into<Stop>) -> Result<T, Stop> {
        let mut failed = Vec::new();
        for (_, undo) in self.undos.into_iter().rev() {
            if let Err(error) = undo.await {
                failed.push(error.to_string());
            }
        }
        let why = why.into();
        if failed.is_empty() {
            return Err(why);
        }
        Err(Stop::failed(format!("{why}; and was not undone: {}", failed.join("; "))))
    }
}
