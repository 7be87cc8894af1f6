//! A call of a flow, as a future.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use holdover_core::children::ChildOutcome;
use holdover_core::gate::DeniedBy;
use holdover_core::message::{ResultStatus, ToolResult};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::built_in::{TIMED_OUT, WAIT};
use crate::code::{GoesOn, Shared, lock};
use crate::cx::Cx;
use crate::error::StepError;

/// The most calls of a flow that was told to stop which are refused at once. Code that goes on for longer would never end.
pub(crate) const REFUSED_MAX: u32 = 10_000;

/// The words before the reason of a person, in the text that is made for models.
const REFUSED: &str = "Permission denied by user: ";

/// The word before the reason of a gate, in the text that is made for models.
const DENIED: &str = "denied: ";

/// A call of a flow: a step, a tool, a wait or a question. It begins when it is first polled. Dropping it cancels it.
#[must_use = "a call begins when it is awaited"]
pub struct Call<R> {
    ledger: Shared,
    tool: String,
    arguments: Result<String, String>,
    kind: Kind,
    goes_on: GoesOn,
    is: Is,
    returns: PhantomData<fn() -> R>,
}

/// How the text of a result becomes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The text is the value as JSON.
    Value,
    /// The text itself is the value.
    Text,
    /// There is no value.
    Nothing,
    /// The text has the outcome of one child, whose text is the value as JSON.
    Child,
    /// The text has the outcome of one child, whose text is the value.
    ChildText,
    /// The text has the outcomes of several children. They are the value.
    Children,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Is {
    New,
    Made(u64),
    Over,
}

impl<R> Call<R> {
    pub(crate) fn new(cx: &Cx, tool: &str, arguments: &impl Serialize, kind: Kind) -> Self {
        Self {
            ledger: cx.ledger().clone(),
            tool: tool.to_owned(),
            arguments: serde_json::to_string(arguments).map_err(|error| error.to_string()),
            kind,
            goes_on: GoesOn::UntilStopped,
            is: Is::New,
            returns: PhantomData,
        }
    }

    /// Returns a call that fails because its argument cannot be written.
    pub(crate) fn broken(cx: &Cx, tool: &str, error: &serde_json::Error) -> Self {
        let mut call = Self::new(cx, tool, &(), Kind::Nothing);
        call.arguments = Err(error.to_string());
        call
    }

    /// Limits the time of the call as a whole, with all its attempts and waits. Then it ends with
    /// [`StepError::TimedOut`] and is cancelled. The time begins now, and is durable.
    ///
    /// The error does not tell whether the call has acted. A step that changes something outside may have done so, or may
    /// still do so before it learns that it was cancelled. The undo of such a step has to find out.
    pub fn within(self, time: Duration) -> Within<R> {
        let rings = Cx::new(self.ledger.clone()).sleep(time);
        self.until(rings)
    }

    /// Ends the call when a timer rings.
    pub(crate) fn until(self, rings: Call<()>) -> Within<R> {
        Within { call: self, rings }
    }

    /// Makes the call go on although the flow was told to stop.
    pub(crate) fn undoing(mut self) -> Self {
        self.goes_on = GoesOn::Stopped;
        self
    }

    /// Makes the call go on beside the flow, which does not wait for it.
    pub(crate) fn beside(mut self) -> Self {
        self.goes_on = GoesOn::Beside;
        self
    }
}

impl<R: DeserializeOwned> Future for Call<R> {
    type Output = Result<R, StepError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let ledger = this.ledger.clone();
        let mut ledger = lock(&ledger);
        let at = match this.is {
            Is::Made(at) => at,
            Is::New
                if ledger.stops && this.goes_on == GoesOn::UntilStopped && ledger.refused >= REFUSED_MAX =>
            {
                return Poll::Pending;
            }
            Is::New if ledger.stops && this.goes_on == GoesOn::UntilStopped => {
                ledger.refused += 1;
                this.is = Is::Over;
                return Poll::Ready(Err(stopped(&this.tool)));
            }
            Is::New => {
                let arguments = match &this.arguments {
                    Ok(arguments) => arguments.clone(),
                    Err(why) => {
                        this.is = Is::Over;
                        let why = format!("its argument is no JSON: {why}");
                        return Poll::Ready(Err(StepError::Failed { step: this.tool.clone(), why }));
                    }
                };
                let at = ledger.make(&this.tool, arguments, this.goes_on);
                this.is = Is::Made(at);
                at
            }
            // A call that is over is not polled again.
            Is::Over => return Poll::Pending,
        };
        match ledger.take(at, cx.waker()) {
            None => Poll::Pending,
            Some(result) => {
                this.is = Is::Over;
                Poll::Ready(match result {
                    Some(result) => value_of(&this.tool, this.kind, *result),
                    None => Err(stopped(&this.tool)),
                })
            }
        }
    }
}

/// A [call with a time limit](Call::within).
#[must_use = "a call begins when it is awaited"]
pub struct Within<R> {
    call: Call<R>,
    rings: Call<()>,
}

impl<R: DeserializeOwned> Future for Within<R> {
    type Output = Result<R, StepError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        match (Pin::new(&mut this.call).poll(cx), Pin::new(&mut this.rings).poll(cx)) {
            (Poll::Ready(end), _) => Poll::Ready(end),
            (Poll::Pending, Poll::Ready(Ok(()))) => {
                Poll::Ready(Err(StepError::TimedOut { step: this.call.tool.clone() }))
            }
            // A flow that was told to stop waits for the call, which is being stopped, too.
            (Poll::Pending, Poll::Ready(Err(_)) | Poll::Pending) => Poll::Pending,
        }
    }
}

impl<R> Drop for Call<R> {
    fn drop(&mut self) {
        if let Is::Made(at) = self.is {
            lock(&self.ledger).drop_call(at);
        }
    }
}

fn stopped(step: &str) -> StepError {
    StepError::Cancelled { step: step.to_owned(), why: "the flow was told to stop".to_owned() }
}

/// Returns a text as a value.
fn text<R: DeserializeOwned>(text: String) -> Result<R, serde_json::Error> {
    serde_json::from_value(serde_json::Value::String(text))
}

/// Returns the value or the error that the outcome of a child stands for.
pub(crate) fn value_of_child<R: DeserializeOwned>(
    step: &str,
    is_text: bool,
    outcome: ChildOutcome,
) -> Result<R, StepError> {
    let step = step.to_owned();
    // The engine itself speaks for a child without an outcome of its own.
    if outcome.session.is_none() && outcome.text.starts_with(TIMED_OUT) {
        return Err(StepError::TimedOut { step });
    }
    if !outcome.ok {
        return Err(StepError::Failed { step, why: outcome.text });
    }
    let value = if is_text { text(outcome.text) } else { serde_json::from_str(&outcome.text) };
    value.map_err(|error| StepError::Unreadable { step, why: error.to_string() })
}

/// Returns the value or the error that a result stands for.
fn value_of<R: DeserializeOwned>(step: &str, kind: Kind, result: ToolResult) -> Result<R, StepError> {
    let (step, why) = (step.to_owned(), result.content);
    let of_child = matches!(kind, Kind::Child | Kind::ChildText);
    let ended = matches!(result.status, ResultStatus::Done | ResultStatus::Error);
    if of_child
        && ended
        && let Ok([outcome]) = serde_json::from_str::<[ChildOutcome; 1]>(&why)
    {
        return value_of_child(&step, kind == Kind::ChildText, outcome);
    }
    if kind == Kind::Children
        && ended
        && let Ok(outcomes) = serde_json::from_str(&why)
    {
        return Ok(outcomes);
    }
    match result.status {
        ResultStatus::Done => {
            let value = match kind {
                Kind::Value => serde_json::from_str(&why),
                Kind::Text | Kind::Child | Kind::ChildText | Kind::Children => text(why),
                Kind::Nothing => serde_json::from_str("null"),
            };
            value.map_err(|error| StepError::Unreadable { step, why: error.to_string() })
        }
        ResultStatus::Error if result.denial.is_some_and(|denial| denial.denied_by == DeniedBy::User) => {
            let reason = why.strip_prefix(REFUSED).unwrap_or(&why).to_owned();
            Err(StepError::Rejected { step, why: reason })
        }
        // The engine itself ends these waits.
        ResultStatus::Error if step == WAIT && why.starts_with(TIMED_OUT) => {
            Err(StepError::TimedOut { step })
        }
        ResultStatus::Error => Err(StepError::Failed { step, why }),
        ResultStatus::Denied => {
            let reason = why.strip_prefix(DENIED).unwrap_or(&why).to_owned();
            Err(StepError::Denied { step, why: reason })
        }
        ResultStatus::RejectedByUser => Err(StepError::Rejected { step, why }),
        ResultStatus::Cancelled => Err(StepError::Cancelled { step, why }),
        ResultStatus::InDoubt => Err(StepError::InDoubt { step, why }),
    }
}
