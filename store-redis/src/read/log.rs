//! Messages and the inbox.

use holdover_store::ids::{InboxSeq, MessageSeq, SessionKey};
use holdover_store::rules::PageRoom;
use holdover_store::{InboxPage, MessagePage, MessageRange, PAGE_BYTES_MAX, StoreError, StoredMessage};

use crate::columns;
use crate::error::Fault;
use crate::reply::{self, Reply};
use crate::store::{Shared, unknown};

/// How many messages one script reads. A longer page is cut there.
const MESSAGES_MAX: usize = 2000;

impl Shared {
    pub(crate) async fn read_messages(
        &self,
        key: &SessionKey,
        ranges: &[MessageRange],
    ) -> Result<Option<MessagePage>, StoreError> {
        let args = self
            .args()
            .each(ranges, |args, range| args.number(range.from.0).number(range.to.0))
            .size(MESSAGES_MAX)
            .size(PAGE_BYTES_MAX);
        self.ask("read_messages", &self.scripts.read_messages, key, Ok(args), |word, reply| match word {
            "found" => message_page(reply, ranges).map(Some),
            "not_found" => Ok(None),
            other => unknown(other),
        })
        .await
    }

    pub(crate) async fn read_inbox(
        &self,
        key: &SessionKey,
        after: InboxSeq,
        limit: u32,
    ) -> Result<Option<InboxPage>, StoreError> {
        let args = self.args().number(after.0).number(limit).size(PAGE_BYTES_MAX);
        self.ask("read_inbox", &self.scripts.read_inbox, key, Ok(args), |word, reply| match word {
            "found" => columns::inbox_page(reply, limit).map(Some),
            "not_found" => Ok(None),
            other => unknown(other),
        })
        .await
    }
}

/// The messages that go into one page, and the ranges that are left: the script has read the first of them.
fn message_page(reply: &mut Reply, ranges: &[MessageRange]) -> Result<MessagePage, Fault> {
    let last = MessageSeq(reply.number()?);
    let rows = reply.pairs()?;
    let whole = reply.boolean()?;
    let mut room = PageRoom::new(usize::MAX);
    let mut messages = Vec::with_capacity(rows.len());
    let mut cut = false;
    for (seq, record) in rows {
        let (at, payload) = reply::dated(record)?;
        if !room.takes(payload.len()) {
            cut = true;
            break;
        }
        messages.push(StoredMessage { seq: MessageSeq(reply::number(&seq)?), at, payload });
    }
    if whole && !cut {
        return Ok(MessagePage::whole(messages));
    }
    let mut left = messages.len() as u64;
    for (index, range) in ranges.iter().enumerate() {
        let from = range.from.max(MessageSeq(1));
        let there = (range.to.min(last).0 + 1).saturating_sub(from.0);
        if there > left {
            let rest = ranges.get(index..).unwrap_or_default();
            return Ok(MessagePage::cut(messages, rest, MessageSeq(from.0 + left)));
        }
        left -= there;
    }
    Ok(MessagePage::whole(messages))
}
