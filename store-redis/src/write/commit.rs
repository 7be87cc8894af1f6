//! Progress of a run: commits, staged results, deltas.

use holdover_store::ids::{CallId, Fence, InboxSeq, PendingId, Version};
use holdover_store::{
    Applied, Commit, CommitOutcome, DeltaBatch, DeltaOutcome, NewMessage, NewPending, Release, StageOutcome,
    StagedResult, Staging, StoreError,
};

use crate::args::Args;
use crate::error::Fault;
use crate::reply::{self, Reply};
use crate::store::{Shared, unknown};

impl Shared {
    pub(crate) async fn save_state(
        &self,
        fence: &Fence,
        commit: &Commit,
    ) -> Result<CommitOutcome, StoreError> {
        const OPERATION: &str = "commit";
        let script = &self.scripts.commit;
        let args = committed(self.fenced(fence), commit);
        self.ask(OPERATION, script, &fence.key, args, |word, reply| {
            self.committed(fence, commit, word, reply)
        })
        .await
    }

    fn committed(
        &self,
        fence: &Fence,
        commit: &Commit,
        word: &str,
        reply: &mut Reply,
    ) -> Result<CommitOutcome, Fault> {
        let call = |reply: &mut Reply| reply::id::<CallId>(&reply.bytes()?);
        let pending = |reply: &mut Reply| reply::id::<PendingId>(&reply.bytes()?);
        Ok(match word {
            "committed" => CommitOutcome::Committed(self.receipt(fence, reply)?),
            "version_conflict" => CommitOutcome::VersionConflict {
                expected: commit.expected_version.unwrap_or_default(),
                actual: Version(reply.number()?),
            },
            "stale_fence" => CommitOutcome::StaleFence { applied: reply::word(&reply.bytes()?, applied)? },
            "answer_waiting" => CommitOutcome::AnswerWaiting { pending: pending(reply)? },
            "not_staged" => CommitOutcome::NotStaged { call: call(reply)? },
            "stage_conflict" => CommitOutcome::StageConflict { call: call(reply)? },
            "pending_conflict" => CommitOutcome::PendingConflict { pending: pending(reply)? },
            "not_in_inbox" => {
                let index = usize::try_from(reply.number()?).unwrap_or(usize::MAX);
                CommitOutcome::NotInInbox { seq: commit.consumed.get(index).copied().unwrap_or_default() }
            }
            other => return unknown(other),
        })
    }

    pub(crate) async fn stage_result(
        &self,
        fence: &Fence,
        staging: &Staging,
    ) -> Result<StageOutcome, StoreError> {
        let args = self
            .fenced(fence)
            .each(&staging.results, staged)
            .each(&staging.starts, |args, call| args.text(call.as_str()));
        self.ask("stage_result", &self.scripts.stage_result, &fence.key, Ok(args), |word, reply| {
            Ok(match word {
                "staged" => StageOutcome::Staged(self.receipt(fence, reply)?),
                "conflict" => StageOutcome::Conflict { call: reply::id::<CallId>(&reply.bytes()?)? },
                "stale_fence" => StageOutcome::StaleFence,
                other => return unknown(other),
            })
        })
        .await
    }

    pub(crate) async fn append_deltas(
        &self,
        fence: &Fence,
        batch: &DeltaBatch,
    ) -> Result<DeltaOutcome, StoreError> {
        let args =
            self.fenced(fence).number(batch.stream).number(batch.first).each(&batch.deltas, Args::payload);
        self.ask("append_deltas", &self.scripts.append_deltas, &fence.key, Ok(args), |word, reply| {
            Ok(match word {
                "appended" => DeltaOutcome::Appended(self.receipt(fence, reply)?),
                "ended" => DeltaOutcome::Ended,
                "gap" => DeltaOutcome::Gap { expected: reply.number()? },
                "stale_fence" => DeltaOutcome::StaleFence,
                other => return unknown(other),
            })
        })
        .await
    }
}

fn applied(name: &str) -> Option<Applied> {
    match name {
        "yes" => Some(Applied::Yes),
        "no" => Some(Applied::No),
        "unknown" => Some(Applied::Unknown),
        _ => None,
    }
}

fn staged(args: Args, result: &StagedResult) -> Args {
    args.text(result.call.as_str()).payload(&result.payload)
}

fn message(args: Args, message: &NewMessage) -> Args {
    match message {
        NewMessage::Inline(payload) => args.boolean(false).payload(payload),
        NewMessage::Promote(call) => args.boolean(true).text(call.as_str()),
    }
}

/// What the script of a commit reads after the fence, in its order.
fn committed(args: Args, commit: &Commit) -> Result<Args, Fault> {
    let args = args
        .text(commit.operation.as_str())
        .optional_number(commit.expected_version.map(|version| version.0))
        .optional_payload(commit.state.as_ref().map(|state| &state.payload))
        .optional_number(commit.state.as_ref().map(|state| u64::from(state.format.0)))
        .boolean(commit.checkpoint)
        .each(&commit.messages, message)
        .each(&commit.stage, staged)
        .each(&commit.events, Args::payload)
        .optional_number(commit.streamed.map(u64::from))
        .size(commit.open.len());
    let args = commit.open.iter().try_fold(args, opened)?;
    let args = args
        .each(&commit.close, |args, id| args.text(id.as_str()))
        .each(&commit.consumed, |args, seq: &InboxSeq| args.number(seq.0))
        .optional_number(commit.inbox_seen.map(|seq| seq.0))
        .optional(commit.interrupt_confirmed.as_ref().map(|id| id.as_str()))
        .optional(commit.run.as_ref().map(|run| run.outcome.as_str()))
        .optional_payload(commit.run.as_ref().map(|run| &run.detail));
    match &commit.release {
        None => Ok(args.bytes([]).bytes([]).bytes([])),
        Some(Release::To { status, deadline, wake_on }) => {
            let args = args.text(status.as_str()).optional_instant("deadline", *deadline)?;
            Ok(args.number(*wake_on))
        }
        Some(Release::GiveBack { alarm }) => {
            Ok(args.text("give_back").optional_instant("alarm", *alarm)?.bytes([]))
        }
    }
}

fn opened(args: Args, new: &NewPending) -> Result<Args, Fault> {
    let args = args
        .text(new.id.as_str())
        .text(new.call.as_str())
        .text(new.kind.as_str())
        .number(new.needed)
        .optional_instant("deadline", new.deadline)?;
    Ok(args.payload(&new.body))
}
