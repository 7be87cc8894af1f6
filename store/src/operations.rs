//! The list of the contract's operations. Macros generate forwarding stores, requests and answers from the
//! list.

/// Calls the macro that is named in brackets. Passes it the tokens that follow the brackets, then the list of
/// operations. An entry has the variant of [`Request`](crate::Request), the method, its arguments (in
/// brackets the type that the method takes, then the type that a request keeps), the variant of
/// [`Answer`](crate::Answer), the type of the outcome, and whether the operation may change stored data.
#[doc(hidden)]
#[macro_export]
macro_rules! __each_operation {
    ([$($to:tt)+] $($with:tt)*) => {
        $($to)+! {
            $($with)*
            Create = create_session(new: [$crate::NewSession] $crate::NewSession)
                -> Created($crate::CreateOutcome), writes: true;
            Load = load_session(key: [&$crate::ids::SessionKey] $crate::ids::SessionKey)
                -> Session(Option<$crate::Session>), writes: false;
            ListSessions = list_sessions(query: [&$crate::SessionQuery] $crate::SessionQuery)
                -> Sessions($crate::Page<$crate::SessionSummary>), writes: false;
            Delete = delete_session(
                key: [&$crate::ids::SessionKey] $crate::ids::SessionKey,
                deletion: [$crate::Deletion] $crate::Deletion
            ) -> Deleted($crate::DeleteOutcome), writes: true;
            Claim = claim_session(
                key: [&$crate::ids::SessionKey] $crate::ids::SessionKey,
                claim: [$crate::ClaimOne] $crate::ClaimOne
            ) -> Claimed($crate::ClaimOutcome), writes: true;
            ClaimDue = claim_due(claim: [$crate::ClaimDue] $crate::ClaimDue)
                -> ClaimedDue(Vec<$crate::Claim>), writes: true;
            Move = compare_and_set_status(
                key: [&$crate::ids::SessionKey] $crate::ids::SessionKey,
                cas: [$crate::StatusCas] $crate::StatusCas
            ) -> Moved($crate::CasOutcome), writes: true;
            Renew = renew_lease(
                fence: [&$crate::ids::Fence] $crate::ids::Fence,
                lease: [::std::time::Duration] ::std::time::Duration
            ) -> Renewed($crate::LeaseOutcome), writes: true;
            Stage = stage_result(
                fence: [&$crate::ids::Fence] $crate::ids::Fence,
                staging: [$crate::Staging] $crate::Staging
            ) -> Staged($crate::StageOutcome), writes: true;
            Commit = commit(
                fence: [&$crate::ids::Fence] $crate::ids::Fence,
                commit: [$crate::Commit] $crate::Commit
            ) -> Committed($crate::CommitOutcome), writes: true;
            Stream = append_deltas(
                fence: [&$crate::ids::Fence] $crate::ids::Fence,
                batch: [$crate::DeltaBatch] $crate::DeltaBatch
            ) -> Streamed($crate::DeltaOutcome), writes: true;
            TakeInterrupt = take_interrupt(fence: [&$crate::ids::Fence] $crate::ids::Fence)
                -> Interrupt($crate::InterruptCheck), writes: true;
            Deliver = deliver(
                key: [&$crate::ids::SessionKey] $crate::ids::SessionKey,
                item: [$crate::InboxItem] $crate::InboxItem
            ) -> Delivered($crate::Delivery), writes: true;
            Interrupt = request_interrupt(
                key: [&$crate::ids::SessionKey] $crate::ids::SessionKey,
                interrupt: [$crate::Interrupt] $crate::Interrupt
            ) -> Requested($crate::InterruptOutcome), writes: true;
            ReadMessages = read_messages(
                key: [&$crate::ids::SessionKey] $crate::ids::SessionKey,
                ranges: [&[$crate::MessageRange]] Vec<$crate::MessageRange>
            ) -> Messages($crate::MessagePage), writes: false;
            ReadInbox = read_inbox(
                key: [&$crate::ids::SessionKey] $crate::ids::SessionKey,
                after: [$crate::ids::InboxSeq] $crate::ids::InboxSeq,
                limit: [u32] u32
            ) -> Inbox($crate::InboxPage), writes: false;
            ReadEvents = read_events(
                key: [&$crate::ids::SessionKey] $crate::ids::SessionKey,
                after: [&$crate::EventCursor] $crate::EventCursor,
                limit: [u32] u32
            ) -> Events($crate::EventPage), writes: false;
            ListRuns = list_runs(
                key: [&$crate::ids::SessionKey] $crate::ids::SessionKey,
                page: [$crate::PageRequest] $crate::PageRequest
            ) -> Runs($crate::Page<$crate::RunRecord>), writes: false;
            ListPending = list_pending(query: [&$crate::PendingQuery] $crate::PendingQuery)
                -> Pending($crate::Page<$crate::PendingCall>), writes: false;
            ListCheckpoints = list_checkpoints(query: [&$crate::CheckpointQuery] $crate::CheckpointQuery)
                -> Checkpoints($crate::Page<$crate::Checkpoint>), writes: false;
            Wait = wait_for_change(
                watch: [$crate::Watch] $crate::Watch,
                at_most: [::std::time::Duration] ::std::time::Duration
            ) -> Changed(()), writes: false;
            Fork = fork_session(
                from: [&$crate::ids::SessionKey] $crate::ids::SessionKey,
                at: [$crate::ids::CheckpointId] $crate::ids::CheckpointId,
                to: [$crate::NewFork] $crate::NewFork
            ) -> Forked($crate::ForkOutcome), writes: true;
            Purge = purge(rule: [&$crate::RetentionRule] $crate::RetentionRule)
                -> Purged($crate::PurgeReport), writes: true;
        }
    };
}
