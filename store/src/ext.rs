//! Convenience methods, with one implementation for all stores.

use async_trait::async_trait;

use super::{INBOX_PAGE, InboxPage, MessageRange, StateStore, StoreError, StoredItem, StoredMessage};
use crate::ids::{InboxSeq, SessionKey};

/// Reads that walk all pages of a [`StateStore`].
///
/// Each page is read at one instant, but different pages may be from different instants. Messages never
/// change, so a walk over messages is still complete. If the session is deleted and created again meanwhile,
/// the walk continues in the new incarnation.
#[async_trait]
pub trait StateStoreExt: StateStore {
    /// Reads all messages of `ranges`, in the order of the ranges. Calls
    /// [`read_messages`](StateStore::read_messages) for each page. The caller must bound the ranges, because
    /// all messages are held in memory.
    async fn read_all_messages(
        &self,
        key: &SessionKey,
        ranges: &[MessageRange],
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let page = self.read_messages(key, ranges).await?;
        let (mut messages, mut rest) = (page.messages, page.rest);
        while !rest.is_empty() {
            let page = self.read_messages(key, &rest).await?;
            messages.extend(page.messages);
            rest = page.rest;
        }
        Ok(messages)
    }

    /// Reads all items after `after` that are not consumed, in order. Calls
    /// [`read_inbox`](StateStore::read_inbox) for each page.
    async fn read_whole_inbox(
        &self,
        key: &SessionKey,
        after: InboxSeq,
    ) -> Result<Vec<StoredItem>, StoreError> {
        let InboxPage { mut items, mut next } = self.read_inbox(key, after, INBOX_PAGE).await?;
        while let Some(after) = next {
            let page = self.read_inbox(key, after, INBOX_PAGE).await?;
            items.extend(page.items);
            next = page.next;
        }
        Ok(items)
    }
}

impl<S: StateStore + ?Sized> StateStoreExt for S {}
