//! When a run is told to leave its session to another.

use std::future::pending;

use holdover_core::step::Drain;
use tokio_util::sync::CancellationToken;

/// What tells a run to leave its session to another, and how far it goes on then.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leaving {
    /// None: nobody tells it, or it was told.
    told: Option<CancellationToken>,
    drain: Drain,
}

impl Leaving {
    /// The run is told once `told` is cancelled.
    pub(crate) fn when(told: CancellationToken, drain: Drain) -> Self {
        Self { told: Some(told), drain }
    }

    /// A run that nobody tells.
    pub(crate) fn never() -> Self {
        Self::default()
    }

    /// Whether it is to leave already.
    pub(crate) fn is_told(&self) -> bool {
        self.told.as_ref().is_some_and(CancellationToken::is_cancelled)
    }

    /// How far it goes on, once it is told; only once.
    pub(super) async fn heard(&mut self) -> Drain {
        match &self.told {
            Some(told) => told.cancelled().await,
            None => pending().await,
        }
        self.told = None;
        self.drain
    }
}
