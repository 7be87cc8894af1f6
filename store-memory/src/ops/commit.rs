//! The one atomic write by which a run makes progress.

use holdover_store::ids::Fence;
use holdover_store::payload::Payload;
use holdover_store::time::Timestamp;
use holdover_store::{Applied, Commit, CommitOutcome, NewMessage, RunEnded};

use crate::table::{Record, Sessions};

/// Applies a commit wholly or not at all.
pub fn commit(sessions: &mut Sessions, fence: &Fence, commit: Commit, now: Timestamp) -> CommitOutcome {
    let Some(record) = sessions.get_mut(&fence.key) else {
        return CommitOutcome::StaleFence { applied: Applied::Unknown };
    };
    if let Some(answer) = record.row.admit(fence, &commit) {
        return answer;
    }
    let mut row = record.row.clone();
    match row.apply(&commit, &record.commit_facts(&commit), now) {
        Err(answer) => answer,
        Ok(receipt) => {
            record.set_row(row);
            write(record, commit, now);
            CommitOutcome::Committed(receipt)
        }
    }
}

/// Writes everything that an accepted commit names.
fn write(record: &mut Record, commit: Commit, now: Timestamp) {
    let ends_staging = commit.ends_staging();
    if let Some(state) = commit.state {
        if commit.checkpoint {
            record.checkpoints.push(record.row.checkpoint(state.payload.clone(), now));
        }
        record.state = Some(state.payload);
        record.starts.clear();
    }
    for result in commit.stage {
        record.staged.entry(result.call).or_insert(result.payload);
    }
    let messages: Vec<Payload> = commit
        .messages
        .into_iter()
        .filter_map(|message| match message {
            NewMessage::Inline(payload) => Some(payload),
            NewMessage::Promote(call) => record.staged.remove(&call),
        })
        .collect();
    if ends_staging {
        record.staged.clear();
    }
    record.append(messages, commit.events, now);
    record.pending.retain(|pending| !commit.close.contains(&pending.id));
    for new in commit.open {
        record.opened.insert(new.id.clone());
        let opened = record.row.opened(new, now);
        record.pending.push(opened);
    }
    for seq in commit.consumed {
        record.inbox.remove(&seq);
    }
    if let (Some(end), Some(run)) = (commit.run, record.runs.last_mut()) {
        run.end.get_or_insert(RunEnded { at: now, outcome: end.outcome, detail: Some(end.detail) });
    }
}
