//! Transactional steps: they write tables of the program in the transaction that stores their result.

use std::any::type_name;
use std::fmt;
use std::ops::{Deref, DerefMut};

use holdover_core::ids::CallId;
use holdover_core::store::StoreTransaction;
use holdover_core::tool::{CallTransaction, ToolError, ToolOutput};
use serde::Serialize;

use crate::step::StepCx;

/// What a function gets that runs a [transactional](crate::Step::transactional) step, beside its argument: the context
/// of the step, which can also begin its transaction.
#[derive(Clone)]
pub struct TxCx(StepCx);

impl TxCx {
    pub(crate) fn new(cx: StepCx) -> Self {
        Self(cx)
    }

    /// Begins the transaction of the step, in the store of the run. `T` is the transaction of that store, such as
    /// `SqliteTransaction` or `PostgresTransaction`. Waits until the run has no write on its way and no other transaction.
    /// Work that needs no transaction belongs before this line, because others may have to wait while it is open.
    ///
    /// If the returned value is dropped, everything that was written in the transaction is undone. The step may then
    /// begin another one.
    ///
    /// # Errors
    /// The step did not act: the store has no transactions, or none of this type; a transaction of the step is open; or
    /// the store cannot begin one now, in which case the step is tried again.
    pub async fn begin<T: StoreTransaction>(&self) -> Result<Tx<T>, ToolError> {
        let open = self.handle().begin().await?;
        match open.downcast() {
            Some(open) => Ok(Tx { open, call: self.id().clone() }),
            None => {
                let wanted = type_name::<T>();
                Err(ToolError::failed(format!("the transactions of the store of this run are no {wanted}")))
            }
        }
    }
}

impl Deref for TxCx {
    type Target = StepCx;

    fn deref(&self) -> &StepCx {
        &self.0
    }
}

/// The open transaction of a step. It dereferences to the transaction of the store, which writes the tables of the
/// program. Dropping it undoes everything.
pub struct Tx<T: StoreTransaction> {
    open: CallTransaction<T>,
    call: CallId,
}

impl<T: StoreTransaction> Tx<T> {
    /// Returns the value of the step with its transaction, for the function to return. The write that stores the value
    /// commits the transaction. Until then, nobody else sees what was written in it.
    pub fn commit_with<R>(self, value: R) -> CommitWith<R> {
        CommitWith { value, open: self.open.erase(), call: self.call }
    }
}

impl<T: StoreTransaction> Deref for Tx<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.open
    }
}

impl<T: StoreTransaction> DerefMut for Tx<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.open
    }
}

impl<T: StoreTransaction> fmt::Debug for Tx<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tx").field("call", &self.call).finish_non_exhaustive()
    }
}

/// The value of a transactional step, with the transaction that is committed with it. Only [`Tx::commit_with`] makes it.
#[derive(Debug)]
#[must_use = "the transaction is undone unless the step returns this"]
pub struct CommitWith<R> {
    value: R,
    open: CallTransaction,
    call: CallId,
}

/// The value that a function of a step has returned, with its transaction if the step is transactional.
#[derive(Debug)]
pub struct Returned<R> {
    value: R,
    open: Option<(CallTransaction, CallId)>,
}

impl<R> From<CommitWith<R>> for Returned<R> {
    fn from(with: CommitWith<R>) -> Self {
        Self { value: with.value, open: Some((with.open, with.call)) }
    }
}

impl<R> Returned<R> {
    pub(crate) fn of(value: R) -> Self {
        Self { value, open: None }
    }
}

impl<R: Serialize> Returned<R> {
    /// Returns the value as the output of this call.
    pub(crate) fn into_output(self, call: &CallId) -> Result<Output, ToolError> {
        let value = ToolOutput::json(&self.value)?;
        match self.open {
            Some((_, of)) if of != *call => Err(ToolError::failed(format!(
                "the step returned the transaction of another step, {of}; it was undone"
            ))),
            open => Ok(Output { value, open: open.map(|(open, _)| open) }),
        }
    }
}

/// The output of a step, with its transaction if the step is transactional.
pub(crate) struct Output {
    value: ToolOutput,
    open: Option<CallTransaction>,
}

impl Output {
    /// Leaves the transaction to the run, if it can be committed, and returns the output.
    pub(crate) async fn leave(self) -> Result<ToolOutput, ToolError> {
        if let Some(mut open) = self.open {
            open.check().await?;
            open.commit_with_result();
        }
        Ok(self.value)
    }
}
