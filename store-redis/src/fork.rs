//! Forks. Everything up to and including the checkpoint is copied, part by part, into an incarnation that is not
//! visible yet. The fork's first write makes it visible.
//!
//! Source and fork may lie in different partitions, and so on different servers of a cluster, so a single script
//! cannot do it. A draft that is not finished expires.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use holdover_store::ids::SessionKey;
use holdover_store::rows::{Prefix, Verdict, Write};

use crate::apply::new_life;
use crate::error::Fault;
use crate::reply;
use crate::store::{Shared, unknown};

/// The time, in seconds, for which a copy is kept after its last part was written, if its fork does not become
/// visible.
const COPY_STANDS_S: u64 = 60 * 60;

/// The most rows that one script copies, and about the most bytes.
const PART_ROWS: u64 = 1_000;
const PART_BYTES: usize = 4 << 20;

/// The most attempts at a copy. It is repeated if checkpoints of the source were removed meanwhile.
const TRIES_MAX: usize = 16;

/// The most drafts that a handle remembers.
const DRAFTS_MAX: usize = 64;

/// The finished copies, by the key of their fork. If the first write of a fork came too late, its copy is used again.
#[derive(Default)]
pub(crate) struct Drafts(Mutex<HashMap<SessionKey, (Prefix, u64)>>);

impl Drafts {
    fn known(&self) -> MutexGuard<'_, HashMap<SessionKey, (Prefix, u64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, key: &SessionKey, prefix: &Prefix) -> Option<u64> {
        self.known().get(key).filter(|(copied, _)| copied == prefix).map(|(_, life)| *life)
    }

    fn keep(&self, key: &SessionKey, prefix: &Prefix, life: u64) {
        let mut known = self.known();
        if known.len() >= DRAFTS_MAX {
            known.clear();
        }
        known.insert(key.clone(), (prefix.clone(), life));
    }

    pub(crate) fn forget(&self, key: &SessionKey) {
        self.known().remove(key);
    }
}

impl Shared {
    /// Copies the prefix and returns the number of the incarnation that holds it. The inner error is the verdict with
    /// which the write ends instead.
    pub(crate) async fn draft(&self, write: &Write, prefix: &Prefix) -> Result<Result<u64, Verdict>, Fault> {
        // An existing fork is not copied again.
        let there = self.read_rows(&write.key, &[]).await?;
        if there.slot.as_ref().map(|slot| slot.token) != write.expect() {
            return Ok(Err(Verdict::Lost));
        }
        if let Some(life) = self.drafts.of(&write.key, prefix) {
            return Ok(Ok(life));
        }
        for _ in 0..TRIES_MAX {
            let Some(before) = self.checkpoints_of(prefix).await? else { return Ok(Err(Verdict::NoSource)) };
            let life = new_life();
            let parts = [
                ("messages", 0, prefix.last_message.0),
                ("events", 0, prefix.last_event.0),
                ("checkpoints", prefix.last_checkpoint.saturating_add(1), 0),
            ];
            for (what, first, last) in parts {
                if !self.copy(write, prefix, life, what, first, last).await? {
                    return Ok(Err(Verdict::NoSource));
                }
            }
            // Messages and events do not change. Checkpoints may be purged but never come back, so if their number
            // is unchanged, the same ones were copied.
            match self.checkpoints_of(prefix).await? {
                None => return Ok(Err(Verdict::NoSource)),
                Some(after) if after == before => {
                    self.drafts.keep(&write.key, prefix, life);
                    return Ok(Ok(life));
                }
                Some(_) => {}
            }
        }
        Ok(Err(Verdict::Lost))
    }

    /// Returns the number of checkpoints of the source, up to the one at which it is forked. Returns none if that
    /// checkpoint or that incarnation of the source does not exist.
    async fn checkpoints_of(&self, prefix: &Prefix) -> Result<Option<u64>, Fault> {
        let args = self.args().number(prefix.last_checkpoint);
        let mut reply = self.on(&self.scripts.fork_source, &prefix.from, args).await?;
        match reply.text()?.as_str() {
            "found" => {
                let (life, place) = (reply::incarnation(&reply.bytes()?)?, reply.number()?);
                let is_it = life == prefix.life && place == prefix.place;
                Ok(Some(reply.number()?).filter(|_| is_it))
            }
            "no_source" => Ok(None),
            other => unknown(other),
        }
    }

    /// Copies rows of one kind: upwards after `first` to `last`, or checkpoints downwards before `first`. Returns
    /// false if the source is gone.
    async fn copy(
        &self,
        write: &Write,
        prefix: &Prefix,
        life: u64,
        what: &str,
        first: u64,
        last: u64,
    ) -> Result<bool, Fault> {
        let mut after = first;
        loop {
            let args = self.args().number(prefix.place).text(what).number(after).number(last);
            let args = args.number(PART_ROWS).size(PART_BYTES);
            let mut reply = self.on(&self.scripts.fork_read, &prefix.from, args).await?;
            match reply.text()?.as_str() {
                "found" => {}
                "no_source" => return Ok(false),
                other => return unknown(other),
            }
            let part = reply.pairs()?;
            let Some((number, _)) = part.last() else { return Ok(true) };
            after = reply::number(number)?;
            self.write_part(&write.key, life, what, part).await?;
        }
    }

    async fn write_part(
        &self,
        key: &SessionKey,
        life: u64,
        what: &str,
        part: Vec<(Bytes, Bytes)>,
    ) -> Result<(), Fault> {
        let args = self.args().number(life).number(COPY_STANDS_S).text(what).size(part.len());
        let args = part.into_iter().fold(args, |args, (number, row)| args.bytes(number).bytes(row));
        let mut reply = self.on(&self.scripts.fork_write, key, args).await?;
        match reply.text()?.as_str() {
            "written" => Ok(()),
            other => unknown(other),
        }
    }
}
