//! Signals: a flow waits for a named signal from outside.

use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::time::Duration;

use holdover_core::signal::SignalName;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::built_in::WAIT;
use crate::call::{Call, Kind};
use crate::cx::Cx;
use crate::error::StepError;

/// A wait for a signal with a body of type `T`. Await it to wait. A signal that came earlier is taken at once, the oldest
/// first.
#[must_use = "a flow waits for a signal when this is awaited"]
pub struct Signal<T> {
    cx: Cx,
    awaited: Awaited,
    body: PhantomData<fn() -> T>,
}

/// The arguments of the call that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Awaited {
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) within_ms: Option<u64>,
}

impl Awaited {
    /// Returns the name of the signal.
    pub(crate) fn name(&self) -> Result<SignalName, String> {
        SignalName::new(self.name.as_str()).map_err(|error| error.to_string())
    }
}

impl<T> Signal<T> {
    pub(crate) fn new(cx: &Cx, name: &str) -> Self {
        let awaited = Awaited { name: name.to_owned(), within_ms: None };
        Self { cx: cx.clone(), awaited, body: PhantomData }
    }

    /// Sets the time after which the wait ends with [`StepError::TimedOut`]. Without it, the flow waits for ever.
    pub fn within(mut self, time: Duration) -> Self {
        self.awaited.within_ms = Some(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        self
    }
}

impl<T: DeserializeOwned + 'static> IntoFuture for Signal<T> {
    type Output = Result<T, StepError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let call: Call<T> = Call::new(&self.cx, WAIT, &self.awaited, Kind::Value);
        Box::pin(call)
    }
}
