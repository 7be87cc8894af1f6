//! A store that forwards every call to another store.

/// Implements [`StateStore`](crate::StateStore) for a type that has a store within: every call goes to it.
///
/// ```
/// use holdover_store::{StateStore, forward_store};
///
/// /// A store with a name.
/// struct Named<S> {
///     name: String,
///     store: S,
/// }
///
/// forward_store! { [S: StateStore] Named<S>, |named| named.store }
/// ```
#[macro_export]
macro_rules! forward_store {
    ([$($generics:tt)*] $type:ty, |$store:ident| $inner:expr) => {
        #[$crate::forwarding::async_trait]
        impl<$($generics)*> $crate::StateStore for $type {
            fn capabilities(&self) -> $crate::Capabilities {
                let $store = self;
                (&$inner).capabilities()
            }
            fn digests(&self, tenant: &$crate::ids::TenantId, words: &[u8]) -> Result<Vec<$crate::payload::Digest>, $crate::StoreError> {
                let $store = self;
                (&$inner).digests(tenant, words)
            }
            async fn create_session(&self, new: $crate::NewSession) -> Result<$crate::CreateOutcome, $crate::StoreError> {
                let $store = self;
                (&$inner).create_session(new).await
            }
            async fn load_session(&self, key: &$crate::ids::SessionKey) -> Result<Option<$crate::Session>, $crate::StoreError> {
                let $store = self;
                (&$inner).load_session(key).await
            }
            async fn list_sessions(&self, query: &$crate::SessionQuery) -> Result<$crate::Page<$crate::SessionSummary>, $crate::StoreError> {
                let $store = self;
                (&$inner).list_sessions(query).await
            }
            async fn delete_session(
                &self,
                key: &$crate::ids::SessionKey,
                deletion: $crate::Deletion,
            ) -> Result<$crate::DeleteOutcome, $crate::StoreError> {
                let $store = self;
                (&$inner).delete_session(key, deletion).await
            }
            async fn claim_session(&self, key: &$crate::ids::SessionKey, claim: $crate::ClaimOne) -> Result<$crate::ClaimOutcome, $crate::StoreError> {
                let $store = self;
                (&$inner).claim_session(key, claim).await
            }
            async fn claim_due(&self, claim: $crate::ClaimDue) -> Result<Vec<$crate::Claim>, $crate::StoreError> {
                let $store = self;
                (&$inner).claim_due(claim).await
            }
            async fn compare_and_set_status(
                &self,
                key: &$crate::ids::SessionKey,
                cas: $crate::StatusCas,
            ) -> Result<$crate::CasOutcome, $crate::StoreError> {
                let $store = self;
                (&$inner).compare_and_set_status(key, cas).await
            }
            async fn renew_lease(&self, fence: &$crate::ids::Fence, lease: ::std::time::Duration) -> Result<$crate::LeaseOutcome, $crate::StoreError> {
                let $store = self;
                (&$inner).renew_lease(fence, lease).await
            }
            async fn stage_result(&self, fence: &$crate::ids::Fence, staging: $crate::Staging) -> Result<$crate::StageOutcome, $crate::StoreError> {
                let $store = self;
                (&$inner).stage_result(fence, staging).await
            }
            async fn commit(&self, fence: &$crate::ids::Fence, commit: $crate::Commit) -> Result<$crate::CommitOutcome, $crate::StoreError> {
                let $store = self;
                (&$inner).commit(fence, commit).await
            }
            async fn append_deltas(&self, fence: &$crate::ids::Fence, batch: $crate::DeltaBatch) -> Result<$crate::DeltaOutcome, $crate::StoreError> {
                let $store = self;
                (&$inner).append_deltas(fence, batch).await
            }
            async fn take_interrupt(&self, fence: &$crate::ids::Fence) -> Result<$crate::InterruptCheck, $crate::StoreError> {
                let $store = self;
                (&$inner).take_interrupt(fence).await
            }
            async fn deliver(&self, key: &$crate::ids::SessionKey, item: $crate::InboxItem) -> Result<$crate::Delivery, $crate::StoreError> {
                let $store = self;
                (&$inner).deliver(key, item).await
            }
            async fn request_interrupt(
                &self,
                key: &$crate::ids::SessionKey,
                interrupt: $crate::Interrupt,
            ) -> Result<$crate::InterruptOutcome, $crate::StoreError> {
                let $store = self;
                (&$inner).request_interrupt(key, interrupt).await
            }
            async fn read_messages(
                &self,
                key: &$crate::ids::SessionKey,
                ranges: &[$crate::MessageRange],
            ) -> Result<$crate::MessagePage, $crate::StoreError> {
                let $store = self;
                (&$inner).read_messages(key, ranges).await
            }
            async fn read_inbox(
                &self,
                key: &$crate::ids::SessionKey,
                after: $crate::ids::InboxSeq,
                limit: u32,
            ) -> Result<$crate::InboxPage, $crate::StoreError> {
                let $store = self;
                (&$inner).read_inbox(key, after, limit).await
            }
            async fn read_events(
                &self,
                key: &$crate::ids::SessionKey,
                after: &$crate::EventCursor,
                limit: u32,
            ) -> Result<$crate::EventPage, $crate::StoreError> {
                let $store = self;
                (&$inner).read_events(key, after, limit).await
            }
            async fn list_runs(&self, key: &$crate::ids::SessionKey, page: $crate::PageRequest) -> Result<$crate::Page<$crate::RunRecord>, $crate::StoreError> {
                let $store = self;
                (&$inner).list_runs(key, page).await
            }
            async fn list_pending(&self, query: &$crate::PendingQuery) -> Result<$crate::Page<$crate::PendingCall>, $crate::StoreError> {
                let $store = self;
                (&$inner).list_pending(query).await
            }
            async fn list_checkpoints(&self, query: &$crate::CheckpointQuery) -> Result<$crate::Page<$crate::Checkpoint>, $crate::StoreError> {
                let $store = self;
                (&$inner).list_checkpoints(query).await
            }
            async fn wait_for_change(&self, watch: $crate::Watch, at_most: ::std::time::Duration) -> Result<(), $crate::StoreError> {
                let $store = self;
                (&$inner).wait_for_change(watch, at_most).await
            }
            async fn fork_session(
                &self,
                from: &$crate::ids::SessionKey,
                at: $crate::ids::CheckpointId,
                to: $crate::NewFork,
            ) -> Result<$crate::ForkOutcome, $crate::StoreError> {
                let $store = self;
                (&$inner).fork_session(from, at, to).await
            }
            async fn purge(&self, rule: &$crate::RetentionRule) -> Result<$crate::PurgeReport, $crate::StoreError> {
                let $store = self;
                (&$inner).purge(rule).await
            }
        }
    };
}
