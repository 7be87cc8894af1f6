//! The provisioners of an agent, each with its fallbacks.

use std::sync::Arc;

use holdover_core::provision::Provisioner;

use super::AgentBuilder;

/// A provisioner, and the ones that are asked in its place if it fails.
#[derive(Clone)]
pub(crate) struct Choices {
    pub(crate) first: Arc<dyn Provisioner>,
    pub(crate) fallbacks: Vec<Arc<dyn Provisioner>>,
}

impl Choices {
    pub(super) fn only(first: Arc<dyn Provisioner>) -> Self {
        Self { first, fallbacks: Vec::new() }
    }
}

impl AgentBuilder {
    /// Adds code that prepares the environment of the agent's turns, and frees it again. Several provisioners
    /// prepare one after another, and free in the reverse order.
    pub fn provisioner(self, provisioner: Arc<dyn Provisioner>) -> Self {
        self.provisioner_with_fallbacks(provisioner, [])
    }

    /// Adds a [`provisioner`](Self::provisioner) with others in its place. If it fails, after its retries, the first of
    /// `fallbacks` prepares the environment of that turn, and so on. At the end of the turn, all of them are told to free
    /// it. Each turn begins with `provisioner`.
    pub fn provisioner_with_fallbacks(
        mut self,
        provisioner: Arc<dyn Provisioner>,
        fallbacks: impl IntoIterator<Item = Arc<dyn Provisioner>>,
    ) -> Self {
        self.provisioners.push(Choices { first: provisioner, fallbacks: fallbacks.into_iter().collect() });
        self
    }
}
