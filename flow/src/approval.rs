//! Approvals: a flow asks people before it goes on.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

use holdover_core::gate::{ApprovalTerms, Approvers, AtExpiry};
use holdover_core::tool::Bound;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::built_in::{APPROVE, TIMED_OUT};
use crate::call::{Call, Kind};
use crate::cx::Cx;
use crate::error::StepError;

/// A request for an approval. Await it to ask; it ends with an error if somebody rejects it or the time is over.
#[must_use = "an approval is asked for when it is awaited"]
pub struct Approval {
    cx: Cx,
    asked: Asked,
}

/// What people are shown, and on which terms they decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) approve: String,
    pub(crate) shown: Value,
    #[serde(default)]
    pub(crate) terms: ApprovalTerms,
}

impl Approval {
    pub(crate) fn new(cx: &Cx, what: &str, shown: &impl Serialize) -> Self {
        let shown = serde_json::to_value(shown).unwrap_or_else(|error| Value::String(error.to_string()));
        let terms = ApprovalTerms::default()
            .at_expiry(AtExpiry::Result(TIMED_OUT.to_owned()))
            .expires_after_ms(Bound::Never);
        Self { cx: cx.clone(), asked: Asked { approve: what.to_owned(), shown, terms } }
    }

    /// Names the people who may approve. One approval is enough.
    pub fn of<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        self.by(Approvers::of(names, 1))
    }

    /// Sets the people who may approve, and the number of approvals needed.
    pub fn by(mut self, approvers: Approvers) -> Self {
        self.asked.terms = self.asked.terms.approvers(approvers);
        self
    }

    /// Sets the time after which the request ends with [`StepError::TimedOut`]. Without it, the request waits for ever.
    pub fn within(mut self, time: Duration) -> Self {
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.asked.terms = self.asked.terms.expires_after_ms(Bound::At(ms));
        self
    }
}

impl IntoFuture for Approval {
    type Output = Result<(), StepError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let what = self.asked.approve.clone();
        let call: Call<String> = Call::new(&self.cx, APPROVE, &self.asked, Kind::Text);
        Box::pin(async move {
            match call.await {
                Ok(said) if said == TIMED_OUT => Err(StepError::TimedOut { step: what }),
                Ok(_) => Ok(()),
                Err(StepError::Rejected { why, .. }) => Err(StepError::Rejected { step: what, why }),
                Err(other) => Err(other),
            }
        })
    }
}
