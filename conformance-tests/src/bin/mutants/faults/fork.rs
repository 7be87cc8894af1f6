//! Forks that copy too much or too little.

use holdover_store::ids::{CheckpointId, Epoch, SessionKey, Version};
use holdover_store::{Checkpoint, ForkOutcome, NewFork, SessionStatus};
use holdover_store_memory::parts::Record;

use crate::fault::{Mutant, Tx, broken};
use crate::sound;

/// Forks, then changes the new fork. `change` also gets the source.
fn forked(
    tx: &mut Tx<'_>,
    from: &SessionKey,
    at: CheckpointId,
    new: NewFork,
    change: fn(&mut Record, Record),
) -> ForkOutcome {
    let (key, fresh) = (new.key.clone(), tx.row_of(&new.key).is_none());
    let source = tx.record(from).cloned().filter(|_| fresh);
    let answer = sound::fork(tx, from, at, new);
    if let (ForkOutcome::Forked { .. }, Some(source)) = (&answer, source) {
        tx.with(&key, |record| change(record, source));
    }
    answer
}

/// Defines a fork with one change.
macro_rules! forked_with {
    ($name:literal, $broken:literal, |$fork:ident, $source:ident| $change:expr) => {
        broken($name, $broken).fork(|tx, from, at, new| forked(tx, from, at, new, |$fork, $source| $change))
    };
}

pub(super) static MUTANTS: &[Mutant] = &[
    forked_with!("fork-copies-the-inbox", "a fork has the unread items of its source", |fork, source| {
        fork.row.last_item = source.row.last_item;
        fork.row.unread = source.row.unread;
        fork.inbox = source.inbox;
    }),
    forked_with!("fork-copies-the-keys", "a fork knows the item keys of its source", |fork, source| {
        fork.keys = source.keys;
    }),
    forked_with!("fork-copies-the-alarm", "a fork wakes when its source does", |fork, source| {
        fork.row.alarm = source.row.alarm;
    }),
    forked_with!("fork-copies-the-lease", "a fork is held by whoever holds its source", |fork, source| {
        fork.row.lease = source.row.lease;
    }),
    forked_with!(
        "fork-copies-pending",
        "the open calls of the source are open in the fork",
        |fork, source| {
            fork.pending = source.pending;
            fork.pending.iter_mut().for_each(|open| open.key = fork.row.key.clone());
        }
    ),
    forked_with!(
        "fork-copies-opened",
        "the names of the source's calls are taken in the fork",
        |fork, source| {
            fork.opened = source.opened;
        }
    ),
    forked_with!(
        "fork-copies-staged",
        "the staged results of the source are staged in the fork",
        |fork, source| {
            fork.staged = source.staged;
        }
    ),
    forked_with!("fork-copies-runs", "a fork lists the runs of its source", |fork, source| fork.runs =
        source.runs),
    forked_with!("fork-copies-the-interrupt", "a stop of the source stops the fork", |fork, source| {
        fork.row.interrupt = source.row.interrupt;
    }),
    forked_with!("fork-copies-deltas", "a fork shows what its source streams", |fork, source| {
        fork.row.stream = source.row.stream;
        fork.deltas = source.deltas;
    }),
    forked_with!(
        "fork-copies-everything-said",
        "a fork has the whole transcript of its source",
        |fork, source| {
            let own = fork.messages.split_off(fork.messages.len() - 1);
            fork.messages = source.messages;
            for mut message in own {
                message.seq.0 = fork.messages.len() as u64 + 1;
                fork.row.last_message = message.seq;
                fork.messages.push(message);
            }
        }
    ),
    forked_with!(
        "fork-says-it-anew",
        "the copied messages carry the instant of the fork",
        |fork, _source| {
            let now = fork.row.created_at;
            fork.messages.iter_mut().for_each(|message| message.at = now);
        }
    ),
    forked_with!(
        "fork-loses-the-last-event",
        "the newest event of the prefix is not copied",
        |fork, _source| {
            if fork.events.len() > 1 {
                fork.events.remove(0);
            }
        }
    ),
    forked_with!(
        "fork-without-checkpoints",
        "the checkpoints of the prefix are not copied",
        |fork, _source| {
            let own = fork.checkpoints.pop();
            fork.checkpoints = own.into_iter().collect();
        }
    ),
    forked_with!(
        "fork-is-no-checkpoint",
        "the state of a fork is not its newest checkpoint",
        |fork, _source| {
            fork.checkpoints.pop();
        }
    ),
    forked_with!(
        "fork-keeps-the-source-life",
        "the copied checkpoints name the life of the source",
        |fork, source| {
            let life = source.row.incarnation;
            let own = fork.row.incarnation;
            let copied = fork.checkpoints.len().saturating_sub(1);
            let name = |checkpoint: &mut Checkpoint| {
                checkpoint.incarnation = if checkpoint.incarnation == own { life } else { own };
            };
            fork.checkpoints.iter_mut().take(copied).for_each(name);
        }
    ),
    forked_with!("fork-begins-at-version-1", "the versions of a fork begin anew", |fork, _source| {
        fork.row.version = Version(1);
    }),
    forked_with!("fork-begins-at-run-0", "the runs of a fork begin anew", |fork, _source| {
        fork.row.epoch = Epoch(0);
    }),
    forked_with!(
        "fork-with-the-source-labels",
        "a fork is listed under the labels of its source",
        |fork, source| {
            fork.labels = source.labels;
        }
    ),
    forked_with!(
        "fork-with-the-source-definition",
        "a fork has the definition of its source",
        |fork, source| {
            fork.definition = source.definition;
        }
    ),
    forked_with!("fork-is-always-idle", "a fork is left idle, whatever was asked for", |fork, _source| {
        fork.row.status = SessionStatus::Idle;
    }),
    forked_with!(
        "fork-with-the-newest-state",
        "a fork has the newest state of its source",
        |fork, source| {
            fork.state = source.state;
        }
    ),
];
