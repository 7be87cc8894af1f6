//! Forks. The source may lie in another partition, so the prefix is copied in bounded parts, through here, into a
//! life that nobody sees; one last write makes it a session. Every step may be repeated.

use bytes::Bytes;
use holdover_store::ids::{CheckpointId, SessionKey, Version};
use holdover_store::{Checkpoint, ForkOutcome, NewFork, SessionStatus, StoreError, StoreErrorKind};

use crate::args::Args;
use crate::columns;
use crate::error::{Call, Fault};
use crate::reply::{self, Reply};
use crate::store::{Shared, unknown};

const OPERATION: &str = "fork_session";

/// How many rows one part holds, and how many bytes, unless one row is larger.
const PART_ROWS: u64 = 500;
const PART_BYTES: usize = 1 << 20;

/// After how many seconds without another part a copy ends by itself.
const COPY_STANDS_S: u64 = 60 * 60;

/// How often a copy is begun again whose source lost checkpoints meanwhile, or that ended by itself.
const TRIES_MAX: usize = 8;

/// How a step ended.
enum Step<T> {
    GoOn(T),
    Answer(ForkOutcome),
    /// Begin again.
    Again,
}

impl Shared {
    pub(crate) async fn fork_session(
        &self,
        from: &SessionKey,
        at: CheckpointId,
        to: &NewFork,
    ) -> Result<ForkOutcome, StoreError> {
        for _ in 0..TRIES_MAX {
            let step = self.try_fork(from, at, to).await;
            match step.map_err(|fault| fault.of(Call::Write, OPERATION, Some(&to.key)))? {
                Step::GoOn(never) => match never {},
                Step::Answer(answer) => return Ok(answer),
                Step::Again => {}
            }
        }
        let detail = "the source changed as often as it was copied";
        Err(StoreError::new(StoreErrorKind::Unavailable, OPERATION, detail).on(&to.key))
    }

    async fn try_fork(
        &self,
        from: &SessionKey,
        at: CheckpointId,
        to: &NewFork,
    ) -> Result<Step<std::convert::Infallible>, Fault> {
        let life = match self.fork_target(at, to).await? {
            Step::GoOn(life) => life,
            Step::Answer(answer) => return Ok(Step::Answer(answer)),
            Step::Again => return Ok(Step::Again),
        };
        let (checkpoint, there) = match self.fork_source(from, at, to).await? {
            Step::GoOn(found) => found,
            Step::Answer(answer) => return Ok(Step::Answer(answer)),
            Step::Again => return Ok(Step::Again),
        };
        for (what, first, last) in [
            ("messages", 0, checkpoint.last_message.0),
            ("events", 0, checkpoint.last_event.0),
            ("checkpoints", at.0.saturating_add(1), 0),
        ] {
            if let Some(answer) = self.copy(from, to, life, what, first, last).await? {
                return Ok(Step::Answer(answer));
            }
        }
        // Messages and events stay as they are. Checkpoints may be purged, but come back never: as many as before
        // are those that were copied.
        match self.fork_source(from, at, to).await? {
            Step::GoOn((_, still)) if still == there => {
                self.show_fork(at, to, &checkpoint, life, there).await
            }
            Step::GoOn(_) | Step::Again => Ok(Step::Again),
            Step::Answer(answer) => Ok(Step::Answer(answer)),
        }
    }

    async fn fork_target(&self, at: CheckpointId, to: &NewFork) -> Result<Step<u64>, Fault> {
        let args = self
            .args()
            .text(to.key.tenant.as_str())
            .text(to.key.id.as_str())
            .incarnation(to.incarnation)
            .text(to.operation.as_str());
        let mut reply = self.on(&self.scripts.fork_target, &to.key, args).await?;
        match reply.text()?.as_str() {
            "life" => Ok(Step::GoOn(reply.number()?)),
            word => Ok(Step::Answer(answered(word, &mut reply, at)?)),
        }
    }

    /// The checkpoint, and how many there are up to it.
    async fn fork_source(
        &self,
        from: &SessionKey,
        at: CheckpointId,
        to: &NewFork,
    ) -> Result<Step<(Checkpoint, u64)>, Fault> {
        let args = self.args().incarnation(to.source).number(at.0);
        let mut reply = self.on(&self.scripts.fork_source, from, args).await?;
        Ok(match reply.text()?.as_str() {
            "found" => {
                let checkpoint = columns::checkpoint(at.0, to.source, reply.bytes()?)?;
                Step::GoOn((checkpoint, reply.number()?))
            }
            "no_source" => Step::Answer(ForkOutcome::NoSource),
            "no_checkpoint" => Step::Answer(ForkOutcome::NoCheckpoint),
            other => return unknown(other),
        })
    }

    /// Copies rows of one kind, part by part: upwards after `first` to `last`, checkpoints downwards before `first`.
    /// Some: the source is gone.
    async fn copy(
        &self,
        from: &SessionKey,
        to: &NewFork,
        life: u64,
        what: &str,
        first: u64,
        last: u64,
    ) -> Result<Option<ForkOutcome>, Fault> {
        let mut after = first;
        loop {
            let args = self
                .args()
                .incarnation(to.source)
                .text(what)
                .number(after)
                .number(last)
                .number(PART_ROWS)
                .size(PART_BYTES);
            let mut reply = self.on(&self.scripts.fork_read, from, args).await?;
            match reply.text()?.as_str() {
                "found" => {}
                "no_source" => return Ok(Some(ForkOutcome::NoSource)),
                other => return unknown(other),
            }
            let part = reply.pairs()?;
            let Some((number, _)) = part.last() else { return Ok(None) };
            after = reply::number(number)?;
            self.write_part(to, life, what, part).await?;
        }
    }

    async fn write_part(
        &self,
        to: &NewFork,
        life: u64,
        what: &str,
        part: Vec<(Bytes, Bytes)>,
    ) -> Result<(), Fault> {
        let args = self.args().number(life).number(COPY_STANDS_S).text(what).size(part.len() * 2);
        let args = part.into_iter().fold(args, |args, (number, row)| args.bytes(number).bytes(row));
        let mut reply = self.on(&self.scripts.fork_write, &to.key, args).await?;
        match reply.text()?.as_str() {
            "written" => Ok(()),
            other => unknown(other),
        }
    }

    async fn show_fork(
        &self,
        at: CheckpointId,
        to: &NewFork,
        checkpoint: &Checkpoint,
        life: u64,
        checkpoints: u64,
    ) -> Result<Step<std::convert::Infallible>, Fault> {
        let args = self
            .args()
            .text(to.key.tenant.as_str())
            .text(to.key.id.as_str())
            .incarnation(to.incarnation)
            .text(to.operation.as_str())
            .text(to.queue.as_str())
            .number(to.state.format.0)
            .text(to.status.as_str())
            .size(to.labels.0.len() * 2);
        let args = to.labels.0.iter().fold(args, |args, (name, value)| args.text(name).text(value));
        let args = args
            .payload(&to.definition)
            .payload(&to.state.payload)
            .each(&to.messages, Args::payload)
            .each(&to.events, Args::payload)
            .number(at.0)
            .number(checkpoint.epoch.0)
            .number(checkpoint.last_message.0)
            .number(checkpoint.last_event.0)
            .number(life)
            .number(checkpoints);
        let mut reply = self.on(&self.scripts.fork_session, &to.key, args).await?;
        match reply.text()?.as_str() {
            "incomplete" => Ok(Step::Again),
            word => Ok(Step::Answer(answered(word, &mut reply, at)?)),
        }
    }
}

fn answered(word: &str, reply: &mut Reply, at: CheckpointId) -> Result<ForkOutcome, Fault> {
    Ok(match word {
        "forked" => ForkOutcome::Forked { version: Version(at.0.saturating_add(1)) },
        "already_exists" => ForkOutcome::AlreadyExists {
            incarnation: reply::incarnation(&reply.bytes()?)?,
            status: reply::word(&reply.bytes()?, SessionStatus::from_wire)?,
            version: Version(reply.number()?),
        },
        "deleted" => ForkOutcome::Deleted,
        other => return unknown(other),
    })
}
