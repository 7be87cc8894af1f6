//! Dead letters: lists them across the sessions of a tenant, and asks their sessions to try again (requirement C52).

use holdover_core::ids::{PendingId, SessionKey, TenantId};
use holdover_core::letter::Letter;
use holdover_core::payload::Digest;
use holdover_core::store::{Page, PageCursor, PageRequest, PendingCall, PendingKind, PendingQuery};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::Runtime;
use super::deliver::{Deliver, Delivered, What};
use super::keys::Once;
use super::pending::{Bound, UnreadablePending};
use crate::error::RuntimeError;

/// An open dead letter: a session whose turn was given up although it may succeed later. The letter is written in the
/// commit that gives the turn up. It stays open until the session goes on, is aborted or is deleted.
///
/// The JSON form has `letter` (the id), `session`, `opened_at` and `replayed`, and the fields of the [`Letter`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The letter, as it is stored.
    pub call: PendingCall,
    /// The content of the letter.
    pub letter: Letter,
}

impl DeadLetter {
    /// Returns the id of the letter. It identifies one turn in one life of the session.
    pub fn id(&self) -> &PendingId {
        &self.call.id
    }

    /// Returns the session.
    pub fn key(&self) -> &SessionKey {
        &self.call.key
    }

    /// Returns true if a replay was asked for and no run has begun it yet.
    pub fn is_replayed(&self) -> bool {
        self.call.answered >= self.call.needed
    }
}

impl Serialize for DeadLetter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Letter { cause, error, attempts, first_run, last_run, turn, after_message, at, .. } =
            &self.letter;
        let mut shown = serializer.serialize_struct("DeadLetter", 12)?;
        shown.serialize_field("letter", self.id())?;
        shown.serialize_field("session", &self.call.key.id)?;
        shown.serialize_field("cause", cause)?;
        shown.serialize_field("error", error)?;
        shown.serialize_field("attempts", attempts)?;
        shown.serialize_field("first_run", first_run)?;
        shown.serialize_field("last_run", last_run)?;
        shown.serialize_field("turn", turn)?;
        shown.serialize_field("after_message", after_message)?;
        shown.serialize_field("at", at)?;
        shown.serialize_field("opened_at", &self.call.opened_at)?;
        shown.serialize_field("replayed", &self.is_replayed())?;
        shown.end()
    }
}

/// A page of dead letters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetterPage {
    /// The letters that can be read, by the ids of their sessions.
    pub items: Vec<DeadLetter>,
    /// The letters of the page that this version cannot read. Those whose body has the form of a
    /// [`PendingBody`](holdover_core::message::PendingBody) can be replayed.
    pub unreadable: Vec<UnreadablePending>,
    /// The cursor of the next page, or `None` on the last page.
    pub next: Option<PageCursor>,
}

impl Runtime {
    /// Lists one page of the open dead letters of a tenant, by the ids of their sessions. A page has at most
    /// [`PAGE_ROWS_MAX`](holdover_core::store::PAGE_ROWS_MAX) letters. The stores of this project read the letters of the
    /// page along an index; sessions without letters and pending calls of other kinds cost nothing. (On Redis, a store of an
    /// earlier version needs `RedisStore::rebuild_indexes` once.) Letters that this version cannot read are listed
    /// separately.
    pub async fn dead_letters(
        &self,
        tenant: &TenantId,
        page: PageRequest,
    ) -> Result<DeadLetterPage, RuntimeError> {
        let kind = Some(PendingKind::DeadLetter);
        let query = PendingQuery { kind, page, ..PendingQuery::all(tenant.clone()) };
        let Page { items, next } = self.host.store().list_pending(&query).await?;
        let mut letters = DeadLetterPage { next, ..DeadLetterPage::default() };
        for call in items {
            let unreadable = call.body.encoding().map(|encoding| encoding.to_string());
            match unreadable.map_or_else(|| Letter::of(&call), Err) {
                Ok(letter) => letters.items.push(DeadLetter { call, letter }),
                Err(why) => letters.unreadable.push(UnreadablePending { call, why }),
            }
        }
        Ok(letters)
    }

    /// Asks the session of a dead letter to try again, as [`retry`](Self::retry) does: a worker continues the turn, on
    /// the transcript as it stands. The request is bound to this letter, so it never begins another turn by mistake.
    /// A repeated request returns [`Duplicate`](Delivered::Duplicate), even after the session has gone on. Does not need
    /// the agent.
    ///
    /// A child that failed has already told its parent. It goes on alone, and its parent does not hear of it again.
    ///
    /// Errors: the session has [gone on](RuntimeError::NotPending) since without a replay, there is [no such
    /// letter](RuntimeError::NotAsked) in the present life of the session, the id names a pending call that is [no dead
    /// letter](RuntimeError::OtherAnswer), or there is no such [session](RuntimeError::NotFound). An error changes
    /// nothing.
    pub async fn replay_letter(
        &self,
        key: &SessionKey,
        letter: &PendingId,
    ) -> Result<Delivered, RuntimeError> {
        let Bound { key, life, .. } = self.bound_to(key, letter, PendingKind::DeadLetter).await?;
        let once = Once::Words(Digest::of(letter.as_str().as_bytes()));
        let what = What::Replay { pending: letter.clone() };
        self.deliver(&key, Deliver { once, incarnation: Some(life), what }).await
    }
}
