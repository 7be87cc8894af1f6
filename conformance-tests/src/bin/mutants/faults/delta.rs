//! Deltas that are kept for too long or too short a time, or mixed with those of another stream.

use holdover_store::ids::{Fence, SessionKey};
use holdover_store::rules::Stream;
use holdover_store::{Commit, DeltaBatch, DeltaOutcome, StoredDelta, StreamId};

use crate::fault::{Mutant, Tx, broken};
use crate::sound;

/// Returns the stream of a session with its deltas.
fn kept(tx: &mut Tx<'_>, key: &SessionKey) -> Option<(Stream, Vec<StoredDelta>)> {
    tx.record(key).map(|record| (record.row.stream, record.deltas.clone()))
}

/// Restores a stream that an operation has ended.
fn put_back(tx: &mut Tx<'_>, key: &SessionKey, kept: Option<(Stream, Vec<StoredDelta>)>) {
    if let Some((stream, deltas)) = kept.filter(|(stream, _)| stream.open) {
        tx.with(key, |record| (record.row.stream, record.deltas) = (stream, deltas));
    }
}

/// Appends a batch, which is changed first if it continues the newest stream.
fn append_as(
    tx: &mut Tx<'_>,
    fence: &Fence,
    change: fn(&Stream, &mut DeltaBatch),
    batch: DeltaBatch,
) -> DeltaOutcome {
    let mut batch = batch;
    if let Some(row) = tx.row_of(&fence.key)
        && row.stream.id == (StreamId { run: fence.epoch, number: batch.stream })
    {
        change(&row.stream, &mut batch);
    }
    sound::append_deltas(tx, fence, batch)
}

pub(super) static MUTANTS: &[Mutant] = &[
    broken("deltas-left-by-commit", "the commit of the message does not remove its deltas")
        .commit(|tx, fence, commit| sound::commit(tx, fence, Commit { streamed: None, ..commit })),
    broken("deltas-removed-although-a-later-stream-runs", "the commit of a message removes whatever streams")
        .commit(|tx, fence, commit| {
            let runs = tx.row_of(&fence.key).map_or(0, |row| row.stream.id.number);
            let streamed = commit.streamed.map(|number| number.max(runs));
            sound::commit(tx, fence, Commit { streamed, ..commit })
        }),
    broken("deltas-removed-by-any-commit", "a commit of something else removes the deltas").commit(
        |tx, fence, commit| {
            let answer = sound::commit(tx, fence, commit);
            if super::committed(&answer) {
                tx.with(&fence.key, |record| {
                    record.row.stream.open = false;
                    record.deltas.clear();
                });
            }
            answer
        },
    ),
    broken("deltas-left-by-release", "a release leaves the deltas").commit(|tx, fence, commit| {
        let before = kept(tx, &fence.key).filter(|_| commit.release.is_some());
        let answer = sound::commit(tx, fence, commit);
        put_back(tx, &fence.key, before);
        answer
    }),
    broken("deltas-left-by-takeover", "a takeover leaves the dead attempt's deltas").claim(
        |tx, key, claim| {
            let before = kept(tx, key);
            let answer = sound::claim(tx, key, claim);
            put_back(tx, key, before);
            answer
        },
    ),
    broken("takeover-continues-the-dead-attempt", "the deltas of a new run follow those of the dead one")
        .append_deltas(|tx, fence, batch| {
            tx.row(&fence.key, |row| {
                if row.admits(fence) && row.stream.id.run < fence.epoch && row.stream.last > 0 {
                    row.stream.id = StreamId { run: fence.epoch, number: batch.stream };
                    row.stream.open = true;
                }
            });
            sound::append_deltas(tx, fence, batch)
        }),
    broken(
        "next-attempt-joins-the-one-before",
        "the deltas of the attempt before stay in front of the next one's",
    )
    .append_deltas(|tx, fence, batch| {
        let before = kept(tx, &fence.key).map(|(_, deltas)| deltas).unwrap_or_default();
        let answer = sound::append_deltas(tx, fence, batch);
        tx.with(&fence.key, |record| {
            if !before.is_empty() && record.deltas.len() < before.len() {
                record.deltas.splice(0..0, before);
            }
        });
        answer
    }),
    broken("deltas-raise-version", "deltas raise the version").append_deltas(|tx, fence, batch| {
        let answer = sound::append_deltas(tx, fence, batch);
        if matches!(answer, DeltaOutcome::Appended(_)) {
            tx.row(&fence.key, |row| row.version = row.version.next());
        }
        answer
    }),
    broken("deltas-count-as-a-change", "deltas move the instant of the last change").append_deltas(
        |tx, fence, batch| {
            let now = tx.now;
            let answer = sound::append_deltas(tx, fence, batch);
            if matches!(answer, DeltaOutcome::Appended(_)) {
                tx.row(&fence.key, |row| row.updated_at = now);
            }
            answer
        },
    ),
    broken("stale-fence-may-append", "a run that was taken over may append deltas").append_deltas(
        |tx, fence, batch| {
            let epoch = tx.row_of(&fence.key).map_or(fence.epoch, |row| row.epoch);
            sound::append_deltas(tx, &Fence { epoch, ..fence.clone() }, batch)
        },
    ),
    broken("deltas-of-another-life", "deltas of a deleted life are appended to its successor").append_deltas(
        |tx, fence, batch| {
            let life = tx.row_of(&fence.key).map_or(fence.incarnation, |row| row.incarnation);
            sound::append_deltas(tx, &Fence { incarnation: life, ..fence.clone() }, batch)
        },
    ),
    broken("delta-gap-closed", "a batch that leaves a gap is appended without it").append_deltas(
        |tx, fence, batch| match sound::append_deltas(tx, fence, batch.clone()) {
            DeltaOutcome::Gap { expected } => {
                sound::append_deltas(tx, fence, DeltaBatch { first: expected, ..batch })
            }
            answer => answer,
        },
    ),
    broken("repeated-deltas-twice", "a batch that was sent again is appended again").append_deltas(
        |tx, fence, batch| {
            let at_end: fn(&Stream, &mut DeltaBatch) = |stream, batch| {
                batch.first = if batch.first <= stream.last { stream.last + 1 } else { batch.first };
            };
            append_as(tx, fence, at_end, batch)
        },
    ),
    broken(
        "overlapping-deltas-dropped",
        "a batch that overlaps what is there is taken for a repeat as a whole",
    )
    .append_deltas(|tx, fence, batch| {
        let known: fn(&Stream, &mut DeltaBatch) = |stream, batch| {
            if batch.first <= stream.last {
                batch.deltas.truncate(usize::try_from(stream.last + 1 - batch.first).unwrap_or(0));
            }
        };
        append_as(tx, fence, known, batch)
    }),
    broken("repeated-deltas-overwrite", "a batch that overlaps what is there is written over it")
        .append_deltas(|tx, fence, batch| {
            let answer = sound::append_deltas(tx, fence, batch.clone());
            if matches!(answer, DeltaOutcome::Appended(_)) {
                tx.with(&fence.key, |record| {
                    for (place, payload) in (batch.first..).zip(batch.deltas) {
                        let old = record.deltas.iter_mut().find(|delta| delta.place == place);
                        old.into_iter().for_each(|delta| delta.payload = payload.clone());
                    }
                });
            }
            answer
        }),
    broken(
        "late-deltas-come-back",
        "a batch that comes after the commit of its message begins the stream anew",
    )
    .append_deltas(|tx, fence, batch| match sound::append_deltas(tx, fence, batch.clone()) {
        DeltaOutcome::Ended => {
            tx.row(&fence.key, |row| row.stream = Stream::default());
            sound::append_deltas(tx, fence, DeltaBatch { first: 1, ..batch })
        }
        answer => answer,
    }),
    broken(
        "deltas-read-then-written",
        "whether a stream is over is read before the wait, and the deltas written after it",
    )
    .append_deltas(|tx, fence, batch| {
        tx.read_then_write(&fence.key, |tx| sound::append_deltas(tx, fence, batch))
    }),
    broken("deltas-unchecked", "a batch is appended however large or empty it is").check_deltas(|_| Ok(())),
    broken("deltas-of-any-size", "a batch beyond the limit of a commit is appended").check_deltas(|batch| {
        let parts = batch.deltas.iter().map(|delta| DeltaBatch { deltas: vec![delta.clone()], ..*batch });
        parts.into_iter().try_for_each(|part| sound::check_deltas(&part))?;
        if batch.deltas.is_empty() { sound::check_deltas(batch) } else { Ok(()) }
    }),
    broken("delete-leaves-deltas", "the deltas of a deleted session show up in the next of its name")
        .delete(|tx, key, mode| {
            let before = tx.record(key).cloned();
            let answer = sound::delete(tx, key, mode);
            if tx.row_of(key).is_none() {
                tx.graves.extend(before.map(|record| (key.clone(), record)));
            }
            answer
        })
        .create(|tx, new| {
            let (key, fresh) = (new.key.clone(), tx.row_of(&new.key).is_none());
            let answer = sound::create(tx, new);
            if let Some(grave) = tx.graves.remove(&key).filter(|_| fresh) {
                put_back(tx, &key, Some((grave.row.stream, grave.deltas)));
            }
            answer
        }),
    broken("deltas-lost-with-the-process", "deltas are kept in the process alone").reopen(|sessions| {
        for record in sessions.values_mut() {
            record.deltas.clear();
            record.row.stream = Stream::default();
        }
    }),
];
