//! Actions in progress: requested, and not answered yet.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::action::ActionId;
use crate::engine::calls::early::Early;
use crate::words::background::Background;
use crate::words::ids::{CallId, InboxSeq, PendingId};

/// Actions in progress: requested, and not answered yet.
#[derive(Debug, Default)]
pub(crate) struct Out {
    /// The calls that were sent or told to stop.
    pub(crate) calls: BTreeSet<CallId>,
    /// The calls to send, whose start marks are acknowledged.
    pub(crate) to_send: Vec<CallId>,
    /// The calls that began while the model was writing.
    pub(crate) early: Early,
    /// The calls whose children are being created or stopped.
    pub(crate) children: BTreeMap<CallId, ActionId>,
    /// The calls whose children were stopped. These children may still answer.
    pub(crate) childless: BTreeSet<CallId>,
    pub(crate) outside: OutsideOut,
    /// The action that looks for children and successors, and the newest successor that it looks for.
    pub(crate) looking: Option<(ActionId, Option<PendingId>)>,
    /// The action that notifies other sessions of the end of the turn.
    pub(crate) others: Option<ActionId>,
    pub(crate) model: ModelOut,
    pub(crate) surroundings: SurroundingsOut,
    pub(crate) sleep: Option<ActionId>,
    pub(crate) news: News,
}

impl Out {
    /// Returns true if no action is in progress.
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
            && self.children.is_empty()
            && self.outside.begun.is_none()
            && self.looking.is_none()
            && self.others.is_none()
            && self.model == ModelOut::Silent
            && self.surroundings == SurroundingsOut::Still
            && self.sleep.is_none()
            && !matches!(self.news, News::Reading { .. })
    }
}

/// The requests from outside that are in progress.
#[derive(Debug, Default)]
pub(crate) struct OutsideOut {
    /// The background child that is being created.
    pub(crate) begun: Option<(ActionId, Box<Background>)>,
    /// The requests for background children that this run has seen.
    pub(crate) noted: BTreeSet<InboxSeq>,
}

/// The code that plans the session, in this run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum PlanOut {
    /// This run has not begun the code.
    #[default]
    Unbegun,
    /// The code waits.
    Begun,
    /// The code is being asked.
    Asked(ActionId),
}

impl PlanOut {
    /// Returns true if the code is being asked.
    pub(crate) fn is_asked(self) -> bool {
        matches!(self, Self::Asked(_))
    }
}

/// The present task of the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ModelOut {
    #[default]
    Silent,
    /// The model answers a step.
    Answering(ActionId),
    /// The model summarises old messages.
    Summarising(ActionId),
    /// The model was stopped, and the run waits for its text and usage.
    Stopped {
        of: ActionId,
        /// True if the model was writing a summary.
        summary: bool,
    },
}

impl ModelOut {
    /// Takes the answer to a step. Returns false if it is not expected.
    pub(crate) fn answered(&mut self, id: ActionId) -> bool {
        self.ends(Self::Answering(id))
    }

    /// Takes a summary. Returns false if it is not expected.
    pub(crate) fn summarised(&mut self, id: ActionId) -> bool {
        self.ends(Self::Summarising(id))
    }

    fn ends(&mut self, awaited: Self) -> bool {
        let waits = *self == awaited;
        if waits {
            *self = Self::Silent;
        }
        waits
    }

    /// Stops listening. Returns the action to stop, if one is in progress.
    pub(crate) fn stop(&mut self) -> Option<ActionId> {
        let (of, summary) = match *self {
            Self::Answering(of) => (of, false),
            Self::Summarising(of) => (of, true),
            Self::Silent | Self::Stopped { .. } => return None,
        };
        *self = Self::Stopped { of, summary };
        Some(of)
    }

    /// Takes the answer of a model that was stopped. Returns whether it was writing a summary, or `None` if the
    /// answer is not expected.
    pub(crate) fn stopped(&mut self, id: ActionId) -> Option<bool> {
        let Self::Stopped { of, summary } = *self else { return None };
        (of == id).then(|| {
            *self = Self::Silent;
            summary
        })
    }

    /// Returns true if the run waits for a model that was stopped.
    pub(crate) fn is_stopped(self) -> bool {
        matches!(self, Self::Stopped { .. })
    }

    /// Returns true if a summary is being made.
    pub(crate) fn is_summarising(self) -> bool {
        matches!(self, Self::Summarising(_))
    }
}

/// The present work on the surroundings of the turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SurroundingsOut {
    #[default]
    Still,
    /// The surroundings are being prepared.
    MakingReady(ActionId),
    /// The surroundings are being freed.
    Freeing(ActionId),
}

/// The state of reading the inbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum News {
    /// Everything that is known to have arrived was read.
    #[default]
    Read,
    /// New items or an interrupt must be read.
    Due,
    /// The inbox is being read.
    Reading {
        id: ActionId,
        /// True if more items or an interrupt arrived after the read began.
        stale: bool,
        /// True if no decision is made before the answer comes.
        awaited: bool,
    },
}

impl News {
    /// Notes that new items or an interrupt must be read.
    pub(crate) fn hear(&mut self) {
        match self {
            Self::Read | Self::Due => *self = Self::Due,
            Self::Reading { stale, .. } => *stale = true,
        }
    }

    /// Notes that this action reads the inbox now.
    pub(crate) fn read_by(&mut self, id: ActionId, awaited: bool) {
        *self = Self::Reading { id, stale: false, awaited };
    }

    /// Takes the answer to this read. Returns false if it is not expected.
    pub(crate) fn came(&mut self, read: ActionId) -> bool {
        match *self {
            Self::Reading { id, stale, .. } if id == read => {
                *self = if stale { Self::Due } else { Self::Read };
                true
            }
            Self::Reading { .. } | Self::Read | Self::Due => false,
        }
    }

    /// Returns the read that all decisions wait for, if there is one.
    pub(crate) fn awaited(self) -> Option<ActionId> {
        match self {
            Self::Reading { id, awaited: true, .. } => Some(id),
            Self::Reading { .. } | Self::Read | Self::Due => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ActionId = ActionId(1);
    const TWO: ActionId = ActionId(2);

    #[test]
    fn a_model_that_answers_brings_no_summary_and_one_that_summarises_no_answer() {
        let mut model = ModelOut::Answering(ONE);
        assert!(!model.summarised(ONE) && !model.answered(TWO));
        assert!(model.answered(ONE) && model == ModelOut::Silent);
        let mut model = ModelOut::Summarising(ONE);
        assert!(!model.answered(ONE) && !model.summarised(TWO));
        assert!(model.summarised(ONE) && model == ModelOut::Silent);
    }

    #[test]
    fn a_model_that_was_stopped_is_waited_for_once() {
        let mut model = ModelOut::Summarising(ONE);
        assert_eq!((model.stop(), model.stop()), (Some(ONE), None));
        assert!(!model.summarised(ONE), "its answer is wanted no more");
        assert_eq!((model.stopped(TWO), model.stopped(ONE), model.stopped(ONE)), (None, Some(true), None));
        assert_eq!(ModelOut::Silent.stop(), None);
    }

    #[test]
    fn what_is_heard_during_a_read_is_due_after_it() {
        let mut news = News::Read;
        news.read_by(ONE, true);
        assert_eq!(news.awaited(), Some(ONE));
        news.hear();
        assert!(!news.came(TWO) && news.came(ONE));
        assert_eq!((news, news.awaited()), (News::Due, None));
        news.read_by(TWO, false);
        assert_eq!(news.awaited(), None);
        assert!(news.came(TWO) && news == News::Read);
    }
}
