//! The rule for the sessions that a list contains.

use super::SessionRow;
use crate::{Labels, SessionQuery, SessionSummary};

impl SessionSummary {
    /// Returns true if this session passes all filters of `query`. The page of the query is ignored.
    pub fn listed(&self, query: &SessionQuery) -> bool {
        self.key.tenant == query.tenant
            && query.life.is_none_or(|life| life == self.incarnation)
            && (query.status.is_empty() || query.status.contains(&self.status))
            && query.queue.as_ref().is_none_or(|queue| *queue == self.queue)
            && query.created.contains(self.created_at)
            && query.changed.contains(self.updated_at)
            && self.labels.contains_all(&query.labels)
    }
}

impl SessionRow {
    /// Returns true if this session, which has these labels, passes all filters of `query`. The page of the
    /// query is ignored.
    pub fn listed(&self, labels: &Labels, query: &SessionQuery) -> bool {
        self.summary(labels.clone()).listed(query)
    }
}
