//! Writes the parts of a model's answer to the store in batches, as they come. The run does not wait for these
//! writes.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use holdover_core::delta::Delta;
use holdover_core::engine::Reply;
use holdover_core::ids::{Fence, MessageSeq};
use holdover_core::payload::Payload;
use holdover_core::store::{DeltaBatch, DeltaOutcome, Receipt, Retry, StateStore, StoreError};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::backoff::Backoff;
use crate::clock::far;

/// A message from a running model call to its run.
pub(super) enum Heard {
    /// A tool call of the answer is complete.
    Call(Reply),
    /// The receipt of a write of deltas, with the instant before the request.
    News(Instant, Receipt),
    /// Another run owns the session.
    Lost,
}

/// A wait until the store has the messages that the model was shown. Before that, no delta of the new answer is
/// written, because it would void the deltas of the previous message, which is still on its way.
pub(super) struct Written {
    message: MessageSeq,
    newest: watch::Receiver<MessageSeq>,
}

impl Written {
    /// Creates the wait. `message` is the newest message that the model was shown, and `newest` the newest that the
    /// store has.
    pub(super) fn new(message: MessageSeq, newest: watch::Receiver<MessageSeq>) -> Self {
        Self { message, newest }
    }

    /// Waits until the store has the message.
    pub(super) async fn wait(&mut self) {
        if self.newest.wait_for(|newest| *newest >= self.message).await.is_err() {
            // The run is over.
            pending().await
        }
    }
}

/// The deltas of one model call on their way to the store. One batch is in flight at a time. Deltas that come
/// meanwhile wait for the next batch.
pub(super) struct Deltas {
    store: Arc<dyn StateStore>,
    fence: Fence,
    heard: UnboundedSender<Heard>,
    shown: Written,
    stream: u32,
    /// The time for which deltas are gathered. `None` once no more deltas are written.
    every: Option<Duration>,
    waiting: Vec<Delta>,
    /// The instant at which the waiting deltas are written.
    due: Option<Instant>,
    /// The place of the first delta that is not acknowledged.
    next: u64,
    out: Option<Out>,
    backoff: Backoff,
}

struct Out {
    batch: DeltaBatch,
    asked: Instant,
    answer: BoxFuture<'static, Result<DeltaOutcome, StoreError>>,
}

impl Deltas {
    /// Creates an empty list. `every` is the time for which deltas are gathered before they are written; with
    /// `None`, no deltas are written.
    pub(super) fn new(
        store: Arc<dyn StateStore>,
        fence: Fence,
        heard: UnboundedSender<Heard>,
        shown: Written,
        stream: u32,
        every: Option<Duration>,
    ) -> Self {
        Self {
            store,
            fence,
            heard,
            shown,
            stream,
            every,
            waiting: Vec::new(),
            due: None,
            next: 1,
            out: None,
            backoff: Backoff::store(),
        }
    }

    /// Adds a part of the answer.
    pub(super) fn push(&mut self, delta: Delta) {
        let Some(every) = self.every else { return };
        if self.waiting.is_empty() && self.due.is_none() {
            self.due = Some(far(Instant::now(), every));
        }
        Delta::coalesce(&mut self.waiting, delta);
    }

    /// Writes what is due, for as long as it is polled. Never returns. The future may be dropped and created again.
    pub(super) async fn write(&mut self) {
        loop {
            if let Some(out) = &mut self.out {
                let answer = (&mut out.answer).await;
                self.answered(answer);
                continue;
            }
            match self.due {
                Some(due) => sleep_until(due).await,
                None => pending().await,
            }
            self.shown.wait().await;
            self.send();
        }
    }

    fn send(&mut self) {
        self.due = None;
        let payloads: Result<Vec<Payload>, _> =
            self.waiting.drain(..).map(|delta| Payload::json(&delta)).collect();
        match payloads {
            Ok(deltas) if deltas.is_empty() => {}
            Ok(deltas) => {
                let batch = DeltaBatch { stream: self.stream, first: self.next, deltas };
                self.request(batch, Instant::now());
            }
            Err(error) => self.give_up(&error),
        }
    }

    fn request(&mut self, batch: DeltaBatch, at: Instant) {
        let (store, fence, request) = (Arc::clone(&self.store), self.fence.clone(), batch.clone());
        let answer = async move {
            sleep_until(at).await;
            store.append_deltas(&fence, request).await
        };
        self.out = Some(Out { batch, asked: at, answer: answer.boxed() });
    }

    fn answered(&mut self, answer: Result<DeltaOutcome, StoreError>) {
        let Some(Out { batch, asked, .. }) = self.out.take() else { return };
        match answer {
            Ok(DeltaOutcome::Appended(receipt)) => {
                self.next = batch.first + batch.deltas.len() as u64;
                self.backoff = Backoff::store();
                // The run may be over.
                let _ = self.heard.send(Heard::News(asked, receipt));
                if let Some(every) = self.every.filter(|_| !self.waiting.is_empty()) {
                    self.due = Some(far(asked, every));
                }
            }
            Ok(DeltaOutcome::StaleFence) => {
                self.every = None;
                let _ = self.heard.send(Heard::Lost);
            }
            Ok(refused @ (DeltaOutcome::Ended | DeltaOutcome::Gap { .. })) => {
                self.give_up(&format!("{refused:?}"));
            }
            // Repeats the same batch. Deltas that are already stored stay as they are.
            Err(error) if error.retry != Retry::Never => {
                tracing::debug!(run = %self.fence, %error, "writing deltas again");
                let at = Instant::now() + self.backoff.take();
                self.request(batch, at);
            }
            Err(error) => self.give_up(&error),
        }
    }

    /// Stops writing deltas. This is no error, because deltas are provisional: without them, a reader waits for the
    /// message.
    fn give_up(&mut self, why: &dyn std::fmt::Display) {
        tracing::warn!(run = %self.fence, stream = self.stream, %why, "no more deltas are written");
        self.every = None;
        self.due = None;
        self.waiting.clear();
    }
}
