//! Making the indexes anew from the sessions themselves.

use futures::future::join_all;
use holdover_store::StoreError;

use crate::error::{Call, Fault};
use crate::reply;
use crate::store::{RedisStore, Shared};

const OPERATION: &str = "rebuild_indexes";

/// How many keys one step of the walk looks at.
const STEP: u64 = 1000;

/// How many sessions are put back at once.
const AT_ONCE: usize = 64;

/// What a rebuild has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// How many sessions there are.
    pub sessions: u64,
    /// How many entries were missing.
    pub added: u64,
    /// How many entries stood for nothing.
    pub removed: u64,
    /// How many of the sessions could not be read wholly: entries that they have stay, and they can be deleted. Of
    /// one whose `life` cannot be read only the row and its entries are removed: nothing says which messages, payloads
    /// and items were its.
    pub unreadable: u64,
}

impl RedisStore {
    /// Makes the indexes of alarms, of sessions and of pending calls anew, by a walk over every key: entries that
    /// are missing are added, entries that stand for nothing are removed. Each session is dealt with at one
    /// instant, so workers may go on meanwhile. What cannot be read of one session holds up no other. Takes time with
    /// the size of the server, once for each partition.
    ///
    /// # Errors
    /// Of operation `rebuild_indexes`. Whoever is interrupted begins again.
    pub async fn rebuild_indexes(&self) -> Result<Rebuilt, StoreError> {
        let mut rebuilt = Rebuilt::default();
        for partition in self.shared.keys.partitions() {
            let done = self.shared.rebuild_partition(partition, &mut rebuilt).await;
            done.map_err(|fault| fault.of(Call::Write, OPERATION, None))?;
        }
        Ok(rebuilt)
    }
}

impl Shared {
    async fn rebuild_partition(&self, partition: u16, rebuilt: &mut Rebuilt) -> Result<(), Fault> {
        let tag = self.keys.tag(partition);
        let mut cursor = "0".to_owned();
        loop {
            let args = self.args().text(&cursor).number(STEP);
            let mut step = self.run(&self.scripts.scan, partition, None, &args).await?;
            cursor = step.text()?;
            let mut keys = step.list()?;
            let mut rows = Vec::new();
            while keys.left() > 0 {
                let key = reply::text(&keys.bytes()?)?;
                let name = key.strip_prefix(&tag).and_then(|name| name.strip_prefix(':')).unwrap_or_default();
                if name.starts_with("s:") {
                    rows.push(key);
                } else if let Some((kind, tenant)) = index(name) {
                    rebuilt.removed += self.sweep(partition, &key, kind, tenant).await?;
                }
            }
            for rows in rows.chunks(AT_ONCE) {
                for done in join_all(rows.iter().map(|row| self.reindex(partition, row))).await {
                    let (added, torn) = done?;
                    rebuilt.added += added;
                    rebuilt.unreadable += u64::from(torn);
                    rebuilt.sessions += 1;
                }
            }
            if cursor == "0" {
                return Ok(());
            }
        }
    }

    /// How many entries were missing, and whether the session could not be read wholly.
    async fn reindex(&self, partition: u16, row: &str) -> Result<(u64, bool), Fault> {
        let mut reply = self.run(&self.scripts.reindex, partition, Some(row), &self.args()).await?;
        Ok((reply.number()?, reply.boolean()?))
    }

    async fn sweep(&self, partition: u16, key: &str, kind: &str, tenant: &str) -> Result<u64, Fault> {
        let (mut removed, mut from) = (0, bytes::Bytes::new());
        loop {
            let args = self.args().text(kind).text(tenant).bytes(from).number(STEP);
            let mut step = self.run(&self.scripts.sweep, partition, Some(key), &args).await?;
            removed += step.number()?;
            from = step.bytes()?;
            if from.is_empty() {
                return Ok(removed);
            }
        }
    }
}

/// The kind of an index and, where it has one, its tenant; by the end of its key. None: it is no index.
fn index(name: &str) -> Option<(&str, &str)> {
    match name.split_once(':') {
        Some((kind @ ("sessions" | "pending"), tenant)) => Some((kind, tenant)),
        Some(("alarms", _)) => Some(("alarms", "")),
        None if matches!(name, "alarms" | "interrupted" | "resting") => Some((name, "")),
        Some(_) | None => None,
    }
}
