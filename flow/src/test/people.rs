//! The people of a test, and everything else that comes from outside.

use std::collections::BTreeSet;
use std::time::Duration;

use holdover_core::ids::{PendingId, SessionKey};
use holdover_core::message::ClientAnswer;
use holdover_core::store::PendingKind;
use holdover_core::time::Timestamp;
use holdover_runtime_local::{Approval, Denial, PendingEntry, Runtime, RuntimeError, Signal};

use super::TestError;
use super::report::name_of;
use crate::built_in::ASK;

/// Something that happens from outside.
#[derive(Debug, Clone)]
pub(super) enum Deed {
    Approve { what: String, by: String },
    Refuse { what: String, by: String, reason: String },
    Answer { question: String, text: String },
    Signal(Signal),
    Stop(String),
    Abort(String),
}

/// A deed, and when it is done.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) deed: Deed,
    pub(super) after: Duration,
}

/// The people of one run.
pub(super) struct People<'a> {
    rules: &'a [Rule],
    began: Timestamp,
    /// The rules that were followed for a request, and those that were followed for the flow.
    done: BTreeSet<(usize, Option<PendingId>)>,
}

impl<'a> People<'a> {
    pub(super) fn new(rules: &'a [Rule], began: Timestamp) -> Self {
        Self { rules, began, done: BTreeSet::new() }
    }

    /// Does what is due now. Returns the instant at which the next thing is to be done, for what is asked so far.
    pub(super) async fn act(
        &mut self,
        runtime: &Runtime,
        key: &SessionKey,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, TestError> {
        let asked = runtime.pending(key).await.map_err(|source| TestError::refused("look", source))?;
        let mut next: Option<Timestamp> = None;
        for (at, rule) in self.rules.iter().enumerate() {
            let about: Vec<Option<&PendingEntry>> = match &rule.deed {
                Deed::Signal(_) | Deed::Stop(_) | Deed::Abort(_) => vec![None],
                Deed::Approve { .. } | Deed::Refuse { .. } | Deed::Answer { .. } => {
                    asked.iter().filter(|entry| rule.deed.is_about(entry)).map(Some).collect()
                }
            };
            for entry in about {
                let done = (at, entry.map(|entry| entry.id().clone()));
                let due = entry.map_or(self.began, |entry| entry.call.opened_at).after(rule.after);
                if self.done.contains(&done) {
                    continue;
                }
                if due > now {
                    next = next.into_iter().chain([due]).min();
                    continue;
                }
                self.done.insert(done);
                let refused = |source| TestError::refused(&format!("{:?}", rule.deed), source);
                rule.deed.run(runtime, key, entry).await.map_err(refused)?;
            }
        }
        Ok(next)
    }
}

impl Deed {
    fn is_about(&self, entry: &PendingEntry) -> bool {
        let name = name_of(entry);
        match self {
            Self::Approve { what, .. } | Self::Refuse { what, .. } => {
                entry.call.kind == PendingKind::Approval && name == *what
            }
            Self::Answer { question, .. } => entry.body.tool.as_str() == ASK && name == *question,
            Self::Signal(_) | Self::Stop(_) | Self::Abort(_) => false,
        }
    }

    async fn run(
        &self,
        runtime: &Runtime,
        key: &SessionKey,
        entry: Option<&PendingEntry>,
    ) -> Result<(), RuntimeError> {
        match (self, entry.map(PendingEntry::id)) {
            (Self::Approve { by, .. }, Some(id)) => {
                runtime.approve(key, id, Approval::by(by)).await?;
            }
            (Self::Refuse { by, reason, .. }, Some(id)) => {
                runtime.deny(key, id, Denial::by(by).because(reason)).await?;
            }
            (Self::Answer { text, .. }, Some(id)) => {
                let answer = ClientAnswer::done(text);
                runtime.answer(key, id, answer).await?;
            }
            (Self::Signal(signal), _) => {
                runtime.signal(key, signal.clone()).await?;
            }
            (Self::Stop(reason), _) => {
                runtime.interrupt(key, reason.as_str()).await?;
            }
            (Self::Abort(reason), _) => {
                runtime.abort(key, reason.as_str()).await?;
            }
            (Self::Approve { .. } | Self::Refuse { .. } | Self::Answer { .. }, None) => {}
        }
        Ok(())
    }
}
