//! Retention: a walk over the sessions that rest, in every partition.

use bytes::Bytes;
use futures::FutureExt;
use futures::future::join_all;
use holdover_store::ids::{SessionKey, TenantId};
use holdover_store::{PageCursor, PurgeReport, Remove, RetentionRule, StoreError};

use crate::args::Args;
use crate::error::{Call, Fault};
use crate::merge::{Found, Merge, Order};
use crate::place;
use crate::store::Shared;
use crate::write::due::named;

const OPERATION: &str = "purge";

/// How many sessions are dealt with at once.
const AT_ONCE: usize = 16;

impl Shared {
    pub(crate) async fn purge(&self, rule: &RetentionRule) -> Result<PurgeReport, StoreError> {
        let after = rule.check()?;
        if after.as_ref().is_some_and(|after| place::session(after).is_none()) {
            return Err(StoreError::invalid(OPERATION, "after: it is no place in this walk"));
        }
        let after = after.unwrap_or_default();
        let limit = rule.limit.get() as usize;
        let mut merge = Merge::new(&self.keys, Order::Upwards, &after);
        let most = merge.share(limit);
        let look = |partition, after| self.find_purgeable(partition, after, rule, most).boxed();
        let read = |fault: Fault| fault.of(Call::Read, OPERATION, None);
        let mut about: Vec<(Bytes, SessionKey)> = Vec::new();
        while about.len() < limit && merge.peek(&look).await.map_err(read)?.is_some() {
            about.extend(merge.take());
        }
        let mut next = merge.looked();
        if about.len() == limit {
            // Whether anything is left decides whether the walk goes on.
            let more = merge.peek(&look).await.map_err(read)?.is_some();
            next = about.last().map(|(place, _)| place.clone()).filter(|_| more || merge.looked().is_some());
        }
        let mut report = PurgeReport {
            next: next.map(|place| PageCursor::at(rule.digest(), &place)),
            ..PurgeReport::default()
        };
        for keys in about.chunks(AT_ONCE) {
            for (key, dealt) in join_all(keys.iter().map(|(_, key)| self.purge_one(key, rule))).await {
                match dealt {
                    Ok((sessions, checkpoints)) => {
                        report.sessions += sessions;
                        report.checkpoints += checkpoints;
                    }
                    // No rule is about what cannot be read: it stays.
                    Err(Fault::Corrupt(detail)) => {
                        tracing::warn!(%key, detail, "a purge leaves out a session that cannot be read");
                    }
                    Err(fault) => return Err(fault.of(Call::Write, OPERATION, Some(key))),
                }
            }
        }
        Ok(report)
    }

    async fn find_purgeable(
        &self,
        partition: u16,
        after: Bytes,
        rule: &RetentionRule,
        most: usize,
    ) -> Result<Found<SessionKey>, Fault> {
        let args = about(self.args().bytes(after), rule).size(most);
        let mut reply = self.run(&self.scripts.find_purgeable, partition, None, &args).await?;
        named(&mut reply)
    }

    /// How many sessions and checkpoints were removed. Very many checkpoints go in several steps, the oldest first.
    async fn purge_one<'a>(
        &self,
        key: &'a SessionKey,
        rule: &RetentionRule,
    ) -> (&'a SessionKey, Result<(u64, u64), Fault>) {
        let keep = match rule.remove {
            Remove::Sessions => None,
            Remove::Checkpoints { keep } => Some(u64::from(keep.get())),
        };
        let args = about(self.args(), rule).optional_number(keep);
        let removed = async {
            let (mut sessions, mut checkpoints) = (0, 0);
            loop {
                let mut reply = self.on(&self.scripts.purge, key, args.clone()).await?;
                sessions += reply.number()?;
                checkpoints += reply.number()?;
                if !reply.boolean()? {
                    return Ok((sessions, checkpoints));
                }
            }
        };
        (key, removed.await)
    }
}

fn about(args: Args, rule: &RetentionRule) -> Args {
    args.optional(rule.tenant.as_ref().map(TenantId::as_str))
        .bound(rule.unchanged_since)
        .each(&rule.status, |args, status| args.text(status.as_str()))
}
