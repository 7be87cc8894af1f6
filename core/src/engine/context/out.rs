//! Actions that are out: sent, and not answered yet.

use std::collections::BTreeSet;

use crate::engine::action::ActionId;
use crate::engine::calls::early::Early;
use crate::words::ids::CallId;

/// What is out.
#[derive(Debug, Default)]
pub(crate) struct Out {
    /// Calls that were sent or told to stop.
    pub(crate) calls: BTreeSet<CallId>,
    /// Calls whose start mark is acknowledged, to be sent.
    pub(crate) to_send: Vec<CallId>,
    /// Calls that began while the model was writing.
    pub(crate) early: Early,
    pub(crate) model: ModelOut,
    pub(crate) surroundings: SurroundingsOut,
    pub(crate) sleep: Option<ActionId>,
    pub(crate) news: News,
}

impl Out {
    /// Whether nothing is.
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
            && self.model == ModelOut::Silent
            && self.surroundings == SurroundingsOut::Still
            && self.sleep.is_none()
            && !matches!(self.news, News::Reading { .. })
    }
}

/// What a model is doing for the session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ModelOut {
    #[default]
    Silent,
    /// It answers a step.
    Answering(ActionId),
    /// It summarises what is old.
    Summarising(ActionId),
    /// It was stopped, and is waited for what it had said and used.
    Stopped {
        of: ActionId,
        /// Whether it was asked for a summary.
        summary: bool,
    },
}

impl ModelOut {
    /// Takes the answer to this action. False: nothing waits for it.
    pub(crate) fn answered(&mut self, id: ActionId) -> bool {
        let waits = *self == Self::Answering(id) || *self == Self::Summarising(id);
        if waits {
            *self = Self::Silent;
        }
        waits
    }

    /// Stops listening: which action is to be stopped, if one is out.
    pub(crate) fn stop(&mut self) -> Option<ActionId> {
        let (of, summary) = match *self {
            Self::Answering(of) => (of, false),
            Self::Summarising(of) => (of, true),
            Self::Silent | Self::Stopped { .. } => return None,
        };
        *self = Self::Stopped { of, summary };
        Some(of)
    }

    /// Takes what the one that was stopped had said: whether that was a summary. None: nothing waits for it.
    pub(crate) fn stopped(&mut self, id: ActionId) -> Option<bool> {
        let Self::Stopped { of, summary } = *self else { return None };
        (of == id).then(|| {
            *self = Self::Silent;
            summary
        })
    }

    /// Whether one that was stopped is waited for.
    pub(crate) fn is_stopped(self) -> bool {
        matches!(self, Self::Stopped { .. })
    }

    /// Whether a summary is being made.
    pub(crate) fn is_summarising(self) -> bool {
        matches!(self, Self::Summarising(_))
    }
}

/// What is being done to what the turn needs beside model and tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SurroundingsOut {
    #[default]
    Still,
    /// It is made ready.
    MakingReady(ActionId),
    /// It is freed.
    Freeing(ActionId),
}

/// Whether it is known what others have put in the inbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum News {
    /// All of it was read.
    #[default]
    Read,
    /// Something is there that was not.
    Due,
    /// It is being read.
    Reading {
        id: ActionId,
        /// Something has come since.
        stale: bool,
        /// Nothing is decided before it is there.
        awaited: bool,
    },
}

impl News {
    /// Something is there that was not read.
    pub(crate) fn hear(&mut self) {
        match self {
            Self::Read | Self::Due => *self = Self::Due,
            Self::Reading { stale, .. } => *stale = true,
        }
    }

    /// It is read now.
    pub(crate) fn read_by(&mut self, id: ActionId, awaited: bool) {
        *self = Self::Reading { id, stale: false, awaited };
    }

    /// Takes the answer to this read. False: nothing waits for it.
    pub(crate) fn came(&mut self, read: ActionId) -> bool {
        match *self {
            Self::Reading { id, stale, .. } if id == read => {
                *self = if stale { Self::Due } else { Self::Read };
                true
            }
            Self::Reading { .. } | Self::Read | Self::Due => false,
        }
    }

    /// The read without which nothing is decided.
    pub(crate) fn awaited(self) -> Option<ActionId> {
        match self {
            Self::Reading { id, awaited: true, .. } => Some(id),
            Self::Reading { .. } | Self::Read | Self::Due => None,
        }
    }
}
