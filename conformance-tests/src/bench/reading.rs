//! The reads that many cases share.

use holdover_store::ids::SessionKey;
use holdover_store::{PendingCall, Session};

use super::Bench;
use crate::failure::CaseResult;
use crate::fixture;
use crate::snapshot::{Snapshot, all_messages, all_pending, load, snapshot};

impl Bench {
    /// Reads a session, which must exist.
    pub(crate) async fn load(&self, key: &SessionKey) -> CaseResult<Session> {
        load(&self.store, key).await
    }

    /// Returns true if the session's alarm has rung.
    pub(crate) async fn is_due(&self, key: &SessionKey) -> CaseResult<bool> {
        let now = self.now().await?;
        Ok(self.load(key).await?.alarm.is_some_and(|alarm| alarm <= now))
    }

    /// Describes everything that decides whether a session is due, for the text of a failure.
    pub(crate) async fn waking(&self, key: &SessionKey) -> CaseResult<String> {
        let (now, session) = (self.now().await?, self.load(key).await?);
        let Session { status, alarm, last_item, inbox_seen, unread, interrupt, .. } = session;
        let alarm = alarm.map_or("no alarm".into(), |alarm| format!("the alarm {alarm:?}"));
        let interrupt =
            interrupt.map_or("no interrupt".into(), |waits| format!("the interrupt {}", waits.id));
        Ok(format!(
            "{alarm}, now {now:?}, status {status}, newest item {}, seen up to {}, {unread} not consumed, {interrupt}",
            last_item.0, inbox_seen.0
        ))
    }

    /// Returns the texts of all messages.
    pub(crate) async fn messages(&self, key: &SessionKey) -> CaseResult<Vec<String>> {
        Ok(fixture::texts(all_messages(&self.store, key).await?.iter().map(|message| &message.payload)))
    }

    /// Reads everything that can be read of a session, whether it exists or not.
    pub(crate) async fn snapshot(&self, key: &SessionKey) -> CaseResult<Snapshot> {
        snapshot(&self.store, key).await
    }

    /// Returns the open pending calls of a session.
    pub(crate) async fn pending(&self, key: &SessionKey) -> CaseResult<Vec<PendingCall>> {
        all_pending(&self.store, key).await
    }
}
