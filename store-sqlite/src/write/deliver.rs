//! Puts an item into the inbox.

use async_trait::async_trait;
use holdover_store::ids::{PendingId, SessionKey};
use holdover_store::rules::PendingFacts;
use holdover_store::{Delivery, InboxItem, ItemKind};
use sqlx::SqliteConnection;

use crate::columns::{Columns, int};
use crate::error::Fault;
use crate::job::{Tx, Write};
use crate::rows::{self, Sid};

/// In the write transaction that has read the session row.
const READ_PENDING: &str = "SELECT needed, answered, endless, deadline FROM pending WHERE sid = ? AND id = ?";
/// As [`READ_PENDING`], which it follows: the slot is taken in the same transaction.
const ANSWER_PENDING: &str = "UPDATE pending SET answered = ?, last_answer = ? WHERE sid = ? AND id = ?";

pub(crate) struct Deliver {
    pub(crate) key: SessionKey,
    pub(crate) item: InboxItem,
}

#[async_trait]
impl Write for Deliver {
    type Outcome = Delivery;
    const OPERATION: &'static str = "deliver";

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.key)
    }

    fn bytes(&self) -> usize {
        self.item.payload.len()
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Delivery, Fault> {
        let item = &self.item;
        let Some((sid, before)) = rows::find(tx.conn(), &self.key).await? else {
            return Ok(Delivery::NotFound);
        };
        let known = rows::known_items(tx.conn(), sid, &[&item.key]).await?;
        let answers = match &item.kind {
            ItemKind::Answer { pending, .. } => Some(pending),
            ItemKind::Message { .. } | ItemKind::Signal { .. } => None,
        };
        let pending = match answers {
            Some(id) => read_pending(tx.conn(), sid, id).await?,
            None => None,
        };
        let now = tx.now();
        let mut after = before.clone();
        let arrival = match after.accept(item, known.get(&item.key).copied(), pending, now) {
            Ok(arrival) => arrival,
            Err(refused) => return Ok(refused),
        };

        rows::save(tx, sid, &before, &after).await?;
        rows::append_items(tx, sid, &[(item, arrival)], now).await?;
        if let (Some(id), Some(answered)) = (answers, arrival.answered) {
            let query = sqlx::query(ANSWER_PENDING)
                .bind(i64::from(answered))
                .bind(int(arrival.seq.0))
                .bind(sid.0)
                .bind(id.as_str());
            tx.write(query).await?;
        }
        Ok(Delivery::Accepted { seq: arrival.seq })
    }
}

async fn read_pending(
    conn: &mut SqliteConnection,
    sid: Sid,
    id: &PendingId,
) -> Result<Option<PendingFacts>, Fault> {
    let Some(row) = sqlx::query(READ_PENDING).bind(sid.0).bind(id.as_str()).fetch_optional(conn).await?
    else {
        return Ok(None);
    };
    let mut c = Columns::of(&row);
    let (needed, answered, endless, deadline) = (c.count()?, c.count()?, c.flag()?, c.at()?);
    Ok(Some(PendingFacts { needed, answered, deadline: (!endless).then_some(deadline) }))
}
