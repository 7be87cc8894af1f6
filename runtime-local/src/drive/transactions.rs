//! Transactions in which calls write tables of the program. The write that holds the result of a call commits its
//! transaction.
//!
//! While a transaction is open, other writes to the store may have to wait for it, and core waits for a write before it
//! makes the next one. So a run has at most one transaction, which begins while no write is on its way and core waits
//! for no answer. Until its own write, the run takes only what this write needs. Everything else is kept back, and is
//! taken before the next transaction begins.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use holdover_core::engine::{CallOut, Reply};
use holdover_core::ids::CallId;
use holdover_core::store::{OpenTransaction, Receipt, StateStore, StoreError};
use holdover_core::tool::{CallTransaction, EffectClass, ToolError, ToolReturn, TransactionLink};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

use super::Driver;
use super::done::Done;

/// News from calls about transactions.
pub(super) enum Asked {
    /// A call asks for a transaction.
    Begin(CallId, Waiting),
    /// A call has given up the transaction that it was allowed to begin with the permit of this number.
    GivenUp(u64),
}

type Waiting = oneshot::Sender<Result<Permit, StoreError>>;

/// The place where a call leaves its transaction when it returns.
#[derive(Default)]
struct Place {
    left: Option<OpenTransaction>,
    /// True once the call has come back.
    closed: bool,
}

/// The way of one call to a transaction.
#[derive(Clone)]
pub(super) struct Lender {
    call: CallId,
    asks: UnboundedSender<Asked>,
    place: Arc<Mutex<Place>>,
}

impl Lender {
    /// Waits until the run allows a transaction, and begins it.
    pub(super) fn begin(&self) -> BoxFuture<'static, Result<CallTransaction, StoreError>> {
        let lender = self.clone();
        Box::pin(async move {
            let (waiting, allowed) = oneshot::channel();
            let call = lender.call.clone();
            lender.asks.send(Asked::Begin(call, waiting)).map_err(|_| over())?;
            let permit = allowed.await.map_err(|_| over())??;
            let open = permit.store.begin().await?;
            Ok(CallTransaction::new(open, permit))
        })
    }

    /// Takes the transaction that the call has left. One that comes later is undone.
    pub(super) fn close(&self) -> Option<OpenTransaction> {
        let mut place = self.place();
        place.closed = true;
        place.left.take()
    }

    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn over() -> StoreError {
    StoreError::invalid("begin", "the call is over")
}

/// The right of a call to have a transaction open.
pub(super) struct Permit {
    /// The number of the permit in its run. A call that is sent again gets another one.
    number: u64,
    lender: Lender,
    store: Arc<dyn StateStore>,
    left: bool,
}

impl TransactionLink for Permit {
    fn commit_with_result(mut self: Box<Self>, open: OpenTransaction) {
        let mut place = self.lender.place();
        if !place.closed {
            place.left = Some(open);
            drop(place);
            self.left = true;
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if !self.left {
            // An error means that the run is over.
            let _ = self.lender.asks.send(Asked::GivenUp(self.number));
        }
    }
}

/// The transaction of a run.
enum Stage {
    None,
    /// The call may have its transaction open.
    Open(CallId),
    /// The call has come back. The next write commits the transaction through this store.
    Ended(CallId, Arc<dyn StateStore>),
}

impl Stage {
    fn call(&self) -> Option<&CallId> {
        match self {
            Self::None => None,
            Self::Open(call) | Self::Ended(call, _) => Some(call),
        }
    }
}

/// The way of a write to the store.
pub(super) enum Way {
    /// Through the store of the run, until it is answered.
    Store(Arc<dyn StateStore>),
    /// Through the transaction of this call, once.
    Once(CallId, Arc<dyn StateStore>),
    /// The write must not be made, because it lacks the result of a call that has left its transaction.
    Nowhere,
}

/// The transactions of a run, and everything that it keeps back because of them.
pub(super) struct Transactions {
    asks: UnboundedSender<Asked>,
    asked: UnboundedReceiver<Asked>,
    /// The calls that wait for a transaction, in the order in which they asked.
    waiting: VecDeque<(CallId, Waiting)>,
    stage: Stage,
    /// The number of permits that were given.
    permits: u64,
    /// True from the end of a transaction until the run has taken everything that was kept back and that is ready.
    passing: bool,
    kept: VecDeque<Done>,
    news: Option<Receipt>,
    /// Shared with each action for whose answer core may wait before it writes.
    questions: Arc<()>,
}

impl Transactions {
    pub(super) fn new() -> Self {
        let (asks, asked) = mpsc::unbounded_channel();
        Self {
            asks,
            asked,
            waiting: VecDeque::new(),
            stage: Stage::None,
            permits: 0,
            passing: false,
            kept: VecDeque::new(),
            news: None,
            questions: Arc::default(),
        }
    }

    /// Returns true if the run takes only what a transaction needs.
    pub(super) fn keep_back(&self) -> bool {
        self.stage.call().is_some() || (!self.waiting.is_empty() && !self.passing)
    }

    /// Returns true if a call has come back whose transaction waits for its write.
    pub(super) fn wait_for_write(&self) -> bool {
        matches!(self.stage, Stage::Ended(..))
    }

    /// Returns true if the next transaction waits only until the run has taken everything that is ready.
    pub(super) fn are_passing(&self) -> bool {
        !self.waiting.is_empty() && !self.keep_back()
    }

    pub(super) fn passed(&mut self) {
        self.passing = false;
    }

    pub(super) async fn asked(&mut self) -> Option<Asked> {
        self.asked.recv().await
    }

    /// Returns a token to hold until an answer for which core may wait has come.
    pub(super) fn question(&self) -> Arc<()> {
        Arc::clone(&self.questions)
    }

    fn keeps(&self, done: &Done) -> bool {
        let of_another = |call: &CallId| self.stage.call() != Some(call);
        self.keep_back()
            && (matches!(done, Done::CallEnded { call, .. } if of_another(call))
                || matches!(done, Done::CallHeld(_))
                || matches!(done, Done::Reply(Reply::CallEnded { .. } | Reply::Slept { .. })))
    }

    fn end(&mut self) {
        self.stage = Stage::None;
        self.passing = true;
    }
}

impl Driver {
    /// Returns the way to a transaction, if the call may have one. A call that is not sent again after a crash must not,
    /// because its effects would be undone with its result. The result of a call that only reads may be written late.
    pub(super) fn lender(&self, call: &CallOut) -> Option<Lender> {
        let agent = self.agent.as_ref().filter(|agent| agent.planner().is_some())?;
        let spec = agent.spec().tool(call.tool.as_str())?;
        (spec.effect == EffectClass::Idempotent).then(|| Lender {
            call: call.id.clone(),
            asks: self.transactions.asks.clone(),
            place: Arc::default(),
        })
    }

    pub(super) fn on_asked(&mut self, asked: Asked) {
        let transactions = &mut self.transactions;
        match asked {
            Asked::Begin(call, waiting) => {
                let has_one = transactions.stage.call() == Some(&call)
                    || transactions.waiting.iter().any(|(other, _)| *other == call);
                if has_one {
                    refuse(waiting, "the call has a transaction open, or waits for one");
                } else {
                    transactions.waiting.push_back((call, waiting));
                }
            }
            Asked::GivenUp(number) => {
                if matches!(transactions.stage, Stage::Open(_)) && number == transactions.permits {
                    transactions.end();
                }
            }
        }
    }

    pub(super) fn take_or_keep(&mut self, done: Done) {
        if self.transactions.keeps(&done) {
            self.transactions.kept.push_back(done);
        } else {
            self.take(done);
        }
    }

    /// Takes the news of a receipt, unless a transaction is open.
    pub(super) fn take_news(&mut self, receipt: Receipt) {
        if self.transactions.keep_back() {
            self.transactions.news = Some(receipt);
        } else {
            self.apply(Reply::News(receipt));
        }
    }

    /// Goes on with what transactions have kept waiting, while core has nothing to start. Returns true if core may have
    /// something to start then.
    pub(super) fn go_on_with_transactions(&mut self) -> bool {
        if !self.transactions.keep_back() {
            if let Some(done) = self.transactions.kept.pop_front() {
                self.take(done);
                return true;
            }
            if let Some(receipt) = self.transactions.news.take() {
                self.apply(Reply::News(receipt));
                return true;
            }
        }
        let quiet = Arc::strong_count(&self.transactions.questions) == 1 && self.writes_out == 0;
        if !quiet {
            return false;
        }
        if let Stage::Ended(call, _) = &self.transactions.stage {
            // Core does not write the result now, and others must not wait for it.
            tracing::warn!(run = %self.fence, %call, "the run ends, because a result with a transaction is not written");
            self.transactions.end();
            self.apply(Reply::LeaseLost);
            return true;
        }
        matches!(self.transactions.stage, Stage::None) && !self.transactions.passing && self.allow_next()
    }

    /// Allows the next call to begin its transaction. Returns true if some waited, but none waits any more.
    fn allow_next(&mut self) -> bool {
        let mut waited = false;
        while let Some((call, waiting)) = self.transactions.waiting.pop_front() {
            waited = true;
            let Some(lender) = self.calls.lender(&call) else {
                refuse(waiting, "the call has ended, or was asked to stop");
                continue;
            };
            self.transactions.permits += 1;
            let number = self.transactions.permits;
            let permit = Permit { number, lender, store: Arc::clone(&self.store), left: false };
            // A call that no longer waits drops its permit, and so gives it up.
            if waiting.send(Ok(permit)).is_ok() {
                self.transactions.stage = Stage::Open(call);
                return false;
            }
        }
        waited
    }

    /// Takes over the transaction that a call has left. If it cannot be committed with the result of the call, it is
    /// undone, and the result becomes an error.
    pub(super) fn end_transaction(
        &mut self,
        call: &CallId,
        left: Option<OpenTransaction>,
        result: Result<ToolReturn, ToolError>,
    ) -> Result<ToolReturn, ToolError> {
        let is_open = matches!(&self.transactions.stage, Stage::Open(open) if open == call);
        if is_open {
            self.transactions.end();
        }
        let Some(left) = left else { return result };
        match result {
            Ok(ToolReturn::Output(_)) if is_open && self.writes_out == 0 => {
                self.transactions.stage = Stage::Ended(call.clone(), left.into_store());
                result
            }
            Ok(ToolReturn::Output(_)) => {
                Err(ToolError::not_run("its transaction was undone, because the run had a write on its way"))
            }
            Ok(ToolReturn::After { .. } | ToolReturn::At { .. } | ToolReturn::Signal { .. }) => {
                Err(ToolError::failed("its transaction was undone, because its result was to come later"))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the way of the write that core makes now. The first write after a call has left its transaction must hold
    /// the result of the call. If it does not, the result might be written later, without the transaction.
    pub(super) fn way(&mut self) -> Way {
        let Stage::Ended(call, _) = &self.transactions.stage else {
            return Way::Store(Arc::clone(&self.store));
        };
        let result = self.steps.writes_result(call);
        if result.is_none() {
            tracing::warn!(run = %self.fence, %call, "the run ends, because a write lacks a result with a transaction");
        }
        let ended = std::mem::replace(&mut self.transactions.stage, Stage::None);
        self.transactions.end();
        match (ended, result) {
            (Stage::Ended(call, store), Some(true)) => Way::Once(call, store),
            // The result became an error, for example because it is too large.
            (Stage::Ended(..), Some(false)) => Way::Store(Arc::clone(&self.store)),
            (Stage::None | Stage::Open(_) | Stage::Ended(..), _) => Way::Nowhere,
        }
    }

    /// Keeps the transaction of a write that was refused because an answer waits. It is still open, and core makes the
    /// write again once it has read the answer.
    pub(super) fn keep_for_next_write(&mut self, call: CallId, store: Arc<dyn StateStore>) {
        self.transactions.stage = Stage::Ended(call, store);
    }
}

fn refuse(waiting: Waiting, why: &str) {
    // The send fails if the call no longer waits.
    let _ = waiting.send(Err(StoreError::invalid("begin", why)));
}
